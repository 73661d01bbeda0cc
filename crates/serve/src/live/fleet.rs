//! View of the state that the fleet shares, for other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption};

use rankgauge_core::engine::family::STATE_OUTCOMES;
use rankgauge_core::engine::fleet::{CombinedEvidence, SharedIncident};
use rankgauge_core::time::{Millis, WallTime};

/// Outcome of a record of the state topic, in the order of [`STATE_OUTCOMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateOutcome {
    /// It was read and is used.
    Read,
    /// It was read and cannot be used.
    Rejected,
    /// It was written.
    Written,
    /// It could not be written.
    Failed,
}

/// Records of the state topic, and what they hold.
#[derive(Debug, Default)]
pub struct FleetView {
    records: [AtomicU64; STATE_OUTCOMES.len()],
    workers: AtomicU64,
    bytes: AtomicU64,
    /// Time of the last complete publication in milliseconds; 0 before the first.
    published: AtomicI64,
    /// Time at which the topic was read to its end last, in milliseconds; 0 before the first.
    read: AtomicI64,
    /// Interval of publication in milliseconds; 0 before it is known.
    interval: AtomicI64,
    /// Shares that workers of other processes have in incidents.
    incidents: ArcSwap<Vec<SharedIncident>>,
    /// Evidence of all replicas together. `None` before the topic was read.
    evidence: ArcSwapOption<CombinedEvidence>,
    /// Evidence of the other replicas together.
    others: ArcSwap<CombinedEvidence>,
}

impl FleetView {
    /// Counts records.
    pub fn count(&self, outcome: StateOutcome, records: u64) {
        self.records[outcome as usize].fetch_add(records, Ordering::Relaxed);
    }

    /// Sets the number of workers whose baselines are held, and the bytes of all records.
    pub fn set_held(&self, workers: usize, bytes: usize) {
        let whole = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        self.workers.store(whole(workers), Ordering::Relaxed);
        self.bytes.store(whole(bytes), Ordering::Relaxed);
    }

    /// Notes a complete publication.
    pub fn note_published(&self, at: WallTime) {
        self.published.store(at.0, Ordering::Relaxed);
    }

    /// Notes that the topic is read to its end.
    pub fn note_read(&self, at: WallTime) {
        self.read.store(at.0, Ordering::Relaxed);
    }

    /// Sets the interval of publication.
    pub fn set_interval(&self, interval: Millis) {
        self.interval.store(interval.0, Ordering::Relaxed);
    }

    /// Sets the shares that workers of other processes have in incidents.
    pub fn set_incidents(&self, incidents: Vec<SharedIncident>) {
        self.incidents.store(Arc::new(incidents));
    }

    /// Shares that workers of other processes have in incidents.
    pub fn incidents(&self) -> Arc<Vec<SharedIncident>> {
        self.incidents.load_full()
    }

    /// Sets the evidence of all replicas together, and that of the others.
    pub fn set_evidence(&self, all: CombinedEvidence, others: CombinedEvidence) {
        self.evidence.store(Some(Arc::new(all)));
        self.others.store(Arc::new(others));
    }

    /// Evidence of all replicas together. `None` before the topic was read.
    pub fn evidence(&self) -> Option<Arc<CombinedEvidence>> {
        self.evidence.load_full()
    }

    /// Evidence of the other replicas together.
    pub fn evidence_of_others(&self) -> Arc<CombinedEvidence> {
        self.others.load_full()
    }

    /// Number of records of each outcome.
    pub(crate) fn records(&self) -> [(&'static str, u64); STATE_OUTCOMES.len()] {
        let mut records = STATE_OUTCOMES.map(|outcome| (outcome, 0));
        for ((_, count), counter) in records.iter_mut().zip(&self.records) {
            *count = counter.load(Ordering::Relaxed);
        }
        records
    }

    /// Number of workers whose baselines are held, and the bytes of all records.
    pub(crate) fn held(&self) -> [u64; 2] {
        [&self.workers, &self.bytes].map(|it| it.load(Ordering::Relaxed))
    }

    /// Time of the last complete publication, in milliseconds.
    pub(crate) fn published(&self) -> Option<i64> {
        stated(&self.published)
    }

    /// Time at which the topic was read to its end last, in milliseconds.
    pub(crate) fn was_read(&self) -> Option<i64> {
        stated(&self.read)
    }

    /// Interval of publication, in milliseconds.
    pub(crate) fn interval(&self) -> Option<i64> {
        stated(&self.interval)
    }
}

fn stated(millis: &AtomicI64) -> Option<i64> {
    Some(millis.load(Ordering::Relaxed)).filter(|it| *it > 0)
}
