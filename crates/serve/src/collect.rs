//! Conversion of a snapshot to samples, independent of the output format.

mod evidence;
mod feedback;
mod labels;
mod objectives;
mod scores;

use std::sync::Arc;

use rankgauge_core::engine::family::{self, Family, LabelName, QUANTILES, Source, Table};
use rankgauge_core::engine::fixed::count_to_f64;
use rankgauge_core::engine::latency::BucketHistogram;
use rankgauge_core::engine::registry::{Dimension, Label, OTHER, Registry};
use rankgauge_core::engine::settings::{Rolling, Settings};
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::{Kind, Reason};
use rankgauge_core::time::WallTime;

pub use labels::{LabelPair, Labels};

/// Name of the slice that contains all searches.
pub const ALL_SEARCHES: &str = "all";

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

/// Receiver of samples, family by family.
pub trait Sink {
    /// Starts a family: the samples that follow belong to it.
    fn family(&mut self, family: &Family);

    /// Writes a sample with the labels of several lists, in their order. `suffix` is `_bucket`, `_sum`
    /// or `_count` for a histogram, else empty.
    fn write(&mut self, suffix: &'static str, labels: &[&Labels<'_>], value: Value);

    /// Writes a sample of a family that is not a histogram.
    fn sample(&mut self, labels: &[LabelPair<'_>], value: Value) {
        self.write("", &[&Labels::new(labels)], value);
    }
}

/// Names for the numbers in a snapshot, and the families to expose.
#[derive(Clone, Debug)]
pub struct Names {
    /// Settings of the engine that made the snapshot.
    pub settings: Arc<Settings>,
    /// Registry that numbers the series in the tables of the snapshot.
    pub registry: Arc<Registry>,
    /// Names of the topics, in the order of [`Kind::index`].
    pub topics: [String; 2],
    /// Rolling scores to expose.
    pub rolling: Rolling,
}

/// Writes every sample of `snapshot` to `sink`, in the order of the catalogue. `now` is for ages.
pub fn collect(snapshot: &Snapshot, names: &Names, now: WallTime, sink: &mut dyn Sink) {
    let values = LabelValues::of(names);
    let view = SnapshotView::new(snapshot, names, &values);
    let labels = view.score_labels();
    view.scores(&labels, sink);
    view.searches(sink);
    view.documents(&labels, sink);
    view.latency(&labels, sink);
    view.cost(&labels, sink);
    view.feedback(&labels, sink);
    view.evidence(&labels, sink);
    view.objectives(sink);
    view.counters(sink);
    view.events(sink);
    view.pipeline(now, sink);
}

/// Writes the memory of the workers to `sink`. It depends on the process, and not on the records
/// alone.
pub fn collect_memory(snapshot: &Snapshot, sink: &mut dyn Sink) {
    let memory = &snapshot.memory;
    sink.family(&family::MEMORY);
    for (part, bytes) in [("join", memory.joins), ("totals", memory.totals)] {
        sink.sample(&[("part", part)], Value::Count(bytes));
    }
    sink.family(&family::MEMORY_LIMIT);
    sink.sample(&[], Value::Count(memory.limit));
}

/// Names of measures, and label values by dimension and number.
pub(super) struct LabelValues {
    measures: Vec<String>,
    by_dimension: [Vec<Box<str>>; Dimension::ALL.len()],
}

impl LabelValues {
    pub(super) fn of(names: &Names) -> Self {
        let measures = names.settings.measures.iter();
        Self {
            measures: measures.map(ToString::to_string).collect(),
            by_dimension: Dimension::ALL.map(|dimension| names.registry.values(dimension)),
        }
    }

    /// Value of a label from events.
    fn get(&self, dimension: Dimension, label: Label) -> &str {
        let values = &self.by_dimension[dimension as usize];
        values.get(label.index()).map_or(OTHER, |value| value)
    }
}

/// Snapshot with the names of its numbers.
pub(super) struct SnapshotView<'a> {
    snapshot: &'a Snapshot,
    settings: &'a Settings,
    registry: &'a Registry,
    topics: &'a [String; 2],
    rolling: Rolling,
    values: &'a LabelValues,
    pub(super) measures: &'a [String],
    /// Variant, slice and slice value of every score series.
    pub(super) series: Vec<(&'a str, &'a str, &'a str)>,
}

/// Labels of the series of scores.
struct ScoreLabels<'a> {
    /// Measures, in the order of the settings.
    measures: Vec<Labels<'a>>,
    /// Variant, slice and slice value, by number of the series.
    series: Vec<Labels<'a>>,
    /// Windows, in the order of the settings.
    windows: Vec<Labels<'a>>,
}

