//! Measures: the scores that one search can have, by name.
//!
//! Names follow ir_measures: `Name(param=value,…)@cutoff`. Parsing is lenient about white space and
//! the order of parameters, accepts names in any case and the aliases of the catalogue, and is
//! strict about everything else. Printing gives the canonical form (parameters sorted, defaults
//! omitted), which is the metric label, the column of a report and the name in the configuration.
//!
//! A measure is one entry in the table of its family: name, aliases, parameters, range, direction,
//! source, description and formula. The [catalogue](catalogue()) lists their [descriptors](Descriptor).
//!
//! Measures are pure functions. They know judgements and judged searches, but nothing of events,
//! the engine, time or files.

mod answer;
mod arguments;
mod bounds;
mod catalogue;
mod component;
mod curves;
mod descriptor;
pub mod direction;
mod diversity;
mod family;
mod field;
mod grammar;
mod highest;
mod list;
mod micro;
mod novelty;
mod parameter;
mod ranked;
mod requirement;
mod retrieval;
mod routing;
pub mod tier;
mod tool;
pub(crate) mod user;

pub use crate::overlap::BleuCounts;
pub use catalogue::{Measure, catalogue};
pub use curves::Curves;
pub use descriptor::{Descriptor, Mean, Range, Subject};
pub use grammar::MeasureError;
pub use highest::HighestMean;
pub use micro::Documents;
pub(crate) use parameter::Currency;
pub use parameter::{Cutoff, Number};
pub use ranked::Ranked;
pub use requirement::{Relation, Requirement};
pub use tool::Compat;
pub use user::UserMeasure;
