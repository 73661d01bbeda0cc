//! Publisher of engine snapshots: state is durable before it is visible.
//!
//! With a checkpoint folder, the state is written to disk first, and its snapshot is published
//! afterwards. A restart therefore resumes at or after the state of every earlier scrape. A
//! separate thread writes a copy of the state: a slow disk delays the published snapshot, but not
//! the counting. If a write fails, the snapshot is published nevertheless, because stale metrics
//! are less useful than metrics that are not durable. Offsets are then not committed, which keeps
//! the records readable, and the metrics report the failure.
//!
//! A state becomes durable only when the dead-letter records of its rejected records are delivered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use crate::checkpoint::folder::Folder;
use crate::checkpoint::{Checkpoint, Source};
use crate::ingest::context::WorkerContext;
use crate::ingest::recovery::Recovery;
use rankgauge_core::engine::Engine;
use rankgauge_core::engine::partition::CommitPoint;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::state::State;
use rankgauge_core::time::WallTime;
use rankgauge_kafka::Settings;
use rankgauge_kafka::dead_letters::{Mark, Outstanding};
use rankgauge_kafka::throttle::Throttle;
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::live::WorkerView;

/// Inverse of the maximum fraction of time spent on writing checkpoints.
const SHARE: u32 = 5;

/// Maximum pause between two checkpoints. A longer pause only makes the published snapshot older:
/// such long writes wait for the disk and do not use CPU time.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Maximum wait of a published snapshot for dead-letter records. After it, the snapshot is published
/// before it is durable.
const HOLD_TIMEOUT: Duration = Duration::from_secs(5);

/// Publisher of one worker.
pub(super) struct Publisher {
    number: usize,
    view: Arc<WorkerView>,
    recovery: Arc<Recovery>,
    publish_interval: Duration,
    /// Group and topics of the positions.
    source: Source,
    writer: Option<Writer>,
    outstanding: Arc<Outstanding>,
    /// State that waits for the delivery of dead-letter records.
    held: Option<Held>,
    /// Positions that may be committed: durable, and of partitions that the worker owns.
    durable: Vec<CommitPoint>,
    /// True if `durable` has changed since the last call of `take_durable_changed`.
    durable_changed: bool,
    /// True while no state becomes durable, because its records do not decode.
    is_withheld: bool,
    /// True if the published snapshot is durable: the last checkpoint was written.
    is_published_durable: bool,
    /// Number of assignments and revocations. A checkpoint job of an earlier epoch does not change
    /// `durable`, because the worker may no longer own its partitions.
    epoch: u64,
    due: Instant,
}

/// Handle of the checkpoint thread.
struct Writer {
    jobs: SyncSender<Job>,
    done: Receiver<Done>,
    busy: bool,
    last: WallTime,
    absorbed: BTreeMap<usize, WallTime>,
}

/// State that may become durable when all dead-letter records before `mark` are delivered.
struct Held {
    mark: Mark,
    since: Instant,
    /// Positions of the partitions that the worker owns.
    own: Vec<CommitPoint>,
    /// `None` without checkpoints.
    job: Option<Job>,
}

struct Job {
    epoch: u64,
    checkpoint: Checkpoint,
    /// Subset of `checkpoint.points` of partitions that the worker owns.
    own: Vec<CommitPoint>,
    /// `None` if a later snapshot is published already.
    snapshot: Option<Arc<Snapshot>>,
}

struct Done {
    epoch: u64,
    own: Vec<CommitPoint>,
    saved: bool,
    published: bool,
    took: Duration,
}

