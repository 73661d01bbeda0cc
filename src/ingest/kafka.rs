//! librdkafka configurations.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

use crate::config::Kafka;
use rankgauge_core::event::Kind;

/// The settings of a consumer that the design fixes, with the reason for each. Configuration
/// refuses to override them.
const FIXED: [(&str, &str); 7] = [
    // What was counted decides what is committed, not what was fetched.
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    // An offset that is gone is an event to be counted, not something to be healed in silence.
    ("auto.offset.reset", "error"),
    // A search and its feedback have to meet in one worker.
    ("partition.assignment.strategy", "range"),
    // The default of a second lets a fast consumer run dry.
    ("fetch.queue.backoff.ms", "2"),
    ("queued.max.messages.kbytes", "32768"),
    // Where lag and connection state come from.
    ("statistics.interval.ms", "1000"),
];

impl Kafka {
    /// The name of the topic with events of `kind`.
    pub fn topic(&self, kind: Kind) -> &str {
        match kind {
            Kind::Search => &self.search_topic,
            Kind::Feedback => &self.feedback_topic,
        }
    }

    /// What is in the topic of this name, which is one of the two.
    pub fn kind_of(&self, topic: &str) -> Kind {
        if topic == self.search_topic {
            Kind::Search
        } else {
            Kind::Feedback
        }
    }

    /// The librdkafka configuration that consumer, producer and administration share.
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
        }
    }

    /// How long the group waits for a sign of life before it gives our partitions away, as
    /// librdkafka was told, or by its default.
    pub fn session_timeout(&self) -> Duration {
        let mut told = self.properties.iter();
        let told = told.find(|(name, _)| *name == "session.timeout.ms");
        let millis = told.and_then(|(_, value)| value.parse().ok());
        Duration::from_millis(millis.unwrap_or(45_000))
    }

    /// The configuration of a consumer that looks at the topics and joins no group. librdkafka
    /// wants the name of one all the same; the configured one is a name that the brokers let us use.
    pub fn onlooker(&self) -> ClientConfig {
        let mut client = self.client();
        client.remove("group.instance.id");
        client.set("group.id", &self.group_id);
        client.set("client.id", "rankgauge-onlooker");
        for (name, value) in FIXED {
            client.set(name, value);
        }
        // What was deleted since we asked where to begin is nothing to wait for.
        client.set("auto.offset.reset", "earliest");
        client.set("enable.partition.eof", "true");
        client
    }

    /// The configuration of worker `number`'s consumer.
    pub fn consumer(&self, number: usize) -> ClientConfig {
        let mut client = self.client();
        client.set("group.id", &self.group_id);
        client.set("client.id", format!("rankgauge-{number}"));
        for (name, value) in FIXED {
            client.set(name, value);
        }
        // A static member is one consumer; a process with several workers is several.
        if let Some(instance) = client.get("group.instance.id").map(str::to_owned) {
            client.set("group.instance.id", format!("{instance}-{number}"));
        }
        client
    }
}
