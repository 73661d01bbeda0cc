//! Configuration of the engine: time, windows, latency buckets, prices, limits.

use std::time::Duration;

use super::reader::Reader;
use super::units::format_duration;
use super::{feedback, formats, judging, keys};
use rankgauge_core::engine::money::{Price, PriceTable};
use rankgauge_core::engine::position::{FeedbackTopic, Topics};
use rankgauge_core::engine::settings::{Detection, JoinLimits, Settings, WindowSpec};
use rankgauge_core::event::Limits;
use rankgauge_core::measure::{Measure, UserMeasure};

/// Reads the settings. Without feedback, default measures that need it are left out.
pub(super) fn read(reader: &mut Reader, topics: Topics) -> Settings {
    let measures = judging::measures(reader, topics.feedback != FeedbackTopic::None);
    let mut slices = judging::slices(reader);
    let experiments = feedback::experiments(reader, &mut slices, &measures);
    // Synthetic searches are always a slice. Without any, it has no series.
    if !slices.iter().any(|slice| slice == Settings::SYNTHETIC) {
        slices.push(Settings::SYNTHETIC.to_owned());
    }
    let weights = feedback::weights(reader);
    let settings = Settings {
        topics,
        slices,
        version_labels: formats::version_labels(reader),
        judging: judging::rules(reader, &measures),
        measures,
        windows: windows(reader),
        rolling: reader.get(&keys::ROLLING),
        ranges: reader.get(&keys::RANGES),
        out_of_orderness: reader.get(&keys::OUT_OF_ORDERNESS),
        feedback_window: reader.get(&keys::FEEDBACK_WINDOW),
        conversion_window: conversion_window(reader),
        idle_timeout: reader.get(&keys::IDLE_TIMEOUT),
        max_future_skew: reader.get(&keys::MAX_FUTURE_SKEW),
        memory: reader.get(&keys::MEMORY),
        join_limits: JoinLimits {
            feedback_per_search: reader.get(&keys::FEEDBACK_PER_SEARCH),
            searches_per_session: reader.get(&keys::SEARCHES_PER_SESSION),
            interactions_per_session: reader.get(&keys::INTERACTIONS_PER_SESSION),
        },
        latency_buckets: latency_buckets(reader),
        prices: PriceTable::new(prices(reader)),
        click_weights: weights.click_weights,
        expected_clicks: weights.expected_clicks,
        min_samples: weights.min_samples,
        experiments,
        // Read later, because it depends on the topics.
        labelling: None,
        // Read later, because it depends on the targets.
        detection: Detection::default(),
        objectives: Vec::new(),
        series_per_family: reader.get(&keys::SERIES_PER_FAMILY),
        values_per_label: reader.get(&keys::VALUES_PER_LABEL),
        record_limits: Limits {
            record_bytes: reader.get(&keys::RECORD_BYTES),
            results_per_search: reader.get(&keys::RESULTS_PER_SEARCH),
        },
    };
    check(reader, &settings);
    settings
}

