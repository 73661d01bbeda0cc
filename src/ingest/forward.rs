//! Forwarder of a worker, with `kafka.join: repartition`: it copies the records of the source topics to the
//! internal topics, to the partition that the id of each event determines.
//!
//! Records and the positions up to which they were read are committed in one transaction: an internal topic
//! has each record once, also after a kill. The brokers refuse the transaction of a forwarder
//! that the group has removed. Behind the records of a transaction, each partition of the internal topics
//! receives a report about the source partitions, which the watermarks of the workers follow.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use super::backoff::Backoff;
use super::boot_time::BootTime;
use super::context::WorkerContext;
use super::pace::{self, Schedule, StallCheck};
use super::place::position;
use super::schemas;
use super::stall::has_stalled;
use super::stalled::{Records, StalledPartitions};
use super::undecodable::Undecodable;
use rankgauge_core::decode::{Encoded, EventRef};
use rankgauge_core::engine::partition::{CommitPoint, Resume};
use rankgauge_core::engine::sources::SourceReport;
use rankgauge_core::event::{Acceptance, Kind, LossReason, Rejection};
use rankgauge_core::records::RejectedRecord;
use rankgauge_core::time::{EventTime, Millis, WallTime};
use rankgauge_kafka::Error;
use rankgauge_kafka::connection::ConnectionProblem;
use rankgauge_kafka::envelope::MessageEnvelope;
use rankgauge_kafka::group::{BorrowedMessage, Consumer, Lost, Member, Message};
use rankgauge_kafka::positions::Positions;
use rankgauge_kafka::transaction::Transaction;
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::live::SourcePartition;

/// Interval between two transactions.
const COMMIT_INTERVAL: Duration = Duration::from_millis(500);

/// Size of a transaction in bytes from which it is committed earlier.
const MAX_TRANSACTION_BYTES: usize = 32 << 20;

/// Maximum number of records of a poll.
const MAX_RECORDS: usize = 100;

/// Time for which a report of the broker about the end of a topic partition applies.
const END_VALID_FOR: Duration = Duration::from_secs(5);

/// Runs the forwarder of a worker on the current thread until `Control::stop`. `process` identifies the
/// process.
///
/// A failed transaction, a lost connection and a removal from the group end in a new connection, which
/// continues at the committed positions.
///
/// # Errors
/// Permanent errors: a configuration that librdkafka refuses.
pub fn run(context: &WorkerContext, process: u64) -> Result<(), Error> {
    let positions = Positions::new(1, context.config.kafka.join);
    let positions = Arc::new(positions);
    let view = &context.view().forwarder;
    view.started();
    let mut backoff = Backoff::default();
    let mut undecodable = Undecodable::new(context.config.commit_undecodable);
    while !context.control.is_stopping() {
        view.beat();
        let started = Instant::now();
        let ended = forward(context, process, &positions, &mut undecodable);
        match ended {
            Err(problem) if problem.is_temporary() => {
                let (worker, error) = (context.number, &problem);
                warn!(worker, error = %error, "forwarder failed; connecting again");
                view.failed(problem.to_string());
            }
            ended => return ended,
        }
        if started.elapsed() > Duration::from_mins(1) {
            backoff = Backoff::default();
        }
        let wait = backoff.next_wait(RandomState::new().build_hasher().finish());
        let end = Instant::now() + wait;
        while Instant::now() < end && !context.control.is_stopping() {
            view.beat();
            std::thread::sleep(pace::MAX_BATCH_TIME);
        }
    }
    Ok(())
}

