//! Source of `rankgauge tail`: records as they are written to the topics, or the lines of files.
//!
//! It is a standalone consumer: it joins no group and commits nothing. It must not know the content
//! of the records.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rdkafka::Message as _;
use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::MetadataPartition;
use rdkafka::topic_partition_list::Offset;
use tracing::{debug, warn};

use super::replay::read_line;
use rankgauge_core::event::Kind;
use rankgauge_kafka::Settings;
use rankgauge_kafka::settings::Start;

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
    kafka: &Settings,
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
    // Ends of the partitions that are to be read; empty without `until_end`.
    let mut ends: BTreeMap<(Kind, i32), i64> = BTreeMap::new();
    for kind in Kind::ALL {
        for partition in partitions(kafka, &consumer, kind)? {
            let added = places.add_partition_offset(kafka.topic(kind), partition, offset);
            added.map_err(|source| TailError::Reading(Box::new(source)))?;
            if until_end && start == Start::Earliest {
                let topic = kafka.topic(kind);
                let range = consumer.fetch_watermarks(topic, partition, BROKER_REQUEST_TIMEOUT);
                let (first, end) = range.map_err(|source| TailError::Unanswered {
                    brokers: kafka.brokers.clone(),
                    topic: topic.to_owned(),
                    source: Box::new(source),
                })?;
                if first < end {
                    ends.insert((kind, partition), end);
                }
            }
        }
    }
    consumer
        .assign(&places)
        .map_err(|source| TailError::Reading(Box::new(source)))?;
    let is_done = |ends: &BTreeMap<_, _>| until_end && ends.is_empty();
    while !should_stop() && !is_done(&ends) {
        match consumer.poll(POLL_TIMEOUT) {
            Some(Ok(message)) => {
                let record = RawRecord {
                    kind: kafka.kind_of(message.topic()),
                    source: message.topic(),
                    partition: Some(message.partition()),
                    offset: message.offset(),
                    payload: message.payload().unwrap_or_default(),
                };
                let place = (record.kind, message.partition());
                if !take(record) {
                    return Ok(());
                }
                let is_last = |end: &i64| message.offset() + 1 >= *end;
                if ends.get(&place).is_some_and(is_last) {
                    ends.remove(&place);
                }
            }
            // Compacted records and transaction markers are never delivered.
            Some(Err(KafkaError::PartitionEOF(_))) => note_ends(kafka, &consumer, &mut ends),
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

/// Removes the partitions whose position is at their end.
fn note_ends(
    kafka: &Settings,
    consumer: &BaseConsumer<TailContext>,
    ends: &mut BTreeMap<(Kind, i32), i64>,
) {
    let Ok(positions) = consumer.position() else {
        return;
    };
    ends.retain(|(kind, partition), end| {
        let found = positions.find_partition(kafka.topic(*kind), *partition);
        let offset = found.map(|found| found.offset());
        !matches!(offset, Some(Offset::Offset(next)) if next >= *end)
    });
}

fn partitions(
    kafka: &Settings,
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
        if problem.rdkafka_error_code() != Some(RDKafkaErrorCode::PartitionEOF) {
            warn!(error = %problem, reason, "connection problem; retrying");
        }
    }
}

impl ConsumerContext for TailContext {}
