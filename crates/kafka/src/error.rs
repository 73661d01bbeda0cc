//! Errors of this crate, and the texts of client errors without secrets.

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::types::RDKafkaConfRes;

use crate::settings::{Properties, Settings};

/// Failure of a client of Kafka. Its text contains no value of a secret property.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum Error {
    /// librdkafka rejects a property, or properties that contradict each other.
    #[error("librdkafka refuses the configuration (kafka.properties): {0}")]
    Configuration(String),
    /// No broker answers. The cause has its remedy.
    #[error("no answer from {brokers}: {cause}")]
    Unanswered { brokers: String, cause: String },
    /// No broker answers, for an unknown cause.
    #[error(
        "no broker answers; check kafka.brokers, security.protocol (a listener with TLS closes other \
         connections), and firewalls and network policies between the brokers and this process"
    )]
    NoAnswer,
    #[error("topic {0} does not exist; create it, with as many partitions as the other topic")]
    NoTopic(String),
    /// The client may not see or read the topic.
    #[error("no permission for topic {0}; allow Describe and Read to the user of this process")]
    ForbiddenTopic(String),
    #[error("no permission for consumer group {0}")]
    ForbiddenGroup(String),
    /// Without permission, the request for the coordinator of the group is repeated until the time limit.
    #[error(
        "the brokers answer, but name no coordinator of consumer group {0}; mostly the permission is missing"
    )]
    SilentGroup(String),
    /// Another error of a topic, such as a missing leader.
    #[error("topic {topic} is not available: {error}; check the brokers")]
    Topic { topic: String, error: String },
    /// Unequal partition counts: a search and its feedback could be assigned to different workers.
    #[error(
        "topic {search_topic} has {search} partitions and topic {feedback_topic} has {feedback}: \
         both need the same number and the key query_id, because one worker must read a search and \
         its feedback; add partitions to the smaller one"
    )]
    UnequalPartitions {
        search_topic: String,
        search: usize,
        feedback_topic: String,
        feedback: usize,
    },
    /// The topic of the owner is missing or wrong.
    #[error(
        "topic {topic}: {error}; with kafka.join: owner, it needs exactly 1 partition: allow Create, \
         Describe and Read on it to the user of this process, or create it"
    )]
    OwnerTopic { topic: String, error: String },
    /// An internal topic is missing or wrong.
    #[error(
        "topic {topic}: {error}; with kafka.join: repartition, it needs {partitions} partitions, as every \
         internal topic: allow Create, Describe, Read and Write on it to the user of this process, or create \
         it: kafka-topics.sh --create --topic {topic} --partitions {partitions} --config \
         retention.ms=259200000 --config max.message.bytes=104857600"
    )]
    InternalTopic {
        topic: String,
        partitions: usize,
        error: String,
    },
    /// The transaction of a forwarder failed.
    #[error(
        "transaction {id}: {error}; if it repeats, allow Describe and Write on the transactional id and the \
         internal topics, and Read on the group, to the user of this process"
    )]
    Transaction { id: String, error: String },
    /// Another process has the static member id of this one. The text names both.
    #[error(
        "group.instance.id {instance} of consumer group {group} belongs to {theirs}; this process is \
         {mine}: each would fence the other. Set another kafka.group_id, or another group.instance.id, for one of \
         them. If the other one has ended, this one goes on when its session has (session.timeout.ms)"
    )]
    InstanceInUse {
        group: String,
        instance: String,
        theirs: String,
        mine: String,
    },
    /// The state topic cannot be used.
    #[error(
        "topic {topic} (state.topic): {error}; allow Create, Describe, DescribeConfigs, Read and Write on it to \
         the user of this process, or create it: kafka-topics.sh --create --topic {topic} --partitions 1 \
         --config cleanup.policy=compact"
    )]
    StateTopic { topic: String, error: String },
    /// Records stopped to arrive before the end of a range.
    #[error("topic {topic}: no record received for {seconds} s, {left} records before the end")]
    Stalled {
        topic: String,
        seconds: u64,
        left: i64,
    },
    /// The stop flag of a reader was set during a request.
    #[error("interrupted")]
    Interrupted,
    #[error("{failed} of {sent} records were not delivered: {problem}")]
    NotDelivered {
        failed: u64,
        sent: u64,
        problem: String,
    },
    #[error(
        "fatal librdkafka error: {0}; if another process fenced this one, give each replica a \
         unique group.instance.id (kafka.properties)"
    )]
    Fatal(String),
    #[error("cannot subscribe to the topics: {0}")]
    Subscribe(String),
}

impl Error {
    /// Returns true if the topics cannot be read yet, and a retry may succeed.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unanswered { .. }
                | Self::NoAnswer
                | Self::NoTopic(_)
                | Self::ForbiddenTopic(_)
                | Self::Topic { .. }
                | Self::OwnerTopic { .. }
                | Self::InternalTopic { .. }
                | Self::Transaction { .. }
                | Self::InstanceInUse { .. }
        )
    }

    /// Error of a request about a topic.
    pub(crate) fn of_topic(topic: &str, error: &KafkaError, settings: &Settings) -> Self {
        let topic = topic.to_owned();
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::UnknownTopicOrPartition) => Self::NoTopic(topic),
            Some(RDKafkaErrorCode::TopicAuthorizationFailed) => Self::ForbiddenTopic(topic),
            _ => Self::Topic {
                topic,
                error: settings.text_of(error),
            },
        }
    }

    pub(crate) fn of_configuration(error: &KafkaError, settings: &Settings) -> Self {
        Self::Configuration(settings.text_of(error))
    }
}

impl Settings {
    /// Text of a client error, without the values of secret properties.
    pub(crate) fn text_of(&self, error: &KafkaError) -> String {
        match error {
            KafkaError::ClientConfig(_, _, name, _) => {
                format!("{name}: {}", property_problem(error))
            }
            _ => self.masked(&error.to_string()),
        }
    }

    /// `text` with `***` in place of the values of secret properties.
    pub(crate) fn masked(&self, text: &str) -> String {
        let secrets = self.properties.iter().filter(|(name, value)| {
            // A shorter value occurs in any text, and masks would reveal it.
            Properties::is_secret(name) && value.len() >= MIN_SECRET_BYTES
        });
        secrets.fold(text.to_owned(), |text, (_, value)| {
            text.replace(value, "***")
        })
    }
}

/// Minimum length of a secret that is masked within a text.
const MIN_SECRET_BYTES: usize = 4;

/// Problem of one property, without its name and without the value of a secret. librdkafka may quote
/// the value in its description.
pub(crate) fn property_problem(problem: &KafkaError) -> String {
    match problem {
        KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, ..) => {
            "librdkafka has no such property; see its CONFIGURATION.md".to_owned()
        }
        KafkaError::ClientConfig(_, description, name, _) if !Properties::is_secret(name) => {
            format!("librdkafka rejects the value: {description}")
        }
        _ => "librdkafka rejects the value".to_owned(),
    }
}
