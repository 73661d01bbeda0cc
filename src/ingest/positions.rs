//! Up to where partitions were counted by this process, as far as that is on disk.
//!
//! Kafka knows it as well, from commits; but a commit follows a checkpoint, may fail, and is lost
//! with the group. Of the two, whoever says more is right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rankgauge_core::engine::partition::CommitPoint;
use rankgauge_core::event::Kind;
use rankgauge_core::time::WallTime;

type Points = BTreeMap<(i32, Kind), CommitPoint>;

/// Positions of one process, shared by its workers.
#[derive(Debug)]
pub struct Positions(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    /// What a checkpoint on disk says, of whichever worker.
    durable: Points,
    /// By worker, of the partitions that it had and may have no more.
    left: Vec<Points>,
    /// When Kafka last took a commit of this process.
    committed: BTreeMap<(i32, Kind), WallTime>,
    /// The cluster that all this is of, when it is known.
    cluster: Option<String>,
}

impl Positions {
    /// Nothing is known yet to any of `workers`.
    pub fn new(workers: usize) -> Self {
        Self(Mutex::new(Book {
            durable: Points::new(),
            left: vec![Points::new(); workers],
            committed: BTreeMap::new(),
            cluster: None,
        }))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These points of `worker` in `cluster` were found on disk.
    pub fn found(&self, worker: usize, points: &[CommitPoint], cluster: Option<String>) {
        self.saved(points, &[]);
        self.left(worker, points.iter().cloned());
        let mut book = self.book();
        book.cluster = cluster.or(book.cluster.take());
    }

    /// These points are on disk now. Of partitions that the worker has at that moment they are what
    /// is right; what it says of others, somebody else may know better.
    ///
    /// Both topics of a partition are of one moment, here as well, and never one of them of another.
    pub fn saved(&self, points: &[CommitPoint], own: &[CommitPoint]) {
        let durable = &mut self.book().durable;
        let partitions: BTreeSet<i32> = points.iter().map(|point| point.partition).collect();
        for partition in partitions {
            let of_it = || points.iter().filter(|point| point.partition == partition);
            let is_own = own.iter().any(|point| point.partition == partition);
            let is_further = of_it().all(|point| {
                let known = durable.get(&(partition, point.kind));
                known.is_none_or(|known| known.progress() <= point.progress())
            });
            if is_own || is_further {
                durable.retain(|(known, _), _| *known != partition);
                durable.extend(of_it().map(|point| ((partition, point.kind), point.clone())));
            }
        }
    }

    /// `worker` no longer has the partitions of these points. Its checkpoints go on naming them:
    /// its counters contain what was counted there.
    pub fn left(&self, worker: usize, points: impl IntoIterator<Item = CommitPoint>) {
        let mut book = self.book();
        let points = points
            .into_iter()
            .map(|point| ((point.partition, point.kind), point));
        book.left[worker].extend(points);
    }

    /// What a checkpoint of `worker` has to say, which has the partitions of `own` now.
    pub fn of_checkpoint(&self, worker: usize, own: &[CommitPoint]) -> Vec<CommitPoint> {
        let mut points = self.book().left[worker].clone();
        let own = own.iter().cloned();
        points.extend(own.map(|point| ((point.partition, point.kind), point)));
        points.into_values().collect()
    }

    /// Up to where a partition was counted, as far as disk knows.
    pub fn durable(&self, partition: i32, kind: Kind) -> Option<CommitPoint> {
        self.book().durable.get(&(partition, kind)).cloned()
    }

    /// Kafka has taken a commit of this process for this partition, at `at`.
    pub fn committed(&self, partition: i32, kind: Kind, at: WallTime) {
        self.book().committed.insert((partition, kind), at);
    }

    /// When it has, the last time.
    pub fn committed_at(&self, partition: i32, kind: Kind) -> Option<WallTime> {
        self.book().committed.get(&(partition, kind)).copied()
    }

    /// The topic was made anew: what is known of this partition is of another log.
    pub fn forget(&self, partition: i32, kind: Kind) {
        let mut book = self.book();
        book.durable.remove(&(partition, kind));
        book.committed.remove(&(partition, kind));
        for points in &mut book.left {
            points.remove(&(partition, kind));
        }
    }

    /// The log is that of `cluster`. Returns the id of another one that positions were known of;
    /// they are forgotten.
    pub fn confirm(&self, cluster: &str) -> Option<String> {
        let mut book = self.book();
        let before = book.cluster.replace(cluster.to_owned());
        let other = before.filter(|before| before != cluster)?;
        book.durable.clear();
        book.committed.clear();
        book.left.iter_mut().for_each(Points::clear);
        Some(other)
    }

    /// The cluster, once a broker has told it.
    pub fn cluster(&self) -> Option<String> {
        self.book().cluster.clone()
    }
}
