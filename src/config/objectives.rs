//! Configuration of objectives other than the mean of a measure: latency, errors, cost and traffic.
//!
//! An element of `targets` names a measure, or one of the quantities read here.

use super::judging::finite;
use super::reader::Reader;
use rankgauge_core::engine::settings::{
    MeanObjective, MeanQuantity, Objective, Quantity, Settings,
};
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

/// Objective with one target, as read from an element of `targets`.
struct Stated {
    quantity: Quantity,
    name: String,
    /// Key of the target, and the target.
    target: Option<(String, f64)>,
}

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
        let Some(stated) = stated(reader, path, settings) else {
            continue;
        };
        let tier = reader.scalar(&format!("{path}.tier"));
        let tier = tier.unwrap_or_else(|| DEFAULT_TIER.to_owned());
        let known = objectives.iter().position(|it| it.name == stated.name);
        let place = known.unwrap_or(objectives.len());
        if known.is_none() {
            objectives.push(Objective {
                name: stated.name,
                quantity: stated.quantity.clone(),
                tiers: Vec::new(),
            });
        }
        let objective = &mut objectives[place];
        match stated.target {
            Some((_, target)) if objective.tiers.iter().all(|(known, _)| *known != tier) => {
                objective.tiers.push((tier, target));
            }
            None if objective.quantity == stated.quantity && objective.tiers.is_empty() => {}
            Some(_) | None => {
                let text = format!("{} has two targets of the tier {tier}", objective.name);
                reader.problem(path, text);
            }
        }
    }
    objectives
}

/// Objectives that are tested as means.
pub(super) fn means(objectives: &[Objective]) -> Vec<MeanObjective> {
    let means = objectives.iter().filter_map(|objective| {
        let Quantity::Mean(quantity) = &objective.quantity else {
            return None;
        };
        let target = objective.target()?;
        Some(MeanObjective {
            name: format!("{} {target}", objective.name).into(),
            quantity: quantity.clone(),
            target,
        })
    });
    means.collect()
}

/// Reads the objective at `path`. Every key is requested, because the list of known keys consists of
/// the requested ones.
fn stated(reader: &mut Reader, path: &str, settings: &Settings) -> Option<Stated> {
    let written: Vec<&str> = KEYS
        .into_iter()
        .filter(|key| reader.is_written(&format!("{path}.{key}")))
        .collect();
    let found = [
        latency(reader, path, settings),
        rate(reader, path, "error_rate", Quantity::ErrorRate),
        rate(reader, path, "zero_result_rate", Quantity::ZeroResultRate),
        cost(reader, path, settings),
        traffic_share(reader, path),
        throughput(reader, path),
    ];
    let has_measure = reader.is_written(&format!("{path}.measure"));
    match written[..] {
        [one] if !has_measure => {
            let zero_results = Measure::User(UserMeasure::ZeroResult);
            if one == "zero_result_rate" && !settings.measures.contains(&zero_results) {
                reader.problem(
                    &format!("{path}.{one}"),
                    "needs the measure ZeroResult; add it to measures",
                );
            }
        }
        [one, ..] if has_measure => {
            reader.problem(path, format!("has measure and {one}; write one of them"));
            return None;
        }
        [one, other, ..] => {
            reader.problem(path, format!("has {one} and {other}; write one of them"));
            return None;
        }
        [] | [_] => return None,
    }
    found.into_iter().flatten().next()
}

/// Reads a target: the value of the key itself, or of `target` below it.
fn target(
    reader: &mut Reader,
    path: &str,
    key: &str,
    is_valid: impl Fn(f64) -> bool,
    expected: &str,
) -> Option<(String, f64)> {
    let whole = format!("{path}.{key}");
    let has_parts = ["latency", "cost_per_query"].contains(&key);
    let is_nested = reader.is_section(&whole) || (has_parts && !reader.is_written(&whole));
    let place = if is_nested {
        format!("{whole}.target")
    } else {
        whole.clone()
    };
    let is_wanted = reader.is_written(&whole);
    let number = reader.parsed(&place, |text| {
        finite(text)
            .filter(|number| is_valid(*number))
            .ok_or_else(|| format!("is not {expected}"))
    });
    if is_wanted && place != whole && !reader.is_written(&place) {
        reader.problem(&place, "is missing");
    }
    number.map(|number| (place, number))
}

