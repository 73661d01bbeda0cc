//! Sequential test of scores without times: bets against the null hypothesis "the mean is at least m".
//!
//! A bet of the fraction f of the wealth on scores below m multiplies the wealth at each score x by
//! L(x) = 1 + f (m - x)/(1 - m). If the mean is at least m, the wealth does not grow in
//! expectation. A large wealth is therefore evidence against the hypothesis (Waudby-Smith and
//! Ramdas 2024, "Estimating means of bounded random variables by betting", JRSS B 86:1-27). The
//! best fraction depends on the size of the drop, which is unknown. Eight fixed fractions are
//! therefore bet in parallel, and the evidence is the mean of their wealth.

use super::bets::{BETS, log_sum, within};

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

/// Test of the null hypothesis that the mean of scores from 0 to 1 is at least m.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreTest {
    alternative: Alternative,
    /// Log of the wealth, by bet.
    logs: [f64; BETS],
}

/// Alternative to the null hypothesis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Alternative {
    /// The mean of all scores is below m.
    Missed,
    /// The mean fell below m at an unknown time.
    Drop {
        /// Maximum of each log.
        ceiling: f64,
    },
}

impl ScoreTest {
    /// Test of the mean against a target. If the target is met, the probability that the log
    /// evidence ever reaches ln(1/alpha) is at most alpha. All scores of the test use the same mean,
    /// or means that are met together.
    pub fn target() -> Self {
        Self::new(Alternative::Missed)
    }

    /// Shiryaev-Roberts e-detector of a drop at an unknown time, on minutes (Shin, Ramdas and
    /// Rinaldo 2024, "E-detectors", NEJSDS 2). A score multiplies the wealth M of each bet by its
    /// factor; a minute adds 1 to M: it starts a new test, and M is the sum of the wealth of all
    /// tests. Without a drop, the mean time until M reaches A is at least A minutes.
    ///
    /// Every M is limited to e^`ceiling`. Without a ceiling, which is `f64::INFINITY`, the evidence
    /// of a long drop grows so large that it takes as long to decrease after the drop. A ceiling of 3
    /// above the threshold prevents no alarm: if the other bets are small, the M of a single bet must
    /// reach 8 times the threshold (2.08 in logarithms).
    pub fn drop(ceiling: f64) -> Self {
        Self::new(Alternative::Drop { ceiling })
    }

    fn new(alternative: Alternative) -> Self {
        Self {
            alternative,
            logs: [0.0; BETS],
        }
    }

    /// Difference between a score x and the baseline b of its query, scaled to \[0, 1\]: the value
    /// is (1 + x - b)/2, which is 0.5 for no change. Both are clamped to \[0, 1\]. NaN stays NaN,
    /// which a test ignores.
    pub fn against_baseline(score: f64, baseline: f64) -> f64 {
        match (within(score), within(baseline)) {
            (Some(score), Some(baseline)) => (1.0 + score - baseline) / 2.0,
            _ => f64::NAN,
        }
    }

    /// Mean of [`against_baseline`](Self::against_baseline) if scores dropped by `epsilon`.
    pub fn mean_after_drop(epsilon: f64) -> f64 {
        (1.0 - epsilon) / 2.0
    }

    /// Adds a score, which tests that its mean is at least `mean`. A score outside \[0, 1\] is
    /// clamped. NaN is ignored, as is a mean outside \[0, 1\].
    pub fn add(&mut self, score: f64, mean: f64) {
        let Some(score) = within(score).filter(|_| (0.0..=1.0).contains(&mean)) else {
            return;
        };
        let mean = mean.min(HIGHEST);
        let odds = (mean - score) / (1.0 - mean);
        for (log, stake) in self.logs.iter_mut().zip(STAKES) {
            *log += (stake * odds).ln_1p();
        }
        self.limit();
    }

    /// Advances by one minute: adds 1 to every M of a test for a drop. A test against a target uses
    /// scores only, not time.
    pub fn tick(&mut self) {
        if self.alternative == Alternative::Missed {
            return;
        }
        for log in &mut self.logs {
            // ln(M + 1), without the exponential of a large number.
            *log = log.max(0.0) + (-log.abs()).exp().ln_1p();
        }
        self.limit();
    }

    fn limit(&mut self) {
        if let Alternative::Drop { ceiling } = self.alternative {
            for log in &mut self.logs {
                *log = log.min(ceiling);
            }
        }
    }

    /// Log evidence: log of the mean wealth of the bets. 0 for a new test.
    pub fn log_evidence(&self) -> f64 {
        log_sum(&self.logs) - LN_BETS + 0.0
    }
}
