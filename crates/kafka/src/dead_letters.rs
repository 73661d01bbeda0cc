//! Dead-letter queue: records that cannot be decoded are sent to a separate topic for inspection,
//! and consumption continues.
//!
//! A dead-letter record has the key, value, headers and timestamp of the original record, and
//! additional headers with the cause and the origin: `reason`, `detail`, `topic`, `partition`,
//! `offset`.
//!
//! Delivery is at least once. The broker may accept dead-letter records late, and librdkafka retries
//! without a limit. Until then they are outstanding: no checkpoint and no commit covers the
//! original records, and a restart reads them again. Only a permanent error, such as a missing
//! topic, is a failure.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rdkafka::message::{Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer as _, ThreadedProducer};
use tracing::warn;

use rankgauge_core::event::{Kind, Rejection};

use crate::producer::{Deliveries, Failure, Reports};
use crate::throttle::Throttle;
use crate::{Error, Settings};

/// Number of outstanding dead-letter records from which on reading pauses.
const MAX_OUTSTANDING: usize = 5_000;

/// Size of the outstanding dead-letter records from which on reading pauses.
const MAX_OUTSTANDING_BYTES: usize = 16 << 20;

/// Dead-letter records of one worker that are sent and not delivered yet.
#[derive(Debug, Default)]
pub struct Outstanding {
    records: Mutex<OutstandingRecords>,
    /// Notified when a record is removed.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct OutstandingRecords {
    /// Number of records sent so far. A record is identified by the number before it.
    sent: u64,
    /// Sizes of the outstanding records.
    sizes: BTreeMap<u64, usize>,
    bytes: usize,
    /// True from a limit on until half of both limits: each pause discards fetched records.
    is_full: bool,
}

impl OutstandingRecords {
    fn update_is_full(&mut self) {
        let exceeds = |divisor| {
            self.sizes.len() >= MAX_OUTSTANDING / divisor
                || self.bytes >= MAX_OUTSTANDING_BYTES / divisor
        };
        self.is_full = exceeds(1) || (self.is_full && exceeds(2));
    }

    fn all_delivered_before(&self, mark: Mark) -> bool {
        let oldest = self.sizes.first_key_value();
        oldest.is_none_or(|(oldest, _)| *oldest >= mark.0)
    }
}

/// Moment between two dead-letter records of a worker.
#[derive(Clone, Copy, Debug)]
pub struct Mark(u64);

impl Outstanding {
    /// The present moment.
    pub fn mark(&self) -> Mark {
        Mark(self.records().sent)
    }

    /// Returns true if all records that were sent before `mark` are delivered.
    pub fn all_delivered_before(&self, mark: Mark) -> bool {
        self.records().all_delivered_before(mark)
    }

    /// Waits until all records that were sent before `mark` are delivered, at most until
    /// `deadline`. Returns true if they are.
    pub fn wait(&self, mark: Mark, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let pending = |records: &mut OutstandingRecords| !records.all_delivered_before(mark);
        let waited = self
            .changed
            .wait_timeout_while(self.records(), left, pending);
        let (records, _) = waited.unwrap_or_else(PoisonError::into_inner);
        records.all_delivered_before(mark)
    }

    /// Returns true if no further records should be sent for now.
    pub fn is_full(&self) -> bool {
        self.records().is_full
    }

    fn add(&self, bytes: usize) -> u64 {
        let mut records = self.records();
        let number = records.sent;
        records.sent += 1;
        records.sizes.insert(number, bytes);
        records.bytes += bytes;
        records.update_is_full();
        number
    }

    fn remove(&self, number: u64) {
        let mut records = self.records();
        let bytes = records.sizes.remove(&number).unwrap_or_default();
        records.bytes -= bytes;
        records.update_is_full();
        self.changed.notify_all();
    }

