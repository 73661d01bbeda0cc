//! Slices in which a run scores lower than elsewhere.

use serde::Serialize;

use super::interaction::mean;
use super::labels::Labels;
use rankgauge_core::measure::direction::Direction;

/// Minimum number of queries of a slice, and of the rest.
const MIN_QUERIES: usize = 5;

/// Minimum distance of the means of a slice and the rest.
const MIN_DISTANCE: f64 = 0.05;

/// Label value whose queries score lower than the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HardSlice {
    /// Name of the label: `query_type`.
    pub label: String,
    /// Value of the label: `keyword`.
    pub value: String,
    /// Number of queries with the value.
    pub queries: usize,
    /// Their mean score.
    pub mean: f64,
    /// Mean score of the other queries with the label.
    pub rest: f64,
}

/// Returns the hardest value of each label: the one with the worst mean, if it has at least 5
/// queries, the others together as well, and the means are at least 0.05 apart.
pub(super) fn hard_slices(
    scores: &[(&String, f64)],
    labels: &Labels,
    direction: Direction,
) -> Vec<HardSlice> {
    let names: std::collections::BTreeSet<&String> =
        labels.values().flat_map(|labels| labels.keys()).collect();
    let of_name = |name: &&String| {
        let mut values: std::collections::BTreeMap<&String, Vec<f64>> =
            std::collections::BTreeMap::new();
        for (query, score) in scores {
            let value = labels.get(*query).and_then(|labels| labels.get(*name));
            if let Some(value) = value {
                values.entry(value).or_default().push(*score);
            }
        }
        let hardest = values.iter().filter_map(|(value, own)| {
            let others = values.iter().filter(|(other, _)| *other != value);
            let others: Vec<f64> = others.flat_map(|(_, scores)| scores).copied().collect();
            if own.len() < MIN_QUERIES || others.len() < MIN_QUERIES {
                return None;
            }
            let (own_mean, rest) = (mean(own)?, mean(&others)?);
            let is_worse = direction.better(rest, own_mean);
            (is_worse && (rest - own_mean).abs() >= MIN_DISTANCE).then(|| HardSlice {
                label: (*name).clone(),
                value: (*value).clone(),
                queries: own.len(),
                mean: own_mean,
                rest,
            })
        });
        hardest.max_by(|a, b| (a.rest - a.mean).abs().total_cmp(&(b.rest - b.mean).abs()))
    };
    names.iter().filter_map(of_name).collect()
}
