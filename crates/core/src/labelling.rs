//! Labels of results that are drawn by chance: the measures that they estimate, the random numbers of
//! draws, and signed requests for labels. It depends on no clock and no file.

mod measure;
mod outcome;
mod request;
mod uniform;

pub use measure::LabelMeasure;
pub(crate) use outcome::LabelOutcome;
pub(crate) use outcome::STRATA;
pub use request::SigningKey;
pub(crate) use request::{Part, Sampling};
pub use uniform::uniform;
