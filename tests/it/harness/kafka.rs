//! Real Apache Kafka of one node, and the requests that tests send to it.
//!
//! One broker serves the whole test process; each test uses separate topics and groups. A test that
//! stops or pauses its broker uses a private one. The jars come from `tests/setup.sh`. This module
//! must not know the meaning of the records.

#[allow(
    dead_code,
    reason = "benchmarks include this file, and use no security"
)]
pub(crate) mod security;

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication};
use rdkafka::client::{ClientContext, DefaultClientContext};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, DeliveryResult, Headers as _, Message as _};
use rdkafka::metadata::MetadataPartition;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tempfile::TempDir;

use super::{Program, free_port, scratch_folder, target_directory, wait_until};

/// Time-out of a request to the broker, for a busy machine.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Time-out of a start, for a busy machine; a start usually takes three seconds.
const START_TIMEOUT: Duration = Duration::from_secs(90);
/// Time-out of a clean stop, which usually takes one second.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum record size in bytes; it allows records that the sidecar rejects.
const MAX_RECORD_BYTES: usize = 8 << 20;

/// Returns the broker that all tests share. The first call starts it.
pub(crate) fn broker() -> &'static Broker {
    static SHARED: OnceLock<Broker> = OnceLock::new();
    SHARED.get_or_init(Broker::private)
}

/// Kafka node with broker and controller in one process.
pub(crate) struct Broker {
    /// `None` while stopped. Declared before the folder: dropped first.
    program: Option<Program>,
    folder: TempDir,
    bootstrap: String,
    behind_gate: u16,
    /// Options of its JVM.
    jvm: Vec<String>,
}

/// Producer for topics of one broker.
pub(crate) struct Producer(BaseProducer<Deliveries>);

impl Producer {
    /// Writes records in order and waits until all are stored. A record is key, payload and
    /// partition; without a partition the key decides, as in Kafka's Java producer. Returns the
    /// number of records.
    ///
    /// # Panics
    /// If a record is rejected or not stored in time.
    pub(crate) fn produce<K: AsRef<[u8]>, P: AsRef<[u8]>>(
        &self,
        topic: &str,
        records: impl IntoIterator<Item = (K, P, Option<i32>)>,
    ) -> usize {
        let mut count = 0;
        for (key, payload, partition) in records {
            let mut record = BaseRecord::to(topic)
                .key(key.as_ref())
                .payload(payload.as_ref());
            record.partition = partition;
            while let Err((error, refused)) = self.0.send(record) {
                match error {
                    KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull) => {
                        self.0.poll(Duration::from_millis(10));
                    }
                    other => panic!("cannot produce to {topic}: {other}"),
                }
                record = refused;
            }
            count += 1;
        }
        self.0
            .flush(REQUEST_TIMEOUT)
            .unwrap_or_else(|error| panic!("not all records of {topic} were stored: {error}"));
        let failed = self.0.context().failed.swap(0, Ordering::Relaxed);
        assert_eq!(failed, 0, "records rejected by {topic}");
        count
    }
}

/// Open transaction.
pub(crate) struct Transaction(BaseProducer);

impl Transaction {
    /// Aborts the transaction: consumers that read committed records skip its records.
    pub(crate) fn abort(self) {
        self.0
            .abort_transaction(REQUEST_TIMEOUT)
            .unwrap_or_else(|error| panic!("cannot abort the transaction: {error}"));
    }
}

/// Record stored in a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRecord {
    /// Partition of the record.
    pub(crate) partition: i32,
    /// Offset in the partition.
    pub(crate) offset: i64,
    /// Key; empty if absent.
    pub(crate) key: Vec<u8>,
    /// Payload; empty if absent.
    pub(crate) payload: Vec<u8>,
    /// Headers, as text.
    pub(crate) headers: BTreeMap<String, String>,
}

fn headers(record: &BorrowedMessage<'_>) -> BTreeMap<String, String> {
    let headers = record
        .headers()
        .into_iter()
        .flat_map(|headers| headers.iter());
    headers
        .map(|header| {
            let value = String::from_utf8_lossy(header.value.unwrap_or_default());
            (header.key.to_owned(), value.into_owned())
        })
        .collect()
}

