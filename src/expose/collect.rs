//! Conversion of a snapshot to samples, independent of the output format.

mod evidence;
mod people;
mod quality;

use std::sync::Arc;

use super::{Family, family};
use rankgauge_core::engine::cost::Direction;
use rankgauge_core::engine::fixed::count_to_f64;
use rankgauge_core::engine::latency::Buckets;
use rankgauge_core::engine::money::MONEY_DECIMALS;
use rankgauge_core::engine::registry::{
    Dimension, Family as Table, Label, Labels, OTHER, Registry,
};
use rankgauge_core::engine::scores::SEARCHES;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::Kind;
use rankgauge_core::event::Reason;
use rankgauge_core::time::WallTime;

/// A sample's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count.
    Count(u64),
    /// An exact decimal: `units` times 10^-`decimals`.
    Decimal {
        /// Value in units of the last decimal.
        units: i128,
        /// Number of decimals.
        decimals: usize,
    },
    /// A ratio or a time, with the precision of floating point.
    Float(f64),
}

/// A label name and its value.
pub type LabelPair<'a> = (&'static str, &'a str);

/// Receiver of samples, family by family.
pub trait Sink {
    /// Starts a family: the samples that follow belong to it.
    fn family(&mut self, family: &Family);

    /// Writes a sample. `suffix` is `_bucket`, `_sum` or `_count` for a histogram, else empty.
    fn sample(&mut self, suffix: &'static str, labels: &[LabelPair<'_>], value: Value);
}

/// Names for the numbers in a snapshot.
#[derive(Clone, Debug)]
pub struct Names {
    /// Settings of the engine that made the snapshot.
    pub settings: Arc<Settings>,
    /// Registry that numbers the series in the tables of the snapshot.
    pub registry: Arc<Registry>,
    /// Names of the topics, in the order of [`Kind::index`].
    pub topics: [String; 2],
}

/// Exposed rolling quantiles, with their label values.
const QUANTILES: [(f64, &str); 5] = [
    (0.5, "0.5"),
    (0.9, "0.9"),
    (0.95, "0.95"),
    (0.99, "0.99"),
    (1.0, "1"),
];

/// Writes every sample of `snapshot` to `sink`, in the order of the catalogue. `now` is for ages.
pub fn collect(snapshot: &Snapshot, names: &Names, now: WallTime, sink: &mut dyn Sink) {
    let values = Values::of(names);
    let scope = Scope::new(snapshot, names, &values);
    scope.scores(sink);
    scope.searches(sink);
    scope.latency(sink);
    scope.components(sink);
    scope.domains(sink);
    scope.documents(sink);
    scope.cost(sink);
    scope.people(sink);
    scope.evidence(sink);
    scope.events(sink);
    scope.pipeline(now, sink);
}

/// Names of measures and label values, by number.
pub(super) struct Values {
    measures: Vec<String>,
    variants: Vec<Box<str>>,
    slices: Vec<Box<str>>,
}

impl Values {
    pub(super) fn of(names: &Names) -> Self {
        let measures = names.settings.measures.iter();
        Self {
            measures: measures.map(ToString::to_string).collect(),
            variants: names.registry.values(Dimension::Variant),
            slices: names.registry.values(Dimension::SliceValue),
        }
    }
}

