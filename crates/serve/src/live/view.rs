//! View of a worker for other threads: atomically replaced values. Reading them never blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};

use super::forwarder::ForwarderView;
use super::heartbeat::Heartbeat;
use crate::latencies::WorkLatencies;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::Kind;
use rankgauge_core::time::WallTime;

/// View of a worker for other threads.
#[derive(Debug)]
pub struct WorkerView {
    /// Durations of the work of all workers.
    pub latencies: WorkLatencies,
    /// View of the forwarder.
    pub forwarder: ForwarderView,
    pub(super) snapshot: ArcSwap<Snapshot>,
    /// Heartbeat of the thread.
    pub heartbeat: Heartbeat,
    connected: AtomicBool,
    /// Cause of the last failed connection; `None` while a broker is connected.
    connection_problem: ArcSwapOption<String>,
    assigned_once: AtomicBool,
    partitions: AtomicUsize,
    topic_partitions: AtomicUsize,
    rebalances: AtomicU64,
    /// Problem of each topic of which nothing decodes.
    undecodable: [ArcSwapOption<String>; 2],
    stalled: ArcSwap<Vec<StalledPartition>>,
    /// Number of topic partitions that wait for a schema.
    without_schema: AtomicUsize,
    /// `None` without checkpoints.
    checkpoint: Option<CheckpointView>,
}

/// Topic partition that has records to read and delivers none.
#[derive(Clone, Debug, PartialEq)]
pub struct StalledPartition {
    /// Kind of the topic.
    pub kind: Kind,
    /// Name of the topic.
    pub topic: String,
    /// Number of the partition, from 0.
    pub partition: i32,
    /// Offset at which reading stopped.
    pub offset: i64,
    /// Time of the last progress.
    pub since: Instant,
    /// Cause, with its remedy.
    pub cause: &'static str,
}

/// View of the checkpoints of a worker.
#[derive(Debug, Default)]
pub struct CheckpointView {
    /// Time of the last checkpoint, in milliseconds since the Unix epoch; 0 if there is none.
    written: AtomicI64,
    /// Time of the oldest checkpoint that was restored at the start; 0 if there was none.
    restored: AtomicI64,
    bytes: AtomicU64,
    micros: AtomicU64,
    saves: AtomicU64,
    failures: AtomicU64,
}

impl CheckpointView {
    /// Time of the state in the last checkpoint; `None` if there is none.
    pub fn written(&self) -> Option<WallTime> {
        let written = self.written.load(Ordering::Relaxed);
        (written > 0).then_some(WallTime(written))
    }

    /// Time of the oldest checkpoint that was restored at the start; `None` if there was none.
    pub fn restored(&self) -> Option<WallTime> {
        let restored = self.restored.load(Ordering::Relaxed);
        (restored > 0).then_some(WallTime(restored))
    }

    /// Size of the last checkpoint, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Duration of the last write.
    pub fn took(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }

    /// Numbers of successful and failed writes of this process.
    pub fn attempts(&self) -> [u64; 2] {
        [&self.saves, &self.failures].map(|count| count.load(Ordering::Relaxed))
    }

    fn found(&self, written: WallTime) {
        self.written.store(written.0, Ordering::Relaxed);
        let oldest = self.restored().map_or(written, |known| known.min(written));
        self.restored.store(oldest.0, Ordering::Relaxed);
    }

    fn saved(&self, written: WallTime, bytes: u64, took: Duration) {
        self.written.store(written.0, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.store(micros, Ordering::Relaxed);
        self.saves.fetch_add(1, Ordering::Relaxed);
    }

    fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }
}

impl WorkerView {
    /// View of a worker that has not published yet.
    pub fn new(has_checkpoints: bool, latencies: WorkLatencies) -> Self {
        Self {
            latencies,
            forwarder: ForwarderView::default(),
            snapshot: ArcSwap::from_pointee(Snapshot::default()),
            heartbeat: Heartbeat::default(),
            connected: AtomicBool::new(false),
            connection_problem: ArcSwapOption::const_empty(),
            assigned_once: AtomicBool::new(false),
            partitions: AtomicUsize::new(0),
            topic_partitions: AtomicUsize::new(0),
            rebalances: AtomicU64::new(0),
            undecodable: [const { ArcSwapOption::const_empty() }; 2],
            stalled: ArcSwap::default(),
            without_schema: AtomicUsize::new(0),
            checkpoint: has_checkpoints.then(CheckpointView::default),
        }
    }

