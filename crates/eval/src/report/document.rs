//! Report as a document: a summary, and sections of paragraphs, lists, tables, charts and recommendations.
//!
//! The module is independent of the subject of the report and of the output format. Its texts are
//! raw: each output format escapes them.

use super::chart::Chart;

/// Whole report.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// Title of the report.
    pub(crate) title: String,
    /// Verdict, in sentences.
    pub(crate) verdict: Vec<String>,
    /// Paragraphs below the title.
    pub(crate) lead: Vec<String>,
    /// Summary of each run. Only HTML shows it; the sections have the same numbers.
    pub(crate) cards: Vec<Card>,
    /// Non-empty sections of the report.
    pub(crate) sections: Vec<Section>,
}

/// Section with a heading.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// Heading, unique in the document.
    pub(crate) heading: String,
    /// Content of the section.
    pub(crate) blocks: Vec<Block>,
    /// Place of the section.
    pub(crate) place: Place,
}

/// Place of a section. The places follow each other in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// The section says what to do.
    Action,
    /// The section supports the verdict.
    Main,
    /// The section has further numbers. HTML folds it.
    Appendix,
}

impl Section {
    /// Section of the appendix.
    pub(crate) fn new(heading: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self {
            heading: heading.into(),
            blocks,
            place: Place::Appendix,
        }
    }

    /// The section at another place.
    pub(crate) fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// Tables of the section, with those of its charts.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Table(table) | Block::Figure(Figure { table, .. }) => Some(table),
            Block::Paragraph(_) | Block::List(_) | Block::Recommendation(_) => None,
        })
    }
}

/// Summary of one run.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// Name of the run.
    pub(crate) name: String,
    /// True for the run that is preferred over the others.
    pub(crate) is_preferred: bool,
    /// Overall tier.
    pub(crate) badge: Option<(String, Tone)>,
    /// Means of the most important measures.
    pub(crate) figures: Vec<CardFigure>,
    /// Further facts: label and value.
    pub(crate) facts: Vec<(String, String)>,
}

/// Mean of one measure on a card.
#[derive(Clone, Debug)]
pub(crate) struct CardFigure {
    /// Name of the measure.
    pub(crate) label: String,
    /// Mean.
    pub(crate) value: String,
    /// Tier of the mean.
    pub(crate) tier: Option<(String, Tone)>,
    /// Difference from the first run.
    pub(crate) change: Option<String>,
    /// Verdict about the difference.
    pub(crate) verdict: Option<(&'static str, Tone)>,
}

/// Judgement that a colour stands for. The text beside it says the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    /// Neither.
    Neutral,
}

/// Part of a section.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Paragraph(String),
    /// Short sentences, unordered.
    List(Vec<String>),
    Table(Table),
    /// A chart with its numbers.
    Figure(Figure),
    /// Recommendations with reasons, in order.
    Recommendation(Vec<Recommendation>),
}

/// Chart together with a table of the same numbers.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Description of the chart in one sentence, for readers who do not see it.
    pub(crate) description: String,
    pub(crate) chart: Chart,
    /// Table of the same numbers. Its caption is also the title of the chart.
    pub(crate) table: Table,
}

#[derive(Clone, Debug)]
pub(crate) struct Recommendation {
    /// Recommended action.
    pub(crate) action: String,
    /// Numbers that support the recommendation.
    pub(crate) because: String,
    /// Name of the rule that made the recommendation.
    pub(crate) rule: String,
}

/// Table of a report.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Caption, unique in the document.
    pub(crate) caption: String,
    /// Titles of the columns.
    pub(crate) columns: Vec<String>,
    /// Number of columns, from the left, that name the row. They contain words. The other columns
    /// contain numbers unless their cells are marked as words.
    pub(crate) heads: usize,
    /// Rows, with one cell for each column.
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// Table that is built column by column, from the items that its rows are about.
pub(crate) struct Rows<T> {
    items: Vec<T>,
    columns: Vec<String>,
    cells: Vec<Vec<Cell>>,
}

impl<T> Rows<T> {
    /// One row for each item.
    pub(crate) fn of(items: impl IntoIterator<Item = T>) -> Self {
        let items: Vec<T> = items.into_iter().collect();
        Self {
            cells: items.iter().map(|_| Vec::new()).collect(),
            columns: Vec::new(),
            items,
        }
    }

    /// Adds a column with this title.
    pub(crate) fn column<C: Into<Cell>>(
        mut self,
        title: impl Into<String>,
        cell: impl Fn(&T) -> C,
    ) -> Self {
        self.columns.push(title.into());
        for (row, item) in self.cells.iter_mut().zip(&self.items) {
            row.push(cell(item).into());
        }
        self
    }

