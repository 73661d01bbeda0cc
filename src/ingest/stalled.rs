//! Stalled topic partitions of a worker: their log lines, and the choice between another read with a
//! larger buffer, a wait and a skip.

use std::collections::BTreeMap;
use std::time::Duration;

use tracing::{error, info, warn};

use super::boot_time::BootTime;
use super::context::WorkerContext;
use super::member::EngineMember;
use crate::config::container;
use rankgauge_core::engine::Input;
use rankgauge_core::event::{Kind, LossReason};
use rankgauge_kafka::group::{BorrowedMessage, Consumer, Stall};
use rankgauge_kafka::prober::{Prober, Reading};
use rankgauge_kafka::settings::StalledPartition as Choice;
use rankgauge_serve::live::StalledPartition;

/// Buffer for the read of a batch that stalls its partition, in bytes, as far as half of the memory limit of
/// the container and half of the available memory allow it: the process must not be killed by the batch.
const BUFFER: u64 = 1_000_000_000;

/// Interval between two reads of the same batch.
const RETRY_INTERVAL: Duration = Duration::from_mins(1);

const UNREADABLE: &str = "a batch cannot be decompressed, or is damaged. Raise \
    kafka.properties.receive.message.max.bytes, or skip the batch with kafka.stalled_partition: skip";
const UNKNOWN: &str = "the broker delivers no record. Check the leader of the partition, and the log \
    of its broker";

/// Stalled topic partitions of a worker.
#[derive(Debug, Default)]
pub(super) struct StalledPartitions(BTreeMap<(i32, Kind), Known>);

#[derive(Debug)]
struct Known {
    offset: i64,
    next_read: BootTime,
    is_unreadable: bool,
}

impl StalledPartitions {
    /// Logs new stalls, publishes all, and reads from those partitions where librdkafka reports an
    /// unreadable batch. `take` processes a record, and returns false to stop the read.
    pub(super) fn handle(
        &mut self,
        consumer: &Consumer<EngineMember>,
        context: &WorkerContext,
        take: &mut dyn FnMut(&BorrowedMessage<'_>) -> bool,
    ) {
        let stalls = consumer.stalls();
        if stalls.is_empty() && self.0.is_empty() {
            return;
        }
        let is_same = |place: &(i32, Kind), known: &Known, stall: &Stall| {
            *place == (stall.partition, stall.kind) && known.offset == stall.offset
        };
        (self.0).retain(|place, known| stalls.iter().any(|it| is_same(place, known, it)));
        for stall in &stalls {
            let place = (stall.partition, stall.kind);
            let now = BootTime::now();
            let known = self.0.entry(place).or_insert_with(|| {
                log(context, stall);
                Known {
                    offset: stall.offset,
                    next_read: now,
                    is_unreadable: false,
                }
            });
            let may_help =
                context.kafka().stalled_partition == Choice::Skip || !known.is_unreadable;
            if stall.is_unreadable && may_help && now >= known.next_read {
                known.is_unreadable = read(consumer, context, stall, take);
                known.next_read = BootTime::now() + RETRY_INTERVAL;
            }
        }
        let published = stalls.iter().map(|stall| StalledPartition {
            kind: stall.kind,
            topic: context.kafka().topic(stall.kind).to_owned(),
            partition: stall.partition,
            offset: stall.offset,
            since: stall.since,
            cause: cause(stall),
        });
        context.view().set_stalled(published.collect());
    }
}

fn cause(stall: &Stall) -> &'static str {
    if stall.is_unreadable {
        UNREADABLE
    } else {
        UNKNOWN
    }
}

fn log(context: &WorkerContext, stall: &Stall) {
    error!(
        worker = context.number,
        topic = context.kafka().topic(stall.kind),
        partition = stall.partition,
        offset = stall.offset,
        seconds = stall.since.elapsed().as_secs(),
        cause = cause(stall),
        "partition stalled"
    );
}

/// Reads from a stalled topic partition with a larger buffer, or skips its batch. Returns true if the
/// batch cannot be read.
fn read(
    consumer: &Consumer<EngineMember>,
    context: &WorkerContext,
    stall: &Stall,
    take: &mut dyn FnMut(&BorrowedMessage<'_>) -> bool,
) -> bool {
    let Stall {
        kind,
        partition,
        offset,
        ..
    } = *stall;
    let (worker, kafka) = (context.number, context.kafka());
    let topic = kafka.topic(kind);
    let buffer = container::momentary_memory().map_or(BUFFER, |bytes| BUFFER.min(bytes));
    // Both reads together end before the group removes a member that does not poll.
    let limit = (kafka.session_timeout() / 4).min(Duration::from_secs(10));
    let prober = match Prober::new(kafka, topic, partition, buffer, limit) {
        Ok(prober) => prober,
        Err(problem) => {
            warn!(worker, topic, partition, error = %problem, "cannot read the stalled partition");
            return false;
        }
    };
    match prober.read(offset, take) {
        Reading::Until(next) => {
            info!(
                worker,
                topic,
                partition,
                offset,
                next,
                buffer,
                "stalled partition read with a larger buffer"
            );
            consumer.continue_at(kind, partition, next);
            false
        }
        Reading::Unanswered => false,
        Reading::Unreadable => {
            if kafka.stalled_partition == Choice::Skip
                && let Some(next) = prober.after_unreadable(offset)
            {
                error!(
                    worker,
                    topic,
                    partition,
                    offset,
                    next,
                    "unreadable batch skipped; its records are counted as lost"
                );
                consumer.member().engine.apply(Input::Lost {
                    kind,
                    partition,
                    before: next,
                    reason: LossReason::Unreadable,
                });
                consumer.continue_at(kind, partition, next);
            }
            true
        }
    }
}
