//! Configuration of objectives other than the mean of a measure: latency, errors, cost and traffic.
//!
//! An element of `targets` names a measure, or one of the quantities read here.

use super::key::{Key, Number};
use super::keys;
use super::reader::Reader;
use rankgauge_core::engine::settings::{MeanQuantity, Objective, Quantity, Settings};
use rankgauge_core::measure::{Measure, UserMeasure};

/// Keys of the quantities.
const KEYS: [&str; 6] = [
    "latency",
    "error_rate",
    "zero_result_rate",
    "cost_per_query",
    "traffic_share",
    "throughput",
];

/// Tier of a target that states none.
const DEFAULT_TIER: &str = "good";

/// Returns true if the element at `path` is about a quantity, and not about a measure.
pub(super) fn is_objective(reader: &Reader, path: &str) -> bool {
    let mut keys = KEYS.iter();
    !reader.is_written(&format!("{path}.measure"))
        && keys.any(|key| reader.is_written(&format!("{path}.{key}")))
}

/// Reads the objectives among the targets.
pub(super) fn read(
    reader: &mut Reader,
    elements: &[String],
    settings: &Settings,
) -> Vec<Objective> {
    let mut objectives: Vec<Objective> = Vec::new();
    for path in elements {
        let Some((name, quantity, target)) = stated(reader, path, settings) else {
            continue;
        };
        let tier = reader.find(&keys::TARGET_TIER.of(path));
        let tier = tier.unwrap_or_else(|| DEFAULT_TIER.to_owned());
        let known = objectives.iter().position(|it| it.name == name);
        let place = known.unwrap_or(objectives.len());
        if known.is_none() {
            objectives.push(Objective {
                name,
                quantity: quantity.clone(),
                tiers: Vec::new(),
            });
        }
        let objective = &mut objectives[place];
        match target {
            Some(target) if objective.tiers.iter().all(|(known, _)| *known != tier) => {
                objective.tiers.push((tier, target));
            }
            None if objective.quantity == quantity && objective.tiers.is_empty() => {}
            Some(_) | None => {
                let text = format!("{} has two targets of the tier {tier}", objective.name);
                reader.problem(path, text);
            }
        }
    }
    objectives
}

/// Name of an objective, its quantity and its target, as read from an element of `targets`.
type Stated = (String, Quantity, Option<f64>);

/// Reads the objective at `path`.
fn stated(reader: &mut Reader, path: &str, settings: &Settings) -> Option<Stated> {
    let is_written = |key: &&str| reader.is_written(&format!("{path}.{key}"));
    let mut written = KEYS.into_iter().filter(is_written);
    let one = written.next()?;
    let other = if is_written(&"measure") {
        Some("measure")
    } else {
        written.next()
    };
    if let Some(other) = other {
        let (first, second) = if other == "measure" {
            (other, one)
        } else {
            (one, other)
        };
        reader.problem(path, format!("has {first} and {second}; write one of them"));
        return None;
    }
    match one {
        "latency" => latency(reader, path, settings),
        "error_rate" => {
            let keys = [&keys::ERROR_RATE, &keys::ERROR_RATE_TARGET];
            let rate = target(reader, path, keys)?;
            Some((one.to_owned(), Quantity::ErrorRate, Some(rate.1)))
        }
        "zero_result_rate" => {
            if !settings
                .measures
                .contains(&Measure::User(UserMeasure::ZeroResult))
            {
                let text = "needs the measure ZeroResult; add it to measures";
                reader.problem(&keys::ZERO_RESULT_RATE.of(path).path, text);
            }
            let keys = [&keys::ZERO_RESULT_RATE, &keys::ZERO_RESULT_RATE_TARGET];
            let rate = target(reader, path, keys)?;
            Some((one.to_owned(), Quantity::ZeroResultRate, Some(rate.1)))
        }
        "cost_per_query" => cost(reader, path, settings),
        "traffic_share" => traffic_share(reader, path),
        _ => {
            let keys = [&keys::THROUGHPUT, &keys::THROUGHPUT_TARGET];
            let searches = target(reader, path, keys)?;
            Some((one.to_owned(), Quantity::Throughput, Some(searches.1)))
        }
    }
}

