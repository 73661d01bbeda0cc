//! Review of a readable gold set: size, coverage and reliability of the judgements.
//!
//! This module reports findings. The caller decides if a warning is a failure.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::agreement::Agreement;
use crate::text_layout::count_of;
use rankgauge_core::gold::{GoldSet, Grade, Place, Problem, composed};
use rankgauge_core::number::{percent, real_length};

/// Expectations for a gold set.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectations {
    /// Minimum acceptable kappa.
    pub kappa: f64,
    /// Maximum difference between the grades of one judgement without a warning.
    pub difference: f64,
    /// Target shares of label values.
    pub targets: Vec<Target>,
    /// Allowed deviation of a share from its target, as a share (0.05 is five percent of all
    /// queries).
    pub tolerance: f64,
    /// Highest grade of the scale, if the files do not state it.
    pub scale_max: Option<Grade>,
    /// Minimum numbers of queries with label values.
    pub minimums: Vec<Minimum>,
    /// Lowest and highest recommended number of relevant documents of a query.
    pub relevant: Option<[usize; 2]>,
}

/// Minimum number of queries with a label value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimum {
    /// Label, for example `primary_domain`.
    pub label: String,
    /// Value of the label.
    pub value: String,
    /// Minimum number of queries.
    pub queries: usize,
}

impl Default for Expectations {
    fn default() -> Self {
        Self {
            kappa: 0.7,
            difference: 1.0,
            targets: Vec::new(),
            tolerance: 0.05,
            scale_max: None,
            minimums: Vec::new(),
            relevant: None,
        }
    }
}

/// Target share of the queries with a label value.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Label, for example `query_type`.
    pub label: String,
    /// Value of the label, for example `keyword`.
    pub value: String,
    /// Share of all queries, 0 to 1.
    pub share: f64,
}

/// Error or warning about a gold set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Machine-readable kind.
    pub kind: &'static str,
    /// Affected file.
    pub file: Option<String>,
    /// Line, 1-based.
    pub line: Option<usize>,
    /// Id of the query.
    pub query: Option<String>,
    /// Id of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Description and remedy.
    pub message: String,
}

impl Finding {
    fn new(kind: &'static str, message: String) -> Self {
        Self {
            kind,
            file: None,
            line: None,
            query: None,
            document: None,
            message,
        }
    }

    fn of_query(set: &GoldSet, position: usize, kind: &'static str, message: String) -> Self {
        Self {
            query: set.queries().get(position).map(|query| query.key.clone()),
            ..Self::new(kind, message).at(set.place(position))
        }
    }

    fn at(mut self, place: Option<&Place>) -> Self {
        self.file = place.map(|place| place.file.to_string());
        self.line = place.and_then(|place| place.line);
        self
    }
}

impl From<&Problem> for Finding {
    fn from(problem: &Problem) -> Self {
        Self {
            query: problem.query().map(str::to_owned),
            ..Self::new(problem.kind(), problem.message()).at(problem.place().as_ref())
        }
    }
}

/// Number of queries, and the sizes that the law-search methodology (5.1) recommends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Number of queries.
    pub queries: usize,
    /// Enough for first tests.
    pub small: usize,
    /// Enough for serious evaluation.
    pub medium: usize,
    /// Enough before production.
    pub large: usize,
    /// Largest recommended size that the set reaches.
    pub reached: Option<&'static str>,
}

impl Size {
    fn of(queries: usize) -> Self {
        let (small, medium, large) = (30, 100, 500);
        let reached = match queries {
            n if n >= large => Some("large"),
            n if n >= medium => Some("medium"),
            n if n >= small => Some("small"),
            _ => None,
        };
        Self {
            queries,
            small,
            medium,
            large,
            reached,
        }
    }
}

/// Queries with a label value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// Number of queries.
    pub count: usize,
    /// Share of all queries, 0 to 1.
    pub share: f64,
    /// Target share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
}

/// Result of a review.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Findings that make the set invalid.
    pub errors: Vec<Finding>,
    /// Findings that reduce the quality of the set.
    pub warnings: Vec<Finding>,
    /// Size of the set, compared with the recommended sizes.
    pub size: Size,
    /// Queries by label and value.
    pub distribution: BTreeMap<String, BTreeMap<String, Share>>,
    /// Inter-annotator agreement.
    pub agreement: Agreement,
}

