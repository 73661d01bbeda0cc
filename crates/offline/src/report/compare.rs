//! Output formats of a comparison: a readable document (text, Markdown, HTML) and data (JSON, CSV).
//!
//! The module computes nothing: all numbers come from the [`Comparison`].

mod csv;
mod document;
mod json;
mod text;

use super::{Format, html, markdown};
use crate::compare::Comparison;
use document::document;

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
