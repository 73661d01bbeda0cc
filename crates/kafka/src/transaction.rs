//! Transactions of a forwarder: records of internal topics with the positions of the source topics up to
//! which they were read.
//!
//! A failed transaction is not repaired: the forwarder drops it and connects again with the same
//! transactional id, which ends it. The committed positions say where to continue.

use std::time::Duration;

use rdkafka::consumer::ConsumerGroupMetadata;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{Header, Headers, OwnedHeaders, OwnedMessage};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::{Message, Timestamp, TopicPartitionList};

use rankgauge_core::engine::position::Join;
use rankgauge_core::event::Kind;

use crate::producer::{Deliveries, Tally};
use crate::{Error, Settings};

/// Time after which the brokers abort a transaction whose producer is gone. The readers of the internal
/// topics wait as long.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit of the requests of a transaction.
const BROKER_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of the records that wait for the brokers.
const QUEUE_BYTES: u64 = 128 << 20;

/// Name of the header with the source of a record.
pub const SOURCE: &str = "rankgauge.source";

/// Name of the header of a report about sources.
const REPORT: &str = "rankgauge.sources";

/// Producer of internal topics with an open transaction.
pub struct Transaction {
    producer: BaseProducer<Deliveries<Tally>>,
    settings: Settings,
    id: String,
    topics: [String; 2],
    bytes: usize,
    /// Cause of the failure, if the transaction failed.
    problem: Option<String>,
}

impl Settings {
    /// Maximum memory of the records that the forwarder of a worker holds, in bytes; 0 without forwarders.
    pub fn forwarder_bytes(&self) -> u64 {
        match self.join {
            Join::Partition | Join::All => 0,
            Join::Repartition => QUEUE_BYTES,
        }
    }
}

/// Producer with a transactional id.
fn producer(
    settings: &Settings,
    id: &str,
    name: &str,
) -> Result<BaseProducer<Deliveries<Tally>>, Error> {
    let mut client = settings.client();
    // They must be below the time-out of the transaction, from which librdkafka derives them.
    for time_out in [
        "socket.timeout.ms",
        "message.timeout.ms",
        "delivery.timeout.ms",
    ] {
        client.remove(time_out);
    }
    client
        .set("client.id", name)
        .set("transactional.id", id)
        .set(
            "transaction.timeout.ms",
            TRANSACTION_TIMEOUT.as_millis().to_string(),
        )
        .set("linger.ms", "5")
        // The broker accepted the original record, and the limit of the topic applies to this one.
        .set("message.max.bytes", "104857600")
        .set(
            "queue.buffering.max.kbytes",
            (QUEUE_BYTES >> 10).to_string(),
        );
    client
        .create_with_context(Deliveries::new(settings, Tally::default()))
        .map_err(|error| Error::of_configuration(&error, settings))
}

fn failed(settings: &Settings, id: &str, error: &KafkaError) -> Error {
    Error::Transaction {
        id: id.to_owned(),
        error: settings.text_of(error),
    }
}

/// Place of a record in its source topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// Number of the partition, from 0.
    pub partition: i32,
    /// Offset in the partition.
    pub offset: i64,
    /// Time that Kafka states, in milliseconds since the epoch.
    pub time: Option<i64>,
}

/// Content of a record of an internal topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Internal {
    /// Record of a source topic.
    Record(SourcePlace),
    /// Report about sources.
    Report,
    /// Record of another producer.
    Foreign,
}

impl Transaction {
    /// Connects, ends an earlier transaction of worker `number` of the process, and begins one.
    ///
    /// # Errors
    /// If librdkafka refuses the configuration, or the brokers refuse transactions or do not answer.
    pub fn connect(settings: &Settings, process: u64, number: usize) -> Result<Self, Error> {
        let id = settings.transactional_id(process, number);
        let name = format!("rankgauge-forwarder-{number}");
        let producer = producer(settings, &id, &name)?;
        let begun = producer
            .init_transactions(BROKER_REQUEST_TIMEOUT)
            .and_then(|()| producer.begin_transaction());
        begun.map_err(|error| failed(settings, &id, &error))?;
        Ok(Self {
            producer,
            settings: settings.clone(),
            id,
            topics: Kind::ALL.map(|kind| settings.internal_topic(kind)),
            bytes: 0,
            problem: None,
        })
    }

