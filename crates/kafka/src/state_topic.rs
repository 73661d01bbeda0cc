//! Compacted topic with the state that the workers of a fleet share: creation, reading and writing.
//!
//! The module depends on keys and bytes, not on what the records hold. A record of a key replaces the
//! earlier ones; one without a value removes it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rdkafka::Message as _;
use rdkafka::TopicPartitionList;
use rdkafka::admin::ResourceSpecifier;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::topic_partition_list::Offset;
use tracing::{debug, info, warn};

use crate::assignment::list;
use crate::producer::Producer;
use crate::standalone::{CONNECT_TIMEOUT, StandaloneContext, connect};
use crate::topic::{self, block_on};
use crate::{Error, Settings};

/// Time limit of one request to a broker.
const BROKER_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Policy of a topic that keeps the last record of each key.
const COMPACT: &str = "compact";

/// Time limit and wait of the read of a record of an inspected topic.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// Configuration of a topic that this process creates. Segments are closed soon, because only closed
/// ones are compacted.
const CONFIGURATION: [(&str, &str); 4] = [
    ("cleanup.policy", COMPACT),
    ("segment.ms", "600000"),
    ("segment.bytes", "16777216"),
    ("min.cleanable.dirty.ratio", "0.1"),
];

/// Maximum size of a value, in bytes. Topics accept records of 1 MiB by default.
pub const MAX_VALUE_BYTES: usize = 900_000;

/// Properties of the producer.
const PRODUCER: [(&str, &str); 4] = [
    ("client.id", "rankgauge-state"),
    ("enable.idempotence", "true"),
    ("acks", "all"),
    ("message.timeout.ms", "30000"),
];

/// Receiver of records: key, and value unless the key was removed.
pub type Take<'a> = &'a mut dyn FnMut(&[u8], Option<&[u8]>);

/// Connected reader and writer of the topic.
pub struct StateTopic {
    settings: Settings,
    name: String,
    consumer: BaseConsumer<StandaloneContext>,
    producer: Producer,
    /// Partitions that are not read to their ends yet.
    unread: BTreeSet<i32>,
}

impl StateTopic {
    /// Connects to the topic, creates it if it does not exist, and starts to read it from its
    /// beginning.
    ///
    /// # Errors
    /// [`Error::StateTopic`] with the remedy, or the cause of the failed connection.
    pub fn connect(
        settings: &Settings,
        name: &str,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let failed = |problem: Error| match problem {
            Error::NoTopic(_) | Error::ForbiddenTopic(_) | Error::Topic { .. } => {
                Error::StateTopic {
                    topic: name.to_owned(),
                    error: problem.to_string(),
                }
            }
            other => other,
        };
        let consumer: BaseConsumer<StandaloneContext> = settings
            .standalone_consumer()
            .create_with_context(StandaloneContext::new(settings))
            .map_err(|error| Error::of_configuration(&error, settings))?;
        connect(
            consumer.client(),
            consumer.context(),
            name,
            [CONNECT_TIMEOUT; 2],
            should_stop,
            &|| while consumer.poll(Duration::from_millis(20)).is_some() {},
        )?;
        let partitions = ensure(&consumer, settings, name).map_err(failed)?;
        let (producer, _) = Producer::connect(settings, &PRODUCER, [name]).map_err(failed)?;
        let numbers = (0..).take(partitions);
        list(name, numbers.clone().map(|it| (it, Offset::Beginning)))
            .and_then(|starts| consumer.assign(&starts))
            .map_err(|error| failed(Error::of_topic(name, &error, settings)))?;
        Ok(Self {
            settings: settings.clone(),
            name: name.to_owned(),
            consumer,
            producer,
            unread: numbers.collect(),
        })
    }

    /// Returns true if all records were read that the topic had when the reader connected.
    pub fn is_read(&self) -> bool {
        self.unread.is_empty()
    }

