//! Embedded Kafka broker: librdkafka's mock cluster, which speaks the real protocol.

use anyhow::Context as _;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

/// Maximum number of unread records. The mock cluster silently drops what exceeds 5 MiB a
/// partition.
pub const MAX_UNREAD_RECORDS: u64 = 2_000;

/// One broker in this process. It stops when the value is dropped.
pub struct EmbeddedBroker {
    cluster: MockCluster<'static, DefaultProducerContext>,
}

impl EmbeddedBroker {
    /// Starts a broker on a free port of the loopback interface.
    ///
    /// # Errors
    /// When librdkafka cannot start it.
    pub fn start() -> anyhow::Result<Self> {
        let cluster = MockCluster::new(1).context("cannot start the embedded broker")?;
        Ok(Self { cluster })
    }

    /// Address for `bootstrap.servers`.
    pub fn address(&self) -> String {
        self.cluster.bootstrap_servers()
    }

    /// Creates a topic.
    ///
    /// # Errors
    /// When the broker rejects it.
    pub fn create_topic(&self, name: &str, partitions: i32) -> anyhow::Result<()> {
        self.cluster
            .create_topic(name, partitions, 1)
            .with_context(|| format!("cannot create the topic {name} on the embedded broker"))
    }
}
