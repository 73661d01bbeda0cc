//! Evidence that the mean latency of a stage, or the mean cost of a search, misses its objective.
//!
//! The test is that of [`BlockTests`]: the searches of a block of event time are one observation. A
//! value is divided by a multiple of the objective, so that it is from 0 to 1. A value above that
//! multiple counts as the multiple, which can delay an alarm but cannot cause one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detection::BlockTests;
use crate::engine::registry::{Dimension, Label};
use crate::engine::remap::IdRemap;
use crate::engine::settings::{Detection, MeanObjective, ObservedMean};
use crate::time::EventTime;

/// Multiple of the objective at which values are cut off.
const CUTOFF: f64 = 8.0;

/// Evidence by objective and variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Means(BTreeMap<Box<str>, BTreeMap<Label, BlockTests>>);

impl Means {
    /// Adds the value of a search to the objectives of the quantity.
    pub(super) fn observe(
        &mut self,
        ts: EventTime,
        variant: Label,
        of: ObservedMean<'_>,
        value: f64,
        settings: &Detection,
    ) {
        for objective in settings.means.iter().filter(|it| it.observes(of)) {
            let tests = match self.0.get_mut(&*objective.name) {
                Some(tests) => tests,
                None => self.0.entry(objective.name.clone()).or_default(),
            };
            let test = tests.entry(variant).or_default();
            // Higher is better for the test.
            let score = 1.0 - value / (CUTOFF * objective.target);
            test.add(ts.0, score, settings.burst.block(), 1.0 - CUTOFF.recip());
        }
    }

    /// Log evidence (ln) that the mean exceeds the objective, by variant: the mean e-value of
    /// `workers` workers.
    pub fn log_evidence(
        &self,
        objective: &MeanObjective,
        workers: u64,
    ) -> impl Iterator<Item = (Label, f64)> {
        let tests = self.0.get(&objective.name).into_iter().flatten();
        tests.map(move |(variant, test)| (*variant, test.log_mean(1.0 - CUTOFF.recip(), workers)))
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
