//! Consumer group membership of a worker: its assigned partitions, their start positions, and
//! offset commits.
//!
//! librdkafka invokes callbacks inside `poll`, on the thread of the worker. The [`Member`] is behind a
//! lock only for this reason: a revoked partition must be committed and dropped before the callback
//! returns, or two members would own it. Only this thread takes the lock, so it is never contended.

mod change;
mod client;
mod stall;
mod start;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::topic_partition_list::Offset;
use tracing::{debug, error, info, warn};

use rankgauge_core::engine::partition::{CommitPoint, Resume};
use rankgauge_core::engine::position::Join;
use rankgauge_core::event::{Kind, LossReason};

use crate::connection::{ConnectionLog, ConnectionProblem};
use crate::positions::Positions;
use crate::prober::is_unreadable;
use crate::throttle::Throttle;
use crate::transaction::Transaction;
use crate::{Error, Settings, commit_metadata, members, topic};
use stall::StallWatch;

pub use rdkafka::message::{BorrowedMessage, Message, OwnedMessage};
pub use stall::Stall;

/// Time-out of a topic metadata request, and interval between two checks of the topics.
const TOPIC_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Interval between two checks of the owner of all partitions for new ones.
const GROWTH_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Time-out of a topic metadata request while no broker is connected.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// Time-out of a broker request during a rebalance.
const BROKER_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Part of a worker that counts the records of its partitions. The consumer calls it inside `poll`, and
/// the worker uses it between two polls.
pub trait Member: Send + 'static {
    /// Notes the numbers of partitions of both topics.
    fn note_topics(&mut self, counts: [usize; 2]);

    /// Notes a new state of the connection to the brokers.
    fn note_connected(&mut self, is_connected: bool);

    /// Notes the cause of a failed connection.
    fn note_connection_problem(&mut self, problem: ConnectionProblem);

    /// Notes the end of the readable log of a topic partition. `is_read` is true if all records before
    /// it were returned by a poll.
    fn note_end(&mut self, kind: Kind, partition: i32, end: i64, is_read: bool);

    /// Takes over further partitions at their start positions, which are durable. Records that are
    /// `lost` before these positions are counted.
    fn assign(&mut self, starts: BTreeMap<i32, Resume>, lost: &[Lost]);

    /// Publishes all counted records and waits until they are durable.
    fn publish(&mut self);

    /// Durable points of the assigned partitions.
    fn commit_points(&self) -> Vec<CommitPoint>;

    /// Returns to the last durable points, because another member counts the later records.
    fn roll_back(&mut self);

    /// Drops the state of partitions that another member owns from now on.
    fn revoke(&mut self, partitions: &BTreeSet<i32>);

    /// Notes the numbers of partitions of both source topics, and of each internal topic.
    fn note_internal(&mut self, _sources: [usize; 2], _internal: usize) {}

    /// Transaction of the member, complete, in which the commit points are committed; `None` for a member
    /// without transactions.
    fn transaction(&mut self) -> Option<&mut Transaction> {
        None
    }
}

/// Records of a topic partition that are lost, from the first one that is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Kind of the topic.
    pub kind: Kind,
    /// Number of the partition, from 0.
    pub partition: i32,
    /// First offset that is not lost.
    pub before: i64,
    /// Reason of the loss.
    pub reason: LossReason,
}

/// Records that were polled together.
pub struct Polled<'a> {
    /// Records in the order of reading.
    pub records: Vec<BorrowedMessage<'a>>,
    /// True if an error followed them.
    pub has_problem: bool,
}

/// Consumer of one worker with its [`Member`].
pub struct Consumer<M: Member> {
    inner: BaseConsumer<Membership<M>>,
}

impl<M: Member> Consumer<M> {
    /// Creates the consumer of `worker`, which has not joined the group yet. `positions` are those of
    /// the process.
    ///
    /// # Errors
    /// [`Error::Configuration`].
    pub fn new(
        settings: &Settings,
        worker: usize,
        positions: Arc<Positions>,
        member: M,
    ) -> Result<Self, Error> {
        let membership = Membership {
            settings: settings.clone(),
            worker,
            positions,
            changes: AtomicU64::new(0),
            state: Mutex::new(State::new(member)),
        };
        let inner = settings.consumer(worker).create_with_context(membership);
        Ok(Self {
            inner: inner.map_err(|error| Error::of_configuration(&error, settings))?,
        })
    }