/// Forwards until the shutdown or the first failure.
fn forward(
    context: &WorkerContext,
    process: u64,
    positions: &Arc<Positions>,
    undecodable: &mut Undecodable,
) -> Result<(), Error> {
    let kafka = &context.config.kafka;
    let number = context.number;
    let member = Forwarder {
        context: context.clone(),
        transaction: None,
        places: BTreeMap::new(),
        waiting: BTreeSet::new(),
        lost: [[0; 3]; 2],
        sources: [0; 2],
        internal: 0,
        is_assigned: false,
    };
    let consumer = Consumer::new(kafka, number, Arc::clone(positions), member)?;
    let view = &context.view().forwarder;
    consumer.check_topics()?;
    view.beat();
    consumer.member().transaction = Some(Transaction::connect(kafka, process, number)?);
    consumer.subscribe()?;
    let mut stall_check = StallCheck::starting_at(BootTime::now(), kafka.session_timeout() * 4 / 5);
    let mut commits = Schedule::starting_at(BootTime::now(), COMMIT_INTERVAL);
    let mut stalled = StalledPartitions::default();
    while !context.control.is_stopping() {
        view.beat();
        let polled = consumer.poll_group(pace::MAX_BATCH_TIME, MAX_RECORDS);
        if has_stalled(&mut stall_check, &consumer, context) {
            consumer.rejoin_if_needed();
            continue;
        }
        let mut records = polled?.records;
        schemas::defer(&consumer, context, &mut records);
        let mut held = BTreeSet::new();
        for record in &records {
            let kind = consumer.kind_of(record);
            let place = (record.partition(), kind);
            let may_copy = note(context, undecodable, kind, record);
            if held.contains(&place) || !may_copy {
                held.insert(place);
                consumer.defer(record);
                continue;
            }
            consumer.member().copy(kind, record);
        }
        loop {
            let mut without_schema = 0;
            let ready = consumer.drain_deferred(|_, kind, record| {
                let is_known = !schemas::is_missing(context, kind, record);
                without_schema += usize::from(!is_known);
                is_known && may_copy(context, undecodable, kind, record)
            });
            view.set_without_schema(without_schema);
            if ready.is_empty() {
                break;
            }
            for record in &ready {
                consumer.member().copy(consumer.kind_of(record), record);
            }
        }
        undecodable.report(context);
        consumer.member().waiting = consumer.deferred();
        let is_full = consumer.member().is_full();
        if commits.is_due(BootTime::now()) || is_full {
            consumer.publish_and_commit();
            consumer.member().check()?;
            consumer.member().publish_sources();
            // The transaction is empty: a slow read does not let it time out.
            let mut records = StalledRecords {
                context,
                consumer: &consumer,
                undecodable,
            };
            let found = stalled.handle(&consumer, context, kafka, &mut records);
            view.set_stalled(found);
        }
        let to_pause = consumer.member().to_pause();
        consumer.pause(&to_pause);
        consumer.rejoin_if_needed();
        consumer.member().check()?;
    }
    consumer.publish_and_commit();
    consumer.leave();
    info!(worker = number, "forwarder left its consumer group");
    Ok(())
}

/// Returns false for a record that does not decode while none of its topic has. Its partition would be
/// wrong once the format is corrected.
fn may_copy<M: Message + Debug>(
    context: &WorkerContext,
    undecodable: &Undecodable,
    kind: Kind,
    record: &M,
) -> bool {
    let is_usual = undecodable.has_decoded(kind) || context.config.commit_undecodable;
    is_usual || decode(context, 1, kind, record).is_ok()
}

/// Notes a record that is read for the first time. Returns as [`may_copy`].
fn note<M: Message + Debug>(
    context: &WorkerContext,
    undecodable: &mut Undecodable,
    kind: Kind,
    record: &M,
) -> bool {
    if undecodable.has_decoded(kind) {
        return true;
    }
    let rejection = decode(context, 1, kind, record).err();
    let may_copy = rejection.is_none() || context.config.commit_undecodable;
    let rejected = rejection.map(|rejection| {
        let rejected = RejectedRecord {
            kind,
            at: position(record),
            rejection,
            is_whole: true,
            is_read_again: false,
        };
        (0, rejected)
    });
    undecodable.note(std::iter::once(kind), rejected.as_slice());
    may_copy
}

/// Internal partition of an event, if it states an id, and its time.
type Route = (Option<usize>, EventTime);

/// Route of a record to one of `partitions`; `None` if it has no event.
fn decode<M: Message + Debug>(
    context: &WorkerContext,
    partitions: usize,
    kind: Kind,
    record: &M,
) -> Result<Option<Route>, Rejection> {
    let envelope = MessageEnvelope(record);
    let encoded = Encoded {
        payload: record.payload().unwrap_or_default(),
        envelope: Some(&envelope),
    };
    let config = &context.config;
    let key = config.repartition_key;
    let route = |event: EventRef<'_>| match event {
        EventRef::Search(search) => {
            let partition = key.partition_of_search(search, partitions);
            (Some(partition), search.ts)
        }
        EventRef::Feedback(feedback) => {
            let partition = key.partition_of_feedback(feedback, partitions);
            (partition, feedback.ts)
        }
    };
    let acceptance = Acceptance {
        limits: config.engine.record_limits,
        has_gold_texts: true,
    };
    // The configuration refuses formats whose records hold several events.
    let mut first = Ok(None);
    let visit = &mut |event: Result<EventRef<'_>, Rejection>| {
        if let Ok(None) = first {
            first = event.map(|event| Some(route(event)));
        }
    };
    config.formats.events(kind, encoded, &acceptance, visit)?;
    first
}