impl Broker {
    /// Starts a private broker, for tests that stop, pause or restart it.
    ///
    /// # Panics
    /// If Kafka is not installed or does not start, with the end of its log.
    pub(crate) fn private() -> Self {
        let mut broker = Self::prepared();
        broker.restart();
        broker
    }

    /// Starts a broker with the JVM of users, for benchmarks.
    #[allow(dead_code, reason = "tests use brokers that start sooner")]
    pub(crate) fn of_a_benchmark() -> Self {
        let mut broker = Self::formatted(None, Vec::new());
        broker.restart();
        broker
    }

    /// Returns a formatted broker with an address that does not run yet, for tests where the
    /// sidecar starts first. [`Broker::restart`] starts the broker.
    pub(crate) fn prepared() -> Self {
        Self::prepared_behind(None)
    }

    /// The same as [`Broker::prepared`], with a second listener that advertises `gate`, a loopback
    /// port, for clients that connect through a proxy of the test. The proxy forwards to the port
    /// [`Broker::behind_gate`].
    pub(crate) fn prepared_behind(gate: Option<u16>) -> Self {
        Self::formatted(gate, jvm_of_a_test())
    }

    fn formatted(gate: Option<u16>, jvm: Vec<String>) -> Self {
        let folder = scratch_folder("kafka");
        let port = free_port();
        let behind_gate = free_port();
        let settings = folder.path().join("server.properties");
        let gate = gate.map(|gate| (behind_gate, gate));
        fs::write(&settings, server_properties(port, gate, folder.path()))
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", settings.display()));
        format_storage(&settings, &[], &jvm);
        Self {
            program: None,
            folder,
            bootstrap: format!("127.0.0.1:{port}"),
            behind_gate,
            jvm,
        }
    }

    /// Port of the listener for clients that connect through the gate.
    pub(crate) fn behind_gate(&self) -> u16 {
        self.behind_gate
    }

    /// Value of `bootstrap.servers` for clients.
    pub(crate) fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Stops the broker cleanly. Records and address are kept.
    pub(crate) fn stop(&mut self) {
        if let Some(mut program) = self.program.take() {
            program.terminate(STOP_TIMEOUT);
        }
    }

