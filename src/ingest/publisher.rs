//! From a worker's engine to what others see of it: durable before visible.
//!
//! With a checkpoint folder, a state is written to disk first, and what it shows is published when
//! it is there; a restart then goes on at or after whatever a scrape has seen. Writing is done by a
//! thread of its own, on a copy: however slow the disk, the worker goes on counting, and only what
//! is visible gets older. When writing fails, what was counted is shown all the same, since a
//! sidecar that falls silent helps nobody; but offsets are not committed, so that nothing is lost
//! for good, and a scrape says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use crate::checkpoint::{Checkpoint, Source};
use crate::ingest::{Shared, wall_now};
use rankgauge_core::engine::Engine;
use rankgauge_core::engine::partition::CommitPoint;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::state::State;
use rankgauge_core::time::WallTime;

/// Writing checkpoints takes at most one part in this many of the time.
const SHARE: u32 = 5;

/// Longest rest between two checkpoints: beyond it what is visible would be old for no reason, since
/// a disk that takes that long is waited for and costs no processor.
const LONGEST_REST: Duration = Duration::from_secs(10);

/// A problem that stays is logged once in this time.
const PROBLEM_LOG_INTERVAL: Duration = Duration::from_mins(1);

/// What one worker publishes through.
pub(super) struct Publisher {
    number: usize,
    shared: Arc<Shared>,
    writer: Option<Writer>,
    /// What may be committed: positions that are on disk, of partitions that we have.
    durable: Vec<CommitPoint>,
    /// Whether `durable` is further than when it was last asked.
    has_news: bool,
    /// Whether what is visible is on disk: the last checkpoint was written.
    shown_is_saved: bool,
    /// Counts how often partitions were taken from us: what was handed to the writer before that
    /// says nothing of what we have after it.
    epoch: u64,
    due: Instant,
}

/// The thread that writes.
struct Writer {
    jobs: SyncSender<Job>,
    done: Receiver<Done>,
    busy: bool,
    last: WallTime,
    absorbed: BTreeMap<usize, WallTime>,
}

struct Job {
    epoch: u64,
    checkpoint: Checkpoint,
    /// Of `checkpoint.points`, those of partitions that the worker has.
    own: Vec<CommitPoint>,
    snapshot: Arc<Snapshot>,
}

struct Done {
    epoch: u64,
    own: Vec<CommitPoint>,
    saved: bool,
    took: Duration,
}

impl Publisher {
    /// The publisher of worker `number`.
    ///
    /// # Errors
    /// When the system starts no thread.
    pub(super) fn new(number: usize, shared: Arc<Shared>) -> std::io::Result<Self> {
        let writer = match &shared.checkpoints {
            None => None,
            Some(_) => Some(Writer::start(number, Arc::clone(&shared))?),
        };
        Ok(Self {
            number,
            shared,
            writer,
            durable: Vec::new(),
            has_news: false,
            shown_is_saved: false,
            epoch: 0,
            due: Instant::now(),
        })
    }

    /// Whether it is time to publish, and the writer has time to write.
    pub(super) fn is_due(&mut self) -> bool {
        self.collect(Duration::ZERO);
        let busy = self.writer.as_ref().is_some_and(|writer| writer.busy);
        !busy && Instant::now() >= self.due
    }

    /// Publishes what `engine` shows, as soon as that is on disk.
    pub(super) fn publish(&mut self, engine: &Engine) {
        self.due = Instant::now() + self.shared.config.publish_interval;
        let snapshot = Arc::new(engine.snapshot());
        let Some(writer) = &mut self.writer else {
            self.shared.views[self.number].snapshot.store(snapshot);
            return;
        };
        let own = engine.commit_points();
        let kafka = &self.shared.config.kafka;
        // The wall clock may be set back; later has to be later all the same.
        writer.last = wall_now().max(WallTime(writer.last.0 + 1));
        let checkpoint = Checkpoint {
            worker: self.number,
            written: writer.last,
            absorbed: writer.absorbed.clone(),
            source: Source {
                cluster: self.shared.positions.cluster(),
                group: kafka.group_id.clone(),
                topics: [kafka.search_topic.clone(), kafka.feedback_topic.clone()],
            },
            points: self.shared.positions.of_checkpoint(self.number, &own),
            state: engine.state(),
        };
        let job = Job {
            epoch: self.epoch,
            checkpoint,
            own,
            snapshot,
        };
        writer.busy = writer.jobs.send(job).is_ok();
    }

    /// Publishes and waits until that is on disk, at most until `deadline`. Returns whether it is.
    /// What is on disk already is not written again.
    pub(super) fn publish_and_wait(&mut self, engine: &Engine, deadline: Instant) -> bool {
        if !self.wait(deadline) {
            return false;
        }
        let own = engine.commit_points();
        if self.writer.is_some() && self.durable == own {
            return true;
        }
        self.publish(engine);
        self.wait(deadline) && (self.writer.is_none() || self.durable == own)
    }

