//! Judgements of formats with one line per judgement, grouped by query.
//!
//! This module must not know the syntax of a line.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::{Draft, JudgementDraft, QueryDraft, SourceFile};
use crate::gold::Grade;

/// Maximum number of judgements for which capacity is reserved in advance, per query.
const MAX_RESERVED_JUDGEMENTS: usize = 1024;

/// Queries of a file of rows, in the order of their first rows.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    file: &'a SourceFile,
    queries: Vec<QueryDraft<'a>>,
    positions: FxHashMap<String, usize>,
    /// Query of the previous row: the rows of a query are mostly adjacent.
    last: usize,
}

impl<'a> Rows<'a> {
    /// Returns an empty collection for `file`.
    pub(super) fn new(file: &'a SourceFile) -> Self {
        Self {
            file,
            queries: Vec::new(),
            positions: FxHashMap::default(),
            last: 0,
        }
    }

    /// Returns the query with this id, and adds it if it is new.
    pub(super) fn query(&mut self, key: &str, line: usize) -> &mut QueryDraft<'a> {
        let repeated = self.queries.get(self.last).is_some_and(|q| q.key == key);
        if !repeated {
            let known = self.positions.get(key).copied();
            self.last = known.unwrap_or_else(|| {
                let position = self.queries.len();
                self.positions.insert(key.to_owned(), position);
                let place = self.file.place(Some(line));
                let mut query = QueryDraft::new(place, key.to_owned());
                // Most queries have about as many rows as the previous query.
                let before = self.queries.last().map_or(0, |last| last.judgements.len());
                query
                    .judgements
                    .reserve(before.min(MAX_RESERVED_JUDGEMENTS));
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

    /// Returns true if there are no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Converts the rows to a draft.
    pub(super) fn into_draft(self) -> Draft<'a> {
        let mut draft = Draft::new(self.file.place(None));
        draft.queries = self.queries;
        draft
    }
}
