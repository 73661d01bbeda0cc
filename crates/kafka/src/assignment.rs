//! Partitions with their offsets, and their assignment if an earlier one may have left them paused.

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::Offset;

/// Offsets of partitions of a topic.
pub(crate) fn list(
    topic: &str,
    offsets: impl IntoIterator<Item = (i32, Offset)>,
) -> KafkaResult<TopicPartitionList> {
    let mut list = TopicPartitionList::new();
    for (partition, offset) in offsets {
        list.add_partition_offset(topic, partition, offset)?;
    }
    Ok(list)
}

/// Calls `assign` with the partitions and their start offsets, none of which is paused afterwards.
///
/// librdkafka keeps a partition paused across assignments. It starts the fetches of an assigned partition in another
/// thread, so a request to resume must come before: one that is made at the same time is ignored, or the start is, and
/// the partition is never read.
pub(crate) fn assign_resumed<C: ConsumerContext>(
    consumer: &BaseConsumer<C>,
    starts: &TopicPartitionList,
    assign: impl FnOnce(&TopicPartitionList) -> KafkaResult<()>,
) -> KafkaResult<()> {
    // It marks the partitions that it does not know in its list, hence the copy.
    consumer.resume(&starts.clone())?;
    assign(starts)
}
