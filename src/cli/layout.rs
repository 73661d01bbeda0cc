//! Text output of a command: lines, headings, lists and tables within 80 columns.
//!
//! It must not know about gold sets.

use std::fmt::{self, Write as _};

use rankgauge_eval::text_layout::{Column, TextTable, escape_controls, wrap};

/// Default width of a terminal, in columns.
const DEFAULT_COLUMNS: usize = 80;

/// Name of a variant; words for the searches without one.
pub(super) fn shown_variant(variant: &str) -> &str {
    if variant.is_empty() {
        "no variant"
    } else {
        variant
    }
}

/// Text output, built line by line.
#[derive(Debug, Default)]
pub(super) struct Page(String);

impl Page {
    /// Adds a line. Control characters are escaped.
    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) {
        let line = escape_controls(&line.to_string());
        writeln!(self.0, "{line}").expect("invariant: writing to a string does not fail");
    }

    /// Adds lines of the command itself.
    pub(super) fn lines(&mut self, lines: fmt::Arguments<'_>) {
        for line in lines.to_string().lines() {
            self.line(format_args!("{line}"));
        }
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

    /// Adds a paragraph, indented by two columns and its further lines by four.
    pub(super) fn item(&mut self, text: &str) {
        self.0.push_str(&wrap(text, DEFAULT_COLUMNS, "  ", "    "));
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

    /// Adds a table.
    pub(super) fn table(&mut self, table: &TextTable) {
        write!(self.0, "{table}").expect("invariant: writing to a string does not fail");
    }

    /// Adds counts with their names, one line each.
    pub(super) fn counts<C: ToString, N: Into<String>>(
        &mut self,
        counts: impl IntoIterator<Item = (C, N)>,
    ) {
        let mut table = TextTable::new([Column::right(0, 8), Column::left(2, 0)]);
        for (count, name) in counts {
            table.row([count.to_string(), name.into()]);
        }
        self.table(&table);
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}
