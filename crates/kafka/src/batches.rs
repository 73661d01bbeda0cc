//! Memory that fetched batches need: bounds from the settings of the client and of the topics.
//!
//! librdkafka decompresses all batches of a fetch before the first record is read, without a limit on
//! their size. Only the size of a fetch, the largest batch of a topic and its codec bound it.

use std::fmt;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, ConfigResource, ResourceSpecifier};
use rdkafka::error::KafkaError;

use rankgauge_core::engine::position::Join;

use crate::standalone::StandaloneContext;
use crate::topic::block_on;
use crate::{Error, Settings};

/// Size of a fetch for one partition. The broker sends a larger batch alone.
const PARTITION_BYTES: u64 = 64 << 10;

/// Size of a fetch for all partitions. The default of librdkafka is four times as large here, and
/// dense batches then exceed the memory that `docs/operations.md` states.
const FETCH_BYTES: u64 = 256 << 10;

/// Minimum of `message.max.bytes`, to which librdkafka compares the size of a fetch.
const MIN_FETCH_BYTES: u64 = 1_000;

/// Codecs that the batches of a topic may have: `compression.type` of the topic. The broker
/// recompresses batches that have another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Codec {
    /// No compression.
    Uncompressed,
    /// Snappy.
    Snappy,
    /// LZ4.
    Lz4,
    /// Gzip.
    Gzip,
    /// Zstandard.
    Zstd,
    /// The choice of the producer.
    Any,
}

impl Codec {
    /// All codecs, by the memory that they may need.
    pub const ALL: [Self; 6] = [
        Self::Uncompressed,
        Self::Snappy,
        Self::Lz4,
        Self::Gzip,
        Self::Zstd,
        Self::Any,
    ];

    /// Name in the configuration of a topic.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uncompressed => "uncompressed",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Any => "producer",
        }
    }

    /// Maximum memory of a fetched byte. Records of a few bytes need about 400 bytes in librdkafka
    /// each, which decides for the first two; for the others, it is the highest ratio of the format. For LZ4
    /// it counts twice: librdkafka copies what it has decompressed to a larger buffer when one is full.
    pub fn bytes_for_one(self) -> u64 {
        match self {
            Self::Uncompressed => 58,
            Self::Snappy => 82,
            Self::Lz4 => 510,
            Self::Gzip => 1_032,
            // Blocks of 128 KiB in four bytes.
            Self::Zstd | Self::Any => 32_768,
        }
    }
}

/// Batches that a topic accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Maximum size of a batch as it is stored (`max.message.bytes`), in bytes.
    pub max_bytes: u64,
    /// Codec of the batches.
    pub codec: Codec,
}

impl Accepted {
    /// Batches that a topic with the default settings of Kafka accepts, if they have this codec.
    pub fn by_default(codec: Codec) -> Self {
        Self {
            max_bytes: 1_048_588,
            codec,
        }
    }
}

/// Bound of the memory of fetched batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Maximum memory of one worker, in bytes.
    pub bytes: u64,
    /// Topics, with the batches that they accept.
    pub topics: Vec<(String, Accepted)>,
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_bytes, codec } = self;
        write!(
            f,
            "batches of {max_bytes} bytes (max.message.bytes), compression.type {}",
            codec.name()
        )
    }
}

impl Settings {
    /// Maximum memory of the fetched batches of one worker, in bytes, if `brokers` lead the
    /// partitions of topics that accept these batches. Each broker answers one fetch; the batch
    /// before is freed with its last record, and counts as another one. The forwarder of a worker is a
    /// second consumer.
    pub fn fetched_bytes(&self, topics: &[Accepted], brokers: usize) -> u64 {
        let fetch = self.fetch_bytes();
        let of_topic = topics.iter().map(|topic| {
            let bytes = topic.max_bytes.max(fetch);
            bytes.saturating_mul(topic.codec.bytes_for_one())
        });
        let brokers = u64::try_from(brokers).unwrap_or(u64::MAX);
        let consumers = match self.join {
            Join::Partition | Join::All => 1,
            Join::Repartition => 2,
        };
        (of_topic.max().unwrap_or(0))
            .saturating_mul(2)
            .saturating_mul(brokers)
            .saturating_mul(consumers)
    }

    /// Maximum size of a fetch in bytes, unless one batch is larger.
    fn fetch_bytes(&self) -> u64 {
        let configured = self.property("fetch.max.bytes");
        configured
            .and_then(|bytes| bytes.parse().ok())
            .unwrap_or(FETCH_BYTES)
    }

    /// Sets the sizes of fetches, where they are not configured.
    pub(crate) fn set_fetch_sizes(&self, client: &mut ClientConfig) {
        // Two names of the same property.
        let names = ["fetch.message.max.bytes", "max.partition.fetch.bytes"];
        if names.iter().all(|name| self.property(name).is_none()) {
            client.set("fetch.message.max.bytes", PARTITION_BYTES.to_string());
        }
        let fetch = self.fetch_bytes();
        client.set("fetch.max.bytes", fetch.to_string());
        // librdkafka requires a fetch of at least the largest record that a client produces. A
        // consumer produces none.
        client.set("message.max.bytes", fetch.max(MIN_FETCH_BYTES).to_string());
    }

    fn property(&self, name: &str) -> Option<&str> {
        let mut properties = self.properties.iter();
        properties.find_map(|(it, value)| (it == name).then_some(value))
    }

    /// Batches that the topics accept, as the brokers describe them.
    ///
    /// # Errors
    /// The error of the first topic, also without permission or an answer before `limit`.
    pub fn accepted(&self, topics: &[String], limit: Duration) -> Result<Vec<Accepted>, Error> {
        let mut client = self.client();
        client.set("client.id", "rankgauge-standalone");
        let client: AdminClient<StandaloneContext> = client
            .create_with_context(StandaloneContext::new(self))
            .map_err(|error| Error::of_configuration(&error, self))?;
        let resources: Vec<_> = topics
            .iter()
            .map(|it| ResourceSpecifier::Topic(it))
            .collect();
        let options = AdminOptions::new().request_timeout(Some(limit));
        let described = block_on(client.describe_configs(&resources, &options));
        let first = topics.first().map_or("", String::as_str);
        let described = described.map_err(|error| Error::of_topic(first, &error, self))?;
        let accepted = topics.iter().zip(described).map(|(topic, resource)| {
            let resource =
                resource.map_err(|code| Error::of_topic(topic, &KafkaError::Global(code), self))?;
            Ok(accepted(&resource))
        });
        accepted.collect()
    }
}

fn accepted(resource: &ConfigResource) -> Accepted {
    let value = |name| resource.get(name)?.value.as_deref();
    let max_bytes = value("max.message.bytes").and_then(|bytes| bytes.parse().ok());
    let codec = Codec::ALL
        .into_iter()
        .find(|codec| value("compression.type") == Some(codec.name()));
    let default = Accepted::by_default(codec.unwrap_or(Codec::Any));
    Accepted {
        max_bytes: max_bytes.unwrap_or(default.max_bytes),
        ..default
    }
}