impl Publisher {
    /// Creates the publisher of a worker with these dead-letter records.
    ///
    /// # Errors
    /// If the checkpoint thread cannot be started.
    pub(super) fn new(
        context: &WorkerContext,
        outstanding: Arc<Outstanding>,
    ) -> std::io::Result<Self> {
        let folder = context.recovery.folder.as_ref();
        let writer = folder.map(|folder| Writer::start(context, Arc::clone(folder)));
        Ok(Self {
            number: context.number,
            view: Arc::clone(context.view()),
            recovery: Arc::clone(&context.recovery),
            publish_interval: context.config.publish_interval,
            source: source(context.kafka()),
            writer: writer.transpose()?,
            outstanding,
            held: None,
            durable: Vec::new(),
            durable_changed: false,
            is_withheld: false,
            is_published_durable: false,
            epoch: 0,
            due: Instant::now(),
        })
    }

    /// Returns true if a publication is due, the writer is idle, and no state waits for its
    /// dead-letter records, or only one that has waited for a long time.
    pub(super) fn is_due(&mut self) -> bool {
        self.collect(Duration::ZERO);
        self.release();
        let busy = self.writer.as_ref().is_some_and(|writer| writer.busy);
        let is_held = self.held.as_ref().is_some_and(|held| {
            let is_hidden = held.job.as_ref().is_some_and(|job| job.snapshot.is_some());
            is_hidden && held.since.elapsed() < HOLD_TIMEOUT
        });
        !busy && !is_held && Instant::now() >= self.due
    }

    /// Publishes a snapshot of `engine` as soon as its state is durable. If an earlier state waits
    /// for its dead-letter records, publishes the snapshot only.
    pub(super) fn publish(&mut self, engine: &Engine) {
        let started = Instant::now();
        self.copy(engine);
        self.view.latencies.published(started.elapsed());
    }

    fn copy(&mut self, engine: &Engine) {
        // A late publication does not delay the following ones.
        let (now, next) = (Instant::now(), self.due + self.publish_interval);
        self.due = if next > now {
            next
        } else {
            now + self.publish_interval
        };
        let snapshot = Arc::new(engine.snapshot());
        if let Some(held) = &mut self.held {
            if let Some(job) = &mut held.job {
                job.snapshot = None;
            }
            self.is_published_durable = false;
            self.view.publish(snapshot);
            return;
        }
        if self.is_withheld {
            self.is_published_durable = false;
            self.view.publish(snapshot);
            return;
        }
        let mark = self.outstanding.mark();
        let own = engine.commit_points();
        let Some(writer) = &mut self.writer else {
            self.view.publish(snapshot);
            self.hold(mark, own, None);
            return;
        };
        let positions = &self.recovery.positions;
        // The wall clock may be set back, but a later checkpoint must have a later time.
        writer.last = wall_now().max(WallTime(writer.last.0 + 1));
        let checkpoint = Checkpoint {
            worker: self.number,
            written: writer.last,
            absorbed: writer.absorbed.clone(),
            source: Source {
                cluster: positions.cluster(),
                ..self.source.clone()
            },
            points: positions.of_checkpoint(self.number, &own),
            state: engine.state(),
        };
        let job = Job {
            epoch: self.epoch,
            checkpoint,
            own: own.clone(),
            snapshot: Some(snapshot),
        };
        self.hold(mark, own, Some(job));
    }

    /// Makes a state durable when all dead-letter records before `mark` are delivered.
    fn hold(&mut self, mark: Mark, own: Vec<CommitPoint>, job: Option<Job>) {
        self.held = Some(Held {
            mark,
            since: Instant::now(),
            own,
            job,
        });
        self.release();
    }

    /// Passes the state that waits for dead-letter records to the writer, if they are delivered.
    fn release(&mut self) {
        let is_delivered = |held: &mut Held| self.outstanding.all_delivered_before(held.mark);
        let Some(held) = self.held.take_if(is_delivered) else {
            return;
        };
        match (held.job, &mut self.writer) {
            (Some(job), Some(writer)) => writer.busy = writer.jobs.send(job).is_ok(),
            _ => self.durable = held.own,
        }
    }

    /// Withholds states from the disk and from commits while `is_withheld`.
    pub(super) fn withhold(&mut self, is_withheld: bool) {
        self.is_withheld = is_withheld;
    }

