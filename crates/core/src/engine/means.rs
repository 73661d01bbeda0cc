//! Evidence that an objective is missed: a mean latency or cost, or a share of searches that fail or
//! go to a variant.
//!
//! The test is that of [`BlockTests`]: the searches of a block of event time are one observation. A
//! latency or cost is divided by a multiple of the objective, so that it is from 0 to 1. A value above
//! that multiple counts as the multiple, which can delay an alarm but cannot cause one. A share is the
//! mean of 0 and 1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detection::BlockTests;
use crate::engine::objective::{MeanObjective, Observed, TestedQuantity};
use crate::engine::remap::IdRemap;
use crate::engine::series::{Dimension, Label};
use crate::engine::settings::Detection;
use crate::time::EventTime;

/// Multiple of the objective at which latencies and costs are cut off.
const CUTOFF: f64 = 8.0;

/// Values of an objective as scores from 0 to 1.
struct Scale {
    /// Value whose score is 0.
    whole: f64,
    /// Score of the objective.
    target: f64,
}

impl Scale {
    fn of(objective: &MeanObjective) -> Self {
        let whole = match objective.quantity {
            TestedQuantity::Mean(_) => CUTOFF * objective.target,
            TestedQuantity::Slower(..)
            | TestedQuantity::Error
            | TestedQuantity::NoResults
            | TestedQuantity::OfVariant(_)
            | TestedQuantity::OfOthers(_) => 1.0,
        };
        Self {
            whole,
            target: 1.0 - objective.target / whole,
        }
    }
}

/// Evidence by objective and variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Means(BTreeMap<Box<str>, BTreeMap<Label, BlockTests>>);

impl Means {
    /// Adds the value of a search to the objectives of its quantity.
    pub(super) fn observe(
        &mut self,
        ts: EventTime,
        variant: Label,
        of: Observed<'_>,
        settings: &Detection,
    ) {
        for objective in &settings.means {
            if let Some(value) = objective.value(of) {
                self.add(objective, ts, variant, value, settings);
            }
        }
    }

    /// Adds the value of a search to an objective.
    pub(super) fn add(
        &mut self,
        objective: &MeanObjective,
        ts: EventTime,
        variant: Label,
        value: f64,
        settings: &Detection,
    ) {
        let tests = match self.0.get_mut(&*objective.name) {
            Some(tests) => tests,
            None => self.0.entry(objective.name.clone()).or_default(),
        };
        let test = tests.entry(variant).or_default();
        let Scale { whole, target } = Scale::of(objective);
        // Higher is better for the test.
        test.add(ts.0, 1.0 - value / whole, settings.burst.block(), target);
    }

    /// Log evidence (ln) that the mean exceeds the objective, by variant: the mean e-value of
    /// `workers` workers.
    pub fn log_evidence(
        &self,
        objective: &MeanObjective,
        workers: u64,
    ) -> impl Iterator<Item = (Label, f64)> {
        let target = Scale::of(objective).target;
        let tests = self.0.get(&objective.name).into_iter().flatten();
        tests.map(move |(variant, test)| (*variant, test.log_mean(target, workers)))
    }

    /// Removes the evidence of a variant.
    pub(super) fn retire(&mut self, variant: Label) {
        for tests in self.0.values_mut() {
            tests.remove(&variant);
        }
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let tests: usize = self.0.values().map(BTreeMap::len).sum();
        tests * size_of::<(Label, BlockTests)>()
    }

    /// Adds other evidence with the same numbers.
    pub(super) fn merge(&mut self, other: &Self) {
        for (objective, tests) in &other.0 {
            let mine = self.0.entry(objective.clone()).or_default();
            for (variant, test) in tests {
                mine.entry(*variant).or_default().merge(test);
            }
        }
    }

    /// Returns saved evidence with the numbers of this process. Evidence of objectives that no longer
    /// exist is dropped.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let mut now = Self::default();
        for (objective, tests) in &self.0 {
            let mut known = ids.settings.detection.means.iter();
            if known.any(|it| it.name == *objective) {
                let mine = now.0.entry(objective.clone()).or_default();
                for (variant, test) in tests {
                    let variant = ids.label(Dimension::Variant, *variant);
                    mine.entry(variant).or_default().merge(test);
                }
            }
        }
        now
    }

    /// Removes all evidence, or that of one variant.
    pub(super) fn reset(&mut self, variant: Option<Label>) {
        match variant {
            Some(variant) => self.retire(variant),
            None => self.0.clear(),
        }
    }
}
