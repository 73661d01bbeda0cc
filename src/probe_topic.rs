//! Events of the probe on the search topic.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};

use rankgauge_kafka::Settings;
use rankgauge_probe::ProbedEvent;

/// Time-out of a broker request.
const BROKER_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit of the delivery of a record.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(30);

/// Events that did not reach the topic.
#[derive(Debug, thiserror::Error)]
pub enum TopicError {
    /// librdkafka rejects the configuration.
    #[error("the producer cannot be created: {0}")]
    Producer(#[source] KafkaError),
    /// No broker answers.
    #[error("no answer from {brokers} about topic {topic}: {source}")]
    Unanswered {
        /// Bootstrap servers.
        brokers: String,
        /// Topic.
        topic: String,
        /// Cause.
        source: Box<KafkaError>,
    },
    /// The topic does not exist.
    #[error("topic {topic} does not exist on {brokers}")]
    NoTopic {
        /// Bootstrap servers.
        brokers: String,
        /// Topic.
        topic: String,
    },
    /// Events were not delivered.
    #[error("{failed} of {sent} events were not delivered to {topic}: {problem}")]
    NotDelivered {
        /// Number of lost events.
        failed: usize,
        /// Number of events sent.
        sent: usize,
        /// Topic.
        topic: String,
        /// First problem.
        problem: String,
    },
}

/// Producer for the search topic.
pub struct TopicWriter {
    topic: String,
    producer: ThreadedProducer<Deliveries>,
    deliveries: Deliveries,
    sent: usize,
}

#[derive(Clone, Default)]
struct Deliveries {
    failed: Arc<AtomicUsize>,
    problem: Arc<Mutex<Option<String>>>,
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): Self::DeliveryOpaque) {
        if let Err((error, _)) = result {
            self.fail(error);
        }
    }
}

impl Deliveries {
    fn fail(&self, error: &KafkaError) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        problem.get_or_insert_with(|| error.to_string());
    }
}

impl TopicWriter {
    /// Creates a producer for a topic that exists.
    ///
    /// # Errors
    /// If librdkafka rejects the configuration, or the topic cannot be found.
    pub fn new(kafka: &Settings) -> Result<Self, TopicError> {
        let mut client = kafka.client();
        let timeout = DELIVERY_TIMEOUT.as_millis().to_string();
        client
            .set("client.id", "rankgauge-probe")
            .set("enable.idempotence", "true")
            .set("message.timeout.ms", timeout);
        // The partitioner of the Java client, unless the configuration has another.
        if client.get("partitioner").is_none() {
            client.set("partitioner", "murmur2_random");
        }
        let deliveries = Deliveries::default();
        let producer: ThreadedProducer<Deliveries> = client
            .create_with_context(deliveries.clone())
            .map_err(TopicError::Producer)?;
        let topic = kafka.search_topic.clone();
        let metadata = producer
            .client()
            .fetch_metadata(Some(&topic), BROKER_REQUEST_TIMEOUT);
        let metadata = metadata.map_err(|source| TopicError::Unanswered {
            brokers: kafka.brokers.clone(),
            topic: topic.clone(),
            source: Box::new(source),
        })?;
        let mut found = metadata.topics().iter();
        if !found
            .any(|it| it.name() == topic && it.error().is_none() && !it.partitions().is_empty())
        {
            return Err(TopicError::NoTopic {
                brokers: kafka.brokers.clone(),
                topic,
            });
        }
        Ok(Self {
            topic,
            producer,
            deliveries,
            sent: 0,
        })
    }

    /// Sends an event. A failure is reported by [`TopicWriter::finish`].
    pub fn send(&mut self, event: &ProbedEvent) {
        self.sent += 1;
        let record = BaseRecord::to(&self.topic)
            .key(&event.query_id)
            .payload(&event.json);
        let Err((mut error, mut record)) = self.producer.send(record) else {
            return;
        };
        // The queue of librdkafka holds 100,000 records; it is emptied once.
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::QueueFull) {
            drop(self.producer.flush(DELIVERY_TIMEOUT));
            match self.producer.send(record) {
                Ok(()) => return,
                Err(failed) => (error, record) = failed,
            }
        }
        drop(record);
        self.deliveries.fail(&error);
    }

    /// Waits until all events are delivered or have failed.
    ///
    /// # Errors
    /// If events were not delivered.
    pub fn finish(&mut self) -> Result<(), TopicError> {
        if let Err(error) = self
            .producer
            .flush(DELIVERY_TIMEOUT + Duration::from_secs(5))
        {
            self.deliveries.fail(&error);
        }
        let failed = self.deliveries.failed.swap(0, Ordering::Relaxed);
        let sent = std::mem::take(&mut self.sent);
        let problem = self.deliveries.problem.lock();
        let problem = problem.unwrap_or_else(PoisonError::into_inner).take();
        if failed == 0 {
            return Ok(());
        }
        Err(TopicError::NotDelivered {
            failed,
            sent,
            topic: self.topic.clone(),
            problem: problem.unwrap_or_default(),
        })
    }
}
