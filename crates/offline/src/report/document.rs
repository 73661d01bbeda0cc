//! A report as a document: sections of paragraphs, lists, tables, pictures and advice.
//!
//! It knows neither what is reported nor how it is written down. Its texts are raw: whoever writes
//! them escapes them for where they go.

use unicode_width::UnicodeWidthStr as _;

use super::chart::Chart;

/// A whole report.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// What it is a report of.
    pub(crate) title: String,
    /// What stands below the title.
    pub(crate) lead: Vec<String>,
    /// Its parts, each with something in it.
    pub(crate) sections: Vec<Section>,
}

/// A part with a heading.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// Unique in the document.
    pub(crate) heading: String,
    /// What stands in it.
    pub(crate) blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// A paragraph.
    Paragraph(String),
    /// Short sentences, in no order.
    List(Vec<String>),
    /// A table.
    Table(Table),
    /// A picture with its numbers.
    Figure(Figure),
    /// What to do, with reasons, in order.
    Advice(Vec<Advice>),
}

/// A picture. What it shows stands in a table as well.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// What is shown, in a sentence for whoever does not see it.
    pub(crate) description: String,
    /// The picture.
    pub(crate) chart: Chart,
    /// The same numbers; its caption is the picture's as well.
    pub(crate) table: Table,
}

/// One thing to do.
#[derive(Clone, Debug)]
pub(crate) struct Advice {
    /// What to do.
    pub(crate) what: String,
    /// The numbers that say so.
    pub(crate) because: String,
    /// The rule that drew the conclusion.
    pub(crate) rule: String,
}

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// What it shows; unique in the document.
    pub(crate) caption: String,
    /// The titles of its columns.
    pub(crate) columns: Vec<String>,
    /// So many columns, from the left, name the row. They hold words, the others numbers unless
    /// their cells say otherwise.
    pub(crate) heads: usize,
    /// A cell a column.
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Whether a column holds words, which stand at the left, and not numbers.
    pub(crate) fn is_words(&self, column: usize) -> bool {
        let first = self.rows.first().and_then(|row| row.get(column));
        column < self.heads || first.is_some_and(|cell| cell.words)
    }
}

/// One field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// What stands in it.
    pub(crate) text: String,
    /// Whether it is the best of those it is compared with.
    pub(crate) best: bool,
    /// Whether its column holds words.
    pub(crate) words: bool,
}

impl Cell {
    /// What names a row, or a number that was written already.
    pub(crate) fn of(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            best: false,
            words: false,
        }
    }

    /// Words that do not name the row.
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self {
            words: true,
            ..Self::of(text)
        }
    }

    /// A number of things.
    pub(crate) fn count<N: ToString + Copy>(count: N) -> Self {
        Self::of(count.to_string())
    }

    /// A score, or a dash where there is none.
    pub(crate) fn score(score: Option<f64>) -> Self {
        Self::of(score.map_or_else(|| "–".to_owned(), number))
    }
}

/// A score as people read it: four decimals, as trec_eval prints them.
pub(crate) fn number(score: f64) -> String {
    let text = format!("{score:.4}");
    // What rounds to nothing has no sign.
    if text == "-0.0000" {
        "0.0000".to_owned()
    } else {
        text
    }
}

/// A text of at most `most` characters: what is too long loses its middle, since names differ at
/// their ends.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let tail = kept / 2;
    let beginning = text.chars().take(kept - tail);
    let end = text.chars().skip(length - tail);
    beginning.chain(['…']).chain(end).collect()
}

/// A text of at most `most` columns of a terminal, cut like [`shorten`].
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut characters = text.chars().count();
    let mut cut = shorten(text, characters);
    while cut.width() > most && characters > 1 {
        characters -= 1;
        cut = shorten(text, characters);
    }
    cut
}

/// A text on one line that does nothing to whoever shows it: control characters, line and
/// paragraph separators and marks that turn the direction of writing are written as escapes.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control()
            || matches!(character, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}
