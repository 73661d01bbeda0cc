//! Read model: a snapshot with the names of its numbers, which answers the questions of readers.
//!
//! The exposition, the API, the page, the terminal, `replay`, `checkpoint show` and reports of feedback
//! read numbers here, so they agree. A question names its subject by type: a measure and a window by their
//! position in the settings, a variant by its `Label`, and a variant with a slice by its
//! `Series`. Names are resolved once for each snapshot, and no answer about one series allocates.

mod evaluators;
mod experiments;
mod fleet;
mod model;
mod objectives;
mod operations;
mod pipeline;
mod quality;
mod score_series;
mod users;
mod watched;

pub use evaluators::{EvaluatorDrift, EvaluatorPart, EvaluatorVerdict};
pub use experiments::{ArmReading, MeasuredDifference};
pub use model::ReadModel;
pub use score_series::ScoreSeries;
pub use watched::WatchedSeries;
