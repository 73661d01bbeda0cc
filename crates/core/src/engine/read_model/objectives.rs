//! Objectives of latency, errors and cost.
//!
//! Searches and failures follow from what is counted anyway: the buckets of the latency histogram,
//! the errors, and the scores of ZeroResult.

use std::collections::BTreeMap;

use super::model::ReadModel;
use crate::detection::averaged;
use crate::engine::family;
use crate::engine::fixed::Nano;
use crate::engine::fleet::SharedTest;
use crate::engine::series::{Dimension, Label};
use crate::engine::settings::{Objective, Quantity};
use crate::measure::{Measure, UserMeasure};

/// Searches of one variant that an objective is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// Searches since the start.
    pub searches: u64,
    /// Searches that failed the least demanding target.
    pub failures: u64,
}

impl ReadModel<'_> {
    /// Searches and failures of an objective, by variant. Empty for an objective that is not about a
    /// share of failures.
    pub fn failures(&self, objective: &Objective) -> BTreeMap<&str, Failures> {
        let mut failures: BTreeMap<&str, Failures> = BTreeMap::new();
        let mut add = |variant, searches, failed: u64| {
            let of_variant = failures.entry(variant).or_default();
            of_variant.searches += searches;
            of_variant.failures += failed;
        };
        match &objective.quantity {
            Quantity::LatencyQuantile { stage, .. } => {
                let keys = self.keys(&family::SEARCH_LATENCY).iter();
                let is_of_stage = |of| self.text(Dimension::Stage, of) == stage;
                // The target is a bound of the buckets.
                let target = objective.target().unwrap_or(f64::INFINITY);
                let is_within = |bound: &&f64| **bound <= target * (1.0 + f64::EPSILON);
                let within = self.settings.latency_buckets.iter().take_while(is_within);
                let within = within.count();
                for ([of, variant, ..], histogram) in keys.zip(self.latency_buckets()) {
                    if is_of_stage(*of) && !histogram.counts.is_empty() {
                        let slow = histogram.counts.iter().skip(within).sum();
                        let all = histogram.counts.iter().sum();
                        add(self.variant(*variant), all, slow);
                    }
                }
            }
            Quantity::ErrorRate => {
                for whole in self.variants() {
                    add(whole.variant, self.searches(whole.series), 0);
                }
                let errors = self.snapshot.totals.counters.of(&family::SEARCH_ERRORS);
                for ([variant, ..], errors) in self.keys(&family::SEARCH_ERRORS).iter().zip(errors)
                {
                    add(
                        self.variant(*variant),
                        0,
                        u64::try_from(*errors).unwrap_or(0),
                    );
                }
            }
            Quantity::ZeroResultRate => {
                let zero_result = Measure::User(UserMeasure::ZeroResult);
                let mut measures = self.settings.measures.iter();
                let measure = measures.position(|measure| *measure == zero_result);
                for whole in self.variants() {
                    let tally = measure.and_then(|measure| self.tally(measure, whole.series));
                    if let Some(tally) = tally {
                        let ones = tally.sum / i128::from(Nano::ONE.get());
                        add(whole.variant, tally.count, u64::try_from(ones).unwrap_or(0));
                    }
                }
            }
            Quantity::Mean(_) | Quantity::TrafficShare { .. } | Quantity::Throughput => {}
        }
        failures
    }

    /// Evidence that an objective is missed: name of the objective, name of the variant, and log
    /// evidence (ln). Evidence against a lower and an upper bound is their mean e-value.
    pub fn objective_evidence(&self) -> Vec<(&str, &str, f64)> {
        let detection = &self.settings.detection;
        let means = &self.snapshot.totals.means;
        let of_objective = |objective: &Objective| {
            let mut logs: BTreeMap<Label, Vec<f64>> = BTreeMap::new();
            let tests = detection.means.iter();
            for test in tests.filter(|test| *test.objective == *objective.name) {
                for (variant, log) in means.log_evidence(test, detection.workers) {
                    logs.entry(variant).or_default().push(log);
                }
            }
            logs
        };
        let objectives = self.settings.objectives.iter();
        objectives
            .flat_map(|objective| {
                of_objective(objective).into_iter().map(|(variant, logs)| {
                    let (own, variant) = (averaged(&logs, 1).unwrap_or(0.0), self.variant(variant));
                    let labels = [objective.name.as_str(), variant];
                    let of = (SharedTest::Objective, Some(variant), Some(own));
                    let log = self.of_fleet(of.0, &labels, of.1, of.2);
                    (labels[0], variant, log.unwrap_or(own))
                })
            })
            .collect()
    }
}
