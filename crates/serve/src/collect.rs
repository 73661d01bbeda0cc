//! Conversion of a snapshot to samples, independent of the output format.

mod detection;
mod labels;
mod operations;
mod quality;
mod scores;

use std::sync::Arc;

use rankgauge_core::engine::Registry;
use rankgauge_core::engine::family::{self, Family};
use rankgauge_core::engine::read_model::{ReadModel, ScoreSeries};
use rankgauge_core::engine::series::Label;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::Kind;
use rankgauge_core::time::WallTime;

pub use labels::{LabelPair, Labels};

/// A sample's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number, at least 0.
    Count(u64),
    /// An exact decimal: `units` times 10^-`decimals`.
    Decimal {
        /// Value in units of the last decimal.
        units: i128,
        /// Number of digits after the decimal point.
        decimals: usize,
    },
    /// A ratio or a time, with the precision of floating point.
    Float(f64),
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

/// Receiver of samples, family by family.
pub trait Sink {
    /// Starts a family: the samples that follow belong to it.
    fn family(&mut self, family: &Family);

    /// Writes a sample with the labels of several lists, in their order. `suffix` is `_bucket`, `_sum`
    /// or `_count` for a histogram, else empty.
    fn write(&mut self, suffix: &'static str, labels: &[&Labels<'_>], value: Value);
}

/// Writes a family with few samples: the values of its labels, in the order of the catalogue, and
/// the value of the sample.
pub(super) fn write_family<'l, const N: usize, V: Into<Value>>(
    family: &Family,
    samples: impl IntoIterator<Item = ([&'l str; N], V)>,
    sink: &mut dyn Sink,
) {
    sink.family(family);
    let names = family.label_names();
    for (values, value) in samples {
        let names = names.iter().copied();
        let labels = Labels::new(&names.zip(values).collect::<Vec<_>>());
        sink.write("", &[&labels], value.into());
    }
}

/// Names for the numbers in a snapshot, and the families to expose.
#[derive(Clone, Debug)]
pub struct Names {
    /// Settings of the engine that made the snapshot.
    pub settings: Arc<Settings>,
    /// Registry that numbers the series in the tables of the snapshot.
    pub registry: Arc<Registry>,
    /// Names of the topics that are read, in the order of [`Kind::index`]. Without a topic of feedback
    /// alone, it is one.
    pub topics: Vec<String>,
}

impl Names {
    /// Name of the topic with events of a kind.
    pub fn topic(&self, kind: Kind) -> &str {
        let topic = self.topics.get(self.settings.topics.of(kind).index());
        topic.map_or("none", String::as_str)
    }

    /// Values of a snapshot by name.
    pub fn read<'a>(&'a self, snapshot: &'a Snapshot) -> ReadModel<'a> {
        ReadModel::new(snapshot, &self.settings, &self.registry)
    }
}

/// Writes every sample of `snapshot` to `sink`, in the order of the catalogue. `now` is for ages.
pub fn collect(snapshot: &Snapshot, names: &Names, now: WallTime, sink: &mut dyn Sink) {
    let model = names.read(snapshot);
    let view = View::new(&model, names);
    view.scores(sink);
    view.searches(sink);
    view.documents(sink);
    view.latency(sink);
    view.cost(sink);
    view.feedback(sink);
    view.evidence(sink);
    view.experiments(sink);
    view.quality(sink);
    view.objectives(sink);
    view.counters(sink);
    view.events(sink);
    view.pipeline(now, sink);
}

/// Writes the memory of the workers to `sink`. It depends on the process, and not on the records
/// alone.
pub fn collect_memory(snapshot: &Snapshot, sink: &mut dyn Sink) {
    let memory = &snapshot.memory;
    let parts = [(["join"], memory.joins), (["totals"], memory.totals)];
    write_family(&family::MEMORY, parts, sink);
    write_family(&family::MEMORY_LIMIT, [([], memory.limit)], sink);
}

/// Values of a snapshot with the labels that many samples share.
struct View<'a> {
    model: &'a ReadModel<'a>,
    settings: &'a Settings,
    topics: &'a [String],
    /// Labels of the measures, in the order of the settings.
    measures: Vec<Labels<'a>>,
    /// Series of scores with their labels, by number.
    series: Vec<(ScoreSeries<'a>, Labels<'a>)>,
    /// Labels of the windows, in the order of the settings.
    windows: Vec<Labels<'a>>,
}

