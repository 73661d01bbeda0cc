//! Parsers of the gold formats, and the drafts that all of them return.
//!
//! A parser must know its own file only. Queries, texts and documents are checked for duplicates
//! later, over all files.

mod beir;
mod detect;
mod edges;
mod json;
mod judgements;
mod native;
mod parts;
mod plan;
mod qrels;
mod quepid;
mod rag;
mod rank_eval;
mod ranx;
mod rows;
mod sheet;
mod srw;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use sha2::Sha256;

use super::problem::Problems;
use super::{Grade, Graph, Place, Problem};
use crate::text;
use detect::Content;
pub use edges::parse_relations;
use json::Source;
pub(super) use judgements::{Judged, JudgementDraft, JudgementDrafts};
pub(super) use parts::PartReader;
pub use rank_eval::INDEX as RANK_EVAL_INDEX;
pub use sheet::{COLUMNS as SHEET_COLUMNS, escape_cell, parse_sheet};

/// Format of gold files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON with a list `queries`: the format of rankgauge and of the law-search methodology.
    Native,
    /// JSON list of queries with `relevant_chunk_ids`, as in the RAG metric design.
    Rag,
    /// JSON list of queries with `relevant_articles`, as in the multi-agent evaluation plan.
    Plan,
    /// TREC relevance judgements, `query iteration document grade`, with the query texts in a
    /// `.tsv` file in the same folder.
    Qrels,
    /// A tsv with the header `query-id corpus-id score`, with the query texts in `queries.jsonl`
    /// in the same folder or the parent folder.
    Beir,
    /// Ratings of Quepid: CSV with the columns `query`, `docid` and `rating`.
    Quepid,
    /// Judgements of OpenSearch's Search Relevance Workbench: JSON with `judgmentRatings`.
    Srw,
    /// Request of the ranking evaluation of Elasticsearch: JSON with `requests`.
    RankEval,
    /// Qrels of ranx and pytrec_eval: JSON `{query: {document: grade}}`.
    Ranx,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 9] = [
        Self::Native,
        Self::Rag,
        Self::Plan,
        Self::Qrels,
        Self::Beir,
        Self::Quepid,
        Self::Srw,
        Self::RankEval,
        Self::Ranx,
    ];

    /// Name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Rag => "rag",
            Self::Plan => "plan",
            Self::Qrels => "qrels",
            Self::Beir => "beir",
            Self::Quepid => "quepid",
            Self::Srw => "srw",
            Self::RankEval => "rank_eval",
            Self::Ranx => "ranx",
        }
    }
}

/// Error for an unknown format name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown gold format `{name}`; expected one of {}", names())]
pub struct UnknownFormat {
    name: String,
}

fn names() -> String {
    Format::ALL.map(|format| format!("`{format}`")).join(", ")
}

impl FromStr for Format {
    type Err = UnknownFormat;

