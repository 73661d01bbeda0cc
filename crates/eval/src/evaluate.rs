//! Offline evaluation: complete runs judged against a gold set, as data for reports.
//!
//! The scores are those of the live path: the measures and the judging are the same. The module
//! knows nothing of the layout or the destination of a report.

mod answers;
mod evaluation;
mod judging;
mod options;
mod plane;
mod sums;
mod tiers;

pub use answers::AnsweredTwice;
pub(crate) use answers::JudgedAnswers;
pub use evaluation::{
    ComponentFacts, Evaluation, GoldFacts, Micro, QueryAnswer, QueryCitation, QueryDocuments,
    QueryEvaluation, RunEvaluation, Slice, SliceValue, StatedSettings,
};
pub(crate) use judging::Plan;
pub use judging::{label_of, query_of};
pub use options::{Bound, Goal, Options, Target};
pub use plane::PlanePoint;
pub use tiers::OverallTier;
