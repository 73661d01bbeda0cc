//! Evidence that scores fell at some unknown moment.

use serde::{Deserialize, Serialize};

use super::bets::{BETS, Hypothesis, log_mean, log_sum};

/// A Shiryaev-Roberts e-detector on ticks (Shin, Ramdas and Rinaldo 2024, "E-detectors", NEJSDS 2).
///
/// Each bet's M is multiplied at a score and grows by 1 at a tick: at every tick a new test begins, and M
/// is the sum of all their fortunes. So it finds a drop whenever it comes, and while there is none, the
/// mean time until M reaches A is at least A ticks.
///
/// Without a drop M goes back by itself, each bet's as fast as it stakes: what careful bets won in a long
/// drop they give back over tens of thousands of scores. Whoever knows that it is over makes a new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DropDetector {
    /// ln of each bet's M.
    logs: [f64; BETS],
}

impl Default for DropDetector {
    /// Every M is 1.
    fn default() -> Self {
        Self { logs: [0.0; BETS] }
    }
}

impl DropDetector {
    /// Counts a value: a score as it stands, or [`against_baseline`](super::against_baseline) with
    /// [`Hypothesis::fell_at_most`].
    pub fn add(&mut self, value: f64, hypothesis: Hypothesis) {
        let Some(factors) = hypothesis.log_factors(value) else {
            return;
        };
        for (log, factor) in self.logs.iter_mut().zip(factors) {
            *log += factor;
        }
    }

    /// Counts a minute: every M grows by 1.
    pub fn tick(&mut self) {
        for log in &mut self.logs {
            // ln(M + 1), without exp of what is large.
            *log = log.max(0.0) + (-log.abs()).exp().ln_1p();
        }
    }

    /// Keeps every M at or below e^`ceiling`, after a step. Without a ceiling the evidence of a long
    /// drop grows so large that it takes as long to go back after it; a ceiling of
    /// [`ABOVE_THRESHOLD`](super::ABOVE_THRESHOLD) over the threshold lets every alarm come, for a
    /// single bet's M has to reach 8 times the threshold (2.08 in logarithms) when the others are small.
    pub fn limit(&mut self, ceiling: f64) {
        for log in &mut self.logs {
            *log = log.min(ceiling);
        }
    }

    /// Takes in the detector of another part of the traffic: the Ms are summed. Each part's M grows by 1
    /// at a tick, so the threshold for the sum of n parts is n times that of one; multiplying them would
    /// let the number of parts decide.
    pub fn merge(&mut self, other: &Self) {
        for (log, more) in self.logs.iter_mut().zip(other.logs) {
            *log = log_sum(&[*log, more]);
        }
    }

    /// ln of the mean of the bets' Ms: 0 at the start.
    pub fn log_evidence(&self) -> f64 {
        log_mean(&self.logs) + 0.0
    }
}

/// The log evidence of several parts of the traffic together, of which each one's log evidence is
/// known: ln of the sum, as [`DropDetector::merge`] gives it. -∞ of nothing; NaN is left out.
pub fn summed(log_evidence: &[f64]) -> f64 {
    let known = log_evidence.iter().copied().filter(|log| !log.is_nan());
    log_sum(&known.collect::<Vec<f64>>())
}
