//! What happened, read once and without an engine: all feedback, then all searches, from files or
//! from the topics.
//!
//! On Kafka it is an onlooker: in no group, committing nothing, and done when it has reached what was
//! the end of the topics when it began. It does not know what the events are wanted for.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
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

use super::replay::read_line;
use super::wall_now;
use crate::config::Kafka;
use rankgauge_core::decode::{Formats, Rejection};
use rankgauge_core::event::Limits;
use rankgauge_core::event::{Feedback, Kind, Search};
use rankgauge_core::time::{EventTime, Millis};

/// How long a question to the brokers may take.
const ASK: Duration = Duration::from_secs(10);

/// How long nothing may come before somebody is told that nothing comes.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long one poll waits.
const POLL: Duration = Duration::from_millis(100);

/// The order in which both kinds are read: who knows what was done with a search when it comes need
/// not keep it.
const ORDER: [Kind; 2] = [Kind::Feedback, Kind::Search];

/// How records are read.
#[derive(Clone, Copy, Debug)]
pub struct Wire<'a> {
    /// How each topic is written.
    pub formats: &'a Formats,
    /// How large a record may be.
    pub limits: &'a Limits,
}

/// One record.
#[derive(Debug)]
pub enum Record<'a> {
    /// A search.
    Search(&'a Search<'a>),
    /// A feedback event.
    Feedback(&'a Feedback<'a>),
    /// Something of no use.
    Rejected {
        /// What it should have been.
        kind: Kind,
        /// Where it is: a file and a line, or a topic, a partition and an offset.
        place: String,
        /// Why.
        why: Rejection,
    },
}

/// Why the history cannot be read.
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
        "topic {topic}: nothing has come for {} s, {left} records before the end", PATIENCE.as_secs()
    )]
    Stalled { topic: String, left: i64 },
}

/// Hands every line of `feedback`, then every line of `searches`, to `take`.
///
/// # Errors
/// When a file cannot be read.
pub fn from_files(
    searches: &[PathBuf],
    feedback: &[PathBuf],
    wire: Wire<'_>,
    take: &mut dyn FnMut(Record<'_>),
) -> Result<(), HistoryError> {
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
    let mut reader = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    let mut number = 0_u64;
    while {
        line.clear();
        // The rest of a line that is too long is skipped.
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

/// Decodes one record and hands it on.
fn decode(
    kind: Kind,
    payload: &[u8],
    wire: Wire<'_>,
    place: fmt::Arguments<'_>,
    take: &mut dyn FnMut(Record<'_>),
) {
    let why = match kind {
        Kind::Search => match wire.formats.search(payload, wire.limits) {
            Ok(event) => return take(Record::Search(&event)),
            Err(why) => why,
        },
        Kind::Feedback => match wire.formats.feedback(payload, wire.limits) {
            Ok(event) => return take(Record::Feedback(&event)),
            Err(why) => why,
        },
    };
    let place = place.to_string();
    debug!("{place}: {why}");
    take(Record::Rejected { kind, place, why });
}

/// Hands to `take` all feedback, then all searches, that were written to the topics since `last`
/// before now and until now.
///
/// # Errors
/// When the topics cannot be read.
pub fn from_kafka(
    kafka: &Kafka,
    last: Duration,
    wire: Wire<'_>,
    take: &mut dyn FnMut(Record<'_>),
) -> Result<(), HistoryError> {
    let since = wall_now().as_event_time().minus(Millis::from(last));
    // Below 0 are names of places, not times.
    let since = since.max(EventTime(0));
    // Both ends are from the beginning, or searches without a time to react would come in.
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

/// A topic, and who looks at it.
struct Topic<'a> {
    kafka: &'a Kafka,
    kind: Kind,
    consumer: BaseConsumer<Onlooker>,
}

/// The records of a partition that are read: from the first offset to before the second.
type Spans = BTreeMap<i32, (i64, i64)>;

impl<'a> Topic<'a> {
    fn open(kafka: &'a Kafka, kind: Kind) -> Result<Self, HistoryError> {
        let consumer = kafka.onlooker().create_with_context(Onlooker);
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

    /// What was written to each partition since then.
    fn spans(&self, since: EventTime) -> Result<Spans, HistoryError> {
        let name = self.name();
        let metadata = self
            .consumer
            .fetch_metadata(Some(name), ASK)
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
            // In this question an offset is a time.
            times
                .add_partition_offset(name, partition.id(), Offset::Offset(since.0))
                .map_err(|source| self.failed(source))?;
        }
        let starts = self
            .consumer
            .offsets_for_times(times, ASK)
            .map_err(|source| self.unanswered(source))?;
        let mut spans = Spans::new();
        for start in starts.elements() {
            start.error().map_err(|source| self.failed(source))?;
            // Without a number nothing was written since.
            let Offset::Offset(first) = start.offset() else {
                continue;
            };
            let (_, end) = self
                .consumer
                .fetch_watermarks(name, start.partition(), ASK)
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
        info!("{name}: reading {} records", left(&spans));
        self.consumer
            .assign(&places)
            .map_err(|source| self.failed(source))?;
        let mut heard = Instant::now();
        while !spans.is_empty() {
            match self.consumer.poll(POLL) {
                Some(Ok(message)) => {
                    heard = Instant::now();
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
                // Compacted records and the marks of transactions never come.
                Some(Err(KafkaError::PartitionEOF(partition))) => {
                    heard = Instant::now();
                    self.leave(&mut spans, partition)?;
                }
                Some(Err(KafkaError::MessageConsumptionFatal(code))) => {
                    return Err(self.failed(KafkaError::MessageConsumptionFatal(code)));
                }
                // librdkafka goes on by itself where it can.
                Some(Err(problem)) => debug!("{name}: {problem}"),
                None => {}
            }
            if heard.elapsed() > PATIENCE {
                let left = left(&spans);
                let topic = name.to_owned();
                return Err(HistoryError::Stalled { topic, left });
            }
        }
        Ok(())
    }

    /// A partition was read to its end; what is written to it from now on is not fetched.
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

/// Lets librdkafka speak to our log, most of it in a low voice: what matters is said in the end.
struct Onlooker;

impl ClientContext for Onlooker {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        debug!(target: "librdkafka", "{facility}: {message}");
    }

    fn error(&self, problem: KafkaError, reason: &str) {
        debug!("{problem}: {reason}");
    }
}

impl ConsumerContext for Onlooker {}
