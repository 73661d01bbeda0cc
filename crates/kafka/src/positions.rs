//! Durable positions: the offsets up to which this process has counted each partition, as far as
//! they are in a checkpoint.
//!
//! Kafka holds them too, as committed offsets. But a commit follows a checkpoint, may fail, and is
//! lost with the group. The position with the most progress is the valid one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rankgauge_core::engine::partition::CommitPoint;
use rankgauge_core::engine::position::Join;
use rankgauge_core::event::Kind;

type Points = BTreeMap<(i32, Kind), CommitPoint>;

/// Durable positions of one process, shared by its workers.
#[derive(Debug)]
pub struct Positions {
    /// Partitions whose positions are from the same moment.
    join: Join,
    table: Mutex<PositionTable>,
}

#[derive(Debug, Default)]
struct PositionTable {
    /// Positions in the checkpoints of all workers.
    durable: Points,
    /// Positions of revoked partitions, by worker. The worker may own such a partition again.
    left: Vec<Points>,
    /// Id of the cluster of these positions, once known.
    cluster: Option<String>,
    /// Partition counts of the topics at their first successful check.
    partitions: Option<[usize; 2]>,
}

impl Positions {
    /// Empty positions for `workers` workers.
    pub fn new(workers: usize, join: Join) -> Self {
        Self {
            join,
            table: Mutex::new(PositionTable {
                durable: Points::new(),
                left: vec![Points::new(); workers],
                cluster: None,
                partitions: None,
            }),
        }
    }

    fn table(&self) -> MutexGuard<'_, PositionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the points of a checkpoint of `worker` that was loaded at the start.
    pub fn found(&self, worker: usize, points: &[CommitPoint], cluster: Option<String>) {
        self.saved(points, &[]);
        self.left(worker, points.iter().cloned());
        let mut table = self.table();
        table.cluster = cluster.or(table.cluster.take());
    }

    /// Adds the points of a checkpoint that was written. Points of partitions that the worker owns
    /// (`own`) replace the known positions. Other points do so only if they are not behind, because
    /// another worker may have counted further.
    ///
    /// The topic partitions that are joined with each other are always replaced together, so they come
    /// from one checkpoint.
    pub fn saved(&self, points: &[CommitPoint], own: &[CommitPoint]) {
        let durable = &mut self.table().durable;
        let groups: BTreeSet<Option<i32>> = points.iter().map(|it| self.group(it)).collect();
        for group in groups {
            let of_it = || points.iter().filter(|point| self.group(point) == group);
            let is_own = own.iter().any(|point| self.group(point) == group);
            let is_further = of_it().all(|point| {
                let known = durable.get(&(point.partition, point.kind));
                known.is_none_or(|known| known.progress() <= point.progress())
            });
            if is_own || is_further {
                durable.retain(|_, known| self.group(known) != group);
                durable.extend(of_it().map(|it| ((it.partition, it.kind), it.clone())));
            }
        }
    }

    /// Partition of a point, if only equal numbers are joined with each other.
    fn group(&self, point: &CommitPoint) -> Option<i32> {
        (self.join != Join::All).then_some(point.partition)
    }

    /// Adds the points of partitions that `worker` no longer owns. Its later checkpoints keep these
    /// points, because its counters include the records counted there.
    pub fn left(&self, worker: usize, points: impl IntoIterator<Item = CommitPoint>) {
        let mut table = self.table();
        let points = points
            .into_iter()
            .map(|point| ((point.partition, point.kind), point));
        table.left[worker].extend(points);
    }

    /// Points for a checkpoint of `worker`, which currently owns the partitions of `own`.
    pub fn of_checkpoint(&self, worker: usize, own: &[CommitPoint]) -> Vec<CommitPoint> {
        let mut points = self.table().left[worker].clone();
        let own = own.iter().cloned();
        points.extend(own.map(|point| ((point.partition, point.kind), point)));
        points.into_values().collect()
    }

    /// Sets the partition counts of the topics, unless they are set. Partitions of higher numbers are
    /// new.
    pub(crate) fn found_partitions(&self, counts: [usize; 2]) {
        self.table().partitions.get_or_insert(counts);
    }

    /// Partition count of the topic of a kind at the first successful check.
    pub(crate) fn partitions(&self, kind: Kind) -> Option<usize> {
        Some(self.table().partitions?[kind.index()])
    }

    /// Durable position of a topic partition.
    pub fn durable(&self, partition: i32, kind: Kind) -> Option<CommitPoint> {
        self.table().durable.get(&(partition, kind)).cloned()
    }

    /// Position in which this process left a topic partition last, with the most progress among its
    /// workers.
    pub(crate) fn last_left(&self, partition: i32, kind: Kind) -> Option<CommitPoint> {
        let table = self.table();
        let points = table
            .left
            .iter()
            .filter_map(|points| points.get(&(partition, kind)));
        points.max_by_key(|point| point.progress()).cloned()
    }

    /// Removes all positions of a topic partition, because the topic was recreated.
    pub(crate) fn forget(&self, partition: i32, kind: Kind) {
        let mut table = self.table();
        table.durable.remove(&(partition, kind));
        for points in &mut table.left {
            points.remove(&(partition, kind));
        }
    }

    /// Sets the id of the connected cluster. If the positions belong to another cluster, removes
    /// them and returns the id of that cluster.
    pub(crate) fn confirm(&self, cluster: &str) -> Option<String> {
        let mut table = self.table();
        let before = table.cluster.replace(cluster.to_owned());
        let other = before.filter(|before| before != cluster)?;
        table.durable.clear();
        table.left.iter_mut().for_each(Points::clear);
        Some(other)
    }

    /// Id of the cluster, once received from a broker.
    pub fn cluster(&self) -> Option<String> {
        self.table().cluster.clone()
    }
}
