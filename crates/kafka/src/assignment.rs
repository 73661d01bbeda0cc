//! Assignment of partitions that an earlier assignment may have left paused.

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::KafkaResult;

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
