//! Producers: every delivery has a report, and only a record with an offset is delivered.
//!
//! librdkafka with `enable.idempotence` loses records of batches that are sent at once to a topic just
//! created, and reports them as delivered without an offset. [`Producer`] therefore waits until each
//! partition of its topics answers, and `Reports` receives a delivery without an offset as a failure.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::client::Client;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message as _};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use rdkafka::util::IntoOpaque;
use tracing::error;

use crate::standalone::{CONNECT_TIMEOUT, StandaloneContext, connect};
use crate::{Error, Settings, topic};

/// Time limit of a request about a topic.
const BROKER_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Wait between two requests to a partition that does not answer yet.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Time limit for the delivery of outstanding records at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_mins(1);

/// Receiver of delivery reports.
pub(crate) trait Reports: Send + Sync {
    /// Identification of a record.
    type Sent: IntoOpaque;

    /// Receives the outcome of a record.
    fn report(&self, sent: Self::Sent, outcome: Result<(), Failure>);

    /// Receives the loss of the connections to all brokers.
    fn disconnected(&self) {}
}

/// Failed delivery of a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// Text of the error, without secrets.
    pub text: String,
    /// True if the record is larger than the client or the topic accepts.
    pub is_too_large: bool,
}

impl Failure {
    fn of(problem: &KafkaError, settings: &Settings) -> Self {
        Self {
            text: settings.text_of(problem),
            is_too_large: problem.rdkafka_error_code()
                == Some(RDKafkaErrorCode::MessageSizeTooLarge),
        }
    }
}

/// Sets the partitioner of the Java client, unless the configuration has another: the partition of a
/// key is then the same for every producer.
pub(crate) fn set_partitioner(client: &mut ClientConfig) {
    if client.get("partitioner").is_none() {
        client.set("partitioner", "murmur2_random");
    }
}

/// Client context that passes delivery reports to `R`.
pub(crate) struct Deliveries<R> {
    client: StandaloneContext,
    /// False if the producer does not wait for acknowledgements, which have the offsets.
    has_offsets: bool,
    is_unusable: AtomicBool,
    pub(crate) reports: R,
}

impl<R: Reports> Deliveries<R> {
    pub(crate) fn new(settings: &Settings, reports: R) -> Self {
        let without =
            |(name, value)| ["acks", "request.required.acks"].contains(&name) && value == "0";
        Self {
            client: StandaloneContext::new(settings),
            has_offsets: !settings.properties.iter().any(without),
            is_unusable: AtomicBool::new(false),
            reports,
        }
    }

    /// Returns true after a fatal error of the client, which accepts no record then.
    pub(crate) fn is_unusable(&self) -> bool {
        self.is_unusable.load(Ordering::Relaxed)
    }

    /// Reports a record that librdkafka did not accept.
    pub(crate) fn refused(&self, sent: R::Sent, problem: &KafkaError) {
        let failure = Failure::of(problem, self.client.settings());
        self.reports.report(sent, Err(failure));
    }
}

impl<R: Reports> ClientContext for Deliveries<R> {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.client.log(level, facility, message);
    }

    fn error(&self, problem: KafkaError, reason: &str) {
        match problem.rdkafka_error_code() {
            Some(RDKafkaErrorCode::Fatal) => self.is_unusable.store(true, Ordering::Relaxed),
            Some(RDKafkaErrorCode::AllBrokersDown) => self.reports.disconnected(),
            _ => {}
        }
        self.client.error(problem, reason);
    }
}

impl<R: Reports> ProducerContext for Deliveries<R> {
    type DeliveryOpaque = R::Sent;

    fn delivery(&self, result: &DeliveryResult<'_>, sent: R::Sent) {
        let outcome = match result {
            Ok(record) if self.has_offsets && record.offset() < 0 => Err(Failure {
                text: "the broker acknowledged the record without an offset".to_owned(),
                is_too_large: false,
            }),
            Ok(_) => Ok(()),
            Err((problem, _)) => Err(Failure::of(problem, self.client.settings())),
        };
        self.reports.report(sent, outcome);
    }
}

/// Producer of records to topics that exist.
pub struct Producer {
    inner: BaseProducer<Deliveries<Tally>>,
    sent: u64,
}

/// Number of failed deliveries and the first problem.
#[derive(Default)]
pub(crate) struct Tally(Mutex<(u64, Option<String>)>);

impl Tally {
    pub(crate) fn failures(&self) -> MutexGuard<'_, (u64, Option<String>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reports for Tally {
    type Sent = ();