    /// Checks that a forwarder may use its transactional ids, by a transaction that has no records and an
    /// id that no forwarder has.
    ///
    /// # Errors
    /// If the brokers refuse it or do not answer.
    pub fn try_out(settings: &Settings) -> Result<(), Error> {
        let id = format!("{}-check", settings.forwarder_group());
        let producer = producer(settings, &id, "rankgauge-check")?;
        let begun = producer.init_transactions(BROKER_REQUEST_TIMEOUT);
        begun.map_err(|error| failed(settings, &id, &error))
    }

    /// Copies a record of the topic of a kind to a partition of its internal topic.
    pub fn copy(&mut self, kind: Kind, record: &impl Message, partition: i32) {
        let time = record.timestamp().to_millis();
        let source = format!(
            "{}:{}:{}",
            record.partition(),
            record.offset(),
            time.map(|it| it.to_string()).unwrap_or_default()
        );
        let headers = record.headers();
        let number = headers.map_or(0, Headers::count);
        let headers = headers.into_iter().flat_map(Headers::iter);
        let copied = headers.fold(
            OwnedHeaders::new_with_capacity(number + 1),
            |copied, header| {
                copied.insert(Header {
                    key: header.key,
                    value: header.value,
                })
            },
        );
        let headers = copied.insert(Header {
            key: SOURCE,
            value: Some(&source),
        });
        self.send(kind, partition, [record.key(), record.payload()], headers);
    }

    /// Writes a report about sources to a partition of the internal topic of a kind.
    pub fn report(&mut self, kind: Kind, partition: i32, report: &[u8]) {
        let headers = OwnedHeaders::new_with_capacity(1).insert(Header {
            key: REPORT,
            value: Some("1"),
        });
        self.send(kind, partition, [None, Some(report)], headers);
    }

    fn send(
        &mut self,
        kind: Kind,
        partition: i32,
        [key, payload]: [Option<&[u8]>; 2],
        headers: OwnedHeaders,
    ) {
        if self.problem.is_some() {
            return;
        }
        let topic = self.topics[kind.index()].clone();
        let mut record: BaseRecord<'_, [u8], [u8]> =
            BaseRecord::to(&topic).partition(partition).headers(headers);
        record.key = key;
        record.payload = payload;
        self.bytes += payload.map_or(0, <[u8]>::len);
        // While the queue is full, the transaction times out at last, and then no record is accepted.
        while let Err((problem, refused)) = self.producer.send(record) {
            if problem.rdkafka_error_code() != Some(RDKafkaErrorCode::QueueFull) {
                self.problem = Some(self.settings.text_of(&problem));
                return;
            }
            self.producer.poll(Duration::from_millis(10));
            record = refused;
        }
        self.producer.poll(Duration::ZERO);
    }

    /// Size of the records of the transaction in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Fails if the transaction failed. It must be dropped then.
    ///
    /// # Errors
    /// [`Error::Transaction`].
    pub fn check(&self) -> Result<(), Error> {
        self.problem.as_ref().map_or(Ok(()), |problem| {
            Err(Error::Transaction {
                id: self.id.clone(),
                error: problem.clone(),
            })
        })
    }

    /// Gives the transaction up, because the group has removed its member.
    pub fn give_up(&mut self) {
        let problem = || "the group has removed the forwarder".to_owned();
        self.problem.get_or_insert_with(problem);
    }

