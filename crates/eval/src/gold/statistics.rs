//! Statistics of a gold set.
//!
//! This module counts only. `review` compares the counts with expectations.

use std::collections::BTreeMap;

use serde::Serialize;

use rankgauge_core::gold::{GoldSet, Grade};
use rankgauge_core::number::real_length;

/// Counts of a gold set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// Version of the set.
    pub version: String,
    /// SHA-256 of the content of the files.
    pub sha256: String,
    /// Files of the set, as they are read.
    pub files: Vec<String>,
    /// Number of queries.
    pub queries: usize,
    /// Queries that match searches by key only.
    pub queries_without_text: usize,
    /// Queries without a relevant document.
    pub queries_without_relevant: usize,
    /// Judged (query, document) pairs.
    pub judgements: usize,
    /// Lowest grade that counts as relevant.
    pub relevance_level: Grade,
    /// Highest grade of the scale.
    pub scale_max: Option<Grade>,
    /// Judgements by grade, in descending order of the grade.
    pub grades: Vec<GradeCount>,
    /// Distribution of the relevant documents per query.
    pub relevant: Spread,
    /// Queries by label and value.
    pub labels: BTreeMap<String, BTreeMap<String, usize>>,
    /// Judgements by annotator.
    pub annotators: BTreeMap<String, usize>,
}

/// Number of judgements with a grade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GradeCount {
    /// Grade.
    pub grade: Grade,
    /// Number of judgements.
    pub count: usize,
}

/// Summary of a count over queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Sum over all queries.
    pub total: usize,
    /// Minimum.
    pub min: usize,
    /// Median: the middle value, or the mean of the two middle values.
    pub median: f64,
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: usize,
}

impl Spread {
    /// Summarises numbers in any order; all fields are 0 without numbers.
    fn of(mut numbers: Vec<usize>) -> Self {
        numbers.sort_unstable();
        let (Some(min), Some(max)) = (numbers.first(), numbers.last()) else {
            return Self::default();
        };
        let middle = numbers.len() / 2;
        let upper = numbers.get(middle).copied().unwrap_or_default();
        let lower = if numbers.len().is_multiple_of(2) {
            numbers.get(middle - 1).copied().unwrap_or_default()
        } else {
            upper
        };
        let total = numbers.iter().sum();
        Self {
            total,
            min: *min,
            median: f64::midpoint(real_length(lower), real_length(upper)),
            mean: real_length(total) / real_length(numbers.len()),
            max: *max,
        }
    }
}

impl Statistics {
    /// Computes the statistics of a set.
    pub fn of(set: &GoldSet) -> Self {
        let mut grades: BTreeMap<Grade, usize> = BTreeMap::new();
        let mut labels: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        let mut annotators: BTreeMap<String, usize> = BTreeMap::new();
        for query in set.queries() {
            for grade in query.judgements.descending() {
                *grades.entry(*grade).or_default() += 1;
            }
            for (label, value) in &query.labels {
                let values = labels.entry(label.clone()).or_default();
                *values.entry(value.clone()).or_default() += 1;
            }
            let annotations = query.details.iter().flat_map(|d| d.annotations.keys());
            for annotator in annotations {
                *annotators.entry(annotator.clone()).or_default() += 1;
            }
        }
        let relevant = set.queries().iter().map(|q| q.judgements.relevant(None));
        let relevant: Vec<usize> = relevant.collect();
        let without_text = set.queries().iter().filter(|query| query.text.is_none());
        Self {
            version: set.version().to_owned(),
            sha256: set.sha256().to_owned(),
            files: set.files().iter().map(ToString::to_string).collect(),
            queries: set.queries().len(),
            queries_without_text: without_text.count(),
            queries_without_relevant: relevant.iter().filter(|count| **count == 0).count(),
            judgements: set.judgement_count(),
            relevance_level: set.relevance_level(),
            scale_max: set.scale_max(),
            grades: grades
                .into_iter()
                .rev()
                .map(|(grade, count)| GradeCount { grade, count })
                .collect(),
            relevant: Spread::of(relevant),
            labels,
            annotators,
        }
    }
}
