//! Output formats of a comparison: a readable document (text, Markdown, HTML) and data (JSON, CSV).
//!
//! The module computes nothing: all numbers come from the [`Comparison`].

mod csv;
mod document;
mod json;
mod text;

use super::{html, markdown};
use crate::compare::Comparison;
use document::document;

/// Output format of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tables and sentences for a terminal.
    Text,
    /// All numbers, in full precision.
    Json,
    /// All numbers in rows, in full precision.
    Csv,
    /// The same document as the text, as Markdown for a wiki or a pull request.
    Markdown,
    /// The same document with charts, as one file that needs no network.
    Html,
}

/// Writes a comparison in the given format. The text ends with a line feed.
pub fn write(comparison: &Comparison, format: Format) -> String {
    match format {
        Format::Text => text::write(&document(comparison)),
        Format::Json => json::write(comparison),
        Format::Csv => csv::write(comparison),
        Format::Markdown => markdown::write(&document(comparison)),
        Format::Html => html::write(&document(comparison)),
    }
}