impl Review {
    /// Compares `set` with `expected`.
    pub fn of(set: &GoldSet, expected: &Expectations) -> Self {
        let agreement = Agreement::of(set.queries());
        let distribution = distribution(set, expected);
        let size = Size::of(set.queries().len());
        let mut warnings = Vec::new();
        queries(set, &mut warnings);
        normal_forms(set, &mut warnings);
        annotators(set, &agreement, expected, &mut warnings);
        shares(&distribution, expected, &mut warnings);
        minimums(&distribution, expected, &mut warnings);
        relevant_documents(set, expected, &mut warnings);
        if size.reached.is_none() && size.queries > 0 {
            warnings.push(Finding::new(
                "size",
                format!(
                    "{}, and at least {} are recommended ({} for serious evaluation, {} before production)",
                    count_of(size.queries, "query", "queries"),
                    size.small,
                    size.medium,
                    size.large
                ),
            ));
        }
        Self {
            errors: beyond_scale(set, expected),
            warnings,
            size,
            distribution,
            agreement,
        }
    }
}

fn beyond_scale(set: &GoldSet, expected: &Expectations) -> Vec<Finding> {
    let mut errors = Vec::new();
    let unstated = set.metadata().scale_max.is_none();
    let Some(scale_max) = expected.scale_max.filter(|_| unstated) else {
        return errors;
    };
    for (position, query) in set.queries().iter().enumerate() {
        for (document, grade) in query.judgements.documents() {
            if grade > scale_max {
                let message = format!(
                    "query `{}` gives document `{document}` the grade {grade}, beyond the scale's \
                     {scale_max}; correct the grade or the scale",
                    query.key
                );
                errors.push(Finding {
                    document: Some(document.to_owned()),
                    ..Finding::of_query(set, position, "beyond_scale", message)
                });
            }
        }
    }
    errors
}

fn queries(set: &GoldSet, warnings: &mut Vec<Finding>) {
    let level_warning = set.level_warning();
    let is_level_wrong = level_warning.is_some();
    warnings.extend(level_warning.map(|message| Finding::new("no_relevant", message)));
    for (position, query) in set.queries().iter().enumerate() {
        let counted = query.judgements.relevant(None);
        // A gold query without document ids lists texts.
        let is_explained = is_level_wrong && !query.judgements.is_empty();
        if counted == 0 && query.texts.is_empty() && !is_explained {
            let highest = query.judgements.grades().iter().copied().max();
            let consequence = match highest {
                None => "no judgement: its searches are not judged; judge documents".to_owned(),
                Some(highest) if highest > Grade::ZERO => format!(
                    "no relevant document: it always scores 0; its highest grade is {highest}, and the \
                     relevance level {} (gold.relevance_level); lower the level, judge a document",
                    set.relevance_level()
                ),
                Some(_) => "no relevant document: it always scores 0; judge one".to_owned(),
            };
            let message = format!(
                "query `{}` has {consequence} or remove the query",
                query.key
            );
            warnings.push(Finding::of_query(set, position, "no_relevant", message));
        }
        if let Some(stated) = query.total_relevant
            && usize::try_from(stated) != Ok(counted)
        {
            let message = format!(
                "query `{}` states total_relevant {stated}, and {counted} of the documents listed \
                 are relevant; list the others, or correct the number",
                query.key
            );
            warnings.push(Finding::of_query(set, position, "total_relevant", message));
        }
    }
}

/// Warns of ids that differ only in Unicode normalisation: they look equal, and one does not match the other.
fn normal_forms(set: &GoldSet, warnings: &mut Vec<Finding>) {
    let queries = || set.queries().iter().enumerate();
    let documents = || {
        queries().flat_map(|(position, query)| {
            let documents = query.judgements.documents().into_iter();
            documents.map(move |(document, _)| (position, document))
        })
    };
    // Few sets have ids that are not composed; only those can have another form.
    let decomposed = documents().filter_map(|(_, document)| match composed(document.into()) {
        Cow::Owned(form) => Some((form, document)),
        Cow::Borrowed(_) => None,
    });
    let decomposed: BTreeMap<String, &str> = decomposed.collect();
    if !decomposed.is_empty() {
        let mut reported = BTreeSet::new();
        for (position, document) in documents() {
            let form = composed(document.into());
            let other = decomposed.get(&*form).filter(|other| **other != document);
            if other.is_some() && reported.insert(form.clone().into_owned()) {
                let message = format!(
                    "the document id `{document}` occurs in two forms that differ only in Unicode \
                     normalisation; write one form (NFC), or judge with --normalise-ids nfc"
                );
                warnings.push(Finding {
                    document: Some(document.to_owned()),
                    ..Finding::of_query(set, position, "normal_form", message)
                });
            }
        }
    }
    let keys = queries().filter_map(|(_, query)| match composed((&*query.key).into()) {
        Cow::Owned(form) => Some(form),
        Cow::Borrowed(_) => None,
    });
    let keys: BTreeSet<String> = keys.collect();
    for (position, query) in queries().filter(|(_, query)| keys.contains(&query.key)) {
        let message = format!(
            "the query id `{}` occurs in two forms that differ only in Unicode normalisation; write one form \
             (NFC), or judge with --normalise-ids nfc",
            query.key
        );
        warnings.push(Finding::of_query(set, position, "normal_form", message));
    }
}

