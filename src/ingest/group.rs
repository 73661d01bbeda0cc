//! A worker's membership in the consumer group: which partitions it has, where it goes on in them,
//! and what it commits.
//!
//! librdkafka calls back from inside `poll`, on the worker's own thread. The engine lives behind a
//! lock for that reason alone: a partition that is taken away must be committed and forgotten
//! before the call returns, or two members would own it. Nobody else ever holds the lock, so
//! taking it never waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message, OwnedMessage};
use rdkafka::statistics::Statistics;
use rdkafka::topic_partition_list::{Offset, TopicPartitionListElem};
use rdkafka::types::RDKafkaRespErr;
use tracing::{debug, error, info, warn};

use crate::config::{Kafka, Start};
use crate::engine::partition::{CommitPoint, Resume};
use crate::engine::{Engine, Input, Position};
use crate::event::Kind;
use crate::ingest::Shared;
use crate::ingest::publisher::Publisher;

/// How long a question to the broker may take within a group change.
const ASK: Duration = Duration::from_secs(10);

/// How long the check of the topics waits for an answer before it is asked again.
const CHECK: Duration = Duration::from_secs(2);

/// Why a worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// Waiting may help.
    #[error("{0}")]
    NotYet(String),
    /// A search and its feedback would not meet.
    #[error(
        "topic {search_topic} has {search} partitions and topic {feedback_topic} has {feedback}: \
         both need the same number and the key query_id, so that a search and its feedback meet; \
         add partitions to the smaller one"
    )]
    UnequalPartitions {
        /// The topic of searches.
        search_topic: String,
        /// Its partitions.
        search: usize,
        /// The topic of feedback.
        feedback_topic: String,
        /// Its partitions.
        feedback: usize,
    },
    /// librdkafka refuses the configuration.
    #[error("librdkafka refuses the configuration (kafka.properties): {0}")]
    Configuration(#[source] KafkaError),
    /// librdkafka gives up.
    #[error(
        "librdkafka gives up: {0}; when another process is fencing this one, each replica needs a \
         group.instance.id of its own (kafka.properties)"
    )]
    Fatal(RDKafkaErrorCode),
    /// The system starts no thread.
    #[error("the thread that writes checkpoints cannot be started: {0}")]
    Thread(#[source] std::io::Error),
    /// The topics cannot be subscribed to.
    #[error("cannot subscribe to the topics: {0}")]
    Subscribe(#[source] KafkaError),
}

/// A consumer with its engine.
pub(super) struct Consumer {
    inner: BaseConsumer<Membership>,
}

impl Consumer {
    /// A consumer that is in no group yet.
    pub(super) fn new(
        number: usize,
        shared: Arc<Shared>,
        engine: Engine,
    ) -> Result<Self, IngestError> {
        let config = shared.config.kafka.consumer(number);
        let publisher = Publisher::new(number, Arc::clone(&shared)).map_err(IngestError::Thread)?;
        let state = State {
            engine,
            publisher,
            committed: BTreeMap::new(),
            rejoin: false,
            held: BTreeMap::new(),
            put_off: BTreeMap::new(),
            stop_by: None,
        };
        let membership = Membership {
            number,
            shared,
            state: Mutex::new(state),
        };
        let inner = config
            .create_with_context(membership)
            .map_err(IngestError::Configuration)?;
        Ok(Self { inner })
    }

    /// The engine, for the worker's own thread between two polls.
    pub(super) fn engine(&self) -> EngineGuard<'_> {
        EngineGuard(self.membership().state())
    }

    /// What the topic of `record` holds.
    pub(super) fn kind_of(&self, record: &impl Message) -> Kind {
        self.membership().kafka().kind_of(record.topic())
    }

    /// The next record or problem, if one comes within `wait`.
    pub(super) fn poll(&self, wait: Duration) -> Option<KafkaResult<BorrowedMessage<'_>>> {
        self.inner.poll(wait)
    }

    /// Whether both topics are there and match.
    ///
    /// # Errors
    /// [`IngestError::NotYet`] while waiting may help.
    pub(super) fn check_topics(&self) -> Result<(), IngestError> {
        // Errors and statistics are delivered by polling.
        if let Some(Err(problem)) = self.inner.poll(Duration::ZERO) {
            debug!("{problem}");
        }
        let kafka = self.membership().kafka();
        let partitions = |topic: &str| {
            let metadata = self
                .inner
                .fetch_metadata(Some(topic), CHECK)
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
            self.confirm_cluster();
            return Ok(());
        }
        Err(IngestError::UnequalPartitions {
            search_topic: kafka.search_topic.clone(),
            search,
            feedback_topic: kafka.feedback_topic.clone(),
            feedback,
        })
    }

    /// Learns which cluster this is: positions in another one mean nothing here.
    fn confirm_cluster(&self) {
        let positions = &self.membership().shared.positions;
        let cluster = self.inner.client().fetch_cluster_id(CHECK);
        if let Some(cluster) = cluster.filter(|cluster| !cluster.is_empty())
            && let Some(other) = positions.confirm(&cluster)
        {
            warn!(
                "this is cluster {cluster}, and the checkpoint is of {other}: its counters are \
                 gone on with, its positions are not used"
            );
        }
    }

    /// Joins the group.
    pub(super) fn subscribe(&self) -> Result<(), IngestError> {
        let kafka = self.membership().kafka();
        let topics = [kafka.search_topic.as_str(), kafka.feedback_topic.as_str()];
        self.inner
            .subscribe(&topics)
            .map_err(IngestError::Subscribe)
    }

    /// Leaves the group and joins it again at the next opportunity.
    pub(super) fn rejoin(&self) {
        self.membership().state().rejoin = true;
    }

    /// Keeps a record that has to wait for the other topic of its partition; returns whether it has.
    /// The topic is to be [held back](Self::balance) before the next one is read.
    pub(super) fn put_off(&self, record: &BorrowedMessage<'_>) -> bool {
        let kind = self.membership().kafka().kind_of(record.topic());
        let at = Position {
            partition: record.partition(),
            offset: record.offset(),
        };
        let mut state = self.membership().state();
        let waits = state.engine.must_wait(kind, at);
        if waits {
            state.put_off.insert((at.partition, kind), record.detach());
        }
        waits
    }

    /// The records that had to wait and no longer have to.
    pub(super) fn take_up(&self) -> Vec<OwnedMessage> {
        let mut state = self.membership().state();
        let State {
            engine, put_off, ..
        } = &mut *state;
        let ready = put_off.extract_if(.., |(partition, kind), record| {
            let at = Position {
                partition: *partition,
                offset: record.offset(),
            };
            !engine.must_wait(*kind, at)
        });
        ready.map(|(_, record)| record).collect()
    }

    /// Stops reading a topic that is far ahead of the other in event time, and goes on with those
    /// that no longer are. While an hour's backlog is read, feedback, which is small, would
    /// otherwise be read hours ahead of the searches that it belongs to.
    pub(super) fn balance(&self) {
        let mut state = self.membership().state();
        let leaders = state.engine.leaders();
        if leaders == state.held {
            return;
        }
        let held = std::mem::replace(&mut state.held, leaders.clone());
        drop(state);
        let changed = |from: &BTreeMap<i32, Kind>, to: &BTreeMap<i32, Kind>| {
            let mut list = TopicPartitionList::new();
            for (partition, kind) in from
                .iter()
                .filter(|(partition, kind)| to.get(partition) != Some(kind))
            {
                list.add_partition(self.membership().kafka().topic(*kind), *partition);
            }
            list
        };
        let (resumed, paused) = (changed(&held, &leaders), changed(&leaders, &held));
        let results = [
            (resumed.count() > 0).then(|| self.inner.resume(&resumed)),
            (paused.count() > 0).then(|| self.inner.pause(&paused)),
        ];
        for problem in results.into_iter().flatten().filter_map(Result::err) {
            warn!("a topic that is ahead cannot be held back: {problem}");
        }
    }

    /// Joins the group again when something asked for it.
    pub(super) fn rejoin_if_needed(&self) {
        if std::mem::take(&mut self.membership().state().rejoin) {
            self.commit_sync();
            self.inner.unsubscribe();
            // Leaving takes the partitions away, through the call back.
            if let Some(Err(problem)) = self.inner.poll(Duration::from_millis(500)) {
                debug!("{problem}");
            }
            if let Err(problem) = self.subscribe() {
                error!("{problem}");
                self.rejoin();
            }
        }
    }

    /// Publishes what was counted when it is time to.
    pub(super) fn publish_if_due(&self) {
        let mut state = self.membership().state();
        let State {
            engine, publisher, ..
        } = &mut *state;
        if publisher.is_due() {
            publisher.publish(engine);
        }
    }

    /// Publishes and commits what was counted, for the last time, and waits for both.
    pub(super) fn publish_and_commit(&self) {
        let membership = self.membership();
        membership.state().stop_by = Some(Instant::now() + membership.patience());
        membership.publish_and_wait();
        self.commit_sync();
    }

    /// Commits what was counted, without waiting for the answer.
    pub(super) fn commit_async(&self) {
        self.membership().commit(&self.inner, CommitMode::Async);
    }

    /// Commits what was counted, and waits for the answer.
    pub(super) fn commit_sync(&self) {
        self.membership().commit(&self.inner, CommitMode::Sync);
    }

    /// Leaves the group. Dropping the consumer closes it, from the thread that polls it.
    pub(super) fn leave(self) {
        drop(self.inner);
    }

    fn membership(&self) -> &Membership {
        self.inner.context()
    }
}