/// A snapshot with the names for its numbers.
pub(super) struct Scope<'a> {
    snapshot: &'a Snapshot,
    settings: &'a Settings,
    registry: &'a Registry,
    topics: &'a [String; 2],
    pub(super) measures: &'a [String],
    variants: &'a [Box<str>],
    /// Variant, slice and slice value of every score series.
    pub(super) series: Vec<(&'a str, &'a str, &'a str)>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, names: &'a Names, values: &'a Values) -> Self {
        let settings: &Settings = &names.settings;
        let slice_name = |label: Label| match label.position() {
            Some(0) | None => "all",
            Some(position) => settings
                .slices
                .get(position - 1)
                .map_or("all", String::as_str),
        };
        let members = names.registry.members(Table::Scores).into_iter();
        let series = members.map(|[variant, slice, value]| {
            (
                named(&values.variants, variant),
                slice_name(slice),
                named(&values.slices, value),
            )
        });
        Self {
            snapshot,
            settings,
            registry: &names.registry,
            topics: &names.topics,
            measures: &values.measures,
            variants: &values.variants,
            series: series.collect(),
        }
    }

    fn searches(&self, sink: &mut dyn Sink) {
        let series = &self.series;
        sink.family(&family::SEARCHES);
        for (row, (variant, slice, value)) in self.snapshot.scores.rows().zip(series) {
            if row[SEARCHES].count > 0 {
                let labels = [("variant", *variant), ("slice", slice), ("value", value)];
                sink.sample("", &labels, Value::Count(row[SEARCHES].count));
            }
        }
        sink.family(&family::SEARCH_ERRORS);
        let types = self.registry.values(Dimension::ErrorType);
        self.counts(
            Table::Errors,
            self.snapshot.counts.of(Table::Errors),
            |[variant, error_type, _], count| {
                let labels = [
                    ("variant", named(self.variants, variant)),
                    ("error_type", named(&types, error_type)),
                ];
                sink.sample("", &labels, Value::Count(count));
            },
        );
        let whole = || {
            series
                .iter()
                .enumerate()
                .filter(|(_, (_, slice, _))| *slice == "all")
        };
        sink.family(&family::SEARCHES_PER_SECOND);
        for (number, window) in self.settings.windows.iter().enumerate() {
            let rows: Vec<_> = self.snapshot.scores.window_rows(number).collect();
            for (index, (variant, _, _)) in whole() {
                let Some(row) = rows.get(index).filter(|row| row[SEARCHES].count > 0) else {
                    continue;
                };
                let rate = count_to_f64(row[SEARCHES].count) / window.length.as_secs_f64();
                let labels = [("variant", *variant), ("window", &window.name)];
                sink.sample("", &labels, Value::Float(rate));
            }
        }
        sink.family(&family::GOLD_COVERAGE);
        for (number, window) in self.settings.windows.iter().enumerate() {
            let rows: Vec<_> = self.snapshot.scores.window_rows(number).collect();
            for (index, (variant, _, _)) in whole() {
                if let Some(coverage) = rows.get(index).and_then(|row| row[SEARCHES].mean()) {
                    let labels = [("variant", *variant), ("window", &window.name)];
                    sink.sample("", &labels, Value::Float(coverage));
                }
            }
        }
    }

    fn latency(&self, sink: &mut dyn Sink) {
        let stages = self.registry.values(Dimension::Stage);
        let members = self.registry.members(Table::Latency);
        let series: Vec<_> = members
            .iter()
            .map(|[stage, variant, _]| (named(&stages, *stage), named(self.variants, *variant)))
            .collect();
        sink.family(&family::SEARCH_LATENCY);
        for (buckets, (stage, variant)) in self.snapshot.latency.buckets.iter().zip(&series) {
            let labels = [("stage", *stage), ("variant", variant)];
            histogram(buckets, &self.settings.latency_buckets, &labels, sink);
        }
        sink.family(&family::SEARCH_LATENCY_QUANTILE);
        for (spreads, window) in self
            .snapshot
            .latency
            .windows
            .iter()
            .zip(&self.settings.windows)
        {
            for (spread, (stage, variant)) in spreads.by_series().iter().zip(&series) {
                for (quantile, name) in QUANTILES {
                    if let Some(micros) = spread.quantile(quantile) {
                        let labels = [
                            ("stage", *stage),
                            ("variant", variant),
                            ("window", &window.name),
                            ("quantile", name),
                        ];
                        sink.sample("", &labels, Value::Float(count_to_f64(micros) / 1e6));
                    }
                }
            }
        }
    }

    fn cost(&self, sink: &mut dyn Sink) {
        let costs = &self.snapshot.costs;
        let models = self.registry.values(Dimension::Model);
        let operations = self.registry.values(Dimension::Operation);
        let currencies = self.registry.values(Dimension::Currency);
        let variants = self.variants;
        sink.family(&family::TOKENS);
        self.counts(
            Table::Tokens,
            &costs.tokens,
            |[model, direction, variant], count| {
                let direction = direction
                    .position()
                    .and_then(|position| Direction::ALL.get(position));
                let labels = [
                    ("model", named(&models, model)),
                    (
                        "direction",
                        direction.map_or(OTHER, |direction| direction.name()),
                    ),
                    ("variant", named(variants, variant)),
                ];
                sink.sample("", &labels, Value::Count(count));
            },
        );
        sink.family(&family::LLM_CALLS);
        self.counts(
            Table::Calls,
            &costs.calls,
            |[model, operation, variant], count| {
                let labels = [
                    ("model", named(&models, model)),
                    ("operation", named(&operations, operation)),
                    ("variant", named(variants, variant)),
                ];
                sink.sample("", &labels, Value::Count(count));
            },
        );
        sink.family(&family::COST);
        for (money, [currency, model, variant]) in
            costs.money.iter().zip(self.registry.members(Table::Cost))
        {
            if money.units() > 0 {
                let labels = [
                    ("currency", named(&currencies, currency)),
                    ("model", named(&models, model)),
                    ("variant", named(variants, variant)),
                ];
                let value = Value::Decimal {
                    units: money.units(),
                    decimals: MONEY_DECIMALS,
                };
                sink.sample("", &labels, value);
            }
        }
        sink.family(&family::COST_PER_QUERY);
        let members = self.registry.members(Table::CostPerQuery);
        for (spends, window) in costs.windows.iter().zip(&self.settings.windows) {
            for (spend, [currency, variant, _]) in spends.by_series().iter().zip(&members) {
                let stats = [("mean", spend.mean()), ("p95", spend.p95())];
                for (stat, value) in stats {
                    let Some(value) = value else { continue };
                    let labels = [
                        ("currency", named(&currencies, *currency)),
                        ("variant", named(variants, *variant)),
                        ("window", window.name.as_str()),
                        ("stat", stat),
                    ];
                    sink.sample("", &labels, Value::Float(value));
                }
            }
        }
        sink.family(&family::UNPRICED_USAGE);
        self.counts(Table::Unpriced, &costs.unpriced, |[model, _, _], count| {
            sink.sample("", &[("model", named(&models, model))], Value::Count(count));
        });
    }

    fn events(&self, sink: &mut dyn Sink) {
        let events = &self.snapshot.events;
        sink.family(&family::EVENTS);
        for kind in Kind::ALL {
            for (outcome, count) in events.outcomes(kind) {
                let labels = [("kind", kind.name()), ("outcome", outcome)];
                sink.sample("", &labels, Value::Count(count));
            }
        }
        sink.family(&family::INVALID_EVENTS);
        for kind in Kind::ALL {
            for (reason, count) in Reason::ALL.iter().zip(events.invalid_by_reason(kind)) {
                let labels = [("kind", kind.name()), ("reason", reason.name())];
                sink.sample("", &labels, Value::Count(*count));
            }
        }
        sink.family(&family::EVENTS_PENDING);
        for kind in Kind::ALL {
            let pending = self.snapshot.pending[kind.index()];
            sink.sample("", &[("kind", kind.name())], Value::Count(pending));
        }
        sink.family(&family::FINALISED_EARLY);
        sink.sample("", &[], Value::Count(self.snapshot.finalised_early));
        sink.family(&family::CROWDED_SESSION_SEARCHES);
        sink.sample("", &[], Value::Count(self.snapshot.crowded));
        sink.family(&family::OFFSET_GAP_RECORDS);
        for (topic, gap) in self.topics.iter().zip(self.snapshot.gaps) {
            sink.sample("", &[("topic", topic)], Value::Count(gap));
        }
        sink.family(&family::SERIES_DROPPED);
        for table in Table::ALL {
            let dropped = self.snapshot.dropped[table as usize];
            sink.sample("", &[("family", table.name())], Value::Count(dropped));
        }
    }

    fn pipeline(&self, now: WallTime, sink: &mut dyn Sink) {
        sink.family(&family::CONSUMER_LAG);
        for status in &self.snapshot.partitions {
            let partition = status.partition.to_string();
            for (topic, lag) in self.topics.iter().zip(status.lag) {
                if let Some(lag) = lag {
                    let labels = [("topic", topic.as_str()), ("partition", &partition)];
                    sink.sample("", &labels, Value::Count(lag));
                }
            }
        }
        sink.family(&family::WATERMARK_DELAY);
        for status in &self.snapshot.partitions {
            if let Some(watermark) = status.watermark {
                let delay = now.as_event_time().since(watermark);
                let value = Value::Decimal {
                    units: i128::from(delay.0),
                    decimals: 3,
                };
                sink.sample("", &[("partition", &status.partition.to_string())], value);
            }
        }
    }

    /// Calls `each` for every series of `table` with a count above 0.
    fn counts(&self, table: Table, counts: &[u64], mut each: impl FnMut(Labels, u64)) {
        for (labels, count) in self.registry.members(table).into_iter().zip(counts) {
            if *count > 0 {
                each(labels, *count);
            }
        }
    }
}

/// Writes a cumulative histogram with bucket bounds in seconds. Writes nothing while it is empty.
fn histogram(buckets: &Buckets, bounds: &[f64], labels: &[LabelPair<'_>], sink: &mut dyn Sink) {
    if buckets.counts.is_empty() {
        return;
    }
    let bounds: Vec<String> = bounds.iter().map(ToString::to_string).collect();
    let bounds = bounds.iter().map(String::as_str).chain(["+Inf"]);
    let mut below = 0;
    for (count, bound) in buckets.counts.iter().zip(bounds) {
        below += count;
        let labels: Vec<_> = labels.iter().copied().chain([("le", bound)]).collect();
        sink.sample("_bucket", &labels, Value::Count(below));
    }
    let sum = Value::Decimal {
        units: buckets.sum,
        decimals: 6,
    };
    sink.sample("_sum", labels, sum);
    sink.sample("_count", labels, Value::Count(below));
}

/// The value that a label stands for.
pub(super) fn named(values: &[Box<str>], label: Label) -> &str {
    values.get(label.index()).map_or(OTHER, |value| value)
}
