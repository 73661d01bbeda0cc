//! Columns of tables and records, of runs and of judgements: their names in the files of common tools, those that an
//! argument states, and the fields of a table.

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Id of a query.
    Query,
    /// Id of a document.
    Document,
    /// Rank of a result.
    Rank,
    /// Score of a result. Higher is better.
    Score,
    /// Distance of a result. Lower is better.
    Distance,
    /// Grade of a judgement.
    Grade,
    /// Text of a query.
    Text,
    /// Subtopic of a query that a judgement is about.
    Subtopic,
}

impl Role {
    /// Position of the column of this content in a header or record: that of `stated`, else by its name. `None`
    /// without such a column.
    pub fn position(self, names: &[&str], stated: Option<&Columns>) -> Option<usize> {
        let mut as_compared = names.iter().map(|name| compared(name));
        let Some(stated) = stated else {
            let (_, known) = NAMES.iter().find(|(it, _)| *it == self)?;
            let as_compared: Vec<String> = as_compared.collect();
            let mut known = known.split(' ');
            return known.find_map(|known| as_compared.iter().position(|name| name == known));
        };
        let (_, column) = stated.0.iter().find(|(it, _)| *it == self)?;
        match column {
            Column::Numbered(number) => Some(number - 1),
            Column::Named(wanted) => {
                let wanted = compared(wanted);
                as_compared.position(|name| name == wanted)
            }
        }
    }
}

/// Names of columns by content, as they are compared. A name that comes first is preferred.
const NAMES: [(Role, &str); 8] = [
    (
        Role::Query,
        "query_id queryid qid q_id query_key topic_id topic question_id query query_text",
    ),
    (
        Role::Document,
        "document_id documentid doc_id docid docno did corpus_id pid passage_id chunk_id item_id product_id \
         document doc",
    ),
    (Role::Rank, "rank position pos"),
    (
        Role::Score,
        "score sim similarity relevance_score retrieval_score",
    ),
    (Role::Distance, "distance dist"),
    (
        Role::Grade,
        "grade relevance rel label rating judgment judgement relevance_grade relevance_label score",
    ),
    (Role::Text, "query_text text query"),
    // The second column of TREC qrels is `iteration` in the tables of ir_measures and ir_datasets.
    (
        Role::Subtopic,
        "subtopic_id subtopic intent_id aspect_id iteration",
    ),
];

/// Words of an argument for the contents of columns.
const WORDS: [(&str, Role); 8] = [
    ("query", Role::Query),
    ("document", Role::Document),
    ("rank", Role::Rank),
    ("score", Role::Score),
    ("distance", Role::Distance),
    ("grade", Role::Grade),
    ("text", Role::Text),
    ("subtopic", Role::Subtopic),
];

/// Contents of the columns of a run.
const OF_RUN: [Role; 5] = [
    Role::Query,
    Role::Document,
    Role::Rank,
    Role::Score,
    Role::Distance,
];

/// Contents of the columns of judgements.
const OF_GOLD: [Role; 5] = [
    Role::Query,
    Role::Document,
    Role::Grade,
    Role::Text,
    Role::Subtopic,
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

/// Columns that an argument states: `query=qid,document=pid,score=3`, names or 1-based numbers, or the contents of
/// all columns in their order, `query,document,rank`, with `_` for a column that is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<(Role, Column)>);

impl Columns {
    /// Parses the columns of a run: query, document, rank, score and distance.
    ///
    /// # Errors
    /// A word is unknown or repeated, or query or document are missing.
    pub fn of_run(text: &str) -> Result<Self, String> {
        Self::parse(text, &OF_RUN, &OF_RUN[..2], "score")
    }

    /// Parses the columns of judgements: query, document, grade, text and subtopic.
    ///
    /// # Errors
    /// A word is unknown or repeated, or query, document or grade are missing.
    pub fn of_gold(text: &str) -> Result<Self, String> {
        Self::parse(text, &OF_GOLD, &OF_GOLD[..3], "grade")
    }

    /// Parses columns of the contents `known`, of which some are `needed`. `number` is the word of the third
    /// column in examples.
    fn parse(text: &str, known: &[Role], needed: &[Role], number: &str) -> Result<Self, String> {
        let words = || WORDS.iter().filter(|(_, role)| known.contains(role));
        let role = |word: &str| {
            let found = words().find(|(known, _)| *known == word);
            found.map(|(_, role)| *role).ok_or_else(|| {
                let words: Vec<String> = words().map(|(word, _)| format!("`{word}`")).collect();
                format!(
                    "`{word}` is no content of a column; write {}, and `_` for a column that is not read",
                    words.join(", ")
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
        for (word, _) in words().filter(|(_, role)| needed.contains(role)) {
            if !columns
                .iter()
                .any(|(role, _)| WORDS.contains(&(*word, *role)))
            {
                return Err(format!(
                    "the column of the {word} is missing; write for example `query,document,{number}`, or \
                     `query=qid,document=pid,{number}=3`"
                ));
            }
        }
        Ok(Self(columns))
    }

    /// Returns true if a column is stated by its name, which a header must contain.
    pub fn need_header(&self) -> bool {
        let mut columns = self.0.iter();
        columns.any(|(_, column)| matches!(column, Column::Named(_)))
    }

    /// Description of the stated names that a header does not contain, and of the header. `None` if it contains all.
    pub fn missing(&self, names: &[&str]) -> Option<String> {
        let has = |wanted: &str| names.iter().any(|name| compared(name) == compared(wanted));
        let missing = self.names().filter(|(_, name)| !has(name));
        let missing: Vec<String> = missing.map(|(_, name)| format!("`{name}`")).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "no column is called {}; the columns are {}",
                missing.join(" or "),
                names.join(", ")
            )
        })
    }

    /// Names that are stated.
    fn names(&self) -> impl Iterator<Item = (Role, &str)> {
        self.0.iter().filter_map(|(role, column)| match column {
            Column::Named(name) => Some((*role, name.as_str())),
            Column::Numbered(_) => None,
        })
    }
}

/// Reader of the table `text`, whose header states the separator. Rows may differ in length. It returns fields
/// without the white space around them: that is no part of an id, a name or a number, in tables of runs and of
/// judgements and in sheets alike. Readers that split a line themselves trim the fields.
pub fn reader(text: &str) -> csv::ReaderBuilder {
    let mut builder = csv::ReaderBuilder::new();
    builder
        .flexible(true)
        .delimiter(delimiter(header_of(text)))
        .trim(csv::Trim::All);
    builder
}

/// Returns the separator of a table: the most frequent candidate in its header. Spreadsheets write
/// semicolons where the comma is the decimal separator.
pub(crate) fn delimiter(header: &str) -> u8 {
    let count = |delimiter: char| header.matches(delimiter).count();
    let (commas, semicolons, tabs) = (count(','), count(';'), count('\t'));
    if tabs > commas.max(semicolons) {
        b'\t'
    } else if semicolons > commas {
        b';'
    } else {
        b','
    }
}

/// Header of a table: its first line with content.
pub(crate) fn header_of(text: &str) -> &str {
    let header = text.lines().find(|line| !line.trim().is_empty());
    header.map(str::trim).unwrap_or_default()
}
