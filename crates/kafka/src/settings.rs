//! Client settings: cluster, topics and librdkafka properties, with the checks of librdkafka.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::{NativeClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::BaseConsumer;
use rdkafka::error::KafkaResult;

use rankgauge_core::engine::position::{FeedbackTopic, Join, Topics};
use rankgauge_core::event::Kind;

use crate::Error;
use crate::error::property_problem;

/// Value of a topic that is not read.
pub const NO_TOPIC: &str = "none";

/// Kafka cluster and topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bootstrap servers, `host:port`, separated by commas.
    pub brokers: String,
    /// Consumer group that shares the partitions over workers and replicas.
    pub group_id: String,
    /// Topic of search events.
    pub search_topic: String,
    /// Topic of feedback events, which can be the search topic; [`NO_TOPIC`] without feedback.
    pub feedback_topic: String,
    /// Topic for records that cannot be decoded; without it they are only counted.
    pub dead_letter_topic: Option<String>,
    /// Start position of a partition without a committed offset.
    pub start: Start,
    /// Handling of a topic partition that is stalled by a batch that cannot be read.
    pub stalled_partition: StalledPartition,
    /// Protocol of the consumer group.
    pub group_protocol: GroupProtocol,
    /// Partitions in which a search and its feedback can lie.
    pub join: Join,
    /// Name of this process among the members of the group, which stays the same when it restarts.
    pub owner: String,
    /// Further librdkafka properties, without those that the sidecar sets itself.
    pub properties: Properties,
}

/// Start position of a partition without a committed offset of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The oldest record that Kafka still has.
    Earliest,
    /// The end of the partition: only records produced from now on are read.
    Latest,
}

/// Handling of a topic partition that is stalled by a batch that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StalledPartition {
    /// Wait for the operator.
    Wait,
    /// Skip the batch, and count its records as lost.
    Skip,
}

/// Protocol of a consumer group. In both, the assignment is by ranges: partitions of the same number of
/// both topics are assigned together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupProtocol {
    /// The members compute the assignment.
    Classic,
    /// The brokers do (KIP-848, Kafka 4.0 and newer).
    Consumer,
}

/// Properties that librdkafka accepts only with [`GroupProtocol::Classic`].
const CLASSIC_ONLY: [&str; 3] = [
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "group.protocol.type",
];

/// librdkafka properties by name. `Display` and `Debug` mask secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Properties(BTreeMap<String, String>);

/// Parts of property names whose values are secrets and must not appear in a log.
const SECRET_WORDS: [&str; 6] = [
    "password",
    "passphrase",
    "secret",
    "key",
    "token",
    "oauthbearer.config",
];

impl Properties {
    /// Names and unmasked values, including secrets, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns true if the value of the property `name` is a secret.
    pub fn is_secret(name: &str) -> bool {
        SECRET_WORDS.iter().any(|word| name.contains(word))
    }

    /// Returns true if there are no properties.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Problem of the first property of SASL, if `security.protocol` does not use SASL: librdkafka
    /// would ignore it, and connect without credentials.
    fn unused_credentials(&self) -> Option<(String, String)> {
        let protocol = self.0.get("security.protocol");
        let protocol = protocol.map_or("plaintext", String::as_str);
        if protocol.to_ascii_lowercase().starts_with("sasl_") {
            return None;
        }
        let name = self.0.keys().find(|name| name.starts_with("sasl."))?;
        let text = format!(
            "has no effect with security.protocol {protocol}; write security.protocol: SASL_SSL, or \
             SASL_PLAINTEXT without TLS"
        );
        Some((format!("kafka.properties.{name}"), text))
    }

    /// Reason for which the property `name` cannot be configured.
    pub fn reserved(name: &str) -> Option<&'static str> {
        let found = RESERVED.iter().find(|(reserved, _)| *reserved == name);
        found.map(|(_, reason)| *reason)
    }
}

impl FromIterator<(String, String)> for Properties {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(properties: I) -> Self {
        Self(properties.into_iter().collect())
    }
}

