//! Consumer group membership of a worker: its assigned partitions, their start positions, and
//! offset commits.
//!
//! librdkafka invokes callbacks inside `poll`, on the thread of the worker. The engine is behind a
//! lock only for this reason: a revoked partition must be committed and dropped before the callback
//! returns, or two members would own it. Only this thread takes the lock, so it is never contended.

mod change;
mod client;
mod start;

pub(super) use start::partition_count;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message, OwnedMessage};
use rdkafka::topic_partition_list::Offset;
use tracing::{debug, error, info, warn};

use crate::ingest::context::WorkerContext;
use crate::ingest::dead_letters::Outstanding;
use crate::ingest::publisher::Publisher;
use crate::ingest::records::MAX_GROUP;
use rankgauge_core::engine::partition::CommitPoint;
use rankgauge_core::engine::{Engine, Position};
use rankgauge_core::event::Kind;
use rankgauge_kafka::connection::ConnectionLog;
use rankgauge_kafka::throttle::Throttle;
use rankgauge_kafka::{Settings, commit_metadata};
use rankgauge_serve::clock::wall_now;

/// Time-out of a topic metadata request, and interval between two checks of the topics.
const TOPIC_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Time-out of a topic metadata request while no broker is connected.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// Time-out of a broker request during a rebalance.
const BROKER_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Error that stops or delays a worker.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// Temporary error; a retry may succeed.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// Unequal partition counts: a search and its feedback could be assigned to different workers.
    #[error(
        "topic {search_topic} has {search} partitions and topic {feedback_topic} has {feedback}: \
         both need the same number and the key query_id, because one worker must read a search and \
         its feedback; add partitions to the smaller one"
    )]
    UnequalPartitions {
        /// Search topic.
        search_topic: String,
        /// Number of partitions of the search topic.
        search: usize,
        /// Feedback topic.
        feedback_topic: String,
        /// Number of partitions of the feedback topic.
        feedback: usize,
    },
    /// Invalid librdkafka configuration.
    #[error("librdkafka refuses the configuration (kafka.properties): {0}")]
    Configuration(#[source] KafkaError),
    /// Fatal librdkafka error.
    #[error(
        "fatal librdkafka error: {0}; if another process fenced this one, give each replica a \
         unique group.instance.id (kafka.properties)"
    )]
    Fatal(RDKafkaErrorCode),
    /// Failure to start the checkpoint thread.
    #[error("the thread that writes checkpoints cannot be started: {0}")]
    Thread(#[source] std::io::Error),
    /// Failure to subscribe to the topics.
    #[error("cannot subscribe to the topics: {0}")]
    Subscribe(#[source] KafkaError),
}

/// Reason for which the topics cannot be read yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// No broker has answered.
    #[error(
        "no broker answers; check kafka.brokers, security.protocol (a listener with TLS closes other \
         connections), and firewalls and network policies between the brokers and this process"
    )]
    NoAnswer,
    /// The topic does not exist.
    #[error("topic {0} does not exist; create it, with as many partitions as the other topic")]
    NoTopic(String),
    /// The client may not see the topic.
    #[error("no permission for topic {0}; allow Describe and Read to the user of this process")]
    Forbidden(String),
    /// Another error of the topic, such as a missing leader.
    #[error("topic {0} is not available: {1}; check the brokers")]
    Topic(String, RDKafkaErrorCode),
}

/// Records that were polled together, and the error after them, if any.
pub(super) struct Polled<'a> {
    pub(super) records: Vec<BorrowedMessage<'a>>,
    pub(super) problem: Option<KafkaError>,
}

/// Kafka consumer with its engine.
pub(super) struct Consumer {
    inner: BaseConsumer<Membership>,
}

impl Consumer {
    /// Creates a consumer that has not joined the group yet. `outstanding` are the dead-letter
    /// records of its worker.
    pub(super) fn new(
        context: WorkerContext,
        engine: Engine,
        outstanding: Arc<Outstanding>,
    ) -> Result<Self, IngestError> {
        let config = context.kafka().consumer(context.number);
        let publisher =
            Publisher::new(&context, Arc::clone(&outstanding)).map_err(IngestError::Thread)?;
        let state = State {
            engine,
            publisher,
            outstanding,
            changes: 0,
            connection: ConnectionLog::default(),
            error_log: Vec::new(),
            committed: BTreeMap::new(),
            rejoin: false,
            lost: false,
            loss: None,
            next_check: None,
            held: BTreeSet::new(),
            deferred: BTreeMap::new(),
            stop_by: None,
        };
        let membership = Membership {
            context,
            state: Mutex::new(state),
        };
        let inner = config
            .create_with_context(membership)
            .map_err(IngestError::Configuration)?;
        Ok(Self { inner })
    }

