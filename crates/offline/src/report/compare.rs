//! A comparison of runs, written down: as a document for people (text, Markdown, HTML), and for
//! programs (JSON, CSV).
//!
//! It computes nothing: every number stands in the [`Comparison`].

mod csv;
mod document;
mod json;
mod text;

use super::{html, markdown};
use crate::compare::Comparison;
use document::document;

/// How a comparison is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tables and sentences for a terminal.
    Text,
    /// Everything, with full precision.
    Json,
    /// Everything in rows, with full precision.
    Csv,
    /// The same document as the text, for a wiki or a pull request.
    Markdown,
    /// The same document with pictures, as one file that needs no network.
    Html,
}

/// Writes a comparison. It ends with a line feed.
pub fn write(comparison: &Comparison, format: Format) -> String {
    match format {
        Format::Text => text::write(&document(comparison)),
        Format::Json => json::write(comparison),
        Format::Csv => csv::write(comparison),
        Format::Markdown => markdown::write(&document(comparison)),
        Format::Html => html::write(&document(comparison)),
    }
}
