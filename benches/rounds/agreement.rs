//! Comparison of the values that two programs expose: counts, means, rolling values.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};

use crate::it::harness::sidecar::{Exposed, Exposition};

/// Maximum difference of two means. Scores are from 0 to 1, and the sidecar rounds each to nine
/// decimals.
const TOLERANCE: f64 = 1e-9;
/// Families of counts, which must be equal.
const COUNTS: [&str; 5] = [
    "rankgauge_events_total",
    "rankgauge_events_pending",
    "rankgauge_searches_total",
    "rankgauge_score_count_total",
    "rankgauge_score_samples",
];
const SUM: &str = "rankgauge_score_sum_total";
const COUNT: &str = "rankgauge_score_count_total";
const ROLLING: &str = "rankgauge_score";

/// Value of a sample that is compared.
#[derive(Debug)]
enum Compared {
    Count(String),
    Mean(f64),
}

impl Compared {
    fn agrees_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Count(one), Self::Count(other)) => one == other,
            (Self::Mean(one), Self::Mean(other)) => (one - other).abs() <= TOLERANCE,
            _ => false,
        }
    }
}

/// Compares every count, mean and rolling value. Returns how many agree.
///
/// # Errors
/// At the first value that differs or that only one program has, with its name.
pub(crate) fn check(
    (our_name, ours): (&str, &Exposition),
    (their_name, theirs): (&str, &Exposition),
) -> anyhow::Result<usize> {
    let (ours, theirs) = (compared(ours)?, compared(theirs)?);
    for (name, value) in &ours {
        match theirs.get(name) {
            Some(other) if value.agrees_with(other) => {}
            Some(other) => bail!(
                "the results differ: {name} is {value:?} in {our_name} and {other:?} in {their_name}"
            ),
            None => bail!("the results differ: only {our_name} has {name}, {value:?}"),
        }
    }
    if let Some((name, value)) = theirs.iter().find(|(name, _)| !ours.contains_key(*name)) {
        bail!("the results differ: only {their_name} has {name}, {value:?}");
    }
    Ok(ours.len())
}

/// Compared values by their names.
fn compared(exposition: &Exposition) -> anyhow::Result<BTreeMap<String, Compared>> {
    let mut values = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for sample in exposition.samples.iter().filter(|it| it.name == COUNT) {
        counts.insert(&sample.labels, sample.value);
    }
    for sample in &exposition.samples {
        let value = match sample.name.as_str() {
            SUM => {
                let count = counts.get(&sample.labels);
                let count = count.with_context(|| format!("no count of {}", full_name(sample)))?;
                Compared::Mean(sample.value / count)
            }
            ROLLING => Compared::Mean(sample.value),
            // A count of zero may be absent.
            name if COUNTS.contains(&name) && sample.value > 0.0 => {
                Compared::Count(sample.text.clone())
            }
            _ => continue,
        };
        values.insert(full_name(sample), value);
    }
    Ok(values)
}

/// Name and labels of a sample. Labels without a value are left out, as in Prometheus.
fn full_name(sample: &Exposed) -> String {
    let labels = sample.labels.iter().filter(|(_, value)| !value.is_empty());
    let labels: Vec<String> = labels
        .map(|(label, value)| format!("{label}={value:?}"))
        .collect();
    format!("{}{{{}}}", sample.name, labels.join(","))
}