    /// Starts the broker, after a stop if it runs, and waits until it responds.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let mut program = Program::start(
            "the Kafka broker",
            java(&self.jvm)
                .arg("-Xmx512m")
                .arg(format!("-Dlog4j2.configurationFile={}", log_settings()))
                .arg("kafka.Kafka")
                .arg(self.folder.path().join("server.properties")),
            self.folder.path(),
            self.folder.path().join("broker.log"),
            NO_JAVA,
        );
        let client: BaseConsumer = self.client("harness");
        wait_until(START_TIMEOUT, "the Kafka broker responds", || {
            program.assert_running();
            // The request waits for a connection.
            let metadata = client.fetch_metadata(None, Duration::from_secs(5)).ok()?;
            (metadata.brokers().len() == 1).then_some(())
        });
        self.program = Some(program);
    }

    /// Pauses the broker: connections stay open without responses.
    pub(crate) fn pause(&self) {
        self.running().pause();
    }

    /// Resumes the broker after [`Broker::pause`].
    pub(crate) fn resume(&self) {
        self.running().resume();
    }

    fn running(&self) -> &Program {
        self.program
            .as_ref()
            .expect("invariant: only a running broker is paused")
    }

    /// Creates a topic and waits until every partition has its leader.
    pub(crate) fn create_topic(&self, name: &str, partitions: usize) {
        self.create_topic_with(name, partitions, &[]);
    }

    /// The same as [`Broker::create_topic`], with settings of the topic.
    pub(crate) fn create_topic_with(
        &self,
        name: &str,
        partitions: usize,
        settings: &[(&str, &str)],
    ) {
        let count = i32::try_from(partitions).expect("invariant: tests use few partitions");
        let topic = NewTopic::new(name, count, TopicReplication::Fixed(1));
        let topic = (settings.iter()).fold(topic, |topic, (name, value)| topic.set(name, value));
        let created = block_on(self.admin().create_topics([&topic], &admin_options()))
            .unwrap_or_else(|error| panic!("cannot create topic {name}: {error}"));
        for result in created {
            result.unwrap_or_else(|(_, code)| panic!("cannot create topic {name}: {code}"));
        }
        self.await_leaders(name, partitions);
    }

    /// Creates a topic with one partition that is compacted as soon as possible.
    pub(crate) fn create_compacted_topic(&self, name: &str) {
        let settings = [
            ("cleanup.policy", "compact"),
            ("segment.ms", "50"),
            ("min.cleanable.dirty.ratio", "0.001"),
            ("max.compaction.lag.ms", "1"),
        ];
        self.create_topic_with(name, 1, &settings);
    }

    /// Number of records that partition 0 of a topic still has.
    pub(crate) fn count_records(&self, topic: &str) -> u64 {
        let consumer: BaseConsumer = (self.settings())
            .set("group.id", "harness")
            .set("enable.partition.eof", "true")
            .create()
            .unwrap_or_else(|error| panic!("no Kafka consumer: {error}"));
        let mut assignment = TopicPartitionList::new();
        assignment
            .add_partition_offset(topic, 0, Offset::Beginning)
            .and_then(|()| consumer.assign(&assignment))
            .unwrap_or_else(|error| panic!("cannot read {topic}: {error}"));
        let mut records = 0;
        loop {
            match consumer.poll(REQUEST_TIMEOUT) {
                Some(Ok(_)) => records += 1,
                Some(Err(KafkaError::PartitionEOF(_))) => return records,
                other => panic!("cannot read {topic}: {other:?}"),
            }
        }
    }

    /// Opens a transaction with one record in a partition of a topic.
    pub(crate) fn open_transaction(&self, topic: &str, partition: i32) -> Transaction {
        let producer: BaseProducer = self
            .settings()
            .set("transactional.id", unique_name("transaction"))
            .create()
            .unwrap_or_else(|error| panic!("no Kafka producer: {error}"));
        let record = BaseRecord::to(topic)
            .key("key")
            .payload("{}")
            .partition(partition);
        producer
            .init_transactions(REQUEST_TIMEOUT)
            .and_then(|()| producer.begin_transaction())
            .and_then(|()| producer.send(record).map_err(|(error, _)| error))
            .and_then(|()| producer.flush(REQUEST_TIMEOUT))
            .unwrap_or_else(|error| panic!("no transaction on {topic}: {error}"));
        Transaction(producer)
    }

    /// Creates a topic if possible: a topic of this name may still be in deletion. Returns true if
    /// it was created.
    pub(crate) fn try_create_topic(&self, name: &str, partitions: usize) -> bool {
        let count = i32::try_from(partitions).expect("invariant: tests use few partitions");
        let topic = NewTopic::new(name, count, TopicReplication::Fixed(1));
        let created = block_on(self.admin().create_topics([&topic], &admin_options()))
            .is_ok_and(|created| created.iter().all(Result::is_ok));
        if created {
            self.await_leaders(name, partitions);
        }
        created
    }

    fn await_leaders(&self, name: &str, partitions: usize) {
        let client: BaseConsumer = self.client("harness");
        wait_until(REQUEST_TIMEOUT, "the leaders of the topic answer", || {
            let metadata = client.fetch_metadata(Some(name), REQUEST_TIMEOUT).ok()?;
            let found = metadata.topics().first()?.partitions();
            // librdkafka loses records of a producer that does not wait for the answer.
            let answers = |partition: &MetadataPartition| {
                let offsets = client.fetch_watermarks(name, partition.id(), REQUEST_TIMEOUT);
                partition.leader() >= 0 && offsets.is_ok()
            };
            (found.len() == partitions && found.iter().all(answers)).then_some(())
        });
    }

    /// Increases the number of partitions of a topic to `partitions`.
    pub(crate) fn grow_topic(&self, name: &str, partitions: usize) {
        let wanted = [&NewPartitions::new(name, partitions)];
        let grown = block_on(self.admin().create_partitions(wanted, &admin_options()))
            .unwrap_or_else(|error| panic!("cannot grow topic {name}: {error}"));
        for result in grown {
            result.unwrap_or_else(|(_, code)| panic!("cannot grow topic {name}: {code}"));
        }
        self.await_leaders(name, partitions);
    }

    /// Deletes a topic with its committed offsets.
    pub(crate) fn delete_topic(&self, name: &str) {
        let deleted = block_on(self.admin().delete_topics(&[name], &admin_options()))
            .unwrap_or_else(|error| panic!("cannot delete topic {name}: {error}"));
        for result in deleted {
            result.unwrap_or_else(|(_, code)| panic!("cannot delete topic {name}: {code}"));
        }
    }

    /// Deletes the records of a partition before an offset, as retention does.
    pub(crate) fn delete_records(&self, topic: &str, partition: i32, before: i64) {
        let mut offsets = TopicPartitionList::new();
        offsets
            .add_partition_offset(topic, partition, Offset::Offset(before))
            .expect("invariant: offsets are not negative");
        let deleted = block_on(self.admin().delete_records(&offsets, &admin_options()))
            .unwrap_or_else(|error| panic!("cannot delete records of {topic}: {error}"));
        for element in deleted.elements() {
            element
                .error()
                .unwrap_or_else(|error| panic!("cannot delete records of {topic}: {error}"));
        }
    }

    /// Creates a search topic and a feedback topic with the same number of partitions. Returns
    /// their names.
    pub(crate) fn unique_topics(&self, prefix: &str, partitions: usize) -> (String, String) {
        let name = unique_name(prefix);
        let (search, feedback) = (format!("{name}.search"), format!("{name}.feedback"));
        self.create_topic(&search, partitions);
        self.create_topic(&feedback, partitions);
        (search, feedback)
    }

    /// Writes records with [`Producer::produce`].
    pub(crate) fn produce<K: AsRef<[u8]>, P: AsRef<[u8]>>(
        &self,
        topic: &str,
        records: impl IntoIterator<Item = (K, P, Option<i32>)>,
    ) -> usize {
        self.producer().produce(topic, records)
    }

    /// Returns a producer for repeated writes: a new producer takes half a second to get its id.
    pub(crate) fn producer(&self) -> Producer {
        let producer = self
            .settings()
            // Retries neither reorder nor duplicate records.
            .set("enable.idempotence", "true")
            .set("partitioner", "murmur2_random")
            .set("message.max.bytes", MAX_RECORD_BYTES.to_string())
            .create_with_context(Deliveries::default())
            .unwrap_or_else(|error| panic!("no Kafka producer: {error}"));
        Producer(producer)
    }

    /// Writes records to partition 0 of `topic` as one batch compressed with `codec`.
    pub(crate) fn produce_batch(&self, topic: &str, codec: &str, records: &[Vec<u8>]) {
        let producer = self
            .settings()
            .set("compression.type", codec)
            .set("message.max.bytes", "1000000000")
            .set("batch.size", "1000000000")
            // All records are in the queue by then.
            .set("linger.ms", "3000")
            .create_with_context(Deliveries::default())
            .unwrap_or_else(|error| panic!("no Kafka producer: {error}"));
        let records = records.iter().map(|payload| ("", payload, Some(0)));
        Producer(producer).produce(topic, records);
    }

    /// Returns a producer of batches of `records` records each, compressed with `codec`.
    pub(crate) fn batch_producer(&self, codec: &str, records: usize) -> Producer {
        let producer = self
            .settings()
            .set("compression.type", codec)
            .set("message.max.bytes", "1000000000")
            .set("batch.size", "1000000000")
            .set("batch.num.messages", records.to_string())
            // A batch is sent when it is full.
            .set("linger.ms", "60000")
            .create_with_context(Deliveries::default())
            .unwrap_or_else(|error| panic!("no Kafka producer: {error}"));
        Producer(producer)
    }

    /// Damages the compressed content of the last batch in partition 0 of `topic`. The broker is
    /// stopped.
    pub(crate) fn damage_last_batch(&self, topic: &str) {
        assert!(self.program.is_none(), "the broker is stopped");
        let log = format!("data/{topic}-0/00000000000000000000.log");
        let path = self.folder.path().join(log);
        let mut bytes = fs::read(&path).expect("the log of the partition");
        let mut last = 0;
        loop {
            let length = &bytes[last + 8..last + 12];
            let length = u32::from_be_bytes(length.try_into().expect("four bytes"));
            let next = last + 12 + length as usize;
            if next >= bytes.len() {
                break;
            }
            last = next;
        }
        // The header of a batch has 61 bytes.
        bytes[last + 61..].fill(0xff);
        fs::write(&path, bytes).expect("the log can be written");
    }

    /// Commits an offset of a group without members, as an operator does.
    pub(crate) fn commit_offset(&self, group: &str, topic: &str, partition: i32, offset: i64) {
        let consumer: BaseConsumer = self.client(group);
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition, Offset::Offset(offset))
            .expect("invariant: an offset is valid");
        consumer
            .commit(&list, CommitMode::Sync)
            .unwrap_or_else(|error| panic!("cannot commit for {group}: {error}"));
    }

    /// Reads all current records of `topic`, sorted by partition and offset.
    pub(crate) fn consume(&self, topic: &str) -> Vec<StoredRecord> {
        let ends = self.end_offsets(topic);
        let consumer: BaseConsumer = self.client("harness");
        let mut assignment = TopicPartitionList::new();
        let mut missing = 0;
        for (partition, end) in (0..).zip(&ends) {
            assignment
                .add_partition_offset(topic, partition, Offset::Beginning)
                .expect("invariant: the beginning is a valid offset");
            missing += end;
        }
        consumer
            .assign(&assignment)
            .unwrap_or_else(|error| panic!("cannot read {topic}: {error}"));
        let mut records = Vec::new();
        while missing > 0 {
            let message = consumer
                .poll(REQUEST_TIMEOUT)
                .unwrap_or_else(|| panic!("{topic}: {missing} records not received"))
                .unwrap_or_else(|error| panic!("cannot read {topic}: {error}"));
            records.push(StoredRecord {
                partition: message.partition(),
                offset: message.offset(),
                key: message.key().unwrap_or_default().to_vec(),
                payload: message.payload().unwrap_or_default().to_vec(),
                headers: headers(&message),
            });
            missing -= 1;
        }
        records.sort_by_key(|record| (record.partition, record.offset));
        records
    }

    /// Offset after the last record, by partition.
    pub(crate) fn end_offsets(&self, topic: &str) -> Vec<i64> {
        let client: BaseConsumer = self.client("harness");
        (0..partition_count(&client, topic))
            .map(|partition| {
                client
                    .fetch_watermarks(topic, partition, REQUEST_TIMEOUT)
                    .unwrap_or_else(|error| panic!("no offsets of {topic}/{partition}: {error}"))
                    .1
            })
            .collect()
    }

    /// Committed offsets of a group for a topic, by partition; partitions without one are absent.
    pub(crate) fn committed_offsets(&self, group: &str, topic: &str) -> BTreeMap<i32, i64> {
        let committed = self.committed(group, topic).into_iter();
        committed
            .map(|(partition, (offset, _))| (partition, offset))
            .collect()
    }

    /// Metadata of the committed offsets, by partition.
    pub(crate) fn committed_metadata(&self, group: &str, topic: &str) -> BTreeMap<i32, String> {
        let committed = self.committed(group, topic).into_iter();
        committed
            .map(|(partition, (_, metadata))| (partition, metadata))
            .collect()
    }

    /// Offsets after the last record of a topic, by partition.
    pub(crate) fn ends(&self, topic: &str) -> BTreeMap<i32, i64> {
        let client: BaseConsumer = self.client("harness");
        let end = |partition| {
            let offsets = client.fetch_watermarks(topic, partition, REQUEST_TIMEOUT);
            offsets
                .unwrap_or_else(|error| panic!("no offsets of {topic} [{partition}]: {error}"))
                .1
        };
        (0..partition_count(&client, topic))
            .map(|partition| (partition, end(partition)))
            .collect()
    }

    fn committed(&self, group: &str, topic: &str) -> BTreeMap<i32, (i64, String)> {
        let client: BaseConsumer = self.client(group);
        let mut wanted = TopicPartitionList::new();
        for partition in 0..partition_count(&client, topic) {
            wanted.add_partition(topic, partition);
        }
        client
            .committed_offsets(wanted, REQUEST_TIMEOUT)
            .unwrap_or_else(|error| panic!("no committed offsets of {group}: {error}"))
            .elements()
            .iter()
            .filter_map(|element| match element.offset() {
                Offset::Offset(offset) => {
                    let metadata = element.metadata().to_owned();
                    Some((element.partition(), (offset, metadata)))
                }
                _ => None,
            })
            .collect()
    }

    /// Current number of members of a group.
    pub(crate) fn group_members(&self, group: &str) -> usize {
        let client: BaseConsumer = self.client("harness");
        let groups = client
            .fetch_group_list(Some(group), REQUEST_TIMEOUT)
            .unwrap_or_else(|error| panic!("cannot list group {group}: {error}"));
        groups
            .groups()
            .iter()
            .map(|found| found.members().len())
            .sum()
    }

    /// Deletes a group and its offsets after its members have left.
    pub(crate) fn delete_group(&self, group: &str) {
        let admin = self.admin();
        wait_until(
            REQUEST_TIMEOUT,
            "the members of the group leave before its deletion",
            || {
                let results = block_on(admin.delete_groups(&[group], &admin_options())).ok()?;
                results
                    .iter()
                    .all(|result| {
                        matches!(result, Ok(_) | Err((_, RDKafkaErrorCode::GroupIdNotFound)))
                    })
                    .then_some(())
            },
        );
    }

    fn settings(&self) -> ClientConfig {
        let mut settings = ClientConfig::new();
        settings.set("bootstrap.servers", &self.bootstrap);
        // Short backoff: clients reconnect immediately to a restarted broker.
        settings.set("reconnect.backoff.max.ms", "200");
        settings
    }

    /// Standalone consumer that commits nothing; it reads the offsets of `group`.
    fn client(&self, group: &str) -> BaseConsumer {
        self.settings()
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .set("fetch.queue.backoff.ms", "2")
            .create()
            .unwrap_or_else(|error| panic!("no Kafka client: {error}"))
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        self.settings()
            .create()
            .unwrap_or_else(|error| panic!("no Kafka admin client: {error}"))
    }
}

