//! Measures that are sums over results, so that labels of single results estimate them.

use std::fmt;
use std::str::FromStr;

use crate::measure::Measure;
use crate::number::real_length;

/// Maximum cutoff.
const MAX_CUTOFF: usize = 1_000;
/// Ranks that count in RBP: the weight below them is less than 10⁻⁹ at p = 0.8.
const RBP_RANKS: usize = 100;

/// Measure of a mean gain with a weight for each rank.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelMeasure {
    name: String,
    weights: Vec<f64>,
    is_graded: bool,
}

/// Text that is no measure of this kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be estimated from labels of single results; choose P@k, RBP, RBP(p=0.5) or sDCG@k. \
     nDCG, recall and AP need all relevant documents, and RR, ERR and Success whole lists"
)]
pub struct UnknownLabelMeasure(String);

impl FromStr for LabelMeasure {
    type Err = UnknownLabelMeasure;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownLabelMeasure(text.to_owned());
        let cutoff = |text: &str| {
            let cutoff = text.parse().ok();
            cutoff.filter(|cutoff| (1..=MAX_CUTOFF).contains(cutoff))
        };
        if let Some(depth) = text.strip_prefix("sDCG@") {
            let depth = cutoff(depth).ok_or_else(unknown)?;
            let discounts: Vec<f64> = (0..depth)
                .map(|rank| 1.0 / (real_length(rank) + 2.0).log2())
                .collect();
            let sum: f64 = discounts.iter().sum();
            return Ok(Self {
                name: format!("sDCG@{depth}"),
                weights: discounts.into_iter().map(|it| it / sum).collect(),
                is_graded: true,
            });
        }
        let known = text.parse::<Measure>().map_err(|_| unknown())?;
        let name = known.to_string();
        if let Some(depth) = name.strip_prefix("P@") {
            let depth = cutoff(depth).ok_or_else(unknown)?;
            return Ok(Self {
                weights: vec![1.0 / real_length(depth); depth],
                name,
                is_graded: false,
            });
        }
        let persistence = match name.as_str() {
            "RBP" => Some(0.8),
            other => other
                .strip_prefix("RBP(p=")
                .and_then(|rest| rest.strip_suffix(')'))
                .and_then(|number| number.parse().ok()),
        };
        let p: f64 = persistence.ok_or_else(unknown)?;
        let weights = std::iter::successors(Some(1.0 - p), |weight| Some(weight * p));
        Ok(Self {
            weights: weights.take(RBP_RANKS).collect(),
            name,
            is_graded: false,
        })
    }
}

impl fmt::Display for LabelMeasure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl LabelMeasure {
    /// Weight of each rank from the top; further ranks do not count.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Gain of a grade on a scale that ends at `scale_max`, from 0 to 1: the grade's share of the
    /// scale for a graded measure, else 1 from grade 1 on.
    pub fn gain(&self, grade: f64, scale_max: f64) -> f64 {
        if self.is_graded {
            (grade / scale_max).clamp(0.0, 1.0)
        } else {
            f64::from(u8::from(grade >= 1.0))
        }
    }
}
