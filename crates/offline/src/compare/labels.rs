//! The labels by which queries are sliced: the gold set's, else what the runs' events say.

use super::Labels;
use super::mistakes::query_of;
use crate::evaluate::label_of;
use crate::run::{Results, Run};
use rankgauge_core::gold::GoldSet;

/// The labels of all gold queries, and the values of `by` as `evaluate` finds them: the gold
/// query's, else the search's. A slice has the same queries in every run, so that what the runs
/// say of a query counts where all that say something say the same.
pub fn labels(gold: &GoldSet, runs: &[Run<'_>], by: &[String]) -> Labels {
    let queries = gold.queries().iter();
    let mut labels: Labels = queries
        .map(|query| (query.key.clone(), query.labels.clone()))
        .collect();
    for label in by {
        let mut said: Vec<Vec<String>> = vec![Vec::new(); gold.queries().len()];
        for answer in runs.iter().flat_map(|run| &run.answers) {
            let Results::Search(search) = &answer.results else {
                continue;
            };
            let Some(index) = query_of(gold, answer) else {
                continue;
            };
            let value = label_of(label, gold.query(index), Some(search));
            said[index.position()].extend(value);
        }
        for (query, mut values) in gold.queries().iter().zip(said) {
            values.dedup();
            if let [value] = values.as_slice() {
                let known = labels.entry(query.key.clone()).or_default();
                known.insert(label.clone(), value.clone());
            }
        }
    }
    labels
}
