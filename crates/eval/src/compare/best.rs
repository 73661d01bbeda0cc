//! Best run over all queries and over the queries that share a label value.
//!
//! Means cover only the queries that every run has a score for. A run does not gain from omitting
//! hard queries.

use std::collections::{BTreeMap, BTreeSet};

use super::error::CompareError;
use super::interaction::mean;
use super::options::Options;
use super::scores::RunScores;
use rankgauge_core::measure::direction::Direction;

/// Tolerance for equal means: rounding can differ by up to this.
const ROUNDING: f64 = 1e-12;

/// Best run of one slice.
#[derive(Clone, Debug, PartialEq)]
pub struct BestOfSlice {
    /// Label, such as `query_type`; `all` for all queries.
    pub slice: String,
    /// Label value, such as `keyword`; empty for all queries.
    pub value: String,
    /// Number of queries of the slice that all runs have.
    pub n: usize,
    /// Results by measure.
    pub measures: Vec<BestMeasure>,
}

/// Best run of one slice by one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct BestMeasure {
    /// Number of queries that every run has a score for.
    pub n: usize,
    /// Mean by run.
    pub means: Vec<Option<f64>>,
    /// Positions of the best runs: several if they tie, none if no mean exists or the measure has
    /// no preferred direction.
    pub best: Vec<usize>,
}

/// Returns the best runs by slice.
pub(super) fn best(
    runs: &[RunScores],
    measures: &[String],
    options: &Options,
) -> Result<Vec<BestOfSlice>, CompareError> {
    let Some((first, others)) = runs.split_first() else {
        return Ok(Vec::new());
    };
    let everywhere = |query: &&String| others.iter().all(|run| run.queries.contains_key(*query));
    let common: Vec<&String> = first.queries.keys().filter(everywhere).collect();
    let mut slices = vec![of_slice("all", "", &common, runs, measures)];
    for label in &options.by {
        let mut values: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
        for query in &common {
            let labels = options.labels.get(*query);
            if let Some(value) = labels.and_then(|labels| labels.get(label)) {
                values.entry(value).or_default().push(query);
            }
        }
        if values.is_empty() {
            let known: BTreeSet<&String> = common
                .iter()
                .filter_map(|query| options.labels.get(*query))
                .flat_map(BTreeMap::keys)
                .collect();
            return Err(CompareError::UnknownLabel {
                name: label.clone(),
                known: known.into_iter().cloned().collect(),
            });
        }
        for (value, queries) in values {
            slices.push(of_slice(label, value, &queries, runs, measures));
        }
    }
    Ok(slices)
}

fn of_slice(
    slice: &str,
    value: &str,
    queries: &[&String],
    runs: &[RunScores],
    measures: &[String],
) -> BestOfSlice {
    let by_measure = measures.iter().enumerate().map(|(position, measure)| {
        let mut scores: Vec<Vec<f64>> = vec![Vec::new(); runs.len()];
        for query in queries {
            let of_all: Option<Vec<f64>> = runs
                .iter()
                .map(|run| *run.queries.get(*query)?.get(position)?)
                .collect();
            for (scores, score) in scores.iter_mut().zip(of_all.into_iter().flatten()) {
                scores.push(score);
            }
        }
        let means: Vec<Option<f64>> = scores.iter().map(|scores| mean(scores)).collect();
        BestMeasure {
            n: scores.first().map_or(0, Vec::len),
            best: best_of(&means, Direction::of(measure)),
            means,
        }
    });
    BestOfSlice {
        slice: slice.to_owned(),
        value: value.to_owned(),
        n: queries.len(),
        measures: by_measure.collect(),
    }
}

/// Positions of the best means.
fn best_of(means: &[Option<f64>], direction: Direction) -> Vec<usize> {
    let sign = match direction {
        Direction::Up => 1.0,
        Direction::Down => -1.0,
        Direction::Neither => return Vec::new(),
    };
    let goodness: Vec<Option<f64>> = means.iter().map(|mean| mean.map(|it| sign * it)).collect();
    let most = goodness
        .iter()
        .flatten()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let ties = ROUNDING * most.abs();
    (0..)
        .zip(goodness)
        .filter(|(_, it)| it.is_some_and(|it| it >= most - ties))
        .map(|(position, _)| position)
        .collect()
}
