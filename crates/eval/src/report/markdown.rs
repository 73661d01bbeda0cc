//! Markdown output of a document, with GitHub's tables.
//!
//! Ids and texts appear unchanged: characters that Markdown would interpret are escaped. The tables
//! of charts replace the charts.

use std::fmt::Write as _;

use super::document::{Block, Cell, Document, Table};
use crate::text_layout::wrap;

/// Width of the verdict, in columns.
const WIDTH: usize = 80;

/// Writes a document as Markdown.
pub(crate) fn write(document: &Document) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        writeln!(out, "{text}").expect("invariant: a String takes all text");
    };
    line(&format!("# {}", escape(&document.title)));
    for text in &document.verdict {
        let lines = wrap(&format!("**{}**", escape(text)), WIDTH, "", "");
        line(&format!("\n{}", lines.trim_end()));
    }
    for text in &document.lead {
        line(&format!("\n{}", escape(text)));
    }
    for section in &document.sections {
        line(&format!("\n## {}", escape(&section.heading)));
        for block in &section.blocks {
            match block {
                Block::Paragraph(text) => line(&format!("\n{}", escape(text))),
                Block::List(items) => {
                    line("");
                    for item in items {
                        line(&format!("- {}", escape(item)));
                    }
                }
                Block::Table(it) => table(it, "", &mut line),
                Block::Figure(figure) => table(&figure.table, &figure.description, &mut line),
                Block::Recommendation(advice) => {
                    line("");
                    for (i, it) in advice.iter().enumerate() {
                        line(&format!(
                            "{}. **{}** {}. *Rule: {}.*",
                            i + 1,
                            escape(&it.action),
                            escape(&it.because),
                            escape(&it.rule)
                        ));
                    }
                }
            }
        }
    }
    out
}

fn table(table: &Table, description: &str, line: &mut impl FnMut(&str)) {
    let caption = format!("\n**{}.** {}", escape(&table.caption), escape(description));
    line(caption.trim_end());
    line("");
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    line(&row(table.columns.iter().map(|it| escape(it)).collect()));
    let rules = (0..table.columns.len()).map(|column| {
        if table.is_text_column(column) {
            "---"
        } else {
            "---:"
        }
    });
    line(&row(rules.map(str::to_owned).collect()));
    for cells in &table.rows {
        line(&row(cells.iter().map(cell).collect()));
    }
}

fn cell(cell: &Cell) -> String {
    let text = escape(&cell.text);
    if cell.best {
        format!("**{text}**")
    } else {
        text
    }
}

/// Escapes characters that Markdown, or HTML within it, would interpret with a backslash.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' | '!' | '$' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}
