//! Sequential detector of a drop in scores at an unknown time.

use serde::{Deserialize, Serialize};

use super::bets::{BETS, Hypothesis, log_mean, log_sum};
use crate::number::real;

/// Shiryaev-Roberts e-detector on ticks (Shin, Ramdas and Rinaldo 2024, "E-detectors", NEJSDS 2).
///
/// Each bet has a statistic M. A score multiplies M by the factor of the bet; a tick adds 1 to M.
/// Every tick starts a new test, and M is the sum of the wealth of all tests. The detector
/// therefore finds a drop at any time. Without a drop, the mean time until M reaches A is at least
/// A ticks.
///
/// After a drop ends, M decreases at a rate that depends on the stake of the bet. Bets with a small
/// stake take tens of thousands of scores to lose the evidence of a long drop. A caller that knows
/// the end of the drop creates a new detector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DropDetector {
    /// Log of M, by bet.
    logs: [f64; BETS],
}

impl Default for DropDetector {
    /// Creates a detector in which every M is 1.
    fn default() -> Self {
        Self { logs: [0.0; BETS] }
    }
}

impl DropDetector {
    /// Adds a value: a raw score, or [`against_baseline`](super::against_baseline) with
    /// [`Hypothesis::dropped_at_most`].
    pub fn add(&mut self, value: f64, hypothesis: Hypothesis) {
        let Some(factors) = hypothesis.log_factors(value) else {
            return;
        };
        for (log, factor) in self.logs.iter_mut().zip(factors) {
            *log += factor;
        }
    }

    /// Advances by one minute: adds 1 to every M.
    pub fn tick(&mut self) {
        self.tick_by(1);
    }

    /// Advances by a number of minutes: adds it to every M.
    pub fn tick_by(&mut self, minutes: u64) {
        if minutes == 0 {
            return;
        }
        let added = real(minutes).ln();
        for log in &mut self.logs {
            // ln(M + minutes), without the exponential of a large number.
            *log = log.max(added) + (-(*log - added).abs()).exp().ln_1p();
        }
    }

    /// Limits every M to at most e^`ceiling`, after a step. Without a ceiling, the evidence of a
    /// long drop grows so large that it takes as long to decrease after the drop. A ceiling of 3 above
    /// the threshold prevents no alarm: if the other bets are small, the M of a single bet must reach
    /// 8 times the threshold (2.08 in logarithms).
    pub fn limit(&mut self, ceiling: f64) {
        for log in &mut self.logs {
            *log = log.min(ceiling);
        }
    }

    /// Merges the detector of another part of the traffic: the values of M are summed. The M of
    /// each part grows by 1 at a tick, so the threshold for the sum of n parts is n times the
    /// threshold of one part. With a product instead of a sum, the result would depend on the
    /// number of parts.
    pub fn merge(&mut self, other: &Self) {
        for (log, more) in self.logs.iter_mut().zip(other.logs) {
            *log = log_sum(&[*log, more]);
        }
    }

    /// Upper bound of [`log_evidence`](Self::log_evidence), without an exponential: the log of the
    /// largest M. The lower bound is ln 8 = 2.08 below it.
    pub fn highest_log(&self) -> f64 {
        self.logs.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Log of the mean of M over all bets. 0 for a new detector.
    pub fn log_evidence(&self) -> f64 {
        log_mean(&self.logs) + 0.0
    }
}

/// Returns the combined log evidence of several parts of the traffic, given the log evidence of
/// each part: the log of the sum, as in [`DropDetector::merge`]. -∞ for an empty list. NaN is
/// ignored.
pub(crate) fn summed(log_evidence: &[f64]) -> f64 {
    let known = log_evidence.iter().copied().filter(|log| !log.is_nan());
    log_sum(&known.collect::<Vec<f64>>())
}
