//! Query statistics: scores and the last served result lists of each gold query and variant. They
//! show which queries have low scores, and why.
//!
//! Each worker owns one table. Its engine is the only writer. With a new gold set, only the rows of the
//! queries that it judges as before are kept, because other scores are not comparable. The API merges the tables of all workers
//! when it reads ([`MergedQueryStats`]). The statistics are held only in memory, in bounded space:
//! each worker has an equal part of [`MAX_BYTES`]. At the limit, the pairs searched longest ago make
//! room.
//!
//! A table is divided into shards with one lock each, and a query belongs to one shard. A worker
//! locks a shard for one record. A reader locks one shard at a time, for a few microseconds, so a
//! worker never waits for a whole read and never for another worker. The alternatives delay workers
//! more: publishing copies would copy up to the memory limit for each read or each second, and one
//! lock that is released between chunks is usually acquired again by the reader before the waiting
//! worker wakes up.

mod limits;
mod moments;
mod row;
mod served;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use rankgauge_core::engine::JudgedSearch;
use rankgauge_core::engine::scores::Cell;
use rankgauge_core::engine::series::Label;
use rankgauge_core::event::Feedback;
use rankgauge_core::gold::{GoldSet, QueryIndex};
use rankgauge_core::time::EventTime;

pub use limits::{BASELINE_SEARCHES, MAX_DOCUMENTS, MAX_LISTS, MAX_TREND, MAX_UNJUDGED};
pub use moments::Moments;
pub use row::Row;
pub use served::{Served, ServedAnswer, ServedCitation, ServedDocument, UserActions};

/// Maximum size of the query statistics of a process, in bytes.
pub const MAX_BYTES: usize = 64 << 20;

/// Number of shards of a table.
const SHARDS: usize = 64;

/// Number of pairs in a shard up to which its oldest pair is not taken for one of the oldest of all.
const MIN_PAIRS_OF_SHARD: usize = 8;

/// Query and variant.
type Key = (QueryIndex, Label);

/// Rows of a part of the queries.
type Shard = BTreeMap<Key, Row>;

/// Query statistics of one worker for one gold set.
#[derive(Debug)]
pub struct QueryStatsTable {
    gold: Arc<GoldSet>,
    shards: Vec<Mutex<Shard>>,
    /// Rows of the searches whose lists are kept, by the hash of the id of the search.
    searches: Mutex<FxHashMap<u64, Key>>,
    bytes: AtomicUsize,
    max_bytes: usize,
    /// Column of the scores whose trend is kept.
    trend: Option<usize>,
    dropped_searches: AtomicU64,
}

impl QueryStatsTable {
    fn new(gold: Arc<GoldSet>, max_bytes: usize, trend: Option<usize>) -> Self {
        Self {
            trend,
            gold,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            searches: Mutex::default(),
            bytes: AtomicUsize::new(0),
            max_bytes,
            dropped_searches: AtomicU64::new(0),
        }
    }

    /// Moves the rows of the queries that both gold sets judge alike from `before`.
    fn take_over(&self, before: &Self, depends_on_scale: bool) {
        let alike = before.gold.judged_alike(&self.gold, depends_on_scale);
        let mut searches = lock(&self.searches);
        for shard in &before.shards {
            for ((query, variant), row) in std::mem::take(&mut *lock(shard)) {
                let key = &*before.gold.query(query).key;
                let found = self.gold.find(Some(key), None);
                let Some(query) = found.filter(|_| alike.contains(key)) else {
                    continue;
                };
                let key = (query, variant);
                searches.extend(row.kept_searches().map(|id| (hash(id), key)));
                self.resized(0, size_of::<Key>() + row.bytes());
                self.shard_of(query).insert(key, row);
            }
        }
        self.resized(0, searches.capacity() * size_of::<(u64, Key)>());
    }

