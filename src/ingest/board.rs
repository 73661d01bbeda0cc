//! What searches of each gold query scored, and the last lists that they were served: for whoever
//! wants to know which queries a mean is low for, and why.
//!
//! Workers write and others read. It is kept in memory alone, in bounded space, and begins anew with
//! each gold set: what was judged by another one cannot be compared.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use dashmap::DashMap;
use rustc_hash::FxBuildHasher;

use rankgauge_core::engine::fixed::Nano;
use rankgauge_core::engine::observer::{JudgedSearch, Observer};
use rankgauge_core::engine::registry::Label;
use rankgauge_core::engine::scores::{Cell, SEARCHES};
use rankgauge_core::gold::{GoldSet, Grade, QueryIndex};
use rankgauge_core::time::EventTime;

/// How many lists are kept of a query and variant.
pub const LISTS: usize = 5;

/// How many documents are kept of a list.
pub const DOCUMENTS: usize = 20;

/// How many bytes a process spends on it.
pub const MOST_BYTES: usize = 64 << 20;

/// A list that was served.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// The search that it answered.
    pub query_id: String,
    /// When it was served, in milliseconds since the epoch.
    ts: i64,
    /// How many documents it had.
    pub length: usize,
    /// The ids of the first [`DOCUMENTS`] of them, one after the other. Few long buffers that are used
    /// again are cheaper than many short ones.
    ids: String,
    /// Where each id ends, and its grade.
    ends: Vec<(usize, Option<Grade>)>,
    scores: Vec<(usize, Nano)>,
}

impl Served {
    /// When it was served.
    pub fn at(&self) -> EventTime {
        EventTime(self.ts)
    }

    /// The first documents with their grades, in order; `None` where nobody judged one.
    pub fn documents(&self) -> impl Iterator<Item = (&str, Option<Grade>)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, grade)| {
            let id = self.ids.get(start..*end).unwrap_or_default();
            start = *end;
            (id, *grade)
        })
    }

    /// What it scored, by column, where it had a score.
    pub fn scores(&self) -> &[(usize, Nano)] {
        &self.scores
    }

    fn fill(&mut self, seen: &JudgedSearch<'_>) {
        self.query_id.clear();
        self.query_id.push_str(&seen.search.query_id);
        self.ts = seen.search.ts.0;
        self.length = seen.search.results.len();
        self.ids.clear();
        self.ends.clear();
        for (id, grade) in seen.documents().take(DOCUMENTS) {
            self.ids.push_str(id);
            self.ends.push((self.ids.len(), grade));
        }
        self.scores.clear();
        self.scores.extend_from_slice(seen.scores);
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.query_id.capacity()
            + self.ids.capacity()
            + self.ends.capacity() * size_of::<(usize, Option<Grade>)>()
            + self.scores.capacity() * size_of::<(usize, Nano)>()
    }
}

/// What is known of a gold query and a variant.
#[derive(Clone, Debug, Default)]
pub struct Row {
    scores: Vec<Cell>,
    /// At most [`LISTS`]; the oldest is written over.
    lists: Vec<Served>,
    oldest: usize,
}

impl Row {
    /// Sums of the scores by column.
    pub fn scores(&self) -> &[Cell] {
        &self.scores
    }

    /// How many searches were judged.
    pub fn searches(&self) -> u64 {
        self.scores.get(SEARCHES).map_or(0, |cell| cell.count)
    }

    /// The lists served last, the last one first.
    pub fn lists(&self) -> impl Iterator<Item = &Served> {
        let (newer, older) = self.lists.split_at(self.oldest.min(self.lists.len()));
        newer.iter().rev().chain(older.iter().rev())
    }

