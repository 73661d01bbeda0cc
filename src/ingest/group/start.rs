//! Where a worker goes on in the partitions that it is given: what Kafka knows of them, what disk
//! knows, and what is in the log decide, and a choice that loses or repeats anything is logged.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::{Offset, TopicPartitionListElem};
use tracing::{error, info, warn};

use super::{ASK, IngestError, Membership};
use crate::config::Start;
use crate::ingest::commit_metadata;
use rankgauge_core::engine::partition::{CommitPoint, Resume};
use rankgauge_core::event::Kind;
use rankgauge_core::time::WallTime;

/// What is known of a partition of a topic.
struct Known {
    topic: String,
    partition: i32,
    kind: Kind,
    /// The first offset that it holds.
    low: i64,
    /// The offset after the last.
    high: i64,
    /// What Kafka was told with the last commit.
    of_kafka: Option<CommitPoint>,
    /// What is on our disk.
    of_disk: Option<CommitPoint>,
    /// Whether something was known that is of another topic of this name.
    is_anew: bool,
}

impl Membership {
    /// How many partitions each of the two topics has.
    ///
    /// # Errors
    /// [`IngestError::UnequalPartitions`], or [`IngestError::NotYet`] while waiting may help.
    pub(super) fn matching_partitions(
        &self,
        consumer: &BaseConsumer<Self>,
        wait: Duration,
    ) -> Result<usize, IngestError> {
        let kafka = self.kafka();
        let partitions = |topic: &str| {
            let metadata = consumer
                .fetch_metadata(Some(topic), wait)
                .map_err(|problem| {
                    IngestError::NotYet(format!("no answer from {}: {problem}", kafka.brokers))
                })?;
            let found = metadata.topics().iter().find(|found| found.name() == topic);
            match found.map(|found| (found.error(), found.partitions().len())) {
                Some((None, count)) if count > 0 => Ok(count),
                _ => Err(IngestError::NotYet(format!("topic {topic} does not exist"))),
            }
        };
        let search = partitions(&kafka.search_topic)?;
        let feedback = partitions(&kafka.feedback_topic)?;
        if search == feedback {
            return Ok(search);
        }
        Err(IngestError::UnequalPartitions {
            search_topic: kafka.search_topic.clone(),
            search,
            feedback_topic: kafka.feedback_topic.clone(),
            feedback,
        })
    }

    /// Where each partition goes on, as numbers: nothing is left for librdkafka to decide.
    pub(super) fn resolve(
        &self,
        consumer: &BaseConsumer<Self>,
        assigned: &TopicPartitionList,
    ) -> KafkaResult<(TopicPartitionList, BTreeMap<i32, Resume>)> {
        let mut wanted = TopicPartitionList::with_capacity(assigned.count());
        for element in assigned.elements() {
            wanted.add_partition(element.topic(), element.partition());
        }
        let committed = consumer.committed_offsets(wanted, ASK)?;
        let mut known = Vec::new();
        for element in committed.elements() {
            element.error()?;
            let (low, high) =
                consumer.fetch_watermarks(element.topic(), element.partition(), ASK)?;
            known.push(self.known_of(consumer, &element, low, high));
        }
        let mut starts = TopicPartitionList::with_capacity(known.len());
        let mut resumes: BTreeMap<i32, Resume> = BTreeMap::new();
        for topic in &known {
            // Both topics of a partition go on from one moment. With one as the disk has it and one
            // as Kafka has it, a search that was counted before the one moment and its feedback that
            // was read before the other would each be taken for counted with the other.
            let mut both = known.iter().filter(|it| it.partition == topic.partition);
            let disk_is_further = both.all(|it| {
                let progress =
                    |point: &Option<CommitPoint>| point.as_ref().map(CommitPoint::progress);
                progress(&it.of_disk) >= progress(&it.of_kafka)
            });
            let point = self.start_of(topic, disk_is_further);
            let (partition, start) = (topic.partition, Offset::Offset(point.rebuild));
            starts.add_partition_offset(&topic.topic, partition, start)?;
            resumes.entry(partition).or_default().add(&point);
        }
        Ok((starts, resumes))
    }

