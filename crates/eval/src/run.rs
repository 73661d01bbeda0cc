//! Run files: the answers of one system to each query, in the order in which they are judged.
//!
//! The formats are TREC runs, search events (one per line), and the JSON of ranx and pytrec_eval.
//! The content determines the format. Answers borrow from the file's text. The module knows nothing
//! of judgements or measures, and only [`RunFile::read`] accesses files.

mod events;
mod json;
mod source;
mod stream;
mod trec;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use rankgauge_core::event::Limits;
use rankgauge_core::event::Search;

pub use source::RunError;
pub use stream::RunStream;

/// Path that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// Order in which the results of a run are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Served order: events by rank if every result has one, else as listed; files as listed.
    Served,
    /// Order of trec_eval: by score, compared as a 32-bit float, descending; equal scores by
    /// document id, compared by bytes, descending.
    Score,
    /// Stated rank, ascending.
    Rank,
}

/// Format of a run file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Trec,
    Events,
    Json,
}

/// Run file in memory.
#[derive(Debug)]
pub struct RunFile {
    path: PathBuf,
    bytes: Vec<u8>,
    keeps_scores: bool,
}

/// Results of one system.
#[derive(Debug)]
pub struct Run<'t> {
    /// Name of the file without directory and extension.
    pub name: String,
    /// Tag of the run: the sixth column of a TREC run's first line.
    pub tag: Option<String>,
    /// Answers, one per query, in the order of the file.
    pub answers: Vec<Answer<'t>>,
    /// Sign of a mistake in a valid file, as a sentence.
    pub warning: Option<String>,
}

/// Answer to one query.
#[derive(Debug)]
pub struct Answer<'t> {
    /// Query: its key, or its text if an event has no key.
    pub query: Cow<'t, str>,
    /// 1-based line of the first answer to the query.
    pub line: usize,
    /// Results of the answer.
    pub results: Results<'t>,
    /// Scores of the documents, in the same order. Empty unless [`RunFile::with_scores`] was
    /// called, and for search events, whose results have scores themselves.
    pub scores: Vec<f64>,
}

/// Results of one answer, in the order in which they are judged.
#[derive(Debug)]
pub enum Results<'t> {
    /// Document ids.
    Documents(Vec<Cow<'t, str>>),
    /// Complete search event.
    Search(Box<Search<'t>>),
}

impl RunFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read or exceeds the size limits.
    pub fn read(path: &Path) -> Result<Self, RunError> {
        Ok(Self {
            path: path.to_owned(),
            bytes: source::read(path)?,
            keeps_scores: false,
        })
    }

    /// Lets [`RunFile::parse`] keep the scores of documents.
    #[must_use]
    pub fn with_scores(self) -> Self {
        Self {
            keeps_scores: true,
            ..self
        }
    }

    /// Run file with the content `bytes`. `path` is used in messages.
    ///
    /// # Errors
    /// The content exceeds the size limits.
    pub fn new(path: PathBuf, bytes: Vec<u8>) -> Result<Self, RunError> {
        source::check(&path, &bytes)?;
        Ok(Self {
            path,
            bytes,
            keeps_scores: false,
        })
    }

    /// Parses the run in the file; its content determines the format. Results are in `order`; by
    /// default events are as served and other formats by score. `limits` bound search events.
    ///
    /// # Errors
    /// The file is empty, not UTF-8 or not a run; otherwise the first wrong line.
    pub fn parse(&self, order: Option<Order>, limits: &Limits) -> Result<Run<'_>, RunError> {
        let path = &self.path;
        let text = source::text(path, &self.bytes)?;
        let format = source::recognise(path, text)?;
        let answers = match format {
            Format::Trec => {
                trec::parse(path, text, order.unwrap_or(Order::Score), self.keeps_scores)?
            }
            Format::Json => {
                json::parse(path, text, order.unwrap_or(Order::Score), self.keeps_scores)?
            }
            Format::Events => events::parse(path, text, order.unwrap_or(Order::Served), limits)?,
        };
        Ok(Run {
            name: self.name(),
            tag: trec::tag(text).filter(|_| format == Format::Trec),
            warning: (format == Format::Trec && order.is_none())
                .then(|| trec::swapped_columns(text))
                .flatten()
                .map(|warning| format!("{}: {warning}", path.display())),
            answers,
        })
    }

    /// Name of the file without directory and extension.
    pub fn name(&self) -> String {
        if self.path == Path::new(STANDARD_INPUT) {
            return "stdin".to_owned();
        }
        let name = self.path.file_stem().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Compares two results in trec_eval's order.
fn by_score(a: (f32, &str), b: (f32, &str)) -> Ordering {
    b.0.total_cmp(&a.0)
        .then_with(|| b.1.as_bytes().cmp(a.1.as_bytes()))
}

/// Converts a score to the form in which trec_eval compares it: a 32-bit float, with -0 equal to 0.
#[allow(
    clippy::cast_possible_truncation,
    reason = "trec_eval stores scores as `float`; ties from the conversion are ties in trec_eval"
)]
fn as_compared(score: f64) -> f32 {
    score as f32 + 0.0
}
