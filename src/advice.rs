//! Advice on detection for a load: the drops that are found with the settings, the time until they are
//! found, the cost of series, slices and seasons, and settings for the load.
//!
//! The times follow from the growth of the evidence with the best bet. They are held against the
//! simulated delays of `backtest --simulate --table local` and `--table user`.

use crate::capacity::Load;
use crate::config::Config;
use rankgauge_core::detection::SeriesRules;
use rankgauge_core::number::{real, real_length};

const DAY: f64 = 86_400.0;
const MINUTES_PER_DAY: f64 = 1_440.0;

/// Drops of a mean for which times are stated.
const DROPS: [f64; 4] = [0.02, 0.05, 0.1, 0.2];

/// Usual standard deviation of the scores of a query, and of a user measure that is 0 or 1.
const DEVIATION: f64 = 0.12;
const BINARY_DEVIATION: f64 = 0.45;

/// Evidence that the mixture of bets costs.
const MIXTURE: f64 = 2.0;

/// Days of baselines for which times are stated.
const BASELINE_DAYS: f64 = 14.0;

/// Days after which a drop counts as not found.
const MAX_DAYS: f64 = 60.0;

/// Searches per second and variant below which traffic is low, and from which it is high.
const LOW_RATE: f64 = 0.02;
const HIGH_RATE: f64 = 10.0;

/// Searches of a variant that the drop test compares.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Compared {
    per_day: f64,
    /// Scores in the baseline of a query.
    scores: f64,
}

impl Compared {
    /// Compared searches of `per_day` searches, with a number of gold queries that are equally
    /// frequent. A query counts once in the repeat window, which has `window` minutes.
    fn of(per_day: f64, queries: usize, window: f64) -> Self {
        let queries = real_length(queries.max(1));
        let of_query = (per_day / queries).min(MINUTES_PER_DAY / window);
        Self {
            per_day: of_query * queries,
            scores: (of_query * BASELINE_DAYS).clamp(1.0, f64::from(SeriesRules::BASELINE_SCORES)),
        }
    }

    /// Days until a drop of `drop` is found. `None` if it is not found.
    fn days(self, drop: f64, tolerance: f64, threshold: f64, deviation: f64) -> Option<f64> {
        let trust = self.scores / (self.scores + 1.0);
        let variance = deviation * deviation * (1.0 + self.scores.recip());
        let excess = drop - tolerance;
        if excess <= 1e-9 {
            return None;
        }
        let stake = (excess / variance).min(SeriesRules::MAX_STAKE * trust);
        let growth = stake * excess - stake * stake * variance / 2.0;
        let days = (threshold + MIXTURE) / growth / self.per_day;
        Some(days).filter(|days| *days <= MAX_DAYS)
    }
}