fn minimums(
    distribution: &BTreeMap<String, BTreeMap<String, Share>>,
    expected: &Expectations,
    warnings: &mut Vec<Finding>,
) {
    for minimum in &expected.minimums {
        let values = distribution.get(&minimum.label);
        let share = values.and_then(|values| values.get(&minimum.value));
        let count = share.map_or(0, |share| share.count);
        if count < minimum.queries {
            let message = format!(
                "{} with {}={}, and at least {} are expected; add some",
                count_of(count, "query", "queries"),
                minimum.label,
                minimum.value,
                minimum.queries
            );
            warnings.push(Finding::new("minimum", message));
        }
    }
}

fn relevant_documents(set: &GoldSet, expected: &Expectations, warnings: &mut Vec<Finding>) {
    let Some([low, high]) = expected.relevant else {
        return;
    };
    for (position, query) in set.queries().iter().enumerate() {
        let relevant = query.judgements.relevant(None);
        if !(low..=high).contains(&relevant) {
            let message = format!(
                "query `{}` has {}, and {low} to {high} are expected; judge more documents, or \
                 divide the query",
                query.key,
                count_of(relevant, "relevant document", "relevant documents")
            );
            warnings.push(Finding::of_query(set, position, "relevant", message));
        }
    }
}

fn annotators(
    set: &GoldSet,
    agreement: &Agreement,
    expected: &Expectations,
    warnings: &mut Vec<Finding>,
) {
    let far = |difference: f64| difference > expected.difference;
    for found in agreement.disagreements.iter().filter(|d| far(d.difference)) {
        let grades: Vec<String> = found
            .grades
            .iter()
            .map(|(name, grade)| format!("{name} {grade}"))
            .collect();
        let message = format!(
            "query `{}`, document `{}`: the annotators differ by {} ({}); resolve the difference",
            found.query,
            found.document,
            found.difference,
            grades.join(", ")
        );
        warnings.push(Finding {
            document: Some(found.document.clone()),
            ..Finding::of_query(set, found.position, "annotators", message)
        });
    }
    if let Some(kappa) = agreement.kappa
        && kappa < expected.kappa
    {
        let message = format!(
            "Cohen's kappa is {kappa:.3} over {} with two or more annotators, and at \
             least {} is expected; resolve the disagreements and clarify the guidelines",
            count_of(agreement.n, "judgement", "judgements"),
            expected.kappa
        );
        warnings.push(Finding::new("kappa", message));
    }
}

fn distribution(
    set: &GoldSet,
    expected: &Expectations,
) -> BTreeMap<String, BTreeMap<String, Share>> {
    let mut labels: BTreeMap<String, BTreeMap<String, Share>> = BTreeMap::new();
    for (label, value) in set.queries().iter().flat_map(|query| &query.labels) {
        let values = labels.entry(label.clone()).or_default();
        values.entry(value.clone()).or_default().count += 1;
    }
    for target in &expected.targets {
        let values = labels.entry(target.label.clone()).or_default();
        values.entry(target.value.clone()).or_default().target = Some(target.share);
    }
    let all = real_length(set.queries().len().max(1));
    for share in labels.values_mut().flat_map(BTreeMap::values_mut) {
        share.share = real_length(share.count) / all;
    }
    labels
}

fn shares(
    distribution: &BTreeMap<String, BTreeMap<String, Share>>,
    expected: &Expectations,
    warnings: &mut Vec<Finding>,
) {
    /// Tolerance for rounding: shares are quotients of counts, and targets are decimals.
    const ROUNDING: f64 = 1e-9;
    for (label, values) in distribution {
        for (value, found) in values {
            let Some(target) = found.target else { continue };
            if (found.share - target).abs() > expected.tolerance + ROUNDING {
                warnings.push(Finding::new(
                    "distribution",
                    format!(
                        "{} of the queries have {label} `{value}`, and the target is {} \
                         (± {:.1}); add queries of that kind, or of the others",
                        percent(found.share, 1),
                        percent(target, 1),
                        expected.tolerance * 100.0
                    ),
                ));
            }
        }
    }
}
