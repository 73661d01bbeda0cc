//! State topic: it exists, is compacted, and may be read.

use super::finding::Finding;
use crate::config::Config;
use rankgauge_kafka::Error;
use rankgauge_kafka::reader::Reader;

/// Check of the state topic. Nothing without one.
pub(super) fn check(config: &Config, reader: &Reader<'_>) -> Option<Finding> {
    let name = &config.state.as_ref()?.topic;
    Some(match reader.inspect_state_topic(name) {
        Ok(status) if status.forgets() => Finding::error(
            "state",
            format!(
                "{name} has cleanup.policy={}: it forgets baselines and incidents by age",
                status.policy.unwrap_or_default()
            ),
            format!(
                "kafka-configs.sh --alter --entity-type topics --entity-name {name} --add-config \
                 cleanup.policy=compact"
            ),
        ),
        Ok(status) if status.policy.is_none() => Finding::warning(
            "state",
            format!("{name} exists and can be read; its cleanup.policy is not known"),
            format!("allow DescribeConfigs on topic {name}, or make sure that it is compacted"),
        ),
        Ok(_) => Finding::ok(
            "state",
            format!("{name} exists, is compacted and can be read; Write is needed as well"),
        ),
        Err(Error::NoTopic(_)) => Finding::ok(
            "state",
            format!(
                "{name} does not exist; rankgauge creates it, which needs the permission Create"
            ),
        ),
        Err(Error::ForbiddenTopic(_)) => Finding::error(
            "state",
            format!("no permission to read topic {name}"),
            "allow Create, Describe, DescribeConfigs, Read and Write on it to the user of kafka.properties",
        ),
        Err(problem) => Finding::error("state", problem.to_string(), "check the brokers"),
    })
}
