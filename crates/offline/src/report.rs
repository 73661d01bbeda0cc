//! Reports: an [`Evaluation`] as text that people and programs read.
//!
//! Programs get every number there is ([`Format::Json`], [`Format::Csv`], [`Format::Trec`]).
//! People get a document, built once by `contents` and written as text, Markdown or HTML. Nothing
//! here judges, reads a clock or touches a file: the same evaluation gives the same bytes.

pub(crate) mod chart;
pub mod compare;
mod contents;
mod csv;
pub(crate) mod document;
mod figures;
mod headline;
pub(crate) mod html;
mod json;
pub(crate) mod markdown;
pub mod recommendation;
pub(crate) mod text;
mod trec;

use crate::evaluate::{Evaluation, Micro, RunEvaluation, Target};

/// How an evaluation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tables for a terminal of 80 columns.
    Text,
    /// trec_eval's three columns under trec_eval's names, one run after the other.
    Trec,
    /// Everything, in full precision.
    Json,
    /// Scores in long form, a row each, in full precision.
    Csv,
    /// The whole report, to be put where Markdown is shown.
    Markdown,
    /// The whole report with pictures, as one file that needs no network.
    Html,
}

/// What a report shows besides means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Also what every query scored. The documents, Markdown and HTML, keep to the
    /// [`WORST_QUERIES`] of each run.
    pub per_query: bool,
}

/// So many queries at most stand in a document's table of queries, the worst first.
pub const WORST_QUERIES: usize = 50;

/// Writes an evaluation. The text ends with a line break.
pub fn write(evaluation: &Evaluation, format: Format, options: &Options) -> String {
    let document = |queries| contents::document(evaluation, queries);
    let worst = options.per_query.then_some(WORST_QUERIES);
    match format {
        Format::Text => text::write(&document(options.per_query.then_some(usize::MAX))),
        Format::Trec => trec::write(evaluation, options.per_query),
        Format::Json => json::write(evaluation, options.per_query),
        Format::Csv => csv::write(evaluation, options.per_query),
        Format::Markdown => markdown::write(&document(worst)),
        Format::Html => html::write(&document(worst)),
    }
}

/// A count as a number to divide by; exact up to 2^53, which no evaluation reaches.
#[allow(
    clippy::cast_precision_loss,
    reason = "counts of results lie far below 2^53"
)]
fn real(count: u64) -> f64 {
    count as f64
}

/// `part` / `whole`, and 0 for an empty whole.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        real(part) / real(whole)
    }
}

/// Micro precision, recall and F1. There is no precision where nothing was retrieved, no recall
/// where nothing is relevant, and no F1 without both.
fn micro_averages(micro: &Micro) -> [(&'static str, Option<f64>); 3] {
    let found = micro.true_positives;
    let share = |rest: u64| (found + rest > 0).then(|| ratio(found, found + rest));
    let precision = share(micro.false_positives);
    let recall = share(micro.false_negatives);
    let f1 = precision.zip(recall).map(|(precision, recall)| {
        let both = precision + recall;
        if both > 0.0 {
            2.0 * precision * recall / both
        } else {
            0.0
        }
    });
    [("P", precision), ("R", recall), ("F1", f1)]
}

/// The highest target of a measure that a run's mean reaches.
fn tier<'a>(evaluation: &'a Evaluation, run: &RunEvaluation, measure: usize) -> Option<&'a Target> {
    let mean = run.means.get(measure).copied().flatten()?;
    let targets = evaluation.targets.iter();
    targets
        .filter(|target| target.measure == measure && mean >= target.value)
        .max_by(|a, b| a.value.total_cmp(&b.value))
}
