//! Bounded sample of the newest records of both topics, for the check of a running system.
//!
//! A standalone consumer reads it. It joins no group, commits nothing and ends at a deadline. This
//! module must not know the meaning of the records.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::Message as _;
use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use rdkafka::topic_partition_list::Offset;
use tracing::debug;

use super::group::{Unavailable, partition_count};
use rankgauge_kafka::Settings;
use rankgauge_kafka::connection::ConnectionProblem;

/// Time limit for the first answer of a broker.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for the first answer when the cause of a failed connection is known.
const KNOWN_CAUSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Time limit of one request to a broker.
const BROKER_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum wait of one poll.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// Maximum bytes of a sample. Larger records make a smaller sample.
const MAX_BYTES: usize = 64 << 20;

/// Record of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledRecord {
    /// Partition.
    pub partition: i32,
    /// Offset in the partition.
    pub offset: i64,
    /// Key; `None` if the record has none.
    pub key: Option<Vec<u8>>,
    /// Timestamp of Kafka in milliseconds since the epoch, set by the producer or by the broker.
    pub timestamp: Option<i64>,
    /// Payload; empty for a tombstone.
    pub payload: Vec<u8>,
}

/// Sample of one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicSample {
    /// Records, in the order of reading: by offset within a partition.
    pub records: Vec<SampledRecord>,
    /// True if the deadline or the limit on bytes ended the sample early.
    pub is_cut: bool,
}

/// Failure to take a sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum SampleError {
    #[error("librdkafka rejects the configuration: {0}")]
    Configuration(String),
    #[error("{0}")]
    Unanswered(String),
    #[error("no permission to read topic {0}")]
    ForbiddenTopic(String),
    #[error("no permission for consumer group {0}")]
    ForbiddenGroup(String),
    #[error("topic {topic}: {error}")]
    Request { topic: String, error: String },
}

/// Standalone consumer with a deadline.
pub struct Sampler<'a> {
    kafka: &'a Settings,
    consumer: BaseConsumer<SampleContext>,
    started: Instant,
    deadline: Instant,
}

impl<'a> Sampler<'a> {
    /// Creates the consumer. It sends nothing yet, and works for at most `limit`.
    ///
    /// # Errors
    /// [`SampleError::Configuration`].
    pub fn new(kafka: &'a Settings, limit: Duration) -> Result<Self, SampleError> {
        let consumer = kafka
            .standalone_consumer()
            .create_with_context(SampleContext::default());
        let started = Instant::now();
        Ok(Self {
            kafka,
            consumer: consumer
                .map_err(|error: KafkaError| SampleError::Configuration(error.to_string()))?,
            started,
            deadline: started + limit,
        })
    }

    /// Waits for the first answer of a broker.
    ///
    /// # Errors
    /// [`SampleError::Unanswered`] with the cause and the remedy.
    pub fn connect(&self) -> Result<(), SampleError> {
        loop {
            let wait = Duration::from_secs(1).min(self.left());
            let topic = Some(self.kafka.search_topic.as_str());
            if self.consumer.fetch_metadata(topic, wait).is_ok() {
                return Ok(());
            }
            // Polling delivers the cause of a failed connection.
            while self.consumer.poll(Duration::from_millis(20)).is_some() {}
            let cause = self.consumer.context().problem();
            let limit = if cause.is_some() {
                KNOWN_CAUSE_TIMEOUT
            } else {
                CONNECT_TIMEOUT
            };
            if self.started.elapsed() >= limit || self.left().is_zero() {
                let text = cause.unwrap_or_else(|| Unavailable::NoAnswer.to_string());
                return Err(SampleError::Unanswered(text));
            }
        }
    }

    /// Number of partitions of `topic`.
    ///
    /// # Errors
    /// The reason for which the topic cannot be read.
    pub fn partitions(&self, topic: &str) -> Result<usize, Unavailable> {
        partition_count(&self.consumer, topic, self.wait())
    }

    /// Checks that the client may use the consumer group, by a request for its committed offsets.
    ///
    /// # Errors
    /// [`SampleError::ForbiddenGroup`] without permission, else [`SampleError::Request`].
    pub fn check_group(&self) -> Result<(), SampleError> {
        let topic = &self.kafka.search_topic;
        let mut wanted = TopicPartitionList::new();
        wanted.add_partition(topic, 0);
        let error = match self.consumer.committed_offsets(wanted, self.wait()) {
            Ok(found) => found.elements().iter().find_map(|it| it.error().err()),
            Err(error) => Some(error),
        };
        match error {
            None => Ok(()),
            Some(error) => Err(match error.rdkafka_error_code() {
                Some(RDKafkaErrorCode::GroupAuthorizationFailed) => {
                    SampleError::ForbiddenGroup(self.kafka.group_id.clone())
                }
                _ => failed(topic, &error),
            }),
        }
    }