    /// The engine, for use by the thread of the worker between two polls.
    pub(super) fn engine(&self) -> EngineGuard<'_> {
        EngineGuard(self.membership().state())
    }

    /// Kind of events in the topic of `record`.
    pub(super) fn kind_of(&self, record: &impl Message) -> Kind {
        self.membership().kafka().kind_of(record.topic())
    }

    /// The next record or error, or `None` after `wait`.
    pub(super) fn poll(&self, wait: Duration) -> Option<KafkaResult<BorrowedMessage<'_>>> {
        self.inner.poll(wait)
    }

    /// The next records, after at most `wait`. While records are replayed, only one, because each can
    /// decide whether the next one is [deferred](Self::defer).
    pub(super) fn poll_group(&self, wait: Duration) -> Polled<'_> {
        let state = self.membership().state();
        let changes = state.changes;
        let limit = if state.engine.is_replaying() {
            1
        } else {
            MAX_GROUP
        };
        drop(state);
        let mut polled = Polled {
            records: Vec::with_capacity(limit),
            problem: None,
        };
        let mut next_wait = wait;
        while polled.records.len() < limit {
            match self.poll(std::mem::take(&mut next_wait)) {
                Some(Ok(record)) => polled.records.push(record),
                Some(Err(problem)) => {
                    polled.problem = Some(problem);
                    break;
                }
                None => break,
            }
        }
        // The next owner of a partition reads these records again, even if it is this worker.
        if self.membership().state().changes != changes {
            polled.records.clear();
        }
        polled
    }

    /// Checks that both topics exist and have the same number of partitions.
    ///
    /// # Errors
    /// [`IngestError::Unavailable`] if a retry may succeed.
    pub(super) fn check_topics(&self) -> Result<(), IngestError> {
        let membership = self.membership();
        // Without a connection, a longer wait delays only the handling of other events.
        let wait = if membership.context.view().connected() {
            TOPIC_CHECK_INTERVAL
        } else {
            CONNECT_TIMEOUT
        };
        let count = membership.matching_partitions(&self.inner, wait)?;
        self.confirm_cluster();
        // The first worker sets the count for the process.
        membership
            .context
            .recovery
            .partitions_found
            .get_or_init(|| count);
        Ok(())
    }

    /// Returns true if a connection failed, for a known cause, and none succeeded since.
    pub(super) fn has_connection_problem(&self) -> bool {
        self.membership().state().connection.has_problem()
    }

    /// Requests the cluster id and drops the positions of another cluster.
    fn confirm_cluster(&self) {
        let positions = &self.membership().context.recovery.positions;
        let cluster = self.inner.client().fetch_cluster_id(TOPIC_CHECK_INTERVAL);
        if let Some(cluster) = cluster.filter(|cluster| !cluster.is_empty())
            && let Some(other) = positions.confirm(&cluster)
        {
            warn!(
                worker = self.membership().context.number,
                cluster,
                checkpoint_cluster = other,
                "checkpoint of another cluster; counters restored, positions ignored"
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

    /// Requests that the worker leaves and rejoins the group in its next round.
    pub(super) fn rejoin(&self) {
        self.membership().state().rejoin = true;
    }

    /// Defers a record that is too far ahead of the other topic of its partition. Returns true if
    /// the record is deferred. [Backpressure](Self::apply_backpressure) must be applied before the
    /// next poll.
    pub(super) fn defer(&self, kind: Kind, record: &BorrowedMessage<'_>) -> bool {
        let at = Position {
            partition: record.partition(),
            offset: record.offset(),
        };
        let mut state = self.membership().state();
        let waits = state.engine.must_defer(kind, at);
        if waits {
            state.deferred.insert((at.partition, kind), record.detach());
        }
        waits
    }

    /// Removes and returns the deferred records that can be processed now.
    pub(super) fn drain_deferred(&self) -> Vec<OwnedMessage> {
        let mut state = self.membership().state();
        let State {
            engine, deferred, ..
        } = &mut *state;
        let ready = deferred.extract_if(.., |(partition, kind), record| {
            let at = Position {
                partition: *partition,
                offset: record.offset(),
            };
            !engine.must_defer(*kind, at)
        });
        ready.map(|(_, record)| record).collect()
    }

    /// Requests a rejoin after the group removed this member. Another member counts the partitions
    /// by then. The worker therefore rolls back to its last checkpoint and commits nothing.
    pub(super) fn rejoin_as_lost(&self) {
        let mut state = self.membership().state();
        state.rejoin = true;
        state.lost = !state.engine.partitions().is_empty();
        state.loss = state.lost.then_some(Loss::Stalled);
    }

    /// Records that the consumer leaves its group, because the worker polled too rarely.
    pub(super) fn note_poll_interval_exceeded(&self) {
        self.membership().state().loss = Some(Loss::PollInterval);
    }

    /// Returns true if the worker should read no further records for now, because too many
    /// dead-letter records are outstanding.
    pub(super) fn has_too_many_dead_letters(&self) -> bool {
        self.membership().state().outstanding.is_full()
    }

    /// Pauses topics that are far ahead of the other topic in event time, and resumes topics that
    /// no longer are. Feedback records are small: without backpressure, a worker with a backlog
    /// would read feedback hours before its searches. Pauses all topics while too many dead-letter
    /// records are outstanding.
    pub(super) fn apply_backpressure(&self) {
        let mut state = self.membership().state();
        let to_pause: BTreeSet<(i32, Kind)> = if state.outstanding.is_full() {
            let partitions = state.engine.partitions().into_iter();
            partitions
                .flat_map(|partition| Kind::ALL.map(|kind| (partition, kind)))
                .collect()
        } else {
            state.engine.topics_to_pause().into_iter().collect()
        };
        if to_pause == state.held {
            return;
        }
        let held = std::mem::replace(&mut state.held, to_pause.clone());
        drop(state);
        let changed = |from: &BTreeSet<(i32, Kind)>, to: &BTreeSet<(i32, Kind)>| {
            let mut list = TopicPartitionList::new();
            for (partition, kind) in from.difference(to) {
                list.add_partition(self.membership().kafka().topic(*kind), *partition);
            }
            list
        };
        let (resumed, paused) = (changed(&held, &to_pause), changed(&to_pause, &held));
        let results = [
            (resumed.count() > 0).then(|| self.inner.resume(&resumed)),
            (paused.count() > 0).then(|| self.inner.pause(&paused)),
        ];
        for problem in results.into_iter().flatten().filter_map(Result::err) {
            warn!(
                worker = self.membership().context.number,
                error = %problem,
                "cannot pause or resume partitions"
            );
        }
    }

    /// Rejoins the group if a rejoin was requested.
    pub(super) fn rejoin_if_needed(&self) {
        self.check_topics_again();
        if std::mem::take(&mut self.membership().state().rejoin) {
            self.commit_sync();
            self.inner.unsubscribe();
            // Leaving the group revokes the partitions through the rebalance callback.
            let worker = self.membership().context.number;
            if let Some(Err(problem)) = self.inner.poll(Duration::from_millis(500)) {
                debug!(worker, error = %problem, "consumer error");
            }
            if let Err(problem) = self.subscribe() {
                error!(worker, error = %problem, "subscription failed; will retry");
                self.rejoin();
            }
        }
    }

    /// Requests a rejoin once the partition counts of the topics match, if they differed at the
    /// last assignment.
    fn check_topics_again(&self) {
        let now = Instant::now();
        let mut state = self.membership().state();
        if state.next_check.is_none_or(|at| now < at) {
            return;
        }
        state.next_check = Some(now + TOPIC_CHECK_INTERVAL);
        drop(state);
        if self
            .membership()
            .matching_partitions(&self.inner, TOPIC_CHECK_INTERVAL)
            .is_ok()
        {
            info!(
                worker = self.membership().context.number,
                "partition counts of the topics match again; rejoining the consumer group"
            );
            let mut state = self.membership().state();
            state.next_check = None;
            state.rejoin = true;
        }
    }

    /// Publishes the counters if this is due, and commits positions that became durable.
    pub(super) fn publish_if_due(&self) {
        let mut state = self.membership().state();
        if state.lost {
            return;
        }
        let State {
            engine, publisher, ..
        } = &mut *state;
        // A state in the middle of a second cannot be continued. The next round tries again.
        if publisher.is_due() && !engine.is_within_second() {
            publisher.publish(engine);
        }
        let durable_changed = publisher.take_durable_changed();
        drop(state);
        if durable_changed {
            self.commit_async();
        }
    }

    /// Publishes and commits the counters for the last time, and waits for both.
    pub(super) fn publish_and_commit(&self) {
        let membership = self.membership();
        membership.state().stop_by = Some(Instant::now() + membership.patience());
        membership.publish_and_wait();
        membership.state().committed.clear();
        self.commit_sync();
    }

    /// Commits the counted positions without waiting for the response.
    pub(super) fn commit_async(&self) {
        self.membership().commit(&self.inner, CommitMode::Async);
    }

    /// Commits the counted positions and waits for the response.
    pub(super) fn commit_sync(&self) {
        self.membership().commit(&self.inner, CommitMode::Sync);
    }

    /// Leaves the group. Dropping the consumer closes it, on the thread that polls it.
    pub(super) fn leave(self) {
        drop(self.inner);
    }

    fn membership(&self) -> &Membership {
        self.inner.context()
    }
}

/// Reason for which a member loses its partitions without a revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// The worker did not run for most of the session time-out.
    Stalled,
    /// The worker did not poll within `max.poll.interval.ms`.
    PollInterval,
    /// The group removed the member.
    Removed,
}

impl Loss {
    fn reason(self) -> &'static str {
        match self {
            Self::Stalled => "the worker was stalled; the group may have reassigned them",
            Self::PollInterval => "the worker did not poll within max.poll.interval.ms",
            Self::Removed => {
                "the group removed this member: no heartbeat arrived within session.timeout.ms, or \
                 the group was reset"
            }
        }
    }
}

