//! Terminal output of the document of a comparison.

use unicode_width::UnicodeWidthStr as _;

use crate::report::document::{Block, Document, Figure, Table};
use crate::text_layout::{Column, TextTable, wrap};

/// Width of text in columns. Tables can be wider.
const LINE: usize = 80;

/// Writes a document, with a blank line between its parts: title and verdict first. The tables of charts
/// replace the charts.
pub(super) fn write(document: &Document) -> String {
    let title = wrap(&document.title, LINE, "", "");
    let texts = document.verdict.iter().chain(&document.lead);
    let texts = texts.map(|text| wrap(text, LINE, "", ""));
    let mut parts: Vec<String> = [title].into_iter().chain(texts).collect();
    for section in &document.sections {
        let heading = &section.heading;
        parts.push(format!("{heading}\n{}\n", "-".repeat(heading.width())));
        parts.extend(section.blocks.iter().map(block));
    }
    parts.join("\n")
}

fn block(block: &Block) -> String {
    let item = |text: &str| wrap(text, LINE, "- ", "  ");
    match block {
        Block::Paragraph(text) => wrap(text, LINE, "", ""),
        Block::List(items) => items.iter().map(|text| item(text)).collect(),
        Block::Table(table) | Block::Figure(Figure { table, .. }) => aligned(table),
        Block::Recommendation(advice) => {
            let items = advice.iter();
            let items = items.map(|it| item(&format!("{} {}", it.action, it.because)));
            items.collect()
        }
    }
}

/// Aligns the columns of a table: words to the left, numbers to the right.
fn aligned(table: &Table) -> String {
    let columns = (0..table.columns.len()).map(|column| {
        let gap = if column == 0 { 0 } else { 2 };
        if table.is_text_column(column) {
            Column::left(gap, 0)
        } else {
            Column::right(gap, 0)
        }
    });
    let mut lines = TextTable::new(columns.collect::<Vec<_>>());
    lines.row(&table.columns);
    for row in &table.rows {
        lines.row(row.iter().map(|cell| &cell.text));
    }
    lines.to_string()
}
