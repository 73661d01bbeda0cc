//! Configuration of Kafka, the section `kafka`: cluster, topics and librdkafka properties.
//!
//! librdkafka knows its properties; `ingest` checks their names. Only properties that the sidecar
//! sets itself are rejected here.

use std::collections::BTreeMap;
use std::fmt;

use super::reader::Reader;

/// Kafka cluster and topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kafka {
    /// Bootstrap servers, `host:port`, separated by commas.
    pub brokers: String,
    /// Consumer group that shares the partitions over workers and replicas.
    pub group_id: String,
    /// Topic of search events.
    pub search_topic: String,
    /// Topic of feedback events; never the search topic.
    pub feedback_topic: String,
    /// Topic for records that cannot be decoded; without it they are only counted.
    pub dead_letter_topic: Option<String>,
    /// Start position of a partition without a committed offset.
    pub start: Start,
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

/// librdkafka properties by name. `Display` and `Debug` mask secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Properties(BTreeMap<String, String>);

impl Properties {
    /// Names and unmasked values, including secrets, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns true if the value of the property `name` is a secret.
    pub fn is_secret(name: &str) -> bool {
        is_secret(name)
    }

    /// Returns true if there are no properties.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Parts of property names whose values are secrets and must not appear in a log.
const SECRET_WORDS: [&str; 5] = ["password", "secret", "key", "token", "oauthbearer.config"];

/// Returns true if the value of the librdkafka property `name` is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

impl fmt::Display for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let shown = if is_secret(name) { "***" } else { value };
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

/// Properties that cannot be configured, each with the reason.
const RESERVED_PROPERTIES: [(&str, &str); 12] = [
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
    (
        "group.protocol",
        "it is classic: only there does the client choose the assignment",
    ),
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

pub(super) fn read(reader: &mut Reader) -> Kafka {
    let kafka = Kafka {
        brokers: brokers(reader),
        group_id: reader.text("kafka.group_id", "rankgauge", |text| {
            if text.trim().is_empty() {
                Err("is not a group id".to_owned())
            } else {
                Ok(())
            }
        }),
        search_topic: reader.text("kafka.search_topic", "search.log", topic_name),
        feedback_topic: reader.text("kafka.feedback_topic", "search.feedback", topic_name),
        dead_letter_topic: reader.parsed("kafka.dead_letter_topic", |text| {
            topic_name(text).map(|()| text.to_owned())
        }),
        start: reader.choice(
            "kafka.start",
            Start::Latest,
            &[("earliest", Start::Earliest), ("latest", Start::Latest)],
        ),
        properties: properties(reader),
    };
    if kafka.search_topic == kafka.feedback_topic {
        reader.conflict(
            &["kafka.feedback_topic", "kafka.search_topic"],
            format!(
                "\"{}\" is the search topic and the feedback topic",
                kafka.search_topic
            ),
        );
    }
    if let Some(topic) = &kafka.dead_letter_topic
        && [&kafka.search_topic, &kafka.feedback_topic].contains(&topic)
    {
        reader.problem(
            "kafka.dead_letter_topic",
            format!("\"{topic}\" is also consumed: rejected records would be read again for ever"),
        );
    }
    kafka
}

fn brokers(reader: &mut Reader) -> String {
    let path = "kafka.brokers";
    let mut brokers = Vec::new();
    for (element, broker) in reader.list(path, &["localhost:9092"]) {
        if broker.is_empty() || broker.contains(char::is_whitespace) {
            reader.problem(
                &element,
                format!("\"{broker}\" is not a broker; write host:port"),
            );
        } else {
            brokers.push(broker);
        }
    }
    if brokers.is_empty() {
        reader.problem(path, "names no broker; write at least one host:port");
    }
    brokers.join(",")
}

/// Checks Kafka's rule for topic names. It also rejects `^`, which librdkafka interprets as the
/// start of a regular expression.
fn topic_name(text: &str) -> Result<(), String> {
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

fn properties(reader: &mut Reader) -> Properties {
    let mut properties = BTreeMap::new();
    for name in reader.names("kafka.properties") {
        let path = format!("kafka.properties.{name}");
        let value = reader.scalar(&path);
        match RESERVED_PROPERTIES
            .iter()
            .find(|(decided, _)| *decided == name)
        {
            Some((_, reason)) => reader.problem(&path, format!("cannot be set: {reason}")),
            None => properties.extend(value.map(|value| (name, value))),
        }
    }
    Properties(properties)
}
