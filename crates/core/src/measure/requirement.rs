//! Requirement on the mean of a measure: `nDCG@10>=0.75`.
//!
//! The text has one relation and a number at its end. Everything before the relation is a measure.

use std::fmt;
use std::str::FromStr;

use super::catalogue::Measure;
use super::grammar::MeasureError;

/// Requirement on the mean of a measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Measure whose mean is compared with the bound.
    pub measure: Measure,
    /// Relation of the mean to the bound.
    pub relation: Relation,
    /// Bound of the mean; finite.
    pub bound: f64,
}

/// Relation of a mean to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The mean is at least the bound.
    AtLeast,
    /// The mean is above the bound.
    Above,
    /// The mean is at most the bound.
    AtMost,
    /// The mean is below the bound.
    Below,
}

/// Resolution of a score, of which live sums are multiples. The rounding of a mean is far smaller: the
/// mean of the decimals 0.4, 0.4 … can be the number below the one that a user writes as the bound.
const RESOLUTION: f64 = 1e-9;

/// Relations with their signs. A sign that begins with another one comes before it.
const SIGNS: [(&str, Relation); 4] = [
    (">=", Relation::AtLeast),
    ("<=", Relation::AtMost),
    (">", Relation::Above),
    ("<", Relation::Below),
];

/// Error in a requirement.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RequirementError {
    /// The text has no relation.
    #[error("`{0}` has no relation; write a measure, >=, >, <= or <, and a number: nDCG@10>=0.75")]
    NoRelation(String),
    /// The bound is not a finite number.
    #[error("`{bound}` in `{text}` is not a number; write nDCG@10>=0.75")]
    NotANumber {
        /// Given text.
        text: String,
        /// Text after the relation.
        bound: String,
    },
    /// No score, or every score, has this relation to the bound.
    #[error("{bound} is not between {min} and {max}, but {measure} always is{advice}")]
    OutOfRange {
        /// Name of the measure.
        measure: String,
        /// Given bound.
        bound: f64,
        /// Lowest score.
        min: f64,
        /// Highest score.
        max: f64,
        /// Remedy, after a semicolon.
        advice: &'static str,
    },
    /// The text before the relation is not a measure.
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

impl Relation {
    /// Splits a requirement into the text before its relation, the relation, and the text after it;
    /// `None` without a relation. The last sign counts: the value of a facet can contain one.
    pub fn split(text: &str) -> Option<(&str, Self, &str)> {
        let (name, rest) = text.split_at(text.rfind(['<', '>'])?);
        let (bound, relation) = SIGNS
            .iter()
            .find_map(|(sign, relation)| Some((rest.strip_prefix(sign)?, *relation)))?;
        // `=>` is none of the signs, and no measure ends with `=`.
        let name = name.trim();
        (!name.ends_with('=')).then_some((name, relation, bound.trim()))
    }

    /// Returns true if `mean` has this relation to `bound`. Numbers that differ by at most 1e-9 are equal.
    pub fn holds(self, mean: f64, bound: f64) -> bool {
        match self {
            Self::AtLeast => mean >= bound - RESOLUTION,
            Self::Above => mean > bound + RESOLUTION,
            Self::AtMost => mean <= bound + RESOLUTION,
            Self::Below => mean < bound - RESOLUTION,
        }
    }

    /// Sign of the relation.
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::Above => ">",
            Self::AtMost => "<=",
            Self::Below => "<",
        }
    }
}

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, RequirementError> {
        let (measure, relation, bound) =
            Relation::split(text).ok_or_else(|| RequirementError::NoRelation(text.to_owned()))?;
        let parsed = bound.parse().ok().filter(|bound: &f64| bound.is_finite());
        let bound = parsed.ok_or_else(|| RequirementError::NotANumber {
            text: text.to_owned(),
            bound: bound.to_owned(),
        })?;
        let measure: Measure = measure.parse()?;
        let range = measure.descriptor().range;
        if !(range.min..=range.max).contains(&bound) {
            return Err(RequirementError::OutOfRange {
                bound,
                min: range.min,
                max: range.max,
                advice: if measure.is_share() {
                    "; write a share such as 0.65"
                } else {
                    ""
                },
                measure: measure.to_string(),
            });
        }
        Ok(Self {
            measure,
            relation,
            bound,
        })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {}",
            self.measure,
            self.relation.sign(),
            self.bound
        )
    }
}
