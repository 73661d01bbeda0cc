//! The catalogue of measures: everything one search can earn a number for, by name.
//!
//! Names follow ir_measures: `Name(param=value,…)@cutoff`. Parsing is lenient about white space and
//! the order of parameters and strict about everything else; printing gives the one canonical form
//! (parameters sorted, defaults left out) that is the metric label, the column of a report and the
//! word in the configuration.
//!
//! Measures are pure functions. They know judgements and judged searches, and nothing of events, of the
//! engine, of time or of files.

mod catalogue;
pub mod component;
pub mod direction;
pub mod diversity;
mod grammar;
pub mod micro;
pub mod people;
pub mod ranked;
pub mod routing;

use std::fmt;

pub use component::{Aspect, OfComponent};
pub use diversity::Diversity;
pub use grammar::MeasureError;
pub use people::{Click, InSession, People, Rating, Reaction};
pub use ranked::{Cutoff, Denominator, Fraction, Gain, Ideal, Ranked, Weighting};
pub use routing::Routing;

use crate::ranking::Judged;

/// One measure with all its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// What the ranking is worth, according to the judgements. Known as soon as a search is.
    Ranked(Ranked),
    /// What one component of the ranking added.
    Component(OfComponent),
    /// What the list covers beside being relevant.
    Diversity(Diversity),
    /// Whether the search went to the right domain.
    Routing(Routing),
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

    /// The score of a judged search; `None` where the search says nothing about the measure, and
    /// for measures of people, which are known only later.
    pub fn score(&self, judged: &Judged<'_>) -> Option<f64> {
        match self {
            Self::Ranked(measure) => measure.score(judged.ranking, &judged.query.judgements),
            Self::Component(measure) => measure.score(judged),
            Self::Diversity(measure) => measure.score(judged),
            Self::Routing(measure) => measure.score(judged),
            Self::People(_) => None,
        }
    }

    /// Whether a score can be negative.
    pub fn is_signed(&self) -> bool {
        match self {
            Self::Component(measure) => measure.aspect.is_signed(),
            Self::Diversity(measure) => measure.is_signed(),
            Self::Ranked(_) | Self::Routing(_) | Self::People(_) => false,
        }
    }

    /// Whether it is about what people did with a ranking rather than about the ranking.
    pub fn is_of_people(&self) -> bool {
        matches!(self, Self::People(_))
    }

    /// Whether its scores lie from 0 to 1, whatever is searched.
    pub fn is_share(&self) -> bool {
        match self {
            Self::Ranked(measure) => measure.is_share(),
            Self::Component(measure) => {
                !measure.aspect.is_signed() && measure.aspect != Aspect::Hops
            }
            Self::Diversity(measure) => {
                use Diversity::{Entropy, MaxDepth, MeanDepth};
                !measure.is_signed() && !matches!(measure, Entropy { .. } | MaxDepth | MeanDepth)
            }
            Self::Routing(_) => true,
            Self::People(measure) => *measure != People::WeightedClicks,
        }
    }

    /// The component that the measure is about, by its name in the configuration.
    pub fn component(&self) -> Option<&str> {
        match self {
            Self::Component(measure) => Some(&measure.component),
            Self::Ranked(_) | Self::Diversity(_) | Self::Routing(_) | Self::People(_) => None,
        }
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
            Self::Component(measure) => measure.fmt(f),
            Self::Diversity(measure) => measure.fmt(f),
            Self::Routing(measure) => measure.fmt(f),
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