fn latency(reader: &mut Reader, path: &str, settings: &Settings) -> Option<Stated> {
    let stage = reader.scalar(&format!("{path}.latency.stage"));
    let stage = stage.unwrap_or_else(|| "all".to_owned());
    let quantile = reader.parsed(&format!("{path}.latency.quantile"), |text| {
        finite(text)
            .filter(|quantile| *quantile > 0.0 && *quantile < 1.0)
            .ok_or("is not a quantile between 0 and 1, as 0.95; leave it out for the mean")
    });
    let expected = "a number of seconds above 0, as 0.5";
    let (key, seconds) = target(reader, path, "latency", |it| it > 0.0, expected)?;
    let Some(quantile) = quantile else {
        return Some(Stated {
            name: format!("latency {stage} mean"),
            quantity: Quantity::Mean(MeanQuantity::Latency(stage)),
            target: Some((key, seconds)),
        });
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
    Some(Stated {
        name: format!("latency {stage} p{percentile}"),
        quantity: Quantity::LatencyQuantile { stage, quantile },
        target: Some((key, seconds)),
    })
}

fn rate(reader: &mut Reader, path: &str, key: &str, quantity: Quantity) -> Option<Stated> {
    let expected = "a share above 0 and below 1, as 0.01";
    let target = target(reader, path, key, |it| it > 0.0 && it < 1.0, expected)?;
    Some(Stated {
        name: key.to_owned(),
        quantity,
        target: Some(target),
    })
}

fn cost(reader: &mut Reader, path: &str, settings: &Settings) -> Option<Stated> {
    let key = format!("{path}.cost_per_query");
    let stated = reader.scalar(&format!("{key}.currency"));
    let expected = "an amount above 0 in units of the currency, as 0.003";
    let target = target(reader, path, "cost_per_query", |it| it > 0.0, expected)?;
    let mut known: Vec<&str> = settings.prices.currencies().collect();
    known.sort_unstable();
    known.dedup();
    let currency = match (stated, &known[..]) {
        (Some(currency), _) => currency,
        (None, [only]) => (*only).to_owned(),
        (None, _) => {
            reader.problem(
                &key,
                "has no currency; write {currency: USD, target: 0.003}",
            );
            return None;
        }
    };
    Some(Stated {
        name: format!("cost_per_query {currency}"),
        quantity: Quantity::Mean(MeanQuantity::Cost(currency)),
        target: Some(target),
    })
}

fn traffic_share(reader: &mut Reader, path: &str) -> Option<Stated> {
    let key = format!("{path}.traffic_share");
    let variant = reader.scalar(&format!("{key}.variant"));
    let [min, max] = ["min", "max"].map(|bound| {
        reader.parsed(&format!("{key}.{bound}"), |text| {
            finite(text)
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or("is not a share from 0 to 1")
        })
    });
    if !reader.is_written(&key) {
        return None;
    }
    let Some(variant) = variant else {
        reader.problem(
            &key,
            "has no variant; write {variant: V5, min: 0.1, max: 0.3}",
        );
        return None;
    };
    if min.is_none() && max.is_none() {
        reader.problem(&key, "needs min or max, a share from 0 to 1");
    } else if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        reader.problem(&key, format!("min ({min}) is above max ({max})"));
    }
    Some(Stated {
        name: format!("traffic_share {variant}"),
        quantity: Quantity::TrafficShare { variant, min, max },
        target: None,
    })
}

fn throughput(reader: &mut Reader, path: &str) -> Option<Stated> {
    let expected = "a number of searches per second above 0, as 10";
    let target = target(reader, path, "throughput", |it| it > 0.0, expected)?;
    Some(Stated {
        name: "throughput".to_owned(),
        quantity: Quantity::Throughput,
        target: Some(target),
    })
}
