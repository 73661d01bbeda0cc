//! Problems of a gold set, with messages that name the place, the cause and the remedy.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::judgements::Grade;
use crate::compression::remedy;
use crate::text::{TextError, count_of, escape_controls};

/// Maximum size of a gold file: 256 MiB, more than ten million judgements. A larger file is not a
/// gold file and would exhaust the memory.
pub const MAX_FILE_BYTES: usize = 256 << 20;

/// Location in a gold set: a file and, where known, a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File name.
    pub file: Arc<str>,
    /// 1-based line; for a query in JSON, its first line.
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", escape_controls(&self.file)),
            None => f.write_str(&escape_controls(&self.file)),
        }
    }
}

/// Problem of a gold set, with its location and remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum Problem {
    #[error("{}: cannot be read: {source}{}", shown(path), remedy(.source))]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "{}: the folder holds no gold file; put one there or name a file",
        shown(path)
    )]
    NoFiles { path: PathBuf },
    #[error("{file}: the file is empty; give it queries with judgements, or leave it out")]
    Empty { file: Arc<str> },
    #[error(
        "{file}: only the header `{}`, and no judgements; add lines with a query, a document and a grade, \
         or leave the file out", short(.header)
    )]
    OnlyHeader { file: Arc<str>, header: String },
    #[error("{file}: `{list}` is an empty list; give it queries, or leave the file out")]
    NoQueries { file: Arc<str>, list: &'static str },
    #[error("{name} is empty; give it queries with judgements")]
    NoRows { name: Arc<str> },
    #[error(
        "{place}: the file is larger than {} MiB, the limit for a gold file; check the path, or \
         split it", MAX_FILE_BYTES >> 20
    )]
    TooLarge { place: Place },
    #[error("{place}: {error}")]
    NotUtf8 { place: Place, error: TextError },
    #[error(
        "{}: no judgements, only {topics} query {} (an id and a text); give documents with grades: TREC qrels \
         `query iteration document grade`, BEIR's tsv with the header `query-id corpus-id score`, or JSON",
        escape_controls(&files.join(", ")),
        if *.topics == 1 { "text" } else { "texts" }
    )]
    NoJudgements { files: Vec<String>, topics: usize },
    #[error(
        "{}: {}, and nothing is judged; give documents with grades in {grades}; `rankgauge gold propose` finds \
         documents to grade",
        escape_controls(&files.join(", ")),
        count_of(*.queries, "query", "queries")
    )]
    Unjudged {
        files: Vec<String>,
        queries: usize,
        /// Place of the grades in the format.
        grades: String,
    },
    #[error(
        "{place}: the file is read for the query texts of {judgements} (an id, a tab, a text), because it has \
         the same name; its lines have {found} columns, so rename it, or move it to another folder"
    )]
    NotTopics {
        place: Place,
        judgements: Arc<str>,
        found: usize,
    },
    #[error(
        "{place}: the first line `{}` is Excel's note of the separator; remove the line", short(.line)
    )]
    SeparatorLine { place: Place, line: String },
    #[error(
        "{}: the folder has several files of judgements in qrels ({}); name one of them", shown(path),
        escape_controls(&names.join(", "))
    )]
    SeveralSplits { path: PathBuf, names: Vec<String> },
    #[error("{file}: BEIR's documents are no queries; leave the file out")]
    Corpus { file: Arc<str> },
    #[error(
        "{place}: unknown gold format; expected JSON (native, RAG design, evaluation \
         plan, SRW, rank_eval, ranx, Quepid, RRE), TREC qrels with four columns `query iteration document \
         grade`, a BEIR tsv with the header `query-id corpus-id score`, or a table whose header names a query, a \
         document and a grade, as `query_id,doc_id,relevance`"
    )]
    UnrecognisedFormat { place: Place },
    #[error("{place}: {reason}")]
    Json { place: Place, reason: String },
    #[error("{place}: {}{reason}", prefix(.path))]
    JsonValue {
        place: Place,
        path: String,
        reason: String,
    },
    #[error("{place}: {found} columns where {expected}")]
    Columns {
        place: Place,
        found: usize,
        expected: &'static str,
    },
    #[error(
        "{place}: the grade `{}` is not a number from -1000 to 1000", short(.value)
    )]
    GradeText { place: Place, value: String },
    #[error("{place}: {reason}")]
    Row { place: Place, reason: String },
    #[error("{place}: a topic is written as the query's id, a tab, and its text")]
    Topic { place: Place },
    #[error(
        "{place}: the topic `{}` is already defined at {first}; keep one of the two", short(.key)
    )]
    RepeatedTopic {
        place: Place,
        key: String,
        first: Place,
    },
    #[error("{place}: a query has an empty id; give it a unique id")]
    EmptyQueryId { place: Place },
    #[error(
        "{place}: query `{}` judges a document with an empty id; give it its id, or remove the judgement", short(.key)
    )]
    EmptyDocumentId { place: Place, key: String },
    #[error(
        "{place}: query `{}` has an empty document id in `{field}`; give it its id, or leave it out", short(.key)
    )]
    EmptyIdIn {
        place: Place,
        key: String,
        field: &'static str,
    },
    #[error(
        "{place}: query `{}` has a blank text or alias; fill it in or remove it", short(.key)
    )]
    BlankText { place: Place, key: String },
    #[error(
        "{place}: the query id `{}` is already defined at {first}; rename or remove one",
        short(.key)
    )]
    RepeatedQuery {
        place: Place,
        key: String,
        first: Place,
    },
    #[error(
        "{place}: query `{}` judges document `{}` again, first at {first}; keep one of \
         the two judgements", short(.key), short(.document)
    )]
    RepeatedDocument {
        place: Place,
        key: String,
        document: String,
        first: Place,
    },
    #[error(
        "{place}: query `{}` judges document `{}` again and contradicts itself: grade {grade}, but \
         {other} at {first}; keep one of the two judgements", short(.key), short(.document)
    )]
    Contradiction {
        place: Place,
        key: String,
        document: String,
        grade: Grade,
        other: Grade,
        first: Place,
    },
    #[error(
        "{place}: the text `{}` of query `{}` also belongs to query `{}` at {first} \
         (letter case and white space are ignored); a search for it would match both, so keep \
         it in one of the two", short(.text), short(.key), short(.other)
    )]
    DuplicateText {
        place: Place,
        text: String,
        key: String,
        other: String,
        first: Place,
    },
    #[error(
        "{place}: query `{}` states total_relevant {stated}, but {counted} of its documents \
         have a grade of at least {level}; correct the number or the judgements", short(.key)
    )]
    TotalRelevant {
        place: Place,
        key: String,
        stated: u64,
        counted: usize,
        level: Grade,
    },
    #[error(
        "{place}: query `{}` gives document `{}` the grade {grade}, beyond scale_max \
         {scale_max}; correct the grade or the scale", short(.key), short(.document)
    )]
    BeyondScale {
        place: Place,
        key: String,
        document: String,
        grade: Grade,
        scale_max: Grade,
    },
    #[error("{place}: query `{}`: {field}: {reason}", short(key))]
    ExpectedAnswer {
        place: Place,
        key: String,
        field: &'static str,
        reason: String,
    },
    #[error(
        "{place}: {setting} is {value}, but {other} at {first}; files of one gold set must agree"
    )]
    Disagreement {
        place: Place,
        setting: &'static str,
        value: Grade,
        other: Grade,
        first: Place,
    },
    #[error(
        "{place}: its judgements are of the kind {kind}, but {other} at {first}; never merge kinds: \
         load one of them"
    )]
    MixedKinds {
        place: Place,
        kind: String,
        other: String,
        first: Place,
    },
}

