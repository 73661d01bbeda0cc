//! Descriptor of a metric family: its name, type, labels and help, and what follows from them.

use super::catalogue::ALL;
use super::quantile::Quantile;
use crate::engine::series::Dimension;
use crate::engine::settings::Settings;
use crate::measure::Documents;

/// Prefix of the name of every family.
pub(crate) const PREFIX: &str = "rankgauge_";

/// Metric type, as Prometheus defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Value that never decreases, except by a restart at 0.
    Counter,
    /// Value that increases and decreases.
    Gauge,
    /// Cumulative buckets, a sum and a count.
    Histogram,
    /// Quantiles over a window.
    Summary,
}

impl Type {
    /// Name in the exposition format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Summary => "summary",
        }
    }
}

/// Label of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct LabelName {
    /// Name in the exposition.
    pub(in crate::engine) name: &'static str,
    /// Source of its values.
    pub(in crate::engine) source: Source,
    /// Value that replaces an empty text.
    pub(in crate::engine) if_empty: &'static str,
}

/// Source of the values of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Source {
    /// Text in events. The registry numbers and limits the values.
    Event(Dimension),
    /// `all` (position 0), or the name of a slice by its position in the settings plus 1.
    Slice,
    /// Name of a component, by its position in the settings.
    Component,
    /// Name of a topic, by [`Kind::index`](crate::event::Kind::index).
    Topic,
    /// Fixed list, by position.
    OneOf(&'static [&'static str]),
    /// Set at exposition from the configuration or the process: measures, windows, workers. It is
    /// not a part of the key of a series.
    Exposition,
}

/// Number of samples that one series is exposed as in a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Samples {
    /// One.
    One,
    /// One for each measure.
    Measures,
    /// Two for each measure.
    MeasuresTwice,
    /// One for each window.
    Windows,
    /// One for each measure and window.
    MeasuresAndWindows,
    /// Two for each measure with bounds, and window.
    RangesAndWindows,
    /// One for each window and quantile.
    WindowsAndQuantiles,
    /// Three for each cutoff at which documents are counted.
    Documents,
    /// Buckets of the latency histogram, with their sum and count.
    LatencyBuckets,
    /// Buckets of the time to the first click, with their sum and count.
    FirstClickBuckets,
}

impl Samples {
    fn count(self, settings: &Settings) -> usize {
        let measures = settings.measures.len();
        let windows = settings.windows.len();
        // The bucket `+Inf`, the sum and the count.
        let histogram = |bounds: usize| bounds + 3;
        match self {
            Self::One => 1,
            Self::Measures => measures,
            Self::MeasuresTwice => 2 * measures,
            Self::Windows => windows,
            Self::MeasuresAndWindows => measures * windows,
            Self::RangesAndWindows => {
                let measures = 0..measures;
                2 * measures.filter(|index| settings.has_range(*index)).count() * windows
            }
            Self::WindowsAndQuantiles => windows * Quantile::ALL.len(),
            Self::Documents => 3 * Documents::cutoffs(&settings.measures).len(),
            Self::LatencyBuckets => histogram(settings.latency_buckets.len()),
            Self::FirstClickBuckets => histogram(Settings::FIRST_CLICK_BUCKETS.len()),
        }
    }
}

/// Origin of the series of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Computed at exposition; no series in the registry.
    Computed,
    /// Own series.
    Own,
    /// Series of another family, by its position in the catalogue.
    Of(usize),
}

/// Metric family: everything that is needed to record, expose and query it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Name without the prefix of all families.
    pub name: &'static str,
    /// Metric type.
    pub kind: Type,
    /// Labels, in the order of exposition.
    pub(in crate::engine) labels: &'static [LabelName],
    /// Help text: one to three sentences, with units.
    pub help: &'static str,
    /// Decimal places of the integers in which a recorded counter is stored.
    pub decimals: usize,
    /// True if the engine records the counter by series.
    pub is_recorded: bool,
    /// True if a recorded counter is exposed before its first count.
    pub is_exposed_at_zero: bool,
    pub(super) samples: Samples,
    pub(super) origin: Origin,
    pub(super) index: usize,
}

/// Table of series: the family that numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table(usize);

impl Table {
    /// All tables, in the order of the catalogue.
    pub fn all() -> impl Iterator<Item = Self> {
        let own = ALL.iter().filter(|family| family.origin == Origin::Own);
        own.map(|family| Self(family.index))
    }