    /// Publishes and waits until the state is durable, at most until `deadline`. Returns true if it
    /// is durable. A state that is already durable is not written again.
    pub(super) fn publish_and_wait(&mut self, engine: &Engine, deadline: Instant) -> bool {
        if !self.settle(deadline) {
            return false;
        }
        let own = engine.commit_points();
        if self.is_withheld {
            self.publish(engine);
            return true;
        }
        if self.writer.is_some() && self.durable == own {
            return true;
        }
        self.publish(engine);
        self.settle(deadline) && self.durable == own
    }

    /// Waits for the dead-letter records and the writer. Returns true if no state waits for them by
    /// `deadline`.
    fn settle(&mut self, deadline: Instant) -> bool {
        if !self.wait(deadline) {
            return false;
        }
        if let Some(held) = &self.held
            && !self.outstanding.wait(held.mark, deadline)
        {
            return false;
        }
        self.release();
        self.wait(deadline)
    }

    /// Returns true if durable positions changed since the last call. They should be committed
    /// soon: records of a durable but uncommitted checkpoint are counted again if another member
    /// takes over the partitions.
    pub(super) fn take_durable_changed(&mut self) -> bool {
        std::mem::take(&mut self.durable_changed)
    }

    /// Published state, read from its checkpoint, and its positions. Returns `None` if the
    /// published state is not durable.
    pub(super) fn shown(&mut self, limit: Duration) -> Option<(State, Vec<CommitPoint>)> {
        if !self.wait(Instant::now() + limit) || !self.is_published_durable {
            return None;
        }
        let read = self.recovery.folder.as_ref()?.read(self.number);
        let checkpoint = read.inspect_err(|problem| {
            warn!(
                worker = self.number,
                error = %problem,
                "cannot read back the checkpoint"
            );
        });
        Some((checkpoint.ok()?.state, self.durable.clone()))
    }

    /// Positions that may be committed.
    pub(super) fn committable(&self, engine: &Engine) -> Vec<CommitPoint> {
        let all_delivered = || (self.outstanding).all_delivered_before(self.outstanding.mark());
        if self.writer.is_none() && !self.is_withheld && all_delivered() {
            engine.commit_points()
        } else {
            self.durable.clone()
        }
    }

    /// Starts a new epoch after a rebalance of these partitions. Only `points` of them may be committed
    /// until the next checkpoint.
    pub(super) fn change_partitions(
        &mut self,
        partitions: &BTreeSet<i32>,
        points: Vec<CommitPoint>,
    ) {
        self.epoch += 1;
        self.held = None;
        (self.durable).retain(|point| !partitions.contains(&point.partition));
        self.durable.extend(points);
        self.durable
            .sort_by_key(|point| (point.partition, point.kind.index()));
    }

    /// Waits for the writer. Returns true if it is idle by `deadline`.
    fn wait(&mut self, deadline: Instant) -> bool {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            self.collect(left);
            match &self.writer {
                Some(writer) if writer.busy => {
                    if left.is_zero() {
                        return false;
                    }
                }
                _ => return true,
            }
        }
    }

    /// Receives the result of the writer, with a maximum wait of `patience`.
    fn collect(&mut self, patience: Duration) {
        let Some(writer) = self.writer.as_mut().filter(|writer| writer.busy) else {
            return;
        };
        let done = if patience.is_zero() {
            match writer.done.try_recv() {
                Ok(done) => Some(done),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => None,
            }
        } else {
            match writer.done.recv_timeout(patience) {
                Ok(done) => Some(done),
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => None,
            }
        };
        writer.busy = false;
        let Some(done) = done else {
            error!(worker = self.number, "checkpoint thread terminated");
            return;
        };
        self.is_published_durable = done.saved && done.published;
        if done.saved && done.epoch == self.epoch {
            self.durable_changed |= self.durable != done.own;
            self.durable = done.own;
        }
        let rest = (done.took * (SHARE - 1)).min(MAX_PAUSE);
        self.due = self.due.max(Instant::now() + rest);
    }
}

