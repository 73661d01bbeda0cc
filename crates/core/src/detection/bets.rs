//! Eight bets against the null hypothesis "the mean is at least m".
//!
//! A bet of the fraction f of the wealth on scores below m multiplies the wealth at each score x by
//! L(x) = 1 + f (m - x)/(1 - m). If the mean is at least m, the wealth does not grow in
//! expectation. A large wealth is therefore evidence against the hypothesis (Waudby-Smith and
//! Ramdas 2024, "Estimating means of bounded random variables by betting", JRSS B 86:1-27). The
//! best fraction depends on the size of the drop, which is unknown. Eight fixed fractions are
//! therefore bet in parallel, and the evidence is the mean of their wealth.

use serde::{Deserialize, Serialize};

use crate::number::real;

/// Number of parallel bets.
pub(super) const BETS: usize = 8;

/// Fraction of the wealth that each bet stakes: 2^-1 to 2^-8. No bet stakes all of it, so no bet
/// can lose its whole wealth.
const STAKES: [f64; BETS] = [
    0.5,
    0.25,
    0.125,
    0.0625,
    0.03125,
    0.015_625,
    0.007_812_5,
    0.003_906_25,
];

/// Highest mean that can be tested. The limit keeps 1 - m away from 0.
const HIGHEST: f64 = 1.0 - 1e-9;

/// ln 8, the difference between the log of the sum of the bets and the log of their mean.
const LN_BETS: f64 = 3.0 * std::f64::consts::LN_2;

/// Null hypothesis: the mean of scores in \[0, 1\] is at least m.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Hypothesis(f64);

impl Hypothesis {
    /// Hypothesis that the mean is at least `m`, limited to 1 - 1e-9. `None` unless `m` is from 0
    /// to 1.
    pub fn at_least(m: f64) -> Option<Self> {
        (0.0..=1.0).contains(&m).then(|| Self(m.min(HIGHEST)))
    }

    /// Hypothesis that scores dropped by at most `epsilon`: the mean of [`against_baseline`] is at
    /// least (1 - `epsilon`)/2. `None` unless `epsilon` is from 0 to 1.
    pub fn dropped_at_most(epsilon: f64) -> Option<Self> {
        Self::at_least((1.0 - epsilon) / 2.0).filter(|_| epsilon >= 0.0)
    }

    /// Hypothetical mean m.
    pub fn mean(self) -> f64 {
        self.0
    }

    /// Returns ln L of each bet at a score. A score outside \[0, 1\] is clamped. `None` for NaN,
    /// which carries no information.
    pub(super) fn log_factors(self, score: f64) -> Option<[f64; BETS]> {
        let odds = (self.0 - within(score)?) / (1.0 - self.0);
        Some(STAKES.map(|stake| (stake * odds).ln_1p()))
    }
}

impl TryFrom<f64> for Hypothesis {
    type Error = &'static str;

    fn try_from(m: f64) -> Result<Self, Self::Error> {
        Self::at_least(m).ok_or("a mean from 0 to 1 is expected")
    }
}

impl From<Hypothesis> for f64 {
    fn from(hypothesis: Hypothesis) -> Self {
        hypothesis.0
    }
}

/// Returns the difference between a score x and the baseline b of its query, scaled to \[0, 1\].
/// The value is (1 + x - b)/2, which is 0.5 for no change. Both are clamped to \[0, 1\]. NaN stays
/// NaN, which the tests ignore.
pub fn against_baseline(score: f64, baseline: f64) -> f64 {
    match (within(score), within(baseline)) {
        (Some(score), Some(baseline)) => (1.0 + score - baseline) / 2.0,
        _ => f64::NAN,
    }
}

/// Clamps a number to \[0, 1\]. `None` for NaN.
pub(super) fn within(number: f64) -> Option<f64> {
    (!number.is_nan()).then(|| number.clamp(0.0, 1.0))
}

/// Returns the log of the mean of the bets, given their logs.
pub(super) fn log_mean(logs: &[f64; BETS]) -> f64 {
    log_sum(logs) - LN_BETS
}

/// Returns the log of a sum, given the logs of the summands. The logs must not contain NaN. -∞ for
/// an empty list.
pub(super) fn log_sum(logs: &[f64]) -> f64 {
    let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if highest.is_infinite() {
        return highest;
    }
    let rest: f64 = logs.iter().map(|log| (log - highest).exp()).sum();
    highest + rest.ln()
}

/// Log of the mean of the e-values of `parts` parts, given the log evidence of those that are known. A part
/// that is not known counts 0. `None` without any.
pub fn averaged(log_evidence: &[f64], parts: u64) -> Option<f64> {
    let known = u64::try_from(log_evidence.len()).unwrap_or(u64::MAX);
    (known > 0).then(|| log_sum(log_evidence) - real(parts.max(known)).ln() + 0.0)
}

/// Largest stake with which a loss of `loss` costs at most 0.9 of the wealth.
pub(super) fn largest_bet(loss: f64) -> f64 {
    0.9 / loss.max(0.01)
}
