//! Terminal output of a document, 80 columns wide if names permit.
//!
//! Wider tables continue below, with the columns that name the rows repeated. Charts and their
//! tables are omitted.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use super::document::{Block, Document, Section, Table, cut};

/// Width of the terminal in columns.
const WIDTH: usize = 80;

/// Maximum width of the columns that name a row.
const HEADS: usize = 48;

/// Writes a document as text.
pub(crate) fn write(document: &Document) -> String {
    let mut out = String::new();
    paragraph(&mut out, &document.title, "");
    for text in &document.lead {
        paragraph(&mut out, text, "");
    }
    for section in &document.sections {
        write_section(&mut out, section);
    }
    out
}

fn write_section(out: &mut String, section: &Section) {
    let shown = |block: &&Block| !matches!(block, Block::Figure(_));
    let mut blocks = section.blocks.iter().filter(shown).peekable();
    if blocks.peek().is_none() {
        return;
    }
    line(out, "");
    line(out, &section.heading.to_uppercase());
    for block in blocks {
        match block {
            Block::Paragraph(text) => paragraph(out, text, ""),
            Block::List(items) => {
                for item in items {
                    paragraph(out, &format!("- {item}"), "  ");
                }
            }
            Block::Table(table) => write_table(out, table),
            Block::Figure(_) => {}
            Block::Advice(advice) => {
                for (i, it) in advice.iter().enumerate() {
                    let text = format!("{}. {} {}. [{}]", i + 1, it.what, it.because, it.rule);
                    paragraph(out, &text, "   ");
                }
            }
        }
    }
}

/// Wraps a text into lines. The second and later lines begin with `indent`.
fn paragraph(out: &mut String, text: &str, indent: &str) {
    let mut current = String::new();
    for word in text.split_whitespace() {
        if !current.is_empty() && current.width() + 1 + word.width() > WIDTH {
            line(out, &current);
            current.clear();
            current.push_str(indent);
            current.push_str(word);
            continue;
        }
        if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(word);
    }
    line(out, &current);
}

fn write_table(out: &mut String, table: &Table) {
    paragraph(out, &table.caption, "");
    // The mark of the best follows its number; the other numbers leave space for it.
    let marked = |column: &usize| {
        let cells = table.rows.iter().filter_map(|row| row.get(*column));
        cells.into_iter().any(|cell| cell.best)
    };
    let rows: Vec<Vec<String>> = [table.columns.clone()]
        .into_iter()
        .chain(table.rows.iter().map(|row| {
            let cells = row.iter().enumerate();
            cells
                .map(|(column, cell)| match (cell.best, marked(&column)) {
                    _ if column < table.heads => cut(&cell.text, HEADS / table.heads),
                    (true, _) => format!("{}*", cell.text),
                    (false, true) => format!("{} ", cell.text),
                    (false, false) => cell.text.clone(),
                })
                .collect()
        }))
        .collect();
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        })
        .collect();
    let heads: usize = widths.iter().take(table.heads).map(|width| width + 2).sum();
    let mut next = table.heads;
    while next < widths.len() {
        // At least one column, regardless of its width.
        let mut end = next;
        let mut used = heads;
        while end < widths.len() && (end == next || used + widths[end] <= WIDTH) {
            used += widths[end] + 2;
            end += 1;
        }
        if next > table.heads {
            line(out, "");
        }
        for cells in &rows {
            let columns = (0..table.heads).chain(next..end);
            let text: String = columns
                .filter_map(|column| {
                    let cell = cells.get(column)?;
                    let space = " ".repeat(widths[column].saturating_sub(cell.width()));
                    Some(if column < table.heads {
                        format!("{cell}{space}  ")
                    } else {
                        format!("{space}{cell}  ")
                    })
                })
                .collect();
            line(out, text.trim_end());
        }
        next = end;
    }
    if (0..table.columns.len()).any(|column| marked(&column)) {
        line(out, "* the best of the runs");
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("invariant: a String takes all text");
}
