//! Evidence that a target is missed.

use serde::{Deserialize, Serialize};

use super::bets::{BETS, Hypothesis, log_mean};

/// Evidence against "the mean of the scores is at least the target", from its first score on.
///
/// Once in a lifetime, with probability alpha, it reaches ln(1/alpha) although the target is met. It
/// looks at all scores since it was made, so a new one is made for a new deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetTest {
    /// ln of each bet's fortune.
    logs: [f64; BETS],
}

impl TargetTest {
    /// Counts a score. All scores of a test meet the same hypothesis, or hypotheses that hold
    /// together.
    pub fn add(&mut self, score: f64, hypothesis: Hypothesis) {
        let Some(factors) = hypothesis.log_factors(score) else {
            return;
        };
        for (log, factor) in self.logs.iter_mut().zip(factors) {
            *log += factor;
        }
    }

    /// Takes in another part of the same scores. Bet by bet the logarithms add, so the parts give what
    /// the whole would have given, but for rounding.
    ///
    /// Of parts of which only the log evidence is known, the sum of that is a valid log evidence as
    /// well, if not the same one: fortunes that were won side by side multiply.
    pub fn merge(&mut self, other: &Self) {
        for (log, more) in self.logs.iter_mut().zip(other.logs) {
            *log += more;
        }
    }

    /// ln E, the mean of the bets: 0 without scores.
    pub fn log_evidence(&self) -> f64 {
        log_mean(&self.logs) + 0.0
    }
}
