//! Load of the sample: the memory and series to expect for it, and the drops that are found.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::records::{Sample, SampledSearch};
use crate::advice;
use crate::capacity::{self, Load};
use crate::config::{Config, format_bytes};
use rankgauge_core::gold::GoldSet;
use rankgauge_core::number::real;
use rankgauge_eval::text_layout::count_of;

/// Findings about memory and series, and about the drops that are found at the rate of the sample.
pub(super) fn check(config: &Config, gold: Option<&GoldSet>, sample: &Sample) -> Vec<Finding> {
    if sample.searches.is_empty() {
        return Vec::new();
    }
    let Some(load) = load_of(config, sample) else {
        return vec![Finding::warning(
            "capacity",
            "the sample covers no time, so its rate is unknown",
            "raise --sample, or predict with --searches-per-second",
        )];
    };
    let mut findings = vec![capacity_of(config, &load)];
    let queries = gold.map(|gold| gold.queries().len());
    let advice = advice::lines(config, queries, &load).join("; ");
    if !advice.is_empty() {
        findings.push(Finding::ok("detection", advice));
    }
    findings
}

/// Load of the sample. `None` if it covers no time.
fn load_of(config: &Config, sample: &Sample) -> Option<Load> {
    let searches_per_second = rate(&sample.searches)?;
    let searches = sample.searches.iter();
    let results = searches.clone().map(|it| it.results.len()).sum::<usize>();
    let variants: BTreeSet<&str> = searches.clone().map(|it| it.variant.as_str()).collect();
    let values = (0..config.engine.slices.len()).map(|slice| {
        let values: BTreeSet<&String> = searches
            .clone()
            .filter_map(|it| it.slices[slice].as_ref())
            .collect();
        values.len()
    });
    Some(Load {
        searches_per_second,
        results: results.div_ceil(sample.searches.len()),
        variants: variants.len(),
        slice_values: values.max().unwrap_or(0),
    })
}

fn capacity_of(config: &Config, load: &Load) -> Finding {
    let predicted = capacity::predict(&config.engine, load);
    let bytes = predicted.worker_bytes(config.workers);
    let message = format!(
        "{:.1} searches a second with {}, {} and up to {} of a slice \
         need {:.1} MiB for each worker (engine.memory is {}) and {} series in \
         a scrape of {:.2} MiB",
        load.searches_per_second,
        count_of(load.results, "result", "results"),
        count_of(load.variants, "variant", "variants"),
        count_of(load.slice_values, "value", "values"),
        bytes / MIB,
        format_bytes(config.engine.memory),
        predicted.series,
        real(u64::try_from(predicted.scrape_bytes).unwrap_or(u64::MAX)) / MIB
    );
    let budget = real(u64::try_from(config.engine.memory).unwrap_or(u64::MAX));
    if bytes > budget {
        Finding::warning(
            "capacity",
            message,
            "raise engine.memory, add workers or replicas, or shorten engine.feedback_window or \
             the list of measures",
        )
    } else {
        Finding::ok("capacity", message)
    }
}

const MIB: f64 = 1_048_576.0;

/// Searches per second of event time, over all partitions; `None` if the sample covers no time. The
/// middle half of each partition counts, so that single wrong times do not matter.
fn rate(searches: &[SampledSearch]) -> Option<f64> {
    let mut partitions: BTreeMap<i32, Vec<i64>> = BTreeMap::new();
    for search in searches {
        let times = partitions.entry(search.at.partition).or_default();
        times.push(search.ts.0);
    }
    let rates = partitions.values_mut().filter_map(|times| {
        times.sort_unstable();
        let (first, last) = (times.len() / 4, times.len() * 3 / 4);
        let last = last.min(times.len().checked_sub(1)?);
        let millis = u64::try_from(times.get(last)? - times.get(first)?).ok()?;
        let count = u64::try_from(last - first).ok()?;
        (millis > 0).then(|| real(count) * 1_000.0 / real(millis))
    });
    let rate: f64 = rates.sum();
    (rate > 0.0).then_some(rate)
}