impl<'a> View<'a> {
    fn new(model: &'a ReadModel<'a>, names: &'a Names) -> Self {
        let measures = model.measures().iter();
        let windows = names.settings.windows.iter();
        let series = model.series().map(|it| {
            let pairs = [
                ("variant", it.variant),
                ("slice", it.slice),
                ("value", it.value),
            ];
            (it, Labels::new(&pairs))
        });
        Self {
            measures: measures.map(|it| Labels::new(&[("measure", it)])).collect(),
            series: series.collect(),
            windows: windows
                .map(|window| Labels::new(&[("window", &window.name)]))
                .collect(),
            model,
            settings: &names.settings,
            topics: &names.topics,
        }
    }

    /// Labels of a series of a family.
    fn labels(&self, family: &Family, labels: &[Label]) -> Labels<'a> {
        let pairs = self.model.named_labels(family, labels).zip(labels);
        let pairs = pairs.map(|((name, value), label)| {
            let topic = || self.topics.get(label.position()?).map(String::as_str);
            (name, value.or_else(topic).unwrap_or(Label::OTHER_NAME))
        });
        Labels::new(&pairs.collect::<Vec<_>>())
    }

    /// Labels of every series of a family, by number.
    fn series_of(&self, family: &Family) -> Vec<Labels<'a>> {
        let keys = self.model.keys(family).iter();
        keys.map(|labels| self.labels(family, labels)).collect()
    }

    /// Writes all recorded counters.
    fn counters(&self, sink: &mut dyn Sink) {
        for family in family::ALL.iter().filter(|family| family.is_recorded) {
            sink.family(family);
            for (_, labels, units) in self.model.counts(family) {
                let value = match (family.decimals, u64::try_from(units)) {
                    (0, Ok(count)) => Value::Count(count),
                    (decimals, _) => Value::Decimal { units, decimals },
                };
                sink.write("", &[&self.labels(family, labels)], value);
            }
        }
    }

    fn events(&self, sink: &mut dyn Sink) {
        let (model, topics) = (self.model, self.topics.iter().map(String::as_str));
        let records = Kind::ALL.into_iter().zip(topics).flat_map(|(kind, topic)| {
            let records = model.records(kind);
            records.map(move |(outcome, count)| ([topic, outcome], count))
        });
        write_family(&family::RECORDS, records, sink);
        let events = Kind::ALL.into_iter().flat_map(|kind| {
            let outcomes = model.outcomes(kind).into_iter();
            outcomes.map(move |(outcome, count)| ([kind.name(), outcome], count))
        });
        write_family(&family::EVENTS, events, sink);
        let invalid = Kind::ALL.into_iter().flat_map(|kind| {
            let invalid = model.invalid(kind);
            invalid.map(move |(reason, count)| ([kind.name(), reason.name()], count))
        });
        write_family(&family::INVALID_EVENTS, invalid, sink);
        let pending = Kind::ALL.map(|kind| ([kind.name()], model.pending(kind)));
        write_family(&family::EVENTS_PENDING, pending, sink);
        let overflow = model
            .overflow()
            .map(|(family, samples)| ([family], samples));
        write_family(&family::OVERFLOW_SAMPLES, overflow, sink);
    }

    fn pipeline(&self, now: WallTime, sink: &mut dyn Sink) {
        let partitions = self.model.partitions().iter();
        let partitions: Vec<_> = partitions
            .map(|status| (status.partition.to_string(), status))
            .collect();
        let lags = partitions.iter().flat_map(|(partition, status)| {
            let lags = self.topics.iter().zip(status.lag);
            lags.filter_map(move |(topic, lag)| Some(([topic.as_str(), partition.as_str()], lag?)))
        });
        write_family(&family::CONSUMER_LAG, lags, sink);
        let delays = partitions.iter().filter_map(|(partition, status)| {
            let delay = now.as_event_time().since(status.watermark?);
            Some(([partition.as_str()], decimal(delay.0, 3)))
        });
        write_family(&family::WATERMARK_DELAY, delays, sink);
    }
}

/// An exact decimal.
pub(super) fn decimal(units: impl Into<i128>, decimals: usize) -> Value {
    Value::Decimal {
        units: units.into(),
        decimals,
    }
}
