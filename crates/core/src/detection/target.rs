//! Sequential test of a mean against a target.

use serde::{Deserialize, Serialize};

use super::bets::{BETS, Hypothesis, log_mean};

/// Test of the null hypothesis "the mean of the scores is at least the target".
///
/// If the target is met, the probability that the log evidence ever reaches ln(1/alpha) is at most
/// alpha. The test covers all scores since its creation, so a new deployment needs a new test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetTest {
    /// Log of the wealth, by bet.
    logs: [f64; BETS],
}

impl TargetTest {
    /// Adds a score. All scores of a test must use the same hypothesis, or hypotheses that are true
    /// together.
    pub fn add(&mut self, score: f64, hypothesis: Hypothesis) {
        let Some(factors) = hypothesis.log_factors(score) else {
            return;
        };
        for (log, factor) in self.logs.iter_mut().zip(factors) {
            *log += factor;
        }
    }

    /// Merges the test of another part of the same scores. The logs of each bet add, so the result
    /// equals the result of a single test over all scores, except for rounding.
    ///
    /// If only the log evidence of the parts is known, the sum of the log evidence is valid as
    /// well, but not equal: the wealth of independent bets multiplies.
    pub fn merge(&mut self, other: &Self) {
        for (log, more) in self.logs.iter_mut().zip(other.logs) {
            *log += more;
        }
    }

    /// Log evidence: log of the mean wealth of the bets. 0 without scores.
    pub fn log_evidence(&self) -> f64 {
        log_mean(&self.logs) + 0.0
    }
}
