//! Bounds of a mean that hold at every look.
//!
//! A mean that the bets would have refuted by now is out of bounds: the bounds are the target test's
//! threshold, looked up from the other side. For every mean to be tried the scores have to be known, so
//! they are kept as a histogram, which is bounded, additive, and independent of order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bets::{BETS, Hypothesis, log_mean};
use super::real;

/// Equal steps from 0 to 1. What measures with a cutoff of 10 or less give lies on their ends, mostly:
/// halves, thirds, quarters, fifths, sixths, eighths and tenths do.
const STEPS: u64 = 240;

/// Units of weight that a score has.
const WEIGHT: u64 = 1_000_000;

/// Halvings of [0, 1] until a bound is as exact as a number can be.
const HALVINGS: u32 = 60;

/// Scores in \[0, 1\], by value.
///
/// A score between two ends of a step is shared between them, so that its mean stays the same. ln L
/// is a concave function of the score, so less evidence comes out than there is, and bounds are wider by
/// something like the square of a step; never narrower.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Weight by the end of a step, in [`WEIGHT`] of a score.
    weights: BTreeMap<u16, u64>,
}

/// Between what the mean of the scores lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// With probability 1 - alpha, the mean is never below.
    pub lower: f64,
    /// With probability 1 - alpha, the mean is never above.
    pub upper: f64,
}

impl Histogram {
    /// Counts a score; one outside \[0, 1\] counts as the nearest in it, NaN as none.
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

    /// Takes in what somebody else counted.
    pub fn merge(&mut self, other: &Self) {
        for (step, weight) in &other.weights {
            self.put(u64::from(*step), *weight);
        }
    }

    /// Whether there is no score.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// The bounds of the mean at `alpha`, each for itself; 0 and 1 without scores.
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

/// The lowest mean against which the evidence of (score, how many) reaches `threshold`; 1 if that of
/// none does. The evidence grows with the mean that it is against.
fn upper(scores: &[(f64, f64)], threshold: f64) -> f64 {
    let refuted = |mean: f64| {
        Hypothesis::at_least(mean).is_some_and(|it| log_evidence(scores, it) >= threshold)
    };
    if !refuted(1.0) {
        return 1.0;
    }
    let (mut kept, mut gone) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(kept, gone);
        if refuted(middle) {
            gone = middle;
        } else {
            kept = middle;
        }
    }
    gone
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

/// The whole part of a number of at most a million.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to WEIGHT, and the fraction is meant to go"
)]
fn whole(number: f64) -> u64 {
    number as u64
}
