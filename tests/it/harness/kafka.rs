//! A real Apache Kafka of one node, and what tests ask of it.
//!
//! One broker serves the whole test process; tests keep apart by topics and groups of their own.
//! A test that stops or pauses its broker takes a private one. The jars come from
//! `tests/setup.sh`. Nothing here knows what the records mean.

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
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, DeliveryResult, Headers as _, Message as _};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tempfile::TempDir;

use super::{Program, free_port, scratch_folder, target_directory, wait_until};

/// What a request to the broker may take on a busy machine.
const REQUEST: Duration = Duration::from_secs(30);
/// What a start may take on a busy machine; usually three seconds.
const START: Duration = Duration::from_secs(90);
/// What a clean stop may take; usually one second.
const STOP: Duration = Duration::from_secs(30);
/// Largest record in bytes, so that tests can send some that the sidecar refuses.
const LARGEST_RECORD: usize = 8 << 20;

/// The broker that all tests share, started by whoever asks first.
pub(crate) fn broker() -> &'static Broker {
    static SHARED: OnceLock<Broker> = OnceLock::new();
    SHARED.get_or_init(Broker::private)
}

/// One Kafka node, broker and controller in one process.
pub(crate) struct Broker {
    /// `None` while it is stopped. Ahead of the folder, so that it has ended when that goes.
    program: Option<Program>,
    folder: TempDir,
    bootstrap: String,
    behind_gate: u16,
}

/// Writes records to topics of one broker.
pub(crate) struct Producer(BaseProducer<Deliveries>);

impl Producer {
    /// Writes records (key, payload, partition; without one the key decides, as in Kafka's own
    /// producer) in their order and waits until all are stored. How many there were.
    ///
    /// # Panics
    /// When a record is refused or not stored in time.
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
            .flush(REQUEST)
            .unwrap_or_else(|error| panic!("not all records of {topic} were stored: {error}"));
        let failed = self.0.context().failed.swap(0, Ordering::Relaxed);
        assert_eq!(failed, 0, "records that {topic} did not take");
        count
    }
}

