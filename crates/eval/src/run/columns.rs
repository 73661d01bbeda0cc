//! Columns of tables and records: their names in the files of common tools, and those that an argument
//! states.

use std::str::FromStr;

/// Content of a column of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Query,
    Document,
    Rank,
    /// Higher is better.
    Score,
    /// Lower is better.
    Distance,
}

/// Names of columns by content, as they are compared. A name that comes first is preferred.
const NAMES: [(Role, &[&str]); 5] = [
    (
        Role::Query,
        &[
            "query_id",
            "queryid",
            "qid",
            "q_id",
            "query_key",
            "topic_id",
            "topic",
            "question_id",
            "query",
            "query_text",
        ],
    ),
    (
        Role::Document,
        &[
            "document_id",
            "documentid",
            "doc_id",
            "docid",
            "docno",
            "did",
            "corpus_id",
            "pid",
            "passage_id",
            "chunk_id",
            "item_id",
            "product_id",
            "document",
            "doc",
        ],
    ),
    (Role::Rank, &["rank", "position", "pos"]),
    (
        Role::Score,
        &[
            "score",
            "sim",
            "similarity",
            "relevance_score",
            "retrieval_score",
        ],
    ),
    (Role::Distance, &["distance", "dist"]),
];

/// Words of an argument for the contents of columns.
const WORDS: [(&str, Role); 5] = [
    ("query", Role::Query),
    ("document", Role::Document),
    ("rank", Role::Rank),
    ("score", Role::Score),
    ("distance", Role::Distance),
];

/// Form in which names are compared: `Query-ID` is `query_id`.
fn compared(name: &str) -> String {
    let name = name.trim().trim_matches('"').trim().to_lowercase();
    name.replace([' ', '-', '.'], "_")
}

/// Column by its name or its 1-based number.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Column {
    Named(String),
    Numbered(usize),
}

/// Columns of a run that an argument states: `query=qid,document=pid,score=3`, names or 1-based numbers, or the
/// contents of all columns in their order, `query,document,rank`, with `_` for a column that is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<(Role, Column)>);

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let role = |word: &str| {
            let found = WORDS.iter().find(|(known, _)| *known == word);
            found.map(|(_, role)| *role).ok_or_else(|| {
                format!(
                    "`{word}` is no content of a column; write `query`, `document`, `rank`, `score` or \
                     `distance` (lower is better), and `_` for a column that is not read"
                )
            })
        };
        let mut columns: Vec<(Role, Column)> = Vec::new();
        for (number, part) in (1..).zip(text.split(',')) {
            let (word, column) = match part.split_once('=') {
                None if matches!(part.trim(), "_" | "-") => continue,
                None => (part.trim(), Column::Numbered(number)),
                Some((word, column)) => {
                    let column = column.trim();
                    let numbered = column.parse().ok().filter(|number| *number > 0);
                    let named = || Column::Named(column.to_owned());
                    (word.trim(), numbered.map_or_else(named, Column::Numbered))
                }
            };
            let role = role(word)?;
            if columns.iter().any(|(known, _)| *known == role) {
                return Err(format!("`{word}` is stated twice; keep one"));
            }
            columns.push((role, column));
        }
        for (word, needed) in WORDS.iter().take(2) {
            if !columns.iter().any(|(role, _)| role == needed) {
                return Err(format!(
                    "the column of the {word} is missing; write for example `query,document,score`, or \
                     `query=qid,document=pid,score=3`"
                ));
            }
        }
        Ok(Self(columns))
    }
}

impl Columns {
    /// Returns true if a column is stated by its name, which a header must contain.
    pub(super) fn need_header(&self) -> bool {
        let mut columns = self.0.iter();
        columns.any(|(_, column)| matches!(column, Column::Named(_)))
    }

    /// Names that are stated.
    fn names(&self) -> impl Iterator<Item = (Role, &str)> {
        self.0.iter().filter_map(|(role, column)| match column {
            Column::Named(name) => Some((*role, name.as_str())),
            Column::Numbered(_) => None,
        })
    }
}

/// Positions of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Positions {
    pub(super) query: usize,
    pub(super) document: usize,
    pub(super) rank: Option<usize>,
    pub(super) score: Option<usize>,
    /// True if the column of the score contains distances.
    pub(super) is_distance: bool,
}

impl Positions {
    /// Finds the columns of a header or record: those of `stated`, else by their names. `None` without a
    /// column of queries or documents.
    pub(super) fn of(names: &[&str], stated: Option<&Columns>) -> Option<Self> {
        let as_compared: Vec<String> = names.iter().map(|name| compared(name)).collect();
        let found = |role: Role| {
            let Some(stated) = stated else {
                let (_, known) = NAMES.iter().find(|(it, _)| *it == role)?;
                let mut known = known.iter();
                return known.find_map(|known| as_compared.iter().position(|name| name == known));
            };
            let (_, column) = stated.0.iter().find(|(it, _)| *it == role)?;
            match column {
                Column::Numbered(number) => Some(number - 1),
                Column::Named(wanted) => {
                    let wanted = compared(wanted);
                    as_compared.iter().position(|name| *name == wanted)
                }
            }
        };
        let (score, distance) = (found(Role::Score), found(Role::Distance));
        Some(Self {
            query: found(Role::Query)?,
            document: found(Role::Document)?,
            rank: found(Role::Rank),
            score: score.or(distance),
            is_distance: score.is_none() && distance.is_some(),
        })
    }

    /// Positions in a table of three columns without a header, of which the last is the rank or the score.
    pub(super) fn of_three(is_rank: bool) -> Self {
        Self {
            query: 0,
            document: 1,
            rank: is_rank.then_some(2),
            score: (!is_rank).then_some(2),
            is_distance: false,
        }
    }
}

/// Description of the stated names that a header does not contain, and of the header.
pub(super) fn missing(names: &[&str], stated: &Columns) -> String {
    let has = |wanted: &str| names.iter().any(|name| compared(name) == compared(wanted));
    let missing = stated.names().filter(|(_, name)| !has(name));
    let missing: Vec<String> = missing.map(|(_, name)| format!("`{name}`")).collect();
    format!(
        "no column is called {}; the columns are {}",
        missing.join(" or "),
        names.join(", ")
    )
}
