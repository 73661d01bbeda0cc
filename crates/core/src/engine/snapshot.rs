//! Snapshot of the exposed values of a worker. It contains nothing else.
//!
//! Snapshots are additive: merging the snapshots of two workers gives the snapshot of one worker
//! that processed the records of both.

use std::sync::Arc;

use crate::engine::family::Family;
use crate::engine::fleet::CombinedEvidence;
use crate::engine::table;
use crate::engine::totals::Totals;
use crate::engine::window::Progress;
use crate::time::{EventTime, WallTime};

/// Progress of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Partition number, the same in both topics.
    pub partition: i32,
    /// Watermark: event time up to which its records have arrived.
    pub watermark: Option<EventTime>,
    /// Number of records still to be read, by kind; `None` until the broker has reported it.
    pub lag: [Option<u64>; 2],
}

impl PartitionStatus {
    /// Adds the status that another worker published of the same partition. One of them is older:
    /// it has the lower watermark and, of the same records, the greater lag.
    fn combine(&mut self, other: &Self) {
        self.watermark = self.watermark.max(other.watermark);
        for (mine, theirs) in self.lag.iter_mut().zip(other.lag) {
            *mine = (*mine).into_iter().chain(theirs).min();
        }
    }
}

/// Memory held for what grows with traffic, in approximate bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Searches, feedback and sessions of the join.
    pub joins: u64,
    /// Series, windows and histograms, as of the last tick.
    pub totals: u64,
    /// The limit: `engine.memory` for each worker.
    pub limit: u64,
}

/// Snapshot of one worker, or of several together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Wall time of the last tick of the worker.
    pub wall: Option<WallTime>,
    /// Number of searches that wait for feedback, and of feedback events that wait for their
    /// search.
    pub pending: [u64; 2],
    /// Approximate memory held.
    pub memory: Memory,
    /// Assigned partitions.
    pub partitions: Vec<PartitionStatus>,
    /// Event-time progress.
    pub progress: Option<Progress>,
    /// Number of series of each table that had a name, by position of the owner in the catalogue. A
    /// checkpoint of the same moment has all of these names.
    pub(super) series: Vec<usize>,
    /// Totals, with windows reduced to their sums.
    pub totals: Totals,
    /// Evidence of all replicas; `None` if they do not share it.
    pub fleet: Option<Arc<CombinedEvidence>>,
}

impl Snapshot {
    /// Adds another worker's snapshot.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            wall,
            pending,
            memory,
            partitions,
            progress,
            series,
            totals,
            fleet,
        } = other;
        if self.fleet.is_none() {
            self.fleet.clone_from(fleet);
        }
        self.wall = self.wall.into_iter().chain(*wall).min();
        table::add_array(&mut self.pending, pending);
        self.memory.joins += memory.joins;
        self.memory.totals += memory.totals;
        self.memory.limit += memory.limit;
        // Until both workers have published after a rebalance, both name the partition.
        for theirs in partitions {
            match (self.partitions).binary_search_by_key(&theirs.partition, |it| it.partition) {
                Ok(index) => self.partitions[index].combine(theirs),
                Err(index) => self.partitions.insert(index, theirs.clone()),
            }
        }
        self.progress = match (self.progress, *progress) {
            (Some(mine), Some(theirs)) => Some(mine.combine(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        table::merge(&mut self.series, series, |mine, theirs| {
            *mine = *theirs.max(mine);
        });
        self.totals.merge(totals);
    }

    /// Number of series of a family that have a name. `None` if the family has fixed series, which
    /// have names from the start.
    pub(super) fn known_series(&self, family: &Family) -> Option<usize> {
        let table = family.table().filter(|table| table.can_overflow())?;
        Some(self.series.get(table.index()).copied().unwrap_or(0))
    }
}
