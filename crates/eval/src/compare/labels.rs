//! Query labels for slicing: from the gold set, else from the events of the runs.

use std::collections::BTreeMap;

use rankgauge_core::gold::{GoldSet, QueryIndex};

/// Labels of queries: query -> label -> value.
pub type Labels = BTreeMap<String, BTreeMap<String, String>>;

/// Value of a label in a search event.
#[derive(Clone, Debug)]
pub struct SearchLabel {
    /// Gold query of the search.
    pub query: QueryIndex,
    /// Position of the label among those requested.
    pub label: usize,
    /// Value of the label.
    pub value: String,
}

/// Returns the labels of all gold queries and the values of `by` in the searches of the runs, `found`,
/// in the order of the runs. A slice contains the same queries in every run. A value from
/// the runs therefore counts only if all runs that have one agree.
pub fn labels(gold: &GoldSet, by: &[String], found: &[SearchLabel]) -> Labels {
    let queries = gold.queries().iter();
    let mut labels: Labels = queries
        .map(|query| (query.key.clone(), query.labels.clone()))
        .collect();
    for (position, label) in by.iter().enumerate() {
        let mut values: Vec<Vec<&String>> = vec![Vec::new(); gold.queries().len()];
        for found in found.iter().filter(|found| found.label == position) {
            values[found.query.position()].push(&found.value);
        }
        for (query, mut values) in gold.queries().iter().zip(values) {
            values.dedup();
            if let [value] = values.as_slice() {
                let known = labels.entry(query.key.clone()).or_default();
                known.insert(label.clone(), (*value).clone());
            }
        }
    }
    labels
}
