//! The catalogue of measures: everything one search can earn a number for, by name.
//!
//! Names follow ir_measures: `Name(param=value,…)@cutoff`. Parsing is lenient about white space and
//! the order of parameters and strict about everything else; printing gives the one canonical form
//! (parameters sorted, defaults left out) that is the metric label, the column of a report and the
//! word in the configuration.
//!
//! Measures are pure functions. They know judgements and rankings, and nothing of events, of the
//! engine, of time or of files.

mod catalogue;
mod grammar;
pub mod people;
pub mod ranked;

use std::fmt;

pub use grammar::MeasureError;
pub use people::{People, Reaction};
pub use ranked::{Cutoff, Denominator, Fraction, Gain, Ideal, Ranked, Weighting};

/// One measure with all its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// What the ranking is worth, according to the judgements. Known as soon as a search is.
    Ranked(Ranked),
    /// What users did with the ranking. Known once a search is finalised.
    People(People),
}

impl Measure {
    /// Parses measures separated by white space or by commas (outside parentheses), in order.
    ///
    /// # Errors
    /// The first spelling that names no measure, with the nearest one that does.
    pub fn parse_list(list: &str) -> Result<Vec<Self>, MeasureError> {
        grammar::split(list).map(str::parse).collect()
    }
}

impl std::str::FromStr for Measure {
    type Err = MeasureError;

    fn from_str(text: &str) -> Result<Self, MeasureError> {
        catalogue::parse(text)
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ranked(measure) => measure.fmt(f),
            Self::People(measure) => measure.fmt(f),
        }
    }
}

/// A count as a number to divide by. Beyond `u32::MAX`, which no ranking reaches, it stays there.
fn real(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// 1 where something holds, else 0.
fn indicator(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}
