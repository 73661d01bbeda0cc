//! Configuration of the engine: time, windows, latency buckets, prices, limits.

use std::ops::RangeInclusive;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::duration;
use super::feedback;
use super::judging::{self, finite};
use super::reader::Reader;
use rankgauge_core::engine::join;
use rankgauge_core::engine::money::{Money, Price, PriceTable};
use rankgauge_core::engine::settings::{Detection, SYNTHETIC, SeriesLimits, Settings, WindowSpec};
use rankgauge_core::event::Limits;
use rankgauge_core::measure::{Measure, UserMeasure};
use rankgauge_core::time::EventTime;

/// Maximum number of rolling windows; each one multiplies the number of exposed scores.
const MAX_WINDOWS: usize = 8;

/// Maximum number of buckets of the latency histogram; each one is a series per stage and variant.
const MAX_BUCKETS: usize = 50;

const DAY: Duration = Duration::from_hours(24);
const MONTH: Duration = Duration::from_hours(31 * 24);
const MILLISECOND: Duration = Duration::from_millis(1);

pub(super) fn read(reader: &mut Reader) -> Settings {
    let measures = judging::measures(reader);
    let mut slices = judging::slices(reader);
    let experiments = feedback::experiments(reader, &mut slices, &measures);
    // Synthetic searches are always a slice. Without any, it has no series.
    if !slices.iter().any(|slice| slice == SYNTHETIC) {
        slices.push(SYNTHETIC.to_owned());
    }
    let weighing = feedback::weighing(reader);
    let settings = Settings {
        slices,
        judging: judging::rules(reader, &measures),
        measures,
        windows: windows(reader),
        out_of_orderness: span(
            reader,
            OUT_OF_ORDERNESS,
            Duration::from_secs(30),
            Duration::ZERO,
        ),
        feedback_window: span(
            reader,
            FEEDBACK_WINDOW,
            Duration::from_mins(10),
            MILLISECOND,
        ),
        idle_timeout: span(
            reader,
            "engine.idle_timeout",
            Duration::from_mins(1),
            MILLISECOND,
        ),
        max_future_skew: span(
            reader,
            "engine.max_future_skew",
            Duration::from_mins(5),
            Duration::ZERO,
        ),
        memory: memory(reader),
        join_limits: join_limits(reader),
        latency_buckets: latency_buckets(reader),
        prices: PriceTable::new(prices(reader)),
        click_weights: weighing.click_weights,
        expected_clicks: weighing.expected_clicks,
        min_samples: weighing.min_samples,
        experiments,
        // Read later, because it depends on the targets.
        detection: Detection::default(),
        objectives: Vec::new(),
        series_limits: SeriesLimits {
            series_per_family: reader.whole("limits.series_per_family", 10_000, 1..=10_000_000),
            values_per_label: reader.whole("limits.values_per_label", 200, 1..=1_000_000),
        },
        record_limits: record_limits(reader),
    };
    check(reader, &settings);
    settings
}

const OUT_OF_ORDERNESS: &str = "engine.out_of_orderness";
const FEEDBACK_WINDOW: &str = "engine.feedback_window";

/// Reads a duration between `min` and a day.
fn span(reader: &mut Reader, path: &str, default: Duration, min: Duration) -> Duration {
    reader.duration(path, default, &(min..=DAY))
}

/// Checks constraints between values.
fn check(reader: &mut Reader, settings: &Settings) {
    if settings.feedback_window <= settings.out_of_orderness {
        reader.conflict(
            &[FEEDBACK_WINDOW, OUT_OF_ORDERNESS],
            format!(
                "engine.feedback_window ({}) must be longer than engine.out_of_orderness ({}): \
                 otherwise feedback that is in order is late",
                duration::format(settings.feedback_window),
                duration::format(settings.out_of_orderness)
            ),
        );
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
                duration::format(settings.feedback_window)
            );
            reader.conflict(&["measures", FEEDBACK_WINDOW], text);
        }
        if *user_measure == UserMeasure::WeightedClicks && settings.click_weights.is_empty() {
            // Without them the measure would silently have no score.
            let text = format!("{measure} needs feedback.propensities");
            reader.conflict(&["measures", "feedback.propensities"], text);
        }
    }
    let scores = settings
        .measures
        .len()
        .saturating_mul(settings.windows.len());
    let max = settings.series_limits.series_per_family;
    if scores > max {
        reader.conflict(
            &["limits.series_per_family", "windows", "measures"],
            format!(
                "{} measures over {} windows are {scores} series for every variant, more than \
                 limits.series_per_family ({max})",
                settings.measures.len(),
                settings.windows.len()
            ),
        );
    }
}