    fn report(&self, (): (), outcome: Result<(), Failure>) {
        let Err(Failure { text: problem, .. }) = outcome else {
            return;
        };
        let mut failures = self.failures();
        failures.0 += 1;
        if failures.1.is_none() {
            error!(error = %problem, "record delivery failed");
            failures.1 = Some(problem);
        }
    }
}

impl Producer {
    /// Creates a producer with additional librdkafka `properties`, and waits until each partition of
    /// `topics` answers. Returns the number of partitions of each topic.
    ///
    /// # Errors
    /// If librdkafka refuses the configuration, no broker answers, or a topic is not available.
    pub fn connect<const N: usize>(
        settings: &Settings,
        properties: &[(&str, &str)],
        topics: [&str; N],
    ) -> Result<(Self, [usize; N]), Error> {
        let mut client = settings.client();
        for (name, value) in properties {
            client.set(*name, *value);
        }
        set_partitioner(&mut client);
        let inner: BaseProducer<Deliveries<Tally>> = client
            .create_with_context(Deliveries::new(settings, Tally::default()))
            .map_err(|error| Error::of_configuration(&error, settings))?;
        let producer = Self { inner, sent: 0 };
        let mut counts = [0; N];
        for (name, count) in topics.into_iter().zip(&mut counts) {
            *count = await_topic(
                producer.inner.client(),
                &producer.inner.context().client,
                name,
                &|wait| producer.poll(wait),
            )?;
        }
        Ok((producer, counts))
    }

    fn poll(&self, wait: Duration) {
        self.inner.poll(wait);
    }

    /// Sends a record, to the partition that follows from its key without a `partition`. Waits while
    /// the queue of librdkafka is full. A failure is reported by [`Producer::finish`].
    pub fn send(&mut self, topic: &str, partition: Option<i32>, key: &str, payload: &[u8]) {
        let mut record: BaseRecord<'_, str, [u8]> = BaseRecord::to(topic).key(key).payload(payload);
        record.partition = partition;
        self.send_record(record);
    }

    /// Sends a record without a value, which removes the key from a compacted topic.
    pub(crate) fn remove(&mut self, topic: &str, key: &str) {
        self.send_record(BaseRecord::to(topic).key(key));
    }

    fn send_record(&mut self, mut record: BaseRecord<'_, str, [u8]>) {
        self.sent += 1;
        while let Err((problem, refused)) = self.inner.send(record) {
            if problem.rdkafka_error_code() != Some(RDKafkaErrorCode::QueueFull) {
                self.inner.context().refused((), &problem);
                break;
            }
            self.poll(Duration::from_millis(10));
            record = refused;
        }
        self.poll(Duration::ZERO);
    }

    /// Waits until all records since the last call are delivered or have failed.
    ///
    /// # Errors
    /// [`Error::NotDelivered`] with the first problem.
    pub fn finish(&mut self) -> Result<(), Error> {
        let context = self.inner.context();
        if let Err(problem) = self.inner.flush(FLUSH_TIMEOUT) {
            context.refused((), &problem);
        }
        let (failed, problem) = std::mem::take(&mut *context.reports.failures());
        let sent = std::mem::take(&mut self.sent);
        problem.map_or(Ok(()), |problem| {
            Err(Error::NotDelivered {
                failed,
                sent,
                problem,
            })
        })
    }
}

/// Waits until each partition of a topic answers. `poll` serves the events of the client for a while.
/// Returns the number of partitions.
fn await_topic<C: ClientContext>(
    client: &Client<C>,
    context: &StandaloneContext,
    name: &str,
    poll: &dyn Fn(Duration),
) -> Result<usize, Error> {
    let settings = context.settings();
    connect(
        client,
        context,
        name,
        [CONNECT_TIMEOUT; 2],
        &|| false,
        &|| poll(Duration::from_millis(50)),
    )?;
    let count = topic::partitions(client, settings, name, BROKER_REQUEST_TIMEOUT)?;
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    for partition in (0..).take(count) {
        // Only the leader of the partition answers, once it accepts records.
        while let Err(error) = client.fetch_watermarks(name, partition, BROKER_REQUEST_TIMEOUT) {
            if Instant::now() >= deadline {
                return Err(Error::of_topic(name, &error, settings));
            }
            poll(RETRY_INTERVAL);
        }
    }
    Ok(count)
}

/// Waits until each partition of a topic answers to a producer with a thread of its own.
pub(crate) fn await_answers<R: Reports>(
    client: &Client<Deliveries<R>>,
    context: &Deliveries<R>,
    name: &str,
) -> Result<usize, Error> {
    await_topic(client, &context.client, name, &std::thread::sleep)
}
