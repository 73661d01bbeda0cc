//! Mean of losses or scores with its interval.

use serde::{Deserialize, Serialize};

use crate::number::real;

/// Quantile of the normal distribution for an interval of 95 %.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// Variance of a single value that is added to the observed one, as that of one more value. It keeps
/// the interval of a few equal values wide.
const PRIOR_VARIANCE: f64 = 0.25;

/// Assumed variance of the scores of a query, with the weight of two values.
const QUERY_VARIANCE: f64 = 0.01;
const QUERY_VALUES: f64 = 2.0;

/// Number, sum and squares of losses, or of scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// Number of searches.
    pub searches: u64,
    sum: f64,
    squares: f64,
}

/// Mean with its interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// Mean.
    pub mean: f64,
    /// Lower bound.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
}

impl Losses {
    /// Sums of searches that are already added up.
    pub fn of((searches, sum, squares): (u64, f64, f64)) -> Self {
        Self {
            searches,
            sum,
            squares,
        }
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.searches += 1;
        self.sum += value;
        self.squares += value * value;
    }

    /// Adds the values of another part of the traffic.
    pub fn merge(&mut self, other: &Self) {
        self.searches += other.searches;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Halves the weight of all values.
    pub fn halve(&mut self) {
        let kept = self.searches / 2;
        let share = real(kept) / real(self.searches.max(1));
        *self = Self {
            searches: kept,
            sum: self.sum * share,
            squares: self.squares * share,
        };
    }

    /// Returns true if values from -1 to 1 can have these sums.
    pub fn is_possible(&self) -> bool {
        let most = real(self.searches) + 1.0;
        self.searches <= 1 << 40
            && (-most..=most).contains(&self.sum)
            && (0.0..=most).contains(&self.squares)
    }

    /// Mean. `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.searches > 0).then(|| self.sum / real(self.searches))
    }

    /// Mean with its interval of 95 %. `None` without values.
    pub fn interval(&self) -> Option<MeanInterval> {
        let mean = self.mean()?;
        let n = real(self.searches);
        let variance = (self.squares / n - mean * mean).max(0.0);
        let radius = QUANTILE * ((variance + PRIOR_VARIANCE / n) / n).sqrt();
        Some(MeanInterval {
            mean,
            lower: mean - radius,
            upper: mean + radius,
        })
    }

    /// Mean loss of one query against a mean of `scores` earlier scores, with its interval of 95 %. The
    /// error of both means counts. `None` without values.
    pub fn interval_to(&self, scores: u32) -> Option<MeanInterval> {
        let mean = self.mean()?;
        let n = real(self.searches);
        let squares = (self.squares - n * mean * mean).max(0.0);
        let variance = (squares + QUERY_VALUES * QUERY_VARIANCE) / (n + QUERY_VALUES);
        let error = variance * (n.recip() + f64::from(scores.max(1)).recip());
        let radius = QUANTILE * error.sqrt();
        Some(MeanInterval {
            mean,
            lower: (mean - radius).max(-1.0),
            upper: (mean + radius).min(1.0),
        })
    }
}