    /// Replaces the published snapshot.
    pub fn publish(&self, snapshot: Arc<Snapshot>) {
        self.snapshot.store(snapshot);
    }

    /// Last published snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Returns true if a broker is connected.
    pub fn connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    /// Returns true if the worker has received an assignment from the group, even an empty one.
    pub fn has_been_assigned(&self) -> bool {
        self.assigned_once.load(Ordering::Relaxed)
    }

    /// Problem of a topic of which nothing decodes, with its remedy.
    pub fn undecodable(&self) -> Option<Arc<String>> {
        self.undecodable.iter().find_map(ArcSwapOption::load_full)
    }

    /// Sets the problem of a topic of which nothing decodes.
    pub fn set_undecodable(&self, kind: Kind, problem: Option<String>) {
        self.undecodable[kind.index()].store(problem.map(Arc::new));
    }

    /// Number of topic partitions that wait for a schema.
    pub fn without_schema(&self) -> usize {
        self.without_schema.load(Ordering::Relaxed)
    }

    /// Sets the number of topic partitions that wait for a schema.
    pub fn set_without_schema(&self, partitions: usize) {
        self.without_schema.store(partitions, Ordering::Relaxed);
    }

    /// Number of assigned partitions. The same partition of both topics counts as one.
    pub fn partitions(&self) -> usize {
        self.partitions.load(Ordering::Relaxed)
    }

    /// Number of partitions of the topics, as the worker last received it; 0 before it is known.
    pub fn topic_partitions(&self) -> usize {
        self.topic_partitions.load(Ordering::Relaxed)
    }

    /// Sets the number of partitions of the topics.
    pub fn set_topic_partitions(&self, partitions: usize) {
        self.topic_partitions.store(partitions, Ordering::Relaxed);
    }

    /// Number of assignments and revocations.
    pub fn rebalances(&self) -> u64 {
        self.rebalances.load(Ordering::Relaxed)
    }

    /// The worker's checkpoints; `None` without a checkpoint folder.
    pub fn checkpoint(&self) -> Option<&CheckpointView> {
        self.checkpoint.as_ref()
    }

    /// Records the time of a checkpoint that was loaded at the start.
    pub fn checkpoint_found(&self, written: WallTime) {
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.found(written);
        }
    }

    /// Records a written checkpoint.
    pub fn checkpoint_saved(&self, written: WallTime, bytes: u64, took: Duration) {
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.saved(written, bytes, took);
            self.latencies.checkpoint_written(took);
        }
    }

    /// Records a failed write.
    pub fn checkpoint_failed(&self) {
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.failed();
        }
    }

    /// Sets the stalled topic partitions.
    pub fn set_stalled(&self, stalled: Vec<StalledPartition>) {
        if !(stalled.is_empty() && self.stalled.load().is_empty()) {
            self.stalled.store(Arc::new(stalled));
        }
    }

    /// Stalled topic partitions.
    pub fn stalled(&self) -> Arc<Vec<StalledPartition>> {
        self.stalled.load_full()
    }

    /// Sets the state of the connection to the brokers.
    pub fn set_connected(&self, connected: bool) {
        self.connected.store(connected, Ordering::Relaxed);
        if connected {
            self.connection_problem.store(None);
        }
    }

    /// Cause of the last failed connection, with its remedy; `None` while a broker is connected.
    pub fn connection_problem(&self) -> Option<Arc<String>> {
        self.connection_problem.load_full()
    }

    /// Sets the cause of a failed connection, with its remedy.
    pub fn set_connection_problem(&self, problem: String) {
        self.connection_problem.store(Some(Arc::new(problem)));
    }

    /// Records an assignment or revocation, after which `partitions` are assigned.
    pub fn assigned(&self, partitions: usize) {
        self.assigned_once.store(true, Ordering::Relaxed);
        self.partitions.store(partitions, Ordering::Relaxed);
        self.rebalances.fetch_add(1, Ordering::Relaxed);
    }
}