    /// What is known of a partition of a topic that holds the offsets from `low` to before `high`.
    fn known_of(
        &self,
        consumer: &BaseConsumer<Self>,
        committed: &TopicPartitionListElem<'_>,
        low: i64,
        high: i64,
    ) -> Known {
        let (topic, partition) = (committed.topic(), committed.partition());
        let kind = self.kafka().kind_of(topic);
        let positions = &self.shared.positions;
        let of_kafka = match committed.offset() {
            Offset::Offset(offset) => {
                let metadata = committed.metadata();
                let known = commit_metadata::decode(partition, kind, offset, metadata);
                Some(known.unwrap_or_else(|| CommitPoint::untouched(partition, kind, offset)))
            }
            _ => None,
        };
        let of_disk = positions.durable(partition, kind);
        let committed_at = positions.committed_at(partition, kind);
        let is_younger = of_kafka.is_none()
            && committed_at.is_some_and(|at| is_younger(consumer, topic, partition, low, at));
        // What lies beyond the end is of another topic that had this name.
        let is_of_this = |point: &CommitPoint| !is_younger && point.counted <= high;
        let is_anew = is_younger
            || [&of_kafka, &of_disk]
                .into_iter()
                .flatten()
                .any(|it| !is_of_this(it));
        if is_anew {
            positions.forget(partition, kind);
        }
        Known {
            topic: topic.to_owned(),
            partition,
            kind,
            low,
            high,
            of_kafka: of_kafka.filter(is_of_this),
            of_disk: of_disk.filter(is_of_this),
            is_anew,
        }
    }

    /// Where to go on in a partition of a topic.
    fn start_of(&self, known: &Known, disk_is_further: bool) -> CommitPoint {
        let worker = self.number;
        let Known {
            topic,
            partition,
            kind,
            low,
            high,
            of_kafka,
            of_disk,
            is_anew,
        } = known;
        let (partition, kind, low, high) = (*partition, *kind, *low, *high);
        let untouched = |start| CommitPoint::untouched(partition, kind, start);
        let (first, second) = if disk_is_further {
            (of_disk, of_kafka)
        } else {
            (of_kafka, of_disk)
        };
        let Some(mut point) = first.clone().or_else(|| second.clone()) else {
            if *is_anew {
                error!(
                    worker,
                    "{topic} [{partition}] was made anew: it ends at {high}, before what was \
                     counted, or everything in it is younger; starting at its beginning, {low}"
                );
                return untouched(low);
            }
            // What was written to a partition before we saw that the topic had grown is ours to
            // count.
            let found = self.shared.partitions_found.get().copied();
            let number = usize::try_from(partition).unwrap_or_default();
            if found.is_some_and(|found| number >= found) {
                info!(
                    worker,
                    "{topic} [{partition}] is new, starting at its beginning, {low}"
                );
                return untouched(low);
            }
            let start = match self.kafka().start {
                Start::Earliest => low,
                Start::Latest => high,
            };
            info!(
                worker,
                "{topic} [{partition}] has no committed offset, starting at {start}"
            );
            return untouched(start);
        };
        if point.counted < low {
            error!(
                worker,
                "{topic} [{partition}] begins at {low}: the records from {} on were deleted before \
                 they were read, and are counted as a gap",
                point.counted
            );
        }
        if point.rebuild < low.min(point.counted) {
            warn!(
                worker,
                "{topic} [{partition}] begins at {low}: the records from {} on are gone that \
                 searches waiting for feedback need; they were counted, and wait no more",
                point.rebuild
            );
        }
        point.rebuild = point.rebuild.max(low);
        point
    }
}

/// Whether everything that a partition holds, from offset `low` on, was written since `at`. Then it
/// is not the one that something was read from before that. Where the broker cannot say, it is.
fn is_younger(
    consumer: &BaseConsumer<Membership>,
    topic: &str,
    partition: i32,
    low: i64,
    at: WallTime,
) -> bool {
    let mut wanted = TopicPartitionList::new();
    // In this question an offset is a time.
    let found = wanted
        .add_partition_offset(topic, partition, Offset::Offset(at.0))
        .and_then(|()| consumer.offsets_for_times(wanted, ASK));
    match found {
        Ok(found) => {
            let mut offsets = found.elements().into_iter();
            offsets.any(|found| matches!(found.offset(), Offset::Offset(first) if first <= low))
        }
        Err(problem) => {
            warn!("the age of {topic} [{partition}] cannot be learned: {problem}");
            false
        }
    }
}
