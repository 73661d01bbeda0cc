//! Self-contained HTML page of a document: no script, no network access, no other file.
//!
//! The first screen has the verdict and a card for each run, then what to do and what supports the
//! verdict, then an appendix of folded sections. Each section has its tables as a file of CSV. A
//! content security policy stops the page from loading anything. The template escapes texts. Content
//! wider than the window scrolls within its own box, which is reachable by keyboard; on paper wide
//! tables get a page in landscape. The numbers behind a picture are folded away. Korean is marked as
//! such, so that browsers choose its font and screen readers its voice.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::document::{Block, Card, CardFigure, Document, Figure, Place, Section, Table, Tone};

/// Style sheet: colours, fonts and print layout.
const STYLE: &str = include_str!("html/style.css");

/// Number of columns above which a table is printed in landscape.
const WIDE: usize = 9;

/// Maximum number of columns of a table, besides those that name the row: more do not fit on paper
/// in landscape, and are shown as further tables.
const MAX_COLUMNS: usize = 14;

/// Number of rows above which a table of queries is folded.
const LONG: usize = 60;

/// Writes a document as HTML.
pub(crate) fn write(document: &Document) -> String {
    let anchors = anchors(&document.sections);
    let sections = || anchors.iter().zip(&document.sections);
    let folded = || sections().filter(|(_, it)| it.place == Place::Appendix);
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
                    h1 { (text(&document.title)) }
                    @for it in &document.verdict { p.verdict { (text(it)) } }
                    @for it in &document.lead { p { (text(it)) } }
                }
                @if !document.cards.is_empty() {
                    section aria-label="Summary of the runs" {
                        ul class=(if document.cards.len() > 4 { "cards many" } else { "cards" }) {
                            @for it in &document.cards { (card(it)) }
                        }
                    }
                }
                nav aria-label="Contents" {
                    ul { @for (anchor, section) in sections() {
                        li { a href={ "#" (anchor) } { (text(&section.heading)) } }
                    } }
                }
                main {
                    @for (anchor, it) in sections().filter(|(_, it)| it.place != Place::Appendix) { (section(anchor, it)) }
                    @if folded().next().is_some() {
                        section.appendix aria-labelledby="appendix" {
                            h2 #appendix { "Appendix" }
                            @for (anchor, it) in folded() { (part(anchor, it)) }
                        }
                    }
                }
            }
        }
    };
    compact(&page.into_string())
}

/// Page without the end tags and quotes that HTML does not need. A table of scores is a quarter smaller without
/// them. Texts contain no tags, because the template escapes them.
fn compact(page: &str) -> String {
    let mut page = page.to_owned();
    for optional in ["</td>", "</th>", "</tr>"] {
        page = page.replace(optional, "");
    }
    for shape in ["path", "rect", "line", "circle"] {
        page = page.replace(&format!("></{shape}>"), "/>");
    }
    // These values need no quotes. Texts contain none, because the template escapes them.
    for (quoted, plain) in [
        ("scope=\"row\"", "scope=row"),
        ("class=\"words\"", "class=words"),
        ("lang=\"ko\"", "lang=ko"),
    ] {
        page = page.replace(quoted, plain);
    }
    page
}

/// Anchors of the sections, which stay the same when other sections are added: their headings in lower
/// case, with a number where two are equal.
fn anchors(sections: &[Section]) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for section in sections {
        let words = section.heading.to_lowercase();
        let words = words.split(|it: char| !it.is_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let anchor = words.join("-");
        let alike = anchors.iter().filter(|other| **other == anchor).count();
        anchors.push(match alike {
            0 => anchor,
            _ => format!("{anchor}-{}", alike + 1),
        });
    }
    anchors
}

fn section(anchor: &str, section: &Section) -> Markup {
    html! {
        section class=[(section.place == Place::Action).then_some("action")] id=(anchor) {
            h2 { (text(&section.heading)) }
            (blocks(anchor, &section.blocks))
            (download(anchor, section))
        }
    }
}

/// Folded section. A link to its anchor opens it.
fn part(anchor: &str, section: &Section) -> Markup {
    html! {
        details.part {
            summary { h3 { (text(&section.heading)) } }
            div id=(anchor) {
                (blocks(anchor, &section.blocks))
                (download(anchor, section))
            }
        }
    }
}

/// Link that saves the tables of a section as CSV. The page contains it, as it contains everything.
fn download(anchor: &str, section: &Section) -> Markup {
    let mut csv = String::new();
    for table in section.tables() {
        if !csv.is_empty() {
            csv.push('\n');
        }
        line(&mut csv, [table.caption.as_str()]);
        line(&mut csv, table.columns.iter().map(String::as_str));
        for row in &table.rows {
            line(&mut csv, row.iter().map(|cell| cell.text.as_str()));
        }
    }
    html! {
        @if !csv.is_empty() {
            p.download {
                a href={ "data:text/csv;charset=utf-8;base64," (STANDARD.encode(&csv)) } download={ (anchor) ".csv" } {
                    "CSV" span.unseen { " of " (section.heading) }
                }
            }
        }
    }
}

/// Adds a line of CSV. A text that a spreadsheet would read as a formula gets an apostrophe.
fn line<'a>(csv: &mut String, fields: impl IntoIterator<Item = &'a str>) {
    let fields = fields.into_iter().map(|field| {
        let is_number = field.parse::<f64>().is_ok();
        let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number;
        let mark = if is_formula { "'" } else { "" };
        format!("\"{mark}{}\"", field.replace('"', "\"\""))
    });
    csv.push_str(&fields.collect::<Vec<String>>().join(","));
    csv.push('\n');
}

/// Text with its Korean parts marked.
fn text(text: &str) -> Markup {
    html! {
        @for (is_korean, part) in parts(text) {
            @if is_korean { i lang="ko" { (part) } } @else { (part) }
        }
    }
}