/// Exclusive access to the engine.
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

/// State shared by the worker and the librdkafka callbacks.
struct Membership {
    context: WorkerContext,
    state: Mutex<State>,
}

struct State {
    engine: Engine,
    publisher: Publisher,
    /// Dead-letter records that are not delivered yet.
    outstanding: Arc<Outstanding>,
    /// Number of assignments and revocations.
    changes: u64,
    connection: ConnectionLog,
    /// Rate limits of the log messages about other errors, by error code.
    error_log: Vec<(RDKafkaErrorCode, Throttle)>,
    /// Last committed points. Unchanged points are not committed again.
    committed: BTreeMap<(i32, Kind), CommitPoint>,
    rejoin: bool,
    /// True if the group has probably reassigned the partitions without a revocation yet.
    lost: bool,
    /// Reason of the next loss of partitions, if it is known.
    loss: Option<Loss>,
    /// Time of the next check of the topics; `None` while their partition counts match.
    next_check: Option<Instant>,
    /// Paused topic partitions.
    held: BTreeSet<(i32, Kind)>,
    /// Deferred records. A topic partition has at most one, because it is paused then.
    deferred: BTreeMap<(i32, Kind), OwnedMessage>,
    /// Deadline for disk writes during shutdown; `None` before the shutdown.
    stop_by: Option<Instant>,
}