impl Writer {
    fn start(context: &WorkerContext, folder: Arc<Folder>) -> std::io::Result<Self> {
        let WorkerContext {
            number, recovery, ..
        } = context;
        let absorbed = recovery.absorbed[*number].clone();
        let mut absent = absent_workers(&absorbed, context.config.workers);
        let target = Target {
            folder,
            view: Arc::clone(context.view()),
            recovery: Arc::clone(recovery),
        };
        let (jobs, waiting) = mpsc::sync_channel::<Job>(1);
        let (report, done) = mpsc::sync_channel(1);
        thread::Builder::new()
            .name(format!("checkpoint-{number}"))
            .spawn(move || {
                let mut log = ProblemLog::default();
                for job in waiting {
                    let done = write(job, &target, &mut log);
                    if done.saved {
                        remove_files(&mut absent, &target.folder);
                    }
                    if report.send(done).is_err() {
                        break;
                    }
                }
            })?;
        Ok(Self {
            jobs,
            done,
            busy: false,
            last: WallTime(0),
            absorbed,
        })
    }
}

/// Group and topics of the positions, without the cluster, which is not known at the start.
fn source(kafka: &Settings) -> Source {
    Source {
        cluster: None,
        group: kafka.group_id.clone(),
        topics: [kafka.search_topic.clone(), kafka.feedback_topic.clone()],
    }
}

/// Destinations of a written checkpoint.
struct Target {
    folder: Arc<Folder>,
    view: Arc<WorkerView>,
    recovery: Arc<Recovery>,
}

/// State of the log messages about failed checkpoint writes.
#[derive(Default)]
struct ProblemLog {
    failing: bool,
    throttle: Throttle,
}

fn write(job: Job, target: &Target, log: &mut ProblemLog) -> Done {
    let Target {
        folder,
        view,
        recovery,
    } = target;
    let started = Instant::now();
    let saved = folder.save(&job.checkpoint);
    let took = started.elapsed();
    match &saved {
        Ok(size) => {
            view.checkpoint_saved(job.checkpoint.written, *size, took);
            recovery.positions.saved(&job.checkpoint.points, &job.own);
            if std::mem::take(&mut log.failing) {
                info!(
                    worker = job.checkpoint.worker,
                    "checkpoint writes recovered"
                );
                log.throttle.reset();
            }
        }
        Err(problem) => {
            view.checkpoint_failed();
            log.failing = true;
            if let Some(suppressed) = log.throttle.admit() {
                // Counting continues. A restart counts again from the last checkpoint.
                error!(
                    worker = job.checkpoint.worker,
                    path = %folder.path().display(),
                    error = %problem,
                    suppressed,
                    "checkpoint write failed; offsets are not committed"
                );
            }
        }
    }
    let published = job.snapshot.is_some();
    if let Some(snapshot) = job.snapshot {
        view.publish(snapshot);
    }
    Done {
        published,
        epoch: job.epoch,
        own: job.own,
        saved: saved.is_ok(),
        took,
    }
}

/// Returns the `absorbed` workers that a process with `workers` workers does not have. Their files
/// are removed once a checkpoint of the absorbing worker includes their state.
fn absent_workers(absorbed: &BTreeMap<usize, WallTime>, workers: usize) -> Vec<usize> {
    let absorbed = absorbed.keys().copied();
    absorbed.filter(|worker| *worker >= workers).collect()
}

/// Removes the checkpoint files of `workers`. Failed removals are retried after the next
/// checkpoint.
fn remove_files(workers: &mut Vec<usize>, folder: &Folder) {
    workers.retain(|worker| {
        let removed = folder.remove(*worker);
        if let Err(problem) = &removed {
            warn!(worker, error = %problem, "checkpoint of a removed worker cannot be removed");
        }
        removed.is_err()
    });
}
