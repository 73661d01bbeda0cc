//! Latency of searches and their stages: cumulative buckets for Prometheus, and rolling HDR
//! histograms for quantiles that do not depend on the choice of buckets.

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::family::{self, Family};
use crate::engine::registry::Series;
use crate::engine::remap::IdRemap;
use crate::engine::settings::Settings;
use crate::engine::table::{self, entry};
use crate::engine::window::{Pane, Progress, Windows};
use crate::time::EventTime;

/// Significant decimal digits of a rolling histogram. The relative error of a value is at most 1 %.
const SIGNIFICANT_DIGITS: u8 = 2;

/// HDR histogram (Gil Tene; crate `hdrhistogram`) that grows with the values it contains.
#[derive(Clone, Debug, Default)]
pub struct HdrHistogram(Option<Box<Histogram<u32>>>);

impl HdrHistogram {
    /// Counts `value`.
    pub fn record(&mut self, value: u64) {
        let histogram = self.0.get_or_insert_with(|| Box::new(empty()));
        // Resizing fails only beyond the address space. The highest bucket is correct in that case.
        if histogram.record(value).is_err() {
            histogram.saturating_record(value);
        }
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Some(theirs) = &other.0 else { return };
        match &mut self.0 {
            None => self.0 = Some(theirs.clone()),
            Some(mine) => {
                if mine.add(theirs.as_ref()).is_err() {
                    for counted in theirs.iter_recorded() {
                        mine.saturating_record_n(
                            counted.value_iterated_to(),
                            counted
                                .count_since_last_iteration()
                                .try_into()
                                .unwrap_or(u32::MAX),
                        );
                    }
                }
            }
        }
    }

    /// Value at `quantile` (0 to 1, where 1 is the maximum), with a relative error of at most 1 %.
    /// `None` if the histogram is empty.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let histogram = self.0.as_ref().filter(|histogram| !histogram.is_empty())?;
        Some(histogram.value_at_quantile(quantile))
    }
}

impl PartialEq for HdrHistogram {
    fn eq(&self, other: &Self) -> bool {
        let empty = empty();
        let of = |spread: &Self| spread.0.as_deref().unwrap_or(&empty).clone();
        of(self) == of(other)
    }
}

/// Serialises a histogram as pairs (value, count). All values of one bucket form one pair, so
/// deserialisation restores an equal histogram.
impl Serialize for HdrHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let histogram = self.0.as_deref();
        let recorded = histogram.into_iter().flat_map(Histogram::iter_recorded);
        let pairs: Vec<(u64, u32)> = recorded
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect();
        pairs.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HdrHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pairs = Vec::<(u64, u32)>::deserialize(deserializer)?;
        if pairs.is_empty() {
            return Ok(Self::default());
        }
        let mut histogram = empty();
        for (value, count) in pairs {
            histogram
                .record_n(value, count)
                .map_err(serde::de::Error::custom)?;
        }
        Ok(Self(Some(Box::new(histogram))))
    }
}

fn empty() -> Histogram<u32> {
    Histogram::new(SIGNIFICANT_DIGITS).expect("invariant: 2 significant digits are within 0..=5")
}

/// Number of panes in a window of histograms. A histogram is a thousand times larger than a score.
pub(super) const HISTOGRAM_PANES: i64 = 12;

/// Rolling histograms, one for each series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HdrHistograms(Vec<HdrHistogram>);

impl HdrHistograms {
    /// Mutable histogram of `series`, created if absent.
    pub fn at(&mut self, series: Series) -> &mut HdrHistogram {
        entry(&mut self.0, series)
    }

    /// Histograms by series.
    pub fn by_series(&self) -> &[HdrHistogram] {
        &self.0
    }

    /// Returns saved histograms of `family` with the numbers of this process.
    fn remap(&self, ids: &IdRemap<'_>, family: &Family) -> Self {
        let mut now = Self::default();
        if let Some(table) = family.table() {
            ids.add(table, &mut now.0, &self.0, HdrHistogram::merge);
        }
        now
    }
}

impl Pane for HdrHistograms {
    fn merge(&mut self, other: &Self) {
        table::merge(&mut self.0, &other.0, HdrHistogram::merge);
    }
}