impl fmt::Display for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let shown = if Self::is_secret(name) { "***" } else { value };
            let separator = if index == 0 { "" } else { " " };
            write!(f, "{separator}{name}={shown}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

/// Checks Kafka's rule for topic names. It also rejects `^`, which librdkafka interprets as the
/// start of a regular expression.
///
/// # Errors
/// If `text` is no topic name.
pub fn topic_name(text: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.is_empty()
        || text.len() > 249
        || text == "."
        || text == ".."
        || !text.chars().all(allowed)
    {
        return Err("is not a topic; use up to 249 of a-z A-Z 0-9 . _ -".to_owned());
    }
    Ok(())
}

/// Properties that cannot be configured, each with the reason.
const RESERVED: [(&str, &str); 12] = [
    ("bootstrap.servers", "it is kafka.brokers"),
    ("metadata.broker.list", "it is kafka.brokers"),
    ("group.id", "it is kafka.group_id"),
    ("enable.auto.commit", COUNTED),
    ("auto.commit.enable", COUNTED),
    (
        "auto.commit.interval.ms",
        "offsets are committed every commit_interval",
    ),
    ("enable.auto.offset.store", COUNTED),
    (
        "auto.offset.reset",
        "a lost offset is counted and logged, never skipped; see kafka.start",
    ),
    (
        "partition.assignment.strategy",
        "it is range: a search and its feedback must reach the same worker",
    ),
    ("group.protocol", "it is kafka.group_protocol"),
    (
        "group.remote.assignor",
        "it is range: a search and its feedback must reach the same worker",
    ),
    (
        "enable.partition.eof",
        "it is on: an idle topic is detected by its end",
    ),
];

const COUNTED: &str = "it is off: only offsets of records that have been counted are committed";

/// Fixed consumer properties, with the reason for each. The configuration rejects overrides.
const FIXED: [(&str, &str); 6] = [
    // Commits follow the counted records, not the fetched records.
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    // A missing offset must be counted as a gap, not be reset silently.
    ("auto.offset.reset", "error"),
    // Few fetched records wait, so they are read from the processor's caches. With the default of
    // one second, a fast consumer would run out of them.
    ("queued.max.messages.kbytes", "1024"),
    ("fetch.queue.backoff.ms", "2"),
    // The statistics provide lag and connection state.
    ("statistics.interval.ms", "1000"),
];

/// True if librdkafka searches the usual places of a system for the public certificate authorities.
/// The OpenSSL of a static binary looks for them only in the folder that it was built in.
fn probes_authorities(properties: &Properties, is_static: bool) -> bool {
    let uses_tls = |value: &str| value.to_ascii_lowercase().ends_with("ssl");
    is_static
        && properties
            .iter()
            .any(|(name, value)| name == "security.protocol" && uses_tls(value))
        && !properties
            .iter()
            .any(|(name, _)| name.starts_with("ssl.ca."))
}

impl Settings {
    /// Name of the topic with events of `kind`.
    pub fn topic(&self, kind: Kind) -> &str {
        match kind {
            Kind::Search => &self.search_topic,
            Kind::Feedback => &self.feedback_topic,
        }
    }

    /// Topics of the events.
    pub fn topics(&self) -> Topics {
        let feedback = if self.feedback_topic == NO_TOPIC {
            FeedbackTopic::None
        } else if self.feedback_topic == self.search_topic {
            FeedbackTopic::Shared
        } else {
            FeedbackTopic::Own
        };
        Topics {
            feedback,
            join: self.join,
        }
    }

    /// Kinds of the topics that are read. A topic of both kinds is the search topic.
    pub fn kinds(&self) -> &'static [Kind] {
        self.topics().kinds()
    }

    /// Returns true if there is feedback.
    pub fn has_feedback(&self) -> bool {
        self.topics().feedback != FeedbackTopic::None
    }

    /// Names of the topics that are read, in the order of [`Self::kinds`].
    pub fn names(&self) -> Vec<String> {
        let names = self.kinds().iter().map(|kind| self.topic(*kind));
        names.map(str::to_owned).collect()
    }

    /// Kind of `topic`, which must be one of the topics.
    pub fn kind_of(&self, topic: &str) -> Kind {
        if topic == self.search_topic {
            Kind::Search
        } else {
            Kind::Feedback
        }
    }

    /// Checks the numbers of partitions of both topics, which are equal unless all partitions are joined
    /// with each other.
    ///
    /// # Errors
    /// [`Error::UnequalPartitions`].
    pub fn check_partitions(&self, [search, feedback]: [usize; 2]) -> Result<(), Error> {
        if search == feedback || self.join != Join::Partition {
            return Ok(());
        }
        Err(Error::UnequalPartitions {
            search_topic: self.search_topic.clone(),
            search,
            feedback_topic: self.feedback_topic.clone(),
            feedback,
        })
    }

    /// librdkafka configuration shared by consumer, producer and admin client.
    pub(crate) fn client(&self) -> ClientConfig {
        let mut client = ClientConfig::new();
        if probes_authorities(&self.properties, cfg!(feature = "static")) {
            client.set("ssl.ca.location", "probe");
        }
        for (name, value) in self.properties.iter() {
            client.set(name, value);
        }
        client.set("bootstrap.servers", &self.brokers);
        client.set_log_level(RDKafkaLogLevel::Notice);
        client
    }

    /// Problems of the librdkafka properties, each with the key that causes it. Nothing is sent to a
    /// broker.
    pub fn problems(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        for (name, value) in self.properties.iter() {
            let mut single = ClientConfig::new();
            single.set(name, value);
            if let Err(problem) = single.create_native_config() {
                let text = property_problem(&problem);
                problems.push((format!("kafka.properties.{name}"), text));
            }
        }
        problems.extend(self.properties.unused_credentials());
        let is_refused = |name: &str| {
            self.group_protocol == GroupProtocol::Consumer && CLASSIC_ONLY.contains(&name)
        };
        let refused = self.properties.iter().filter(|(name, _)| is_refused(name));
        problems.extend(refused.map(|(name, _)| {
            let text = "has no effect with kafka.group_protocol: consumer, where the brokers decide \
                        (group.consumer.* in their configuration); remove it";
            (format!("kafka.properties.{name}"), text.to_owned())
        }));
        if problems.is_empty() {
            let mut consumer = self.consumer(0);
            // Without a broker, the client connects to nothing.
            consumer.remove("bootstrap.servers");
            let created: KafkaResult<BaseConsumer> = consumer.create();
            if let Err(problem) = created {
                let text = format!(
                    "librdkafka rejects the properties: {}",
                    self.text_of(&problem)
                );
                problems.push(("kafka.properties".to_owned(), text));
            }
        }
        problems
    }

    /// Returns true if the consumer reads records of open and aborted transactions. librdkafka does
    /// not by default.
    pub(crate) fn reads_uncommitted(&self) -> bool {
        let mut properties = self.properties.iter();
        properties.any(|property| property == ("isolation.level", "read_uncommitted"))
    }

    /// Session time-out of the group, after which it reassigns the partitions of a silent member:
    /// the configured `session.timeout.ms` or the default, which librdkafka and the brokers share.
    pub fn session_timeout(&self) -> Duration {
        let mut properties = self.properties.iter();
        let configured = properties.find(|(name, _)| *name == "session.timeout.ms");
        let millis = configured.and_then(|(_, value)| value.parse().ok());
        Duration::from_millis(millis.unwrap_or(45_000))
    }

    /// Configuration of a standalone consumer, which joins no group. librdkafka requires a group id
    /// nevertheless. The configured one is used, because the ACLs of the brokers allow it.
    pub(crate) fn standalone_consumer(&self) -> ClientConfig {
        let mut client = self.client();
        client.remove("group.instance.id");
        client.set("group.id", &self.group_id);
        client.set("client.id", "rankgauge-standalone");
        for (name, value) in FIXED {
            client.set(name, value);
        }
        self.set_fetch_sizes(&mut client);
        // Records may be deleted after the start offsets were resolved. The read then starts at the
        // first remaining record.
        client.set("auto.offset.reset", "earliest");
        client.set("enable.partition.eof", "true");
        // A read begins once the fetches of the read before it have returned. At the end of a partition, they
        // wait this long for records.
        if client.get("fetch.wait.max.ms").is_none() {
            client.set("fetch.wait.max.ms", "20");
        }
        client
    }

    /// Configuration of the consumer of worker `number`; with [`Join::Repartition`], of its forwarder.
    pub fn consumer(&self, number: usize) -> ClientConfig {
        let mut client = self.client();
        client.set("group.id", self.consumer_group());
        client.set("client.id", format!("rankgauge-{number}@{}", self.owner));
        for (name, value) in FIXED {
            client.set(name, value);
        }
        self.set_fetch_sizes(&mut client);
        // One worker must read a search and its feedback.
        let protocol = match self.join {
            Join::Partition | Join::All => self.group_protocol,
            // All partitions of a forwarder are revoked together: its transaction ends then.
            Join::Repartition => GroupProtocol::Classic,
        };
        match protocol {
            GroupProtocol::Classic => client.set("partition.assignment.strategy", "range"),
            GroupProtocol::Consumer => client
                .set("group.protocol", "consumer")
                .set("group.remote.assignor", "range"),
        };
        // A static member id identifies one consumer, and each worker has its own consumer. With other
        // topics it is another member: a release must not fence another one of its group, and receive
        // its partitions.
        if let Some(instance) = client.get("group.instance.id").map(str::to_owned) {
            let topics = match self.join {
                Join::Partition | Join::Repartition => Vec::new(),
                Join::All => self.subscription(),
            };
            let topics = hash(&[self.names(), topics].concat());
            client.set(
                "group.instance.id",
                format!("{instance}-{topics:08x}-{number}"),
            );
        }
        client
    }

    /// Topics to which the members of the group subscribe: that of the owner, or the topics that are
    /// read.
    pub(crate) fn subscription(&self) -> Vec<String> {
        match self.join {
            Join::Partition | Join::Repartition => self.names(),
            Join::All => vec![self.owner_topic()],
        }
    }

    /// Group of the consumer: that of the forwarders, or the configured one.
    pub fn consumer_group(&self) -> String {
        match self.join {
            Join::Partition | Join::All => self.group_id.clone(),
            Join::Repartition => self.forwarder_group(),
        }
    }

    /// Group of the forwarders, and prefix of their internal topics and transactional ids.
    pub fn forwarder_group(&self) -> String {
        format!("{}-repartition", self.group_id)
    }

    /// Internal topic with the records of the topic of a kind.
    pub fn internal_topic(&self, kind: Kind) -> String {
        format!("{}-{}", self.forwarder_group(), kind.name())
    }

    /// Settings of a worker, which reads the internal topics with [`Join::Repartition`]: only committed
    /// records, and all of them.
    #[must_use]
    pub fn of_worker(&self) -> Self {
        if self.join != Join::Repartition {
            return self.clone();
        }
        let mut worker = self.clone();
        worker.join = Join::Partition;
        worker.start = Start::Earliest;
        worker.search_topic = self.internal_topic(Kind::Search);
        worker.feedback_topic = match self.topics().feedback {
            FeedbackTopic::Own => self.internal_topic(Kind::Feedback),
            FeedbackTopic::Shared => worker.search_topic.clone(),
            FeedbackTopic::None => NO_TOPIC.to_owned(),
        };
        worker.properties.0.remove("isolation.level");
        worker
    }

    /// Transactional id of the forwarder of worker `number`. A static member has the same after a restart,
    /// which ends its earlier transaction at once.
    pub(crate) fn transactional_id(&self, process: u64, number: usize) -> String {
        let group = self.forwarder_group();
        let instance = self.properties.0.get("group.instance.id");
        match instance {
            Some(instance) => format!("{group}-{instance}-{number}"),
            None => format!("{group}-{process:016x}-{number}"),
        }
    }

    /// Topic whose only partition belongs to the owner of all partitions.
    pub fn owner_topic(&self) -> String {
        format!("{}-owner", self.group_id)
    }
}

