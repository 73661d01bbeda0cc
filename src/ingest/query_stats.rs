//! Query statistics: scores and the last served result lists of each gold query and variant. They
//! show which queries have low scores, and why.
//!
//! Each worker owns one table. Its engine is the only writer, and a new gold set resets it, because
//! scores against different gold sets are not comparable. The API merges the tables of all workers
//! when it reads ([`MergedQueryStats`]). The statistics are held only in memory, in bounded space:
//! each worker has an equal part of [`MAX_BYTES`].
//!
//! A table is divided into shards with one lock each, and a query belongs to one shard. A worker
//! locks a shard for one record. A reader locks one shard at a time, for a few microseconds, so a
//! worker never waits for a whole read and never for another worker. The alternatives delay workers
//! more: publishing copies would copy up to the memory limit for each read or each second, and one
//! lock that is released between chunks is usually acquired again by the reader before the waiting
//! worker wakes up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

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

/// Number of shards of a table.
const SHARDS: usize = 64;

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

    /// Sort key of the lists of a query and variant. It does not depend on the reading order.
    fn recency(&self) -> (i64, &str) {
        (self.ts, &self.query_id)
    }

    fn is_older_than(&self, seen: &JudgedSearch<'_>) -> bool {
        self.recency() < (seen.search.ts.0, &*seen.search.query_id)
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
    /// The newest lists in event time, at most [`MAX_LISTS`], in unspecified order.
    lists: Vec<Served>,
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
        let mut lists: Vec<&Served> = self.lists.iter().collect();
        lists.sort_by(|a, b| b.recency().cmp(&a.recency()));
        lists.into_iter()
    }

    /// Time of the last served list.
    fn last(&self) -> Option<EventTime> {
        self.lists.iter().map(Served::at).max()
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
        let lists = self.lists.iter_mut();
        let oldest = lists.min_by(|a, b| a.recency().cmp(&b.recency()));
        let Some(oldest) = oldest.filter(|oldest| oldest.is_older_than(seen)) else {
            return grown;
        };
        let before = oldest.bytes();
        oldest.fill(seen);
        // Reused buffers never shrink.
        grown + oldest.bytes().saturating_sub(before)
    }

    fn add(&mut self, scores: &[(usize, Nano)]) {
        let columns = scores.iter().map(|(column, _)| column + 1).max();
        self.widen(columns.unwrap_or(0));
        for (column, score) in scores {
            let cell = &mut self.scores[*column];
            cell.count += 1;
            cell.sum += i128::from(score.get());
        }
    }

    /// Adds the row of another worker for the same query and variant.
    fn merge(&mut self, other: Self) {
        self.widen(other.scores.len());
        for (cell, other) in self.scores.iter_mut().zip(&other.scores) {
            add(cell, other);
        }
        self.lists.extend(other.lists);
        self.lists.sort_by(|a, b| b.recency().cmp(&a.recency()));
        self.lists.truncate(MAX_LISTS);
    }

    fn widen(&mut self, columns: usize) {
        let columns = columns.max(self.scores.len());
        self.scores.resize(columns, Cell::default());
    }
}

fn add(cell: &mut Cell, other: &Cell) {
    cell.count += other.count;
    cell.sum += other.sum;
}

/// Rows of a part of the queries.
type Shard = BTreeMap<(QueryIndex, Label), Row>;

/// Query statistics of one worker for one gold set.
#[derive(Debug)]
pub struct QueryStatsTable {
    gold: Arc<GoldSet>,
    shards: Vec<Mutex<Shard>>,
    bytes: AtomicUsize,
    max_bytes: usize,
    dropped_searches: AtomicU64,
}

impl QueryStatsTable {
    fn new(gold: Arc<GoldSet>, max_bytes: usize) -> Self {
        Self {
            gold,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            bytes: AtomicUsize::new(0),
            max_bytes,
            dropped_searches: AtomicU64::new(0),
        }
    }

