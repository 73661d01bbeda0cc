//! Query labels for slicing: from the gold set, else from the events of the runs.

use super::Labels;
use crate::evaluate::{label_of, query_of};
use crate::run::{Results, Run};
use rankgauge_core::gold::GoldSet;

/// Returns the labels of all gold queries and the values of `by` as `evaluate` determines them:
/// from the gold query, else from the search. A slice contains the same queries in every run. A
/// value from the runs therefore counts only if all runs that have one agree.
pub fn labels(gold: &GoldSet, runs: &[Run<'_>], by: &[String]) -> Labels {
    let queries = gold.queries().iter();
    let mut labels: Labels = queries
        .map(|query| (query.key.clone(), query.labels.clone()))
        .collect();
    for label in by {
        let mut found: Vec<Vec<String>> = vec![Vec::new(); gold.queries().len()];
        for answer in runs.iter().flat_map(|run| &run.answers) {
            let Results::Search(search) = &answer.results else {
                continue;
            };
            let Some(index) = query_of(gold, answer) else {
                continue;
            };
            let value = label_of(label, gold.query(index), Some(search));
            found[index.position()].extend(value);
        }
        for (query, mut values) in gold.queries().iter().zip(found) {
            values.dedup();
            if let [value] = values.as_slice() {
                let known = labels.entry(query.key.clone()).or_default();
                known.insert(label.clone(), value.clone());
            }
        }
    }
    labels
}
