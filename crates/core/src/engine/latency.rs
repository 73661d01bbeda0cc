//! Latency of searches and their stages: cumulative buckets for Prometheus, and rolling HDR
//! histograms for quantiles that do not depend on the choice of buckets.

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::registry::{Family, Series};
use crate::engine::state::{Renumbering, same_windows};
use crate::engine::table::{self, entry};
use crate::engine::window::{Pane, Progress, Window};
use crate::time::EventTime;

/// Significant decimal digits of a rolling histogram. The relative error of a value is at most 1 %.
const SIGNIFICANT_DIGITS: u8 = 2;

/// HDR histogram (Gil Tene; crate `hdrhistogram`) that grows with the values it contains.
#[derive(Clone, Debug, Default)]
pub struct Spread(Option<Box<Histogram<u32>>>);

impl Spread {
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

impl PartialEq for Spread {
    fn eq(&self, other: &Self) -> bool {
        let empty = empty();
        let of = |spread: &Self| spread.0.as_deref().unwrap_or(&empty).clone();
        of(self) == of(other)
    }
}

/// Serialises a histogram as pairs (value, count). All values of one bucket form one pair, so
/// deserialisation restores an equal histogram.
impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let histogram = self.0.as_deref();
        let recorded = histogram.into_iter().flat_map(Histogram::iter_recorded);
        let pairs: Vec<(u64, u32)> = recorded
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect();
        pairs.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Spread {
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

/// Rolling histograms, one for each series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spreads(Vec<Spread>);

impl Spreads {
    /// Mutable histogram of `series`, created if absent.
    pub fn at(&mut self, series: Series) -> &mut Spread {
        entry(&mut self.0, series)
    }

    /// Histograms by series.
    pub fn by_series(&self) -> &[Spread] {
        &self.0
    }
}

impl Pane for Spreads {
    fn merge(&mut self, other: &Self) {
        table::merge(&mut self.0, &other.0, Spread::merge);
    }
}

/// Cumulative histogram as Prometheus defines it, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buckets {
    /// Samples by bucket, not accumulated: one bucket more than bounds. Empty before the first
    /// sample.
    pub counts: Vec<u64>,
    /// Sum of the samples in microseconds. The type is wide enough for any number of samples of the
    /// maximum length.
    pub sum: i128,
}

impl Buckets {
    fn merge(&mut self, other: &Self) {
        table::add(&mut self.counts, &other.counts);
        self.sum += other.sum;
    }
}

/// Cumulative histograms with common bounds, one for each series.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cumulative {
    /// Upper bounds in microseconds, ascending.
    bounds: Vec<u64>,
    buckets: Vec<Buckets>,
}

impl Cumulative {
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
    pub fn by_series(&self) -> &[Buckets] {
        &self.buckets
    }

    /// Adds the counts that an earlier process saved, if the bounds are equal.
    pub(super) fn restore(&mut self, saved: &Self, renumbering: &Renumbering, family: Family) {
        if saved.bounds == self.bounds {
            let (mine, theirs) = (&mut self.buckets, &saved.buckets);
            renumbering.add(family, mine, theirs, Buckets::merge);
        }
    }
}

/// Adds the histograms of another worker, series by series.
pub fn merge_buckets(mine: &mut Vec<Buckets>, theirs: &[Buckets]) {
    table::merge(mine, theirs, Buckets::merge);
}

/// Latencies of one worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Latency {
    buckets: Cumulative,
    windows: Vec<Window<Spreads>>,
}

impl Latency {
    /// Creates empty histograms with bucket bounds in seconds.
    pub fn new(bounds: &[f64], windows: Vec<Window<Spreads>>) -> Self {
        Self {
            buckets: Cumulative::new(bounds),
            windows,
        }
    }

    /// Counts a sample of `milliseconds` in `series`.
    pub fn record(&mut self, at_time: EventTime, series: Series, milliseconds: f64) {
        let value = micros(milliseconds);
        self.buckets.record(series, milliseconds);
        for window in &mut self.windows {
            window.record(at_time, |spreads| spreads.at(series).record(value));
        }
    }

    /// Advances the windows to `progress`.
    pub fn follow(&mut self, progress: Progress) {
        for window in &mut self.windows {
            window.follow(progress);
        }
    }

    /// Adds the counts that an earlier process saved. Buckets are added only if their bounds are
    /// equal.
    pub(super) fn restore(&mut self, saved: &Self, renumbering: &Renumbering) {
        self.buckets
            .restore(&saved.buckets, renumbering, Family::Latency);
        for (mine, theirs) in same_windows(&mut self.windows, &saved.windows) {
            mine.restore(theirs, |pane| {
                let mut spreads = Spreads::default();
                renumbering.add(Family::Latency, &mut spreads.0, &pane.0, Spread::merge);
                spreads
            });
        }
    }

    /// Returns a snapshot of the histograms, for exposition.
    pub fn totals(&self) -> LatencyTotals {
        LatencyTotals {
            buckets: self.buckets.by_series().to_vec(),
            windows: self.windows.iter().map(Window::total).collect(),
        }
    }
}

/// Snapshot of the latencies, additive over workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyTotals {
    /// Cumulative histograms by series of [`crate::engine::registry::Family::Latency`].
    pub buckets: Vec<Buckets>,
    /// Rolling histograms in microseconds, by window and series.
    pub windows: Vec<Spreads>,
}

impl LatencyTotals {
    /// Adds the latencies of another worker.
    pub fn merge(&mut self, other: &Self) {
        merge_buckets(&mut self.buckets, &other.buckets);
        table::merge(&mut self.windows, &other.windows, Pane::merge);
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
