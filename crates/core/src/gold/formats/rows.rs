//! Judgements of formats with one line per judgement, grouped by query.
//!
//! This module must not know the syntax of a line.

use std::borrow::Cow;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use rustc_hash::FxHashMap;

use super::judgements::{Builder, JudgementDraft, JudgementDrafts};
use super::{Draft, QueryDraft, SourceFile, lines};
use crate::gold::Grade;
use crate::gold::problem::Problems;

/// Size of the parts of a text that are read in parallel.
const PART_BYTES: usize = 256 << 10;

/// Rows of a file or of a part of it.
#[derive(Debug, Default)]
pub(super) struct Rows<'a> {
    /// Queries in the order of their first rows.
    queries: Vec<Query<'a>>,
    positions: FxHashMap<Cow<'a, str>, usize>,
    /// Position of the previous row's query: the rows of a query are mostly adjacent.
    last: usize,
    /// Judgements with the positions of their queries.
    judgements: Vec<(usize, JudgementDraft<'a>)>,
}

/// Id of a query, and the number of its first line.
#[derive(Debug)]
struct Query<'a> {
    key: Cow<'a, str>,
    line: usize,
}

impl<'a> Rows<'a> {
    /// Adds a query if it is new.
    pub(super) fn query(&mut self, key: impl Into<Cow<'a, str>>, line: usize) {
        let key = key.into();
        if self.queries.get(self.last).is_some_and(|it| it.key == key) {
            return;
        }
        self.last = *self.positions.entry(key).or_insert_with_key(|key| {
            let key = key.clone();
            self.queries.push(Query { key, line });
            self.queries.len() - 1
        });
    }

    /// Adds the judgement of a row.
    pub(super) fn judge(
        &mut self,
        key: impl Into<Cow<'a, str>>,
        line: usize,
        document: impl Into<Cow<'a, str>>,
        grade: Grade,
    ) {
        self.query(key, line);
        let judgement = JudgementDraft::new(document, grade).on_line(line);
        self.judgements.push((self.last, judgement));
    }

    /// Returns true if there are no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Converts the rows of `file` to a draft.
    pub(super) fn into_draft(mut self, file: &SourceFile) -> Draft {
        draft(file, self.take_grouped())
    }

    /// Removes all rows, and returns the judgements by query.
    fn take_grouped(&mut self) -> Vec<(Query<'a>, JudgementDrafts)> {
        self.judgements.sort_by_key(|(query, _)| *query);
        let mut builder = Builder::default();
        let bytes = self.judgements.iter().map(|(_, it)| it.bytes()).sum();
        builder.reserve(self.judgements.len(), bytes);
        let mut rest = self.judgements.as_mut_slice();
        for query in 0..self.queries.len() {
            let count = rest.partition_point(|(of, _)| *of <= query);
            let (judgements, others) = rest.split_at_mut(count);
            builder.add(judgements.iter_mut().map(|(_, judgement)| judgement));
            rest = others;
        }
        self.positions.clear();
        self.judgements.clear();
        self.queries.drain(..).zip(builder.finish()).collect()
    }
}

/// Reads a file of rows in parallel. `read` receives each line that has content, with its number.
pub(super) fn read<'a>(
    file: &SourceFile,
    text: &'a str,
    problems: &mut Problems,
    read: impl Fn(&mut Rows<'a>, usize, &'a str, &mut Problems) + Sync,
) -> Draft {
    let read = |rows: &mut Rows<'a>, (before, part)| {
        let mut problems = Problems::default();
        for (line, content) in lines(part) {
            read(rows, before + line, content, &mut problems);
        }
        (rows.take_grouped(), problems)
    };
    let parts = parts(text);
    let parts: Vec<(Vec<(Query<'a>, JudgementDrafts)>, Problems)> = if let [part] = *parts {
        vec![read(&mut Rows::default(), part)]
    } else {
        // Rows are reused: memory that is new costs more than reading into it.
        let parts = parts.into_par_iter();
        parts.map_init(Rows::default, read).collect()
    };
    let mut queries: Vec<(Query<'a>, JudgementDrafts)> = Vec::new();
    let mut positions: FxHashMap<Cow<'a, str>, usize> = FxHashMap::default();
    for (part, found) in parts {
        problems.append(found);
        for (query, judgements) in part {
            let position = *positions.entry(query.key.clone()).or_insert(queries.len());
            match queries.get_mut(position) {
                Some((_, first)) => first.append(judgements),
                None => queries.push((query, judgements)),
            }
        }
    }
    draft(file, queries)
}

fn draft(file: &SourceFile, queries: Vec<(Query<'_>, JudgementDrafts)>) -> Draft {
    let mut draft = Draft::new(file.place(None));
    let queries = queries.into_iter().map(|(query, judgements)| QueryDraft {
        judgements,
        ..QueryDraft::new(file.place(Some(query.line)), query.key.into_owned())
    });
    draft.queries = queries.collect();
    draft
}

/// Splits a text into parts of whole lines, each with the number of lines before it.
fn parts(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut rest, mut lines) = (text, 0);
    while !rest.is_empty() {
        let after = rest.as_bytes().get(PART_BYTES..).unwrap_or_default();
        let end = memchr::memchr(b'\n', after).map_or(rest.len(), |at| PART_BYTES + at + 1);
        let (part, others) = rest.split_at(end);
        parts.push((lines, part));
        lines += memchr::memchr_iter(b'\n', part.as_bytes()).count();
        rest = others;
    }
    parts
}
