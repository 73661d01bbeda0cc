//! What the workers of a process share, and what they go on with from an earlier one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use tracing::{error, info, warn};

use super::board::{Board, MOST_BYTES};
use super::commands::{Command, Mailbox};
use super::dead_letters::LetterCounts;
use super::positions::Positions;
use super::regressions::Regressions;
use super::sessions::SessionPlaces;
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

/// What the workers of a process share.
#[derive(Debug)]
pub struct Shared {
    /// The configuration.
    pub config: Arc<Config>,
    /// Numbers for label values and series.
    pub registry: Arc<Registry>,
    /// The gold set in use; replaced as a whole.
    pub gold: ArcSwap<GoldSet>,
    /// What is known of its queries, one by one; `None` when nobody can ask.
    pub board: Option<Arc<Board>>,
    /// One view a worker.
    pub views: Vec<WorkerView>,
    /// Where what was counted outlives the process; `None` when it does not.
    pub checkpoints: Option<Folder>,
    /// Up to where partitions were counted, as far as it is on disk.
    pub positions: Positions,
    /// How many partitions each topic had when this process found them.
    pub partitions_found: OnceLock<usize>,
    /// By worker, the workers of an earlier process whose checkpoints it goes on with.
    pub(super) absorbed: Vec<BTreeMap<usize, WallTime>>,
    /// What operators ask of the workers, one mailbox a worker.
    pub(super) mailboxes: Vec<Mailbox>,
    /// What became of records that were passed on to the dead-letter topic.
    pub letters: LetterCounts,
    /// What became evident.
    pub regressions: Regressions,
    /// Whether sessions meet in one partition.
    pub sessions: SessionPlaces,
    /// Set once, when it is time to stop.
    pub stop: AtomicBool,
    /// Workers that have nothing more to commit.
    settled: AtomicUsize,
}

impl Shared {
    /// What workers with this configuration share, with an empty gold set; and their engines, with
    /// what `checkpoints` hold.
    pub fn new(config: Arc<Config>, checkpoints: Option<Folder>) -> (Self, Vec<Engine>) {
        let registry = Arc::new(Engine::registry(&config.engine));
        let gold = Arc::new(GoldSet::empty());
        let board = config
            .admin_listen
            .map(|_| Arc::new(Board::new(Arc::clone(&gold), MOST_BYTES)));
        let mut engines: Vec<_> = (0..config.workers)
            .map(|_| new_engine(&config, &registry, board.as_ref()))
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
            // What a scrape has seen before must be there for the first one after.
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
            mailboxes: views.iter().map(|_| Mailbox::default()).collect(),
            letters: LetterCounts::default(),
            regressions: Regressions::default(),
            sessions: SessionPlaces::default(),
            gold: ArcSwap::new(gold),
            board,
            views,
            stop: AtomicBool::new(false),
            settled: AtomicUsize::new(0),
            config,
        };
        (shared, engines)
    }

    /// An engine that has counted what `state` says, and has no partitions yet.
    pub(super) fn engine_with(&self, state: &State) -> Engine {
        let mut engine = new_engine(&self.config, &self.registry, self.board.as_ref());
        engine.restore(state);
        engine.apply(Input::Gold(self.gold.load_full()));
        engine
    }

    /// Judges by `gold` from now on.
    pub fn judge_by(&self, gold: GoldSet) {
        let gold = Arc::new(gold);
        // What a worker judges by the new set finds its board.
        if let Some(board) = &self.board {
            board.begin(Arc::clone(&gold));
        }
        self.gold.store(gold);
    }

    /// Asks every worker to do this when it next goes round its loop.
    pub fn command(&self, command: Command) {
        for mailbox in &self.mailboxes {
            mailbox.leave(command);
        }
    }

    /// The workers' last snapshots as one.
    pub fn merged(&self) -> Snapshot {
        let mut merged = Snapshot::default();
        for view in &self.views {
            merged.merge(&view.snapshot());
        }
        merged
    }

    /// One worker has nothing more to commit.
    pub(super) fn settle(&self) {
        self.settled.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether that is true of all.
    pub(super) fn all_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire) >= self.views.len()
    }

    /// How far the workers other than `worker` are.
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

fn new_engine(config: &Config, registry: &Arc<Registry>, board: Option<&Arc<Board>>) -> Engine {
    let settings = Arc::new(config.engine.clone());
    let engine = Engine::new(settings, Arc::clone(registry), wall_now());
    match board {
        Some(board) => engine.observed_by(Arc::<Board>::clone(board)),
        None => engine,
    }
}

/// Reads what an earlier process has left, and says so. Positions of another log are left out.
fn recover(folder: &Folder, config: &Config) -> Vec<Checkpoint> {
    let mut contents = folder.load();
    if let Some(problem) = &contents.unlisted {
        error!(
            "the checkpoints in {} cannot be listed: {problem}; what they hold starts at 0",
            folder.path().display()
        );
    }
    for refused in &contents.refused {
        let path = refused.path.display();
        let fate = match &refused.aside {
            Ok(aside) => format!("it was moved to {}", aside.display()),
            Err(problem) => format!("it cannot be moved aside ({problem})"),
        };
        error!(
            "the checkpoint {path} {}; {fate}, and what it held starts at 0",
            refused.why
        );
    }
    for checkpoint in &mut contents.checkpoints {
        let source = &checkpoint.source;
        let is_ours = source.group == config.kafka.group_id
            && source.topics == [&*config.kafka.search_topic, &*config.kafka.feedback_topic];
        if is_ours {
            info!(
                "going on with the checkpoint of worker {} in {}",
                checkpoint.worker,
                folder.path().display()
            );
        } else {
            warn!(
                "the checkpoint of worker {} is of group {} on {} and {}: its counters are gone on \
                 with, its positions are not used",
                checkpoint.worker, source.group, source.topics[0], source.topics[1]
            );
            checkpoint.points.clear();
        }
    }
    contents.checkpoints
}
