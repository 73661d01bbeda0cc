//! Reader of a batch that stalls its partition: one batch at a time, with a larger buffer than that of
//! the workers.
//!
//! librdkafka decompresses zstd up to `receive.message.max.bytes`, and reads a batch that it cannot
//! decompress again and again. It reports neither the partition nor the size of the batch.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message as _};
use rdkafka::topic_partition_list::Offset;

use crate::assignment::list;
use crate::standalone::StandaloneContext;
use crate::{Error, Settings};

/// Time for which records after the first one are read. A batch is read much faster.
const READ_TIME: Duration = Duration::from_secs(2);

/// Maximum wait of one poll.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// Reader of single batches of a topic partition.
pub struct Prober<'a> {
    consumer: BaseConsumer<StandaloneContext>,
    topic: &'a str,
    partition: i32,
    limit: Duration,
}

/// Result of reading from an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// All records before this offset were read.
    Until(i64),
    /// The batch at the offset cannot be read.
    Unreadable,
    /// No record and no error arrived in time.
    Unanswered,
}

impl<'a> Prober<'a> {
    /// Creates the reader of a topic partition with a buffer of `buffer` bytes, or the configured
    /// number if that is greater. A read, and a search for an offset, ends after `limit`.
    ///
    /// # Errors
    /// [`Error::Configuration`].
    pub fn new(
        settings: &Settings,
        topic: &'a str,
        partition: i32,
        buffer: u64,
        limit: Duration,
    ) -> Result<Self, Error> {
        let mut client = settings.standalone_consumer();
        let configured = client.get("receive.message.max.bytes");
        let configured = configured.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
        client.set(
            "receive.message.max.bytes",
            buffer.max(configured).to_string(),
        );
        // The broker returns one batch, however large it is. Both names mean the same property.
        client.set("fetch.message.max.bytes", "1");
        client.set("max.partition.fetch.bytes", "1");
        client.set("queued.max.messages.kbytes", "1");
        let consumer = client.create_with_context(StandaloneContext::new(settings));
        Ok(Self {
            consumer: consumer.map_err(|error| Error::of_configuration(&error, settings))?,
            topic,
            partition,
            limit,
        })
    }

    /// Passes the records from `offset` on to `take`, until it returns false or some time has passed.
    pub fn read(&self, offset: i64, take: &mut dyn FnMut(&BorrowedMessage<'_>) -> bool) -> Reading {
        let started = Instant::now();
        let mut next = offset;
        if self.assign(offset).is_err() {
            return Reading::Unanswered;
        }
        let read = |next| match next {
            next if next > offset => Some(Reading::Until(next)),
            _ => None,
        };
        while started.elapsed() < self.limit {
            match self.consumer.poll(POLL_TIMEOUT) {
                Some(Ok(record)) if record.offset() < offset => return Reading::Unanswered,
                Some(Ok(record)) => {
                    if !take(&record) {
                        break;
                    }
                    next = record.offset() + 1;
                    if started.elapsed() > READ_TIME {
                        break;
                    }
                }
                Some(Err(KafkaError::PartitionEOF(_))) => break,
                Some(Err(error)) if is_unreadable(&error) => {
                    return read(next).unwrap_or(Reading::Unreadable);
                }
                Some(Err(_)) | None => {}
            }
        }
        read(next).unwrap_or(Reading::Unanswered)
    }

    /// First offset after the unreadable batch at `offset`; `None` if the broker does not answer in
    /// time. If another unreadable batch follows closely, it can be that of a later batch.
    pub fn after_unreadable(&self, offset: i64) -> Option<i64> {
        let deadline = Instant::now() + self.limit;
        let (_, end) = self
            .consumer
            .fetch_watermarks(self.topic, self.partition, self.limit)
            .ok()?;
        let (mut unreadable, mut step) = (offset, 1);
        let mut readable = loop {
            let at = unreadable.saturating_add(step).min(end);
            if at >= end || self.is_readable(at, deadline)? {
                break at;
            }
            (unreadable, step) = (at, step * 2);
        };
        while readable - unreadable > 1 {
            let middle = unreadable + (readable - unreadable) / 2;
            if self.is_readable(middle, deadline)? {
                readable = middle;
            } else {
                unreadable = middle;
            }
        }
        (readable > offset).then_some(readable)
    }

    /// Returns true if the batch with an offset can be read; `None` without an answer in time.
    fn is_readable(&self, offset: i64, deadline: Instant) -> Option<bool> {
        self.assign(offset).ok()?;
        while Instant::now() < deadline {
            match self.consumer.poll(POLL_TIMEOUT) {
                Some(Ok(record)) => return (record.offset() >= offset).then_some(true),
                Some(Err(KafkaError::PartitionEOF(_))) => return Some(true),
                Some(Err(error)) if is_unreadable(&error) => return Some(false),
                Some(Err(_)) | None => {}
            }
        }
        None
    }

    fn assign(&self, offset: i64) -> Result<(), KafkaError> {
        let start = [(self.partition, Offset::Offset(offset))];
        self.consumer.assign(&list(self.topic, start)?)
    }
}

/// Returns true if librdkafka received a batch that it cannot read.
pub(crate) fn is_unreadable(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::BadCompression
                | RDKafkaErrorCode::BadMessage
                | RDKafkaErrorCode::NotImplemented
        )
    )
}