fn prefix(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{}: ", excerpt(path, 300))
    }
}

/// Path for a message.
fn shown(path: &Path) -> String {
    escape_controls(&path.display().to_string())
}

/// Beginning of an id, text or value for a message. Files may hold values of any length.
fn short(text: &str) -> Excerpt<'_> {
    excerpt(text, 100)
}

/// Returns the first `length` characters of a text; an ellipsis marks a cut text.
pub(super) fn excerpt(text: &str, length: usize) -> Excerpt<'_> {
    let end = text.char_indices().nth(length).map(|(end, _)| end);
    Excerpt {
        shown: end.and_then(|end| text.get(..end)).unwrap_or(text),
        cut: end.is_some(),
    }
}

/// Beginning of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Excerpt<'a> {
    shown: &'a str,
    cut: bool,
}

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape_controls(self.shown))?;
        f.write_str(if self.cut { "…" } else { "" })
    }
}

impl Problem {
    /// Location of the problem; `None` for files and folders that cannot be read.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Unreadable { .. }
            | Self::NoFiles { .. }
            | Self::NoJudgements { .. }
            | Self::Unjudged { .. }
            | Self::NoRows { .. }
            | Self::SeveralSplits { .. } => None,
            Self::Empty { file }
            | Self::Corpus { file }
            | Self::OnlyHeader { file, .. }
            | Self::NoQueries { file, .. } => Some(Place {
                file: file.clone(),
                line: None,
            }),
            Self::TooLarge { place }
            | Self::NotUtf8 { place, .. }
            | Self::UnrecognisedFormat { place }
            | Self::NotTopics { place, .. }
            | Self::SeparatorLine { place, .. }
            | Self::Json { place, .. }
            | Self::JsonValue { place, .. }
            | Self::Columns { place, .. }
            | Self::GradeText { place, .. }
            | Self::Row { place, .. }
            | Self::Topic { place }
            | Self::RepeatedTopic { place, .. }
            | Self::EmptyQueryId { place }
            | Self::EmptyDocumentId { place, .. }
            | Self::EmptyIdIn { place, .. }
            | Self::BlankText { place, .. }
            | Self::RepeatedQuery { place, .. }
            | Self::RepeatedDocument { place, .. }
            | Self::Contradiction { place, .. }
            | Self::DuplicateText { place, .. }
            | Self::TotalRelevant { place, .. }
            | Self::BeyondScale { place, .. }
            | Self::ExpectedAnswer { place, .. }
            | Self::Disagreement { place, .. }
            | Self::MixedKinds { place, .. } => Some(place.clone()),
        }
    }

    /// Id of the affected query, if any.
    pub fn query(&self) -> Option<&str> {
        match self {
            Self::EmptyDocumentId { key, .. }
            | Self::EmptyIdIn { key, .. }
            | Self::RepeatedTopic { key, .. }
            | Self::BlankText { key, .. }
            | Self::RepeatedQuery { key, .. }
            | Self::RepeatedDocument { key, .. }
            | Self::Contradiction { key, .. }
            | Self::DuplicateText { key, .. }
            | Self::TotalRelevant { key, .. }
            | Self::ExpectedAnswer { key, .. }
            | Self::BeyondScale { key, .. } => Some(key),
            _ => None,
        }
    }

    /// Machine-readable kind of the problem.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } | Self::NoFiles { .. } | Self::SeveralSplits { .. } => {
                "unreadable"
            }
            Self::Empty { .. } | Self::NoQueries { .. } | Self::NoRows { .. } => "empty",
            Self::NoJudgements { .. } | Self::Unjudged { .. } | Self::OnlyHeader { .. } => {
                "no_judgements"
            }
            Self::TooLarge { .. } => "too_large",
            Self::NotUtf8 { .. } => "not_utf8",
            Self::UnrecognisedFormat { .. }
            | Self::NotTopics { .. }
            | Self::SeparatorLine { .. }
            | Self::Corpus { .. } => "unrecognised_format",
            Self::Json { .. } | Self::JsonValue { .. } => "json",
            Self::Columns { .. } | Self::Row { .. } | Self::Topic { .. } => "line",
            Self::GradeText { .. } => "grade",
            Self::RepeatedTopic { .. } => "repeated_topic",
            Self::EmptyQueryId { .. } | Self::EmptyDocumentId { .. } | Self::EmptyIdIn { .. } => {
                "missing_id"
            }
            Self::BlankText { .. } => "blank_text",
            Self::ExpectedAnswer { .. } => "expected_answer",
            Self::RepeatedQuery { .. } => "repeated_query",
            Self::RepeatedDocument { .. } => "repeated_judgement",
            Self::Contradiction { .. } => "contradicting_judgements",
            Self::DuplicateText { .. } => "shared_text",
            Self::TotalRelevant { .. } => "total_relevant",
            Self::BeyondScale { .. } => "beyond_scale",
            Self::Disagreement { .. } | Self::MixedKinds { .. } => "files_disagree",
        }
    }

    /// Message without the location.
    pub fn message(&self) -> String {
        let text = self.to_string();
        let place = self.place().map(|place| format!("{place}: "));
        match place.and_then(|place| text.strip_prefix(&place).map(str::to_owned)) {
            Some(message) => message,
            None => text,
        }
    }
}