    /// The member, for use by the thread of the worker between two polls.
    pub fn member(&self) -> MemberGuard<'_, M> {
        MemberGuard(self.membership().state())
    }

    /// Kind of events in the topic of `record`.
    pub fn kind_of(&self, record: &impl Message) -> Kind {
        self.membership().settings.kind_of(record.topic())
    }

    /// Serves one event of a consumer without partitions, after at most `wait`. Returns true if there
    /// was one.
    pub fn serve(&self, wait: Duration) -> bool {
        match self.inner.poll(wait) {
            Some(Err(problem)) => {
                self.handle(&problem);
                true
            }
            Some(Ok(_)) => true,
            None => false,
        }
    }

    /// The next records, at most `limit`, after at most `wait`.
    ///
    /// # Errors
    /// [`Error::Fatal`].
    pub fn poll_group(&self, wait: Duration, limit: usize) -> Result<Polled<'_>, Error> {
        let changes = || self.membership().changes.load(Ordering::Relaxed);
        let before = changes();
        let mut polled = Polled {
            records: Vec::with_capacity(limit),
            has_problem: false,
        };
        let mut next_wait = wait;
        while polled.records.len() < limit {
            match self.inner.poll(std::mem::take(&mut next_wait)) {
                Some(Ok(record)) => polled.records.push(record),
                Some(Err(KafkaError::MessageConsumptionFatal(problem))) => {
                    return Err(Error::Fatal(problem.to_string()));
                }
                Some(Err(problem)) => {
                    self.handle(&problem);
                    polled.has_problem = true;
                    break;
                }
                None => break,
            }
        }
        // The next owner of a partition reads these records again, even if it is this worker.
        if changes() != before {
            polled.records.clear();
        }
        Ok(polled)
    }

    /// Handles a consumer error. Most errors need no action, because librdkafka reconnects without
    /// a limit.
    fn handle(&self, problem: &KafkaError) {
        let worker = self.membership().worker;
        match problem.rdkafka_error_code() {
            // The requested offset no longer exists, or the topic was recreated. Rejoining
            // resolves the start position against the log again.
            Some(RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange) => {
                error!(
                    worker,
                    error = %problem,
                    "offset out of range; rejoining the consumer group"
                );
                self.membership().state().rejoin = true;
            }
            // The consumer leaves its group, because the worker polled too rarely.
            Some(RDKafkaErrorCode::PollExceeded) => {
                self.membership().state().loss = Some(Loss::PollInterval);
            }
            _ if is_unreadable(problem) => {
                let mut state = self.membership().state();
                state.stall_watch.note_unreadable(Instant::now());
                let log = &mut state.unreadable_log;
                if let Some(suppressed) = log.admit() {
                    warn!(worker, error = %problem, suppressed, "batch cannot be read");
                }
            }
            // The callback for errors has logged it, with the message of librdkafka.
            _ => debug!(worker, error = %problem, "consumer error"),
        }
    }

    /// Checks that the topics exist and have matching numbers of partitions. Creates the topic of the
    /// owner, or the internal topics of a forwarder.
    ///
    /// # Errors
    /// A [temporary](Error::is_temporary) error if a retry may succeed.
    pub fn check_topics(&self) -> Result<(), Error> {
        let membership = self.membership();
        // Without a connection, a longer wait delays only the handling of other events.
        let wait = if membership.state().is_connected {
            TOPIC_CHECK_INTERVAL
        } else {
            CONNECT_TIMEOUT
        };
        let counts = membership.matching_partitions(&self.inner, wait)?;
        let (client, settings) = (self.inner.client(), &membership.settings);
        match settings.join {
            Join::Partition => {}
            Join::All => topic::ensure_owner(client, settings, TOPIC_CHECK_INTERVAL)?,
            Join::Repartition => {
                let number =
                    topic::ensure_internal(client, settings, counts, TOPIC_CHECK_INTERVAL)?;
                membership.state().member.note_internal(counts, number);
            }
        }
        self.confirm_cluster();
        membership.positions.found_partitions(counts);
        self.check_instance()
    }

    /// Checks that no other process has the static member id of this one.
    fn check_instance(&self) -> Result<(), Error> {
        let Membership {
            settings, worker, ..
        } = self.membership();
        let config = settings.consumer(*worker);
        let Some(instance) = config.get("group.instance.id") else {
            return Ok(());
        };
        // Without the permission to describe the group, nothing is known.
        let members = members::members(self.inner.client(), settings, TOPIC_CHECK_INTERVAL);
        let members = members.unwrap_or_default();
        match settings.owner_of_instance(*worker, &members) {
            None => Ok(()),
            Some(theirs) => Err(Error::InstanceInUse {
                group: settings.consumer_group(),
                instance: instance.to_owned(),
                theirs: theirs.to_string(),
                mine: format!("client {}", config.get("client.id").unwrap_or_default()),
            }),
        }
    }

    /// Returns true if a connection failed, for a known cause, and none succeeded since.
    pub fn has_connection_problem(&self) -> bool {
        self.membership().state().connection.has_problem()
    }

    /// Requests the cluster id and drops the positions of another cluster.
    fn confirm_cluster(&self) {
        let positions = &self.membership().positions;
        let cluster = self.inner.client().fetch_cluster_id(TOPIC_CHECK_INTERVAL);
        if let Some(cluster) = cluster.filter(|cluster| !cluster.is_empty())
            && let Some(other) = positions.confirm(&cluster)
        {
            warn!(
                worker = self.membership().worker,
                cluster,
                checkpoint_cluster = other,
                "checkpoint of another cluster; counters restored, positions ignored"
            );
        }
    }

    /// Joins the group.
    ///
    /// # Errors
    /// [`Error::Subscribe`].
    pub fn subscribe(&self) -> Result<(), Error> {
        let settings = &self.membership().settings;
        let topics = settings.subscription();
        let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
        let subscribed = self.inner.subscribe(&topics);
        subscribed.map_err(|error| Error::Subscribe(settings.text_of(&error)))
    }

    /// Keeps a record that cannot be processed yet, after those of its topic partition that are kept. The
    /// next [`pause`](Self::pause), which must come before the next poll, pauses the topic partition.
    pub fn defer(&self, record: &BorrowedMessage<'_>) {
        let place = (record.partition(), self.kind_of(record));
        let mut state = self.membership().state();
        let records = state.deferred.entry(place).or_default();
        records.push_back(record.detach());
    }

    /// Topic partitions with deferred records.
    pub fn deferred(&self) -> BTreeSet<(i32, Kind)> {
        self.membership().state().deferred.keys().copied().collect()
    }

    /// Removes and returns deferred records that are `ready`: at most one of a topic partition, because it
    /// can decide whether the next one is.
    pub fn drain_deferred(
        &self,
        mut ready: impl FnMut(&M, Kind, &OwnedMessage) -> bool,
    ) -> Vec<OwnedMessage> {
        let mut state = self.membership().state();
        let State {
            member, deferred, ..
        } = &mut *state;
        let mut drained = Vec::new();
        deferred.retain(|(_, kind), records| {
            if records.front().is_some_and(|it| ready(member, *kind, it)) {
                drained.extend(records.pop_front());
            }
            !records.is_empty()
        });
        drained
    }

    /// Requests a rejoin after the group removed this member. Another member counts the partitions
    /// by then. The worker therefore rolls back to its last checkpoint and commits nothing.
    pub fn rejoin_as_lost(&self) {
        let mut state = self.membership().state();
        state.rejoin = true;
        state.is_lost = !state.assigned.is_empty();
        state.loss = state.is_lost.then_some(Loss::Stalled);
    }

    /// Returns true if the group has probably reassigned the partitions without a revocation yet.
    pub fn is_lost(&self) -> bool {
        self.membership().state().is_lost
    }

    /// Pauses these topic partitions and those with deferred records, and resumes all others.
    pub fn pause(&self, to_pause: &BTreeSet<(i32, Kind)>) {
        let mut state = self.membership().state();
        let to_pause: BTreeSet<_> = (to_pause.iter().chain(state.deferred.keys()))
            .copied()
            .collect();
        if to_pause == state.held {
            return;
        }
        let held = std::mem::replace(&mut state.held, to_pause.clone());
        drop(state);
        let changed = |from: &BTreeSet<(i32, Kind)>, to: &BTreeSet<(i32, Kind)>| {
            let mut list = TopicPartitionList::new();
            for (partition, kind) in from.difference(to) {
                list.add_partition(self.membership().settings.topic(*kind), *partition);
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
                worker = self.membership().worker,
                error = %problem,
                "cannot pause or resume partitions"
            );
        }
    }

    /// Stalled topic partitions, as of the last statistics of librdkafka.
    pub fn stalls(&self) -> Vec<Stall> {
        self.membership().state().stalls.clone()
    }

    /// Continues a topic partition at `offset`. The worker has processed, or lost, the records before
    /// it.
    pub fn continue_at(&self, kind: Kind, partition: i32, offset: i64) {
        let membership = self.membership();
        let topic = membership.settings.topic(kind);
        let position = Offset::Offset(offset);
        let moved = (self.inner).seek(topic, partition, position, BROKER_REQUEST_TIMEOUT);
        let mut state = membership.state();
        (state.stalls).retain(|it| (it.kind, it.partition) != (kind, partition));
        (state.stall_watch).note((partition, kind), None, Instant::now());
        if let Err(problem) = moved {
            warn!(
                worker = membership.worker,
                topic,
                partition,
                offset,
                error = %problem,
                "cannot continue a partition; rejoining the consumer group"
            );
            state.rejoin = true;
        }
    }

    /// Rejoins the group if a rejoin was requested.
    pub fn rejoin_if_needed(&self) {
        self.check_topics_again();
        if std::mem::take(&mut self.membership().state().rejoin) {
            self.commit_sync();
            self.inner.unsubscribe();
            // Leaving the group revokes the partitions through the rebalance callback.
            let worker = self.membership().worker;
            if let Some(Err(problem)) = self.inner.poll(Duration::from_millis(500)) {
                debug!(worker, error = %problem, "consumer error");
            }
            if let Err(problem) = self.subscribe() {
                error!(worker, error = %problem, "subscription failed; will retry");
                self.membership().state().rejoin = true;
            }
        }
    }

    /// Requests a rejoin once the partition counts of the topics match, if they differed at the
    /// last assignment. The owner of all partitions rejoins for new ones: the group does not assign
    /// them.
    fn check_topics_again(&self) {
        let now = Instant::now();
        let membership = self.membership();
        let mut state = membership.state();
        if state.next_check.is_none_or(|at| now < at) {
            return;
        }
        let is_owner = membership.settings.join == Join::All && !state.assigned.is_empty();
        state.next_check = Some(now + membership.check_interval());
        let known = state.places.len();
        drop(state);
        let Ok(counts) = membership.matching_partitions(&self.inner, TOPIC_CHECK_INTERVAL) else {
            return;
        };
        if is_owner {
            let kinds = membership.settings.kinds();
            let found: usize = kinds.iter().map(|kind| counts[kind.index()]).sum();
            if found > known {
                info!(
                    worker = membership.worker,
                    partitions = found,
                    "partitions added to a topic; rejoining the consumer group"
                );
                membership.state().rejoin = true;
            }
        } else {
            info!(
                worker = membership.worker,
                "partition counts of the topics match again; rejoining the consumer group"
            );
            let mut state = membership.state();
            state.next_check = None;
            state.rejoin = true;
        }
    }

    /// Publishes and commits the counters for the last time, and waits for both.
    pub fn publish_and_commit(&self) {
        let membership = self.membership();
        membership.publish();
        membership.state().committed.clear();
        self.commit_sync();
    }

    /// Commits the counted positions without waiting for the response.
    pub fn commit_async(&self) {
        self.membership().commit(&self.inner, CommitMode::Async);
    }

    /// Commits the counted positions and waits for the response.
    fn commit_sync(&self) {
        self.membership().commit(&self.inner, CommitMode::Sync);
    }

    /// Leaves the group. Dropping the consumer closes it, on the thread that polls it.
    pub fn leave(self) {
        drop(self.inner);
    }

    fn membership(&self) -> &Membership<M> {
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

/// Exclusive access to the member.
pub struct MemberGuard<'a, M>(MutexGuard<'a, State<M>>);