impl<'a> SnapshotView<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, names: &'a Names, values: &'a LabelValues) -> Self {
        let mut view = Self {
            snapshot,
            settings: &names.settings,
            registry: &names.registry,
            topics: &names.topics,
            rolling: names.rolling,
            values,
            measures: &values.measures,
            series: Vec::new(),
        };
        let keys: Vec<&LabelName> = family::SCORE.keys().collect();
        if let [variant, slice, value] = keys[..] {
            let series = view.registry.series_labels(&family::SCORE).into_iter();
            view.series = series
                .map(|labels| {
                    (
                        view.value(variant, labels[0]),
                        view.value(slice, labels[1]),
                        view.value(value, labels[2]),
                    )
                })
                .collect();
        }
        view
    }

    /// Labels of every series of a family, by number.
    fn series_of(&self, family: &Family) -> Vec<Labels<'a>> {
        let keys: Vec<&LabelName> = family.keys().collect();
        let series = self.registry.series_labels(family).into_iter();
        series
            .map(|labels| {
                let pairs = keys.iter().zip(labels);
                let pairs = pairs.map(|(key, label)| (key.name, self.value(key, label)));
                Labels::new(&pairs.collect::<Vec<_>>())
            })
            .collect()
    }

    /// Labels of the series of scores.
    fn score_labels(&self) -> ScoreLabels<'a> {
        let measures = self.measures.iter();
        let windows = self.settings.windows.iter();
        let series = self.series.iter().map(|(variant, slice, value)| {
            Labels::new(&[("variant", variant), ("slice", slice), ("value", value)])
        });
        ScoreLabels {
            measures: measures.map(|it| Labels::new(&[("measure", it)])).collect(),
            series: series.collect(),
            windows: windows
                .map(|window| Labels::new(&[("window", &window.name)]))
                .collect(),
        }
    }

    /// Value of a label.
    fn value(&self, name: &LabelName, label: Label) -> &'a str {
        if label == Label::EMPTY {
            return name.if_empty;
        }
        let position = label.position();
        let value = match name.source {
            Source::Event(dimension) => return self.values.get(dimension, label),
            Source::Slice => position.and_then(|position| match position.checked_sub(1) {
                None => Some(ALL_SEARCHES),
                Some(slice) => self.settings.slices.get(slice).map(String::as_str),
            }),
            Source::Component => {
                let components = &self.settings.judging.components;
                let component = position.and_then(|position| components.get(position));
                component.map(|component| component.name.as_str())
            }
            Source::Topic => position.and_then(|it| self.topics.get(it).map(String::as_str)),
            Source::OneOf(values) => position.and_then(|position| values.get(position).copied()),
            Source::Exposition => None,
        };
        value.unwrap_or(OTHER)
    }

    fn variant(&self, label: Label) -> &'a str {
        self.values.get(Dimension::Variant, label)
    }

    /// Writes all recorded counters. A series without counts is left out, unless the family is
    /// exposed before its first count.
    fn counters(&self, sink: &mut dyn Sink) {
        for family in family::ALL.iter().filter(|family| family.is_recorded) {
            sink.family(family);
            let counts = self.snapshot.totals.counters.of(family);
            let counts = counts.iter().copied().chain(std::iter::repeat(0));
            let is_overflow =
                |labels: &Labels<'_>| labels.pairs().iter().any(|(_, value)| *value == OTHER);
            for (labels, units) in self.series_of(family).iter().zip(counts) {
                if units > 0 || (family.is_exposed_at_zero && !is_overflow(labels)) {
                    let value = match (family.decimals, u64::try_from(units)) {
                        (0, Ok(count)) => Value::Count(count),
                        (decimals, _) => Value::Decimal { units, decimals },
                    };
                    sink.write("", &[labels], value);
                }
            }
        }
    }

    fn latency(&self, labels: &ScoreLabels<'_>, sink: &mut dyn Sink) {
        let latency = &self.snapshot.totals.latency;
        let series = self.series_of(&family::SEARCH_LATENCY);
        sink.family(&family::SEARCH_LATENCY);
        let bounds = bound_names(&self.settings.latency_buckets);
        let bounds = bound_labels(&bounds);
        for (buckets, labels) in latency.buckets.by_series().iter().zip(&series) {
            histogram(buckets, &bounds, labels, sink);
        }
        sink.family(&family::SEARCH_LATENCY_QUANTILE);
        let quantiles = quantile_labels();
        for (histograms, window) in latency.windows.iter().zip(&labels.windows) {
            for (histogram, labels) in histograms.sum().by_series().iter().zip(&series) {
                let seconds = |quantile| {
                    let micros = histogram.quantile(quantile)?;
                    Some(count_to_f64(micros) / 1e6)
                };
                write_quantiles([labels, window], &quantiles, seconds, sink);
            }
        }
    }

    fn cost(&self, labels: &ScoreLabels<'_>, sink: &mut dyn Sink) {
        let series = self.series_of(&family::COST_PER_QUERY_MEAN);
        let windows = || {
            let windows = self.snapshot.totals.cost_per_query.windows.iter();
            windows.zip(&labels.windows)
        };
        sink.family(&family::COST_PER_QUERY_MEAN);
        for (costs, window) in windows() {
            for (cost, labels) in costs.sum().by_series().iter().zip(&series) {
                if let Some(mean) = cost.mean() {
                    sink.write("", &[labels, window], Value::Float(mean));
                }
            }
        }
        sink.family(&family::COST_PER_QUERY_QUANTILE);
        let quantiles = quantile_labels();
        for (costs, window) in windows() {
            for (cost, labels) in costs.sum().by_series().iter().zip(&series) {
                let value_of = |quantile| cost.quantile(quantile);
                write_quantiles([labels, window], &quantiles, value_of, sink);
            }
        }
    }

    fn events(&self, sink: &mut dyn Sink) {
        let events = &self.snapshot.totals.events;
        sink.family(&family::RECORDS);
        for (kind, topic) in Kind::ALL.into_iter().zip(self.topics) {
            for (outcome, count) in events.records(kind) {
                let labels = [("topic", topic.as_str()), ("outcome", outcome)];
                sink.sample(&labels, Value::Count(count));
            }
        }
        sink.family(&family::EVENTS);
        for kind in Kind::ALL {
            for (outcome, count) in events.outcomes(kind) {
                let labels = [("kind", kind.name()), ("outcome", outcome)];
                sink.sample(&labels, Value::Count(count));
            }
        }
        sink.family(&family::INVALID_EVENTS);
        for kind in Kind::ALL {
            for (reason, count) in Reason::ALL.iter().zip(events.invalid_by_reason(kind)) {
                let labels = [("kind", kind.name()), ("reason", reason.name())];
                sink.sample(&labels, Value::Count(*count));
            }
        }
        sink.family(&family::EVENTS_PENDING);
        for kind in Kind::ALL {
            let pending = self.snapshot.pending[kind.index()];
            sink.sample(&[("kind", kind.name())], Value::Count(pending));
        }
        sink.family(&family::OVERFLOW_SAMPLES);
        for table in Table::all().filter(|table| table.can_overflow()) {
            let owner = table.owner();
            let samples = self.snapshot.totals.overflow(owner);
            sink.sample(&[("family", owner.name)], Value::Count(samples));
        }
    }

    fn pipeline(&self, now: WallTime, sink: &mut dyn Sink) {
        sink.family(&family::CONSUMER_LAG);
        for status in &self.snapshot.partitions {
            let partition = status.partition.to_string();
            for (topic, lag) in self.topics.iter().zip(status.lag) {
                if let Some(lag) = lag {
                    let labels = [("topic", topic.as_str()), ("partition", &partition)];
                    sink.sample(&labels, Value::Count(lag));
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
                sink.sample(&[("partition", &status.partition.to_string())], value);
            }
        }
    }
}

