//! Judgements that stand a line each, gathered by query.
//!
//! It does not know how a line is written.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::{Draft, JudgementDraft, QueryDraft, SourceFile};
use crate::gold::Grade;

/// The most judgements of a query that there is room for before they come.
const MOST_RESERVED: usize = 1024;

/// The queries of a file of rows, in the order of their first rows.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    file: &'a SourceFile,
    queries: Vec<QueryDraft<'a>>,
    positions: FxHashMap<String, usize>,
    /// The query of the row before: rows mostly come query by query.
    last: usize,
}

impl<'a> Rows<'a> {
    /// No rows of `file` yet.
    pub(super) fn new(file: &'a SourceFile) -> Self {
        Self {
            file,
            queries: Vec::new(),
            positions: FxHashMap::default(),
            last: 0,
        }
    }

    /// The query with this id, which is new if no row before had it.
    pub(super) fn query(&mut self, key: &str, line: usize) -> &mut QueryDraft<'a> {
        let repeated = self.queries.get(self.last).is_some_and(|q| q.key == key);
        if !repeated {
            let known = self.positions.get(key).copied();
            self.last = known.unwrap_or_else(|| {
                let position = self.queries.len();
                self.positions.insert(key.to_owned(), position);
                let place = self.file.place(Some(line));
                let mut query = QueryDraft::new(place, key.to_owned());
                // Queries mostly have about as many rows as the one before.
                let before = self.queries.last().map_or(0, |last| last.judgements.len());
                query.judgements.reserve(before.min(MOST_RESERVED));
                self.queries.push(query);
                position
            });
        }
        self.queries
            .get_mut(self.last)
            .expect("invariant: `last` is the position of a query")
    }

    /// Adds the judgement of a row.
    pub(super) fn judge(
        &mut self,
        key: &str,
        line: usize,
        document: impl Into<Cow<'a, str>>,
        grade: Grade,
    ) {
        let mut judgement = JudgementDraft::new(document, grade);
        judgement.line = Some(line);
        self.query(key, line).judgements.push(judgement);
    }

    /// Whether there was no row.
    pub(super) fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// What the rows say together.
    pub(super) fn into_draft(self) -> Draft<'a> {
        let mut draft = Draft::new(self.file.place(None));
        draft.queries = self.queries;
        draft
    }
}