/// Checks constraints between values.
fn check(reader: &mut Reader, settings: &Settings) {
    let (window, measures) = (&*keys::FEEDBACK_WINDOW.path, &*keys::COMPUTED.path);
    if settings.feedback_window <= settings.out_of_orderness {
        reader.conflict(
            &[window, &keys::OUT_OF_ORDERNESS.path],
            format!(
                "engine.feedback_window ({}) must be longer than engine.out_of_orderness ({}): \
                 otherwise feedback that is in order is late",
                format_duration(settings.feedback_window),
                format_duration(settings.out_of_orderness)
            ),
        );
    }
    if let Some(conversions) = settings.conversion_window {
        let path = &*format!("{}.conversion", keys::FEEDBACK_WINDOWS.path);
        if conversions <= settings.feedback_window {
            let text = format!(
                "{} is not longer than engine.feedback_window ({}); remove it",
                format_duration(conversions),
                format_duration(settings.feedback_window)
            );
            reader.conflict(&[path, window], text);
        }
        if reader.get(&keys::WORKERS) > 1 {
            let text = "needs workers: 1, because searches that wait for conversions are in the \
                        checkpoint of a worker";
            reader.conflict(&[path, &keys::WORKERS.path], text);
        }
    }
    for measure in &settings.measures {
        let Measure::User(user_measure) = measure else {
            continue;
        };
        if let Some(horizon) = user_measure.horizon()
            && Duration::from_secs(horizon.into()) > settings.feedback_window
        {
            let text = format!(
                "{measure} needs {horizon}s of feedback, longer than engine.feedback_window ({})",
                format_duration(settings.feedback_window)
            );
            reader.conflict(&[measures, window], text);
        }
        if *user_measure == UserMeasure::WeightedClicks && settings.click_weights.is_empty() {
            // Without them the measure would silently have no score.
            let text = format!("{measure} needs feedback.propensities");
            reader.conflict(&[measures, &keys::PROPENSITIES.path], text);
        }
    }
    let scores = settings
        .measures
        .len()
        .saturating_mul(settings.windows.len());
    let max = settings.series_per_family;
    if scores > max {
        reader.conflict(
            &[&keys::SERIES_PER_FAMILY.path, &keys::WINDOWS.path, measures],
            format!(
                "{} measures over {} windows are {scores} series for every variant, more than \
                 limits.series_per_family ({max})",
                settings.measures.len(),
                settings.windows.len()
            ),
        );
    }
}

/// Window of conversions. Other feedback has none of its own.
fn conversion_window(reader: &mut Reader) -> Option<Duration> {
    let mut windows = reader.names(&keys::FEEDBACK_WINDOWS);
    let conversions = windows.remove("conversion");
    for name in windows.keys() {
        let path = format!("{}.{name}", keys::FEEDBACK_WINDOWS.path);
        let text = format!(
            "\"{name}\" has no window of its own, only conversion has; remove it, or raise \
             engine.feedback_window"
        );
        reader.problem(&path, text);
    }
    conversions
}

fn windows(reader: &mut Reader) -> Vec<WindowSpec> {
    let mut windows: Vec<WindowSpec> = Vec::new();
    for element in reader.list(&keys::WINDOWS) {
        let (name, length) = (element.text, element.value);
        if windows.last().is_some_and(|last| last.length >= length) {
            let text = "is not longer than the window before; write the shortest first";
            reader.problem(&element.path, format!("\"{name}\" {text}"));
        } else {
            windows.push(WindowSpec { name, length });
        }
    }
    windows
}

fn latency_buckets(reader: &mut Reader) -> Vec<f64> {
    let mut buckets: Vec<f64> = Vec::new();
    for element in reader.list(&keys::BUCKETS) {
        if buckets.last().is_some_and(|last| *last >= element.value) {
            let text = "is not above the bucket before; write the smallest first";
            reader.problem(&element.path, format!("\"{}\" {text}", element.text));
        } else {
            buckets.push(element.value);
        }
    }
    buckets
}

fn prices(reader: &mut Reader) -> Vec<Price> {
    let mut prices: Vec<Price> = Vec::new();
    for path in reader.sections(&keys::PRICES) {
        let Some(price) = price(reader, &path) else {
            continue;
        };
        let is_repeated =
            |other: &Price| other.model == price.model && other.valid_from == price.valid_from;
        if prices.iter().any(is_repeated) {
            let text = format!("{} has two prices with the same valid_from", price.model);
            reader.problem(&path, text);
        } else {
            prices.push(price);
        }
    }
    prices
}

fn price(reader: &mut Reader, path: &str) -> Option<Price> {
    let model = reader.required(&keys::PRICE_MODEL.of(path));
    let currency = reader.required(&keys::PRICE_CURRENCY.of(path));
    let valid_from = reader.find(&keys::PRICE_FROM.of(path));
    let input = reader.required(&keys::PRICE_INPUT.of(path));
    let output = reader.required(&keys::PRICE_OUTPUT.of(path));
    let cache_read = reader.find(&keys::PRICE_CACHE_READ.of(path));
    let reasoning = reader.find(&keys::PRICE_REASONING.of(path));
    let (input, output) = (input?, output?);
    Some(Price {
        model: model?,
        currency: currency?,
        valid_from,
        input,
        output,
        cache_read: cache_read.unwrap_or(input),
        reasoning: reasoning.unwrap_or(output),
    })
}
