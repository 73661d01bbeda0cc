//! Durations of the process as summaries: quantiles over the last minutes, from HDR histograms.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: quantiles are those of the last minutes by the clock"
)]

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{LabelPair, Metric, MetricFamily, MetricType, Quantile, Summary};

use crate::metric::opts;
use rankgauge_core::engine::family::{self, Family};
use rankgauge_core::number::real;

/// Time after which the older half of the durations is dropped.
const HALF: Duration = Duration::from_mins(5);

/// Highest recorded duration in microseconds: an hour.
const MAX_MICROS: u64 = 3_600_000_000;

/// Significant decimal digits of a recorded duration.
const DIGITS: u8 = 2;

/// Durations of the sidecar's own work.
#[derive(Clone, Debug)]
pub struct WorkLatencies {
    scrape: Latencies,
    publish: Latencies,
    checkpoint: Option<Latencies>,
}

impl WorkLatencies {
    pub(crate) fn new(has_checkpoints: bool) -> Self {
        Self {
            scrape: Latencies::of_process(&family::SCRAPE_DURATION),
            publish: Latencies::of_process(&family::PUBLISH_DURATION),
            checkpoint: has_checkpoints
                .then(|| Latencies::of_process(&family::CHECKPOINT_WRITE_DURATION)),
        }
    }

    pub(crate) fn scraped(&self, duration: Duration) {
        self.scrape.record("", duration);
    }

    /// Records a publication of a worker.
    pub fn published(&self, duration: Duration) {
        self.publish.record("", duration);
    }

    pub(crate) fn checkpoint_written(&self, duration: Duration) {
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.record("", duration);
        }
    }

    pub(crate) fn families(&self) -> impl Iterator<Item = MetricFamily> {
        let all = [
            Some(&self.scrape),
            Some(&self.publish),
            self.checkpoint.as_ref(),
        ];
        all.into_iter().flatten().flat_map(Latencies::collect)
    }
}

/// Summary of durations for each value of at most one label beside the quantile.
#[derive(Clone)]
pub(crate) struct Latencies {
    family: &'static Family,
    desc: Option<Desc>,
    series: Arc<Mutex<Vec<(String, Series)>>>,
}

impl fmt::Debug for Latencies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Latencies")
            .field("family", &self.family.name)
            .finish_non_exhaustive()
    }
}

/// Durations with one label value.
struct Series {
    /// The older and the newer half; `None` before the first duration of the half.
    halves: [Option<Histogram<u64>>; 2],
    /// Begin of the newer half.
    since: Instant,
    count: u64,
    sum: Duration,
}

impl Series {
    fn new() -> Self {
        Self {
            halves: [None, None],
            since: Instant::now(),
            count: 0,
            sum: Duration::ZERO,
        }
    }

    /// Drops what is too old.
    fn advance(&mut self, now: Instant) {
        let age = now.saturating_duration_since(self.since);
        if age < HALF {
            return;
        }
        let newer = self.halves[1].take();
        self.halves[0] = newer.filter(|_| age < 2 * HALF);
        self.since = now;
    }

    fn record(&mut self, duration: Duration) {
        self.advance(Instant::now());
        self.count += 1;
        self.sum = self.sum.saturating_add(duration);
        if self.halves[1].is_none() {
            self.halves[1] = Histogram::new_with_bounds(1, MAX_MICROS, DIGITS).ok();
        }
        if let Some(newer) = &mut self.halves[1] {
            let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
            newer.saturating_record(micros);
        }
    }

    fn summary(&mut self) -> Summary {
        self.advance(Instant::now());
        let mut all: Option<Histogram<u64>> = self.halves[1].clone();
        match (&mut all, &self.halves[0]) {
            // Both have the same bounds, so that adding cannot fail.
            (Some(all), Some(older)) => drop(all.add(older)),
            (None, Some(older)) => all = Some(older.clone()),
            (_, None) => {}
        }
        let quantiles = family::Quantile::ALL.map(|quantile| {
            let quantile = quantile.share();
            let value = all
                .as_ref()
                .map_or(f64::NAN, |all| real(all.value_at_quantile(quantile)) / 1e6);
            let mut pair = Quantile::default();
            pair.set_quantile(quantile);
            pair.set_value(value);
            pair
        });
        let mut summary = Summary::default();
        summary.set_quantile(quantiles.into());
        summary.set_sample_count(self.count);
        summary.set_sample_sum(self.sum.as_secs_f64());
        summary
    }
}

impl Latencies {
    /// A summary without durations.
    pub(crate) fn new(family: &'static Family) -> Result<Self, prometheus::Error> {
        let options = opts(family);
        let labels = family.label_names().into_iter();
        let labels = labels.filter(|name| *name != "quantile").map(str::to_owned);
        let desc = Desc::new(
            options.fq_name(),
            options.help,
            labels.collect(),
            options.const_labels,
        )?;
        Ok(Self {
            family,
            desc: Some(desc),
            series: Arc::default(),
        })
    }

    /// A summary with a single series, whose owner passes it to the exposition.
    fn of_process(family: &'static Family) -> Self {
        let latencies = Self {
            family,
            desc: None,
            series: Arc::default(),
        };
        latencies.expose("");
        latencies
    }

    /// Exposes the series with this label value from now on.
    pub(crate) fn expose(&self, value: &str) {
        self.with(value, |_| ());
    }

    /// Records a duration in the series with this label value.
    pub(crate) fn record(&self, value: &str, duration: Duration) {
        self.with(value, |series| series.record(duration));
    }

    fn with(&self, value: &str, change: impl FnOnce(&mut Series)) {
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, series)) = all.iter_mut().find(|(known, _)| known == value) {
            change(series);
        } else {
            let mut series = Series::new();
            change(&mut series);
            all.push((value.to_owned(), series));
        }
    }
}

impl Collector for Latencies {
    fn desc(&self) -> Vec<&Desc> {
        self.desc.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut labels = self.family.label_names().into_iter();
        let label = labels.find(|name| *name != "quantile");
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let metrics = all.iter_mut().map(|(value, series)| {
            let pair = label.map(|label| {
                let mut pair = LabelPair::default();
                pair.set_name(label.to_owned());
                pair.set_value(value.clone());
                pair
            });
            let mut metric = Metric::from_label(pair.into_iter().collect());
            metric.set_summary(series.summary());
            metric
        });
        let mut family = MetricFamily::default();
        family.set_name(self.family.full_name());
        family.set_help(self.family.help.to_owned());
        family.set_field_type(MetricType::SUMMARY);
        family.set_metric(metrics.collect());
        vec![family]
    }
}
