//! Producer for requests whose clients wait for the answer of the broker.
//!
//! It starts without a broker and never waits: a record that cannot be taken is refused at once. The
//! records of a request are a [`Batch`], which completes when each of them has its report.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::error::RDKafkaErrorCode;
use rdkafka::producer::{BaseRecord, Producer as _, ThreadedProducer};
use tracing::{error, info};

use crate::producer::{Deliveries, Failure, Reports, await_answers, set_partitioner};
use crate::throttle::Throttle;
use crate::{Error, Settings};

/// Time between two attempts to reach the topics.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Limits of a publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of all records without a report, in bytes.
    pub bytes: usize,
    /// Time limit for the delivery of a record.
    pub delivery: Duration,
}

/// Producer with `acks=all` and idempotence.
pub struct Publisher {
    settings: Settings,
    limits: Limits,
    client: Mutex<Arc<Client>>,
    is_ready: AtomicBool,
}

type Client = ThreadedProducer<Deliveries<BatchReports>>;

/// Records of one request. Its receiver is called once, with the outcome of all of them.
pub struct Batch(Mutex<State>);

struct State {
    outcome: Outcome,
    receiver: Option<Receiver>,
}

type Receiver = Box<dyn FnOnce(Outcome) + Send>;

/// Outcome of the records of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of records that the broker has.
    pub delivered: usize,
    /// Numbers of the other records, with the reason.
    pub failed: Vec<(usize, Failure)>,
}

impl Batch {
    /// A batch without records. `receiver` gets the outcome when the last reference to the batch is
    /// dropped: those of the caller, and one for each record without a report.
    pub fn new(receiver: impl FnOnce(Outcome) + Send + 'static) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            outcome: Outcome::default(),
            receiver: Some(Box::new(receiver)),
        })))
    }

    fn add(&self, number: usize, result: Result<(), Failure>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => state.outcome.delivered += 1,
            Err(failure) => state.outcome.failed.push((number, failure)),
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(receiver) = state.receiver.take() {
            receiver(std::mem::take(&mut state.outcome));
        }
    }
}

/// Record without a report.
struct Sent {
    batch: Arc<Batch>,
    number: usize,
}

#[derive(Default)]
struct BatchReports {
    log: Mutex<Throttle>,
}

impl Reports for BatchReports {
    type Sent = Box<Sent>;

    fn report(&self, sent: Box<Sent>, outcome: Result<(), Failure>) {
        if let Err(failure) = &outcome {
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(suppressed) = log.admit() {
                error!(error = %failure, suppressed, "record not delivered");
            }
        }
        sent.batch.add(sent.number, outcome);
    }
}

impl Publisher {
    /// Creates a producer. No broker has to be available.
    ///
    /// # Errors
    /// If librdkafka refuses the configuration.
    pub fn new(settings: &Settings, limits: Limits) -> Result<Self, Error> {
        Ok(Self {
            client: Mutex::new(Arc::new(client(settings, limits)?)),
            settings: settings.clone(),
            limits,
            is_ready: AtomicBool::new(false),
        })
    }

    /// Waits until each partition of the topics answers, or `should_stop` returns true. A record that
    /// is sent before is refused.
    pub fn connect(&self, should_stop: impl Fn() -> bool) {
        let mut log = Throttle::default();
        while !should_stop() {
            match self.await_topics() {
                Ok(partitions) => {
                    self.is_ready.store(true, Ordering::Release);
                    info!(partitions, "topics available");
                    return;
                }
                Err(problem) => {
                    if let Some(suppressed) = log.admit() {
                        error!(error = %problem, suppressed, "topics not available; retrying");
                    }
                    std::thread::sleep(RETRY_INTERVAL);
                }
            }
        }
    }

    fn await_topics(&self) -> Result<usize, Error> {
        let client = self.client()?;
        let answers = |name: &str| await_answers(client.client(), client.context(), name);
        let search = answers(&self.settings.search_topic)?;
        if self.settings.kinds().len() == 1 {
            return Ok(search);
        }
        let feedback = answers(&self.settings.feedback_topic)?;
        self.settings.check_partitions([search, feedback])?;
        Ok(search.max(feedback))
    }

    /// Returns true if the topics have answered.
    pub fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }

    /// The client; a new one after a fatal error.
    fn client(&self) -> Result<Arc<Client>, Error> {
        let mut current = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if current.context().is_unusable() {
            *current = Arc::new(client(&self.settings, self.limits)?);
            info!("producer created again after a fatal error");
        }
        Ok(Arc::clone(&current))
    }

    /// Sends record `number` of `batch` to the partition that follows from its key. Returns false if it
    /// is not taken: the queue is full, or the topics have not answered yet.
    pub fn send(
        &self,
        batch: &Arc<Batch>,
        number: usize,
        topic: &str,
        key: &str,
        payload: &[u8],
    ) -> bool {
        if !self.is_ready() {
            return false;
        }
        let Ok(client) = self.client() else {
            return false;
        };
        let sent = Box::new(Sent {
            batch: Arc::clone(batch),
            number,
        });
        let record = BaseRecord::with_opaque_to(topic, sent)
            .key(key)
            .payload(payload);
        let Err((problem, record)) = client.send(record) else {
            return true;
        };
        if problem.rdkafka_error_code() == Some(RDKafkaErrorCode::QueueFull) {
            return false;
        }
        client.context().refused(record.delivery_opaque, &problem);
        true
    }
}

fn client(settings: &Settings, limits: Limits) -> Result<Client, Error> {
    let mut client = settings.client();
    set_partitioner(&mut client);
    let kilobytes = (limits.bytes >> 10).clamp(1, i32::MAX as usize);
    client
        .set("client.id", "rankgauge-gateway")
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set(
            "message.timeout.ms",
            limits.delivery.as_millis().to_string(),
        )
        // The limit in bytes applies.
        .set("queue.buffering.max.messages", "0")
        .set("queue.buffering.max.kbytes", kilobytes.to_string());
    client.remove("request.required.acks");
    client.remove("delivery.timeout.ms");
    let created = client.create_with_context(Deliveries::new(settings, BatchReports::default()));
    created.map_err(|error| Error::of_configuration(&error, settings))
}
