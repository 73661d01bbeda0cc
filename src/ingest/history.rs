//! One-time reader of past events without an engine: all feedback, then all searches, from files or
//! from the topics.
//!
//! On Kafka it uses a standalone consumer, which joins no group and commits nothing. It stops at
//! the end offsets that the topics had at its start. It must not know the use of the events.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rdkafka::Message as _;
use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::Offset;
use tracing::{debug, info};

use super::replay::{open_lines, read_line};
use rankgauge_core::decode::{Acceptance, Formats, Rejection};
use rankgauge_core::event::Limits;
use rankgauge_core::event::{Feedback, Kind, Search};
use rankgauge_core::time::{EventTime, Millis};
use rankgauge_kafka::Settings;
use rankgauge_serve::clock::wall_now;

/// Time-out of a broker request.
const BROKER_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time without a record before the read fails as stalled.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum wait of one poll.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// Order in which both kinds are read. With the feedback already known, the reader of a search need
/// not store the search.
const ORDER: [Kind; 2] = [Kind::Feedback, Kind::Search];

/// Decoding of records.
#[derive(Clone, Copy, Debug)]
pub struct Wire<'a> {
    /// Format of each topic.
    pub formats: &'a Formats,
    /// Limits of a record.
    pub limits: &'a Limits,
}

/// Decoded or rejected record.
#[derive(Debug)]
pub enum Record<'a> {
    /// A search.
    Search(&'a Search<'a>),
    /// A feedback event.
    Feedback(&'a Feedback<'a>),
    /// A rejected record.
    Rejected {
        /// Expected kind of event.
        kind: Kind,
        /// Location: a file and a line, or a topic, a partition and an offset.
        place: String,
        /// Reason of the rejection.
        why: Rejection,
    },
}

/// Failure to read the history.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum HistoryError {
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
    #[error("topic {topic}: {source}")]
    Reading {
        topic: String,
        source: Box<KafkaError>,
    },
    #[error(
        "topic {topic}: no record received for {} s, {left} records before the end",
        STALL_TIMEOUT.as_secs()
    )]
    Stalled { topic: String, left: i64 },
}

