//! Change of the result lists of frequent queries from one version of a system to another, without
//! judgements.
//!
//! Each worker keeps the last two lists of its most frequent queries by version, in bounded space and only in
//! memory. A version is what searches state (`deployments.from`), or what a deployment was reported with. A reader merges
//! the lists of all workers ([`ListChanges::between`]). The comparison of each variant with its version before is made
//! every few seconds ([`ListChanges::sample`]) for the exposition and for the marks of deployments.

mod table;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::info;

use super::deployments::{Deployment, Deployments};
use rankgauge_core::event::Search;
use rankgauge_core::number::percent;
use rankgauge_core::statistics::{ListChange, Lists};
use rankgauge_core::time::{EventTime, Millis};
use table::Table;

pub use table::{MAX_QUERIES, Version};

/// Maximum size of the lists of a process, in bytes.
pub const MAX_BYTES: usize = 32 << 20;

/// Maximum number of lists that a worker adds in one interval of publication. A worker with more searches takes
/// the first ones, so that the cost is bounded.
const MAX_LISTS: usize = 5_000;

/// Number of compared queries from which the lists after a deployment are summarised at once.
const MANY_QUERIES: usize = 200;

/// Time after a deployment from which its lists are summarised with fewer queries.
const SETTLED: Millis = Millis(3 * 60_000);

/// Maximum number of queries that a comparison names.
pub const MAX_NAMED: usize = 20;

/// Lists of one worker.
#[derive(Debug)]
pub struct ServedLists {
    table: Mutex<Table>,
    /// Number of lists that can still be added until the next publication.
    left: AtomicUsize,
}

impl ServedLists {
    fn new(max_bytes: usize) -> Self {
        Self {
            table: Mutex::new(Table::new(max_bytes)),
            left: AtomicUsize::new(MAX_LISTS),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if lists can still be added until the next publication. Only the worker itself calls it.
    pub fn has_room(&self) -> bool {
        self.left.load(Ordering::Relaxed) > 0
    }

    /// Adds the list of a search. `version_labels` are the labels that can state its version.
    pub fn record(&self, search: &Search<'_>, version_labels: &[String]) {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        let labels = search.labels.as_ref();
        let mut names = version_labels.iter();
        let stated = names.find_map(|name| labels?.label(name));
        let stated = stated.as_deref().filter(|it| !it.is_empty());
        self.table().record(search, stated);
    }

    /// Starts the next interval of publication.
    pub fn refill(&self) {
        self.left.store(MAX_LISTS, Ordering::Relaxed);
    }

    /// Notes a deployment.
    pub fn deployed(&self, variant: &str, version: &str, at: EventTime) {
        self.table().deployed(variant, version, at);
    }
}

/// Query whose list changed.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedQuery {
    /// Text of the query, or its key.
    pub query: Box<str>,
    /// Number of its searches while it was kept.
    pub searches: u64,
    /// Share of common results.
    pub overlap: f64,
    /// Rank-biased overlap.
    pub rbo: f64,
    /// Agreement of each version with itself beyond that of the versions with each other.
    pub churn: f64,
}

/// Lists of two versions, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Later version.
    pub version: Version,
    /// Version with which it is compared.
    pub with: Version,
    /// Change of all queries with two lists by each version; `None` without any.
    pub change: Option<ListChange>,
    /// Queries whose lists changed most, those of many searches first among equal ones.
    pub queries: Vec<ChangedQuery>,
    /// Time of the newest list of the later version.
    newest: Option<EventTime>,
}

/// Summary of the change of lists after a deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeploymentLists")]
pub struct Summary {
    /// Version before the deployment; empty if it is not known.
    pub with: String,
    /// Number of compared queries.
    pub queries: usize,
    /// Share of the queries whose list changed, beyond the noise of the index.
    pub changed: f64,
    /// Mean share of common results.
    pub overlap: f64,
    /// Mean rank-biased overlap.
    pub rbo: f64,
    /// True if the change is beyond the noise of the index.
    pub is_change: bool,
    /// The same in words.
    pub text: String,
}

impl Summary {
    /// Summary of a change since the version `with`.
    pub(crate) fn of(with: &Version, change: &ListChange) -> Self {
        let is_change = change.is_reported();
        let overlap = change.overlap.mean;
        let text = if is_change {
            let changed = percent(change.changed.mean, 0);
            format!("lists of {changed} of head queries changed, mean overlap {overlap:.2}")
        } else if change.queries < ListChange::MIN_QUERIES {
            format!("too few head queries to tell, mean overlap {overlap:.2}")
        } else {
            format!(
                "lists of head queries changed no more than the index itself, mean overlap {overlap:.2}"
            )
        };
        Self {
            with: with.version.to_string(),
            queries: change.queries,
            changed: change.changed.mean,
            overlap,
            rbo: change.rbo.mean,
            is_change,
            text,
        }
    }
}

/// Lists of all workers of a process.
#[derive(Debug)]
pub struct ListChanges {
    workers: Vec<Arc<ServedLists>>,
    /// Comparison of each variant with its version before, as of the last sample.
    latest: ArcSwap<Vec<Comparison>>,
}

/// Lists of a query by two versions, of all workers.
type Pair = [Vec<(EventTime, Box<[u64]>)>; 2];

impl ListChanges {
    /// Without lists, for `workers` workers.
    pub fn new(workers: usize) -> Self {
        let of_worker = || Arc::new(ServedLists::new(MAX_BYTES / workers.max(1)));
        Self {
            workers: (0..workers).map(|_| of_worker()).collect(),
            latest: ArcSwap::default(),
        }
    }