    /// Passes records to `take` for as long as some arrive within `wait`, at most `limit` of them.
    ///
    /// # Errors
    /// If the topic cannot be read any more.
    pub fn read(&mut self, wait: Duration, limit: usize, take: Take<'_>) -> Result<(), Error> {
        for _ in 0..limit {
            match self.consumer.poll(wait) {
                None => return Ok(()),
                Some(Ok(record)) => {
                    if let Some(key) = record.key() {
                        take(key, record.payload());
                    }
                }
                Some(Err(KafkaError::PartitionEOF(partition))) => {
                    self.unread.remove(&partition);
                }
                Some(Err(error)) => {
                    let code = error.rdkafka_error_code();
                    let is_permanent = matches!(error, KafkaError::MessageConsumptionFatal(_))
                        || matches!(
                            code,
                            Some(
                                RDKafkaErrorCode::TopicAuthorizationFailed
                                    | RDKafkaErrorCode::UnknownTopicOrPartition
                                    | RDKafkaErrorCode::UnknownPartition
                                    | RDKafkaErrorCode::UnknownTopic
                            )
                        );
                    if is_permanent {
                        return Err(Error::StateTopic {
                            topic: self.name.clone(),
                            error: self.settings.text_of(&error),
                        });
                    }
                    // librdkafka retries after temporary errors.
                    debug!(topic = self.name, error = %self.settings.text_of(&error), "consumer error");
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Sends a record, or the removal of its key. A failure is reported by [`Self::finish`].
    pub fn send(&mut self, key: &str, value: Option<&[u8]>) {
        match value {
            Some(value) => self.producer.send(&self.name, None, key, value),
            None => self.producer.remove(&self.name, key),
        }
    }

    /// Waits until all records since the last call are delivered or have failed.
    ///
    /// # Errors
    /// [`Error::StateTopic`] with the first problem, for example a missing permission, and the remedy.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.producer.finish().map_err(|problem| Error::StateTopic {
            topic: self.name.clone(),
            error: problem.to_string(),
        })
    }
}

/// Number of partitions of the topic, which is created if it does not exist.
fn ensure(
    consumer: &BaseConsumer<StandaloneContext>,
    settings: &Settings,
    name: &str,
) -> Result<usize, Error> {
    let (client, wait) = (consumer.client(), BROKER_REQUEST_TIMEOUT);
    match topic::partitions(client, settings, name, wait) {
        Err(Error::NoTopic(_)) => {}
        Ok(partitions) => {
            let policy = policy(settings, name, wait)?;
            let status = StateTopicStatus { partitions, policy };
            if status.forgets() {
                warn!(
                    topic = name,
                    policy = status.policy,
                    "state topic is not compacted: it forgets records by age; set cleanup.policy=compact"
                );
            }
            return Ok(partitions);
        }
        other => return other,
    }
    let failed = |error: String| Error::StateTopic {
        topic: name.to_owned(),
        error: format!("cannot be created: {error}"),
    };
    let count = topic::create(client, settings, (name, 1, &CONFIGURATION), wait, failed)?;
    info!(topic = name, "state topic created");
    Ok(count)
}

/// Policy by which the topic removes records. `None` without the permission to read it.
fn policy(settings: &Settings, name: &str, wait: Duration) -> Result<Option<String>, Error> {
    let (admin, options) = topic::admin(settings, wait)?;
    let wanted = [ResourceSpecifier::Topic(name)];
    let found = block_on(admin.describe_configs(&wanted, &options));
    let found = found.into_iter().flatten().flatten();
    let mut policies = found.filter_map(|resource| {
        let policy = resource.get("cleanup.policy");
        policy.and_then(|it| it.value.clone())
    });
    Ok(policies.next())
}

/// State topic as the brokers describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateTopicStatus {
    /// Number of partitions, at least 1.
    pub partitions: usize,
    /// Policy by which records are removed; `None` without the permission to read it.
    pub policy: Option<String>,
}

impl StateTopicStatus {
    /// Returns true if records are removed by age.
    pub fn forgets(&self) -> bool {
        self.policy
            .as_deref()
            .is_some_and(|policy| policy != COMPACT)
    }
}

/// Inspects the topic, and reads one of its records. Nothing is written.
pub(crate) fn inspect(
    consumer: &BaseConsumer<StandaloneContext>,
    settings: &Settings,
    name: &str,
    wait: Duration,
) -> Result<StateTopicStatus, Error> {
    let partitions = topic::partitions(consumer.client(), settings, name, wait)?;
    let policy = policy(settings, name, wait)?;
    let failed = |error: KafkaError| Error::of_topic(name, &error, settings);
    list(name, [(0, Offset::Beginning)])
        .and_then(|start| consumer.assign(&start))
        .map_err(failed)?;
    let end = Instant::now() + wait.min(READ_TIMEOUT);
    let read = loop {
        match consumer.poll(POLL_TIMEOUT) {
            Some(Err(KafkaError::PartitionEOF(_)) | Ok(_)) => break Ok(()),
            Some(Err(error))
                if error.rdkafka_error_code()
                    == Some(RDKafkaErrorCode::TopicAuthorizationFailed) =>
            {
                break Err(failed(error));
            }
            Some(Err(_)) | None if Instant::now() >= end => break Err(Error::NoAnswer),
            Some(Err(_)) | None => {}
        }
    };
    consumer
        .assign(&TopicPartitionList::new())
        .map_err(failed)?;
    read.map(|()| StateTopicStatus { partitions, policy })
}
