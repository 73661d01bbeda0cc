//! Text layout for terminals: paragraphs that fit 80 columns.
//!
//! It handles character widths (Hangul takes two columns). It must not know about gold sets.

use std::fmt::{self, Write as _};

use unicode_width::UnicodeWidthStr as _;

/// Default width of a terminal, in columns.
const COLUMNS: usize = 80;

/// Text output, built line by line.
#[derive(Debug, Default)]
pub(super) struct Page(String);

impl Page {
    /// Adds a line unchanged.
    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("invariant: writing to a string does not fail");
    }

    /// Adds an empty line.
    pub(super) fn gap(&mut self) {
        self.0.push('\n');
    }

    /// Adds a heading after an empty line.
    pub(super) fn heading(&mut self, heading: &str) {
        self.gap();
        self.line(format_args!("{heading}"));
    }

    /// Adds a paragraph, indented by two columns and its further lines by four. A word that is
    /// longer than a line is not split, because users copy ids.
    pub(super) fn item(&mut self, text: &str) {
        let mut column = 0;
        for word in text.split_whitespace() {
            let width = word.width();
            if column == 0 {
                self.0.push_str("  ");
                column = 2;
            } else if column + 1 + width > COLUMNS {
                self.0.push_str("\n    ");
                column = 4;
            } else {
                self.0.push(' ');
                column += 1;
            }
            self.0.push_str(word);
            column += width;
        }
        self.0.push('\n');
    }

    /// Adds the first `limit` of `items`, and the number of the others.
    pub(super) fn items<T>(&mut self, items: &[T], limit: usize, text: impl Fn(&T) -> String) {
        for item in items.iter().take(limit) {
            self.item(&text(item));
        }
        if items.len() > limit {
            self.item(&format!(
                "… and {} more; --format json lists all",
                items.len() - limit
            ));
        }
    }

    /// Returns the text.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}
