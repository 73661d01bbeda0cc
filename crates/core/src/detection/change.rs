//! Start and size of a drop, estimated for display after a test has raised an alarm.
//!
//! The estimated start is the last time at which the cumulative sum of the losses was 0 (Page 1954).
//! The size is the mean loss since then, with the bounds of an asymptotic confidence sequence
//! (Waudby-Smith et al. 2024). Start and size are estimated from the same searches, so the size is
//! rather too large than too small while the drop is short.

use serde::{Deserialize, Serialize};

use crate::number::real;

/// Loss per search that the cumulative sum subtracts, in units of the tolerated drop. It is half of
/// the smallest drop whose start is estimated well.
const REFERENCE: f64 = 2.0;

/// Number of searches at which the bounds are closest.
const BEST_AT: f64 = 2_000.0;

/// Compared searches since the estimated start of a drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// First minute of event time. `None` while the scores are not below the baseline.
    since: Option<i64>,
    searches: u64,
    sum: f64,
    squares: f64,
    cumulative: f64,
}

/// Size of a drop with its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DropExtent {
    /// Mean loss of a search against its baseline.
    pub estimate: f64,
    /// Lower bound of the loss.
    pub lower: f64,
    /// Upper bound of the loss.
    pub upper: f64,
    /// Estimated start: minutes of event time since 1970.
    pub since: i64,
    /// Number of compared searches since then.
    pub searches: u64,
}

impl Change {
    /// Adds a search: its baseline minus its score, where higher scores are better. `tolerance` is
    /// the tolerated drop.
    pub fn add(&mut self, minute: i64, loss: f64, tolerance: f64) {
        if loss.is_nan() {
            return;
        }
        self.cumulative += loss - REFERENCE * tolerance;
        if self.cumulative <= 0.0 {
            *self = Self::default();
            return;
        }
        self.since.get_or_insert(minute);
        self.searches += 1;
        self.sum += loss;
        self.squares += loss * loss;
    }

    /// Estimate of the drop. The bounds hold with probability 1 - alpha for `threshold` = ln(1/alpha).
    /// `None` while there is no drop.
    pub fn extent(&self, threshold: f64) -> Option<DropExtent> {
        let since = self.since?;
        let n = real(self.searches);
        let estimate = self.sum / n;
        let variance = (self.squares / n - estimate * estimate).max(n.recip());
        let rho = (2.0 * threshold + (2.0 * threshold + 1.0).ln()) / BEST_AT;
        let a = n * rho + 1.0;
        let radius = (variance * a / (n * n * rho) * (a.ln() + 2.0 * threshold)).sqrt();
        Some(DropExtent {
            estimate,
            lower: (estimate - radius).max(-1.0),
            upper: (estimate + radius).min(1.0),
            since,
            searches: self.searches,
        })
    }

    /// Adds the searches of another part of the traffic.
    pub fn merge(&mut self, other: &Self) {
        self.since = match (self.since, other.since) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.searches += other.searches;
        self.sum += other.sum;
        self.squares += other.squares;
        self.cumulative = self.cumulative.max(other.cumulative);
    }
}
