//! Rebalance callbacks: assignment and revocation of partitions.
//!
//! librdkafka invokes them inside `poll`. A revocation commits and drops the state of its
//! partitions before the callback returns, because another member owns them afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Instant;

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{
    BaseConsumer, CommitMode, Consumer as _, ConsumerContext, RebalanceProtocol,
};
use rdkafka::error::{KafkaResult, RDKafkaErrorCode};
use rdkafka::topic_partition_list::TopicPartitionListElem;
use rdkafka::types::RDKafkaRespErr;
use tracing::{error, info, warn};

use rankgauge_core::engine::partition::Resume;
use rankgauge_core::engine::position::Join;
use rankgauge_core::event::Kind;

use super::start::Starts;
use super::{BROKER_REQUEST_TIMEOUT, Loss, Member, Membership, TOPIC_CHECK_INTERVAL};
use crate::assignment::assign_resumed;

impl<M: Member> Membership<M> {
    fn assign(&self, consumer: &BaseConsumer<Self>, assigned: &TopicPartitionList) {
        if let Some(problem) = self.foreign(assigned) {
            error!(
                worker = self.worker,
                topic = problem,
                "the group assigned a topic that is not configured: a member with other topics uses the \
                 same group.instance.id, or the group has another assignor; set another kafka.group_id; \
                 rejoining the consumer group"
            );
            self.state().rejoin = true;
            Self::assign_none(consumer);
            return;
        }
        let matching = self.matching_partitions(consumer, BROKER_REQUEST_TIMEOUT);
        self.changes.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state();
        let has_others = !state.assigned.is_empty();
        if !has_others {
            state.is_lost = false;
            state.loss = None;
        }
        // Without its pair, a partition that is read already cannot be joined either.
        state.rejoin |= has_others && matching.is_err();
        state.next_check = matching
            .is_err()
            .then(|| Instant::now() + TOPIC_CHECK_INTERVAL);
        drop(state);
        if let Err(problem) = &matching {
            // The two topic partitions of one number may be assigned to different members.
            error!(
                worker = self.worker,
                error = %problem,
                "topics do not match; reading is paused"
            );
            Self::assign_none(consumer);
            return;
        }
        let all = match (&matching, self.settings.join) {
            (Ok(counts), Join::All) if assigned.count() > 0 => Some(self.all_partitions(*counts)),
            _ => None,
        };
        let resolved = self.resolve(consumer, all.as_ref().unwrap_or(assigned));
        let Starts {
            offsets: starts,
            resumes,
            lost,
        } = match resolved {
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
        if let Some(partition) = self.alone(&resumes) {
            error!(
                worker = self.worker,
                partition,
                "the group assigned a partition of one topic without that of the other: members of the \
                 group have other topics or another assignor; rejoining the consumer group"
            );
            self.state().rejoin = true;
            Self::assign_none(consumer);
            return;
        }
        if has_others {
            // Positions of the other partitions become durable with their counts.
            self.publish();
        }
        let mut state = self.state();
        let numbers: Vec<i32> = resumes.keys().copied().collect();
        state.held.retain(|(number, _)| !numbers.contains(number));
        (state.deferred).retain(|(number, _), _| !numbers.contains(number));
        state.forget_stalls();
        state.assigned.extend(&numbers);
        let places = all.as_ref().unwrap_or(assigned).elements();
        let places = places
            .iter()
            .map(|it| (it.partition(), self.settings.kind_of(it.topic())));
        state.places.extend(places);
        if self.settings.join == Join::All && !state.places.is_empty() {
            state.next_check = Some(Instant::now() + self.check_interval());
        }
        // The start positions are durable: they come from a checkpoint or from Kafka.
        state.member.assign(resumes, &lost);
        drop(state);
        let assigned = assign_resumed(consumer, &starts, |starts| add(consumer, starts));
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

    /// Number of a partition that is assigned without that of the other topic, if there is one.
    fn alone(&self, resumes: &BTreeMap<i32, Resume>) -> Option<i32> {
        if self.settings.join != Join::Partition {
            return None;
        }
        let is_assigned = |resume: &Resume, kind: &Kind| resume.rebuild[kind.index()].is_some();
        let kinds = self.settings.kinds();
        let mut resumes = resumes.iter();
        let found = resumes.find(|(_, it)| !kinds.iter().all(|kind| is_assigned(it, kind)));
        found.map(|(partition, _)| *partition)
    }

    /// All partitions of the topics that are read.
    fn all_partitions(&self, counts: [usize; 2]) -> TopicPartitionList {
        let mut all = TopicPartitionList::new();
        for &kind in self.settings.kinds() {
            for partition in (0..).take(counts[kind.index()]) {
                all.add_partition(self.settings.topic(kind), partition);
            }
        }
        all
    }

    /// Topic of an assignment that is not one of the subscription, if there is one.
    fn foreign(&self, assigned: &TopicPartitionList) -> Option<String> {
        let topics = self.settings.subscription();
        let elements = assigned.elements();
        let mut foreign = elements.iter().map(TopicPartitionListElem::topic);
        let is_foreign = |topic: &&str| !topics.iter().any(|known| known == topic);
        foreign.find(is_foreign).map(str::to_owned)
    }

    /// Acknowledges the rebalance without an assignment. `unassign` would not acknowledge it,
    /// and the group would wait forever.
    fn assign_none(consumer: &BaseConsumer<Self>) {
        if let Err(problem) = add(consumer, &TopicPartitionList::new()) {
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
        let mut state = self.state();
        let numbers: BTreeSet<i32> = match self.settings.join {
            Join::Partition | Join::Repartition => {
                let elements = revoked.elements();
                elements
                    .iter()
                    .map(TopicPartitionListElem::partition)
                    .collect()
            }
            // With the partition of the owner, all are revoked.
            Join::All => {
                state.next_check = None;
                std::mem::take(&mut state.assigned)
            }
        };
        state.member.revoke(&numbers);
        state.forget_stalls();
        state
            .assigned
            .retain(|partition| !numbers.contains(partition));
        state
            .places
            .retain(|(partition, _)| !numbers.contains(partition));
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
        if let Err(problem) = self.remove(consumer, &numbers, revoked.count()) {
            error!(
                worker = self.worker,
                error = %problem,
                "partition revocation failed"
            );
        }
        info!(worker = self.worker, partitions = ?numbers, "partitions revoked");
    }

    /// Removes the partitions with these numbers, of both topics, from the assignment: in the classic
    /// protocol, all. `revoked` is the number of topic partitions that the group revokes.
    fn remove(
        &self,
        consumer: &BaseConsumer<Self>,
        numbers: &BTreeSet<i32>,
        revoked: usize,
    ) -> KafkaResult<()> {
        if !matches!(
            consumer.rebalance_protocol(),
            RebalanceProtocol::Cooperative
        ) {
            return consumer.unassign();
        }
        // librdkafka rejects partitions that were never added, and expects an answer nevertheless.
        let mut removed = TopicPartitionList::new();
        for element in consumer.assignment()?.elements() {
            if numbers.contains(&element.partition()) {
                removed.add_partition(element.topic(), element.partition());
            }
        }
        if removed.count() > revoked && self.settings.join == Join::Partition {
            self.state().rejoin = true;
        }
        consumer.incremental_unassign(&removed)
    }
}

/// Adds partitions to the assignment. In the classic protocol, there is none before.
fn add<M: Member>(
    consumer: &BaseConsumer<Membership<M>>,
    partitions: &TopicPartitionList,
) -> KafkaResult<()> {
    match consumer.rebalance_protocol() {
        RebalanceProtocol::Cooperative => consumer.incremental_assign(partitions),
        _ => consumer.assign(partitions),
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

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
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