impl<M> Deref for MemberGuard<'_, M> {
    type Target = M;
    fn deref(&self) -> &M {
        &self.0.member
    }
}

impl<M> DerefMut for MemberGuard<'_, M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.0.member
    }
}

/// State shared by the worker and the librdkafka callbacks.
struct Membership<M> {
    settings: Settings,
    worker: usize,
    positions: Arc<Positions>,
    /// Number of assignments and revocations.
    changes: AtomicU64,
    state: Mutex<State<M>>,
}

struct State<M> {
    member: M,
    is_connected: bool,
    connection: ConnectionLog,
    /// Rate limits of the log messages about other errors, by error code.
    error_log: Vec<(RDKafkaErrorCode, Throttle)>,
    /// Numbers of the assigned partitions, and the topic partitions.
    assigned: BTreeSet<i32>,
    places: BTreeSet<(i32, Kind)>,
    /// Last committed points. Unchanged points are not committed again.
    committed: BTreeMap<(i32, Kind), CommitPoint>,
    rejoin: bool,
    /// True if the group has probably reassigned the partitions without a revocation yet.
    is_lost: bool,
    /// Reason of the next loss of partitions, if it is known.
    loss: Option<Loss>,
    /// Time of the next check of the topics; `None` while their partition counts match.
    next_check: Option<Instant>,
    /// Paused topic partitions.
    held: BTreeSet<(i32, Kind)>,
    /// Progress of the topic partitions.
    stall_watch: StallWatch,
    /// Stalled topic partitions, as of the last statistics.
    stalls: Vec<Stall>,
    /// Rate limit of the log messages about unreadable batches.
    unreadable_log: Throttle,
    /// Deferred records, in order. Their topic partitions are paused.
    deferred: BTreeMap<(i32, Kind), VecDeque<OwnedMessage>>,
}