/// Labels of the quantiles.
fn quantile_labels() -> [Labels<'static>; QUANTILES.len()] {
    QUANTILES.map(|(_, name)| Labels::new(&[("quantile", name)]))
}

/// Writes the quantiles of a series in a window. `value_of` returns `None` without samples.
fn write_quantiles(
    [series, window]: [&Labels<'_>; 2],
    names: &[Labels<'_>; QUANTILES.len()],
    value_of: impl Fn(f64) -> Option<f64>,
    sink: &mut dyn Sink,
) {
    for ((quantile, _), name) in QUANTILES.iter().zip(names) {
        if let Some(value) = value_of(*quantile) {
            sink.write("", &[series, window, name], Value::Float(value));
        }
    }
}

/// Names of the bounds of a histogram: seconds, then infinity.
fn bound_names(bounds: &[f64]) -> Vec<String> {
    let bounds = bounds.iter().map(ToString::to_string);
    bounds.chain(["+Inf".to_owned()]).collect()
}

/// Labels of the buckets of a histogram.
fn bound_labels(names: &[String]) -> Vec<Labels<'_>> {
    let labels = names.iter().map(|name| Labels::new(&[("le", name)]));
    labels.collect()
}

/// Writes a cumulative histogram. Writes nothing while it is empty.
fn histogram(
    buckets: &BucketHistogram,
    bounds: &[Labels<'_>],
    series: &Labels<'_>,
    sink: &mut dyn Sink,
) {
    if buckets.counts.is_empty() {
        return;
    }
    let mut below = 0;
    for (count, bound) in buckets.counts.iter().zip(bounds) {
        below += count;
        sink.write("_bucket", &[series, bound], Value::Count(below));
    }
    let sum = Value::Decimal {
        units: buckets.sum,
        decimals: 6,
    };
    sink.write("_sum", &[series], sum);
    sink.write("_count", &[series], Value::Count(below));
}
