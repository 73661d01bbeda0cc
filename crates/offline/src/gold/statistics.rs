//! A gold set in numbers.
//!
//! It counts and does not judge: what the numbers should be is `review`'s.

use std::collections::BTreeMap;

use serde::Serialize;

use super::agreement::float;
use rankgauge_core::gold::{GoldSet, Grade};

/// What is in a gold set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// The set's version.
    pub version: String,
    /// SHA-256 of its files.
    pub sha256: String,
    /// Queries.
    pub queries: usize,
    /// Queries that can be joined by key only.
    pub queries_without_text: usize,
    /// Queries without a relevant document.
    pub queries_without_relevant: usize,
    /// Judged (query, document) pairs.
    pub judgements: usize,
    /// The lowest grade that counts as relevant.
    pub relevance_level: Grade,
    /// The highest grade of the scale.
    pub scale_max: Option<Grade>,
    /// Judgements by grade, the highest grade first.
    pub grades: Vec<GradeCount>,
    /// Relevant documents of a query.
    pub relevant: Spread,
    /// Queries by label and value.
    pub labels: BTreeMap<String, BTreeMap<String, usize>>,
    /// Judgements by annotator.
    pub annotators: BTreeMap<String, usize>,
}

/// How often a grade was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GradeCount {
    /// The grade.
    pub grade: Grade,
    /// Judgements.
    pub count: usize,
}

/// How a number spreads over queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Over all queries together.
    pub total: usize,
    /// The least.
    pub min: usize,
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// The most.
    pub max: usize,
}

impl Spread {
    /// Of numbers in any order; all 0 without any.
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
            median: f64::midpoint(float(lower), float(upper)),
            mean: float(total) / float(numbers.len()),
            max: *max,
        }
    }
}

impl Statistics {
    /// Of a set.
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
