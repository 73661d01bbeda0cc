//! Measures: the scores that one search can have, by name.
//!
//! Names follow ir_measures: `Name(param=value,…)@cutoff`. Parsing is lenient about white space and
//! the order of parameters, accepts names in any case and the aliases of the catalogue, and is
//! strict about everything else. Printing gives the canonical form (parameters sorted, defaults
//! omitted), which is the metric label, the column of a report and the name in the configuration.
//!
//! The [catalogue](catalogue()) has one [`Descriptor`] per measure, with every fact about it. Only
//! the formula is elsewhere, in the module of the measure's family.
//!
//! Measures are pure functions. They know judgements and judged searches, but nothing of events,
//! the engine, time or files.

mod catalogue;
pub mod component;
mod descriptor;
pub mod direction;
pub mod diversity;
mod grammar;
pub mod micro;
pub mod ranked;
mod requirement;
pub mod routing;
pub mod user;

use std::fmt;

pub use catalogue::catalogue;
pub use component::{Absent, Aspect, ComponentMeasure, When};
pub use descriptor::{
    Argument, CutoffRule, Descriptor, Parameter, ParameterDefault, Range, Source, Subject,
};
pub use diversity::{Diversity, FacetRecall};
pub use grammar::{MeasureError, MeasureErrors};
pub use ranked::{Curves, Cutoff, Denominator, Fraction, Gain, Ideal, LEVELS, Ranked, Weighting};
pub use requirement::{Relation, Requirement, RequirementError};
pub use routing::Routing;
pub use user::{Click, Rating, SessionContext, UserMeasure, UserResponse};

use crate::ranking::Judged;

/// Measure with all its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Quality of the ranking according to the judgements. Available as soon as the search is.
    Ranked(Ranked),
    /// Contribution of one component to the ranking.
    Component(ComponentMeasure),
    /// Coverage and diversity of the list, in addition to its relevance.
    Diversity(Diversity),
    /// Correctness of the domain that the search was routed to.
    Routing(Routing),
    /// User behaviour on the ranking. Available when the search is finalised.
    User(UserMeasure),
}

impl Measure {
    /// Parses measures separated by white space or by commas (outside parentheses), in order.
    ///
    /// # Errors
    /// All spellings that are not measures, each with the nearest valid one.
    pub fn parse_list(list: &str) -> Result<Vec<Self>, MeasureErrors> {
        let mut measures = Vec::new();
        let mut errors = Vec::new();
        for parsed in grammar::split(list).map(str::parse) {
            match parsed {
                Ok(measure) => measures.push(measure),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(measures)
        } else {
            Err(MeasureErrors(errors))
        }
    }

    /// Returns the score of a judged search. `None` if the search has no data for the measure, and
    /// for measures of user behaviour, which are not yet known.
    pub fn score(&self, judged: &Judged<'_>) -> Option<f64> {
        match self {
            Self::Ranked(measure) => measure.score(judged.ranking, &judged.query.judgements),
            Self::Component(measure) => measure.score(judged),
            Self::Diversity(measure) => measure.score(judged),
            Self::Routing(measure) => measure.score(judged),
            Self::User(_) => None,
        }
    }

    /// Returns the facts about the measure.
    pub fn descriptor(&self) -> &'static Descriptor {
        match self {
            Self::Ranked(measure) => measure.descriptor(),
            Self::Component(measure) => measure.descriptor(),
            Self::Diversity(measure) => measure.descriptor(),
            Self::Routing(measure) => measure.descriptor(),
            Self::User(measure) => measure.descriptor(),
        }
    }

    /// Returns true if a score can be negative.
    pub fn is_signed(&self) -> bool {
        self.descriptor().range.is_signed()
    }

    /// Returns true if all scores of the measure lie from 0 to 1.
    pub fn is_share(&self) -> bool {
        self.descriptor().range.is_share()
    }

    /// Returns true if the measure is about user behaviour rather than about the ranking.
    pub fn is_user_measure(&self) -> bool {
        self.descriptor().subject == Subject::Users
    }

    /// Component that the measure is about, by its name in the configuration.
    pub fn component(&self) -> Option<&str> {
        match self {
            Self::Component(measure) => Some(&measure.component),
            Self::Ranked(_) | Self::Diversity(_) | Self::Routing(_) | Self::User(_) => None,
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
            Self::User(measure) => measure.fmt(f),
        }
    }
}

/// Converts a count to a number to divide by. A count above `u32::MAX`, which no ranking reaches,
/// becomes `u32::MAX`.
fn real(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Returns 1 if `holds` is true, else 0.
fn indicator(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}
