//! Shared state of the workers of a process, and recovery of the state of an earlier process.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use tracing::{error, info, warn};

use super::commands::{Command, CommandQueue};
use super::dead_letters::DeadLetterCounts;
use super::positions::Positions;
use super::query_stats::{MAX_BYTES, QueryStats};
use super::regressions::Regressions;
use super::session_partitions::SessionPartitions;
use super::view::WorkerView;
use super::wall_now;
use crate::checkpoint::Checkpoint;
use crate::checkpoint::folder::Folder;
use crate::config::Config;
use rankgauge_core::engine::registry::Registry;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::state::State;
use rankgauge_core::engine::window::Progress;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::gold::GoldSet;
use rankgauge_core::time::WallTime;

/// Shared state of the workers of a process.
#[derive(Debug)]
pub struct Shared {
    /// The configuration.
    pub config: Arc<Config>,
    /// Registry of label values and series.
    pub registry: Arc<Registry>,
    /// Current gold set, replaced as a whole.
    pub gold: ArcSwap<GoldSet>,
    /// Query statistics; `None` if the API is disabled.
    pub query_stats: Option<Arc<QueryStats>>,
    /// View of each worker.
    pub views: Vec<WorkerView>,
    /// Checkpoint folder; `None` without checkpoints.
    pub checkpoints: Option<Folder>,
    /// Durable positions of the partitions.
    pub positions: Positions,
    /// Partition count of the topics at their first successful check.
    pub partitions_found: OnceLock<usize>,
    /// For each worker, the workers of an earlier process whose checkpoints it absorbed.
    pub(super) absorbed: Vec<BTreeMap<usize, WallTime>>,
    /// Command queue of each worker.
    pub(super) command_queues: Vec<CommandQueue>,
    /// Numbers of delivered and failed dead-letter records.
    pub dead_letter_counts: DeadLetterCounts,
    /// Detected regressions.
    pub regressions: Regressions,
    /// Partitions of the sessions.
    pub sessions: SessionPartitions,
    /// Shutdown request. It is set once.
    pub stop: AtomicBool,
    /// Number of drained workers: those with nothing left to commit.
    drained: AtomicUsize,
}

impl Shared {
    /// Creates the shared state, with an empty gold set, and the engines of the workers, restored
    /// from `checkpoints`.
    pub fn new(config: Arc<Config>, checkpoints: Option<Folder>) -> (Self, Vec<Engine>) {
        let registry = Arc::new(Engine::registry(&config.engine));
        let gold = Arc::new(GoldSet::empty());
        let query_stats = config
            .admin_listen
            .map(|_| Arc::new(QueryStats::new(Arc::clone(&gold), MAX_BYTES)));
        let mut engines: Vec<_> = (0..config.workers)
            .map(|_| new_engine(&config, &registry, query_stats.as_ref()))
            .collect();
        let views: Vec<_> = (0..config.workers).map(|_| WorkerView::default()).collect();
        let positions = Positions::new(config.workers);
        let mut absorbed = vec![BTreeMap::new(); config.workers];
        if let Some(folder) = &checkpoints {
            for checkpoint in recover(folder, &config) {
                let worker = checkpoint.worker % config.workers;
                engines[worker].restore(&checkpoint.state);
                let cluster = checkpoint.source.cluster;
                positions.found(worker, &checkpoint.points, cluster);
                views[worker].checkpoint.found(checkpoint.written);
                absorbed[worker].extend(checkpoint.absorbed);
                if checkpoint.worker != worker {
                    absorbed[worker].insert(checkpoint.worker, checkpoint.written);
                }
            }
            // The first scrape must not show less than the last scrape of the earlier process.
            for (engine, view) in engines.iter().zip(&views) {
                view.snapshot.store(Arc::new(engine.snapshot()));
            }
        }
        let shared = Self {
            registry,
            checkpoints,
            positions,
            partitions_found: OnceLock::new(),
            absorbed,
            command_queues: views.iter().map(|_| CommandQueue::default()).collect(),
            dead_letter_counts: DeadLetterCounts::default(),
            regressions: Regressions::default(),
            sessions: SessionPartitions::default(),
            gold: ArcSwap::new(gold),
            query_stats,
            views,
            stop: AtomicBool::new(false),
            drained: AtomicUsize::new(0),
            config,
        };
        (shared, engines)
    }

