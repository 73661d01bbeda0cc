//! Changes of the group: partitions that are given, and partitions that are taken away.
//!
//! librdkafka calls from inside `poll`. What is to be committed or forgotten is, before the call
//! returns: afterwards the partitions are somebody else's.

use std::collections::BTreeSet;
use std::time::Instant;

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaResult, RDKafkaErrorCode};
use rdkafka::topic_partition_list::TopicPartitionListElem;
use rdkafka::types::RDKafkaRespErr;
use tracing::{error, info, warn};

use super::{ASK, CHECK, Membership};
use rankgauge_core::engine::Input;

impl Membership {
    fn assign(&self, consumer: &BaseConsumer<Self>, assigned: &TopicPartitionList) {
        let matching = self.matching_partitions(consumer, ASK);
        let mut state = self.state();
        state.lost = false;
        state.next_check = matching.is_err().then(|| Instant::now() + CHECK);
        drop(state);
        if let Err(problem) = matching {
            // Partitions of the same number may lie with two members now.
            error!(
                worker = self.number,
                "nothing is read until both topics match: {problem}"
            );
            Self::assign_none(consumer);
            return;
        }
        let resolved = self.resolve(consumer, assigned);
        let (starts, resumes) = match resolved {
            Ok(resolved) => resolved,
            Err(problem) => {
                warn!(
                    worker = self.number,
                    "cannot learn where to go on, joining anew: {problem}"
                );
                self.state().rejoin = true;
                Self::assign_none(consumer);
                return;
            }
        };
        let numbers: Vec<i32> = resumes.keys().copied().collect();
        let mut state = self.state();
        state.held.clear();
        state.put_off.clear();
        for (partition, resume) in resumes {
            state.engine.apply(Input::Assigned { partition, resume });
        }
        // Where we start is certain: it is on disk, or Kafka's.
        let points = state.engine.commit_points();
        state.publisher.begin_anew(points);
        drop(state);
        // What was held back may come back as such.
        let assigned = consumer
            .assign(&starts)
            .and_then(|()| consumer.resume(&starts));
        if let Err(problem) = assigned {
            error!(
                worker = self.number,
                "cannot take the partitions assigned: {problem}"
            );
            self.state().rejoin = true;
        }
        info!(worker = self.number, "assigned partitions {numbers:?}");
        self.shared.views[self.number].assigned(numbers.len());
        // Where we start is ours from now on: a restart before the first record must not start
        // anywhere else.
        self.commit(consumer, CommitMode::Async);
    }

    /// The group waits for an assignment; an empty one is honest. (To unassign would be no answer,
    /// and the group would wait for ever.)
    fn assign_none(consumer: &BaseConsumer<Self>) {
        if let Err(problem) = consumer.assign(&TopicPartitionList::new()) {
            error!("{problem}");
        }
    }

    /// Takes back what was counted and is not on disk: it is somebody else's to count. Without it,
    /// what is visible would be ahead of what is on disk, and stays as it is.
    fn take_back(&self) {
        let mut state = self.state();
        if let Some((saved, points)) = state
            .publisher
            .shown(self.shared.config.shutdown_timeout / 2)
        {
            state.engine = self.shared.engine_with(&saved);
            self.shared.positions.left(self.number, points);
        }
    }

    fn revoke(&self, consumer: &BaseConsumer<Self>, revoked: &TopicPartitionList) {
        let lost = std::mem::take(&mut self.state().lost);
        if lost || consumer.assignment_lost() {
            warn!(
                worker = self.number,
                "the group took our partitions: we were not heard of for too long"
            );
            self.take_back();
        } else {
            self.publish_and_wait();
            // What was committed without waiting may be refused while the group changes.
            self.state().committed.clear();
            self.commit(consumer, CommitMode::Sync);
        }
        let numbers: BTreeSet<i32> = revoked
            .elements()
            .iter()
            .map(TopicPartitionListElem::partition)
            .collect();
        let mut state = self.state();
        let mut points = state.engine.commit_points();
        points.retain(|point| numbers.contains(&point.partition));
        self.shared.positions.left(self.number, points);
        state.publisher.begin_anew(Vec::new());
        for partition in &numbers {
            state.engine.apply(Input::Revoked {
                partition: *partition,
            });
        }
        state
            .committed
            .retain(|(partition, _), _| !numbers.contains(partition));
        state
            .held
            .retain(|partition, _| !numbers.contains(partition));
        state
            .put_off
            .retain(|(partition, _), _| !numbers.contains(partition));
        drop(state);
        if let Err(problem) = consumer.unassign() {
            error!(
                worker = self.number,
                "cannot give back partitions: {problem}"
            );
        }
        info!(worker = self.number, "gave back partitions {numbers:?}");
        self.shared.views[self.number].assigned(0);
    }
}

impl ConsumerContext for Membership {
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        event: RDKafkaRespErr,
        partitions: &mut TopicPartitionList,
    ) {
        match event {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => {
                self.assign(consumer, partitions);
            }
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS => {
                self.revoke(consumer, partitions);
            }
            problem => {
                error!(
                    worker = self.number,
                    "the group change failed: {}",
                    RDKafkaErrorCode::from(problem)
                );
                self.revoke(consumer, partitions);
            }
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, offsets: &TopicPartitionList) {
        if result.is_ok() {
            self.note_committed(offsets);
        }
        if let Err(problem) = result
            && problem.rdkafka_error_code() != Some(RDKafkaErrorCode::NoOffset)
        {
            warn!(
                worker = self.number,
                "offsets were not committed, trying again: {problem}"
            );
            self.state().committed.clear();
        }
    }
}
