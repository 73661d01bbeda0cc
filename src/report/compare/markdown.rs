//! A comparison's document as Markdown (CommonMark with GitHub's tables).

use super::document::{Block, Table};

/// Writes the blocks under a title, a blank line between them.
pub(super) fn write(blocks: &[Block]) -> String {
    let mut text = "# Comparison\n".to_owned();
    for block in blocks {
        text.push('\n');
        match block {
            Block::Heading(heading) => {
                text.push_str("## ");
                text.push_str(&escaped(heading));
                text.push('\n');
            }
            Block::Paragraph(paragraph) => {
                text.push_str(&escaped(paragraph));
                text.push('\n');
            }
            Block::List(items) => {
                text.extend(items.iter().map(|item| format!("- {}\n", escaped(item))));
            }
            Block::Table(table) => write_table(&mut text, table),
        }
    }
    text
}

fn write_table(text: &mut String, table: &Table) {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell.trim())).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    text.push_str(&row(&table.header));
    text.push('|');
    for column in 0..table.header.len() {
        text.push_str(if table.is_text(column) {
            "---|"
        } else {
            "--:|"
        });
    }
    text.push('\n');
    text.extend(table.rows.iter().map(|cells| row(cells)));
}

/// Text in which nothing is markup, on one line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' | '~' | '`' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
