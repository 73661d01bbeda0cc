//! Metric families of latency, cost and objectives, and their histograms and quantiles.

use super::{Labels, Sink, View, decimal, write_family};
use rankgauge_core::engine::BucketHistogram;
use rankgauge_core::engine::family::{self, Family, Quantile};
use rankgauge_core::engine::settings::{Quantity, Settings};

impl View<'_> {
    pub(super) fn latency(&self, sink: &mut dyn Sink) {
        let series = self.series_of(&family::SEARCH_LATENCY);
        let bounds = &self.settings.latency_buckets;
        let buckets = self.model.latency_buckets();
        histograms(&family::SEARCH_LATENCY, buckets, bounds, &series, sink);
        sink.family(&family::SEARCH_LATENCY_QUANTILE);
        let names = quantile_names();
        for (number, window) in self.windows.iter().enumerate() {
            for latency in self.model.latencies(number) {
                let labels = [&series[latency.series.index()], window];
                write_quantiles(labels, &names, |quantile| latency.seconds(quantile), sink);
            }
        }
    }

    pub(super) fn cost(&self, sink: &mut dyn Sink) {
        let series = self.series_of(&family::COST_PER_QUERY_MEAN);
        sink.family(&family::COST_PER_QUERY_MEAN);
        for (number, window) in self.windows.iter().enumerate() {
            for it in self.model.costs(number) {
                if let Some(mean) = it.cost.mean() {
                    sink.write("", &[&series[it.series.index()], window], mean.into());
                }
            }
        }
        sink.family(&family::COST_PER_QUERY_QUANTILE);
        let names = quantile_names();
        for (number, window) in self.windows.iter().enumerate() {
            for it in self.model.costs(number) {
                let labels = [&series[it.series.index()], window];
                write_quantiles(labels, &names, |quantile| it.cost.quantile(quantile), sink);
            }
        }
    }

    pub(super) fn first_clicks(&self, sink: &mut dyn Sink) {
        let (family, buckets) = (&family::TIME_TO_FIRST_CLICK, self.model.first_clicks());
        let series = self.series_of(family);
        histograms(
            family,
            buckets,
            &Settings::FIRST_CLICK_BUCKETS,
            &series,
            sink,
        );
    }

    pub(super) fn objectives(&self, sink: &mut dyn Sink) {
        let objectives = &self.settings.objectives;
        let targets = objectives.iter().flat_map(|objective| {
            let tiers = objective.tiers.iter();
            tiers.map(|(tier, target)| ([&*objective.name, &**tier], *target))
        });
        write_family(&family::OBJECTIVE_TARGET, targets, sink);
        let budgets = objectives.iter();
        let budgets = budgets.filter_map(|it| Some(([&*it.name], it.budget()?)));
        write_family(&family::OBJECTIVE_BUDGET, budgets, sink);
        let failures: Vec<_> = objectives
            .iter()
            .flat_map(|objective| {
                let failures = self.model.failures(objective).into_iter();
                failures.map(|(variant, failures)| ([&*objective.name, variant], failures))
            })
            .collect();
        let searches = failures.iter().map(|(labels, it)| (*labels, it.searches));
        write_family(&family::OBJECTIVE_SEARCHES, searches, sink);
        let failures = failures.iter().map(|(labels, it)| (*labels, it.failures));
        write_family(&family::OBJECTIVE_FAILURES, failures, sink);
        let evidence = self.model.objective_evidence().into_iter();
        let evidence = evidence.map(|(objective, variant, log)| ([objective, variant], log));
        write_family(&family::OBJECTIVE_LOG_EVIDENCE, evidence, sink);
        let bounds = objectives.iter().flat_map(|objective| {
            let (variant, shares) = match &objective.quantity {
                Quantity::TrafficShare { variant, min, max } => (variant.as_str(), [*min, *max]),
                _ => ("", [None; 2]),
            };
            let shares = ["min", "max"].into_iter().zip(shares);
            shares.filter_map(move |(bound, share)| {
                Some(([&*objective.name, variant, bound], share?))
            })
        });
        write_family(&family::OBJECTIVE_BOUND, bounds, sink);
    }
}

/// Writes a family of cumulative histograms. An empty one is left out.
fn histograms(
    family: &Family,
    histograms: &[BucketHistogram],
    bounds: &[f64],
    series: &[Labels<'_>],
    sink: &mut dyn Sink,
) {
    sink.family(family);
    let bounds = bounds.iter().map(ToString::to_string);
    let bounds: Vec<String> = bounds.chain(["+Inf".to_owned()]).collect();
    let bounds = bounds.iter().map(|bound| Labels::new(&[("le", bound)]));
    let bounds: Vec<Labels<'_>> = bounds.collect();
    for (histogram, series) in histograms.iter().zip(series) {
        if histogram.counts.is_empty() {
            continue;
        }
        let mut below = 0;
        for (count, bound) in histogram.counts.iter().zip(&bounds) {
            below += count;
            sink.write("_bucket", &[series, bound], below.into());
        }
        sink.write("_sum", &[series], decimal(histogram.sum, 6));
        sink.write("_count", &[series], below.into());
    }
}

/// Labels of the quantiles.
fn quantile_names() -> [Labels<'static>; Quantile::ALL.len()] {
    Quantile::ALL.map(|it| Labels::new(&[("quantile", it.name())]))
}

/// Writes the quantiles of a series in a window. `value_of` returns `None` without samples.
fn write_quantiles(
    [series, window]: [&Labels<'_>; 2],
    names: &[Labels<'_>; Quantile::ALL.len()],
    value_of: impl Fn(f64) -> Option<f64>,
    sink: &mut dyn Sink,
) {
    for (quantile, name) in Quantile::ALL.iter().zip(names) {
        if let Some(value) = value_of(quantile.share()) {
            sink.write("", &[series, window, name], value.into());
        }
    }
}
