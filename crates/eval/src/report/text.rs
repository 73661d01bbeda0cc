//! Terminal output of a document, 80 columns wide if names permit.
//!
//! Wider tables continue below, with the columns that name the rows repeated. The tables of charts
//! replace the charts.

use super::document::{Block, Document, Figure, Section, Table};
use crate::text_layout::{Column, TextTable, shorten_to_width, wrap};

/// Width of the terminal in columns.
const WIDTH: usize = 80;

/// Maximum width of the columns that name a row.
const HEADS: usize = 48;

/// Writes a document as text.
pub(crate) fn write(document: &Document) -> String {
    let mut out = wrap(&document.title, WIDTH, "", "");
    for text in document.verdict.iter().chain(&document.lead) {
        out.push_str(&wrap(text, WIDTH, "", ""));
    }
    for section in &document.sections {
        write_section(&mut out, section);
    }
    out
}

fn write_section(out: &mut String, section: &Section) {
    out.extend(["\n", &section.heading.to_uppercase(), "\n"]);
    for block in &section.blocks {
        match block {
            Block::Paragraph(text) => out.push_str(&wrap(text, WIDTH, "", "")),
            Block::List(items) => {
                out.extend(items.iter().map(|item| wrap(item, WIDTH, "- ", "  ")));
            }
            Block::Table(table) | Block::Figure(Figure { table, .. }) => write_table(out, table),
            Block::Recommendation(advice) => {
                for (i, it) in advice.iter().enumerate() {
                    let text = format!("{}. {} {}. [{}]", i + 1, it.action, it.because, it.rule);
                    out.push_str(&wrap(&text, WIDTH, "", "   "));
                }
            }
        }
    }
}

fn write_table(out: &mut String, table: &Table) {
    // The mark of the best follows its number; the other numbers leave space for it.
    let is_marked = |column: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(column));
        cells.any(|cell| cell.best)
    };
    let marked: Vec<bool> = (0..table.columns.len()).map(is_marked).collect();
    let columns = (0..table.columns.len()).map(|column| match column {
        0 => Column::left(0, 0),
        _ if table.is_text_column(column) => Column::left(2, 0),
        _ => Column::right(2, 0),
    });
    let mut lines = TextTable::new(columns.collect::<Vec<_>>());
    lines.row(&table.columns);
    for row in &table.rows {
        let cells = row.iter().zip(&marked).enumerate();
        lines.row(
            cells.map(|(column, (cell, marked))| match (cell.best, marked) {
                _ if column < table.heads => shorten_to_width(&cell.text, HEADS / table.heads),
                (true, _) => format!("{}*", cell.text),
                (false, true) => format!("{} ", cell.text),
                (false, false) => cell.text.clone(),
            }),
        );
    }
    out.push_str(&wrap(&table.caption, WIDTH, "", ""));
    out.push_str(&lines.within(WIDTH, table.heads));
    if marked.contains(&true) {
        out.push_str("* the best of the runs\n");
    }
}
