//! Which way a measure gets better, by its name.
//!
//! Only the name counts, so that a report reads the same for measures it has never seen: those
//! get better upwards.

use std::cmp::Ordering;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// More is better.
    Up,
    /// Less is better.
    Down,
    /// It describes, and is not good or bad.
    Neither,
}

/// Measures of what should not happen.
const DOWN: &[&str] = &[
    "FP",
    "FN",
    "DupBefore",
    "DupAfter",
    "Abandoned",
    "ZeroResult",
    "Reformulated",
];

/// Measures that describe the gold set, or how a result came to be.
const NEITHER: &[&str] = &["Judged", "Share", "Hops", "Fired", "MaxDepth", "MeanDepth"];

impl Direction {
    /// That of a measure, by its canonical name.
    pub(super) fn of(measure: &str) -> Self {
        let name = measure.split(['(', '@']).next().unwrap_or(measure);
        if DOWN.contains(&name) {
            Self::Down
        } else if NEITHER.contains(&name) {
            Self::Neither
        } else {
            Self::Up
        }
    }

    /// Whether `score` is better than `other`.
    pub(super) fn better(self, score: f64, other: f64) -> bool {
        match self {
            Self::Up => score.total_cmp(&other) == Ordering::Greater,
            Self::Down => score.total_cmp(&other) == Ordering::Less,
            Self::Neither => false,
        }
    }

    /// The positions of the best scores, more than one where they tie. Nothing where there is
    /// nothing to choose: fewer than two scores, or all the same.
    pub(super) fn best(self, scores: &[Option<f64>]) -> Vec<usize> {
        let known = || scores.iter().flatten().copied();
        let Some(best) = known().reduce(|best, score| {
            if self.better(score, best) {
                score
            } else {
                best
            }
        }) else {
            return Vec::new();
        };
        if !known().any(|score| self.better(best, score)) {
            return Vec::new();
        }
        let is_best = |score: &Option<f64>| score.is_some_and(|score| !self.better(best, score));
        (0..scores.len()).filter(|i| is_best(&scores[*i])).collect()
    }
}

/// The measure that stands for the others where there is room for one: the first nDCG, else the
/// first that gets better upwards. `None` where there is none of them.
pub(super) fn headline(measures: &[String]) -> Option<usize> {
    let ndcg = measures
        .iter()
        .position(|measure| measure.starts_with("nDCG@") || measure.starts_with("nDCG("));
    let plain = || measures.iter().position(|measure| measure == "nDCG");
    let upwards = || {
        measures
            .iter()
            .position(|measure| Direction::of(measure) == Direction::Up)
    };
    ndcg.or_else(plain).or_else(upwards)
}