    /// Creates an engine with the counters of `state` and without partitions.
    pub(super) fn engine_with(&self, state: &State) -> Engine {
        let mut engine = new_engine(&self.config, &self.registry, self.query_stats.as_ref());
        engine.restore(state);
        engine.apply(Input::Gold(self.gold.load_full()));
        engine
    }

    /// Replaces the gold set.
    pub fn set_gold(&self, gold: GoldSet) {
        let gold = Arc::new(gold);
        // The statistics are reset first: searches judged against the new set must be recorded.
        if let Some(query_stats) = &self.query_stats {
            query_stats.reset(Arc::clone(&gold));
        }
        self.gold.store(gold);
    }

    /// Sends `command` to every worker. A worker executes it at the next iteration of its loop.
    pub fn command(&self, command: Command) {
        for queue in &self.command_queues {
            queue.push(command);
        }
    }

    /// Merges the last published snapshots of all workers.
    pub fn merged(&self) -> Snapshot {
        let mut merged = Snapshot::default();
        for view in &self.views {
            merged.merge(&view.snapshot());
        }
        merged
    }

    /// Marks one worker as drained: it has nothing left to commit.
    pub(super) fn mark_drained(&self) {
        self.drained.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns true if all workers are drained.
    pub(super) fn all_drained(&self) -> bool {
        self.drained.load(Ordering::Acquire) >= self.views.len()
    }

    /// Combined progress of all workers except `worker`.
    pub(super) fn progress_of_others(&self, worker: usize) -> Option<Progress> {
        let others = self
            .views
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != worker);
        others
            .filter_map(|(_, view)| view.snapshot.load().progress)
            .reduce(Progress::combine)
    }
}

fn new_engine(
    config: &Config,
    registry: &Arc<Registry>,
    query_stats: Option<&Arc<QueryStats>>,
) -> Engine {
    let settings = Arc::new(config.engine.clone());
    let engine = Engine::new(settings, Arc::clone(registry), wall_now());
    match query_stats {
        Some(query_stats) => engine.observed_by(Arc::<QueryStats>::clone(query_stats)),
        None => engine,
    }
}

/// Loads and logs the checkpoints of an earlier process. Drops positions of other topics or groups.
fn recover(folder: &Folder, config: &Config) -> Vec<Checkpoint> {
    let mut contents = folder.load();
    if let Some(problem) = &contents.list_error {
        error!(
            path = %folder.path().display(),
            error = %problem,
            "checkpoint folder cannot be listed; counters start at 0"
        );
    }
    for rejected in &contents.rejected {
        let path = rejected.path.display();
        match &rejected.aside {
            Ok(aside) => error!(
                path = %path,
                error = %rejected.error,
                moved_to = %aside.display(),
                "checkpoint rejected; its counters start at 0"
            ),
            Err(problem) => error!(
                path = %path,
                error = %rejected.error,
                rename_error = %problem,
                "checkpoint rejected and cannot be moved; its counters start at 0"
            ),
        }
    }
    for checkpoint in &mut contents.checkpoints {
        let source = &checkpoint.source;
        let is_ours = source.group == config.kafka.group_id
            && source.topics == [&*config.kafka.search_topic, &*config.kafka.feedback_topic];
        if is_ours {
            info!(
                worker = checkpoint.worker,
                path = %folder.path().display(),
                "checkpoint restored"
            );
        } else {
            warn!(
                worker = checkpoint.worker,
                path = %folder.path().display(),
                group = source.group,
                search_topic = source.topics[0],
                feedback_topic = source.topics[1],
                "checkpoint of another group or topic; counters restored, positions ignored"
            );
            checkpoint.points.clear();
        }
    }
    contents.checkpoints
}
