//! Start positions of a worker in its assigned partitions. They follow from the committed offsets,
//! the checkpoints and the range of the log. A choice that loses or repeats records is logged.

use std::collections::BTreeMap;

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::{Offset, TopicPartitionListElem};
use tracing::{error, info, warn};

use super::{BROKER_REQUEST_TIMEOUT, Lost, Member, Membership};
use crate::commit_metadata;
use crate::settings::Start;
use rankgauge_core::engine::partition::{CommitPoint, Resume};
use rankgauge_core::event::{Kind, LossReason};
use rankgauge_core::time::WallTime;

/// Candidate start positions of a topic partition.
struct StartCandidates {
    topic: String,
    partition: i32,
    kind: Kind,
    /// Log start offset.
    low: i64,
    /// Log end offset: the offset after the last record.
    high: i64,
    /// Last committed position.
    of_kafka: Option<CommitPoint>,
    /// Position in a checkpoint of this process.
    of_disk: Option<CommitPoint>,
    /// True if a known position belongs to an earlier topic of the same name.
    is_recreated: bool,
    /// True if the committed position has no metadata of a worker.
    is_of_operator: bool,
}

impl<M: Member> Membership<M> {
    /// Resolves the start position of each partition to a numeric offset. No choice is left to
    /// librdkafka. Returns the records that are lost before these positions, too.
    pub(super) fn resolve(
        &self,
        consumer: &BaseConsumer<Self>,
        assigned: &TopicPartitionList,
    ) -> KafkaResult<(TopicPartitionList, BTreeMap<i32, Resume>, Vec<Lost>)> {
        let mut wanted = TopicPartitionList::with_capacity(assigned.count());
        for element in assigned.elements() {
            wanted.add_partition(element.topic(), element.partition());
        }
        let committed = consumer.committed_offsets(wanted, BROKER_REQUEST_TIMEOUT)?;
        let mut known = Vec::new();
        for element in committed.elements() {
            element.error()?;
            let (low, high) = consumer.fetch_watermarks(
                element.topic(),
                element.partition(),
                BROKER_REQUEST_TIMEOUT,
            )?;
            known.push(self.candidates_of(consumer, &element, low, high));
        }
        let mut starts = TopicPartitionList::with_capacity(known.len());
        let mut resumes: BTreeMap<i32, Resume> = BTreeMap::new();
        let mut lost = Vec::new();
        for topic in &known {
            // Both topics of a partition resume from the same source. With one position from disk
            // and one from Kafka, a search counted before the one position and its feedback read
            // before the other would each be taken as already counted with the other.
            let mut both = known.iter().filter(|it| it.partition == topic.partition);
            let disk_is_further = both.all(|it| {
                let progress =
                    |point: &Option<CommitPoint>| point.as_ref().map(CommitPoint::progress);
                progress(&it.of_disk) >= progress(&it.of_kafka)
            });
            let point = self.start_of(topic, disk_is_further, &mut lost);
            let (partition, start) = (topic.partition, Offset::Offset(point.rebuild));
            starts.add_partition_offset(&topic.topic, partition, start)?;
            resumes.entry(partition).or_default().add(&point);
        }
        Ok((starts, resumes, lost))
    }

    /// Returns the candidate start positions of a topic partition whose log has the offsets
    /// `low..high`.
    fn candidates_of(
        &self,
        consumer: &BaseConsumer<Self>,
        committed: &TopicPartitionListElem<'_>,
        low: i64,
        high: i64,
    ) -> StartCandidates {
        let (topic, partition) = (committed.topic(), committed.partition());
        let kind = self.settings.kind_of(topic);
        let positions = &self.positions;
        let mut is_of_operator = false;
        let of_kafka = match committed.offset() {
            Offset::Offset(offset) => {
                let metadata = committed.metadata();
                let known = commit_metadata::decode(partition, kind, offset, metadata);
                is_of_operator = known.is_none();
                Some(known.unwrap_or_else(|| CommitPoint::starting_at(partition, kind, offset)))
            }
            _ => None,
        };
        let of_disk = positions.durable(partition, kind);
        let committed_at = positions.committed_at(partition, kind);
        let is_newer_topic = of_kafka.is_none()
            && committed_at
                .is_some_and(|at| was_recreated_since(consumer, topic, partition, low, at));
        // A position beyond the log end belongs to an earlier topic of the same name.
        let is_of_this = |point: &CommitPoint| !is_newer_topic && point.counted <= high;
        let is_recreated = is_newer_topic
            || [&of_kafka, &of_disk]
                .into_iter()
                .flatten()
                .any(|it| !is_of_this(it));
        if is_recreated {
            positions.forget(partition, kind);
        }
        StartCandidates {
            topic: topic.to_owned(),
            partition,
            kind,
            low,
            high,
            of_kafka: of_kafka.filter(is_of_this),
            of_disk: of_disk.filter(is_of_this),
            is_recreated,
            is_of_operator,
        }
    }

