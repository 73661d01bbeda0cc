//! Producer for requests whose clients wait for the answer of the broker.
//!
//! It starts without a broker and never waits: a record that cannot be taken is refused at once. The
//! records of a request are a [`Batch`], which completes when each of them has its report.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::error::RDKafkaErrorCode;
use rdkafka::producer::{BaseRecord, Producer as _, ThreadedProducer};
use tracing::{error, info};

use crate::producer::{Deliveries, Failure, Reports, await_answers, set_partitioner};
use crate::throttle::Throttle;
use crate::{Error, Settings};

/// Time between two attempts to reach the topics.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Time after a failed delivery in which only a delivery ends the problem: a broker that answers can still
/// refuse records.
const FAILURE_HOLD: Duration = Duration::from_secs(5);

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
    health: Arc<Mutex<Health>>,
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

/// State of the deliveries.
#[derive(Debug, Default, PartialEq, Eq)]
struct Health {
    /// Reason for which records are not delivered.
    problem: Option<String>,
    /// Time of the last failed delivery.
    failed_at: Option<Instant>,
    /// True until a delivery, or an answer of the topics, shows that records can be delivered.
    is_suspected: bool,
}

impl Health {
    /// Notes a failed delivery.
    fn failed(&mut self, problem: &str, now: Instant) {
        self.problem = Some(problem.to_owned());
        self.failed_at = Some(now);
        self.is_suspected = true;
    }

    /// Notes a delivery.
    fn delivered(&mut self) {
        if self.is_suspected {
            *self = Self::default();
        }
    }

    /// Notes that a topic does not answer.
    fn unanswered(&mut self, problem: String) {
        self.problem = Some(problem);
        self.is_suspected = true;
    }

    /// Notes that the topics answer.
    fn answered(&mut self, now: Instant) {
        let failed_at = self.failed_at;
        if failed_at.is_none_or(|at| now.saturating_duration_since(at) >= FAILURE_HOLD) {
            *self = Self::default();
        }
    }
}

fn lock(health: &Mutex<Health>) -> MutexGuard<'_, Health> {
    health.lock().unwrap_or_else(PoisonError::into_inner)
}

struct BatchReports {
    log: Mutex<Throttle>,
    health: Arc<Mutex<Health>>,
}

impl Reports for BatchReports {
    type Sent = Box<Sent>;

    fn report(&self, sent: Box<Sent>, outcome: Result<(), Failure>) {
        match &outcome {
            Ok(()) => lock(&self.health).delivered(),
            Err(failure) if failure.is_too_large => {}
            Err(failure) => lock(&self.health).failed(&failure.text, Instant::now()),
        }
        if let Err(failure) = &outcome {
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(suppressed) = log.admit() {
                error!(error = %failure, suppressed, "record not delivered");
            }
        }
        sent.batch.add(sent.number, outcome);
    }

    fn disconnected(&self) {
        lock(&self.health).is_suspected = true;
    }
}

impl Publisher {
    /// Creates a producer. No broker has to be available.
    ///
    /// # Errors
    /// If librdkafka refuses the configuration.
    pub fn new(settings: &Settings, limits: Limits) -> Result<Self, Error> {
        let health = Arc::default();
        Ok(Self {
            client: Mutex::new(Arc::new(client(settings, limits, &health)?)),
            health,
            settings: settings.clone(),
            limits,
            is_ready: AtomicBool::new(false),
        })
    }

    /// Waits until each partition of the topics answers, and again after each failure, until `should_stop`
    /// returns true. A record that is sent before the first answer is refused.
    pub fn watch(&self, should_stop: impl Fn() -> bool) {
        let mut log = Throttle::default();
        while !should_stop() {
            if !self.is_ready() || lock(&self.health).is_suspected {
                match self.await_topics() {
                    Ok(partitions) => {
                        lock(&self.health).answered(Instant::now());
                        if !self.is_ready.swap(true, Ordering::AcqRel) {
                            info!(partitions, "topics available");
                        }
                    }
                    Err(problem) => {
                        lock(&self.health).unanswered(problem.to_string());
                        if let Some(suppressed) = log.admit() {
                            error!(error = %problem, suppressed, "topics not available; retrying");
                        }
                    }
                }
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
    }

    /// Reason for which records cannot be delivered now; `None` while they can, as far as it is known.
    pub fn problem(&self) -> Option<String> {
        lock(&self.health).problem.clone()
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

    /// Returns true if the topics have answered once.
    pub fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }

    /// The client; a new one after a fatal error.
    fn client(&self) -> Result<Arc<Client>, Error> {
        let mut current = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if current.context().is_unusable() {
            *current = Arc::new(client(&self.settings, self.limits, &self.health)?);
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

fn client(
    settings: &Settings,
    limits: Limits,
    health: &Arc<Mutex<Health>>,
) -> Result<Client, Error> {
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
    let reports = BatchReports {
        log: Mutex::default(),
        health: Arc::clone(health),
    };
    let created = client.create_with_context(Deliveries::new(settings, reports));
    created.map_err(|error| Error::of_configuration(&error, settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Health after a failed delivery, and the time of the failure.
    fn failed() -> (Health, Instant) {
        let (mut health, now) = (Health::default(), Instant::now());
        health.failed("Local: Message timed out", now);
        (health, now)
    }

    #[test]
    fn a_delivery_ends_the_problem_of_a_failed_one() {
        let (mut health, _) = failed();
        assert_eq!(health.problem.as_deref(), Some("Local: Message timed out"));
        health.delivered();
        assert_eq!(health, Health::default());
    }

    #[test]
    fn an_answer_soon_after_a_failed_delivery_does_not_end_the_problem() {
        let (mut health, at) = failed();
        health.answered(at + Duration::from_secs(1));
        assert!(health.problem.is_some());
        health.answered(at + FAILURE_HOLD);
        assert_eq!(health, Health::default());
    }

    #[test]
    fn lost_connections_are_a_problem_once_the_topics_do_not_answer() {
        let mut health = Health {
            is_suspected: true,
            ..Health::default()
        };
        assert_eq!(health.problem, None);
        health.unanswered("no broker answers".to_owned());
        assert_eq!(health.problem.as_deref(), Some("no broker answers"));
        health.answered(Instant::now());
        assert_eq!(health, Health::default());
    }
}
