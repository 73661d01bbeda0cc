//! Answers of a run, and the order of their results.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::path::Path;

use rankgauge_core::event::{Limits, Search};
use rankgauge_core::ranking::Eligibility;

/// Path that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// Order in which the results of a run are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Served order: events by rank if every result has one, else as listed; files as listed.
    Served,
    /// Order of trec_eval: by score, compared as a 32-bit float, descending; equal scores by
    /// document id, compared by bytes, descending.
    Score,
    /// Stated rank, ascending.
    Rank,
}

/// Options of a reader of runs.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Order in which results are judged. By default events are as served and other formats by
    /// score.
    pub order: Option<Order>,
    /// Limits of search events.
    pub limits: Limits,
    /// True to keep the scores of documents.
    pub scores: bool,
    /// Searches that are judged. Others can be for a query that is answered already.
    pub eligibility: Eligibility,
}

/// Answer to one query.
#[derive(Debug)]
pub struct Answer<'t> {
    /// Query: its key, or its text if an event has no key.
    pub query: Cow<'t, str>,
    /// Results of the answer.
    pub results: Results<'t>,
    /// Scores of the documents, in the same order. Empty unless [`ReadOptions::scores`] is set, and
    /// for search events, whose results have scores themselves.
    pub scores: Vec<f64>,
}

/// Results of one answer, in the order in which they are judged.
#[derive(Debug)]
pub enum Results<'t> {
    /// Document ids.
    Documents(Vec<Cow<'t, str>>),
    /// Complete search event.
    Search(Box<Search<'t>>),
}

/// Returns the name of a run: its file name without folder and extension.
pub fn name_of(path: &Path) -> String {
    if path == Path::new(STANDARD_INPUT) {
        return "stdin".to_owned();
    }
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    stem.to_string_lossy().into_owned()
}

/// Compares two results in trec_eval's order.
pub(super) fn by_score(a: (f32, &str), b: (f32, &str)) -> Ordering {
    b.0.total_cmp(&a.0)
        .then_with(|| b.1.as_bytes().cmp(a.1.as_bytes()))
}

/// Converts a score to the form in which trec_eval compares it: a 32-bit float, with -0 equal to 0.
#[allow(
    clippy::cast_possible_truncation,
    reason = "trec_eval stores scores as `float`; ties from the conversion are ties in trec_eval"
)]
pub(super) fn as_compared(score: f64) -> f32 {
    score as f32 + 0.0
}