impl<M: Member> State<M> {
    fn new(member: M) -> Self {
        Self {
            member,
            is_connected: false,
            connection: ConnectionLog::default(),
            error_log: Vec::new(),
            assigned: BTreeSet::new(),
            places: BTreeSet::new(),
            committed: BTreeMap::new(),
            rejoin: false,
            is_lost: false,
            loss: None,
            next_check: None,
            held: BTreeSet::new(),
            deferred: BTreeMap::new(),
            stall_watch: StallWatch::default(),
            stalls: Vec::new(),
            unreadable_log: Throttle::default(),
        }
    }

    /// Begins the detection of stalled topic partitions again, because the assignment changes.
    fn forget_stalls(&mut self) {
        self.stall_watch.clear();
        self.stalls.clear();
    }

    fn set_connected(&mut self, is_connected: bool) {
        self.is_connected = is_connected;
        self.member.note_connected(is_connected);
    }

    /// Logs the cause of a failed connection, and passes it on.
    fn note_problem(&mut self, worker: usize, problem: ConnectionProblem, message: &str) {
        self.connection.note(Some(worker), problem, message);
        self.member.note_connection_problem(problem);
    }

    /// Commit points that have changed since the last commit.
    fn uncommitted(&self) -> Vec<CommitPoint> {
        if self.is_lost {
            return Vec::new();
        }
        let mut points = self.member.commit_points();
        points.retain(|point| self.committed.get(&(point.partition, point.kind)) != Some(point));
        points
    }
}

