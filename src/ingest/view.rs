//! What others see of a worker: values that are replaced as a whole, or one by one. Looking at them
//! waits for nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;

use super::wall_now;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::time::WallTime;

/// What others see of a worker.
#[derive(Debug)]
pub struct WorkerView {
    pub(super) snapshot: ArcSwap<Snapshot>,
    heartbeat: AtomicI64,
    connected: AtomicBool,
    assigned_once: AtomicBool,
    partitions: AtomicUsize,
    rebalances: AtomicU64,
    pub(super) checkpoint: CheckpointView,
}

/// What others see of a worker's checkpoints.
#[derive(Debug, Default)]
pub struct CheckpointView {
    /// When the last one was made, in milliseconds since the epoch; 0 without any.
    written: AtomicI64,
    bytes: AtomicU64,
    micros: AtomicU64,
    saves: AtomicU64,
    failures: AtomicU64,
}

impl CheckpointView {
    /// When the state was taken that is on disk; `None` without any.
    pub fn written(&self) -> Option<WallTime> {
        let written = self.written.load(Ordering::Relaxed);
        (written > 0).then_some(WallTime(written))
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How long writing it took.
    pub fn took(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }

    /// Checkpoints that were written, and that could not be, by this process.
    pub fn attempts(&self) -> [u64; 2] {
        [&self.saves, &self.failures].map(|count| count.load(Ordering::Relaxed))
    }

    pub(super) fn found(&self, written: WallTime) {
        self.written.store(written.0, Ordering::Relaxed);
    }

    pub(super) fn saved(&self, written: WallTime, bytes: u64, took: Duration) {
        self.found(written);
        self.bytes.store(bytes, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.store(micros, Ordering::Relaxed);
        self.saves.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }
}

impl Default for WorkerView {
    fn default() -> Self {
        Self {
            snapshot: ArcSwap::from_pointee(Snapshot::default()),
            heartbeat: AtomicI64::new(wall_now().0),
            connected: AtomicBool::new(false),
            assigned_once: AtomicBool::new(false),
            partitions: AtomicUsize::new(0),
            rebalances: AtomicU64::new(0),
            checkpoint: CheckpointView::default(),
        }
    }
}

impl WorkerView {
    /// What the worker published last.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// When the worker last went round its loop.
    pub fn heartbeat(&self) -> WallTime {
        WallTime(self.heartbeat.load(Ordering::Relaxed))
    }

    /// Whether a broker is connected.
    pub fn connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    /// Whether the group has ever said which partitions the worker has, be they none.
    pub fn has_been_assigned(&self) -> bool {
        self.assigned_once.load(Ordering::Relaxed)
    }

    /// Partitions, of both topics as one, that the worker reads.
    pub fn partitions(&self) -> usize {
        self.partitions.load(Ordering::Relaxed)
    }

    /// How often partitions were given or taken.
    pub fn rebalances(&self) -> u64 {
        self.rebalances.load(Ordering::Relaxed)
    }

    /// The worker's checkpoints.
    pub fn checkpoint(&self) -> &CheckpointView {
        &self.checkpoint
    }

    pub(super) fn beat(&self) {
        self.heartbeat.store(wall_now().0, Ordering::Relaxed);
    }

    pub(super) fn set_connected(&self, connected: bool) {
        self.connected.store(connected, Ordering::Relaxed);
    }

    pub(super) fn assigned(&self, partitions: usize) {
        self.assigned_once.store(true, Ordering::Relaxed);
        self.partitions.store(partitions, Ordering::Relaxed);
        self.rebalances.fetch_add(1, Ordering::Relaxed);
    }
}
