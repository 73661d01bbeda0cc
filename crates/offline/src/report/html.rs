//! Self-contained HTML page of a document: no script, no network access, no other file.
//!
//! A content security policy stops the page from loading anything. The template escapes texts.
//! Content wider than the window scrolls within its own box, which is reachable by keyboard.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::document::{Block, Cell, Document, Figure, Table};

/// Style sheet: colours, fonts and print layout.
const STYLE: &str = include_str!("html/style.css");

/// Writes a document as HTML.
pub(crate) fn write(document: &Document) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (document.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (document.title) }
                    @for text in &document.lead { p { (text) } }
                }
                nav aria-label="Contents" {
                    ul { @for (i, section) in document.sections.iter().enumerate() {
                        li { a href={ "#part-" (i) } { (section.heading) } }
                    } }
                }
                main {
                    @for (i, section) in document.sections.iter().enumerate() {
                        section id={ "part-" (i) } {
                            h2 { (section.heading) }
                            (blocks(&format!("part-{i}"), &section.blocks))
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}

/// Renders blocks. Consecutive charts stand side by side if there is space.
fn blocks(id: &str, blocks: &[Block]) -> Markup {
    let is_figure = |(_, block): &(usize, &Block)| matches!(block, Block::Figure(_));
    let numbered: Vec<(usize, &Block)> = blocks.iter().enumerate().collect();
    html! {
        @for neighbours in numbered.chunk_by(|a, b| is_figure(a) && is_figure(b)) {
            div.pictures[neighbours.first().is_some_and(is_figure)] {
                @for (number, it) in neighbours { (block(&format!("{id}-{number}"), it)) }
            }
        }
    }
}

fn block(id: &str, block: &Block) -> Markup {
    match block {
        Block::Paragraph(text) => html! { p { (text) } },
        Block::List(items) => html! { ul { @for it in items { li { (it) } } } },
        Block::Table(it) => table(id, it),
        Block::Figure(it) => figure(id, it),
        Block::Recommendation(advice) => html! {
            ol.advice { @for it in advice {
                li { strong { (it.action) } " " (it.because) ". " span.rule { "Rule: " (it.rule) } }
            } }
        },
    }
}

fn figure(id: &str, figure: &Figure) -> Markup {
    html! {
        figure id=(id) {
            h3 { (figure.table.caption) }
            (figure.chart.draw(id, &figure.table.caption, &figure.description))
            figcaption { (figure.description) }
            (table(&format!("{id}-table"), &figure.table))
        }
    }
}

fn table(id: &str, table: &Table) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-labelledby=(id) {
            table {
                caption id=(id) { span { (table.caption) } }
                thead { tr { @for (i, title) in table.columns.iter().enumerate() {
                    th.words[table.is_text_column(i)] scope="col" { (title) }
                } } }
                tbody { @for row in &table.rows {
                    tr { @for (i, it) in row.iter().enumerate() {
                        @if i < table.heads {
                            th.words scope="row" { (cell(it)) }
                        } @else {
                            td.words[table.is_text_column(i)] { (cell(it)) }
                        }
                    } }
                } }
            }
        }
    }
}

fn cell(cell: &Cell) -> Markup {
    html! {
        @if cell.best {
            strong { (cell.text) span.unseen { " (best)" } }
        } @else {
            (cell.text)
        }
    }
}