/// Access to the engine.
pub(super) struct EngineGuard<'a>(MutexGuard<'a, State>);

impl std::ops::Deref for EngineGuard<'_> {
    type Target = Engine;
    fn deref(&self) -> &Engine {
        &self.0.engine
    }
}

impl std::ops::DerefMut for EngineGuard<'_> {
    fn deref_mut(&mut self) -> &mut Engine {
        &mut self.0.engine
    }
}

/// What librdkafka's call backs share with the worker.
struct Membership {
    number: usize,
    shared: Arc<Shared>,
    state: Mutex<State>,
}

struct State {
    engine: Engine,
    publisher: Publisher,
    /// What was committed last, so that nothing is committed twice.
    committed: BTreeMap<(i32, Kind), CommitPoint>,
    rejoin: bool,
    /// By partition, the topic that is not being read because it is ahead of the other.
    held: BTreeMap<i32, Kind>,
    /// Records that have to wait for the other topic; at most one of each, since it is held then.
    put_off: BTreeMap<(i32, Kind), OwnedMessage>,
    /// Once it is time to stop: until when the disk is waited for.
    stop_by: Option<Instant>,
}

impl State {
    /// What has changed since the last commit.
    fn uncommitted(&self) -> Vec<CommitPoint> {
        let mut points = self.publisher.committable(&self.engine);
        points.retain(|point| self.committed.get(&(point.partition, point.kind)) != Some(point));
        points
    }
}

