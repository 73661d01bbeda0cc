//! Direction in which a measure improves.

use std::cmp::Ordering;

use serde::Serialize;

use super::catalogue::find;
use super::requirement::Relation;

/// Direction in which a measure improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Higher is better, as for nearly every measure.
    Up,
    /// Lower is better: the measure counts failures.
    Down,
    /// Neither is better: the measure is descriptive.
    Neither,
}

impl Direction {
    /// Returns the direction of a measure by its name, canonical or alias: `FP@10`,
    /// `nDCG(gain=exp)@10`, `ndcg_cut_10`. Scores from files have names only, which can be those of
    /// rankgauge or of another tool. The direction of an unknown measure is up.
    pub fn of(measure: &str) -> Self {
        let name = measure.split(['(', '@']).next().unwrap_or(measure);
        find(name).map_or(Self::Up, |named| named.descriptor.direction)
    }

    /// Returns the best possible score of a measure by its name; `None` if it is not known, or if no
    /// score is better than another.
    pub fn perfect(measure: &str) -> Option<f64> {
        let name = measure.split(['(', '@']).next().unwrap_or(measure);
        let descriptor = find(name)?.descriptor;
        match descriptor.direction {
            Self::Up => descriptor.range.is_share().then_some(1.0),
            Self::Down => Some(0.0),
            Self::Neither => None,
        }
    }

    /// Returns true if `mean` is at least as good as `target`. A descriptive measure is read as one that is
    /// better when higher.
    pub fn reaches(self, mean: f64, target: f64) -> bool {
        self.relation().holds(mean, target)
    }

    /// Relation of a mean that reaches a target to the target.
    pub fn relation(self) -> Relation {
        match self {
            Self::Down => Relation::AtMost,
            Self::Up | Self::Neither => Relation::AtLeast,
        }
    }

    /// Number that is higher for a target that is harder to reach.
    pub fn strictness(self, target: f64) -> f64 {
        match self {
            Self::Down => -target,
            Self::Up | Self::Neither => target,
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