    fn shard_of(&self, query: QueryIndex) -> MutexGuard<'_, Shard> {
        lock(&self.shards[query.position() % SHARDS])
    }

    fn record(&self, seen: &JudgedSearch<'_>) {
        let has_room = self.bytes.load(Ordering::Relaxed) < self.max_bytes;
        let key = (seen.query, seen.variant);
        let mut grown = 0;
        let mut shard = self.shard_of(seen.query);
        let row = match shard.get_mut(&key) {
            Some(row) => row,
            None if has_room => {
                grown = size_of::<(QueryIndex, Label)>() + size_of::<Row>();
                shard.entry(key).or_default()
            }
            None => {
                self.dropped_searches.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        grown += row.record(seen, has_room);
        drop(shard);
        if grown > 0 {
            self.bytes.fetch_add(grown, Ordering::Relaxed);
        }
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Query statistics of one worker for its current gold set.
#[derive(Debug)]
pub struct QueryStats(ArcSwap<QueryStatsTable>);

impl QueryStats {
    /// Empty statistics for `gold` with a size limit of `max_bytes` bytes. The size may exceed the
    /// limit by one search. At the limit, searches of further queries and variants are not
    /// recorded, and the kept lists do not change.
    pub fn new(gold: Arc<GoldSet>, max_bytes: usize) -> Self {
        Self(ArcSwap::from_pointee(QueryStatsTable::new(gold, max_bytes)))
    }

    /// The current table. The worker continues to update it.
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
        // The engine may receive a new gold set before the table is reset.
        if Arc::ptr_eq(&table.gold, seen.gold) {
            table.record(seen);
        }
    }

    fn retired(&self, variant: Label) {
        for shard in &self.0.load().shards {
            lock(shard).retain(|(_, it), _| *it != variant);
        }
    }
}

/// Score of a gold query and a variant in one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnScore {
    /// Sum of the scores.
    pub cell: Cell,
    /// Time of the last served list.
    pub last: Option<EventTime>,
}

/// Query statistics of all workers for one gold set, merged when they are read.
#[derive(Debug)]
pub struct MergedQueryStats {
    gold: Arc<GoldSet>,
    tables: Vec<Arc<QueryStatsTable>>,
}

impl MergedQueryStats {
    /// Statistics for `gold` from the `tables` of all workers. The table of a worker that has not
    /// received `gold` yet is omitted.
    pub fn new(gold: Arc<GoldSet>, tables: impl IntoIterator<Item = Arc<QueryStatsTable>>) -> Self {
        let tables = tables.into_iter();
        let tables = tables.filter(|table| Arc::ptr_eq(&table.gold, &gold));
        Self {
            tables: tables.collect(),
            gold,
        }
    }

    /// The gold set against which the searches were judged.
    pub fn gold(&self) -> &GoldSet {
        &self.gold
    }

    /// Scores of all queries and variants in `column`. A query without a score has an empty cell.
    pub fn scores(&self, column: usize) -> BTreeMap<(QueryIndex, Label), ColumnScore> {
        let mut scores: BTreeMap<_, ColumnScore> = BTreeMap::new();
        for shard in self.tables.iter().flat_map(|table| &table.shards) {
            for (key, row) in &*lock(shard) {
                let score = scores.entry(*key).or_default();
                score.last = score.last.max(row.last());
                if let Some(cell) = row.scores.get(column) {
                    add(&mut score.cell, cell);
                }
            }
        }
        scores
    }

    /// Rows of one query by variant.
    pub fn of(&self, query: QueryIndex) -> BTreeMap<Label, Row> {
        let mut rows: BTreeMap<Label, Row> = BTreeMap::new();
        for table in &self.tables {
            let shard = table.shard_of(query);
            let of_query = shard.iter().filter(|((of, _), _)| *of == query);
            let copies: Vec<_> = of_query
                .map(|((_, variant), row)| (*variant, row.clone()))
                .collect();
            drop(shard);
            for (variant, row) in copies {
                rows.entry(variant).or_default().merge(row);
            }
        }
        rows
    }

    /// Number of searches that were not recorded because the size limit was reached.
    pub fn dropped_searches(&self) -> u64 {
        let tables = self.tables.iter();
        let dropped = tables.map(|table| table.dropped_searches.load(Ordering::Relaxed));
        dropped.sum()
    }
}