impl Membership {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kafka(&self) -> &Kafka {
        &self.shared.config.kafka
    }

    /// How long the disk is waited for. Half of the time in which a shutdown has to be done is left
    /// for what comes after.
    fn patience(&self) -> Duration {
        self.shared.config.shutdown_timeout / 2
    }

    /// Publishes what was counted, and waits until that is on disk.
    fn publish_and_wait(&self) {
        let mut state = self.state();
        // Leaving the group takes the partitions away: a slow disk is not waited for twice.
        let deadline = state.stop_by.unwrap_or(Instant::now() + self.patience());
        let State {
            engine, publisher, ..
        } = &mut *state;
        if !publisher.publish_and_wait(engine, deadline) {
            warn!(
                worker = self.number,
                "what was counted is not on disk: whoever goes on counts it again"
            );
        }
    }

    fn commit(&self, consumer: &BaseConsumer<Self>, mode: CommitMode) {
        // The lock is not held while librdkafka commits: it may call back.
        let points = self.state().uncommitted();
        if points.is_empty() {
            return;
        }
        let mut list = TopicPartitionList::with_capacity(points.len());
        for point in &points {
            let topic = self.kafka().topic(point.kind);
            let mut element = list.add_partition(topic, point.partition);
            element.set_metadata(point.metadata());
            if let Err(problem) = element.set_offset(Offset::Offset(point.rebuild)) {
                error!(
                    "offset {} of {topic} cannot be committed: {problem}",
                    point.rebuild
                );
                return;
            }
        }
        match consumer.commit(&list, mode) {
            Ok(()) => {
                let committed = points
                    .into_iter()
                    .map(|point| ((point.partition, point.kind), point));
                self.state().committed.extend(committed);
            }
            Err(problem) => warn!(
                worker = self.number,
                "offsets were not committed, trying again: {problem}"
            ),
        }
    }

    /// Where each partition goes on, as numbers: nothing is left for librdkafka to decide.
    fn resolve(
        &self,
        consumer: &BaseConsumer<Self>,
        assigned: &TopicPartitionList,
    ) -> KafkaResult<(TopicPartitionList, BTreeMap<i32, Resume>)> {
        let mut wanted = TopicPartitionList::with_capacity(assigned.count());
        for element in assigned.elements() {
            wanted.add_partition(element.topic(), element.partition());
        }
        let committed = consumer.committed_offsets(wanted, ASK)?;
        let mut starts = TopicPartitionList::with_capacity(committed.count());
        let mut resumes: BTreeMap<i32, Resume> = BTreeMap::new();
        for element in committed.elements() {
            element.error()?;
            let (topic, partition) = (element.topic(), element.partition());
            let (low, high) = consumer.fetch_watermarks(topic, partition, ASK)?;
            let kind = self.kafka().kind_of(topic);
            let point = self.start_of(kind, &element, low, high);
            starts.add_partition_offset(topic, partition, Offset::Offset(point.rebuild))?;
            resumes.entry(partition).or_default().add(&point);
        }
        Ok((starts, resumes))
    }