/// Parts of a text, each with true if it is Korean. A part reaches from the first to the last
/// character of Korean between other letters.
fn parts(text: &str) -> Vec<(bool, &str)> {
    let mut parts: Vec<(bool, &str)> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_hangul) {
        let (before, korean) = rest.split_at(start);
        let end = korean
            .find(|it: char| it.is_alphabetic() && !is_hangul(it) && !is_ideograph(it))
            .unwrap_or(korean.len());
        let end = korean[..end]
            .char_indices()
            .rfind(|(_, it)| is_hangul(*it) || is_ideograph(*it) || it.is_alphanumeric())
            .map_or(end, |(at, it)| at + it.len_utf8());
        parts.push((false, before));
        parts.push((true, &korean[..end]));
        rest = &korean[end..];
    }
    parts.push((false, rest));
    parts.retain(|(_, part)| !part.is_empty());
    parts
}

/// Returns true for a letter of the Korean alphabet.
fn is_hangul(letter: char) -> bool {
    matches!(letter, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7a3}')
}

fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{4e00}'..='\u{9fff}')
}

fn card(card: &Card) -> Markup {
    html! {
        li class=(if card.is_preferred { "card preferred" } else { "card" }) {
            p.title { (text(&card.name)) }
            @if card.is_preferred || card.badge.is_some() {
                p.badges {
                    @if card.is_preferred { span.badge { "preferred" } " " }
                    @if let Some((words, of)) = &card.badge {
                        span class={ "badge " (tone(*of)) } { (text(words)) }
                    }
                }
            }
            dl.figures { @for it in &card.figures { (figures(it)) } }
            dl.facts { @for (label, value) in &card.facts {
                div { dt { (text(label)) } dd { (text(value)) } }
            } }
        }
    }
}

fn figures(figure: &CardFigure) -> Markup {
    html! {
        div {
            dt { (text(&figure.label)) }
            dd {
                span.value { (figure.value) }
                @if let Some((tier, of)) = &figure.tier {
                    " " span class={ "note " (tone(*of)) } { (text(tier)) }
                }
                @if let Some(change) = &figure.change {
                    span.change {
                        (change)
                        @if let Some((verdict, of)) = &figure.verdict {
                            " " span class={ "note " (tone(*of)) } { (verdict) }
                        }
                    }
                }
            }
        }
    }
}

fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Neutral => "neutral",
    }
}

/// Renders blocks. Consecutive charts stand side by side if there is space.
fn blocks(id: &str, blocks: &[Block]) -> Markup {
    let is_figure = |(_, block): &(usize, &Block)| matches!(block, Block::Figure(_));
    let numbered: Vec<(usize, &Block)> = blocks.iter().enumerate().collect();
    html! {
        @for neighbours in numbered.chunk_by(|a, b| is_figure(a) && is_figure(b)) {
            div class=[neighbours.first().is_some_and(is_figure).then_some("pictures")] {
                @for (number, it) in neighbours { (block(&format!("{id}-{number}"), it)) }
            }
        }
    }
}

fn block(id: &str, content: &Block) -> Markup {
    match content {
        Block::Paragraph(it) => html! { p { (text(it)) } },
        Block::List(items) => html! { ul { @for it in items { li { (text(it)) } } } },
        Block::Table(it) if it.columns.len() > it.heads + MAX_COLUMNS => html! {
            @for (i, part) in (0_usize..).zip(it.parts(MAX_COLUMNS)) {
                (block(&format!("{id}-{i}"), &Block::Table(part)))
            }
        },
        Block::Table(it) if it.rows.len() > LONG => html! {
            details {
                summary { (text(&it.caption)) ": " (it.rows.len()) " rows" }
                (table(id, it))
            }
        },
        Block::Table(it) => table(id, it),
        Block::Figure(it) => figure(id, it),
        Block::Recommendation(advice) => html! {
            ol.advice { @for it in advice {
                li {
                    strong { (text(&it.action)) } " " (text(&it.because)) ". "
                    span.rule { "Rule: " (it.rule) }
                }
            } }
        },
    }
}

fn figure(id: &str, figure: &Figure) -> Markup {
    html! {
        figure id=(id) {
            h3 id={ (id) "-title" } { (text(&figure.table.caption)) }
            (figure.chart.draw(id))
            figcaption id={ (id) "-desc" } { (text(&figure.description)) }
            details {
                summary { "Numbers" span.unseen { " of " (figure.table.caption) } }
                (table(&format!("{id}-table"), &figure.table))
            }
        }
    }
}

fn table(id: &str, table: &Table) -> Markup {
    html! {
        div class=(if table.columns.len() > WIDE { "scroll wide" } else { "scroll" }) tabindex="0" role="group" aria-labelledby=(id) {
            table {
                caption id=(id) { span { (text(&table.caption)) } }
                thead { tr { @for (i, title) in table.columns.iter().enumerate() {
                    th class=[words(table, i)] scope="col" { (text(title)) }
                } } }
                tbody { @for row in &table.rows {
                    tr { @for (i, it) in row.iter().enumerate() {
                        @let lang = matches!(parts(&it.text)[..], [(true, _)]).then_some("ko");
                        @let content = if lang.is_some() { html! { (it.text) } } else { text(&it.text) };
                        @let content = html! { @if it.best { strong { (content) } } @else { (content) } };
                        @if i < table.heads {
                            th scope="row" lang=[lang] { (content) }
                        } @else {
                            td class=[words(table, i)] lang=[lang] { (content) }
                        }
                    } }
                } }
            }
        }
    }
}

/// Class of a column of words.
fn words(table: &Table, column: usize) -> Option<&'static str> {
    table.is_text_column(column).then_some("words")
}
