//! Rank-biased overlap of the results of two runs, independent of their relevance (Webber, Moffat and Zobel 2010).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::evaluate::RunEvaluation;
use rankgauge_core::number::real_length;

/// Overlap of the results of two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overlap {
    /// Name of the first run.
    pub a: String,
    /// Name of the second run.
    pub b: String,
    /// Probability of continuing to the next rank.
    pub p: f64,
    /// Mean over the queries that both runs answer; `None` without one.
    pub mean: Option<f64>,
    /// Overlap of each of these queries: 1 for equal lists, 0 for lists without a common document.
    pub queries: BTreeMap<String, f64>,
}

/// Returns the overlap of each run with the first, by the documents of their queries. `names` are the names of
/// the runs.
pub fn overlaps(runs: &[RunEvaluation], names: &[String], p: f64) -> Vec<Overlap> {
    let lists: Vec<BTreeMap<&str, &[String]>> = runs.iter().map(lists).collect();
    let Some((first, others)) = lists.split_first() else {
        return Vec::new();
    };
    let overlap = |(other, name): (&BTreeMap<&str, &[String]>, &String)| {
        let common = first.iter().filter_map(|(query, one)| {
            let other = other.get(query)?;
            Some(((*query).to_owned(), rank_biased_overlap(one, other, p)))
        });
        let queries: BTreeMap<String, f64> = common.collect();
        let sum: f64 = queries.values().sum();
        Overlap {
            a: names.first().cloned().unwrap_or_default(),
            b: name.clone(),
            p,
            mean: (!queries.is_empty()).then(|| sum / real_length(queries.len())),
            queries,
        }
    };
    others
        .iter()
        .zip(names.iter().skip(1))
        .map(overlap)
        .collect()
}

/// Documents of the answered queries.
fn lists(run: &RunEvaluation) -> BTreeMap<&str, &[String]> {
    let answered = run.queries.iter().filter(|query| query.answered);
    let lists = answered.filter_map(|query| {
        let documents = query.documents.as_ref()?;
        Some((query.key.as_str(), documents.retrieved.as_slice()))
    });
    lists.collect()
}

/// Extrapolated rank-biased overlap, which is exact for lists of any length (equation 32).
fn rank_biased_overlap(a: &[String], b: &[String], p: f64) -> f64 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.is_empty() {
        return if long.is_empty() { 1.0 } else { 0.0 };
    }
    let (mut seen_short, mut seen_long) = (BTreeSet::new(), BTreeSet::new());
    let (mut common, mut at_short) = (0_usize, 0_usize);
    let (mut weight, mut sum) = (1.0, 0.0);
    let length = real_length(short.len());
    for (index, document) in long.iter().enumerate() {
        let depth = real_length(index + 1);
        weight *= p;
        let other = short.get(index);
        if other == Some(document) {
            if seen_long.insert(document) && seen_short.insert(document) {
                common += 1;
            }
        } else {
            if seen_long.insert(document) && seen_short.contains(document) {
                common += 1;
            }
            if let Some(other) = other
                && seen_short.insert(other)
                && seen_long.contains(other)
            {
                common += 1;
            }
        }
        if index < short.len() {
            at_short = common;
        }
        let beyond = (depth - length).max(0.0);
        sum += (real_length(common) + real_length(at_short) * beyond / length) / depth * weight;
    }
    let rest =
        real_length(common - at_short) / real_length(long.len()) + real_length(at_short) / length;
    ((1.0 - p) / p * sum + rest * weight).clamp(0.0, 1.0)
}
