//! Direction in which a measure improves, by its name.
//!
//! Only the name is used: scores from files contain nothing else, and their names can be those of
//! rankgauge or of trec_eval. The direction of an unknown measure is up.

use std::cmp::Ordering;

/// Direction in which a measure improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Higher is better, as for nearly every measure.
    Up,
    /// Lower is better: the measure counts failures.
    Down,
    /// Neither is better: the measure is descriptive.
    Neither,
}

/// Measures of failures.
const DOWN: &[&str] = &[
    "Abandoned",
    "DupAfter",
    "DupBefore",
    "FN",
    "FP",
    "Reformulated",
    "ZeroResult",
];

/// Measures that describe the gold set or the origin of a result, and trec_eval's counts.
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
    /// Returns the direction of a measure by its name: `FP@10`, `nDCG(gain=exp)@10`, `ndcg_cut_10`.
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

    /// Returns true if `score` is better than `other`.
    pub fn better(self, score: f64, other: f64) -> bool {
        match self {
            Self::Up => score.total_cmp(&other) == Ordering::Greater,
            Self::Down => score.total_cmp(&other) == Ordering::Less,
            Self::Neither => false,
        }
    }

    /// Returns the positions of the best scores, more than one in case of a tie. The list is empty
    /// with fewer than two scores, or if all scores are equal.
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
