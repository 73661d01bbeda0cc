//! Text layout for terminals: tables, paragraphs and printable ids, in columns of the display.
//! Hangul takes two columns.
//!
//! The tables are ours. `comfy-table` 8 prints the same bytes, but adds up widths in 16 bits, which
//! overflow on a long id.

use std::fmt;

pub use rankgauge_core::text::escape_controls;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Formats a probability with four digits; a value below 0.0001 as `<0.0001`.
pub(crate) fn probability(p: f64) -> String {
    if p < 0.0001 {
        "<0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}

/// Column of a [`TextTable`]. It is as wide as its widest cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Number of spaces before the column.
    gap: usize,
    width: usize,
    is_left: bool,
}

impl Column {
    /// Column of words, aligned left, after `gap` spaces.
    pub const fn left(gap: usize, min_width: usize) -> Self {
        Self {
            gap,
            width: min_width,
            is_left: true,
        }
    }

    /// Column of numbers, aligned right, after `gap` spaces.
    pub const fn right(gap: usize, min_width: usize) -> Self {
        Self {
            is_left: false,
            ..Self::left(gap, min_width)
        }
    }

    fn write(self, cell: &str, line: &mut String) {
        let space = self.width.saturating_sub(cell.width());
        let (before, after) = if self.is_left { (0, space) } else { (space, 0) };
        line.extend(std::iter::repeat_n(' ', self.gap + before));
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', after));
    }
}

/// Table with aligned columns. Its header, if any, is its first row.
#[derive(Clone, Debug)]
pub struct TextTable {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Table without rows.
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self {
            columns: columns.into(),
            rows: Vec::new(),
        }
    }

    /// Adds a row with one cell for each column. Control characters are [escaped](escape_controls).
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells = cells.into_iter().map(|cell| escape_controls(&cell.into()));
        let cells: Vec<String> = cells.collect();
        for (column, cell) in self.columns.iter_mut().zip(&cells) {
            column.width = column.width.max(cell.width());
        }
        self.rows.push(cells);
    }

    /// Text of the table within `width` columns of the display. A wider table continues below, with
    /// its first `heads` columns repeated.
    pub fn within(&self, width: usize, heads: usize) -> String {
        let total = |columns: &[Column]| -> usize {
            let widths = columns.iter().map(|column| column.gap + column.width);
            widths.sum()
        };
        let (named, mut rest) = self.columns.split_at(heads.min(self.columns.len()));
        let mut text = String::new();
        while !rest.is_empty() {
            // At least one column, regardless of its width.
            let fits = |end: &usize| total(named) + total(&rest[..*end]) <= width;
            let end = (1..=rest.len()).take_while(fits).last().unwrap_or(1);
            let first = self.columns.len() - rest.len();
            if first > heads {
                text.push('\n');
            }
            let is_shown = |column: usize| column < heads || (first..first + end).contains(&column);
            text.push_str(&self.lines(is_shown));
            rest = &rest[end..];
        }
        text
    }

    /// Lines with the columns that are shown.
    fn lines(&self, is_shown: impl Fn(usize) -> bool) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (number, (column, cell)) in self.columns.iter().zip(row).enumerate() {
                if is_shown(number) {
                    column.write(cell, &mut line);
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.lines(|_| true))
    }
}

/// Wraps a text at white space into lines of at most `width` columns. The first line begins with
/// `first`, the others with `rest`. Control characters are [escaped](escape_controls). A longer word is not split, because users copy ids.
pub fn wrap(text: &str, width: usize, first: &str, rest: &str) -> String {
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace().map(escape_controls) {
        if !is_empty && line.width() + 1 + word.width() > width {
            lines.push_str(&line);
            lines.push('\n');
            rest.clone_into(&mut line);
        } else if !is_empty {
            line.push(' ');
        }
        line.push_str(&word);
        is_empty = false;
    }
    format!("{lines}{}\n", line.trim_end())
}

/// Removes the end of a text that is wider than `width` columns.
pub fn truncate(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut columns = 0;
    let mut kept: String = text
        .chars()
        .take_while(|character| {
            columns += character.width().unwrap_or(0);
            columns < width
        })
        .collect();
    kept.push('…');
    kept
}

pub use rankgauge_core::text::count_of;

/// Makes a text of several lines safe for a terminal and for the log of a CI system. Line breaks
/// stay, but for those before a workflow command (`::name` or `##[name]`), and all other control
/// characters are written as escapes, as by [`escape_controls`].
pub fn escape_lines(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        let start = line.trim_start();
        let is_command = start.starts_with("::") || start.starts_with("##[");
        if index > 0 {
            escaped.push_str(if is_command { "\\n" } else { "\n" });
        }
        escaped.push_str(&escape_controls(line));
    }
    escaped
}

/// Shortens a text to at most `most` characters. The middle is removed, because names differ at
/// their ends.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let tail = kept / 2;
    let beginning = text.chars().take(kept - tail);
    let end = text.chars().skip(length - tail);
    beginning.chain(['…']).chain(end).collect()
}

/// Shortens a text to at most `most` columns of a terminal, like [`shorten`].
pub(crate) fn shorten_to_width(text: &str, most: usize) -> String {
    let mut characters = text.chars().count();
    let mut short = shorten(text, characters);
    while short.width() > most && characters > 1 {
        characters -= 1;
        short = shorten(text, characters);
    }
    short
}