    fn records(&self) -> MutexGuard<'_, OutstandingRecords> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Dead-letter producer of one worker. A thread of its own serves the delivery reports.
pub struct DeadLetters {
    topic: String,
    producer: ThreadedProducer<Deliveries<LetterReports>>,
}

/// Receiver of the delivery reports.
struct LetterReports {
    topic: String,
    count: Box<dyn Fn(Kind, bool) + Send + Sync>,
    outstanding: Arc<Outstanding>,
    problem_log: Mutex<Throttle>,
}

/// Dead-letter record in flight.
struct Sent {
    kind: Kind,
    number: u64,
}

impl Reports for LetterReports {
    type Sent = Box<Sent>;

    fn report(&self, sent: Box<Sent>, outcome: Result<(), Failure>) {
        (self.count)(sent.kind, outcome.is_ok());
        self.outstanding.remove(sent.number);
        let Err(problem) = outcome else { return };
        let mut log = self
            .problem_log
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(suppressed) = log.admit() {
            warn!(
                kind = sent.kind.name(),
                dead_letter_topic = self.topic,
                error = %problem,
                suppressed,
                "dead-letter record not delivered"
            );
        }
    }
}

impl DeadLetters {
    /// Creates a producer for `topic`, which adds its records to `outstanding`. `count` receives the
    /// kind of each record and true if it was delivered, on the thread of the producer.
    ///
    /// # Errors
    /// If librdkafka refuses the configuration.
    pub fn new(
        topic: &str,
        settings: &Settings,
        outstanding: Arc<Outstanding>,
        count: impl Fn(Kind, bool) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let mut client = settings.client();
        client
            .set("client.id", "rankgauge-dead-letters")
            // The original record is not committed before the delivery: retries have no limit.
            .set("message.timeout.ms", "0")
            // The limits of outstanding records apply instead.
            .set("queue.buffering.max.messages", "0")
            .set("queue.buffering.max.kbytes", "2147483647")
            // The broker accepted the original record, and its own limit applies to this one.
            .set("message.max.bytes", "1000000000");
        let reports = LetterReports {
            topic: topic.to_owned(),
            count: Box::new(count),
            outstanding,
            problem_log: Mutex::default(),
        };
        let producer = client.create_with_context(Deliveries::new(settings, reports));
        Ok(Self {
            topic: topic.to_owned(),
            producer: producer.map_err(|error| Error::of_configuration(&error, settings))?,
        })
    }

    /// Sends a rejected record to the dead-letter topic. A failure is counted and does not affect
    /// the processing of the record.
    pub fn send(&self, kind: Kind, record: &impl Message, why: &Rejection) {
        let [partition, offset] =
            [i64::from(record.partition()), record.offset()].map(|number| number.to_string());
        let detail = why.to_string();
        let added = [
            ("reason", why.reason.name()),
            ("detail", &detail),
            ("topic", record.topic()),
            ("partition", &partition),
            ("offset", &offset),
        ];
        let original = record.headers().into_iter().flat_map(Headers::iter);
        let original = original.map(|header| (header.key, header.value));
        let added = added.map(|(key, value)| (key, Some(value.as_bytes())));
        let mut bytes = [record.key(), record.payload()]
            .into_iter()
            .flatten()
            .map(<[u8]>::len)
            .sum();
        let headers = original
            .chain(added)
            .fold(OwnedHeaders::new(), |headers, (key, value)| {
                bytes += key.len() + value.map_or(0, <[u8]>::len);
                headers.insert(Header { key, value })
            });
        let deliveries = self.producer.context();
        let number = deliveries.reports.outstanding.add(bytes);
        let sent = Box::new(Sent { kind, number });
        let mut letter: BaseRecord<'_, [u8], [u8], Box<Sent>> =
            BaseRecord::with_opaque_to(&self.topic, sent).headers(headers);
        letter.key = record.key();
        letter.payload = record.payload();
        letter.timestamp = record.timestamp().to_millis();
        if let Err((problem, letter)) = self.producer.send(letter) {
            deliveries.refused(letter.delivery_opaque, &problem);
        }
    }
}