    /// The family that numbers the series.
    pub fn owner(self) -> &'static Family {
        ALL[self.0]
    }

    /// Returns true if the number of series depends on events, so that the limit can be reached.
    pub fn can_overflow(self) -> bool {
        let is_fixed = |source| matches!(source, Source::OneOf(_) | Source::Topic);
        !self.keys().all(|label| is_fixed(label.source))
    }

    /// Position of the owner in the catalogue.
    pub(in crate::engine) fn index(self) -> usize {
        self.0
    }

    /// Labels that identify a series, in the order of the key.
    pub(in crate::engine) fn keys(self) -> impl Iterator<Item = &'static LabelName> {
        let labels = self.owner().labels.iter();
        labels.filter(|label| label.source != Source::Exposition)
    }

    /// Maximum number of samples of one series, over all families with these series.
    pub(in crate::engine) fn samples(self, settings: &Settings) -> usize {
        let families = ALL.iter().filter(|family| family.table() == Some(self));
        let samples = families.map(|family| family.samples.count(settings));
        samples.max().unwrap_or(1).max(1)
    }
}

impl Family {
    /// Name in the exposition.
    pub fn full_name(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }

    /// Names of the labels, in the order of exposition.
    pub fn label_names(&self) -> Vec<&'static str> {
        self.labels.iter().map(|label| label.name).collect()
    }

    /// Table of the family's series. `None` if its samples are computed at exposition.
    pub fn table(&self) -> Option<Table> {
        match self.origin {
            Origin::Computed => None,
            Origin::Own => Some(Table(self.index)),
            Origin::Of(owner) => Some(Table(owner)),
        }
    }

    /// Labels that identify a series of the family, in the order of the key.
    pub(in crate::engine) fn keys(&self) -> impl Iterator<Item = &'static LabelName> {
        self.table().into_iter().flat_map(Table::keys)
    }

    /// Position in the catalogue.
    pub(in crate::engine) fn index(&self) -> usize {
        self.index
    }

    /// Gives the family series of its own.
    pub(super) const fn own_series(self, samples: Samples) -> Self {
        Self {
            samples,
            origin: Origin::Own,
            ..self
        }
    }

    /// Gives the family the series of `owner`.
    pub(super) const fn series_of(self, owner: &Self, samples: Samples) -> Self {
        Self {
            samples,
            origin: Origin::Of(owner.index),
            ..self
        }
    }

    /// Makes the family a counter that the engine records by series.
    pub(super) const fn recorded(self) -> Self {
        Self {
            is_recorded: true,
            ..self.own_series(Samples::One)
        }
    }

    /// The same for a counter of fixed-point numbers with `decimals` decimal places.
    pub(super) const fn recorded_in_units(self, decimals: usize) -> Self {
        Self {
            decimals,
            ..self.recorded()
        }
    }

    /// Exposes the counter before its first count.
    pub(super) const fn exposed_at_zero(self) -> Self {
        Self {
            is_exposed_at_zero: true,
            ..self
        }
    }
}

const fn family(
    kind: Type,
    name: &'static str,
    labels: &'static [LabelName],
    help: &'static str,
) -> Family {
    Family {
        name,
        kind,
        labels,
        help,
        decimals: 0,
        is_recorded: false,
        is_exposed_at_zero: false,
        samples: Samples::One,
        origin: Origin::Computed,
        index: usize::MAX,
    }
}

pub(super) const fn counter(
    name: &'static str,
    labels: &'static [LabelName],
    help: &'static str,
) -> Family {
    family(Type::Counter, name, labels, help)
}

pub(super) const fn gauge(
    name: &'static str,
    labels: &'static [LabelName],
    help: &'static str,
) -> Family {
    family(Type::Gauge, name, labels, help)
}

pub(super) const fn histogram(
    name: &'static str,
    labels: &'static [LabelName],
    help: &'static str,
) -> Family {
    family(Type::Histogram, name, labels, help)
}

pub(super) const fn summary(
    name: &'static str,
    labels: &'static [LabelName],
    help: &'static str,
) -> Family {
    family(Type::Summary, name, labels, help)
}

pub(super) const fn label(name: &'static str, source: Source) -> LabelName {
    LabelName {
        name,
        source,
        if_empty: "",
    }
}

/// Label with values from events.
pub(super) const fn event(name: &'static str, dimension: Dimension) -> LabelName {
    label(name, Source::Event(dimension))
}

/// Label with a fixed list of values.
pub(super) const fn one_of(name: &'static str, values: &'static [&'static str]) -> LabelName {
    label(name, Source::OneOf(values))
}

/// Label that is set at exposition.
pub(super) const fn exposed(name: &'static str) -> LabelName {
    label(name, Source::Exposition)
}
