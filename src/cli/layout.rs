//! Text for terminals: paragraphs that fit 80 columns.
//!
//! It knows widths of characters, Hangul's two columns among them, and nothing of gold sets.

use std::fmt::{self, Write as _};

use unicode_width::UnicodeWidthStr as _;

/// Columns of a terminal that nobody made wider.
const COLUMNS: usize = 80;

/// What is printed, as it grows.
#[derive(Debug, Default)]
pub(super) struct Page(String);

impl Page {
    /// A line as it is.
    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("invariant: writing to a string does not fail");
    }

    /// An empty line.
    pub(super) fn gap(&mut self) {
        self.0.push('\n');
    }

    /// A heading after an empty line.
    pub(super) fn heading(&mut self, heading: &str) {
        self.gap();
        self.line(format_args!("{heading}"));
    }

    /// A paragraph, indented by two columns and its further lines by four. A word that is longer
    /// than a line is left whole: ids are copied.
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

    /// The first `most` of `items`, and how many were left out.
    pub(super) fn items<T>(&mut self, items: &[T], most: usize, text: impl Fn(&T) -> String) {
        for item in items.iter().take(most) {
            self.item(&text(item));
        }
        if items.len() > most {
            self.item(&format!(
                "… and {} more; --format json lists all",
                items.len() - most
            ));
        }
    }

    /// What was written.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}
