//! Rebalance callbacks: assignment and revocation of partitions.
//!
//! librdkafka invokes them inside `poll`. A revocation commits and drops the state of its
//! partitions before the callback returns, because another member owns them afterwards.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaResult, RDKafkaErrorCode};
use rdkafka::topic_partition_list::TopicPartitionListElem;
use rdkafka::types::RDKafkaRespErr;
use tracing::{error, info, warn};

use super::{BROKER_REQUEST_TIMEOUT, Loss, Member, Membership, TOPIC_CHECK_INTERVAL};

impl<M: Member> Membership<M> {
    fn assign(&self, consumer: &BaseConsumer<Self>, assigned: &TopicPartitionList) {
        let matching = self.matching_partitions(consumer, BROKER_REQUEST_TIMEOUT);
        self.changes.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state();
        state.is_lost = false;
        state.loss = None;
        state.next_check = matching
            .is_err()
            .then(|| Instant::now() + TOPIC_CHECK_INTERVAL);
        drop(state);
        if let Err(problem) = matching {
            // The two topic partitions of one number may be assigned to different members.
            error!(
                worker = self.worker,
                error = %problem,
                "topics do not match; reading is paused"
            );
            Self::assign_none(consumer);
            return;
        }
        let resolved = self.resolve(consumer, assigned);
        let (starts, resumes, lost) = match resolved {
            Ok(resolved) => resolved,
            Err(problem) => {
                warn!(
                    worker = self.worker,
                    error = %problem,
                    "cannot resolve start offsets; rejoining the consumer group"
                );
                self.state().rejoin = true;
                Self::assign_none(consumer);
                return;
            }
        };
        let mut state = self.state();
        state.held.clear();
        state.deferred.clear();
        state.forget_stalls();
        let numbers: Vec<i32> = resumes.keys().copied().collect();
        state.assigned = numbers.iter().copied().collect();
        // The start positions are durable: they come from a checkpoint or from Kafka.
        state.member.assign(resumes, &lost);
        drop(state);
        // librdkafka may keep a partition paused across assignments, hence the resume.
        let assigned = consumer
            .assign(&starts)
            .and_then(|()| consumer.resume(&starts));
        if let Err(problem) = assigned {
            error!(
                worker = self.worker,
                error = %problem,
                "partition assignment failed; rejoining the consumer group"
            );
            self.state().rejoin = true;
        }
        info!(worker = self.worker, partitions = ?numbers, "partitions assigned");
        // The start positions are committed at once: a restart before the first record must start
        // at the same offsets.
        self.commit(consumer, CommitMode::Async);
    }

    /// Acknowledges the rebalance with an empty assignment. `unassign` would not acknowledge it,
    /// and the group would wait forever.
    fn assign_none(consumer: &BaseConsumer<Self>) {
        if let Err(problem) = consumer.assign(&TopicPartitionList::new()) {
            let worker = consumer.context().worker;
            error!(worker, error = %problem, "empty partition assignment failed");
        }
    }

    fn revoke(&self, consumer: &BaseConsumer<Self>, revoked: &TopicPartitionList) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state();
        let lost = std::mem::take(&mut state.is_lost);
        let reason = state.loss.take().unwrap_or(Loss::Removed).reason();
        drop(state);
        if lost || consumer.assignment_lost() {
            warn!(
                worker = self.worker,
                reason, "partitions lost; rolling back to the last checkpoint"
            );
            self.state().member.roll_back();
        } else {
            self.publish();
            // A pending asynchronous commit may be rejected during the rebalance.
            self.state().committed.clear();
            self.commit(consumer, CommitMode::Sync);
        }
        let numbers: BTreeSet<i32> = revoked
            .elements()
            .iter()
            .map(TopicPartitionListElem::partition)
            .collect();
        let mut state = self.state();
        state.member.revoke(&numbers);
        state.forget_stalls();
        state
            .assigned
            .retain(|partition| !numbers.contains(partition));
        state
            .committed
            .retain(|(partition, _), _| !numbers.contains(partition));
        state
            .held
            .retain(|(partition, _)| !numbers.contains(partition));
        state
            .deferred
            .retain(|(partition, _), _| !numbers.contains(partition));
        drop(state);
        if let Err(problem) = consumer.unassign() {
            error!(
                worker = self.worker,
                error = %problem,
                "partition revocation failed"
            );
        }
        info!(worker = self.worker, partitions = ?numbers, "partitions revoked");
    }
}

impl<M: Member> ConsumerContext for Membership<M> {
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
                    worker = self.worker,
                    error = %RDKafkaErrorCode::from(problem),
                    "rebalance failed; partitions are revoked"
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
                worker = self.worker,
                error = %problem,
                "offset commit failed; will retry"
            );
            self.state().committed.clear();
        }
    }
}
