//! librdkafka configuration, and the metadata of committed offsets.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

use crate::config::Kafka;
use rankgauge_core::event::Kind;

/// Fixed consumer properties, with the reason for each. The configuration rejects overrides.
const FIXED: [(&str, &str); 7] = [
    // Commits follow the counted records, not the fetched records.
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    // A missing offset must be counted as a gap, not be reset silently.
    ("auto.offset.reset", "error"),
    // One worker must read a search and its feedback.
    ("partition.assignment.strategy", "range"),
    // With the default of one second, a fast consumer runs out of fetched records.
    ("fetch.queue.backoff.ms", "2"),
    ("queued.max.messages.kbytes", "32768"),
    // The statistics provide lag and connection state.
    ("statistics.interval.ms", "1000"),
];

impl Kafka {
    /// Name of the topic with events of `kind`.
    pub fn topic(&self, kind: Kind) -> &str {
        match kind {
            Kind::Search => &self.search_topic,
            Kind::Feedback => &self.feedback_topic,
        }
    }

    /// Kind of events in `topic`, which must be one of the two topics.
    pub fn kind_of(&self, topic: &str) -> Kind {
        if topic == self.search_topic {
            Kind::Search
        } else {
            Kind::Feedback
        }
    }

    /// librdkafka configuration shared by consumer, producer and admin client.
    pub fn client(&self) -> ClientConfig {
        let mut client = ClientConfig::new();
        for (name, value) in self.properties.iter() {
            client.set(name, value);
        }
        client.set("bootstrap.servers", &self.brokers);
        client.set_log_level(RDKafkaLogLevel::Notice);
        client
    }

    /// The cluster and its topics, as a target for synthetic traffic.
    #[cfg(feature = "demo")]
    pub fn cluster(&self) -> rankgauge_demo::produce::Cluster {
        rankgauge_demo::produce::Cluster {
            client: self.client(),
            topics: [self.search_topic.clone(), self.feedback_topic.clone()],
            explain: super::connection::ConnectionProblem::explain,
        }
    }

    /// Returns true if the consumer reads records of open and aborted transactions. librdkafka does
    /// not by default.
    pub fn reads_uncommitted(&self) -> bool {
        let mut properties = self.properties.iter();
        properties.any(|property| property == ("isolation.level", "read_uncommitted"))
    }

    /// Session time-out of the group, after which it reassigns the partitions of a silent member:
    /// the configured `session.timeout.ms` or the default of librdkafka.
    pub fn session_timeout(&self) -> Duration {
        let mut properties = self.properties.iter();
        let configured = properties.find(|(name, _)| *name == "session.timeout.ms");
        let millis = configured.and_then(|(_, value)| value.parse().ok());
        Duration::from_millis(millis.unwrap_or(45_000))
    }

    /// Configuration of a standalone consumer, which joins no group. librdkafka requires a group id
    /// nevertheless. The configured one is used, because the ACLs of the brokers allow it.
    pub fn standalone_consumer(&self) -> ClientConfig {
        let mut client = self.client();
        client.remove("group.instance.id");
        client.set("group.id", &self.group_id);
        client.set("client.id", "rankgauge-standalone");
        for (name, value) in FIXED {
            client.set(name, value);
        }
        // Records may be deleted after the start offsets were resolved. The read then starts at the
        // first remaining record.
        client.set("auto.offset.reset", "earliest");
        client.set("enable.partition.eof", "true");
        client
    }

    /// Configuration of the consumer of worker `number`.
    pub fn consumer(&self, number: usize) -> ClientConfig {
        let mut client = self.client();
        client.set("group.id", &self.group_id);
        client.set("client.id", format!("rankgauge-{number}"));
        for (name, value) in FIXED {
            client.set(name, value);
        }
        // A static member id identifies one consumer, and each worker has its own consumer.
        if let Some(instance) = client.get("group.instance.id").map(str::to_owned) {
            client.set("group.instance.id", format!("{instance}-{number}"));
        }
        client
    }
}