/// Returns a name for a topic or a group that is unique in this process.
pub(crate) fn unique_name(prefix: &str) -> String {
    static GIVEN: AtomicUsize = AtomicUsize::new(0);
    format!("{prefix}-{}", GIVEN.fetch_add(1, Ordering::Relaxed))
}

/// Number of records that the broker rejected.
#[derive(Default)]
struct Deliveries {
    failed: AtomicUsize,
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        // librdkafka reports a lost record as delivered, without an offset.
        if !result.as_ref().is_ok_and(|record| record.offset() >= 0) {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn partition_count(client: &BaseConsumer, topic: &str) -> i32 {
    let metadata = client
        .fetch_metadata(Some(topic), REQUEST_TIMEOUT)
        .unwrap_or_else(|error| panic!("no metadata of {topic}: {error}"));
    let count = metadata
        .topics()
        .first()
        .map_or(0, |found| found.partitions().len());
    assert!(count > 0, "topic {topic} does not exist");
    i32::try_from(count).expect("invariant: tests use few partitions")
}

fn admin_options() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(REQUEST_TIMEOUT))
        .operation_timeout(Some(REQUEST_TIMEOUT))
}

/// Waits for an admin request: a future that a librdkafka thread completes.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("invariant: a runtime without drivers needs nothing")
        .block_on(future)
}

