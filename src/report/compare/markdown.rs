//! A comparison's document as Markdown (CommonMark with GitHub's tables).

use super::document::{Block, Table};

/// Writes the blocks under a title, a blank line between them.
pub(super) fn write(blocks: &[Block]) -> String {
    let blocks = blocks.iter().map(|block| match block {
        Block::Heading(heading) => format!("## {}\n", escaped(heading)),
        Block::Paragraph(paragraph) => format!("{}\n", escaped(paragraph)),
        Block::List(items) => {
            let items = items.iter().map(|item| format!("- {}\n", escaped(item)));
            items.collect()
        }
        Block::Table(table) => piped(table),
    });
    let parts: Vec<String> = std::iter::once("# Comparison\n".to_owned())
        .chain(blocks)
        .collect();
    parts.join("\n")
}

fn piped(table: &Table) -> String {
    let row = |cells: &Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell.trim())).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = (0..table.header.len())
        .map(|column| {
            if table.is_text(column) {
                "---|"
            } else {
                "--:|"
            }
        })
        .collect::<String>();
    let rows = table.rows.iter().map(row).collect::<String>();
    format!("{}|{rule}\n{rows}", row(&table.header))
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
