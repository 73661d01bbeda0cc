//! Grades from clicks: documents that users find relevant, estimated from searches and clicks.
//!
//! A [`ClickLog`] receives all feedback, then all searches, and leaves out what is not a user.
//! [`analyse`] fits a click model and checks it: on searches that the model did not see, and against
//! human judgements. The module uses no files, no Kafka and no clock.

mod analysis;
mod counts;
mod held_out;
mod human;
mod log;
mod model;
mod write;

pub use analysis::{Analysis, AnalysisOptions, ClickGrade, ClickModel, GradedQuery, analyse};
pub use held_out::HeldOut;
pub use human::HumanAgreement;
pub use log::{CleanLog, ClickLog, DEFAULT_MEMORY_LIMIT, LeftOut};
pub use model::{
    Cell, Harvest, Model, Propensities, Ratio, exposure, fit, non_decreasing, propensities,
};