    /// Whether there is more to commit than when this was last asked: a checkpoint that is on disk
    /// and not committed is what somebody else counts again if we are no more.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// What is visible, as it is on disk, with the positions it was counted up to; `None` when disk
    /// does not have it.
    pub(super) fn shown(&mut self, limit: Duration) -> Option<(State, Vec<CommitPoint>)> {
        if !self.wait(Instant::now() + limit) || !self.shown_is_saved {
            return None;
        }
        let read = self.shared.checkpoints.as_ref()?.read(self.number);
        let checkpoint = read.inspect_err(|problem| {
            warn!(
                worker = self.number,
                "the checkpoint just written {problem}"
            );
        });
        Some((checkpoint.ok()?.state, self.durable.clone()))
    }

    /// What may be committed.
    pub(super) fn committable(&self, engine: &Engine) -> Vec<CommitPoint> {
        match self.writer {
            None => engine.commit_points(),
            Some(_) => self.durable.clone(),
        }
    }

    /// Partitions were given or taken: what stands in `points` alone is certain.
    pub(super) fn begin_anew(&mut self, points: Vec<CommitPoint>) {
        self.epoch += 1;
        self.durable = points;
    }

    /// Waits for the writer; returns whether it is idle by `deadline`.
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

    /// Takes note of what the writer has done, waiting for it at most `patience`.
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
            error!(
                worker = self.number,
                "the thread that writes checkpoints has died"
            );
            return;
        };
        self.shown_is_saved = done.saved;
        if done.saved && done.epoch == self.epoch {
            self.has_news |= self.durable != done.own;
            self.durable = done.own;
        }
        let rest = (done.took * (SHARE - 1)).min(LONGEST_REST);
        self.due = self.due.max(Instant::now() + rest);
    }
}

impl Writer {
    fn start(number: usize, shared: Arc<Shared>) -> std::io::Result<Self> {
        let absorbed = shared.absorbed[number].clone();
        let (jobs, waiting) = mpsc::sync_channel::<Job>(1);
        let (report, done) = mpsc::sync_channel(1);
        thread::Builder::new()
            .name(format!("checkpoint-{number}"))
            .spawn(move || {
                let mut log = ProblemLog::default();
                let mut absent = absent_workers(&shared, number);
                for job in waiting {
                    let done = write(job, &shared, &mut log);
                    if done.saved {
                        remove_files(&mut absent, &shared);
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

/// Says once a minute what is wrong, and when it is over.
#[derive(Default)]
struct ProblemLog {
    failing: bool,
    said: Option<Instant>,
}

fn write(job: Job, shared: &Shared, log: &mut ProblemLog) -> Done {
    let started = Instant::now();
    let view = &shared.views[job.checkpoint.worker];
    let folder = shared.checkpoints.as_ref();
    let saved = folder.map_or(Ok(0), |folder| folder.save(&job.checkpoint));
    let took = started.elapsed();
    match &saved {
        Ok(size) => {
            view.checkpoint.saved(job.checkpoint.written, *size, took);
            shared.positions.saved(&job.checkpoint.points, &job.own);
            if std::mem::take(&mut log.failing) {
                info!(
                    worker = job.checkpoint.worker,
                    "checkpoints are written again"
                );
                log.said = None;
            }
        }
        Err(problem) => {
            view.checkpoint.failed();
            log.failing = true;
            if log
                .said
                .is_none_or(|said| said.elapsed() >= PROBLEM_LOG_INTERVAL)
            {
                log.said = Some(Instant::now());
                error!(
                    worker = job.checkpoint.worker,
                    "the checkpoint cannot be written to {}: {problem}; counting goes on, offsets \
                     are not committed, and a restart counts again from the last checkpoint (not \
                     logged again for a minute)",
                    folder.map_or_else(String::new, |folder| folder.path().display().to_string())
                );
            }
        }
    }
    view.snapshot.store(job.snapshot);
    Done {
        epoch: job.epoch,
        own: job.own,
        saved: saved.is_ok(),
        took,
    }
}

/// The workers that are no more, and whose files go once what they held is in one of ours.
fn absent_workers(shared: &Shared, heir: usize) -> Vec<usize> {
    let absorbed = shared.absorbed[heir].keys().copied();
    absorbed
        .filter(|worker| *worker >= shared.config.workers)
        .collect()
}

/// Removes the files of `workers`; those that stay are tried again after the next checkpoint.
fn remove_files(workers: &mut Vec<usize>, shared: &Shared) {
    let Some(folder) = &shared.checkpoints else {
        return;
    };
    workers.retain(|worker| {
        let removed = folder.remove(*worker);
        if let Err(problem) = &removed {
            warn!("the checkpoint of worker {worker}, which is no more, stays: {problem}");
        }
        removed.is_err()
    });
}
