//! Output formats of a comparison: a readable document (text, Markdown, HTML) and data (JSON, CSV).
//!
//! The module computes nothing: all numbers come from the [`Comparison`].

mod csv;
mod document;
mod json;
mod statistics;
mod text;

use super::checks::{github, junit};
use super::{Format, html, markdown};
use crate::compare::Comparison;
use crate::gate::Check;
use document::document;

/// Writes a comparison with the checks of its gate, if any, in the given format. The text ends with
/// a line feed.
pub fn write(comparison: &Comparison, checks: &[Check], format: Format) -> String {
    let document = || document(comparison, checks);
    match format {
        Format::Text => text::write(&document()),
        Format::Json => json::write(comparison, checks),
        Format::Csv => csv::write(comparison, checks),
        Format::Markdown => markdown::write(&document()),
        Format::Html => html::write(&document()),
        Format::Junit => junit::write(checks),
        Format::Github => github::write(checks),
    }
}
