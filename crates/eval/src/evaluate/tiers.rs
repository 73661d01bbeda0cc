//! Tiers and goals that a run reaches.
//!
//! The order of the tiers of a measure follows from their values. The names of tiers have no
//! meaning.

use super::evaluation::{Evaluation, RunEvaluation};
use super::options::{Bound, Goal, Target};
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::measure::tier;

/// Overall tier of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverallTier<'a> {
    /// Best tier that every tier measure reaches.
    Reached(&'a str),
    /// The tier measures have a tier in common, and the run does not reach the lowest.
    Below,
}

impl Evaluation {
    /// Best target of a measure that the mean of a run reaches.
    pub fn tier(&self, run: &RunEvaluation, measure: usize) -> Option<&Target> {
        let mean = run.means.get(measure).copied().flatten()?;
        let reached = self.targets_of(measure);
        let reached = reached.filter(|target| self.is_reached(target, mean));
        reached.max_by(|a, b| self.strictness(a).total_cmp(&self.strictness(b)))
    }

    /// Mark of the tier of a target.
    pub fn mark(&self, target: &Target) -> char {
        let stricter = self.targets_of(target.measure);
        let stricter = stricter.filter(|it| self.strictness(it) > self.strictness(target));
        tier::mark(Some((&target.tier, stricter.count())))
    }

    /// Targets of a measure.
    pub fn targets_of(&self, measure: usize) -> impl Iterator<Item = &Target> {
        let targets = self.targets.iter();
        targets.filter(move |target| target.measure == measure)
    }

    /// Target of a measure that is the easiest to reach.
    pub fn lowest_target(&self, measure: usize) -> Option<&Target> {
        let targets = self.targets_of(measure);
        targets.min_by(|a, b| self.strictness(a).total_cmp(&self.strictness(b)))
    }

    /// Returns true if `mean` reaches `target`.
    pub fn is_reached(&self, target: &Target, mean: f64) -> bool {
        self.direction(target.measure).reaches(mean, target.value)
    }

    /// Highest mean that a run can have, if it is known and too low for `target`.
    pub fn unreachable(&self, run: &RunEvaluation, target: &Target) -> Option<f64> {
        let perfect = run.perfect.get(target.measure).copied().flatten()?;
        let is_up = self.direction(target.measure) == Direction::Up;
        (is_up && !self.is_reached(target, perfect)).then_some(perfect)
    }

    /// Overall tier of a run: the best tier that each of the tier measures reaches. `None` if there
    /// are no tier measures, or if they have no tier in common.
    pub fn overall_tier(&self, run: &RunEvaluation) -> Option<OverallTier<'_>> {
        let (first, others) = self.tier_measures.split_first()?;
        let of = |measure: usize, tier: &str| {
            self.targets_of(measure).find(|target| target.tier == tier)
        };
        let mut common: Vec<&Target> = self
            .targets_of(*first)
            .filter(|target| others.iter().all(|it| of(*it, &target.tier).is_some()))
            .collect();
        common.sort_by(|a, b| self.strictness(b).total_cmp(&self.strictness(a)));
        common.first()?;
        let is_reached = |tier: &str| {
            self.tier_measures.iter().all(|measure| {
                let mean = run.means.get(*measure).copied().flatten();
                let target = of(*measure, tier);
                mean.zip(target)
                    .is_some_and(|(mean, target)| self.is_reached(target, mean))
            })
        };
        let reached = common.iter().find(|target| is_reached(&target.tier));
        Some(reached.map_or(OverallTier::Below, |target| {
            OverallTier::Reached(&target.tier)
        }))
    }

    /// Returns true if a run meets all bounds of a goal. A measure without a mean meets no bound.
    pub fn is_met(&self, goal: &Goal, run: &RunEvaluation) -> bool {
        goal.bounds.iter().all(|bound| bound.is_met(run))
    }

    /// Bound as text: `nDCG@10 >= 0.75`.
    pub fn bound_text(&self, bound: &Bound) -> String {
        let measure = self.measures.get(bound.measure).map_or("", String::as_str);
        format!("{measure} {} {}", bound.relation.sign(), bound.value)
    }

    fn direction(&self, measure: usize) -> Direction {
        let name = self.measures.get(measure);
        name.map_or(Direction::Neither, |name| Direction::of(name))
    }

    /// Number that is higher for a target that is harder to reach.
    fn strictness(&self, target: &Target) -> f64 {
        self.direction(target.measure).strictness(target.value)
    }
}

impl Bound {
    /// Returns true if the mean of a run meets the bound.
    pub fn is_met(&self, run: &RunEvaluation) -> bool {
        let mean = run.means.get(self.measure).copied().flatten();
        mean.is_some_and(|mean| self.relation.holds(mean, self.value))
    }
}
