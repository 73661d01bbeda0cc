//! Source of `rankgauge tail`: records as they are written to the topics, or the lines of files.
//!
//! It is a standalone consumer: it joins no group and commits nothing. It must not know the content
//! of the records.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rdkafka::Message as _;
use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::metadata::MetadataPartition;
use rdkafka::topic_partition_list::Offset;
use tracing::{debug, warn};

use super::replay::read_line;
use crate::config::{Kafka, Start};
use rankgauge_core::event::Kind;

/// Time-out of a broker request.
const BROKER_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum wait of one poll.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// Record of a topic, or line of a file.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord<'a> {
    /// Kind of the topic.
    pub kind: Kind,
    /// Topic or file.
    pub source: &'a str,
    /// Partition; `None` for a file.
    pub partition: Option<i32>,
    /// Offset, or number of the line.
    pub offset: i64,
    /// Payload.
    pub payload: &'a [u8],
}

/// Failure to read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum TailError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("librdkafka refuses the configuration (kafka.properties): {0}")]
    Configuration(#[source] Box<KafkaError>),
    #[error("no answer from {brokers} about topic {topic}: {source}")]
    Unanswered {
        brokers: String,
        topic: String,
        source: Box<KafkaError>,
    },
    #[error("topic {topic} does not exist on {brokers}")]
    NoTopic { brokers: String, topic: String },
    #[error("the topics cannot be read: {0}")]
    Reading(#[source] Box<KafkaError>),
}

/// Passes every line of `searches`, then of `feedback`, to `take`, until it returns false.
///
/// # Errors
/// If a file cannot be read.
pub fn from_files(
    searches: &[PathBuf],
    feedback: &[PathBuf],
    record_bytes: usize,
    take: &mut dyn FnMut(RawRecord<'_>) -> bool,
) -> Result<(), TailError> {
    for (kind, paths) in [(Kind::Search, searches), (Kind::Feedback, feedback)] {
        for path in paths {
            let read = lines(kind, path, record_bytes, take);
            let wants_more = read.map_err(|source| TailError::File {
                path: path.clone(),
                source,
            })?;
            if !wants_more {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn lines(
    kind: Kind,
    path: &Path,
    record_bytes: usize,
    take: &mut dyn FnMut(RawRecord<'_>) -> bool,
) -> io::Result<bool> {
    let mut reader = BufReader::new(File::open(path)?);
    let name = path.display().to_string();
    let mut line = Vec::new();
    let mut number = 0;
    while {
        line.clear();
        // The excess of a line over the limit is skipped.
        read_line(&mut reader, &mut line, record_bytes + 1)?
    } {
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let record = RawRecord {
            kind,
            source: &name,
            partition: None,
            offset: number,
            payload: &line,
        };
        if !take(record) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Passes the records of both topics to `take`, from `start` on, until it returns false or
/// `should_stop` returns true. With `until_end`, it stops when all partitions are read to their end.
///
/// # Errors
/// If the topics cannot be read.
pub fn from_kafka(
    kafka: &Kafka,
    start: Start,
    until_end: bool,
    should_stop: &dyn Fn() -> bool,
    take: &mut dyn FnMut(RawRecord<'_>) -> bool,
) -> Result<(), TailError> {
    let consumer: BaseConsumer<TailContext> = kafka
        .standalone_consumer()
        .create_with_context(TailContext)
        .map_err(|source| TailError::Configuration(Box::new(source)))?;
    let offset = match start {
        Start::Earliest => Offset::Beginning,
        Start::Latest => Offset::End,
    };
    let mut places = TopicPartitionList::new();
    let mut unread: BTreeSet<(Kind, i32)> = BTreeSet::new();
    for kind in Kind::ALL {
        for partition in partitions(kafka, &consumer, kind)? {
            let added = places.add_partition_offset(kafka.topic(kind), partition, offset);
            added.map_err(|source| TailError::Reading(Box::new(source)))?;
            unread.insert((kind, partition));
        }
    }
    consumer
        .assign(&places)
        .map_err(|source| TailError::Reading(Box::new(source)))?;
    let is_done = |unread: &BTreeSet<_>| until_end && unread.is_empty();
    while !should_stop() && !is_done(&unread) {
        match consumer.poll(POLL_TIMEOUT) {
            Some(Ok(message)) => {
                let record = RawRecord {
                    kind: kafka.kind_of(message.topic()),
                    source: message.topic(),
                    partition: Some(message.partition()),
                    offset: message.offset(),
                    payload: message.payload().unwrap_or_default(),
                };
                if !take(record) {
                    return Ok(());
                }
            }
            // The message does not name the topic. A partition is done when both topics are.
            Some(Err(KafkaError::PartitionEOF(_))) => note_ends(kafka, &consumer, &mut unread),
            Some(Err(KafkaError::MessageConsumptionFatal(code))) => {
                let source = KafkaError::MessageConsumptionFatal(code);
                return Err(TailError::Reading(Box::new(source)));
            }
            // librdkafka retries after temporary errors.
            Some(Err(problem)) => warn!(error = %problem, "consumer error"),
            None => {}
        }
    }
    Ok(())
}

/// Removes the partitions whose position is their end.
fn note_ends(
    kafka: &Kafka,
    consumer: &BaseConsumer<TailContext>,
    unread: &mut BTreeSet<(Kind, i32)>,
) {
    unread.retain(|(kind, partition)| {
        let topic = kafka.topic(*kind);
        let ends = consumer.fetch_watermarks(topic, *partition, BROKER_REQUEST_TIMEOUT);
        let Ok((first, end)) = ends else { return true };
        let position = consumer.position().ok();
        let position = position.and_then(|all| {
            let found = all.find_partition(topic, *partition)?;
            match found.offset() {
                Offset::Offset(next) => Some(next),
                _ => None,
            }
        });
        // Without a position, nothing was read: the partition is empty, or it is read from its end.
        position.map_or(first < end, |next| next < end)
    });
}

fn partitions(
    kafka: &Kafka,
    consumer: &BaseConsumer<TailContext>,
    kind: Kind,
) -> Result<Vec<i32>, TailError> {
    let name = kafka.topic(kind);
    let metadata = consumer
        .fetch_metadata(Some(name), BROKER_REQUEST_TIMEOUT)
        .map_err(|source| TailError::Unanswered {
            brokers: kafka.brokers.clone(),
            topic: name.to_owned(),
            source: Box::new(source),
        })?;
    let mut topics = metadata.topics().iter();
    let topic = topics.find(|topic| topic.name() == name && topic.error().is_none());
    let partitions: Vec<i32> = topic
        .into_iter()
        .flat_map(|topic| topic.partitions().iter().map(MetadataPartition::id))
        .collect();
    if partitions.is_empty() {
        return Err(TailError::NoTopic {
            brokers: kafka.brokers.clone(),
            topic: name.to_owned(),
        });
    }
    Ok(partitions)
}

/// Client context that writes librdkafka messages to the log.
struct TailContext;

impl ClientContext for TailContext {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        debug!(target: "librdkafka", facility, text = message, "librdkafka log");
    }

    fn error(&self, problem: KafkaError, reason: &str) {
        warn!(error = %problem, reason, "connection problem; retrying");
    }
}

impl ConsumerContext for TailContext {}