    /// Commits the records with the positions of `group`, and begins the next transaction.
    pub(crate) fn commit(
        &mut self,
        offsets: &TopicPartitionList,
        group: Option<&ConsumerGroupMetadata>,
    ) -> KafkaResult<()> {
        self.bytes = 0;
        let committed = self.try_commit(offsets, group);
        if let Err(problem) = &committed {
            let text = || self.settings.text_of(problem);
            let failure = self.producer.context().reports.failures().1.take();
            let problem = failure.unwrap_or_else(text);
            self.problem.get_or_insert(problem);
        }
        committed
    }

    fn try_commit(
        &self,
        offsets: &TopicPartitionList,
        group: Option<&ConsumerGroupMetadata>,
    ) -> KafkaResult<()> {
        let failed = KafkaError::Global(RDKafkaErrorCode::InvalidTransactionalState);
        let group = group.filter(|_| self.problem.is_none());
        let group = group.ok_or(failed.clone())?;
        // librdkafka would wait for the reports of the deliveries, which only this call serves.
        self.producer.flush(TRANSACTION_TIMEOUT)?;
        if self.producer.context().reports.failures().0 > 0 {
            return Err(failed);
        }
        self.producer
            .send_offsets_to_transaction(offsets, group, BROKER_REQUEST_TIMEOUT)?;
        self.producer.commit_transaction(BROKER_REQUEST_TIMEOUT)?;
        self.producer.begin_transaction()
    }
}

impl Internal {
    /// Content of a record of an internal topic.
    pub fn of(record: &impl Message) -> Self {
        let Some(headers) = record.headers() else {
            return Self::Foreign;
        };
        // The forwarder appends its header to those of the record.
        let Some(last) = headers.count().checked_sub(1) else {
            return Self::Foreign;
        };
        match headers.try_get(last) {
            Some(header) if header.key == SOURCE => {
                let place = header.value.and_then(place);
                place.map_or(Self::Foreign, Self::Record)
            }
            Some(header) if header.key == REPORT => Self::Report,
            _ => Self::Foreign,
        }
    }
}

/// Record of an internal topic as it is in its source topic `topic`. A record of another producer keeps its
/// place.
pub fn source(record: &impl Message, topic: &str) -> OwnedMessage {
    let place = Internal::of(record);
    let (at, time) = match place {
        Internal::Record(place) => {
            let time = place
                .time
                .map_or(Timestamp::NotAvailable, Timestamp::CreateTime);
            ((place.partition, place.offset), time)
        }
        Internal::Report | Internal::Foreign => {
            ((record.partition(), record.offset()), record.timestamp())
        }
    };
    let is_copied = matches!(place, Internal::Record(_));
    let headers = record.headers();
    let number = headers.map_or(0, |headers| headers.count() - usize::from(is_copied));
    let headers = headers.into_iter().flat_map(Headers::iter);
    let headers = headers.take(number);
    let headers = headers.fold(OwnedHeaders::new_with_capacity(number), |kept, header| {
        kept.insert(Header {
            key: header.key,
            value: header.value,
        })
    });
    OwnedMessage::new(
        record.payload().map(<[u8]>::to_vec),
        record.key().map(<[u8]>::to_vec),
        topic.to_owned(),
        time,
        at.0,
        at.1,
        (number > 0).then_some(headers),
    )
}

/// Parses `partition:offset:time`.
fn place(value: &[u8]) -> Option<SourcePlace> {
    let mut fields = std::str::from_utf8(value).ok()?.splitn(3, ':');
    Some(SourcePlace {
        partition: fields.next()?.parse().ok()?,
        offset: fields.next()?.parse().ok()?,
        time: match fields.next()? {
            "" => None,
            time => Some(time.parse().ok()?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_has_partition_offset_and_an_optional_time() {
        let expected = |time| SourcePlace {
            partition: 3,
            offset: 41,
            time,
        };
        assert_eq!(
            place(b"3:41:1700000000000"),
            Some(expected(Some(1_700_000_000_000)))
        );
        assert_eq!(place(b"3:41:"), Some(expected(None)));
        for wrong in ["", "3", "3:41", "x:41:", "3:41:5:6", "\u{e9}:1:"] {
            assert_eq!(place(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