/// Reads a target: the value of the first key itself, or of the second one within it. Returns it
/// with its path.
fn target(
    reader: &mut Reader,
    path: &str,
    [short, within]: [&'static Key<Number>; 2],
) -> Option<(String, f64)> {
    let (short, within) = (short.of(path), within.of(path));
    let (key, number) = if reader.is_section(&short.path) {
        let number = reader.required(&within);
        (within, number)
    } else {
        let number = reader.find(&short);
        (short, number)
    };
    Some((key.path.into_owned(), number?))
}

fn latency(reader: &mut Reader, path: &str, settings: &Settings) -> Option<Stated> {
    let stage = reader.get(&keys::LATENCY_STAGE.of(path));
    let quantile = reader.find(&keys::LATENCY_QUANTILE.of(path));
    let (key, seconds) = target(reader, path, [&keys::LATENCY, &keys::LATENCY_TARGET])?;
    let Some(quantile) = quantile else {
        let name = format!("latency {stage} mean");
        let quantity = Quantity::Mean(MeanQuantity::Latency(stage));
        return Some((name, quantity, Some(seconds)));
    };
    let is_bound = |bound: &f64| (bound - seconds).abs() <= f64::EPSILON * seconds;
    if !settings.latency_buckets.iter().any(is_bound) {
        reader.problem(
            &key,
            format!(
                "{seconds} s is not one of latency.buckets, so that the share of searches within it \
                 is unknown; add {seconds} to latency.buckets"
            ),
        );
    }
    let percentile = format!("{:.3}", quantile * 100.0);
    let percentile = percentile.trim_end_matches('0').trim_end_matches('.');
    let name = format!("latency {stage} p{percentile}");
    let quantity = Quantity::LatencyQuantile { stage, quantile };
    Some((name, quantity, Some(seconds)))
}

fn cost(reader: &mut Reader, path: &str, settings: &Settings) -> Option<Stated> {
    let stated = reader.find(&keys::COST_CURRENCY.of(path));
    let target = target(reader, path, [&keys::COST_PER_QUERY, &keys::COST_TARGET])?;
    let mut known: Vec<&str> = settings.prices.currencies().collect();
    known.sort_unstable();
    known.dedup();
    let currency = match (stated, &known[..]) {
        (Some(currency), _) => currency,
        (None, [only]) => (*only).to_owned(),
        (None, _) => {
            let text = "has no currency; write {currency: USD, target: 0.003}";
            reader.problem(&keys::COST_PER_QUERY.of(path).path, text);
            return None;
        }
    };
    let name = format!("cost_per_query {currency}");
    let quantity = Quantity::Mean(MeanQuantity::Cost(currency));
    Some((name, quantity, Some(target.1)))
}

fn traffic_share(reader: &mut Reader, path: &str) -> Option<Stated> {
    let key = keys::TRAFFIC_SHARE.of(path).path;
    let min = reader.find(&keys::SHARE_MIN.of(path));
    let max = reader.find(&keys::SHARE_MAX.of(path));
    if !reader.is_section(&key) {
        return None;
    }
    let Some(variant) = reader.find(&keys::SHARE_VARIANT.of(path)) else {
        let text = "has no variant; write {variant: V5, min: 0.1, max: 0.3}";
        reader.problem(&key, text);
        return None;
    };
    if min.is_none() && max.is_none() {
        reader.problem(&key, "needs min or max, a share from 0 to 1");
    } else if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        reader.problem(&key, format!("min ({min}) is above max ({max})"));
    }
    let name = format!("traffic_share {variant}");
    Some((name, Quantity::TrafficShare { variant, min, max }, None))
}