const NO_JAVA: &str = "run tests/setup.sh, which installs Java";

/// Returns the options of a JVM that runs for a test: without the optimising compiler, and with classes that are mapped
/// from an archive instead of loaded and verified. A start then takes 2 seconds of processor time instead of 7.5.
///
/// The first call on a machine writes the archive of its version of Java. Without it, a start takes longer.
fn jvm_of_a_test() -> Vec<String> {
    static OPTIONS: OnceLock<Vec<String>> = OnceLock::new();
    let options = OPTIONS.get_or_init(|| {
        let with = |option: String| {
            let compiler = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];
            let compiler = compiler.into_iter().map(str::to_owned);
            compiler.chain([option]).collect::<Vec<String>>()
        };
        let archive = format!("classes-{}.jsa", java_version());
        let archive = target_directory().join("kafka").join(archive);
        if !archive.is_file() {
            // Another test process may write it as well.
            let draft = archive.with_extension(std::process::id().to_string());
            let option = format!("-XX:ArchiveClassesAtExit={}", draft.display());
            let mut broker = Broker::formatted(None, with(option));
            broker.restart();
            broker.stop();
            // Not every JVM writes it.
            fs::rename(&draft, &archive).ok();
        }
        if archive.is_file() {
            with(format!("-XX:SharedArchiveFile={}", archive.display()))
        } else {
            with("-Xshare:auto".to_owned())
        }
    });
    options.clone()
}

