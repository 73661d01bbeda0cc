//! Latency of searches and their stages: cumulative buckets for Prometheus, and rolling histograms
//! for quantiles that do not depend on the choice of buckets.

use serde::{Deserialize, Serialize};

use crate::engine::family::{self, Family, Table};
use crate::engine::fixed::nearest;
use crate::engine::remap::IdRemap;
use crate::engine::series::Series;
use crate::engine::settings::Settings;
use crate::engine::table::{self, entry};
use crate::engine::window::{Pane, Progress, Windows};
use crate::time::EventTime;

/// Histogram of integers, whose quantiles have a relative error below 1 %.
///
/// Values below 256 have a bucket each. Every power of two above has 128 buckets of equal width: the
/// layout of an HDR histogram (Gil Tene) with two significant digits. Only buckets with values are
/// kept, so the size follows the variety of the values and not their magnitude. It is at most 7,424
/// buckets of 8 bytes; values within a factor of ten occupy less than 450.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SparseHistogram {
    /// Buckets with their counts, ascending.
    counts: Vec<(u16, u32)>,
}

impl SparseHistogram {
    /// Counts `value`.
    pub fn record(&mut self, value: u64) {
        self.add(bucket_of(value), 1);
    }

    fn add(&mut self, bucket: u16, number: u32) {
        match self.counts.binary_search_by_key(&bucket, |(it, _)| *it) {
            Ok(index) => {
                let count = &mut self.counts[index].1;
                *count = count.saturating_add(number);
            }
            Err(index) => self.counts.insert(index, (bucket, number)),
        }
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
            return;
        }
        for &(bucket, number) in &other.counts {
            self.add(bucket, number);
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        let numbers = self.counts.iter().map(|(_, number)| u64::from(*number));
        numbers.sum()
    }

    /// Value at `quantile` (0 to 1, where 1 is the maximum), rounded up by less than 1 %. `None` if
    /// the histogram is empty.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a number of values, from 1 to their number; `as` saturates"
    )]
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let all = self.count();
        let needed = ((quantile * all as f64).ceil() as u64).clamp(1, all.max(1));
        let mut reached = 0;
        let found = self.counts.iter().find(|(_, number)| {
            reached += u64::from(*number);
            reached >= needed
        });
        found.map(|(bucket, _)| highest_of(*bucket))
    }

    /// Bytes of the buckets.
    pub(super) fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<(u16, u32)>()
    }
}

/// Number of buckets of a power of two.
const BUCKETS_PER_OCTAVE: u64 = 128;

/// Returns the bucket of a value.
fn bucket_of(value: u64) -> u16 {
    // 0 for values below 256, and 56 for the largest ones.
    let octave = u64::from(56 - (value | 255).leading_zeros());
    let bucket = octave * BUCKETS_PER_OCTAVE + (value >> octave);
    u16::try_from(bucket).unwrap_or(u16::MAX)
}

/// Returns the highest value of a bucket.
fn highest_of(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    let octave = (bucket / BUCKETS_PER_OCTAVE).saturating_sub(1);
    let place = bucket - octave * BUCKETS_PER_OCTAVE;
    // The highest bucket ends at 2^64.
    (u128::from(place + 1) << octave)
        .checked_sub(1)
        .and_then(|value| u64::try_from(value).ok())
        .unwrap_or(u64::MAX)
}

/// Number of panes in a window of histograms. A histogram is a hundred times larger than a score.
pub(super) const HISTOGRAM_PANES: i64 = 12;

/// Rolling histograms, one for each series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RollingHistograms(Vec<SparseHistogram>);

impl RollingHistograms {
    /// Mutable histogram of `series`, created if absent.
    pub fn at(&mut self, series: Series) -> &mut SparseHistogram {
        entry(&mut self.0, series)
    }

    /// Histograms by series.
    pub fn by_series(&self) -> &[SparseHistogram] {
        &self.0
    }

    /// Returns saved histograms of `family` with the numbers of this process.
    fn remap(&self, ids: &IdRemap<'_>, family: &Family) -> Self {
        let mut now = Self::default();
        if let Some(table) = family.table() {
            ids.add(table, &mut now.0, &self.0, SparseHistogram::merge);
        }
        now
    }
}

impl Pane for RollingHistograms {
    fn merge(&mut self, other: &Self) {
        table::merge(&mut self.0, &other.0, SparseHistogram::merge);
    }
}

/// Histogram as Prometheus defines it, in microseconds.
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

/// Histograms with common bounds, one for each series.
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

    /// Clears retired series of `family`.
    pub(super) fn retire(&mut self, family: &Family, retired: &[(Table, Series)]) {
        for (_, series) in retired.iter().filter(|(it, _)| Some(*it) == family.table()) {
            table::clear(&mut self.buckets, *series, 1);
        }
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
    pub windows: Windows<RollingHistograms>,
    /// Empty in a copy for exposition or for a checkpoint.
    #[serde(skip)]
    recent: Recent,
}

