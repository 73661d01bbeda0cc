//! Records that cannot be decoded, passed on to a topic of their own, so that somebody can look at
//! them and nothing stops for them.
//!
//! A letter is the record as it was, key, headers and time included, with headers that say what is
//! wrong and where it stood: `reason`, `detail`, `topic`, `partition`, `offset`. It is sent at least
//! once: after a restart, records that were not committed are read again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::ClientContext;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use tracing::warn;

use crate::ingest::Shared;
use rankgauge_core::decode::Rejection;
use rankgauge_core::event::Kind;

/// How long a commit waits for letters that are under way.
const FLUSH: Duration = Duration::from_millis(200);

/// A problem that stays is logged once in this time.
const PROBLEM_LOG_INTERVAL: Duration = Duration::from_mins(1);

/// Letters of a process by the kind of their record.
#[derive(Debug, Default)]
pub struct LetterCounts {
    delivered: [AtomicU64; 2],
    failed: [AtomicU64; 2],
}

impl LetterCounts {
    /// Letters that arrived, and that did not.
    pub fn of(&self, kind: Kind) -> [u64; 2] {
        [&self.delivered, &self.failed].map(|counts| counts[kind.index()].load(Ordering::Relaxed))
    }

    fn count(&self, kind: Kind, arrived: bool) {
        let counts = if arrived {
            &self.delivered
        } else {
            &self.failed
        };
        counts[kind.index()].fetch_add(1, Ordering::Relaxed);
    }
}

/// One worker's way to the dead-letter topic.
pub(super) struct DeadLetters {
    topic: String,
    producer: BaseProducer<Deliveries>,
    logged: Option<Instant>,
}

/// Told by librdkafka what became of letters.
struct Deliveries {
    shared: Arc<Shared>,
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<Kind>;

    fn delivery(&self, result: &DeliveryResult<'_>, kind: Self::DeliveryOpaque) {
        self.shared.letters.count(*kind, result.is_ok());
    }
}

impl DeadLetters {
    /// Letters to `topic`.
    ///
    /// # Errors
    /// What librdkafka refuses.
    pub(super) fn new(topic: &str, shared: Arc<Shared>) -> Result<Self, KafkaError> {
        let mut client: ClientConfig = shared.config.kafka.client();
        client
            .set("client.id", "rankgauge-dead-letters")
            .set("message.timeout.ms", "30000")
            // Bounded: a flood of bad records must not fill memory.
            .set("queue.buffering.max.messages", "10000")
            .set("queue.buffering.max.kbytes", "32768")
            // The broker took the record before, and knows best whether it takes it again.
            .set("message.max.bytes", "1000000000");
        Ok(Self {
            topic: topic.to_owned(),
            producer: client.create_with_context(Deliveries { shared })?,
            logged: None,
        })
    }

    /// Passes on a record that was rejected. One that cannot be is counted, and kept from nothing.
    pub(super) fn send(&mut self, kind: Kind, record: &impl Message, why: &Rejection) {
        let [partition, offset] =
            [i64::from(record.partition()), record.offset()].map(|number| number.to_string());
        let detail = why.to_string();
        let said = [
            ("reason", why.reason.name()),
            ("detail", &detail),
            ("topic", record.topic()),
            ("partition", &partition),
            ("offset", &offset),
        ];
        let original = record.headers().into_iter().flat_map(Headers::iter);
        let original = original.map(|header| (header.key, header.value));
        let said = said.map(|(key, value)| (key, Some(value.as_bytes())));
        let headers = original
            .chain(said)
            .fold(OwnedHeaders::new(), |headers, (key, value)| {
                headers.insert(Header { key, value })
            });
        let mut letter: BaseRecord<'_, [u8], [u8], Box<Kind>> =
            BaseRecord::with_opaque_to(&self.topic, Box::new(kind)).headers(headers);
        letter.key = record.key();
        letter.payload = record.payload();
        letter.timestamp = record.timestamp().to_millis();
        if let Err((problem, _)) = self.producer.send(letter) {
            self.producer.context().shared.letters.count(kind, false);
            if self
                .logged
                .is_none_or(|logged| logged.elapsed() >= PROBLEM_LOG_INTERVAL)
            {
                self.logged = Some(Instant::now());
                warn!(
                    "records that cannot be decoded are not passed on to {}: {problem} (not \
                     logged again for a minute)",
                    self.topic
                );
            }
        }
    }

    /// Lets librdkafka report what became of letters.
    pub(super) fn poll(&self) {
        self.producer.poll(Duration::ZERO);
    }

    /// Gives letters that are under way a moment to arrive, before their records are committed.
    pub(super) fn flush(&self) {
        if self.producer.in_flight_count() > 0 {
            // What has not arrived by then goes on trying, and is counted either way.
            drop(self.producer.flush(FLUSH));
        }
    }
}
