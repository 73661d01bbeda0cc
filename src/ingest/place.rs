//! Places of records.

use rankgauge_core::engine::Position;
use rankgauge_kafka::group::Message;

/// Position of a record in its topic.
pub(super) fn position(record: &impl Message) -> Position {
    Position {
        partition: record.partition(),
        offset: record.offset(),
    }
}