impl State {
    /// Commit points that have changed since the last commit.
    fn uncommitted(&self) -> Vec<CommitPoint> {
        // A state in the middle of a second cannot be continued. The next commit follows soon.
        if self.lost || self.engine.is_within_second() {
            return Vec::new();
        }
        let mut points = self.publisher.committable(&self.engine);
        points.retain(|point| self.committed.get(&(point.partition, point.kind)) != Some(point));
        points
    }
}

impl Membership {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kafka(&self) -> &Settings {
        self.context.kafka()
    }

    /// Maximum wait for the disk. The other half of the shutdown time-out is left for the commit
    /// and for leaving the group.
    fn patience(&self) -> Duration {
        self.context.config.shutdown_timeout / 2
    }

    /// Publishes the counters and waits until they are durable.
    fn publish_and_wait(&self) {
        let mut state = self.state();
        if state.lost {
            return;
        }
        // Leaving the group revokes the partitions, which calls this again. The common deadline
        // avoids a second wait for a slow disk.
        let deadline = state.stop_by.unwrap_or(Instant::now() + self.patience());
        let State {
            engine, publisher, ..
        } = &mut *state;
        while engine.is_within_second() {
            engine.catch_up();
        }
        if !publisher.publish_and_wait(engine, deadline) {
            warn!(
                worker = self.context.number,
                "checkpoint not written or dead-letter records not delivered in time; the next \
                 owner of the partitions counts again from the last checkpoint"
            );
        }
    }

    fn commit(&self, consumer: &BaseConsumer<Self>, mode: CommitMode) {
        // The lock is not held during the commit, because librdkafka may invoke a callback.
        let points = self.state().uncommitted();
        if points.is_empty() {
            return;
        }
        let mut list = TopicPartitionList::with_capacity(points.len());
        for point in &points {
            let topic = self.kafka().topic(point.kind);
            let mut element = list.add_partition(topic, point.partition);
            element.set_metadata(commit_metadata::encode(point));
            if let Err(problem) = element.set_offset(Offset::Offset(point.rebuild)) {
                error!(
                    worker = self.context.number,
                    topic,
                    partition = point.partition,
                    offset = point.rebuild,
                    error = %problem,
                    "invalid commit offset"
                );
                return;
            }
        }
        match consumer.commit(&list, mode) {
            Ok(()) => {
                if matches!(mode, CommitMode::Sync) {
                    self.note_committed(&list);
                }
                let committed = points
                    .into_iter()
                    .map(|point| ((point.partition, point.kind), point));
                self.state().committed.extend(committed);
            }
            Err(problem) => warn!(
                worker = self.context.number,
                error = %problem,
                "offset commit failed; will retry"
            ),
        }
    }

    fn note_committed(&self, offsets: &TopicPartitionList) {
        let (positions, now) = (&self.context.recovery.positions, wall_now());
        for element in offsets.elements() {
            if element.error().is_err() {
                continue;
            }
            let kind = self.kafka().kind_of(element.topic());
            positions.committed(element.partition(), kind, now);
        }
    }
}
