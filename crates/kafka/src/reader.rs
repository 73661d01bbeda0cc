//! Standalone reader of both topics: it joins no group and commits nothing.
//!
//! It reads ranges of offsets that are fixed before the read, or follows the topics. It does not depend
//! on the meaning of the records.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use rdkafka::Message as _;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use rdkafka::topic_partition_list::Offset;
use tracing::{debug, info};

use rankgauge_core::decode::Envelope;
use rankgauge_core::event::Kind;
use rankgauge_core::time::EventTime;

use crate::assignment::{assign_resumed, list};
use crate::batches::Fetched;
use crate::envelope::MessageEnvelope;
use crate::members::{GroupMember, members};
use crate::standalone::{CONNECT_TIMEOUT, StandaloneContext, connect};
use crate::state_topic::{self, StateTopicStatus};
use crate::{Error, Settings, topic};

/// Time limit for the first answer of a reader with a time limit when the cause of the failed
/// connection is known.
const KNOWN_CAUSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Time limit of one request to a broker.
const BROKER_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time without a record before the read of a range fails.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum wait of one poll.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// Half-open range of offsets to read in each partition of a topic.
pub type Ranges = BTreeMap<i32, Range<i64>>;

/// Start of a range that ends at the present end of each partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The oldest record.
    Oldest,
    /// This number of newest records; 0 for an empty range.
    Newest(i64),
    /// The first record with a Kafka timestamp from this time on.
    Time(EventTime),
}

/// Record of a topic.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Kind of events in the topic.
    pub kind: Kind,
    /// Number of the partition, from 0.
    pub partition: i32,
    /// Offset in the partition.
    pub offset: i64,
    /// Payload; empty for a tombstone.
    pub payload: &'a [u8],
    /// Parts around the payload.
    pub envelope: &'a dyn Envelope,
}

/// Receiver of records. It returns false to stop the read.
pub type Take<'a> = &'a mut dyn FnMut(Record<'_>) -> bool;

/// Standalone reader.
pub struct Reader<'a> {
    settings: &'a Settings,
    consumer: BaseConsumer<StandaloneContext>,
    deadline: Option<Instant>,
    should_stop: &'a dyn Fn() -> bool,
}

/// Result of one poll.
enum Polled<'a> {
    Record(BorrowedMessage<'a>),
    /// A partition is read to its end. The event does not name its topic.
    End(i32),
    Nothing,
}

impl<'a> Reader<'a> {
    /// Creates the consumer. It sends nothing yet.
    ///
    /// # Errors
    /// [`Error::Configuration`].
    pub fn new(settings: &'a Settings) -> Result<Self, Error> {
        let consumer = settings
            .standalone_consumer()
            .create_with_context(StandaloneContext::new(settings));
        Ok(Self {
            settings,
            consumer: consumer.map_err(|error| Error::of_configuration(&error, settings))?,
            deadline: None,
            should_stop: &|| false,
        })
    }