/// Hash of topics (FNV-1a), the same in every release.
fn hash(topics: &[String]) -> u32 {
    let bytes = topics.iter().flat_map(|topic| topic.bytes().chain([0]));
    bytes.fold(0x811C_9DC5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Version of the librdkafka in use.
pub fn librdkafka_version() -> String {
    rdkafka::util::get_rdkafka_version().1
}

/// Features that librdkafka was built with, separated by commas; empty if it does not report them.
pub fn librdkafka_features() -> String {
    let config: KafkaResult<NativeClientConfig> = ClientConfig::new().create_native_config();
    config
        .and_then(|config| config.get("builtin.features"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(settings: &[(&str, &str)]) -> Properties {
        let owned = settings
            .iter()
            .map(|(name, value)| [name, value].map(|it| (*it).to_owned()));
        owned.map(|[name, value]| (name, value)).collect()
    }

    #[test]
    fn static_binary_probes_for_public_authorities_unless_an_authority_is_configured() {
        for protocol in ["SSL", "sasl_ssl"] {
            let tls = properties(&[("security.protocol", protocol)]);
            assert!(probes_authorities(&tls, true), "{protocol}");
            assert!(!probes_authorities(&tls, false), "{protocol}");
        }
        let own = properties(&[
            ("security.protocol", "SSL"),
            ("ssl.ca.location", "/etc/kafka/ca.pem"),
        ]);
        assert!(!probes_authorities(&own, true));
        assert!(!probes_authorities(&properties(&[]), true));
        let plain = properties(&[("security.protocol", "sasl_plaintext")]);
        assert!(!probes_authorities(&plain, true));
    }
}
