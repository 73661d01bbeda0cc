//! Dead-letter queue: records that cannot be decoded are sent to a separate topic for inspection,
//! and consumption continues.
//!
//! A dead-letter record has the key, value, headers and timestamp of the original record, and
//! additional headers with the cause and the origin: `reason`, `detail`, `topic`, `partition`,
//! `offset`. Delivery is at least once: after a restart, uncommitted records are read again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::ClientContext;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use tracing::warn;

use crate::config::Kafka;
use crate::ingest::throttle::Throttle;
use rankgauge_core::decode::Rejection;
use rankgauge_core::event::Kind;

/// Maximum wait of a commit for dead-letter records in flight.
const FLUSH: Duration = Duration::from_millis(200);

/// Dead-letter records of a worker by kind of event.
#[derive(Debug, Default)]
pub struct DeadLetterCounts {
    delivered: [AtomicU64; 2],
    failed: [AtomicU64; 2],
}

impl DeadLetterCounts {
    /// Numbers of delivered and failed dead-letter records.
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

/// Dead-letter producer of one worker.
pub(super) struct DeadLetters {
    topic: String,
    producer: BaseProducer<Deliveries>,
    problem_log: Throttle,
}

/// Receiver of the delivery reports of librdkafka.
struct Deliveries {
    counts: Arc<DeadLetterCounts>,
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<Kind>;

    fn delivery(&self, result: &DeliveryResult<'_>, kind: Self::DeliveryOpaque) {
        self.counts.count(*kind, result.is_ok());
    }
}

impl DeadLetters {
    /// Creates a producer for `topic`, which adds its records to `counts`.
    ///
    /// # Errors
    /// If librdkafka refuses the configuration.
    pub(super) fn new(
        topic: &str,
        kafka: &Kafka,
        counts: Arc<DeadLetterCounts>,
    ) -> Result<Self, KafkaError> {
        let mut client: ClientConfig = kafka.client();
        client
            .set("client.id", "rankgauge-dead-letters")
            .set("message.timeout.ms", "30000")
            // Bounds memory use when many records are invalid.
            .set("queue.buffering.max.messages", "10000")
            .set("queue.buffering.max.kbytes", "32768")
            // The broker accepted the original record, and its own limit applies to this one.
            .set("message.max.bytes", "1000000000");
        Ok(Self {
            topic: topic.to_owned(),
            producer: client.create_with_context(Deliveries { counts })?,
            problem_log: Throttle::default(),
        })
    }

    /// Sends a rejected record to the dead-letter topic. A failure is counted and does not affect
    /// the processing of the record.
    pub(super) fn send(&mut self, kind: Kind, record: &impl Message, why: &Rejection) {
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
        let headers = original
            .chain(added)
            .fold(OwnedHeaders::new(), |headers, (key, value)| {
                headers.insert(Header { key, value })
            });
        let mut letter: BaseRecord<'_, [u8], [u8], Box<Kind>> =
            BaseRecord::with_opaque_to(&self.topic, Box::new(kind)).headers(headers);
        letter.key = record.key();
        letter.payload = record.payload();
        letter.timestamp = record.timestamp().to_millis();
        if let Err((problem, _)) = self.producer.send(letter) {
            self.producer.context().counts.count(kind, false);
            if let Some(suppressed) = self.problem_log.admit() {
                warn!(
                    topic = record.topic(),
                    partition = record.partition(),
                    offset = record.offset(),
                    dead_letter_topic = self.topic,
                    error = %problem,
                    suppressed,
                    "dead-letter record not sent"
                );
            }
        }
    }

    /// Serves the delivery reports of librdkafka.
    pub(super) fn poll(&self) {
        self.producer.poll(Duration::ZERO);
    }

    /// Waits briefly for the delivery of dead-letter records in flight, before the offsets of
    /// their original records are committed.
    pub(super) fn flush(&self) {
        if self.producer.in_flight_count() > 0 {
            // librdkafka retries the remaining records in the background. Their results are
            // counted.
            drop(self.producer.flush(FLUSH));
        }
    }
}