/// Recent samples: samples that are not yet added to the windows. They are added in the order of
/// their panes and series, because the histograms of all series and windows are larger than the
/// processor's caches.
#[derive(Clone, Debug, Default, PartialEq)]
struct Recent {
    /// Length that divides those of the panes of all windows.
    pane_length: i64,
    samples: Vec<Sample>,
}

/// Sample of a pane, by the number of the pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    pane: i64,
    series: Series,
    bucket: u16,
}

impl Sample {
    /// Key of the order in which samples are added: newest pane first, because a window ignores what is
    /// too old.
    fn order(&self) -> u128 {
        let newest_first = u128::from((!self.pane).cast_unsigned());
        newest_first << 64 | (self.series.index() as u128) << 16 | u128::from(self.bucket)
    }
}

/// Maximum number of recent samples, unless one search has more: 128 kB.
const MAX_RECENT: usize = 1 << 13;

impl Latency {
    /// Creates empty histograms.
    pub(super) fn new(settings: &Settings) -> Self {
        Self::with_windows(
            BucketHistograms::new(&settings.latency_buckets),
            Windows::new(settings, HISTOGRAM_PANES),
        )
    }

    fn with_windows(buckets: BucketHistograms, windows: Windows<RollingHistograms>) -> Self {
        let recent = Recent {
            pane_length: windows.common_pane(),
            samples: Vec::new(),
        };
        Self {
            buckets,
            windows,
            recent,
        }
    }

    /// Counts the samples of a search: series with milliseconds.
    pub(super) fn record(&mut self, at: EventTime, samples: &[(Series, f64)]) {
        if self.recent.samples.len() + samples.len() > MAX_RECENT {
            self.flush();
        }
        let recent = &mut self.recent;
        let pane = at.0.div_euclid(recent.pane_length.max(1));
        for &(series, milliseconds) in samples {
            self.buckets.record(series, milliseconds);
            let bucket = bucket_of(micros(milliseconds));
            recent.samples.push(Sample {
                pane,
                series,
                bucket,
            });
        }
    }

    /// Adds the recent samples to the windows.
    pub(super) fn flush(&mut self) {
        let Recent {
            pane_length,
            samples,
        } = &mut self.recent;
        samples.sort_unstable_by_key(Sample::order);
        for of_pane in samples.chunk_by(|a, b| a.pane == b.pane) {
            let at = EventTime(of_pane[0].pane.saturating_mul(*pane_length));
            self.windows.record(at, |histograms| {
                for equal in of_pane.chunk_by(|a, b| a == b) {
                    let Sample { series, bucket, .. } = equal[0];
                    let number = u32::try_from(equal.len()).unwrap_or(u32::MAX);
                    histograms.at(series).add(bucket, number);
                }
            });
        }
        samples.clear();
    }

    /// Clears retired series.
    pub(super) fn retire(&mut self, retired: &[(Table, Series)]) {
        self.flush();
        self.buckets.retire(&family::SEARCH_LATENCY, retired);
    }

    /// Returns a copy for a checkpoint.
    pub(super) fn flushed(&self) -> Self {
        let mut copy = self.clone();
        copy.flush();
        copy
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let buckets = self.buckets.buckets.len() * (self.buckets.bounds.len() + 8) * 8;
        let of_pane = |pane: &RollingHistograms| {
            let histograms = pane.0.iter().map(SparseHistogram::bytes).sum::<usize>();
            histograms + pane.0.capacity() * size_of::<SparseHistogram>()
        };
        let recent = self.recent.samples.capacity() * size_of::<Sample>();
        buckets + recent + self.windows.bytes(of_pane)
    }

    /// Advances the windows to `progress`.
    pub(super) fn advance_to(&mut self, progress: Progress) {
        self.flush();
        self.windows.advance_to(progress);
    }

    /// Adds other latencies with the same numbers.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self {
            buckets,
            windows,
            recent: _,
        } = other;
        self.buckets.merge(buckets);
        self.windows.merge(windows);
    }

    /// Returns saved latencies with the numbers of this process.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let bounds = &ids.settings.latency_buckets;
        let now = Windows::new(ids.settings, HISTOGRAM_PANES);
        Self::with_windows(
            self.buckets.remap(ids, bounds, &family::SEARCH_LATENCY),
            self.windows
                .remap(now, |pane| pane.remap(ids, &family::SEARCH_LATENCY)),
        )
    }

    /// Returns a copy for exposition.
    pub(super) fn summed(&self) -> Self {
        if !self.recent.samples.is_empty() {
            return self.flushed().summed();
        }
        Self {
            buckets: self.buckets.clone(),
            windows: self.windows.summed(),
            recent: Recent::default(),
        }
    }
}

/// Converts milliseconds to whole microseconds. Negative numbers and NaN become 0. Decoding bounds
/// latencies to 30 days.
fn micros(milliseconds: f64) -> u64 {
    u64::try_from(nearest(milliseconds * 1e3)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