/// Passes every line of `feedback`, then every line of `searches`, to `take`.
///
/// # Errors
/// If a file cannot be read.
pub fn from_files(
    searches: &[PathBuf],
    feedback: &[PathBuf],
    wire: Wire<'_>,
    take: &mut dyn FnMut(Record<'_>),
) -> Result<(), HistoryError> {
    let formats = wire.formats.of_lines();
    let wire = Wire {
        formats: &formats,
        ..wire
    };
    for kind in ORDER {
        let paths = match kind {
            Kind::Search => searches,
            Kind::Feedback => feedback,
        };
        for path in paths {
            file(kind, path, wire, take).map_err(|source| HistoryError::File {
                path: path.clone(),
                source,
            })?;
        }
    }
    Ok(())
}

fn file(
    kind: Kind,
    path: &Path,
    wire: Wire<'_>,
    take: &mut dyn FnMut(Record<'_>),
) -> io::Result<()> {
    let mut reader = open_lines(path)?;
    let mut line = Vec::new();
    let mut number = 0_u64;
    while {
        line.clear();
        // The excess of a line over the limit is skipped.
        read_line(&mut reader, &mut line, wire.limits.record_bytes + 1)?
    } {
        number += 1;
        if !line.trim_ascii().is_empty() {
            let place = format_args!("{}:{number}", path.display());
            decode(kind, &line, wire, place, take);
        }
    }
    Ok(())
}

/// Decodes one record and passes it to `take`.
fn decode(
    kind: Kind,
    payload: &[u8],
    wire: Wire<'_>,
    place: fmt::Arguments<'_>,
    take: &mut dyn FnMut(Record<'_>),
) {
    let reject = |take: &mut dyn FnMut(Record<'_>), why: Rejection| {
        let place = place.to_string();
        debug!(place, error = why.to_string(), "record rejected");
        take(Record::Rejected { kind, place, why });
    };
    let decoded = match kind {
        Kind::Search => {
            let acceptance = Acceptance {
                limits: *wire.limits,
                has_gold_texts: false,
            };
            let decoded = wire
                .formats
                .searches(payload, &acceptance, &mut |search| match search {
                    Ok(search) => take(Record::Search(search)),
                    Err(why) => reject(take, why),
                });
            decoded.map(|_| ())
        }
        Kind::Feedback => {
            let decoded = wire
                .formats
                .feedback(payload, wire.limits, &mut |event| match event {
                    Ok(event) => take(Record::Feedback(event)),
                    Err(why) => reject(take, why),
                });
            decoded.map(|_| ())
        }
    };
    if let Err(why) = decoded {
        reject(take, why);
    }
}

/// Passes to `take` all feedback, then all searches, that were written to the topics during the
/// period `last` before now.
///
/// # Errors
/// If the topics cannot be read.
pub fn from_kafka(
    kafka: &Settings,
    last: Duration,
    wire: Wire<'_>,
    take: &mut dyn FnMut(Record<'_>),
) -> Result<(), HistoryError> {
    let since = wall_now().as_event_time().minus(Millis::from(last));
    // Negative timestamps are special values in the Kafka protocol.
    let since = since.max(EventTime(0));
    // The ranges of both topics are fixed before any read. Otherwise the range of searches would
    // end later, and its last searches would be read without their feedback.
    let mut parts = Vec::new();
    for kind in ORDER {
        let topic = Topic::open(kafka, kind)?;
        let spans = topic.spans(since)?;
        parts.push((topic, spans));
    }
    for (topic, spans) in parts {
        topic.read(spans, wire, take)?;
    }
    Ok(())
}

/// Topic with its standalone consumer.
struct Topic<'a> {
    kafka: &'a Settings,
    kind: Kind,
    consumer: BaseConsumer<StandaloneContext>,
}

/// Half-open offset range to read in each partition.
type Spans = BTreeMap<i32, (i64, i64)>;

impl<'a> Topic<'a> {
    fn open(kafka: &'a Settings, kind: Kind) -> Result<Self, HistoryError> {
        let consumer = kafka
            .standalone_consumer()
            .create_with_context(StandaloneContext);
        Ok(Self {
            kafka,
            kind,
            consumer: consumer.map_err(|source| HistoryError::Configuration(Box::new(source)))?,
        })
    }

    fn name(&self) -> &str {
        self.kafka.topic(self.kind)
    }

    fn unanswered(&self, source: KafkaError) -> HistoryError {
        HistoryError::Unanswered {
            brokers: self.kafka.brokers.clone(),
            topic: self.name().to_owned(),
            source: Box::new(source),
        }
    }

    fn failed(&self, source: KafkaError) -> HistoryError {
        HistoryError::Reading {
            topic: self.name().to_owned(),
            source: Box::new(source),
        }
    }

    /// Returns the offset range that was written to each partition since `since`.
    fn spans(&self, since: EventTime) -> Result<Spans, HistoryError> {
        let name = self.name();
        let metadata = self
            .consumer
            .fetch_metadata(Some(name), BROKER_REQUEST_TIMEOUT)
            .map_err(|source| self.unanswered(source))?;
        let mut topics = metadata.topics().iter();
        let topic = topics.find(|topic| topic.name() == name);
        let topic = topic.filter(|topic| topic.error().is_none() && !topic.partitions().is_empty());
        let topic = topic.ok_or_else(|| HistoryError::NoTopic {
            brokers: self.kafka.brokers.clone(),
            topic: name.to_owned(),
        })?;
        let mut times = TopicPartitionList::new();
        for partition in topic.partitions() {
            // In this request, the offset field holds a timestamp.
            times
                .add_partition_offset(name, partition.id(), Offset::Offset(since.0))
                .map_err(|source| self.failed(source))?;
        }
        let starts = self
            .consumer
            .offsets_for_times(times, BROKER_REQUEST_TIMEOUT)
            .map_err(|source| self.unanswered(source))?;
        let mut spans = Spans::new();
        for start in starts.elements() {
            start.error().map_err(|source| self.failed(source))?;
            // Without a numeric offset, the partition has no record since then.
            let Offset::Offset(first) = start.offset() else {
                continue;
            };
            let (_, end) = self
                .consumer
                .fetch_watermarks(name, start.partition(), BROKER_REQUEST_TIMEOUT)
                .map_err(|source| self.unanswered(source))?;
            if first < end {
                spans.insert(start.partition(), (first, end));
            }
        }
        Ok(spans)
    }

    fn read(
        &self,
        mut spans: Spans,
        wire: Wire<'_>,
        take: &mut dyn FnMut(Record<'_>),
    ) -> Result<(), HistoryError> {
        let name = self.name();
        let mut places = TopicPartitionList::new();
        for (partition, (first, _)) in &spans {
            places
                .add_partition_offset(name, *partition, Offset::Offset(*first))
                .map_err(|source| self.failed(source))?;
        }
        let left = |spans: &Spans| spans.values().map(|(next, end)| end - next).sum::<i64>();
        info!(topic = name, records = left(&spans), "reading topic");
        self.consumer
            .assign(&places)
            .map_err(|source| self.failed(source))?;
        let mut last_progress = Instant::now();
        while !spans.is_empty() {
            match self.consumer.poll(POLL_TIMEOUT) {
                Some(Ok(message)) => {
                    last_progress = Instant::now();
                    let (partition, offset) = (message.partition(), message.offset());
                    let Some((next, end)) = spans.get_mut(&partition) else {
                        continue;
                    };
                    *next = offset + 1;
                    let (is_wanted, is_last) = (offset < *end, *next >= *end);
                    if is_wanted {
                        let place = format_args!("{name} [{partition}] at offset {offset}");
                        let payload = message.payload().unwrap_or_default();
                        decode(self.kind, payload, wire, place, take);
                    }
                    if is_last {
                        self.leave(&mut spans, partition)?;
                    }
                }
                // Compacted records and transaction markers are never delivered.
                Some(Err(KafkaError::PartitionEOF(partition))) => {
                    last_progress = Instant::now();
                    self.leave(&mut spans, partition)?;
                }
                Some(Err(KafkaError::MessageConsumptionFatal(code))) => {
                    return Err(self.failed(KafkaError::MessageConsumptionFatal(code)));
                }
                // librdkafka retries after temporary errors.
                Some(Err(problem)) => debug!(topic = name, error = %problem, "consumer error"),
                None => {}
            }
            if last_progress.elapsed() > STALL_TIMEOUT {
                let left = left(&spans);
                let topic = name.to_owned();
                return Err(HistoryError::Stalled { topic, left });
            }
        }
        Ok(())
    }

    /// Marks a partition as read to its end, and pauses it to avoid fetching newer records.
    fn leave(&self, spans: &mut Spans, partition: i32) -> Result<(), HistoryError> {
        if spans.remove(&partition).is_some() {
            let mut done = TopicPartitionList::new();
            done.add_partition(self.name(), partition);
            self.consumer
                .pause(&done)
                .map_err(|source| self.failed(source))?;
        }
        Ok(())
    }
}

/// Client context that writes librdkafka messages to the log at level debug. Errors that matter are
/// returned by the read.
struct StandaloneContext;

impl ClientContext for StandaloneContext {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        debug!(target: "librdkafka", facility, text = message, "librdkafka log");
    }

    fn error(&self, problem: KafkaError, reason: &str) {
        debug!(error = %problem, reason, "librdkafka error");
    }
}

impl ConsumerContext for StandaloneContext {}
