//! Metric families of objectives: latency, errors, cost and traffic.
//!
//! Searches and failures follow from what is counted anyway: the buckets of the latency histogram,
//! the errors, and the scores of ZeroResult.

use std::collections::BTreeMap;

use super::{ALL_SEARCHES, Sink, SnapshotView, Value};
use rankgauge_core::engine::family;
use rankgauge_core::engine::fixed::{NANO_DECIMALS, units_to_f64};
use rankgauge_core::engine::scores::{SEARCHES, column_of};
use rankgauge_core::engine::settings::{Objective, Quantity};
use rankgauge_core::measure::{Measure, UserMeasure};

/// Searches and failures of one variant.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    searches: u64,
    failures: u64,
}

impl SnapshotView<'_> {
    pub(super) fn objectives(&self, sink: &mut dyn Sink) {
        let objectives = &self.settings.objectives;
        sink.family(&family::OBJECTIVE_TARGET);
        for objective in objectives {
            for (tier, target) in &objective.tiers {
                let labels = [("objective", objective.name.as_str()), ("tier", tier)];
                sink.sample(&labels, Value::Float(*target));
            }
        }
        sink.family(&family::OBJECTIVE_BUDGET);
        for objective in objectives {
            if let Some(budget) = objective.budget() {
                let labels = [("objective", objective.name.as_str())];
                sink.sample(&labels, Value::Float(budget));
            }
        }
        let counts: Vec<(&str, BTreeMap<&str, Counts>)> = objectives
            .iter()
            .map(|objective| (objective.name.as_str(), self.counts(objective)))
            .collect();
        sink.family(&family::OBJECTIVE_SEARCHES);
        for (objective, by_variant) in &counts {
            for (variant, counts) in by_variant {
                let labels = [("objective", *objective), ("variant", *variant)];
                sink.sample(&labels, Value::Count(counts.searches));
            }
        }
        sink.family(&family::OBJECTIVE_FAILURES);
        for (objective, by_variant) in &counts {
            for (variant, counts) in by_variant {
                let labels = [("objective", *objective), ("variant", *variant)];
                sink.sample(&labels, Value::Count(counts.failures));
            }
        }
        self.means(sink);
        sink.family(&family::OBJECTIVE_BOUND);
        for objective in objectives {
            let Quantity::TrafficShare { variant, min, max } = &objective.quantity else {
                continue;
            };
            for (bound, share) in [("min", min), ("max", max)] {
                if let Some(share) = share {
                    let labels = [
                        ("objective", objective.name.as_str()),
                        ("variant", variant),
                        ("bound", bound),
                    ];
                    sink.sample(&labels, Value::Float(*share));
                }
            }
        }
    }

    /// Writes the evidence of the means.
    fn means(&self, sink: &mut dyn Sink) {
        let detection = &self.settings.detection;
        let objectives = &self.settings.objectives;
        let means = objectives
            .iter()
            .filter(|objective| match objective.quantity {
                Quantity::Mean(_) => true,
                Quantity::LatencyQuantile { .. }
                | Quantity::ErrorRate
                | Quantity::ZeroResultRate
                | Quantity::TrafficShare { .. }
                | Quantity::Throughput => false,
            });
        sink.family(&family::OBJECTIVE_LOG_EVIDENCE);
        // The tests are in the order of the objectives.
        for (objective, test) in means.zip(&detection.means) {
            let evidence = &self.snapshot.totals.means;
            for (variant, evidence) in evidence.log_evidence(test, detection.workers) {
                let labels = [
                    ("objective", objective.name.as_str()),
                    ("variant", self.variant(variant)),
                ];
                sink.sample(&labels, Value::Float(evidence));
            }
        }
    }

    /// Searches and failures of an objective that is a share of failures, by variant.
    fn counts(&self, objective: &Objective) -> BTreeMap<&str, Counts> {
        match &objective.quantity {
            Quantity::LatencyQuantile { stage, .. } => self.slow_searches(objective, stage),
            Quantity::ErrorRate => {
                let mut counts = self.whole(SEARCHES);
                let errors = self.snapshot.totals.counters.of(&family::SEARCH_ERRORS);
                let series = self.registry.series_labels(&family::SEARCH_ERRORS);
                for ([variant, ..], errors) in series.iter().zip(errors) {
                    let counts = counts.entry(self.variant(*variant)).or_default();
                    counts.failures += u64::try_from(*errors).unwrap_or(0);
                }
                counts
            }
            Quantity::ZeroResultRate => {
                let zero_results = Measure::User(UserMeasure::ZeroResult);
                let mut measures = self.settings.measures.iter();
                let place = measures.position(|measure| *measure == zero_results);
                place
                    .map(|place| self.whole(column_of(place)))
                    .unwrap_or_default()
            }
            Quantity::Mean(_) | Quantity::TrafficShare { .. } | Quantity::Throughput => {
                BTreeMap::new()
            }
        }
    }

    /// Number of searches with a score in the column, and the number of those with the score 1, by
    /// variant.
    fn whole(&self, column: usize) -> BTreeMap<&str, Counts> {
        let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
        let rows = self.snapshot.totals.scores.rows();
        for (row, (variant, slice, _)) in rows.zip(&self.series) {
            let tally = &row[column];
            if *slice == ALL_SEARCHES && tally.count > 0 {
                let counts = counts.entry(variant).or_default();
                counts.searches += tally.count;
                if column != SEARCHES {
                    counts.failures += whole_number(units_to_f64(tally.sum, NANO_DECIMALS));
                }
            }
        }
        counts
    }

    /// Searches of a stage, and those above the target, which is a bound of the buckets.
    fn slow_searches(&self, objective: &Objective, stage: &str) -> BTreeMap<&str, Counts> {
        let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
        let Some(target) = objective.target() else {
            return counts;
        };
        let is_within = |bound: &&f64| **bound <= target * (1.0 + f64::EPSILON);
        let within = self.settings.latency_buckets.iter().take_while(is_within);
        let within = within.count();
        let histograms = self.snapshot.totals.latency.buckets.by_series();
        let series = self.series_of(&family::SEARCH_LATENCY);
        for (histogram, labels) in histograms.iter().zip(&series) {
            let label = |name: &str| labels.pairs().iter().find(|(it, _)| *it == name);
            if label("stage").is_none_or(|(_, it)| *it != stage) {
                continue;
            }
            if let Some((_, variant)) = label("variant")
                && !histogram.counts.is_empty()
            {
                let counts = counts.entry(*variant).or_default();
                counts.searches += histogram.counts.iter().sum::<u64>();
                counts.failures += histogram.counts.iter().skip(within).sum::<u64>();
            }
        }
        counts
    }
}

/// Converts a sum of scores that are 0 or 1.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of searches"
)]
fn whole_number(sum: f64) -> u64 {
    sum.round().max(0.0) as u64
}
