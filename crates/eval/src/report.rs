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
mod options;
mod ratios;
pub mod recommendation;
mod summary;
mod sweep;
pub(crate) mod text;
mod trec;
mod zscores;

use crate::evaluate::Evaluation;

pub use checks::summary as gate_summary;
pub use headline::headline;
pub use options::Options;
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
