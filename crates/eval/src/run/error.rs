//! Errors of run files, with their places.

use std::io;
use std::path::{Path, PathBuf};

use rankgauge_core::compression::remedy;
use rankgauge_core::text::TextError;

/// Maximum length of a line of a TREC run in bytes.
pub(super) const MAX_LINE_BYTES: usize = 1 << 20;

/// Maximum size of a run that is read as a whole, in bytes: JSON, which can be a single line, or a table.
pub(super) const MAX_WHOLE_BYTES: usize = 256 << 20;

/// Error in a run file.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {problem}", .path.display(), .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct RunError {
    /// Path of the file.
    pub path: PathBuf,
    /// Line number, from 1; `None` if the error concerns the whole file.
    pub line: Option<usize>,
    /// Description of the error.
    pub problem: RunProblem,
}

/// Kinds of errors in a run file.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum RunProblem {
    #[error("cannot be read: {0}{remedy}", remedy = remedy(.0))]
    Unreadable(#[from] io::Error),
    #[error("the run is empty; give it at least one result")]
    Empty,
    #[error("{0}")]
    NotUtf8(TextError),
    #[error("the line is longer than {MAX_LINE_BYTES} bytes; check that the file is a run")]
    LongLine,
    #[error("the run is larger than {MAX_WHOLE_BYTES} bytes; write it as a TREC run")]
    TooLarge,
    #[error("{0}")]
    Row(String),
    #[error(
        "unknown run format; expected a TREC run (`query Q0 document rank score name`), search \
         events (one JSON object per line), JSON (`{{query: {{document: score}}}}`), or a table whose columns are \
         named by a header or by --columns (query, document, and score or rank)"
    )]
    UnrecognisedFormat,
    #[error(
        "{found} columns where a TREC run has six, `query Q0 document rank score name`; name other columns \
         with --columns, for example query,document,rank,score"
    )]
    Columns { found: usize },
    #[error("the {what} `{value}` is not a number{}; the {columns}", with_point(.value))]
    NotANumber {
        what: &'static str,
        value: String,
        /// Columns or members of the run: `columns are …`.
        columns: String,
    },
    #[error(
        "the score of document `{document}` for query `{query}` is not a number; give it a score, or \
         leave the document out"
    )]
    NoScore { query: String, document: String },
    #[error("document `{document}` is returned again for query `{query}`; keep one")]
    RepeatedDocument { query: String, document: String },
    #[error("query `{query}` is answered again, first on line {first}; keep one answer")]
    RepeatedQuery { query: String, first: usize },
    #[error(
        "query `{query}` is searched again, first on line {first}; keep one search of each query (--last-search keeps \
         the last one), or, if the file is a log of users' searches, run: {}", replay(.path)
    )]
    RepeatedSearch {
        query: String,
        first: usize,
        path: PathBuf,
    },
    #[error("a {what} has an empty id; give it an id, or leave it out")]
    EmptyId { what: &'static str },
    #[error("{0}")]
    Json(String),
    #[error(
        "a result has no {what}, which the order by {what} requires; add it, or choose another \
         --order"
    )]
    NoOrder { what: &'static str },
}

/// Command for a log of searches.
pub(crate) fn replay(log: &Path) -> String {
    let log = log.display();
    format!("rankgauge replay --search {log} --set gold.paths=GOLD --format text")
}

/// Remedy for a number with a decimal comma; empty for other texts.
fn with_point(value: &str) -> String {
    let point = value.replacen(',', ".", 1);
    if value.contains(',') && point.parse::<f64>().is_ok() {
        format!(": write `{point}`, with a point")
    } else {
        String::new()
    }
}

/// Problem with its 1-based line, counted from the start of the text that was read.
#[derive(Debug)]
pub(super) struct Wrong {
    /// `None` if the problem concerns the whole file.
    pub(super) line: Option<usize>,
    pub(super) problem: RunProblem,
}

impl Wrong {
    /// True if the bytes could not be read, so that another reading has the same problem.
    pub(super) fn is_unreadable(&self) -> bool {
        matches!(
            self.problem,
            RunProblem::LongLine | RunProblem::Unreadable(_)
        )
    }
}

impl RunProblem {
    /// Problem in this line.
    pub(super) fn at(self, line: usize) -> Wrong {
        Wrong {
            line: Some(line),
            problem: self,
        }
    }
}

impl From<RunProblem> for Wrong {
    fn from(problem: RunProblem) -> Self {
        Self {
            line: None,
            problem,
        }
    }
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Self {
        RunProblem::from(error).into()
    }
}

impl From<TextError> for Wrong {
    fn from(error: TextError) -> Self {
        RunProblem::NotUtf8(error).at(error.line)
    }
}
