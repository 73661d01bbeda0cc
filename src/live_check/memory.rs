//! Memory that the process needs at most, with the largest batches that the topics accept.

use rankgauge_kafka::reader::Reader;

use super::finding::Finding;
use crate::capacity::{process_bytes, rounded};
use crate::config::Config;

/// Finding about memory. `limit` is the memory limit of the container.
pub(super) fn check(config: &Config, reader: &Reader<'_>, limit: Option<u64>) -> Finding {
    let fetched = match reader.fetched() {
        Ok(found) => found,
        Err(error) => {
            return Finding::warning(
                "memory",
                format!("the batches that the topics accept are not known: {error}"),
                "allow DescribeConfigs on both topics to the user of kafka.properties, if the brokers \
                 have this request",
            );
        }
    };
    let workers = u64::try_from(config.workers).unwrap_or(u64::MAX);
    let needed = process_bytes(config).saturating_add(fetched.bytes.saturating_mul(workers));
    let topics: Vec<String> = (fetched.topics)
        .iter()
        .map(|(topic, accepted)| format!("{topic} accepts {accepted}"))
        .collect();
    let message = format!(
        "the process needs at most {} and the gold set, also if producers are not trusted: {}",
        rounded(needed),
        topics.join("; ")
    );
    match limit {
        Some(limit) if needed > limit => Finding::warning(
            "memory",
            format!(
                "{message}; the memory limit of this container is {}",
                rounded(limit)
            ),
            "if producers are not trusted, set compression.type of both topics to uncompressed, \
             snappy or lz4 and lower their max.message.bytes, or raise the limit",
        ),
        _ => Finding::ok("memory", message),
    }
}