    fn shard_of(&self, query: QueryIndex) -> MutexGuard<'_, Shard> {
        lock(&self.shards[query.position() % SHARDS])
    }

    fn has_room(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) < self.max_bytes
    }

    /// Counts the change of a size.
    fn resized(&self, before: usize, after: usize) {
        if after >= before {
            self.bytes.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.bytes.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    /// Removes the list of a search from the index.
    fn forget(&self, query_id: &str) {
        lock(&self.searches).remove(&hash(query_id));
    }

    /// Adds a user action, if the list of its search is kept.
    fn record_feedback(&self, feedback: &Feedback<'_>) {
        let Some(query_id) = &feedback.query_id else {
            return;
        };
        let key = lock(&self.searches).get(&hash(query_id)).copied();
        let Some(key) = key else { return };
        let has_room = self.has_room();
        let mut shard = self.shard_of(key.0);
        if let Some(row) = shard.get_mut(&key) {
            let before = row.bytes();
            row.add_feedback(feedback, has_room);
            self.resized(before, row.bytes());
        }
    }

    fn record(&self, seen: &JudgedSearch<'_>) {
        let key = (seen.query, seen.variant);
        if !self.has_room() {
            self.make_room(key);
        }
        let has_room = self.has_room();
        let mut shard = self.shard_of(seen.query);
        let mut before = 0;
        let row = match shard.get_mut(&key) {
            Some(row) => {
                before = size_of::<Key>() + row.bytes();
                row
            }
            None => shard.entry(key).or_default(),
        };
        let mut forget = |query_id: &str| self.forget(query_id);
        row.record(seen, self.trend, has_room, &mut forget);
        self.resized(before, size_of::<Key>() + row.bytes());
        drop(shard);
        if has_room {
            let mut searches = lock(&self.searches);
            let before = searches.capacity();
            searches.insert(hash(&seen.judged.search.query_id), key);
            let grown = (searches.capacity() - before) * size_of::<(u64, Key)>();
            self.resized(0, grown);
        }
    }

    /// Removes the pair that was searched longest ago: of the shard of `key`, which has a random part of
    /// the queries, or of all shards if this one has few pairs.
    fn make_room(&self, key: Key) {
        let oldest_of = |shard: &Shard| -> (usize, Option<(Option<EventTime>, Key)>) {
            let others = shard.iter().filter(|(other, _)| **other != key);
            let oldest = others.map(|(other, row)| (row.last(), *other)).min();
            (shard.len(), oldest)
        };
        let (pairs, own) = oldest_of(&self.shard_of(key.0));
        let oldest = if pairs > MIN_PAIRS_OF_SHARD {
            own
        } else {
            let shards = self.shards.iter();
            shards.filter_map(|shard| oldest_of(&lock(shard)).1).min()
        };
        let Some((_, oldest)) = oldest else { return };
        let Some(row) = self.shard_of(oldest.0).remove(&oldest) else {
            return;
        };
        row.kept_searches()
            .for_each(|query_id| self.forget(query_id));
        self.resized(size_of::<Key>() + row.bytes(), 0);
        self.dropped_searches
            .fetch_add(row.searches(), Ordering::Relaxed);
    }
}

/// Hash of the id of a search.
fn hash(query_id: &str) -> u64 {
    FxBuildHasher.hash_one(query_id)
}

fn lock<T>(shard: &Mutex<T>) -> MutexGuard<'_, T> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Query statistics of one worker for its current gold set.
#[derive(Debug)]
pub struct QueryStats(ArcSwap<QueryStatsTable>);

impl QueryStats {
    /// Empty statistics for `gold` with a size limit of `max_bytes` bytes. The size may exceed the
    /// limit by one search. At the limit, the pairs of query and variant that were searched longest ago
    /// make room. `trend` is the column whose last scores are kept one by one.
    pub fn new(gold: Arc<GoldSet>, max_bytes: usize, trend: Option<usize>) -> Self {
        let table = QueryStatsTable::new(gold, max_bytes, trend);
        Self(ArcSwap::from_pointee(table))
    }

    /// The current table. The worker continues to update it.
    pub fn table(&self) -> Arc<QueryStatsTable> {
        self.0.load_full()
    }

    /// Starts to record for another gold set. Keeps the rows of the queries that it judges as before; `depends_on_scale`
    /// is that of the [settings](rankgauge_core::engine::settings::Settings::depends_on_scale).
    pub fn set_gold_set(&self, gold: Arc<GoldSet>, depends_on_scale: bool) {
        let before = self.0.load();
        let table = QueryStatsTable::new(gold, before.max_bytes, before.trend);
        table.take_over(&before, depends_on_scale);
        self.0.store(Arc::new(table));
    }

    /// Adds a judged search. Ignores one that was judged by another gold set: the engine may receive a
    /// new gold set before the table is reset.
    pub fn record(&self, judged: &JudgedSearch<'_>) {
        let table = self.0.load();
        if Arc::ptr_eq(&table.gold, judged.gold) {
            table.record(judged);
        }
    }

    /// Removes the rows of a variant, whose number will stand for another one.
    pub fn retire(&self, variant: Label) {
        let table = self.0.load();
        for shard in &table.shards {
            lock(shard).retain(|key, row| {
                let is_kept = key.1 != variant;
                if !is_kept {
                    row.kept_searches()
                        .for_each(|query_id| table.forget(query_id));
                    table.resized(size_of::<Key>() + row.bytes(), 0);
                }
                is_kept
            });
        }
    }

    /// Adds a user action to the list of its search. Actions that are received before their search,
    /// or after its list was replaced, are ignored; duplicates are not removed.
    pub fn record_feedback(&self, feedback: &Feedback<'_>) {
        self.0.load().record_feedback(feedback);
    }

    /// Makes the last searches of a variant before its deployment at `at` the baselines of its
    /// queries. Searches since then are compared with them. A query without a kept ranking from
    /// before `at` keeps its baseline.
    pub fn deployed(&self, variant: Label, at: EventTime) {
        let table = self.0.load();
        for shard in &table.shards {
            for ((_, of), row) in &mut *lock(shard) {
                if *of == variant {
                    let before = row.bytes();
                    row.deployed(at, &mut |query_id| table.forget(query_id));
                    table.resized(before, row.bytes());
                }
            }
        }
    }

    /// Starts new baselines with the next search of each query and variant.
    pub fn reset_baselines(&self) {
        let table = self.0.load();
        for shard in &table.shards {
            for row in lock(shard).values_mut() {
                let before = row.bytes();
                row.reset_baseline();
                table.resized(before, row.bytes());
            }
        }
    }
}

/// Score of a gold query and a variant in one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnScore {
    /// Sum of the scores.
    pub cell: Cell,
    /// Sums of the scores in the baseline. Each worker has a baseline of its own searches.
    pub baseline: Moments,
    /// Sums of the scores of the last searches since the baseline.
    pub now: Moments,
    /// Time of the newest search.
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
                    score.cell.merge(cell);
                }
                score.baseline.merge(&row.baseline_of(column));
                score.now.merge(&row.now_of(column));
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

    /// Queries with at least one recorded search.
    pub fn queries_with_traffic(&self) -> BTreeSet<QueryIndex> {
        let shards = self.tables.iter().flat_map(|table| &table.shards);
        let mut queries = BTreeSet::new();
        for shard in shards {
            queries.extend(lock(shard).keys().map(|(query, _)| *query));
        }
        queries
    }

    /// Unjudged documents that users clicked, with their query and the numbers of clicks in all
    /// variants; most clicks first.
    pub fn clicked_unjudged(&self) -> Vec<(QueryIndex, Box<str>, u64)> {
        let mut clicks: BTreeMap<(QueryIndex, Box<str>), u64> = BTreeMap::new();
        for shard in self.tables.iter().flat_map(|table| &table.shards) {
            for ((query, _), row) in &*lock(shard) {
                for (document, number) in &row.unjudged {
                    *clicks.entry((*query, document.clone())).or_default() += number;
                }
            }
        }
        let clicks = clicks.into_iter();
        let clicks = clicks.map(|((query, document), clicks)| (query, document, clicks));
        let mut clicks: Vec<_> = clicks.collect();
        clicks.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| (a.0, &a.1).cmp(&(b.0, &b.1))));
        clicks
    }

    /// Number of searches of the pairs that made room for others.
    pub fn dropped_searches(&self) -> u64 {
        let tables = self.tables.iter();
        let dropped = tables.map(|table| table.dropped_searches.load(Ordering::Relaxed));
        dropped.sum()
    }
}
