//! Reaction to stalls of a thread that polls a consumer.

use tracing::warn;

use super::boot_time::BootTime;
use super::context::WorkerContext;
use super::pace::StallCheck;
use rankgauge_kafka::group::{Consumer, Member};

/// Requests a rejoin after a stall, and returns true. After a stall of this length the group considers
/// the member dead, and another member counts its partitions.
pub(super) fn has_stalled<M: Member>(
    check: &mut StallCheck,
    consumer: &Consumer<M>,
    context: &WorkerContext,
) -> bool {
    let Some(stalled) = check.runs(BootTime::now()) else {
        return false;
    };
    warn!(
        worker = context.number,
        seconds = stalled.as_secs(),
        "stalled; rejoining the consumer group"
    );
    consumer.rejoin_as_lost();
    true
}
