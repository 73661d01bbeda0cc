//! Member of the consumer group: the engine of a worker with its publisher. The consumer calls it
//! during a rebalance, the worker between two polls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::warn;

use super::context::WorkerContext;
use super::publisher::Publisher;
use rankgauge_core::engine::partition::{CommitPoint, Resume};
use rankgauge_core::engine::position::Join;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::{Kind, LossReason};
use rankgauge_kafka::connection::ConnectionProblem;
use rankgauge_kafka::dead_letters::Outstanding;
use rankgauge_kafka::group::{Lost, Member};

/// Engine of a worker with its publisher.
pub(super) struct EngineMember {
    pub(super) context: WorkerContext,
    pub(super) engine: Engine,
    pub(super) publisher: Publisher,
    /// Dead-letter records that are not delivered yet.
    pub(super) outstanding: Arc<Outstanding>,
    /// Deadline for disk writes during shutdown; `None` before the shutdown.
    pub(super) stop_by: Option<Instant>,
}

impl EngineMember {
    /// Maximum wait for the disk. The other half of the shutdown time-out is left for the commit
    /// and for leaving the group.
    pub(super) fn patience(&self) -> Duration {
        self.context.config.shutdown_timeout / 2
    }

    /// Publishes the counters if this is due. Returns true if positions became durable.
    pub(super) fn publish_if_due(&mut self) -> bool {
        // A state in the middle of a second cannot be continued. The next round tries again.
        if self.publisher.is_due() && !self.engine.is_within_second() {
            self.publisher.publish(&self.engine);
        }
        self.publisher.take_durable_changed()
    }

    /// Publishes the number of assigned partitions.
    fn note_assigned(&self) {
        let places = self.engine.partitions();
        let numbers: BTreeSet<i32> = places.into_iter().map(|(number, _)| number).collect();
        self.context.view().assigned(numbers.len());
    }

    /// Counts records as lost.
    fn lose(&mut self, lost: &[&Lost]) {
        for it in lost {
            self.engine.apply(Input::Lost {
                kind: it.kind,
                partition: it.partition,
                before: it.before,
                reason: it.reason,
            });
        }
    }

    /// Topic partitions to pause: those of topics that are far ahead of the other topic in event time.
    /// Feedback records are small: without backpressure, a worker with a backlog would read feedback
    /// hours before its searches. All, while too many dead-letter records are outstanding.
    pub(super) fn to_pause(&self) -> BTreeSet<(i32, Kind)> {
        if self.outstanding.is_full() {
            self.engine.partitions()
        } else {
            self.engine.topics_to_pause()
        }
    }
}

impl Member for EngineMember {
    fn note_topics(&mut self, counts: [usize; 2]) {
        // Partitions in which the records of a session can lie apart. The owner of all reads whole sessions.
        let apart = match self.context.kafka().join {
            Join::Partition | Join::Repartition => counts[0],
            Join::All => 1,
        };
        self.context.published.sessions.note_partitions(apart);
        let shared = counts[0].max(counts[1]);
        self.context.view().set_topic_partitions(shared);
    }

    fn note_connected(&mut self, is_connected: bool) {
        self.context.view().set_connected(is_connected);
    }

    fn note_connection_problem(&mut self, problem: ConnectionProblem) {
        let text = format!("{}; {}", problem.name(), problem.remedy());
        self.context.view().set_connection_problem(text);
    }

    fn note_end(&mut self, kind: Kind, partition: i32, end: i64, is_read: bool) {
        if let Some(next) = self.engine.next_offset(kind, partition) {
            let left = if is_read { 0 } else { end - next };
            self.engine.apply(Input::Lag {
                kind,
                partition,
                records: u64::try_from(left).unwrap_or(0),
            });
        }
    }

    fn assign(&mut self, starts: BTreeMap<i32, Resume>, lost: &[Lost]) {
        let added: BTreeSet<i32> = starts.keys().copied().collect();
        for (partition, resume) in starts {
            self.engine.apply(Input::Assigned { partition, resume });
        }
        self.note_assigned();
        // A move by an operator holds at once. Other losses are found again if the process ends before
        // their count is durable.
        let (moved, others): (Vec<&Lost>, Vec<&Lost>) =
            (lost.iter()).partition(|it| it.reason == LossReason::Moved);
        self.lose(&moved);
        let mut points = self.engine.commit_points();
        points.retain(|point| added.contains(&point.partition));
        self.publisher.change_partitions(&added, points);
        self.lose(&others);
    }

    fn publish(&mut self) {
        // Leaving the group revokes the partitions, which calls this again. The common deadline
        // avoids a second wait for a slow disk.
        let deadline = self.stop_by.unwrap_or(Instant::now() + self.patience());
        while self.engine.is_within_second() {
            self.engine.catch_up();
        }
        if !self.publisher.publish_and_wait(&self.engine, deadline) {
            warn!(
                worker = self.context.number,
                "checkpoint not written or dead-letter records not delivered in time; the next \
                 owner of the partitions counts again from the last checkpoint"
            );
        }
    }

    fn commit_points(&self) -> Vec<CommitPoint> {
        // A state in the middle of a second cannot be continued. The next commit follows soon.
        if self.engine.is_within_second() {
            return Vec::new();
        }
        self.publisher.committable(&self.engine)
    }

    /// Rolls the engine back to the published checkpoint. Without a durable checkpoint of the published
    /// state, the engine is not changed, because a rollback would then decrease published counters.
    fn roll_back(&mut self) {
        if let Some((saved, points)) = self.publisher.shown(self.patience()) {
            self.engine = self.context.engine_with(&saved);
            let positions = &self.context.recovery.positions;
            positions.left(self.context.number, points);
        }
    }

    fn revoke(&mut self, partitions: &BTreeSet<i32>) {
        let mut points = self.engine.commit_points();
        points.retain(|point| partitions.contains(&point.partition));
        let positions = &self.context.recovery.positions;
        positions.left(self.context.number, points);
        self.publisher.change_partitions(partitions, Vec::new());
        for partition in partitions {
            self.engine.apply(Input::Revoked {
                partition: *partition,
            });
        }
        self.note_assigned();
    }
}
