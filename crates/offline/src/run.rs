//! Run files: what one system answered to each query, in the order in which it is judged.
//!
//! TREC runs, search events a line, and the JSON of ranx and pytrec_eval, told apart by their
//! content. Answers borrow from the file's text. Nothing here knows judgements or measures, and
//! only [`RunFile::read`] touches files.

mod events;
mod json;
mod source;
mod trec;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use rankgauge_core::event::Limits;
use rankgauge_core::event::Search;

pub use source::RunError;

/// In which order a run's results are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they were served: events by rank where every result has one, else as listed; files as
    /// listed.
    Served,
    /// As trec_eval does: by score, compared as a 32-bit float, descending; of equal scores the
    /// document id descending by bytes.
    Score,
    /// By the rank they state, ascending.
    Rank,
}

/// What a run file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Trec,
    Events,
    Json,
}

/// A run file in memory.
#[derive(Debug)]
pub struct RunFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// One run.
#[derive(Debug)]
pub struct Run<'t> {
    /// The file's name without folder and extension.
    pub name: String,
    /// What the run calls itself: the sixth column of a TREC run's first line.
    pub tag: Option<String>,
    /// What was answered, a query once, in the order of the file.
    pub answers: Vec<Answer<'t>>,
}

/// What was answered to one query.
#[derive(Debug)]
pub struct Answer<'t> {
    /// The query: its key, or its text where an event has no key.
    pub query: Cow<'t, str>,
    /// 1-based line on which the query is first answered.
    pub line: usize,
    /// The results.
    pub results: Results<'t>,
}

/// The results of one answer, in the order in which they are judged.
#[derive(Debug)]
pub enum Results<'t> {
    /// Document ids.
    Documents(Vec<Cow<'t, str>>),
    /// All that a search event says.
    Search(Box<Search<'t>>),
}

impl RunFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read or goes on beyond bounds.
    pub fn read(path: &Path) -> Result<Self, RunError> {
        Ok(Self {
            path: path.to_owned(),
            bytes: source::read(path)?,
        })
    }

    /// The run in the file, recognised by its content, in `order`; without one, events as served
    /// and others by score. `limits` bound search events.
    ///
    /// # Errors
    /// When the file is empty, not UTF-8, or no run; else the first line that is wrong.
    pub fn parse(&self, order: Option<Order>, limits: &Limits) -> Result<Run<'_>, RunError> {
        let path = &self.path;
        let text = source::text(path, &self.bytes)?;
        let format = source::recognise(path, text)?;
        let answers = match format {
            Format::Trec => trec::parse(path, text, order.unwrap_or(Order::Score))?,
            Format::Json => json::parse(path, text, order.unwrap_or(Order::Score))?,
            Format::Events => events::parse(path, text, order.unwrap_or(Order::Served), limits)?,
        };
        Ok(Run {
            name: self.name(),
            tag: trec::tag(text).filter(|_| format == Format::Trec),
            answers,
        })
    }

    /// The file's name without folder and extension.
    pub fn name(&self) -> String {
        let name = self.path.file_stem().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// trec_eval's order of two results.
fn by_score(a: (f32, &str), b: (f32, &str)) -> Ordering {
    b.0.total_cmp(&a.0)
        .then_with(|| b.1.as_bytes().cmp(a.1.as_bytes()))
}

/// A score as trec_eval compares it: a 32-bit float, of which -0 equals 0.
#[allow(
    clippy::cast_possible_truncation,
    reason = "trec_eval keeps scores as `float`; ties that this makes are ties to it"
)]
fn as_compared(score: f64) -> f32 {
    score as f32 + 0.0
}
