//! Reports: an [`Evaluation`](crate::evaluate::Evaluation) as text that people and programs read.

mod json;

use crate::evaluate::Evaluation;

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
    /// Also what every query scored.
    pub per_query: bool,
}

/// Writes an evaluation. The text ends with a line break.
pub fn write(evaluation: &Evaluation, _format: Format, options: Options) -> String {
    json::write(evaluation, options)
}