    /// Takes note of a search; returns by how many bytes it has grown.
    fn record(&mut self, seen: &JudgedSearch<'_>, has_room: bool) -> usize {
        let before = self.scores.capacity();
        self.add(seen.scores);
        let grown = (self.scores.capacity() - before) * size_of::<Cell>();
        if !has_room {
            return grown;
        }
        if self.lists.len() < LISTS {
            let mut list = Served::default();
            list.fill(seen);
            let bytes = list.bytes();
            self.lists.push(list);
            return grown + bytes;
        }
        let list = &mut self.lists[self.oldest];
        let before = list.bytes();
        list.fill(seen);
        self.oldest = (self.oldest + 1) % LISTS;
        // Buffers that are used again never shrink.
        grown + list.bytes().saturating_sub(before)
    }

    fn add(&mut self, scores: &[(usize, Nano)]) {
        let columns = scores.iter().map(|(column, _)| column + 1).max();
        let columns = columns.unwrap_or(0).max(self.scores.len());
        self.scores.resize(columns, Cell::default());
        for (column, score) in scores {
            let cell = &mut self.scores[*column];
            cell.count += 1;
            cell.sum += i128::from(score.get());
        }
    }
}

/// What is known of the queries of one gold set.
#[derive(Debug)]
pub struct Standings {
    gold: Arc<GoldSet>,
    rows: DashMap<(QueryIndex, Label), Row, FxBuildHasher>,
    bytes: AtomicUsize,
    most_bytes: usize,
    left_out: AtomicU64,
}

impl Standings {
    fn new(gold: Arc<GoldSet>, most_bytes: usize) -> Self {
        Self {
            gold,
            rows: DashMap::default(),
            bytes: AtomicUsize::new(0),
            most_bytes,
            left_out: AtomicU64::new(0),
        }
    }

    /// The gold set that searches were judged by.
    pub fn gold(&self) -> &GoldSet {
        &self.gold
    }

    /// Hands every row to `each`, in no particular order. A worker that is about to write to a row may
    /// have to wait for it: be quick.
    pub fn each(&self, mut each: impl FnMut(QueryIndex, Label, &Row)) {
        for row in &self.rows {
            let (query, variant) = row.key();
            each(*query, *variant, &row);
        }
    }

    /// Copies of the rows of one query, by variant, in no particular order.
    pub fn of(&self, query: QueryIndex) -> Vec<(Label, Row)> {
        let rows = self.rows.iter().filter(|row| row.key().0 == query);
        rows.map(|row| (row.key().1, row.clone())).collect()
    }

    /// Searches that there was no room to remember anything of.
    pub fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    fn record(&self, seen: &JudgedSearch<'_>) {
        let has_room = self.bytes.load(Ordering::Relaxed) < self.most_bytes;
        let key = (seen.query, seen.variant);
        let mut grown = 0;
        let known = self.rows.get_mut(&key);
        let mut row = match known {
            Some(row) => row,
            None if has_room => {
                grown = size_of::<(QueryIndex, Label)>() + size_of::<Row>();
                self.rows.entry(key).or_default()
            }
            None => {
                self.left_out.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        grown += row.record(seen, has_room);
        drop(row);
        if grown > 0 {
            self.bytes.fetch_add(grown, Ordering::Relaxed);
        }
    }
}

/// The standings under the gold set in use.
#[derive(Debug)]
pub struct Board(ArcSwap<Standings>);

impl Board {
    /// Nothing yet about `gold`, in at most `most_bytes`, give or take a search of each worker. Beyond
    /// that no further queries are taken in, and lists stay as they are.
    pub fn new(gold: Arc<GoldSet>, most_bytes: usize) -> Self {
        Self(ArcSwap::from_pointee(Standings::new(gold, most_bytes)))
    }

    /// The standings as they are, and go on.
    pub fn standings(&self) -> Arc<Standings> {
        self.0.load_full()
    }

    /// Begins anew with another gold set.
    pub fn begin(&self, gold: Arc<GoldSet>) {
        let most_bytes = self.0.load().most_bytes;
        self.0.store(Arc::new(Standings::new(gold, most_bytes)));
    }
}

impl Observer for Board {
    fn judged(&self, seen: &JudgedSearch<'_>) {
        let standings = self.0.load();
        // A worker that has not taken the new set in yet judges by the old one.
        if Arc::ptr_eq(&standings.gold, seen.gold) {
            standings.record(seen);
        }
    }
}
