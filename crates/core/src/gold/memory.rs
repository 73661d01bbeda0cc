//! Gold sets of judgements in memory, for callers that have no file.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_128;

use super::digest::{add_part, hex};
use super::formats::by_subtopic::{BySubtopic, Judged};
use super::formats::draft::{Draft, SourceFile};
use super::formats::rows::{Part, Rows};
use super::judgements::Grade;
use super::load::into_result;
use super::problem::{GoldError, Problem, Problems};
use super::set::{GoldSet, Options};
use super::validate;

/// Judgements in memory, row by row. Rows of a query are adjacent, or apart.
#[derive(Debug, Default)]
pub struct JudgedRows<'a> {
    rows: Rows<'a>,
    /// Ids and grades, for the hash.
    content: Vec<u8>,
}

/// Rows that are grouped by query.
#[derive(Debug)]
pub struct JudgedPart {
    part: Part,
    hash: u128,
}

impl<'a> JudgedRows<'a> {
    /// No rows, with capacity for `rows`.
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            rows: Rows::with_capacity(rows),
            content: Vec::with_capacity(rows * 64),
        }
    }

    /// Adds a query, which may have no judgement. `row` is its number in messages, from 1.
    pub fn add_query(&mut self, key: &'a str, row: usize) {
        self.add_id(key);
        self.rows.query(key, row);
    }

    /// Adds a judgement to a query. `row` is its number in messages, from 1.
    pub fn judge(&mut self, key: &'a str, row: usize, document: &'a str, grade: Grade) {
        self.add_id(key);
        self.add_id(document);
        self.content.extend(grade.get().to_le_bytes());
        self.rows.judge(key, row, document, grade);
    }

    fn add_id(&mut self, id: &str) {
        self.content.extend(id.len().to_le_bytes());
        self.content.extend(id.as_bytes());
    }

    /// Groups the rows.
    pub fn finish(self) -> JudgedPart {
        JudgedPart {
            part: self.rows.into_part(),
            hash: XxHash3_128::oneshot(&self.content),
        }
    }
}

/// Judgement of a document for a subtopic of its query.
#[derive(Clone, Copy, Debug)]
pub struct SubtopicRow<'a> {
    /// Id of the query.
    pub query: &'a str,
    /// Name of the subtopic; `None` for a judgement for the query alone.
    pub subtopic: Option<&'a str>,
    /// Id of the document.
    pub document: &'a str,
    /// Grade of the document for the subtopic.
    pub grade: Grade,
}

impl GoldSet {
    /// Builds a set from parts of consecutive rows. `name` is used in messages.
    ///
    /// # Errors
    /// All problems of the judgements.
    pub fn from_parts(
        name: &str,
        parts: Vec<JudgedPart>,
        options: &Options,
    ) -> Result<Self, GoldError> {
        let file = SourceFile::named(name);
        let mut hash = Sha256::new();
        let mut rows = Vec::with_capacity(parts.len());
        for part in parts {
            hash.update(part.hash.to_le_bytes());
            rows.push(part.part);
        }
        let draft = Part::into_draft(rows, &file);
        assembled(draft, &file, options, hash, Problems::default())
    }

    /// Builds a set from judgements for subtopics, as the readers of files do: the grade of a document is its highest
    /// one. `name` is used in messages, with the numbers of the rows from 1.
    ///
    /// # Errors
    /// All problems of the judgements.
    pub fn from_subtopics<'a>(
        name: &str,
        rows: impl IntoIterator<Item = SubtopicRow<'a>>,
        options: &Options,
    ) -> Result<Self, GoldError> {
        let file = SourceFile::named(name);
        let mut hash = Sha256::new();
        let (mut judgements, mut problems) = (BySubtopic::default(), Problems::default());
        for (line, row) in (1..).zip(rows) {
            add_part(&mut hash, row.query.as_bytes());
            add_part(&mut hash, row.subtopic.unwrap_or_default().as_bytes());
            add_part(&mut hash, row.document.as_bytes());
            hash.update(row.grade.get().to_le_bytes());
            let judged = Judged {
                line,
                key: row.query.into(),
                subtopic: row.subtopic.map(Into::into),
                document: row.document.into(),
                grade: row.grade,
            };
            judgements.add(&file, judged, &mut problems);
        }
        let draft = judgements.into_draft(Rows::default(), &file);
        assembled(draft, &file, options, hash, problems)
    }
}

fn assembled(
    draft: Draft,
    file: &SourceFile,
    options: &Options,
    hash: Sha256,
    mut problems: Problems,
) -> Result<GoldSet, GoldError> {
    if draft
        .queries
        .iter()
        .all(|query| query.judgements.is_empty())
    {
        problems.push(Problem::NoRows {
            name: Arc::clone(&file.name),
        });
    }
    let set = validate::assemble(vec![draft], options, hex(hash), &mut problems);
    into_result((set, problems.into_error()))
}