    /// Returns the start position of a topic partition. Adds the records before it that are `lost`.
    fn start_of(
        &self,
        known: &StartCandidates,
        disk_is_further: bool,
        lost: &mut Vec<Lost>,
    ) -> CommitPoint {
        let worker = self.worker;
        let StartCandidates {
            topic,
            partition,
            kind,
            low,
            of_kafka,
            of_disk,
            is_of_operator,
            ..
        } = known;
        let (partition, kind, low) = (*partition, *kind, *low);
        let (first, second) = if disk_is_further {
            (of_disk, of_kafka)
        } else {
            (of_kafka, of_disk)
        };
        let Some(mut point) = first.clone().or_else(|| second.clone()) else {
            return self.start_without_position(known);
        };
        if let (false, true, Some(on_disk)) = (disk_is_further, is_of_operator, of_disk)
            && on_disk.counted < point.counted
        {
            warn!(
                worker,
                topic,
                partition,
                offset = on_disk.counted,
                committed = point.counted,
                "committed offset moved forward; skipped records counted as an offset gap"
            );
            lost.push(Lost {
                kind,
                partition,
                before: point.counted,
                reason: LossReason::Moved,
            });
            point.counted = on_disk.counted;
        } else if point.counted < low {
            lost.push(Lost {
                kind,
                partition,
                before: low,
                reason: LossReason::Deleted,
            });
            error!(
                worker,
                topic,
                partition,
                offset = point.counted,
                log_start = low,
                "records deleted before they were read; counted as an offset gap"
            );
        }
        if point.rebuild < low.min(point.counted) {
            // The searches were counted. Only their later outcome is lost.
            warn!(
                worker,
                topic,
                partition,
                offset = point.rebuild,
                log_start = low,
                "records of pending searches deleted; their later outcome is not counted"
            );
        }
        point.rebuild = point.rebuild.max(low);
        point
    }
    /// Returns the start position of a topic partition without a known position.
    fn start_without_position(&self, known: &StartCandidates) -> CommitPoint {
        let worker = self.worker;
        let StartCandidates {
            topic,
            partition,
            low,
            high,
            ..
        } = known;
        let (partition, low, high) = (*partition, *low, *high);
        let starting_at = |start| CommitPoint::starting_at(partition, known.kind, start);
        if known.is_recreated {
            // The log ends before the counted position, or all its records are newer than the
            // last commit.
            error!(
                worker,
                topic,
                partition,
                offset = low,
                log_end = high,
                "topic was recreated; starting at the beginning"
            );
            return starting_at(low);
        }
        // Records written to a new partition before its detection must be counted.
        let found = self.positions.partitions();
        let number = usize::try_from(partition).unwrap_or_default();
        if found.is_some_and(|found| number >= found) {
            info!(
                worker,
                topic,
                partition,
                offset = low,
                "new partition; starting at the beginning"
            );
            return starting_at(low);
        }
        let start = match self.settings.start {
            Start::Earliest => low,
            Start::Latest => high,
        };
        info!(
            worker,
            topic,
            partition,
            offset = start,
            "no committed offset; kafka.start applies"
        );
        starting_at(start)
    }
}

/// Returns true if all records of a partition, from offset `low`, were written since `at`. The
/// topic was then recreated after an earlier read. Returns false if the broker request fails.
fn was_recreated_since<M: Member>(
    consumer: &BaseConsumer<Membership<M>>,
    topic: &str,
    partition: i32,
    low: i64,
    at: WallTime,
) -> bool {
    let mut wanted = TopicPartitionList::new();
    // In this request, the offset field holds a timestamp.
    let found = wanted
        .add_partition_offset(topic, partition, Offset::Offset(at.0))
        .and_then(|()| consumer.offsets_for_times(wanted, BROKER_REQUEST_TIMEOUT));
    match found {
        Ok(found) => {
            let mut offsets = found.elements().into_iter();
            offsets.any(|found| matches!(found.offset(), Offset::Offset(first) if first <= low))
        }
        Err(problem) => {
            warn!(
                worker = consumer.context().worker,
                topic,
                partition,
                error = %problem,
                "cannot look up offsets by timestamp; the topic is assumed unchanged"
            );
            false
        }
    }
}