/// Progress of a source partition.
#[derive(Debug)]
struct Place {
    /// Offset after the last copied record.
    next: i64,
    /// Newest event time.
    newest: Option<EventTime>,
    /// Newest time that Kafka states.
    written: Option<WallTime>,
    /// Time of the last report that the partition is read to its end.
    at_end: Option<Instant>,
    /// End of the readable log, as last reported.
    end: Option<i64>,
}

/// Member of the group of the forwarders.
struct Forwarder {
    context: WorkerContext,
    /// Transaction; `None` before the first connection.
    transaction: Option<Transaction>,
    places: BTreeMap<(i32, Kind), Place>,
    /// Topic partitions with records that wait.
    waiting: BTreeSet<(i32, Kind)>,
    /// Numbers of lost records that are to be reported, by kind and reason.
    lost: [[u64; 3]; 2],
    /// Numbers of partitions of the source topics.
    sources: [usize; 2],
    /// Number of partitions of each internal topic.
    internal: usize,
    /// True if the group has assigned partitions to this member, possibly none.
    is_assigned: bool,
}

/// Records of stalled source partitions.
struct StalledRecords<'a> {
    context: &'a WorkerContext,
    consumer: &'a Consumer<Forwarder>,
    undecodable: &'a mut Undecodable,
}

impl Records for StalledRecords<'_> {
    fn take(&mut self, record: &BorrowedMessage<'_>) -> bool {
        let kind = self.consumer.kind_of(record);
        let is_missing = schemas::is_missing(self.context, kind, record);
        if is_missing || !note(self.context, self.undecodable, kind, record) {
            return false;
        }
        self.consumer.member().copy(kind, record);
        true
    }

    fn lose(&mut self, kind: Kind, partition: i32, before: i64) {
        self.consumer.member().lose(kind, partition, before);
    }
}

impl Forwarder {
    /// Copies a record, unless its source partition is read beyond it.
    fn copy<M: Message + Debug>(&mut self, kind: Kind, record: &M) {
        let place = self.places.get(&(record.partition(), kind));
        if place.is_some_and(|it| record.offset() < it.next) {
            return;
        }
        let decoded = decode(&self.context, self.internal, kind, record);
        let route = decoded.ok().flatten();
        let time = route.map(|(_, time)| time);
        let partition = match route {
            Some((Some(partition), _)) => partition,
            _ => usize::try_from(record.partition()).unwrap_or_default() % self.internal.max(1),
        };
        if let Some(transaction) = &mut self.transaction {
            let partition = i32::try_from(partition).unwrap_or_default();
            transaction.copy(kind, record, partition);
        }
        let skew = self.context.config.engine.max_future_skew;
        let limit = wall_now().as_event_time().plus(skew.into());
        if let Some(place) = self.places.get_mut(&(record.partition(), kind)) {
            place.next = record.offset() + 1;
            place.newest = place.newest.max(time.filter(|time| *time <= limit));
            let written = record.timestamp().to_millis().map(WallTime);
            place.written = place.written.max(written);
            place.at_end = None;
        }
    }

    /// Counts the records of a source partition before an offset as lost, because they cannot be read.
    fn lose(&mut self, kind: Kind, partition: i32, before: i64) {
        let Some(place) = self.places.get_mut(&(partition, kind)) else {
            return;
        };
        let number = u64::try_from(before - place.next).unwrap_or_default();
        self.lost[kind.index()][LossReason::Unreadable as usize] += number;
        place.next = place.next.max(before);
    }

    /// Publishes the source partitions with their lag, after a committed transaction.
    fn publish_sources(&self) {
        let view = &self.context.view().forwarder;
        if self.is_assigned {
            view.works();
        }
        let sources = self.places.iter().map(|(&(partition, kind), place)| {
            let lag = place.end.map(|end| {
                let is_read = place.is_at_end() && !self.waiting.contains(&(partition, kind));
                let left = if is_read { 0 } else { end - place.next };
                u64::try_from(left).unwrap_or_default()
            });
            SourcePartition {
                kind,
                partition,
                lag,
            }
        });
        view.set_sources(sources.collect());
    }

    /// Returns true if the transaction should be committed.
    fn is_full(&self) -> bool {
        let transaction = self.transaction.as_ref();
        transaction.is_some_and(|it| it.bytes() >= MAX_TRANSACTION_BYTES)
    }

