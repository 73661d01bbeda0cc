//! A comparison's document for a terminal.

use unicode_width::UnicodeWidthStr as _;

use super::document::{Block, Table};

/// The columns that text fills; tables are as wide as they have to be.
const LINE: usize = 100;

/// Writes the blocks, a blank line between them.
pub(super) fn write(blocks: &[Block]) -> String {
    let blocks = blocks.iter().map(|block| match block {
        Block::Heading(text) => {
            let text = plain(text);
            format!("{text}\n{}\n", "-".repeat(text.width()))
        }
        Block::Paragraph(text) => wrapped(&plain(text), ""),
        Block::List(items) => {
            let items = items.iter().map(|item| wrapped(&plain(item), "- "));
            items.collect()
        }
        Block::Table(table) => aligned(table),
    });
    blocks.collect::<Vec<String>>().join("\n")
}

/// Text broken at spaces into lines of at most [`LINE`] columns, the first of which begins with
/// `mark` and the others below its text. A longer word has a line of its own.
fn wrapped(text: &str, mark: &str) -> String {
    let indent = " ".repeat(mark.width());
    let mut lines = String::new();
    let mut line = mark.to_owned();
    for word in text.split(' ') {
        let begun = line.width() > mark.width();
        if begun && line.width() + 1 + word.width() > LINE {
            lines.push_str(&line);
            lines.push('\n');
            line.clone_from(&indent);
        } else if begun {
            line.push(' ');
        }
        line.push_str(word);
    }
    format!("{lines}{line}\n")
}

/// A table with its columns aligned: the first ones to the left, numbers to the right.
fn aligned(table: &Table) -> String {
    let rows: Vec<Vec<String>> = std::iter::once(&table.header)
        .chain(&table.rows)
        .map(|row| row.iter().map(|cell| plain(cell)).collect())
        .collect();
    let widths: Vec<usize> = (0..table.header.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or_default()
        })
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let space = " ".repeat(widths[column].saturating_sub(cell.width()));
            if table.is_text(column) {
                format!("{cell}{space}")
            } else {
                format!("{space}{cell}")
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

/// Text without what would move a terminal's cursor.
fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}