fn windows(reader: &mut Reader) -> Vec<WindowSpec> {
    let path = "windows";
    let elements = reader.list(path, &["1m", "5m", "1h", "24h"]);
    let allowed: RangeInclusive<Duration> = Duration::from_secs(1)..=MONTH;
    let count = elements.len();
    let mut windows: Vec<WindowSpec> = Vec::with_capacity(count);
    for (element, name) in elements {
        let Some(length) = duration::parse(&name) else {
            reader.problem(&element, format!("\"{name}\" {}", duration::EXPECTED));
            continue;
        };
        if !allowed.contains(&length) {
            reader.problem(&element, format!("\"{name}\" is not between 1s and 744h"));
        } else if windows.last().is_some_and(|last| last.length >= length) {
            reader.problem(
                &element,
                format!(
                    "\"{name}\" is not longer than the window before; write the shortest first"
                ),
            );
        } else {
            windows.push(WindowSpec { name, length });
        }
    }
    if count == 0 || count > MAX_WINDOWS {
        let text = format!("has {count} windows; between 1 and {MAX_WINDOWS} are possible");
        reader.problem(path, text);
    }
    windows
}

fn latency_buckets(reader: &mut Reader) -> Vec<f64> {
    let path = "latency.buckets";
    let default = [
        "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10",
    ];
    let elements = reader.list(path, &default);
    let count = elements.len();
    let mut buckets: Vec<f64> = Vec::with_capacity(count);
    for (element, text) in elements {
        match finite(&text) {
            Some(bound) if bound > 0.0 && buckets.last().is_none_or(|last| *last < bound) => {
                buckets.push(bound);
            }
            Some(bound) if bound > 0.0 => reader.problem(
                &element,
                format!("\"{text}\" is not above the bucket before; write the smallest first"),
            ),
            _ => reader.problem(
                &element,
                format!("\"{text}\" is not a number of seconds above 0, as 0.25"),
            ),
        }
    }
    if count == 0 || count > MAX_BUCKETS {
        let text = format!("has {count} buckets; between 1 and {MAX_BUCKETS} are possible");
        reader.problem(path, text);
    }
    buckets
}

fn record_limits(reader: &mut Reader) -> Limits {
    Limits {
        // Kafka cannot hold a record of more than a gibibyte.
        record_bytes: reader.whole("limits.record_bytes", 1 << 20, 1 << 10..=1 << 30),
        results_per_search: reader.whole("limits.results_per_search", 10_000, 1..=1_000_000),
    }
}

/// Memory of one worker: 1 MiB to 64 GiB.
fn memory(reader: &mut Reader) -> usize {
    reader.bytes("engine.memory", 256 << 20, 1 << 20..=64 << 30)
}

fn join_limits(reader: &mut Reader) -> join::Limits {
    let mut limit = |name: &str, default| {
        let path = format!("limits.{name}");
        reader.whole(&path, default, 1..=1_000_000)
    };
    join::Limits {
        feedback_per_search: limit("feedback_per_search", 1_000),
        searches_per_session: limit("searches_per_session", 1_000),
        interactions_per_session: limit("interactions_per_session", 10_000),
    }
}

fn prices(reader: &mut Reader) -> Vec<Price> {
    let mut prices: Vec<Price> = Vec::new();
    for path in reader.sections("prices") {
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
    let key = |name: &str| format!("{path}.{name}");
    let model_key = key("model");
    let model = reader
        .required(&model_key)
        .filter(|model| !model.is_empty());
    if model.is_none() && reader.is_written(&model_key) {
        reader.problem(&model_key, "is empty; write it as it appears in events");
    }
    let currency_key = key("currency");
    let currency = reader.required(&currency_key).and_then(|currency| {
        if currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Some(currency);
        }
        let text = format!("\"{currency}\" is not a currency; write its three letters, as USD");
        reader.problem(&currency_key, text);
        None
    });
    let valid_from = reader.parsed(&key("valid_from"), moment);
    let [input, output] = ["input", "output"].map(|name| {
        let text = reader.required(&key(name));
        text.and_then(|_| reader.parsed(&key(name), amount))
    });
    let [cache_read, reasoning] =
        ["cache_read", "reasoning"].map(|name| reader.parsed(&key(name), amount));
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

fn amount(text: &str) -> Result<Money, &'static str> {
    Money::from_decimal(text).ok_or(
        "is not a price per million tokens; write a plain decimal of at most nine places, as 0.15",
    )
}

/// Parses a date, which stands for midnight UTC, or an RFC 3339 time.
fn moment(text: &str) -> Result<EventTime, &'static str> {
    // The date parser also accepts a time without an offset and would drop the time.
    let timestamp = if text.len() == "2025-01-31".len() {
        let date: Option<Date> = text.parse().ok();
        date.and_then(|date| date.to_zoned(TimeZone::UTC).ok())
            .map(|zoned| zoned.timestamp())
    } else {
        text.parse::<Timestamp>().ok()
    };
    timestamp
        .map(|timestamp| EventTime(timestamp.as_millisecond()))
        .ok_or("is not a date (2025-01-31) or an RFC 3339 time (2025-01-31T09:00:00+09:00)")
}