/// Version of the JVM, such as 17.0.9.
fn java_version() -> String {
    let output = Command::new("java").arg("-version").output();
    let printed = output.expect("java starts").stderr;
    let printed = String::from_utf8_lossy(&printed);
    let version = printed.split('"').nth(1);
    version.expect("a version in quotation marks").to_owned()
}

/// Returns a command that runs the JVM with these options and Kafka's classes.
fn java(options: &[String]) -> Command {
    let jars = target_directory().join("kafka").join("libs");
    assert!(
        jars.is_dir(),
        "Kafka is not in {}; run tests/setup.sh, which fetches it",
        jars.display()
    );
    let mut command = Command::new("java");
    command.args(options).arg("-cp").arg(jars.join("*"));
    command
}

fn log_settings() -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kafka/log4j2.properties")
        .display()
        .to_string()
}

/// Writes the cluster id and the first metadata, which a broker requires, with users of SCRAM.
fn format_storage(settings: &Path, users: &[String], jvm: &[String]) {
    // Any 16 bytes in base64; every broker is a separate cluster.
    const CLUSTER_ID: &str = "cmFua2dhdWdlLXRlc3RzLg";
    let output = java(jvm)
        .arg(format!("-Dlog4j2.configurationFile={}", log_settings()))
        .args(["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c"])
        .arg(settings)
        .args(users.iter().flat_map(|user| ["--add-scram", user]))
        .output()
        .unwrap_or_else(|error| panic!("cannot start java: {error}; {NO_JAVA}"));
    assert!(
        output.status.success(),
        "cannot format Kafka's storage: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Returns the configuration of a single node: internal topics have one replica, groups form
/// without delay, topics are not created automatically. With a gate, a second listener for clients
/// uses the first of the two ports and advertises the second.
fn server_properties(port: u16, gate: Option<(u16, u16)>, folder: &Path) -> String {
    let controller = free_port();
    let data = folder.join("data");
    let [behind_gate, at_gate] = gate.map_or_else(Default::default, |(behind, at)| {
        [behind, at].map(|port| format!(",GATE://127.0.0.1:{port}"))
    });
    format!(
        "process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{behind_gate}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}{at_gate}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,GATE:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.cleaner.backoff.ms=1000
message.max.bytes={MAX_RECORD_BYTES}
",
        data = data.display(),
    )
}
