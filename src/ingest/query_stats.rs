//! Query statistics: scores and the last served result lists of each gold query and variant. They
//! show which queries have low scores, and why.
//!
//! Workers write the statistics and the API reads them. They are held only in memory, in bounded
//! space. They are reset with each new gold set, because scores against different gold sets are
//! not comparable.

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

/// Maximum number of result lists kept for each query and variant.
pub const MAX_LISTS: usize = 5;

/// Maximum number of documents kept for each result list.
pub const MAX_DOCUMENTS: usize = 20;

/// Maximum size of the query statistics of a process, in bytes.
pub const MAX_BYTES: usize = 64 << 20;

/// Served result list.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// Id of the search that returned the list.
    pub query_id: String,
    /// Time of the search, in milliseconds since the Unix epoch.
    ts: i64,
    /// Number of documents in the served list.
    pub length: usize,
    /// Concatenated ids of the first [`MAX_DOCUMENTS`] documents. One long reused buffer is cheaper
    /// than many short ones.
    ids: String,
    /// End offset of each id within `ids`, and the grade of the document.
    ends: Vec<(usize, Option<Grade>)>,
    scores: Vec<(usize, Nano)>,
}

impl Served {
    /// Event time of the search.
    pub fn at(&self) -> EventTime {
        EventTime(self.ts)
    }

    /// The first documents with their grades, in rank order; `None` for an unjudged document.
    pub fn documents(&self) -> impl Iterator<Item = (&str, Option<Grade>)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, grade)| {
            let id = self.ids.get(start..*end).unwrap_or_default();
            start = *end;
            (id, *grade)
        })
    }

    /// Scores of the list as pairs of column and score. Undefined scores are omitted.
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
        for (id, grade) in seen.documents().take(MAX_DOCUMENTS) {
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

/// Statistics of a gold query and a variant.
#[derive(Clone, Debug, Default)]
pub struct Row {
    scores: Vec<Cell>,
    /// Ring buffer of at most [`MAX_LISTS`] lists. A new list overwrites the oldest one.
    lists: Vec<Served>,
    oldest: usize,
}

impl Row {
    /// Sums of the scores by column.
    pub fn scores(&self) -> &[Cell] {
        &self.scores
    }

    /// Number of judged searches.
    pub fn searches(&self) -> u64 {
        self.scores.get(SEARCHES).map_or(0, |cell| cell.count)
    }

    /// The last served lists, newest first.
    pub fn lists(&self) -> impl Iterator<Item = &Served> {
        let (newer, older) = self.lists.split_at(self.oldest.min(self.lists.len()));
        newer.iter().rev().chain(older.iter().rev())
    }

    /// Adds a search. Returns the growth in bytes. Without room, only the scores are added.
    fn record(&mut self, seen: &JudgedSearch<'_>, has_room: bool) -> usize {
        let before = self.scores.capacity();
        self.add(seen.scores);
        let grown = (self.scores.capacity() - before) * size_of::<Cell>();
        if !has_room {
            return grown;
        }
        if self.lists.len() < MAX_LISTS {
            let mut list = Served::default();
            list.fill(seen);
            let bytes = list.bytes();
            self.lists.push(list);
            return grown + bytes;
        }
        let list = &mut self.lists[self.oldest];
        let before = list.bytes();
        list.fill(seen);
        self.oldest = (self.oldest + 1) % MAX_LISTS;
        // Reused buffers never shrink.
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

/// Query statistics for one gold set.
#[derive(Debug)]
pub struct QueryStatsTable {
    gold: Arc<GoldSet>,
    rows: DashMap<(QueryIndex, Label), Row, FxBuildHasher>,
    bytes: AtomicUsize,
    max_bytes: usize,
    dropped_searches: AtomicU64,
}

impl QueryStatsTable {
    fn new(gold: Arc<GoldSet>, max_bytes: usize) -> Self {
        Self {
            gold,
            rows: DashMap::default(),
            bytes: AtomicUsize::new(0),
            max_bytes,
            dropped_searches: AtomicU64::new(0),
        }
    }

    /// The gold set against which the searches were judged.
    pub fn gold(&self) -> &GoldSet {
        &self.gold
    }

    /// Calls `each` for every row, in unspecified order. `each` must be fast, because it blocks
    /// workers that write to the same part of the table.
    pub fn each(&self, mut each: impl FnMut(QueryIndex, Label, &Row)) {
        for row in &self.rows {
            let (query, variant) = row.key();
            each(*query, *variant, &row);
        }
    }

    /// Copies of the rows of one query with their variants, in unspecified order.
    pub fn of(&self, query: QueryIndex) -> Vec<(Label, Row)> {
        let rows = self.rows.iter().filter(|row| row.key().0 == query);
        rows.map(|row| (row.key().1, row.clone())).collect()
    }

    /// Number of searches that were not recorded because the size limit was reached.
    pub fn dropped_searches(&self) -> u64 {
        self.dropped_searches.load(Ordering::Relaxed)
    }

    fn record(&self, seen: &JudgedSearch<'_>) {
        let has_room = self.bytes.load(Ordering::Relaxed) < self.max_bytes;
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
                self.dropped_searches.fetch_add(1, Ordering::Relaxed);
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

/// Query statistics for the current gold set.
#[derive(Debug)]
pub struct QueryStats(ArcSwap<QueryStatsTable>);

impl QueryStats {
    /// Empty statistics for `gold` with a size limit of `max_bytes` bytes. The size may exceed the
    /// limit by one search of each worker. At the limit, searches of further queries and variants
    /// are not recorded, and the kept lists do not change.
    pub fn new(gold: Arc<GoldSet>, max_bytes: usize) -> Self {
        Self(ArcSwap::from_pointee(QueryStatsTable::new(gold, max_bytes)))
    }

    /// The current statistics. Workers continue to update them.
    pub fn table(&self) -> Arc<QueryStatsTable> {
        self.0.load_full()
    }

    /// Resets the statistics and starts to record for another gold set.
    pub fn reset(&self, gold: Arc<GoldSet>) {
        let max_bytes = self.0.load().max_bytes;
        self.0
            .store(Arc::new(QueryStatsTable::new(gold, max_bytes)));
    }
}

impl Observer for QueryStats {
    fn judged(&self, seen: &JudgedSearch<'_>) {
        let table = self.0.load();
        // A worker that has not received the new gold set yet still judges against the old one.
        if Arc::ptr_eq(&table.gold, seen.gold) {
            table.record(seen);
        }
    }
}