    /// Reads about `count` records of `topic`, spread over its partitions: the newest, or those
    /// from the Kafka timestamp `since` on if that is earlier.
    ///
    /// # Errors
    /// If the client may not read the topic, or a request fails.
    pub fn read(
        &self,
        topic: &str,
        partitions: usize,
        count: usize,
        since: Option<i64>,
    ) -> Result<TopicSample, SampleError> {
        let share = i64::try_from(count.div_ceil(partitions.max(1))).unwrap_or(i64::MAX);
        let mut ends = Vec::new();
        let mut starts = TopicPartitionList::new();
        for partition in (0..).take(partitions) {
            let (low, high) = self
                .consumer
                .fetch_watermarks(topic, partition, self.wait())
                .map_err(|error| failed(topic, &error))?;
            let newest = low.max(high - share);
            let first = match since {
                Some(since) => newest.min(self.offset_at(topic, partition, since, high)?.max(low)),
                None => newest,
            };
            if first < high {
                starts
                    .add_partition_offset(topic, partition, Offset::Offset(first))
                    .map_err(|error| failed(topic, &error))?;
                ends.push((partition, high.min(first + share)));
            }
        }
        self.consumer
            .assign(&starts)
            .map_err(|error| failed(topic, &error))?;
        let sample = self.poll(topic, ends);
        // The next topic must not compete with this one.
        let none = TopicPartitionList::new();
        self.consumer
            .assign(&none)
            .map_err(|error| failed(topic, &error))?;
        sample
    }

    /// Reads up to the given end of each partition.
    fn poll(&self, topic: &str, mut ends: Vec<(i32, i64)>) -> Result<TopicSample, SampleError> {
        let mut sample = TopicSample::default();
        let mut bytes = 0;
        while !ends.is_empty() {
            if self.left().is_zero() || bytes > MAX_BYTES {
                sample.is_cut = true;
                break;
            }
            match self.consumer.poll(POLL_TIMEOUT) {
                Some(Ok(message)) if message.topic() == topic => {
                    let record = sampled(&message);
                    let (partition, next) = (record.partition, record.offset + 1);
                    let end = ends.iter().position(|(number, _)| *number == partition);
                    // Records after the end are fetched while other partitions are read.
                    let Some(end) = end else { continue };
                    if next <= ends[end].1 {
                        bytes += record.payload.len() + record.key.as_ref().map_or(0, Vec::len);
                        sample.records.push(record);
                    }
                    if next >= ends[end].1 {
                        ends.swap_remove(end);
                    }
                }
                // Compacted records and transaction markers are never delivered.
                Some(Err(KafkaError::PartitionEOF(partition))) => {
                    ends.retain(|(number, _)| *number != partition);
                }
                Some(Err(error)) => {
                    let code = error.rdkafka_error_code();
                    if code == Some(RDKafkaErrorCode::TopicAuthorizationFailed) {
                        return Err(failed(topic, &error));
                    }
                    // librdkafka retries after temporary errors.
                    debug!(topic, error = %error, "consumer error");
                }
                None | Some(Ok(_)) => {}
            }
        }
        Ok(sample)
    }

    /// First offset of a partition with a Kafka timestamp from `since` on; `end` without one.
    fn offset_at(
        &self,
        topic: &str,
        partition: i32,
        since: i64,
        end: i64,
    ) -> Result<i64, SampleError> {
        let mut times = TopicPartitionList::new();
        // In this request, the offset field holds a timestamp.
        let found = times
            .add_partition_offset(topic, partition, Offset::Offset(since.max(0)))
            .and_then(|()| self.consumer.offsets_for_times(times, self.wait()))
            .map_err(|error| failed(topic, &error))?;
        let mut found = found.elements().into_iter();
        Ok(found
            .find_map(|it| match it.offset() {
                Offset::Offset(offset) => Some(offset),
                _ => None,
            })
            .unwrap_or(end))
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Time limit of the next request. librdkafka treats 0 as a request without waiting.
    fn wait(&self) -> Duration {
        self.left()
            .clamp(Duration::from_millis(100), BROKER_REQUEST_TIMEOUT)
    }
}

fn sampled(message: &BorrowedMessage<'_>) -> SampledRecord {
    SampledRecord {
        partition: message.partition(),
        offset: message.offset(),
        key: message.key().map(<[u8]>::to_vec),
        timestamp: message.timestamp().to_millis(),
        payload: message.payload().unwrap_or_default().to_vec(),
    }
}

/// Client context that retains the cause of a failed connection.
#[derive(Default)]
struct SampleContext {
    problem: Mutex<Option<String>>,
}

impl SampleContext {
    /// Last cause of a failed connection, with its remedy.
    fn problem(&self) -> Option<String> {
        let problem = self.problem.lock();
        problem.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ClientContext for SampleContext {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        debug!(target: "librdkafka", facility, text = message, "librdkafka log");
    }

    fn error(&self, problem: KafkaError, reason: &str) {
        debug!(error = %problem, reason, "librdkafka error");
        if let Some(text) = ConnectionProblem::explain(&problem, reason) {
            let last = self.problem.lock();
            *last.unwrap_or_else(PoisonError::into_inner) = Some(text);
        }
    }
}

impl ConsumerContext for SampleContext {}

/// Error of a request about a topic.
fn failed(topic: &str, error: &KafkaError) -> SampleError {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::TopicAuthorizationFailed) => {
            SampleError::ForbiddenTopic(topic.to_owned())
        }
        _ => SampleError::Request {
            topic: topic.to_owned(),
            error: error.to_string(),
        },
    }
}
