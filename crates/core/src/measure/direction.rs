//! Which way a measure gets better, by its name.
//!
//! Only the name counts: scores from files come with nothing else, ours and trec_eval's alike. A
//! measure that nobody knows gets better upwards.

use std::cmp::Ordering;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// More is better, as of nearly every measure.
    Up,
    /// Less is better: it counts what should not be.
    Down,
    /// It describes, and is not good or bad.
    Neither,
}

/// Measures of what should not happen.
const DOWN: &[&str] = &[
    "Abandoned",
    "DupAfter",
    "DupBefore",
    "FN",
    "FP",
    "Reformulated",
    "ZeroResult",
];

/// Measures that describe the gold set, or how a result came to be; and trec_eval's counts.
const NEITHER: &[&str] = &[
    "Fired",
    "Hops",
    "Judged",
    "MaxDepth",
    "MeanDepth",
    "Share",
    "num_q",
    "num_rel",
    "num_ret",
];

impl Direction {
    /// Of a measure by its name: `FP@10`, `nDCG(gain=exp)@10`, `ndcg_cut_10`.
    pub fn of(measure: &str) -> Self {
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
    pub fn better(self, score: f64, other: f64) -> bool {
        match self {
            Self::Up => score.total_cmp(&other) == Ordering::Greater,
            Self::Down => score.total_cmp(&other) == Ordering::Less,
            Self::Neither => false,
        }
    }

    /// The positions of the best scores, more than one where they tie. Nothing where there is
    /// nothing to choose: fewer than two scores, or all the same.
    pub fn best(self, scores: &[Option<f64>]) -> Vec<usize> {
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
