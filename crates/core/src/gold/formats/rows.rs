//! Judgements of formats with one line per judgement, grouped by query.
//!
//! This module must not know the syntax of a line.

use std::borrow::Cow;
use std::hash::BuildHasher as _;
use std::sync::Mutex;

use hashbrown::HashTable;
use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};
use rustc_hash::{FxBuildHasher, FxHashMap};
use sha2::Sha256;

use super::draft::{Draft, QueryDraft, SourceFile};
use super::judgements::{Builder, JudgementDraft, JudgementDrafts};
use super::lines::lines;
use super::parts::{PART_BYTES, PartReader};
use crate::gold::judgements::Grade;
use crate::gold::problem::Problems;
use crate::gold::set::MIN_QUERIES;
use crate::text;

/// Rows of a file or of a part of it.
#[derive(Debug, Default)]
pub(in crate::gold) struct Rows<'a> {
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

impl Query<'_> {
    fn into_owned(self) -> Query<'static> {
        Query {
            key: Cow::Owned(self.key.into_owned()),
            line: self.line,
        }
    }
}

impl<'a> Rows<'a> {
    /// Empty rows with capacity for `judgements`.
    pub(in crate::gold) fn with_capacity(judgements: usize) -> Self {
        Self {
            judgements: Vec::with_capacity(judgements),
            ..Self::default()
        }
    }

    /// Reads the rows of a part of a file, which follows `before` lines.
    fn read(
        &mut self,
        before: usize,
        part: &'a str,
        read: impl Fn(&mut Self, usize, &'a str, &mut Problems),
        problems: &mut Problems,
    ) {
        for (line, content) in lines(part) {
            read(self, before + line, content, problems);
        }
    }

    /// Adds a query if it is new.
    pub(in crate::gold) fn query(&mut self, key: impl Into<Cow<'a, str>>, line: usize) {
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
    pub(in crate::gold) fn judge(
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

    /// Groups the rows, and copies what is left of their texts.
    pub(in crate::gold) fn into_part(mut self) -> Part {
        let grouped = self.take_grouped().into_iter();
        Part(
            grouped
                .map(|(query, it)| (query.into_owned(), it))
                .collect(),
        )
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

/// Part of a set: judgements by query.
#[derive(Debug)]
pub(in crate::gold) struct Part(Grouped<'static>);

impl Part {
    /// Merges parts that follow one another to a draft. `file` is used in messages.
    pub(in crate::gold) fn into_draft(parts: Vec<Self>, file: &SourceFile) -> Draft {
        draft(
            file,
            together(parts.into_iter().map(|Self(part)| part).collect()),
        )
    }
}

/// Judgements by query.
type Grouped<'a> = Vec<(Query<'a>, JudgementDrafts)>;

/// Reads a text of rows in parallel. `read` receives each line that has content, with its number.
pub(super) fn read<'a>(
    file: &SourceFile,
    text: &'a str,
    problems: &mut Problems,
    read: impl Fn(&mut Rows<'a>, usize, &'a str, &mut Problems) + Sync,
) -> Draft {
    let read = |rows: &mut Rows<'a>, (before, part)| {
        let mut problems = Problems::default();
        rows.read(before, part, &read, &mut problems);
        (rows.take_grouped(), problems)
    };
    let parts = parts(text);
    let parts: Vec<(Grouped<'a>, Problems)> = if let [part] = *parts {
        vec![read(&mut Rows::default(), part)]
    } else {
        // Rows are reused: memory that is new costs more than reading into it.
        let parts = parts.into_par_iter();
        parts.map_init(Rows::default, read).collect()
    };
    let mut judged = Vec::with_capacity(parts.len());
    for (part, found) in parts {
        problems.append(found);
        judged.push(part);
    }
    draft(file, together(judged))
}

/// Reads a file of rows in parallel, each thread with one part of it in memory. `None` if a row is
/// wrong.
pub(super) fn read_parts(
    file: &SourceFile,
    source: PartReader,
    read: impl for<'p> Fn(&mut Rows<'p>, usize, &'p str, &mut Problems) + Sync,
) -> Option<(Draft, Sha256)> {
    let source = Mutex::new(source);
    let next = |part: &mut Vec<u8>| source.lock().ok()?.next(part);
    let judged = rayon::broadcast(|_| {
        let mut judged: Vec<(usize, Grouped<'static>)> = Vec::new();
        let (mut part, mut capacity) = (Vec::new(), 0);
        loop {
            let (number, before) = next(&mut part)?;
            if part.is_empty() {
                return Some(judged);
            }
            let text = text::decode(&part).ok()?;
            let is_marked = text.len() < part.len();
            let mut rows = Rows::with_capacity(capacity);
            let mut problems = Problems::default();
            rows.read(before, text, &read, &mut problems);
            if !problems.is_empty() || (is_marked && number > 0) {
                return None;
            }
            capacity = capacity.max(rows.judgements.len());
            let Part(grouped) = rows.into_part();
            judged.push((number, grouped));
        }
    });
    let judged: Option<Vec<_>> = judged.into_iter().collect();
    let mut judged: Vec<_> = judged?.into_iter().flatten().collect();
    judged.sort_unstable_by_key(|(number, _)| *number);
    let judged = judged.into_iter().map(|(_, part)| part).collect();
    let hash = source.into_inner().ok()?.hash()?;
    Some((draft(file, together(judged)), hash))
}

/// Merges the judgements of the parts of a file.
fn together(parts: Vec<Grouped<'_>>) -> Grouped<'_> {
    let count = parts.iter().map(Vec::len).sum();
    let mut queries: Grouped<'_> = Vec::with_capacity(count);
    let mut positions: HashTable<usize> = HashTable::with_capacity(count);
    for (query, judgements) in parts.into_iter().flatten() {
        let hash = hash_of(&query.key);
        let found = positions.find(hash, |it| key_at(&queries, *it) == query.key);
        if let Some((_, first)) = found.and_then(|position| queries.get_mut(*position)) {
            first.append(judgements);
        } else {
            let hash_at = |it: &usize| hash_of(key_at(&queries, *it));
            positions.insert_unique(hash, queries.len(), hash_at);
            queries.push((query, judgements));
        }
    }
    queries
}

fn key_at<'q>(queries: &'q Grouped<'_>, position: usize) -> &'q str {
    let query = queries.get(position);
    query.map_or("", |(query, _)| &query.key)
}

fn hash_of(key: &str) -> u64 {
    FxBuildHasher.hash_one(key)
}

fn draft(file: &SourceFile, queries: Grouped<'_>) -> Draft {
    let queries = queries.into_par_iter().with_min_len(MIN_QUERIES);
    let queries = queries.map(|(query, judgements)| QueryDraft {
        judgements,
        ..QueryDraft::new(file.place(Some(query.line)), query.key.into_owned())
    });
    let mut draft = Draft::new(file.place(None));
    queries.collect_into_vec(&mut draft.queries);
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
