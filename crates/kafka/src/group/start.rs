//! Start positions of a worker in its assigned partitions. They follow from the committed offsets,
//! the checkpoints and the range of the log. A choice that loses or repeats records is logged.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::{Offset, TopicPartitionListElem};
use tracing::{error, info, warn};

use super::{BROKER_REQUEST_TIMEOUT, Lost, Member, Membership};
use crate::{commit_metadata, settings};
use rankgauge_core::engine::partition::{CommitPoint, Resume};
use rankgauge_core::engine::position::Join;
use rankgauge_core::event::{Kind, LossReason};
use rankgauge_core::time::WallTime;

/// Start positions of partitions, with what is lost before them.
pub(super) struct Starts {
    /// Offset at which each topic partition is read.
    pub(super) offsets: TopicPartitionList,
    /// State in which each partition resumes.
    pub(super) resumes: BTreeMap<i32, Resume>,
    /// Lost records.
    pub(super) lost: Vec<Lost>,
}

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
    /// Position in which this process left the partition last.
    last_left: Option<CommitPoint>,
    /// True if the committed position has no metadata of a worker.
    is_of_operator: bool,
    /// Position in an earlier topic of the same name.
    earlier: Option<CommitPoint>,
    /// True if the known positions belong to an earlier topic of the same name.
    is_recreated: bool,
}

impl StartCandidates {
    /// Positions in this topic or an earlier one.
    fn positions(&self) -> impl Iterator<Item = &CommitPoint> {
        let durable = self.of_disk.iter().chain(&self.of_kafka);
        // Without a durable position, a position in memory still states what this process counted.
        let in_memory = durable.clone().next().is_none().then_some(&self.last_left);
        durable.chain(in_memory.into_iter().flatten())
    }

    /// Newest time of a counted record.
    fn written(&self) -> Option<WallTime> {
        self.positions().filter_map(|point| point.written).max()
    }
}

/// Start position of a topic partition.
struct Start {
    point: CommitPoint,
    /// True if records that a rebuild of the join needs are gone.
    is_incomplete: bool,
}

