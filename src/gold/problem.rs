//! Everything that can be wrong with a gold set, said so that it can be put right.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::Grade;

/// Where in a gold set: a file and, where it is known, a line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name.
    pub file: String,
    /// 1-based; for a query in JSON, the line on which it begins.
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// One thing that is wrong, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum Problem {
    #[error("{}: cannot be read: {source}; check the path and its permissions", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: the folder holds no gold file; put one there or name a file", path.display())]
    NoFiles { path: PathBuf },
    #[error("{file}: the file is empty; give it queries with judgements, or leave it out")]
    Empty { file: String },
    #[error("{file}: `queries` is an empty list; give it queries, or leave the file out")]
    NoQueries { file: String },
    #[error("{place}: not UTF-8; save the file as UTF-8")]
    NotUtf8 { place: Place },
    #[error(
        "{place}: not a gold format that is known; expected JSON with a list `queries`, or TREC \
         qrels with four columns `query iteration document grade`"
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
    #[error(
        "{place}: {found} columns where TREC qrels have four, `query iteration document grade`, \
         separated by white space"
    )]
    QrelsColumns { place: Place, found: usize },
    #[error("{place}: the grade `{value}` is not a number from -1000 to 1000")]
    QrelsGrade { place: Place, value: String },
    #[error("{place}: a topic is written as the query's id, a tab, and its text")]
    Topic { place: Place },
    #[error("{place}: the topic `{key}` already stands at {first}; keep one of the two")]
    RepeatedTopic {
        place: Place,
        key: String,
        first: Place,
    },
    #[error("{place}: a query has an empty id; give it one of its own")]
    BlankKey { place: Place },
    #[error("{place}: query `{key}` has a blank text or alias; write it out or leave it out")]
    BlankText { place: Place, key: String },
    #[error("{place}: the query id `{key}` already stands at {first}; rename or remove one")]
    RepeatedQuery {
        place: Place,
        key: String,
        first: Place,
    },
    #[error(
        "{place}: query `{key}` judges document `{document}` again, first at {first}; keep one of \
         the two judgements"
    )]
    RepeatedDocument {
        place: Place,
        key: String,
        document: String,
        first: Place,
    },
    #[error(
        "{place}: the text `{text}` of query `{key}` also belongs to query `{other}` at {first} \
         (letter case and white space do not tell texts apart); no search for it could be \
         assigned to either, so give it to one"
    )]
    SharedText {
        place: Place,
        text: String,
        key: String,
        other: String,
        first: Place,
    },
    #[error(
        "{place}: query `{key}` states total_relevant {stated}, but {counted} of its documents \
         have a grade of at least {level}; correct the number or the judgements"
    )]
    TotalRelevant {
        place: Place,
        key: String,
        stated: u64,
        counted: usize,
        level: Grade,
    },
    #[error(
        "{place}: query `{key}` gives document `{document}` the grade {grade}, beyond scale_max \
         {scale_max}; correct the grade or the scale"
    )]
    BeyondScale {
        place: Place,
        key: String,
        document: String,
        grade: Grade,
        scale_max: Grade,
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
}

fn prefix(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    }
}

/// A gold set that cannot be used, with everything that is wrong with it.
#[derive(Debug)]
pub struct GoldError {
    problems: Vec<Problem>,
}

/// How many problems the message lists.
const LISTED: usize = 50;

impl GoldError {
    /// An error of at least one problem.
    pub(super) fn new(problems: Vec<Problem>) -> Self {
        Self { problems }
    }

    /// All that is wrong, in the order of the files.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for GoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [problem] => write!(f, "the gold set has a problem: {problem}"),
            problems => {
                write!(f, "the gold set has {} problems:", problems.len())?;
                for problem in problems.iter().take(LISTED) {
                    write!(f, "\n  {problem}")?;
                }
                match problems.len().checked_sub(LISTED) {
                    None | Some(0) => Ok(()),
                    Some(more) => write!(f, "\n  … and {more} more"),
                }
            }
        }
    }
}

impl std::error::Error for GoldError {}
