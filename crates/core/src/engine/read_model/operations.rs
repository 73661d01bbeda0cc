//! Latency and cost of searches.

use super::model::ReadModel;
use crate::engine::cost::CostSummary;
use crate::engine::family;
use crate::engine::latency::{BucketHistogram, SparseHistogram};
use crate::engine::series::{Dimension, Label, Series};
use crate::engine::settings::Settings;
use crate::number::real;

/// Rolling latencies of one stage and variant.
#[derive(Clone, Copy, Debug)]
pub struct StageLatency<'m> {
    /// Number of the series of [`family::SEARCH_LATENCY`].
    pub series: Series,
    /// Name of the stage; [`Settings::WHOLE_SEARCH`] for the whole search.
    pub stage: &'m str,
    /// Number of the variant.
    pub variant: Label,
    histogram: &'m SparseHistogram,
}

impl StageLatency<'_> {
    /// Latency in seconds at `quantile` (0 to 1, where 1 is the maximum). `None` without searches.
    pub fn seconds(&self, quantile: f64) -> Option<f64> {
        Some(real(self.histogram.quantile(quantile)?) / 1e6)
    }

    /// The same in milliseconds.
    pub fn milliseconds(&self, quantile: f64) -> Option<f64> {
        Some(real(self.histogram.quantile(quantile)?) / 1e3)
    }

    /// Number of searches with this latency.
    pub fn searches(&self) -> u64 {
        self.histogram.count()
    }

    /// Returns true for the latency of the whole search.
    pub fn is_whole(&self) -> bool {
        self.stage == Settings::WHOLE_SEARCH
    }
}

/// Rolling cost of the searches of one variant in one currency.
#[derive(Clone, Copy, Debug)]
pub struct QueryCost<'m> {
    /// Number of the series of [`family::COST_PER_QUERY_MEAN`].
    pub series: Series,
    /// ISO 4217 code of the currency.
    pub currency: &'m str,
    /// Number of the variant.
    pub variant: Label,
    /// Costs in units of the currency.
    pub cost: &'m CostSummary,
}

impl<'a> ReadModel<'a> {
    /// Histograms of the latency since the start, by series of [`family::SEARCH_LATENCY`].
    pub fn latency_buckets(&self) -> &'a [BucketHistogram] {
        self.snapshot.totals.latency.buckets.by_series()
    }

    /// Histograms of the time to the first click, by series of [`family::TIME_TO_FIRST_CLICK`].
    pub fn first_clicks(&self) -> &'a [BucketHistogram] {
        self.snapshot.totals.first_clicks.by_series()
    }

    /// Latencies in a window.
    pub fn latencies(&self, window: usize) -> impl Iterator<Item = StageLatency<'_>> {
        let windows = self.snapshot.totals.latency.windows.iter().nth(window);
        let histograms = windows.into_iter().flat_map(|it| it.sum().by_series());
        let keys = self.keys(&family::SEARCH_LATENCY).iter();
        keys.zip(histograms)
            .enumerate()
            .map(|(number, (labels, histogram))| StageLatency {
                series: Series::at(number),
                stage: self.text(Dimension::Stage, labels[0]),
                variant: labels[1],
                histogram,
            })
    }

    /// Costs in a window.
    pub fn costs(&self, window: usize) -> impl Iterator<Item = QueryCost<'_>> {
        let windows = self
            .snapshot
            .totals
            .cost_per_query
            .windows
            .iter()
            .nth(window);
        let costs = windows.into_iter().flat_map(|it| it.sum().by_series());
        let keys = self.keys(&family::COST_PER_QUERY_MEAN).iter();
        keys.zip(costs)
            .enumerate()
            .map(|(number, (labels, cost))| QueryCost {
                series: Series::at(number),
                currency: self.text(Dimension::Currency, labels[0]),
                variant: labels[1],
                cost,
            })
    }
}
