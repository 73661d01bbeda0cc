//! Eight bets against "the mean is at least m".
//!
//! Betting the part f of what one has on scores below m multiplies it by L(x) = 1 + f (m - x)/(1 - m)
//! at each score x. Were the mean at least m, nobody could expect to win; so a large fortune is evidence
//! that it is not (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by
//! betting", JRSS B 86:1-27). How much to bet depends on how far the mean fell, which nobody knows:
//! eight fixed parts are tried side by side, and their mean is what counts.

use serde::{Deserialize, Serialize};

/// How many bets are made side by side.
pub const BETS: usize = 8;

/// The part of a fortune that each bet stakes: 2^-1 to 2^-8. None stakes all, so none is ruined.
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

/// The highest mean that can be tested: below it 1 - m is far from 0.
const HIGHEST: f64 = 1.0 - 1e-9;

/// ln 8, by which the sum of the bets is larger than their mean.
const LN_BETS: f64 = 3.0 * std::f64::consts::LN_2;

/// What is doubted: that the mean of scores in \[0, 1\] is at least m.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Hypothesis(f64);

impl Hypothesis {
    /// The mean is at least `m`, from 0 to 1; else `None`. Above 1 - 1e-9, that is tested.
    pub fn at_least(m: f64) -> Option<Self> {
        (0.0..=1.0).contains(&m).then(|| Self(m.min(HIGHEST)))
    }

    /// The mean of [`against_baseline`] is at least (1 - `epsilon`)/2: scores fell by at most
    /// `epsilon`, from 0 to 1; else `None`.
    pub fn fell_at_most(epsilon: f64) -> Option<Self> {
        Self::at_least((1.0 - epsilon) / 2.0).filter(|_| epsilon >= 0.0)
    }

    /// m.
    pub fn mean(self) -> f64 {
        self.0
    }

    /// ln L of each bet at a score. A score outside \[0, 1\] counts as the nearest in it; NaN says
    /// nothing, and `None` is returned.
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

/// A score beside what its query usually has: (1 + x - b)/2, which is 0.5 for no change. Both count
/// as the nearest number in \[0, 1\]; NaN stays NaN, which no test counts.
pub fn against_baseline(score: f64, baseline: f64) -> f64 {
    match (within(score), within(baseline)) {
        (Some(score), Some(baseline)) => (1.0 + score - baseline) / 2.0,
        _ => f64::NAN,
    }
}

/// The number in \[0, 1\] that is nearest; `None` for NaN.
pub(super) fn within(number: f64) -> Option<f64> {
    (!number.is_nan()).then(|| number.clamp(0.0, 1.0))
}

/// ln of the mean of the bets, given their logarithms.
pub(super) fn log_mean(logs: &[f64; BETS]) -> f64 {
    log_sum(logs) - LN_BETS
}

/// ln of a sum, given the logarithms of what is summed: at least one number, none of them NaN.
pub(super) fn log_sum(logs: &[f64]) -> f64 {
    let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if highest.is_infinite() {
        return highest;
    }
    let rest: f64 = logs.iter().map(|log| (log - highest).exp()).sum();
    highest + rest.ln()
}
