//! Sums of the scores of a query, as integers: merging is exact and independent of order.

use serde::{Deserialize, Serialize};

/// Weight of a score in units of a sum: 2⁴⁴. Sums of integers are exact, so merging is independent
/// of order.
pub(super) const UNITS: f64 = 17_592_186_044_416.0;

/// Maximum number of inherited scores of a query. Sums of all workers stay far below the limit of an
/// integer.
const MAX_INHERITED: u32 = 100_000;

/// Sums of the scores of a query in one part of the traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuerySums {
    pub(super) sum: i64,
    pub(super) high_sum: i64,
    pub(super) unjudged_sum: i64,
    pub(super) scores: u32,
}

impl QuerySums {
    /// Sums of `scores` scores with a mean from 0 to 1.
    pub fn of(mean: f64, scores: u32) -> Self {
        let scores = scores.min(MAX_INHERITED);
        Self {
            sum: to_units(mean.clamp(0.0, 1.0) * f64::from(scores)),
            scores,
            ..Self::default()
        }
    }

    /// Number of scores.
    pub fn scores(&self) -> u32 {
        self.scores
    }

    /// Mean of the scores. `None` without scores.
    pub fn mean(&self) -> Option<f64> {
        (self.scores > 0).then(|| from_units(i128::from(self.sum)) / f64::from(self.scores))
    }

    /// Returns true if scores from 0 to 1 can have these sums.
    pub fn is_possible(&self) -> bool {
        let most = highest(self.scores);
        let is_share = |sum: i64| (0..=most).contains(&sum);
        self.scores <= MAX_INHERITED
            && is_share(self.sum)
            && is_share(self.unjudged_sum)
            && (-most..=most).contains(&self.high_sum)
    }

    /// Adds the sums of another part of the traffic. Beyond 100,000 scores, nothing is added.
    pub fn merge(&mut self, other: &Self) {
        if self.scores.saturating_add(other.scores) > MAX_INHERITED {
            return;
        }
        self.scores += other.scores;
        self.sum = self.sum.saturating_add(other.sum);
        self.high_sum = self.high_sum.saturating_add(other.high_sum);
        self.unjudged_sum = self.unjudged_sum.saturating_add(other.unjudged_sum);
    }
}

/// Highest sum of a number of scores.
pub(super) fn highest(scores: u32) -> i64 {
    let units = to_units(1.0);
    units.saturating_mul(i64::from(scores))
}

/// A sum after a change, between 0 and that of `scores` perfect scores.
pub(super) fn changed(sum: i64, (from, to): (i64, i64), scores: u32) -> i64 {
    let most = highest(scores);
    sum.saturating_sub(from).saturating_add(to).clamp(0, most)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a score from 0 to 1 in units of 2^-44 is far below the limit of the integer"
)]
pub(super) fn to_units(score: f64) -> i64 {
    (score * UNITS).round() as i64
}

#[allow(
    clippy::cast_precision_loss,
    reason = "the quotient has the precision of floating point"
)]
pub(super) fn from_units(units: i128) -> f64 {
    units as f64 / UNITS
}
