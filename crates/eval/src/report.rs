//! Reports: output formats of an [`Evaluation`].
//!
//! The data formats (JSON, CSV and the columns of trec_eval) contain every number. The readable
//! formats (text, Markdown, HTML) render one document, which `contents` builds. The module
//! does not judge, read a clock or touch files: the same evaluation gives the same bytes.

mod behaviour;
mod case;
mod changes;
pub(crate) mod chart;
mod checks;
pub mod compare;
mod contents;
mod csv;
pub(crate) mod document;
mod errors;
mod figures;
mod headline;
pub(crate) mod html;
mod json;
pub(crate) mod markdown;
mod members;
mod names;
mod operations;
pub mod recommendation;
mod summary;
mod sweep;
pub(crate) mod text;
mod trec;
mod zscores;

use crate::behaviour::Behaviour;
use crate::compare::{ErrorAnalysis, Pair};
use crate::evaluate::{Evaluation, Micro, RunEvaluation};
use crate::gate::{Check, OperationBound};
use crate::operations::Operations;
use crate::sweep::Sweep;
use rankgauge_core::number::real;

pub use checks::summary as gate_summary;
pub use headline::headline;
pub use zscores::{ZScores, ZScoresError, ZScoresProblem};

/// Output format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tables and sentences for a terminal.
    Text,
    /// All numbers, in full precision.
    Json,
    /// All numbers in rows, in full precision.
    Csv,
    /// The whole report as Markdown.
    Markdown,
    /// The whole report with charts, as one file that needs no network.
    Html,
    /// Only the checks of the gate, as JUnit XML.
    Junit,
    /// Only the checks of the gate, as annotations of GitHub Actions.
    Github,
}

/// Optional content of a report, in addition to the means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options<'a> {
    /// True to add the scores of every query. Markdown and HTML list only the
    /// [`MAX_WORST_QUERIES`] of each run.
    pub per_query: bool,
    /// Checks of the gate; empty without a gate.
    pub checks: &'a [Check],
    /// Errors of the runs, of each run at most once.
    pub errors: &'a [ErrorAnalysis],
    /// Operations of the runs that state them.
    pub operations: &'a [Operations],
    /// Configured targets of the operations.
    pub operation_targets: &'a [OperationBound],
    /// User behaviour on the runs with feedback.
    pub behaviour: &'a [Behaviour],
    /// Sweeps of the score threshold, if requested.
    pub sweeps: &'a [Sweep],
    /// Every run against the first; empty for one run.
    pub changes: &'a [Pair],
    /// Keys of the queries to show as cases.
    pub cases: &'a [String],
}

/// Maximum number of rows in a document's table of queries, worst first.
pub const MAX_WORST_QUERIES: usize = 50;

/// Writes an evaluation in the given format. The text ends with a line feed.
pub fn write(evaluation: &Evaluation, format: Format, options: &Options<'_>) -> String {
    let document = |queries| contents::document(evaluation, options, queries);
    let worst = options.per_query.then_some(MAX_WORST_QUERIES);
    match format {
        Format::Text => text::write(&document(options.per_query.then_some(usize::MAX))),
        Format::Json => json::write(evaluation, options),
        Format::Csv => csv::write(evaluation, options),
        Format::Markdown => markdown::write(&document(worst)),
        Format::Html => html::write(&document(worst)),
        Format::Junit => checks::junit::write(options.checks),
        Format::Github => checks::github::write(options.checks),
    }
}

/// Writes an evaluation in the three columns of trec_eval with its measure names, run by run.
pub fn write_trec(evaluation: &Evaluation, options: &Options<'_>) -> String {
    trec::write(evaluation, options.per_query)
}

/// Writes an evaluation as [`write_trec`], with scores normalised by those of reference runs. Also returns the number
/// of scores without a mean and a deviation, for which trec_eval prints -1000000.
pub fn write_normalised(
    evaluation: &Evaluation,
    options: &Options<'_>,
    zscores: &ZScores,
) -> (String, usize) {
    trec::write_normalised(evaluation, options.per_query, zscores)
}

/// Ratio `part` / `whole`; 0 if `whole` is 0.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        real(part) / real(whole)
    }
}

/// Share of the answered queries that the gold set has; `None` without answered queries.
fn coverage(run: &RunEvaluation) -> Option<f64> {
    let known = run.queries.iter().filter(|query| query.answered).count();
    let answered = known + run.unknown.len();
    let count = |number| u64::try_from(number).unwrap_or(u64::MAX);
    (answered > 0).then(|| ratio(count(known), count(answered)))
}

/// Micro-averaged precision, recall and F1. Precision is undefined without retrieved results,
/// recall without relevant documents, and F1 without both.
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