impl<M: Member> Membership<M> {
    fn state(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Interval between two checks of the topics.
    fn check_interval(&self) -> Duration {
        match self.settings.join {
            Join::Partition | Join::Repartition => TOPIC_CHECK_INTERVAL,
            Join::All => GROWTH_CHECK_INTERVAL,
        }
    }

    /// Returns the numbers of partitions of both topics, and notes them.
    fn matching_partitions(
        &self,
        consumer: &BaseConsumer<Self>,
        wait: Duration,
    ) -> Result<[usize; 2], Error> {
        let counts = topic::matching_partitions(consumer.client(), &self.settings, wait)?;
        self.state().member.note_topics(counts);
        Ok(counts)
    }

    /// Publishes the counters and waits until they are durable.
    fn publish(&self) {
        let mut state = self.state();
        if !state.is_lost {
            state.member.publish();
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
            let topic = self.settings.topic(point.kind);
            let mut element = list.add_partition(topic, point.partition);
            element.set_metadata(commit_metadata::encode(point));
            if let Err(problem) = element.set_offset(Offset::Offset(point.rebuild)) {
                error!(
                    worker = self.worker,
                    topic,
                    partition = point.partition,
                    offset = point.rebuild,
                    error = %problem,
                    "invalid commit offset"
                );
                return;
            }
        }
        let in_transaction = {
            let mut state = self.state();
            let transaction = state.member.transaction();
            transaction.map(|it| it.commit(&list, consumer.group_metadata().as_ref()))
        };
        match in_transaction.unwrap_or_else(|| consumer.commit(&list, mode)) {
            Ok(()) => {
                let committed = points
                    .into_iter()
                    .map(|point| ((point.partition, point.kind), point));
                self.state().committed.extend(committed);
            }
            Err(problem) => warn!(
                worker = self.worker,
                error = %problem,
                "offset commit failed; will retry"
            ),
        }
    }
}
