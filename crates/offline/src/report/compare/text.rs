//! Terminal output of the document of a comparison.

use unicode_width::UnicodeWidthStr as _;

use crate::report::document::{Block, Document, Figure, Table};

/// Width of text in columns. Tables can be wider.
const LINE: usize = 100;

/// Writes a document, with a blank line between its parts. The tables of charts replace the charts.
pub(super) fn write(document: &Document) -> String {
    let mut parts: Vec<String> = document.lead.iter().map(|text| wrapped(text, "")).collect();
    for section in &document.sections {
        let heading = &section.heading;
        parts.push(format!("{heading}\n{}\n", "-".repeat(heading.width())));
        parts.extend(section.blocks.iter().map(block));
    }
    parts.join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Paragraph(text) => wrapped(text, ""),
        Block::List(items) => items.iter().map(|item| wrapped(item, "- ")).collect(),
        Block::Table(table) | Block::Figure(Figure { table, .. }) => aligned(table),
        Block::Advice(advice) => {
            let items = advice.iter();
            let items = items.map(|it| wrapped(&format!("{} {}", it.what, it.because), "- "));
            items.collect()
        }
    }
}

/// Wraps text at spaces into lines of at most [`LINE`] columns. The first line begins with `mark`;
/// the others are indented to its text. A longer word has its own line.
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

/// Aligns the columns of a table: words to the left, numbers to the right.
fn aligned(table: &Table) -> String {
    let rows = table.rows.iter();
    let rows = rows.map(|row| row.iter().map(|cell| cell.text.as_str()).collect());
    let header = table.columns.iter().map(String::as_str).collect();
    let rows: Vec<Vec<&str>> = std::iter::once(header).chain(rows).collect();
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or_default()
        })
        .collect();
    let line = |row: &Vec<&str>| {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let space = " ".repeat(widths[column].saturating_sub(cell.width()));
            if table.is_words(column) {
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