    /// Parses the name of a format, or the name of a tool that uses the format.
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let by_tool = match name {
            "methodology" => Some(Self::Native),
            "trec" => Some(Self::Qrels),
            "opensearch" => Some(Self::Srw),
            "elasticsearch" => Some(Self::RankEval),
            "pytrec_eval" => Some(Self::Ranx),
            _ => Self::ALL.into_iter().find(|format| format.name() == name),
        };
        by_tool.ok_or_else(|| UnknownFormat {
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Name and content of a gold file.
#[derive(Debug)]
pub(super) struct SourceFile {
    pub(super) name: Arc<str>,
    pub(super) bytes: Vec<u8>,
}

impl SourceFile {
    fn is_tsv(&self) -> bool {
        Path::new(&*self.name)
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

/// Content of one file.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) place: Place,
    pub(super) version: Option<String>,
    pub(super) created_at: Option<String>,
    pub(super) relevance_level: Option<Grade>,
    pub(super) scale_max: Option<Grade>,
    pub(super) queries: Vec<QueryDraft>,
    pub(super) topics: Vec<Topic>,
}

impl Draft {
    /// Returns an empty draft.
    fn new(place: Place) -> Self {
        Self {
            place,
            version: None,
            created_at: None,
            relevance_level: None,
            scale_max: None,
            queries: Vec::new(),
            topics: Vec::new(),
        }
    }
}

/// Content of one query of a file.
#[derive(Debug)]
pub(super) struct QueryDraft {
    pub(super) place: Place,
    pub(super) key: String,
    pub(super) text: Option<String>,
    pub(super) aliases: Vec<String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) needs: BTreeMap<String, bool>,
    pub(super) total_relevant: Option<u64>,
    /// True if `total_relevant` must equal the number of relevant judgements of the query.
    pub(super) check_total_relevant: bool,
    pub(super) judgements: JudgementDrafts,
    pub(super) expected: BTreeMap<String, Vec<String>>,
    pub(super) required: Vec<String>,
    pub(super) graph: Option<Graph>,
    pub(super) texts: Vec<String>,
}

impl QueryDraft {
    /// Returns a draft with an id only.
    fn new(place: Place, key: String) -> Self {
        Self {
            place,
            key,
            text: None,
            aliases: Vec::new(),
            labels: BTreeMap::new(),
            needs: BTreeMap::new(),
            total_relevant: None,
            check_total_relevant: false,
            judgements: JudgementDrafts::default(),
            expected: BTreeMap::new(),
            required: Vec::new(),
            graph: None,
            texts: Vec::new(),
        }
    }
}

/// Text of a query whose judgements are in another file.
#[derive(Debug)]
pub(super) struct Topic {
    pub(super) place: Place,
    pub(super) key: String,
    pub(super) text: String,
}

/// Parses one file as `format`. Default: the format is detected from the content. `None` after a
/// problem that prevents further parsing.
pub(super) fn read(
    file: &SourceFile,
    format: Option<Format>,
    problems: &mut Problems,
) -> Option<Draft> {
    let text = text_of(file, &file.bytes, problems)?;
    let source = Source { file, text };
    match detect::content(&source, format, problems)? {
        Content::Native => native::read(&source, problems),
        Content::Rag => Some(rag::read(&source, problems)),
        Content::Plan => Some(plan::read(&source, problems)),
        Content::Qrels => Some(qrels::read_judgements(file, text, problems)),
        Content::Topics => Some(qrels::read_topics(file, text, problems)),
        Content::Beir => Some(beir::read_judgements(file, text, problems)),
        Content::BeirQueries => Some(beir::read_queries(file, text, problems)),
        Content::Quepid => Some(quepid::read(file, text, problems)),
        Content::Srw => srw::read(&source, problems),
        Content::RankEval => rank_eval::read(&source, problems),
        Content::Ranx => Some(ranx::read(&source, problems)),
    }
}

/// Reads the parts of a large file, which begins with `file`. `None` if it is not in a format that
/// is read in parts, or if a line is wrong.
pub(super) fn read_parts(
    file: &SourceFile,
    source: PartReader,
    format: Option<Format>,
) -> Option<(Draft, Sha256)> {
    let text = text::decode(&file.bytes).ok()?;
    let content = detect::content(&Source { file, text }, format, &mut Problems::default())?;
    (content == Content::Qrels).then(|| qrels::read_parts(file, source))?
}

/// Decodes the text of a file; `None` after a problem.
fn text_of<'t>(file: &SourceFile, bytes: &'t [u8], problems: &mut Problems) -> Option<&'t str> {
    text::decode(bytes)
        .map_err(|error| {
            problems.push(Problem::NotUtf8 {
                place: file.place(Some(error.line)),
                error,
            });
        })
        .ok()
}

/// Returns the format of a file whose query texts may be in another file, [`Format::Qrels`] or
/// [`Format::Beir`]; `None` for other formats. `stated` is the configured format.
pub(super) fn format_with_separate_texts(bytes: &[u8], stated: Option<Format>) -> Option<Format> {
    let bytes = text::without_mark(bytes);
    let mut rows = bytes.split(|byte| *byte == b'\n');
    let has_content = |row: &&[u8]| !matches!(row.trim_ascii(), [] | [b'#', ..]);
    let first = rows.find(has_content)?;
    let first = std::str::from_utf8(first).ok()?;
    match stated {
        None if beir::is_header(first) => Some(Format::Beir),
        None if qrels::is_judgement(first) => Some(Format::Qrels),
        None => None,
        Some(format) => [Format::Beir, Format::Qrels]
            .into_iter()
            .find(|other| *other == format),
    }
}

/// Iterates over the lines of a text that have content, with their 1-based numbers. Blank lines
/// and, as in trec_eval since version 10, comments that begin with `#` are skipped.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let has_content = |line: &str| match line.as_bytes() {
        // Fast path: most lines begin with a graphic character.
        [first, ..] if first.is_ascii_graphic() => *first != b'#',
        _ => !matches!(line.trim_start().as_bytes(), [] | [b'#', ..]),
    };
    numbered(text).filter(move |(_, line)| has_content(line))
}

/// Iterates over all lines of a text, as [`str::lines`] does, with their 1-based numbers.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1);
    let mut start = 0;
    let lines = ends.chain([text.len()]).filter_map(move |end| {
        let line = text.get(start..end).filter(|line| !line.is_empty())?;
        start = end;
        let ended = line.strip_suffix('\n');
        Some(ended.map_or(line, |line| line.strip_suffix('\r').unwrap_or(line)))
    });
    (1..).zip(lines)
}