    /// Adds a column for each of `others`: its title, and the cell of an item.
    pub(crate) fn columns<O, S: Into<String>, C: Into<Cell>>(
        self,
        others: impl IntoIterator<Item = O>,
        title: impl Fn(&O) -> S,
        cell: impl Fn(&T, &O) -> C,
    ) -> Self {
        let others = others.into_iter();
        others.fold(self, |rows, other| {
            rows.column(title(&other), |item| cell(item, &other))
        })
    }

    /// Adds a column if `has_data`.
    pub(crate) fn column_if<C: Into<Cell>>(
        self,
        has_data: bool,
        title: impl Into<String>,
        cell: impl Fn(&T) -> C,
    ) -> Self {
        if has_data {
            self.column(title, cell)
        } else {
            self
        }
    }

    /// The table, of which the first `heads` columns name the row.
    pub(crate) fn table(self, caption: impl Into<String>, heads: usize) -> Table {
        Table {
            caption: caption.into(),
            columns: self.columns,
            heads,
            rows: self.cells,
        }
    }

    /// The table as a block; `None` without rows.
    pub(crate) fn block(self, caption: impl Into<String>, heads: usize) -> Option<Block> {
        (!self.items.is_empty()).then(|| Block::Table(self.table(caption, heads)))
    }
}

impl Document {
    /// Sorts the sections by their places.
    pub(crate) fn in_order(mut self) -> Self {
        self.sections.sort_by_key(|section| section.place);
        self
    }
}

impl Table {
    /// Returns true if a column contains words, which are aligned left, rather than numbers.
    pub(crate) fn is_text_column(&self, column: usize) -> bool {
        let first = self.rows.first().and_then(|row| row.get(column));
        column < self.heads || first.is_some_and(|cell| cell.is_text)
    }

    /// The table as parts of at most `most` columns each, besides those that name the row.
    pub(crate) fn parts(&self, most: usize) -> Vec<Self> {
        let numbers: Vec<usize> = (self.heads..self.columns.len()).collect();
        let parts = numbers.chunks(most.max(1)).map(|part| {
            let places = || (0..self.heads).chain(part.iter().copied());
            let cells = |row: &Vec<Cell>| places().filter_map(|at| row.get(at).cloned()).collect();
            let ends = (part.first(), part.last());
            let named = match ends {
                (Some(first), Some(last)) => {
                    format!("{} to {}", self.columns[*first], self.columns[*last])
                }
                _ => String::new(),
            };
            Self {
                caption: format!("{}: {named}", self.caption),
                columns: places().map(|at| self.columns[at].clone()).collect(),
                heads: self.heads,
                rows: self.rows.iter().map(cells).collect(),
            }
        });
        parts.collect()
    }
}

/// One cell of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Text of the cell.
    pub(crate) text: String,
    /// True if the value is the best of those it is compared with.
    pub(crate) best: bool,
    /// True if the column of the cell contains words.
    pub(crate) is_text: bool,
}

impl Cell {
    /// Cell that names a row, or a number that is already formatted.
    pub(crate) fn of(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            best: false,
            is_text: false,
        }
    }

    /// Cell of words that do not name the row.
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self {
            is_text: true,
            ..Self::of(text)
        }
    }

    /// Cell of a number, as `text` formats it, or a dash if it is undefined.
    pub(crate) fn optional<N>(number: Option<N>, text: impl Fn(N) -> String) -> Self {
        Self::of(optional(number, text))
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::of(text)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::of(count.to_string())
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::of(count.to_string())
    }
}

/// Cell of a score, or a dash if it is undefined.
impl From<Option<f64>> for Cell {
    fn from(score: Option<f64>) -> Self {
        Self::optional(score, number)
    }
}

/// Formats a number as `text` does, or a dash if it is undefined.
pub(crate) fn optional<N>(number: Option<N>, text: impl Fn(N) -> String) -> String {
    number.map_or_else(|| "–".to_owned(), text)
}

/// Formats a score with four decimals, as trec_eval prints it.
pub(crate) fn number(score: f64) -> String {
    unsigned_zero(format!("{score:.4}"))
}

/// Formats a difference of scores with its sign.
pub(crate) fn signed(difference: f64) -> String {
    unsigned_zero(format!("{difference:+.4}"))
}

/// Formats a share in percent, with its sign.
pub(crate) fn percentage(share: f64) -> String {
    unsigned_zero(format!("{:+.1} %", 100.0 * share))
}

/// Formats an interval of differences in brackets.
pub(crate) fn interval([low, high]: [f64; 2]) -> String {
    format!("[{}, {}]", signed(low), signed(high))
}

/// Removes the sign of a number that is rounded to zero.
fn unsigned_zero(text: String) -> String {
    let digits = text.trim_start_matches(['+', '-']);
    if digits.chars().any(|it| ('1'..='9').contains(&it)) {
        text
    } else {
        digits.to_owned()
    }
}
