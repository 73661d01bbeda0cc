//! A comparison of runs, written down: as a document for people (text, Markdown), and for programs
//! (JSON, CSV).
//!
//! It computes nothing: every number stands in the [`Comparison`].

mod csv;
mod document;
mod json;
mod markdown;
mod text;

use crate::compare::Comparison;

pub use document::{Block, Table, document};

/// How a comparison is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tables and sentences for a terminal.
    Text,
    /// Everything, with full precision.
    Json,
    /// A row for each pair and measure.
    Csv,
    /// The same document as the text, for a wiki or a pull request.
    Markdown,
}

/// Writes a comparison. It ends with a line feed.
pub fn write(comparison: &Comparison, format: Format) -> String {
    match format {
        Format::Text => text::write(&document(comparison)),
        Format::Json => json::write(comparison),
        Format::Csv => csv::write(comparison),
        Format::Markdown => markdown::write(&document(comparison)),
    }
}
