//! Anytime-valid confidence bounds of a mean.
//!
//! The bounds invert the target test: they contain the means that the bets have not rejected. Every
//! candidate mean is tested against all scores, so the scores are kept as a histogram. The
//! histogram is bounded in size, additive, and independent of order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bets::{BETS, Hypothesis, log_mean};
use super::real;

/// Number of equal steps from 0 to 1. Most scores of measures with a cutoff of 10 or less lie
/// exactly on the end of a step: halves, thirds, quarters, fifths, sixths, eighths and tenths.
const STEPS: u64 = 240;

/// Weight of one score, in units of the histogram.
const WEIGHT: u64 = 1_000_000;

/// Number of bisection steps on \[0, 1\]. More steps do not improve a floating-point bound.
const BISECTION_STEPS: u32 = 60;

/// Histogram of scores in \[0, 1\].
///
/// The weight of a score inside a step is split between the two ends of the step, which preserves
/// the mean. ln L is a concave function of the score, so the split can only reduce the evidence.
/// The bounds are wider by about the square of a step, and never narrower.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Weight by the end of a step, in units of 1/[`WEIGHT`] of a score.
    weights: BTreeMap<u16, u64>,
}

/// Confidence bounds of the mean of the scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Lower bound. With probability 1 - alpha, the mean is never below it.
    pub lower: f64,
    /// Upper bound. With probability 1 - alpha, the mean is never above it.
    pub upper: f64,
}

impl Histogram {
    /// Adds a score. A score outside \[0, 1\] is clamped; NaN is ignored.
    pub fn add(&mut self, score: f64) {
        let Some(score) = super::bets::within(score) else {
            return;
        };
        let place = score * real(STEPS);
        let (step, above) = (whole(place.floor()), whole(place.fract() * real(WEIGHT)));
        self.put(step, WEIGHT.saturating_sub(above));
        self.put(step + 1, above);
    }

    fn put(&mut self, step: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        let step = u16::try_from(step.min(STEPS)).unwrap_or(u16::MAX);
        let known = self.weights.entry(step).or_default();
        *known = known.saturating_add(weight);
    }

    /// Adds the scores of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (step, weight) in &other.weights {
            self.put(u64::from(*step), *weight);
        }
    }

    /// Returns true if the histogram has no scores.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Confidence bounds of the mean, each one-sided at level `alpha`. 0 and 1 without scores.
    pub fn bounds(&self, alpha: f64) -> Bounds {
        let threshold = super::log_threshold(alpha);
        let scores = |mirrored: bool| -> Vec<(f64, f64)> {
            let weights = self.weights.iter();
            let scores = weights.map(|(step, weight)| {
                let score = f64::from(*step) / real(STEPS);
                let score = if mirrored { 1.0 - score } else { score };
                (score, real(*weight) / real(WEIGHT))
            });
            scores.collect()
        };
        Bounds {
            lower: 1.0 - upper(&scores(true), threshold),
            upper: upper(&scores(false), threshold),
        }
    }
}

/// Returns the lowest mean that the scores, given as (score, count), reject at `threshold`, or 1 if
/// they reject none. The evidence against a mean increases with that mean.
fn upper(scores: &[(f64, f64)], threshold: f64) -> f64 {
    let rejects = |mean: f64| {
        Hypothesis::at_least(mean).is_some_and(|it| log_evidence(scores, it) >= threshold)
    };
    if !rejects(1.0) {
        return 1.0;
    }
    let (mut accepted, mut rejected) = (0.0, 1.0);
    for _ in 0..BISECTION_STEPS {
        let middle = f64::midpoint(accepted, rejected);
        if rejects(middle) {
            rejected = middle;
        } else {
            accepted = middle;
        }
    }
    rejected
}

fn log_evidence(scores: &[(f64, f64)], hypothesis: Hypothesis) -> f64 {
    let mut logs = [0.0; BETS];
    for (score, count) in scores {
        for (log, factor) in logs
            .iter_mut()
            .zip(hypothesis.log_factors(*score).into_iter().flatten())
        {
            *log += count * factor;
        }
    }
    log_mean(&logs)
}

/// Returns the integer part of a number from 0 to one million.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to WEIGHT; the fraction is dropped on purpose"
)]
fn whole(number: f64) -> u64 {
    number as u64
}