impl<M: Member> Membership<M> {
    /// Resolves the start position of each partition to a numeric offset. No choice is left to
    /// librdkafka.
    pub(super) fn resolve(
        &self,
        consumer: &BaseConsumer<Self>,
        assigned: &TopicPartitionList,
    ) -> KafkaResult<Starts> {
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
            known.push(self.candidates_of(&element, low, high));
        }
        self.find_recreated(consumer, &mut known);
        let mut starts: BTreeMap<i32, Vec<(&StartCandidates, Start)>> = BTreeMap::new();
        let mut lost = Vec::new();
        for topic in &known {
            // Topic partitions that are joined with each other resume from the same source. With one
            // position from disk and one from Kafka, a search counted before the one position and its
            // feedback read before the other would each be taken as already counted with the other.
            let is_joined = |it: &&StartCandidates| match self.settings.join {
                Join::Partition => it.partition == topic.partition,
                Join::All => true,
                Join::Repartition => (it.partition, it.kind) == (topic.partition, topic.kind),
            };
            let mut joined = known.iter().filter(is_joined);
            let disk_is_further = joined.all(|it| {
                let of_kafka = it.of_kafka.as_ref().filter(|_| !it.is_of_operator);
                it.of_disk.as_ref().map(CommitPoint::progress)
                    >= of_kafka.map(CommitPoint::progress)
            });
            let start = self.start_of(topic, disk_is_further, &mut lost);
            (starts.entry(topic.partition).or_default()).push((topic, start));
        }
        let mut offsets = TopicPartitionList::with_capacity(known.len());
        let mut resumes: BTreeMap<i32, Resume> = BTreeMap::new();
        let mut all = starts.values().flatten();
        let is_all_incomplete =
            self.settings.join == Join::All && all.any(|(_, start)| start.is_incomplete);
        for (partition, mut starts) in starts {
            let resume = resumes.entry(partition).or_default();
            // Feedback without its search, or the other way round, would be counted again with another
            // outcome. A join is therefore rebuilt completely or not at all.
            if is_all_incomplete || starts.iter().any(|(_, start)| start.is_incomplete) {
                for (known, Start { point, .. }) in &mut starts {
                    let pending = std::mem::take(&mut point.pending);
                    resume.lost_pending[known.kind.index()] = pending;
                    point.rebuild = point.rebuild.max(point.counted);
                }
                warn!(
                    worker = self.worker,
                    partition,
                    searches = resume.lost_pending[Kind::Search.index()],
                    feedback = resume.lost_pending[Kind::Feedback.index()],
                    "records of pending events are gone; the events are counted as lost"
                );
            }
            for (known, Start { point, .. }) in &starts {
                let offset = Offset::Offset(point.rebuild);
                offsets.add_partition_offset(&known.topic, partition, offset)?;
                resume.add(point);
            }
        }
        Ok(Starts {
            offsets,
            resumes,
            lost,
        })
    }

    /// Returns the candidate start positions of a topic partition whose log has the offsets
    /// `low..high`.
    fn candidates_of(
        &self,
        committed: &TopicPartitionListElem<'_>,
        low: i64,
        high: i64,
    ) -> StartCandidates {
        let (topic, partition) = (committed.topic(), committed.partition());
        let kind = self.settings.kind_of(topic);
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
        StartCandidates {
            topic: topic.to_owned(),
            partition,
            kind,
            low,
            high,
            of_kafka,
            of_disk: self.positions.durable(partition, kind),
            last_left: self.positions.last_left(partition, kind),
            is_of_operator,
            earlier: None,
            is_recreated: false,
        }
    }

    /// Finds topic partitions whose known positions belong to an earlier topic of the same name, and
    /// drops these positions. The log of such a topic ends before the position, or all its records are
    /// newer than those that were counted.
    fn find_recreated(&self, consumer: &BaseConsumer<Self>, known: &mut [StartCandidates]) {
        let reference = |it: &StartCandidates| {
            if let Some(counted) = it.positions().map(|point| point.counted).max() {
                return it.written().filter(|_| counted > it.low);
            }
            // The brokers delete the committed offsets of a deleted topic. Those of the other topic stay.
            let mut others = known.iter();
            let is_other =
                |other: &&StartCandidates| other.partition == it.partition && other.kind != it.kind;
            others.find(is_other)?.written()
        };
        let times: Vec<Option<WallTime>> = known.iter().map(reference).collect();
        let starts_after = |it: &StartCandidates, WallTime(at): WallTime| {
            let mut wanted = TopicPartitionList::new();
            // In this request, the offset field holds a timestamp.
            let at = Offset::Offset(at.saturating_add(1));
            let found = wanted
                .add_partition_offset(&it.topic, it.partition, at)
                .and_then(|()| consumer.offsets_for_times(wanted, BROKER_REQUEST_TIMEOUT));
            match found {
                Ok(found) => found.elements().iter().any(
                    |found| matches!(found.offset(), Offset::Offset(first) if first <= it.low),
                ),
                Err(problem) => {
                    warn!(
                        worker = self.worker,
                        topic = it.topic,
                        partition = it.partition,
                        error = %problem,
                        "cannot look up offsets by timestamp; the topic is assumed unchanged"
                    );
                    false
                }
            }
        };
        for (it, time) in known.iter_mut().zip(times) {
            let is_beyond_end = it.positions().any(|point| point.counted > it.high);
            if is_beyond_end || time.is_some_and(|time| starts_after(it, time)) {
                it.is_recreated = true;
                it.earlier = it.positions().max_by_key(|point| point.progress()).cloned();
                (it.of_kafka, it.of_disk) = (None, None);
                self.positions.forget(it.partition, it.kind);
            }
        }
    }

    /// Returns the start position of a topic partition. Adds the records before it that are `lost`.
    fn start_of(
        &self,
        known: &StartCandidates,
        disk_is_further: bool,
        lost: &mut Vec<Lost>,
    ) -> Start {
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
        if let (true, Some(committed), Some(on_disk)) = (is_of_operator, of_kafka, of_disk)
            && on_disk.counted < committed.counted
        {
            warn!(
                worker,
                topic,
                partition,
                offset = on_disk.counted,
                committed = committed.counted,
                "committed offset moved forward; skipped records counted as an offset gap"
            );
            lost.push(Lost {
                kind,
                partition,
                before: committed.counted,
                reason: LossReason::Moved,
            });
            return Start {
                point: CommitPoint {
                    rebuild: committed.counted.max(low),
                    // The skipped records may be as new as that.
                    written: on_disk.written.max(Some(wall_now())),
                    ..on_disk.clone()
                },
                is_incomplete: true,
            };
        }
        let (first, second) = if disk_is_further {
            (of_disk, of_kafka)
        } else {
            (of_kafka, of_disk)
        };
        let Some(mut point) = first.clone().or_else(|| second.clone()) else {
            return self.start_without_position(known);
        };
        if point.counted < low {
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
        let is_incomplete = point.rebuild < low.min(point.counted);
        point.rebuild = point.rebuild.max(low);
        Start {
            point,
            is_incomplete,
        }
    }

    /// Returns the start position of a topic partition without a known position.
    fn start_without_position(&self, known: &StartCandidates) -> Start {
        let worker = self.worker;
        let StartCandidates {
            topic,
            partition,
            low,
            high,
            ..
        } = known;
        let (partition, low, high) = (*partition, *low, *high);
        let start = |offset, is_incomplete| Start {
            point: CommitPoint {
                pending: known.earlier.as_ref().map_or(0, |point| point.pending),
                // Records before the first one to read may be as new as that.
                written: (offset > low).then(wall_now),
                ..CommitPoint::starting_at(partition, known.kind, offset)
            },
            is_incomplete,
        };
        if known.is_recreated {
            error!(
                worker,
                topic,
                partition,
                offset = low,
                log_end = high,
                "topic was recreated; starting at the beginning"
            );
            return start(low, true);
        }
        // Records written to a new partition before its detection must be counted.
        let found = self.positions.partitions(known.kind);
        let number = usize::try_from(partition).unwrap_or_default();
        if found.is_some_and(|found| number >= found) {
            info!(
                worker,
                topic,
                partition,
                offset = low,
                "new partition; starting at the beginning"
            );
            return start(low, false);
        }
        let offset = match self.settings.start {
            settings::Start::Earliest => low,
            settings::Start::Latest => high,
        };
        info!(
            worker,
            topic, partition, offset, "no committed offset; kafka.start applies"
        );
        start(offset, false)
    }
}

/// Time of the system clock.
fn wall_now() -> WallTime {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    WallTime(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}