    /// Fails after a failed transaction.
    fn check(&self) -> Result<(), Error> {
        self.transaction.as_ref().map_or(Ok(()), Transaction::check)
    }

    /// Topic partitions whose newest event is more than a feedback window newer than that of another one
    /// that has records left: their readers would keep all searches between them.
    fn to_pause(&self) -> BTreeSet<(i32, Kind)> {
        let window: Millis = self.context.config.engine.feedback_window.into();
        let behind = self.places.values().filter(|it| !it.is_at_end());
        let Some(slowest) = behind.filter_map(|it| it.newest).min() else {
            return BTreeSet::new();
        };
        let is_ahead = |it: &Place| (it.newest).is_some_and(|it| it.since(slowest) > window);
        let ahead = self.places.iter().filter(|(_, it)| is_ahead(it));
        ahead.map(|(place, _)| *place).collect()
    }

    /// Writes the reports about the source partitions of a kind.
    fn report(&mut self, kind: Kind) {
        let lost = std::mem::take(&mut self.lost[kind.index()]);
        let mut report = SourceReport::new(self.sources[kind.index()], lost);
        let of_kind = self.places.iter().filter(|((_, of), _)| *of == kind);
        for (place, it) in of_kind {
            let is_at_end = it.is_at_end() && !self.waiting.contains(place);
            report.add(place.0, it.newest, is_at_end);
        }
        let Some(transaction) = &mut self.transaction else {
            return;
        };
        if report.is_empty() {
            return;
        }
        for partition in (0..).take(self.internal) {
            match serde_json::to_vec(&report) {
                Ok(text) => transaction.report(kind, partition, &text),
                Err(problem) => error!(error = %problem, "report about sources not written"),
            }
            // The first partition counts them.
            report.lost = [0; 3];
        }
    }
}

impl Place {
    fn is_at_end(&self) -> bool {
        self.at_end.is_some_and(|at| at.elapsed() < END_VALID_FOR)
    }
}

impl Member for Forwarder {
    fn note_topics(&mut self, _counts: [usize; 2]) {}

    fn note_connected(&mut self, _is_connected: bool) {}

    // The consumer of the worker has the same brokers, and reports the cause.
    fn note_connection_problem(&mut self, _problem: ConnectionProblem) {}

    fn note_end(&mut self, kind: Kind, partition: i32, end: i64, is_read: bool) {
        if let Some(place) = self.places.get_mut(&(partition, kind)) {
            place.at_end = is_read.then(Instant::now);
            place.end = Some(end);
        }
    }

    fn assign(&mut self, starts: BTreeMap<i32, Resume>, lost: &[Lost]) {
        self.is_assigned = true;
        for (partition, resume) in starts {
            for kind in Kind::ALL {
                let index = kind.index();
                let Some(next) = resume.rebuild[index] else {
                    continue;
                };
                let place = Place {
                    next,
                    newest: resume.newest[index],
                    written: resume.written[index],
                    at_end: None,
                    end: None,
                };
                self.places.insert((partition, kind), place);
                let of_it = lost.iter();
                let of_it = of_it.filter(|it| (it.partition, it.kind) == (partition, kind));
                for it in of_it {
                    let counted = resume.counted[index].unwrap_or(it.before);
                    let number = u64::try_from(it.before - counted).unwrap_or_default();
                    self.lost[index][it.reason as usize] += number;
                }
            }
        }
        info!(
            worker = self.context.number,
            source_partitions = self.places.len(),
            "source partitions assigned to the forwarder"
        );
    }

    fn publish(&mut self) {}

    fn commit_points(&self) -> Vec<CommitPoint> {
        let points = self.places.iter();
        let points = points.map(|(&(partition, kind), place)| CommitPoint {
            newest: place.newest,
            written: place.written,
            ..CommitPoint::starting_at(partition, kind, place.next)
        });
        points.collect()
    }

    fn roll_back(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.give_up();
        }
    }

    fn revoke(&mut self, partitions: &BTreeSet<i32>) {
        (self.places).retain(|(partition, _), _| !partitions.contains(partition));
    }

    fn note_internal(&mut self, sources: [usize; 2], internal: usize) {
        (self.sources, self.internal) = (sources, internal);
    }

    fn transaction(&mut self) -> Option<&mut Transaction> {
        for kind in Kind::ALL {
            self.report(kind);
        }
        self.transaction.as_mut()
    }
}