/// Lines on the drops that are found with the settings and the load. Empty without watched measures.
pub fn lines(config: &Config, gold_queries: Option<usize>, load: &Load) -> Vec<String> {
    let detection = &config.engine.detection;
    let Some(first) = detection.measures.first() else {
        return Vec::new();
    };
    let warm_up_tolerance = |is_seasonal| {
        let rules = SeriesRules {
            is_seasonal,
            ..detection.series_rules(first)
        };
        rules.least_tolerance(true)
    };
    let window = u32::try_from(detection.burst.repeat_window()).unwrap_or(u32::MAX);
    let window = f64::from(window);
    let per_day = load.searches_per_second * DAY / real_length(load.variants.max(1));
    let threshold = detection.drop_threshold;
    let tolerance = detection.tolerance;
    let mut lines = Vec::new();
    if let Some(queries) = gold_queries.filter(|queries| *queries > 0) {
        let compared = Compared::of(per_day, queries, window);
        let times = |compared: Compared, tolerance, threshold| {
            text(|drop| compared.days(drop, tolerance, threshold, DEVIATION))
        };
        lines.push(format!(
            "drops of {} of all queries are found after about {}",
            DROPS.map(|drop| drop.to_string()).join(" / "),
            times(compared, tolerance, threshold)
        ));
        lines.push(format!(
            "({} compared searches a day and variant of {queries} gold queries, whose scores vary by {DEVIATION})",
            rounded(compared.per_day)
        ));
        lines.push(format!(
            "in the warm-up, the first {} days of a series: {}",
            SeriesRules::WARM_UP_DAYS,
            times(compared, warm_up_tolerance(false), threshold)
        ));
        let one = threshold - real(config.false_alarms.series).ln();
        lines.push(format!(
            "series: {} cost {:.1} of the evidence of {threshold:.1}; with one series: {}",
            config.false_alarms.series,
            threshold - one,
            times(compared, tolerance, one)
        ));
        if load.slice_values > 1 {
            let part = per_day / real_length(load.slice_values);
            lines.push(format!(
                "slices: each multiplies the series by the number of its values; in a value with 1 of {} searches: {}",
                load.slice_values,
                times(Compared::of(part, queries, window), tolerance, threshold)
            ));
        }
    }
    let is_seasonal = detection.measures.iter().any(|it| it.is_seasonal);
    let sessions = Compared {
        per_day,
        scores: f64::from(SeriesRules::BASELINE_SCORES),
    };
    let seasonal =
        |tolerance| text(|drop| sessions.days(drop, tolerance, threshold, BINARY_DEVIATION));
    lines.push(format!(
        "seasonal: {}a value of 0 or 1 for each search: {}; in the first {} days: {}, and 3 to 6 kB a series",
        if is_seasonal { "" } else { "(no measure) " },
        seasonal(tolerance),
        SeriesRules::SEASONAL_WARM_UP_DAYS,
        seasonal(warm_up_tolerance(true))
    ));
    lines.push(proposal(config, load));
    lines
}

/// Times until drops are found.
fn text(days: impl Fn(f64) -> Option<f64>) -> String {
    DROPS
        .map(|drop| days(drop).map_or("never".to_owned(), time))
        .join(" / ")
}

/// Time in the largest unit of which there is at least one.
fn time(days: f64) -> String {
    let units = [(1.0, "d"), (24.0, "h"), (MINUTES_PER_DAY, "min")];
    let unit = units.into_iter().find(|(per_day, _)| days * per_day >= 1.0);
    match unit {
        Some((per_day, unit)) => format!("{} {unit}", rounded(days * per_day)),
        None => "1 min".to_owned(),
    }
}

/// Number with two digits.
fn rounded(number: f64) -> String {
    if number < 9.95 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    }
}

/// Settings for the load, as a line of the configuration.
fn proposal(config: &Config, load: &Load) -> String {
    let engine = &config.engine;
    let watched = &engine.detection.measures;
    let rate = load.searches_per_second / real_length(load.variants.max(1));
    let (most, has_slices, reason) = match rate {
        rate if rate < LOW_RATE => (
            1,
            false,
            "few searches: one measure, no slices, four alarms a quarter",
        ),
        rate if rate < HIGH_RATE => (
            3,
            true,
            "up to three measures, and slices with frequent values",
        ),
        _ => (
            watched.len(),
            true,
            "many searches: rarer false alarms cost seconds",
        ),
    };
    let names = watched
        .iter()
        .take(most)
        .filter_map(|it| engine.measures.get(it.index));
    let names: Vec<String> = names.map(|it| format!("\"{it}\"")).collect();
    let slices: Vec<String> = if has_slices {
        let slices = engine.shown_slices();
        slices.map(|it| format!("\"{it}\"")).collect()
    } else {
        Vec::new()
    };
    let series = names.len() * load.variants.max(1) * (1 + slices.len() * load.slice_values.max(1));
    let rest = match rate {
        rate if rate < LOW_RATE => ", false_alarms: 4, local: false",
        rate if rate < HIGH_RATE => "",
        _ => ", false_alarms: 0.25",
    };
    format!(
        "proposal ({reason}): detection: {{measures: [{}], slices: [{}], series: {series}{rest}}}",
        names.join(", "),
        slices.join(", ")
    )
}