/// A record as it lies in a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    /// The partition it was written to.
    pub(crate) partition: i32,
    /// Its place in that partition.
    pub(crate) offset: i64,
    /// Its key; empty when it has none.
    pub(crate) key: Vec<u8>,
    /// Its payload; empty when it has none.
    pub(crate) payload: Vec<u8>,
    /// Its headers, as text.
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
    /// A broker of the test's own, for tests that stop, pause or restart it.
    ///
    /// # Panics
    /// When Kafka is not there or does not start, with the end of its log.
    pub(crate) fn private() -> Self {
        let mut broker = Self::prepared();
        broker.restart();
        broker
    }

    /// A formatted broker that has its address but does not run yet: for the sidecar that starts
    /// first. [`Broker::restart`] starts it.
    pub(crate) fn prepared() -> Self {
        Self::prepared_behind(None)
    }

    /// The same, which tells clients of a second address that they are to come to `gate`, a port
    /// of the loopback: for clients that reach it through something that a test has in its hands.
    /// [`Broker::behind_gate`] is where what comes in there has to go.
    pub(crate) fn prepared_behind(gate: Option<u16>) -> Self {
        let folder = scratch_folder("kafka");
        let port = free_port();
        let behind_gate = free_port();
        let settings = folder.path().join("server.properties");
        let gate = gate.map(|gate| (behind_gate, gate));
        fs::write(&settings, server_properties(port, gate, folder.path()))
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", settings.display()));
        format_storage(&settings);
        Self {
            program: None,
            folder,
            bootstrap: format!("127.0.0.1:{port}"),
            behind_gate,
        }
    }

    /// The port that it answers on for clients that come through the gate.
    pub(crate) fn behind_gate(&self) -> u16 {
        self.behind_gate
    }

    /// What clients take as `bootstrap.servers`.
    pub(crate) fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Stops it cleanly. It keeps its records and its address.
    pub(crate) fn stop(&mut self) {
        if let Some(mut program) = self.program.take() {
            program.terminate(STOP);
        }
    }

    /// Starts it, stopping it first where it runs, and waits until it answers.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let mut program = Program::start(
            "the Kafka broker",
            java()
                .arg("-Xmx512m")
                .arg(format!("-Dlog4j2.configurationFile={}", log_settings()))
                .arg("kafka.Kafka")
                .arg(self.folder.path().join("server.properties")),
            self.folder.path(),
            self.folder.path().join("broker.log"),
            NO_JAVA,
        );
        let client: BaseConsumer = self.client("harness");
        wait_until(START, "the Kafka broker answers", || {
            program.assert_running();
            let metadata = client.fetch_metadata(None, Duration::from_secs(1)).ok()?;
            (metadata.brokers().len() == 1).then_some(())
        });
        self.program = Some(program);
    }

    /// Freezes it: connections stay open, nothing is answered.
    pub(crate) fn pause(&self) {
        self.running().pause();
    }

    /// Lets it go on after [`Broker::pause`].
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
        let count = i32::try_from(partitions).expect("invariant: tests use few partitions");
        let topic = NewTopic::new(name, count, TopicReplication::Fixed(1));
        let created = block_on(self.admin().create_topics([&topic], &admin_options()))
            .unwrap_or_else(|error| panic!("cannot create topic {name}: {error}"));
        for result in created {
            result.unwrap_or_else(|(_, code)| panic!("cannot create topic {name}: {code}"));
        }
        self.await_leaders(name, partitions);
    }

    /// The same, where it may not be possible yet: a topic of this name is being deleted. Returns
    /// whether it was.
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
        wait_until(REQUEST, "the topic's partitions have leaders", || {
            let metadata = client.fetch_metadata(Some(name), REQUEST).ok()?;
            let found = metadata.topics().first()?.partitions();
            (found.len() == partitions && found.iter().all(|one| one.leader() >= 0)).then_some(())
        });
    }

    /// Gives a topic more partitions, so that it has `partitions`.
    pub(crate) fn grow_topic(&self, name: &str, partitions: usize) {
        let wanted = [&NewPartitions::new(name, partitions)];
        let grown = block_on(self.admin().create_partitions(wanted, &admin_options()))
            .unwrap_or_else(|error| panic!("cannot grow topic {name}: {error}"));
        for result in grown {
            result.unwrap_or_else(|(_, code)| panic!("cannot grow topic {name}: {code}"));
        }
        self.await_leaders(name, partitions);
    }

    /// Deletes a topic, and what was committed for it.
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

    /// Two new topics with equally many partitions, for searches and for feedback; their names.
    pub(crate) fn unique_topics(&self, prefix: &str, partitions: usize) -> (String, String) {
        let name = unique_name(prefix);
        let (search, feedback) = (format!("{name}.search"), format!("{name}.feedback"));
        self.create_topic(&search, partitions);
        self.create_topic(&feedback, partitions);
        (search, feedback)
    }

    /// Writes records as [`Producer::produce`] does.
    pub(crate) fn produce<K: AsRef<[u8]>, P: AsRef<[u8]>>(
        &self,
        topic: &str,
        records: impl IntoIterator<Item = (K, P, Option<i32>)>,
    ) -> usize {
        self.producer().produce(topic, records)
    }

    /// For whoever writes again and again: a producer takes half a second to get its number.
    pub(crate) fn producer(&self) -> Producer {
        let producer = self
            .settings()
            // Retries neither reorder nor double.
            .set("enable.idempotence", "true")
            .set("partitioner", "murmur2_random")
            .set("message.max.bytes", LARGEST_RECORD.to_string())
            .create_with_context(Deliveries::default())
            .unwrap_or_else(|error| panic!("no Kafka producer: {error}"));
        Producer(producer)
    }

    /// All records that `topic` holds now, by partition and offset.
    pub(crate) fn consume(&self, topic: &str) -> Vec<Stored> {
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
                .poll(REQUEST)
                .unwrap_or_else(|| panic!("{topic}: {missing} records did not come"))
                .unwrap_or_else(|error| panic!("cannot read {topic}: {error}"));
            records.push(Stored {
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

    /// The offset after the last record, by partition.
    pub(crate) fn end_offsets(&self, topic: &str) -> Vec<i64> {
        let client: BaseConsumer = self.client("harness");
        (0..partition_count(&client, topic))
            .map(|partition| {
                client
                    .fetch_watermarks(topic, partition, REQUEST)
                    .unwrap_or_else(|error| panic!("no offsets of {topic}/{partition}: {error}"))
                    .1
            })
            .collect()
    }

    /// What a group has committed for a topic, by partition; a partition without is absent.
    pub(crate) fn committed_offsets(&self, group: &str, topic: &str) -> BTreeMap<i32, i64> {
        let committed = self.committed(group, topic).into_iter();
        committed
            .map(|(partition, (offset, _))| (partition, offset))
            .collect()
    }

    /// The metadata of these commits.
    pub(crate) fn committed_metadata(&self, group: &str, topic: &str) -> BTreeMap<i32, String> {
        let committed = self.committed(group, topic).into_iter();
        committed
            .map(|(partition, (_, metadata))| (partition, metadata))
            .collect()
    }

    fn committed(&self, group: &str, topic: &str) -> BTreeMap<i32, (i64, String)> {
        let client: BaseConsumer = self.client(group);
        let mut wanted = TopicPartitionList::new();
        for partition in 0..partition_count(&client, topic) {
            wanted.add_partition(topic, partition);
        }
        client
            .committed_offsets(wanted, REQUEST)
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

    /// How many members a group has now.
    pub(crate) fn group_members(&self, group: &str) -> usize {
        let client: BaseConsumer = self.client("harness");
        let groups = client
            .fetch_group_list(Some(group), REQUEST)
            .unwrap_or_else(|error| panic!("cannot ask for group {group}: {error}"));
        groups
            .groups()
            .iter()
            .map(|found| found.members().len())
            .sum()
    }

    /// Forgets a group and its offsets, once its members have left.
    pub(crate) fn delete_group(&self, group: &str) {
        let admin = self.admin();
        wait_until(
            REQUEST,
            "the group's members leave, so that it can be deleted",
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
        // A broker that was away is found again at once.
        settings.set("reconnect.backoff.max.ms", "200");
        settings
    }

    /// A consumer that commits nothing and joins no group; `group` is whose offsets it asks for.
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

/// A name for a topic or a group that no other test of this process has.
pub(crate) fn unique_name(prefix: &str) -> String {
    static GIVEN: AtomicUsize = AtomicUsize::new(0);
    format!("{prefix}-{}", GIVEN.fetch_add(1, Ordering::Relaxed))
}

/// Counts the records that the broker did not take.
#[derive(Default)]
struct Deliveries {
    failed: AtomicUsize,
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if result.is_err() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn partition_count(client: &BaseConsumer, topic: &str) -> i32 {
    let metadata = client
        .fetch_metadata(Some(topic), REQUEST)
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
        .request_timeout(Some(REQUEST))
        .operation_timeout(Some(REQUEST))
}

/// Admin requests are futures that librdkafka's own thread completes.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("invariant: a runtime without drivers needs nothing")
        .block_on(future)
}

const NO_JAVA: &str = "run tests/setup.sh, which installs Java";

/// A command line of the JVM with Kafka's classes.
fn java() -> Command {
    let jars = target_directory().join("kafka").join("libs");
    assert!(
        jars.is_dir(),
        "Kafka is not in {}; run tests/setup.sh, which fetches it",
        jars.display()
    );
    let mut command = Command::new("java");
    command.arg("-cp").arg(jars.join("*"));
    command
}

fn log_settings() -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kafka/log4j2.properties")
        .display()
        .to_string()
}

/// Writes the cluster's id and first metadata, which a broker wants to find.
fn format_storage(settings: &Path) {
    // Any 16 bytes in base64; every broker is a cluster of its own.
    const CLUSTER_ID: &str = "cmFua2dhdWdlLXRlc3RzLg";
    let output = java()
        .arg(format!("-Dlog4j2.configurationFile={}", log_settings()))
        .args(["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c"])
        .arg(settings)
        .output()
        .unwrap_or_else(|error| panic!("cannot start java: {error}; {NO_JAVA}"));
    assert!(
        output.status.success(),
        "cannot format Kafka's storage: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A node alone: every internal topic has one replica, groups form at once, topics are made on
/// purpose only. With a gate it has a second address for clients, at the first of the two ports,
/// and tells them that it is at the second.
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
message.max.bytes={LARGEST_RECORD}
",
        data = data.display(),
    )
}