    /// Where to go on in a partition of a topic that holds the offsets from `low` to before `high`.
    fn start_of(
        &self,
        kind: Kind,
        committed: &TopicPartitionListElem<'_>,
        low: i64,
        high: i64,
    ) -> CommitPoint {
        let worker = self.number;
        let (topic, partition) = (committed.topic(), committed.partition());
        let untouched = |start| CommitPoint::untouched(partition, kind, start);
        let of_kafka = match committed.offset() {
            Offset::Offset(offset) => {
                let metadata = committed.metadata();
                let known = CommitPoint::committed(partition, kind, offset, metadata);
                Some(known.unwrap_or_else(|| untouched(offset)))
            }
            _ => None,
        };
        let of_disk = self.shared.positions.durable(partition, kind);
        // Whoever says more has counted more.
        let known = of_kafka.into_iter().chain(of_disk);
        let Some(mut point) = known.max_by_key(|point| point.counted) else {
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
        if point.counted > high {
            error!(
                worker,
                "{topic} [{partition}] ends at {high}, before offset {}, up to which it was \
                 counted: the topic was made anew; starting at its beginning, {low}",
                point.counted
            );
            self.shared.positions.forget(partition, kind);
            return untouched(low);
        }
        if point.counted < low {
            error!(
                worker,
                "{topic} [{partition}] begins at {low}: the records from {} on were deleted before \
                 they were read, and are counted as a gap",
                point.counted
            );
        } else if point.rebuild < low {
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

    fn assign(&self, consumer: &BaseConsumer<Self>, assigned: &TopicPartitionList) {
        let resolved = self.resolve(consumer, assigned);
        let (starts, resumes) = match resolved {
            Ok(resolved) => resolved,
            Err(problem) => {
                warn!(
                    worker = self.number,
                    "cannot learn where to go on, joining anew: {problem}"
                );
                self.state().rejoin = true;
                // The group waits for an assignment; an empty one is honest. (To unassign would be no
                // answer, and the group would wait for ever.)
                if let Err(problem) = consumer.assign(&TopicPartitionList::new()) {
                    error!("{problem}");
                }
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

    fn revoke(&self, consumer: &BaseConsumer<Self>, revoked: &TopicPartitionList) {
        if consumer.assignment_lost() {
            warn!(
                worker = self.number,
                "the group took our partitions: we were not heard of for too long"
            );
        } else {
            self.publish_and_wait();
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

    fn commit_callback(&self, result: KafkaResult<()>, _offsets: &TopicPartitionList) {
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

impl ClientContext for Membership {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        match level {
            RDKafkaLogLevel::Emerg
            | RDKafkaLogLevel::Alert
            | RDKafkaLogLevel::Critical
            | RDKafkaLogLevel::Error => warn!(target: "librdkafka", "{facility}: {message}"),
            RDKafkaLogLevel::Warning | RDKafkaLogLevel::Notice => {
                info!(target: "librdkafka", "{facility}: {message}");
            }
            RDKafkaLogLevel::Info | RDKafkaLogLevel::Debug => {
                debug!(target: "librdkafka", "{facility}: {message}");
            }
        }
    }

    fn error(&self, problem: KafkaError, reason: &str) {
        if problem.rdkafka_error_code() == Some(RDKafkaErrorCode::AllBrokersDown) {
            self.shared.views[self.number].set_connected(false);
        }
        warn!(worker = self.number, "{problem}: {reason}");
    }

    fn stats(&self, statistics: Statistics) {
        // The group coordinator is a connection of its own and does not count: records come from
        // the others.
        let connected = statistics
            .brokers
            .values()
            .any(|broker| broker.state == "UP" && broker.nodeid >= 0);
        self.shared.views[self.number].set_connected(connected);
        if !connected {
            return;
        }
        let mut state = self.state();
        for kind in Kind::ALL {
            let Some(topic) = statistics.topics.get(self.kafka().topic(kind)) else {
                continue;
            };
            for number in state.engine.partitions() {
                let Some(partition) = topic.partitions.get(&number) else {
                    continue;
                };
                let Some(next) = state.engine.next_offset(kind, number) else {
                    continue;
                };
                if partition.hi_offset < 0 {
                    continue;
                }
                let read_all =
                    partition.fetchq_cnt == 0 && partition.next_offset >= partition.hi_offset;
                let left = if read_all {
                    0
                } else {
                    partition.hi_offset - next
                };
                let records = u64::try_from(left).unwrap_or(0);
                state.engine.apply(Input::Lag {
                    kind,
                    partition: number,
                    records,
                });
            }
        }
    }
}
