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

mod row;
mod served;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use rankgauge_core::engine::effects::JudgedSearch;
use rankgauge_core::engine::fixed::Nano;
use rankgauge_core::engine::registry::Label;
use rankgauge_core::engine::scores::Cell;
use rankgauge_core::event::Feedback;
use rankgauge_core::gold::{GoldSet, QueryIndex};
use rankgauge_core::time::EventTime;

pub use row::Row;
use row::add;
pub use served::{Served, ServedDocument, UserActions};

/// Maximum number of result lists kept for each query and variant.
pub const MAX_LISTS: usize = 5;

/// Maximum number of documents kept for each result list.
pub const MAX_DOCUMENTS: usize = 20;

/// Maximum size of the query statistics of a process, in bytes.
pub const MAX_BYTES: usize = 64 << 20;

/// Number of searches from which the baseline of a query and variant is computed.
pub const BASELINE_SEARCHES: u64 = 10;

/// Maximum number of recent scores kept for each query and variant.
pub const MAX_TREND: usize = 24;

/// Maximum number of clicked unjudged documents kept for each query and variant.
pub const MAX_UNJUDGED: usize = 8;

/// Number of shards of a table.
const SHARDS: usize = 64;

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

    fn shard_of(&self, query: QueryIndex) -> MutexGuard<'_, Shard> {
        lock(&self.shards[query.position() % SHARDS])
    }

    /// Adds a user action, if the list of its search is kept.
    fn record_feedback(&self, feedback: &Feedback<'_>) {
        let Some(query_id) = &feedback.query_id else {
            return;
        };
        let key = lock(&self.searches).get(&hash(query_id)).copied();
        let Some(key) = key else { return };
        let has_room = self.bytes.load(Ordering::Relaxed) < self.max_bytes;
        let mut shard = self.shard_of(key.0);
        let row = shard.get_mut(&key);
        let grown = row.map_or(0, |row| row.add_feedback(feedback, has_room));
        drop(shard);
        self.bytes.fetch_add(grown, Ordering::Relaxed);
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
        let mut forgotten = None;
        grown += row.record(seen, self.trend, has_room, &mut forgotten);
        drop(shard);
        if has_room {
            let mut searches = lock(&self.searches);
            if let Some(search) = forgotten {
                searches.remove(&search);
            }
            let before = searches.capacity();
            searches.insert(hash(&seen.judged.search.query_id), key);
            grown += (searches.capacity() - before) * size_of::<(u64, Key)>();
        }
        if grown > 0 {
            self.bytes.fetch_add(grown, Ordering::Relaxed);
        }
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
    /// limit by one search. At the limit, searches of further queries and variants are not
    /// recorded, and the kept lists do not change. `trend` is the column whose last scores are
    /// kept one by one.
    pub fn new(gold: Arc<GoldSet>, max_bytes: usize, trend: Option<usize>) -> Self {
        let table = QueryStatsTable::new(gold, max_bytes, trend);
        Self(ArcSwap::from_pointee(table))
    }

    /// The current table. The worker continues to update it.
    pub fn table(&self) -> Arc<QueryStatsTable> {
        self.0.load_full()
    }

    /// Resets the statistics and starts to record for another gold set.
    pub fn reset(&self, gold: Arc<GoldSet>) {
        let table = self.0.load();
        let table = QueryStatsTable::new(gold, table.max_bytes, table.trend);
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
        for shard in &self.0.load().shards {
            lock(shard).retain(|(_, it), _| *it != variant);
        }
    }

    /// Adds a user action to the list of its search. Actions that are received before their search,
    /// or after its list was replaced, are ignored; duplicates are not removed.
    pub fn record_feedback(&self, feedback: &Feedback<'_>) {
        self.0.load().record_feedback(feedback);
    }

    /// Makes the last rankings of a variant before its deployment at `at` the baselines of its
    /// queries. Rankings since then are compared with them. A query without a kept ranking from
    /// before `at` keeps its baseline.
    pub fn deployed(&self, variant: Label, at: EventTime) {
        let table = self.0.load();
        for shard in &table.shards {
            let has_room = table.bytes.load(Ordering::Relaxed) < table.max_bytes;
            let mut grown = 0;
            let mut shard = lock(shard);
            for ((_, of), row) in &mut *shard {
                if *of == variant {
                    grown += row.deployed(at, has_room);
                }
            }
            drop(shard);
            table.bytes.fetch_add(grown, Ordering::Relaxed);
        }
    }

    /// Starts new baselines with the next search of each query and variant.
    pub fn reset_baselines(&self) {
        for shard in &self.0.load().shards {
            lock(shard).values_mut().for_each(Row::reset_baseline);
        }
    }
}

/// Time, id and score of a search whose list is kept.
type RecentScore = (i64, Box<str>, Option<Nano>);

/// Score of a gold query and a variant in one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnScore {
    /// Sum of the scores.
    pub cell: Cell,
    /// Sum of the scores in the baseline. Each worker has a baseline of its own searches.
    pub baseline: Cell,
    /// True if the baseline consists of the last lists before a deployment.
    pub is_baseline_of_deployment: bool,
    /// Sum of the scores of the last served lists, since the last deployment.
    pub recent: Cell,
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
        let mut recent: BTreeMap<Key, Vec<RecentScore>> = BTreeMap::new();
        let mut deployed: BTreeMap<Key, EventTime> = BTreeMap::new();
        for shard in self.tables.iter().flat_map(|table| &table.shards) {
            for (key, row) in &*lock(shard) {
                let score = scores.entry(*key).or_default();
                score.last = score.last.max(row.last());
                score.is_baseline_of_deployment |= row.is_baseline_of_deployment;
                if let Some(at) = row.deployed {
                    let latest = deployed.entry(*key).or_insert(at);
                    *latest = at.max(*latest);
                }
                if let Some(cell) = row.scores.get(column) {
                    add(&mut score.cell, cell);
                }
                if let Some(cell) = row.baseline.get(column) {
                    add(&mut score.baseline, cell);
                }
                let of_lists = recent.entry(*key).or_default();
                of_lists.extend(row.lists.iter().map(|list| {
                    let found = list.scores().iter().find(|(it, _)| *it == column);
                    let (at, id) = list.recency();
                    (at, Box::from(id), found.map(|(_, score)| *score))
                }));
            }
        }
        // The lists of all workers together are limited as those of one worker are.
        for (key, mut lists) in recent {
            lists.sort_by(|a, b| (b.0, &b.1).cmp(&(a.0, &a.1)));
            let score = scores.entry(key).or_default();
            let since = deployed.get(&key).map_or(i64::MIN, |at| at.0);
            lists.retain(|(at, _, _)| *at >= since);
            for of_list in lists.into_iter().take(MAX_LISTS).filter_map(|list| list.2) {
                score.recent.count += 1;
                score.recent.sum += i128::from(of_list.get());
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

    /// Number of searches that were not recorded because the size limit was reached.
    pub fn dropped_searches(&self) -> u64 {
        let tables = self.tables.iter();
        let dropped = tables.map(|table| table.dropped_searches.load(Ordering::Relaxed));
        dropped.sum()
    }
}