/// Problems in the order in which they are found. The first [`KEPT`] are kept and the others are
/// counted, because a file that consists of mistakes would otherwise exhaust the memory.
#[derive(Debug, Default)]
pub(super) struct Problems {
    kept: Vec<Problem>,
    more: usize,
}

/// Maximum number of problems that are kept.
const KEPT: usize = 1000;

impl Problems {
    /// Adds a problem.
    pub(super) fn push(&mut self, problem: Problem) {
        if self.kept.len() < KEPT {
            self.kept.push(problem);
        } else {
            self.more += 1;
        }
    }

    /// Adds the problems of a later part.
    pub(super) fn append(&mut self, part: Self) {
        self.more += part.more;
        for problem in part.kept {
            self.push(problem);
        }
    }

    /// Number of problems.
    pub(super) fn count(&self) -> usize {
        self.kept.len() + self.more
    }

    /// Returns true without problems.
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns the problems as an error; `None` without problems.
    pub(super) fn into_error(self) -> Option<GoldError> {
        (!self.kept.is_empty()).then_some(GoldError {
            what: "the gold set",
            problems: self.kept,
            more: self.more,
        })
    }
}

/// Error for an invalid gold set, with all its problems.
#[derive(Debug)]
pub struct GoldError {
    what: &'static str,
    problems: Vec<Problem>,
    more: usize,
}

/// Maximum number of problems in the message.
const LISTED: usize = 50;

impl GoldError {
    /// Sets the subject of the message. Default: `the gold set`.
    pub(super) fn about(mut self, what: &'static str) -> Self {
        self.what = what;
        self
    }

    /// First 1000 problems, in the order of the files.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Number of problems that [`GoldError::problems`] does not contain.
    pub fn more(&self) -> usize {
        self.more
    }
}

impl fmt::Display for GoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [problem] if self.more == 0 => write!(f, "{} has a problem: {problem}", self.what),
            problems => {
                let all = problems.len() + self.more;
                write!(f, "{} has {all} problems:", self.what)?;
                for problem in problems.iter().take(LISTED) {
                    write!(f, "\n  {problem}")?;
                }
                match all.checked_sub(LISTED) {
                    None | Some(0) => Ok(()),
                    Some(more) => write!(f, "\n  … and {more} more"),
                }
            }
        }
    }
}

impl std::error::Error for GoldError {}