    /// The reader with a limit on the time of all its work together. A read that it ends is
    /// incomplete, not an error.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        self.deadline = Some(Instant::now() + limit);
        self
    }

    /// The reader with a flag that ends it.
    #[must_use]
    pub fn with_stop(mut self, should_stop: &'a dyn Fn() -> bool) -> Self {
        self.should_stop = should_stop;
        self
    }

    /// Waits for the first answer of a broker.
    ///
    /// # Errors
    /// [`Error::Unanswered`] with the cause and the remedy, or [`Error::NoAnswer`].
    pub fn connect(&self) -> Result<(), Error> {
        let known_cause = match self.deadline {
            Some(_) => KNOWN_CAUSE_TIMEOUT,
            None => CONNECT_TIMEOUT,
        };
        connect(
            self.consumer.client(),
            self.consumer.context(),
            &self.settings.search_topic,
            [CONNECT_TIMEOUT.min(self.left()), known_cause],
            self.should_stop,
            &|| while self.consumer.poll(Duration::from_millis(20)).is_some() {},
        )
    }

    /// Number of partitions of the topic `name`.
    ///
    /// # Errors
    /// The reason for which the topic cannot be read.
    pub fn partitions(&self, name: &str) -> Result<usize, Error> {
        topic::partitions(self.consumer.client(), self.settings, name, self.wait())
    }

    /// Bound of the memory of fetched batches, from the settings of the topics.
    ///
    /// # Errors
    /// If the settings of the topics cannot be read.
    pub fn fetched(&self) -> Result<Fetched, Error> {
        let topics = self.settings.names();
        let accepted = self.settings.accepted(&topics, self.wait())?;
        let brokers = topic::leaders(self.consumer.client(), &topics, self.wait());
        Ok(Fetched {
            bytes: self.settings.fetched_bytes(&accepted, brokers),
            topics: topics.into_iter().zip(accepted).collect(),
        })
    }

    /// Checks that the client may use the consumer group, by a request for its committed offsets.
    ///
    /// # Errors
    /// [`Error::ForbiddenGroup`] or [`Error::SilentGroup`] without permission, else an error of the search
    /// topic.
    pub fn check_group(&self) -> Result<(), Error> {
        let name = &self.settings.search_topic;
        let mut wanted = TopicPartitionList::new();
        wanted.add_partition(name, 0);
        let committed = self.consumer.committed_offsets(wanted, self.wait());
        let checked = committed.and_then(|found| {
            let mut elements = found.elements().into_iter();
            elements.try_for_each(|element| element.error())
        });
        checked.map_err(|error| match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::GroupAuthorizationFailed) => {
                Error::ForbiddenGroup(self.settings.group_id.clone())
            }
            Some(RDKafkaErrorCode::OperationTimedOut) => {
                Error::SilentGroup(self.settings.group_id.clone())
            }
            _ => self.failed(name, &error),
        })
    }

    /// Members of the consumer group. Empty for a group that does not exist.
    ///
    /// # Errors
    /// [`Error::ForbiddenGroup`] or [`Error::NoAnswer`].
    pub fn group_members(&self) -> Result<Vec<GroupMember>, Error> {
        members(self.consumer.client(), self.settings, self.wait())
    }

    /// State topic as it is: its partitions, its policy, and whether its records may be read.
    ///
    /// # Errors
    /// The reason for which it cannot be used.
    pub fn inspect_state_topic(&self, name: &str) -> Result<StateTopicStatus, Error> {
        state_topic::inspect(&self.consumer, self.settings, name, self.wait())
    }

    /// Ranges of the topic with events of `kind`, up to the present end of each partition.
    ///
    /// # Errors
    /// If the topic cannot be read, or a request fails.
    pub fn ranges(&self, kind: Kind, from: From) -> Result<Ranges, Error> {
        let name = self.settings.topic(kind);
        let failed = |error| self.failed(name, &error);
        let mut ranges = Ranges::new();
        for partition in (0..).take(self.partitions(name)?) {
            let watermarks = self.consumer.fetch_watermarks(name, partition, self.wait());
            let (low, high) = watermarks.map_err(failed)?;
            let start = match from {
                From::Oldest => low,
                From::Newest(count) => low.max(high.saturating_sub(count)),
                From::Time(_) => high,
            };
            ranges.insert(partition, start..high);
        }
        let From::Time(EventTime(time)) = from else {
            return Ok(ranges);
        };
        // In this request, the offset field holds a timestamp. Negative ones are special values.
        let since = Offset::Offset(time.max(0));
        let times = ranges.keys().map(|partition| (*partition, since));
        let starts = list(name, times)
            .and_then(|times| self.consumer.offsets_for_times(times, self.wait()))
            .map_err(failed)?;
        for start in starts.elements() {
            start.error().map_err(failed)?;
            // Without a numeric offset, the partition has no record since then.
            if let Offset::Offset(first) = start.offset()
                && let Some(range) = ranges.get_mut(&start.partition())
            {
                range.start = first;
            }
        }
        Ok(ranges)
    }

    /// Passes the records in `ranges` of a topic to `take`. Returns false if `take`, the time limit or
    /// the stop flag ended the read early.
    ///
    /// # Errors
    /// If the topic cannot be read.
    pub fn read(&self, kind: Kind, ranges: Ranges, take: Take<'_>) -> Result<bool, Error> {
        let name = self.settings.topic(kind);
        let mut left = ranges;
        left.retain(|_, range| !range.is_empty());
        let records = |left: &Ranges| left.values().map(|it| it.end - it.start).sum::<i64>();
        info!(topic = name, records = records(&left), "reading topic");
        let starts = left
            .iter()
            .map(|(partition, range)| (*partition, Offset::Offset(range.start)));
        self.assign(
            name,
            &list(name, starts).map_err(|error| self.failed(name, &error))?,
        )?;
        let mut last_progress = Instant::now();
        while !left.is_empty() {
            if (self.should_stop)() || self.left().is_zero() {
                return Ok(false);
            }
            let partition = match self.poll(name)? {
                Polled::Record(message) if message.topic() == name => {
                    let (partition, next) = (message.partition(), message.offset() + 1);
                    // Records after the end are fetched while other partitions are read.
                    let Some(range) = left.get_mut(&partition) else {
                        continue;
                    };
                    last_progress = Instant::now();
                    range.start = next;
                    let (is_wanted, is_last) = (next <= range.end, next >= range.end);
                    let parts = MessageEnvelope(&message);
                    if is_wanted && !take(record(kind, &message, &parts)) {
                        return Ok(false);
                    }
                    is_last.then_some(partition)
                }
                // Compacted records and transaction markers are never delivered.
                Polled::End(partition) => Some(partition),
                Polled::Record(_) | Polled::Nothing => None,
            };
            if let Some(partition) = partition
                && left.remove(&partition).is_some()
            {
                last_progress = Instant::now();
                // Newer records are not fetched.
                list(name, [(partition, Offset::Invalid)])
                    .and_then(|done| self.consumer.pause(&done))
                    .map_err(|error| self.failed(name, &error))?;
            }
            if self.deadline.is_none() && last_progress.elapsed() > STALL_TIMEOUT {
                return Err(Error::Stalled {
                    topic: name.to_owned(),
                    seconds: STALL_TIMEOUT.as_secs(),
                    left: records(&left),
                });
            }
        }
        Ok(true)
    }

    /// Passes the records of both topics to `take`, one topic after the other in this `order`, up to
    /// their present ends.
    ///
    /// # Errors
    /// If a topic cannot be read.
    pub fn read_both(&self, order: [Kind; 2], from: From, take: Take<'_>) -> Result<(), Error> {
        // The ranges of both topics are fixed before any read. Otherwise the second range would end
        // later, and its last events would be read without those of the first topic.
        let order = order
            .iter()
            .filter(|kind| self.settings.kinds().contains(kind));
        let ranges: Vec<_> = order
            .map(|kind| (*kind, self.ranges(*kind, from)))
            .collect();
        for (kind, ranges) in ranges {
            if !self.read(kind, ranges?, take)? {
                break;
            }
        }
        Ok(())
    }

    /// Passes the records of both topics to `take`, until it returns false or the stop flag is set.
    ///
    /// # Errors
    /// If the topics cannot be read.
    pub fn follow(&self, from: From, take: Take<'_>) -> Result<(), Error> {
        let mut starts = TopicPartitionList::new();
        for &kind in self.settings.kinds() {
            let name = self.settings.topic(kind);
            for (partition, range) in self.ranges(kind, from)? {
                starts
                    .add_partition_offset(name, partition, Offset::Offset(range.start))
                    .map_err(|error| self.failed(name, &error))?;
            }
        }
        let name = &self.settings.search_topic;
        self.assign(name, &starts)?;
        while !(self.should_stop)() {
            if let Polled::Record(message) = self.poll(name)?
                && !take(record(
                    self.settings.kind_of(message.topic()),
                    &message,
                    &MessageEnvelope(&message),
                ))
            {
                break;
            }
        }
        Ok(())
    }

    /// Assigns partitions, instead of those of an earlier read.
    fn assign(&self, name: &str, starts: &TopicPartitionList) -> Result<(), Error> {
        assign_resumed(&self.consumer, starts, |starts| {
            self.consumer.assign(starts)
        })
        .map_err(|error| self.failed(name, &error))
    }

    fn poll(&self, name: &str) -> Result<Polled<'_>, Error> {
        match self.consumer.poll(POLL_TIMEOUT) {
            Some(Ok(message)) => Ok(Polled::Record(message)),
            Some(Err(KafkaError::PartitionEOF(partition))) => Ok(Polled::End(partition)),
            Some(Err(error @ KafkaError::MessageConsumptionFatal(_))) => {
                Err(self.failed(name, &error))
            }
            Some(Err(error)) => {
                let code = error.rdkafka_error_code();
                if code == Some(RDKafkaErrorCode::TopicAuthorizationFailed) {
                    return Err(self.failed(name, &error));
                }
                // librdkafka retries after temporary errors.
                debug!(
                    topic = name,
                    error = %self.settings.text_of(&error),
                    "consumer error"
                );
                Ok(Polled::Nothing)
            }
            None => Ok(Polled::Nothing),
        }
    }

    fn failed(&self, name: &str, error: &KafkaError) -> Error {
        Error::of_topic(name, error, self.settings)
    }

    fn left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        })
    }

    /// Time limit of the next request. librdkafka treats 0 as a request without waiting.
    fn wait(&self) -> Duration {
        self.left()
            .clamp(Duration::from_millis(100), BROKER_REQUEST_TIMEOUT)
    }
}

fn record<'a>(
    kind: Kind,
    message: &'a BorrowedMessage<'_>,
    envelope: &'a dyn Envelope,
) -> Record<'a> {
    Record {
        kind,
        partition: message.partition(),
        offset: message.offset(),
        payload: message.payload().unwrap_or_default(),
        envelope,
    }
}
