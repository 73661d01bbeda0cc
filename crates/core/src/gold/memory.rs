//! Gold sets of judgements in memory, for callers that have no file.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::digest::{add_part, hex};
use super::formats::draft::SourceFile;
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
    hash: Sha256,
}

/// Rows that are grouped by query.
#[derive(Debug)]
pub struct JudgedPart {
    part: Part,
    hash: Sha256,
}

impl<'a> JudgedRows<'a> {
    /// Adds a query, which may have no judgement. `row` is its number in messages, from 1.
    pub fn add_query(&mut self, key: &'a str, row: usize) {
        add_part(&mut self.hash, key.as_bytes());
        self.rows.query(key, row);
    }

    /// Adds a judgement to a query. `row` is its number in messages, from 1.
    pub fn judge(&mut self, key: &'a str, row: usize, document: &'a str, grade: Grade) {
        add_part(&mut self.hash, document.as_bytes());
        self.hash.update(grade.get().to_le_bytes());
        self.rows.judge(key, row, document, grade);
    }

    /// Groups the rows.
    pub fn finish(self) -> JudgedPart {
        JudgedPart {
            part: self.rows.into_part(),
            hash: self.hash,
        }
    }
}

/// Builds a set from parts of consecutive rows. `name` is used in messages.
///
/// # Errors
/// All problems of the judgements.
pub fn from_parts(
    name: &str,
    parts: Vec<JudgedPart>,
    options: &Options,
) -> Result<GoldSet, GoldError> {
    let file = SourceFile {
        name: name.into(),
        bytes: Vec::new(),
    };
    let mut hash = Sha256::new();
    let mut rows = Vec::with_capacity(parts.len());
    for part in parts {
        hash.update(part.hash.finalize());
        rows.push(part.part);
    }
    let draft = Part::into_draft(rows, &file);
    let mut problems = Problems::default();
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
