//! From the bytes of one file to what it says: recognising its format, and the drafts that every
//! format yields.
//!
//! A format knows its own file only. Whether queries, texts and documents are unique is decided
//! later, over all files.

mod native;
mod qrels;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::{Grade, Graph, JudgementDetail, Place, Problem};

/// A format of gold files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON with a list `queries`: ours, and that of the law-search methodology.
    Native,
    /// TREC relevance judgements, `query iteration document grade`, with the queries' texts in a
    /// `.tsv` file beside them.
    Qrels,
}

/// No format has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no gold format is called `{0}`; there are `native` and `qrels`")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        match name {
            "native" => Ok(Self::Native),
            "qrels" => Ok(Self::Qrels),
            other => Err(UnknownFormat(other.to_owned())),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Qrels => "qrels",
        })
    }
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct SourceFile {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl SourceFile {
    fn is_tsv(&self) -> bool {
        Path::new(&self.name)
            .extension()
            .is_some_and(|extension| extension == "tsv")
    }

    pub(super) fn place(&self, line: Option<usize>) -> Place {
        Place {
            file: self.name.clone(),
            line,
        }
    }
}

/// What one file says.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) place: Place,
    pub(super) version: Option<String>,
    pub(super) relevance_level: Option<Grade>,
    pub(super) scale_max: Option<Grade>,
    pub(super) queries: Vec<QueryDraft>,
    pub(super) topics: Vec<Topic>,
}

/// What a file says of one query.
#[derive(Debug)]
pub(super) struct QueryDraft {
    pub(super) place: Place,
    pub(super) key: String,
    pub(super) text: Option<String>,
    pub(super) aliases: Vec<String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) needs: BTreeMap<String, bool>,
    pub(super) total_relevant: Option<u64>,
    pub(super) judgements: Vec<JudgementDraft>,
    pub(super) expected: BTreeMap<String, Vec<String>>,
    pub(super) required: Vec<String>,
    pub(super) graph: Option<Graph>,
    pub(super) texts: Vec<String>,
}

/// What a file says of one (query, document) pair.
#[derive(Debug)]
pub(super) struct JudgementDraft {
    /// The line, where the format has one a judgement.
    pub(super) line: Option<usize>,
    pub(super) document: String,
    pub(super) grade: Grade,
    pub(super) detail: JudgementDetail,
}

/// The text of a query that is judged elsewhere.
#[derive(Debug)]
pub(super) struct Topic {
    pub(super) place: Place,
    pub(super) key: String,
    pub(super) text: String,
}

/// What a file is, as far as its beginning tells.
enum Content {
    Native,
    Qrels,
    Topics,
}

/// Reads one file as `format`, or as what it looks like. `None` after a problem that leaves
/// nothing to go on with.
pub(super) fn read(
    file: &SourceFile,
    format: Option<Format>,
    problems: &mut Vec<Problem>,
) -> Option<Draft> {
    let text = match std::str::from_utf8(&file.bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let valid = file.bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = valid.split(|byte| *byte == b'\n').count();
            problems.push(Problem::NotUtf8 {
                place: file.place(Some(line)),
            });
            return None;
        }
    };
    let Some((line, first)) = lines(text).next() else {
        problems.push(Problem::Empty {
            file: file.name.clone(),
        });
        return None;
    };
    let content = match format {
        Some(Format::Native) => Content::Native,
        _ if first.trim_start().starts_with(['{', '[']) && format.is_none() => Content::Native,
        _ if file.is_tsv() && qrels::is_topic(first) => Content::Topics,
        Some(Format::Qrels) => Content::Qrels,
        None if qrels::is_judgement(first) => Content::Qrels,
        None => {
            problems.push(Problem::UnrecognisedFormat {
                place: file.place(Some(line)),
            });
            return None;
        }
    };
    match content {
        Content::Native => native::read(file, text, problems),
        Content::Qrels => Some(qrels::read_judgements(file, text, problems)),
        Content::Topics => Some(qrels::read_topics(file, text, problems)),
    }
}

/// The lines of a text that say something, with their 1-based numbers: neither blank nor, as in
/// trec_eval since version 10, a comment that begins with `#`.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim_start().starts_with('#') && !line.trim().is_empty())
}