/// BucketHistograms histogram as Prometheus defines it, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketHistogram {
    /// Samples by bucket, not accumulated: one bucket more than bounds. Empty before the first
    /// sample.
    pub counts: Vec<u64>,
    /// Sum of the samples in microseconds. The type is wide enough for any number of samples of the
    /// maximum length.
    pub sum: i128,
}

impl BucketHistogram {
    fn merge(&mut self, other: &Self) {
        table::add(&mut self.counts, &other.counts);
        self.sum += other.sum;
    }
}

/// BucketHistograms histograms with common bounds, one for each series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketHistograms {
    /// Upper bounds in microseconds, ascending.
    bounds: Vec<u64>,
    buckets: Vec<BucketHistogram>,
}

impl BucketHistograms {
    /// Creates empty histograms with bucket bounds in seconds.
    pub fn new(bounds: &[f64]) -> Self {
        Self {
            bounds: bounds.iter().map(|bound| micros(bound * 1e3)).collect(),
            buckets: Vec::new(),
        }
    }

    /// Counts a sample of `milliseconds` in `series`.
    pub fn record(&mut self, series: Series, milliseconds: f64) {
        let value = micros(milliseconds);
        let buckets = entry(&mut self.buckets, series);
        buckets.counts.resize(self.bounds.len() + 1, 0);
        buckets.counts[self.bounds.partition_point(|bound| *bound < value)] += 1;
        buckets.sum += i128::from(value);
    }

    /// Histograms by series.
    pub fn by_series(&self) -> &[BucketHistogram] {
        &self.buckets
    }

    /// Adds other histograms with the same bounds.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.bounds.is_empty() {
            self.bounds.clone_from(&other.bounds);
        }
        table::merge(&mut self.buckets, &other.buckets, BucketHistogram::merge);
    }

    /// Returns saved histograms of `family` with the numbers of this process. They are dropped if
    /// their bounds are not the current `bounds`, in seconds.
    pub(super) fn remap(&self, ids: &IdRemap<'_>, bounds: &[f64], family: &Family) -> Self {
        let mut now = Self::new(bounds);
        if now.bounds == self.bounds
            && let Some(table) = family.table()
        {
            ids.add(
                table,
                &mut now.buckets,
                &self.buckets,
                BucketHistogram::merge,
            );
        }
        now
    }
}

/// Latencies of searches and their stages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Cumulative histograms, by series of [`family::SEARCH_LATENCY`].
    pub buckets: BucketHistograms,
    /// Rolling histograms in microseconds, by series of [`family::SEARCH_LATENCY`].
    pub windows: Windows<HdrHistograms>,
}

impl Latency {
    /// Creates empty histograms.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            buckets: BucketHistograms::new(&settings.latency_buckets),
            windows: Windows::new(settings, HISTOGRAM_PANES),
        }
    }

    /// Counts a sample of `milliseconds` in `series`.
    pub(super) fn record(&mut self, at_time: EventTime, series: Series, milliseconds: f64) {
        let value = micros(milliseconds);
        self.buckets.record(series, milliseconds);
        let record = |histograms: &mut HdrHistograms| histograms.at(series).record(value);
        self.windows.record(at_time, record);
    }

    /// Advances the windows to `progress`.
    pub(super) fn advance_to(&mut self, progress: Progress) {
        self.windows.advance_to(progress);
    }

    /// Adds other latencies with the same numbers.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self { buckets, windows } = other;
        self.buckets.merge(buckets);
        self.windows.merge(windows);
    }

    /// Returns saved latencies with the numbers of this process.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let bounds = &ids.settings.latency_buckets;
        let now = Windows::new(ids.settings, HISTOGRAM_PANES);
        Self {
            buckets: self.buckets.remap(ids, bounds, &family::SEARCH_LATENCY),
            windows: self
                .windows
                .remap(now, |pane| pane.remap(ids, &family::SEARCH_LATENCY)),
        }
    }

    /// Returns a copy for exposition.
    pub(super) fn summed(&self) -> Self {
        Self {
            buckets: self.buckets.clone(),
            windows: self.windows.summed(),
        }
    }
}

/// Converts milliseconds to whole microseconds. Negative numbers and NaN become 0.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and decoding bounds latencies to 30 days"
)]
fn micros(milliseconds: f64) -> u64 {
    (milliseconds * 1e3).round() as u64
}
