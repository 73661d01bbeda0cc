//! A worker's membership in the consumer group: which partitions it has, where it goes on in them,
//! and what it commits.
//!
//! librdkafka calls back from inside `poll`, on the worker's own thread. The engine lives behind a
//! lock for that reason alone: a partition that is taken away must be committed and forgotten
//! before the call returns, or two members would own it. Nobody else ever holds the lock, so
//! taking it never waits.

mod change;
mod client;
mod start;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message, OwnedMessage};
use rdkafka::topic_partition_list::Offset;
use tracing::{debug, error, info, warn};

use crate::config::Kafka;
use crate::ingest::publisher::Publisher;
use crate::ingest::{Shared, commit_metadata, wall_now};
use rankgauge_core::engine::partition::CommitPoint;
use rankgauge_core::engine::{Engine, Position};
use rankgauge_core::event::Kind;

/// How long the check of the topics waits for an answer before it is asked again.
const CHECK: Duration = Duration::from_secs(2);

/// How long a question to the broker may take within a group change.
const ASK: Duration = Duration::from_secs(10);

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
            lost: false,
            next_check: None,
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
        let membership = self.membership();
        let count = membership.matching_partitions(&self.inner, CHECK)?;
        self.confirm_cluster();
        // Whichever worker is first has said it for all.
        membership.shared.partitions_found.get_or_init(|| count);
        Ok(())
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

    /// The same, for who was taken for dead: its partitions are counted by somebody else by now, so
    /// what it counted since the last checkpoint is taken back, and nothing of it is committed.
    pub(super) fn rejoin_as_lost(&self) {
        let mut state = self.membership().state();
        state.rejoin = true;
        state.lost = !state.engine.partitions().is_empty();
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
        self.check_topics_again();
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

    /// Joins anew once topics match that did not when partitions were assigned.
    fn check_topics_again(&self) {
        let now = Instant::now();
        let mut state = self.membership().state();
        if state.next_check.is_none_or(|at| now < at) {
            return;
        }
        state.next_check = Some(now + CHECK);
        drop(state);
        if self
            .membership()
            .matching_partitions(&self.inner, CHECK)
            .is_ok()
        {
            info!(
                worker = self.membership().number,
                "both topics have the same number of partitions again, joining anew"
            );
            let mut state = self.membership().state();
            state.next_check = None;
            state.rejoin = true;
        }
    }

    /// Publishes what was counted when it is time to, and commits what has come to be on disk.
    pub(super) fn publish_if_due(&self) {
        let mut state = self.membership().state();
        if state.lost {
            return;
        }
        let State {
            engine, publisher, ..
        } = &mut *state;
        if publisher.is_due() {
            publisher.publish(engine);
        }
        let has_news = publisher.take_news();
        drop(state);
        if has_news {
            self.commit_async();
        }
    }

    /// Publishes and commits what was counted, for the last time, and waits for both.
    pub(super) fn publish_and_commit(&self) {
        let membership = self.membership();
        membership.state().stop_by = Some(Instant::now() + membership.patience());
        membership.publish_and_wait();
        membership.state().committed.clear();
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
    /// The group has given our partitions away, though it has not told us yet.
    lost: bool,
    /// When to look at the topics again, whose partitions did not match.
    next_check: Option<Instant>,
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
        if self.lost {
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
        if state.lost {
            return;
        }
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
            element.set_metadata(commit_metadata::encode(point));
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
                if matches!(mode, CommitMode::Sync) {
                    self.note_committed(&list);
                }
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

    fn note_committed(&self, offsets: &TopicPartitionList) {
        let (positions, now) = (&self.shared.positions, wall_now());
        for element in offsets.elements() {
            if element.error().is_err() {
                continue;
            }
            let kind = self.kafka().kind_of(element.topic());
            positions.committed(element.partition(), kind, now);
        }
    }
}