    /// Lists of one worker.
    pub fn of(&self, worker: usize) -> Option<&Arc<ServedLists>> {
        self.workers.get(worker)
    }

    /// Size of all lists in bytes.
    pub fn bytes(&self) -> usize {
        let workers = self.workers.iter();
        workers.map(|it| it.table().bytes()).sum()
    }

    /// Versions of each variant, the current one first.
    pub fn versions(&self) -> BTreeMap<Box<str>, Vec<Version>> {
        let mut since: BTreeMap<Version, EventTime> = BTreeMap::new();
        for worker in &self.workers {
            for (_, known) in worker.table().versions() {
                let at = since.entry(known.name.clone()).or_insert(known.since);
                *at = (*at).max(known.since);
            }
        }
        let mut ordered: Vec<(EventTime, Version)> =
            since.into_iter().map(|(name, at)| (at, name)).collect();
        ordered.sort_by(|a, b| b.cmp(a));
        let mut versions: BTreeMap<Box<str>, Vec<Version>> = BTreeMap::new();
        for (_, name) in ordered {
            versions.entry(name.variant.clone()).or_default().push(name);
        }
        versions
    }

    /// Compares the lists of two versions.
    pub fn between(&self, with: &Version, version: &Version) -> Comparison {
        let mut pairs: BTreeMap<u64, (Box<str>, u64, Pair)> = BTreeMap::new();
        for worker in &self.workers {
            let table = worker.table();
            let numbers = [with, version].map(|of| {
                let mut versions = table.versions();
                versions.find(|(_, it)| it.name == *of).map(|it| it.0)
            });
            for (hash, query) in table.queries() {
                let lists = numbers.map(|it| it.and_then(|number| query.last(number)));
                if lists.iter().all(Option::is_none) {
                    continue;
                }
                let (_, searches, pair) = pairs
                    .entry(hash)
                    .or_insert_with(|| (query.text.clone(), 0, Pair::default()));
                *searches += query.searches;
                for (pair, lists) in pair.iter_mut().zip(lists) {
                    let lists = lists.unwrap_or_default().iter();
                    pair.extend(lists.map(|it| (it.at, it.results.clone())));
                }
            }
        }
        let mut newest = None;
        for (_, _, pair) in pairs.values_mut() {
            for lists in pair.iter_mut() {
                lists.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
            }
            newest = newest.max(pair[1].first().map(|(at, _)| *at));
        }
        let compared: Vec<(&str, u64, Lists<'_, u64>)> = pairs
            .values()
            .filter_map(|(text, searches, [before, after])| {
                let ([(_, a), (_, b), ..], [(_, c), (_, d), ..]) = (&before[..], &after[..]) else {
                    return None;
                };
                let lists = Lists {
                    before: [a, b],
                    after: [c, d],
                };
                Some((&**text, *searches, lists))
            })
            .collect();
        let change = ListChange::of(compared.iter().map(|(_, _, lists)| *lists));
        let mut queries: Vec<ChangedQuery> = compared
            .iter()
            .map(|(text, searches, lists)| ChangedQuery {
                query: (*text).into(),
                searches: *searches,
                overlap: lists.overlap(),
                rbo: lists.rbo(),
                churn: lists.excess_churn(),
            })
            .filter(|it| it.churn > 0.0)
            .collect();
        queries.sort_by(|a, b| {
            let order = b.churn.total_cmp(&a.churn);
            order.then_with(|| (b.searches, &a.query).cmp(&(a.searches, &b.query)))
        });
        queries.truncate(MAX_NAMED);
        Comparison {
            version: version.clone(),
            with: with.clone(),
            change,
            queries,
            newest,
        }
    }

    /// Compares each variant with its version before.
    pub fn all(&self) -> Vec<Comparison> {
        let versions = self.versions();
        let pairs = versions.values().filter_map(|of| of.first().zip(of.get(1)));
        let all = pairs.map(|(version, with)| self.between(with, version));
        all.collect()
    }

    /// Comparison of each variant with its version before, as of the last sample.
    pub fn latest(&self) -> Arc<Vec<Comparison>> {
        self.latest.load_full()
    }

    /// Compares each variant with its version before, and marks the deployments whose lists can be
    /// compared for the first time.
    pub fn sample(&self, deployments: &Deployments) {
        let latest = self.all();
        let known = deployments.latest();
        for it in &latest {
            let Some(change) = it.change.filter(|it| it.queries >= ListChange::MIN_QUERIES) else {
                continue;
            };
            let is_of = |of: &&Deployment| {
                *of.variant == *it.version.variant && *of.version == *it.version.version
            };
            let Some(deployment) = known.iter().find(is_of).filter(|it| it.lists.is_none()) else {
                continue;
            };
            let passed = it.newest.map(|newest| newest.since(deployment.at()));
            if change.queries < MANY_QUERIES && passed.is_none_or(|it| it < SETTLED) {
                continue;
            }
            let summary = Summary::of(&it.with, &change);
            info!(
                variant = deployment.variant,
                version = deployment.version,
                with = summary.with,
                queries = summary.queries,
                changed = summary.changed,
                overlap = summary.overlap,
                rbo = summary.rbo,
                lists = summary.text,
                "lists compared after a deployment"
            );
            deployments.note_lists(&deployment.variant, &deployment.version, summary);
        }
        self.latest.store(Arc::new(latest));
    }
}
