//! Stalled topic partitions of a worker and of a forwarder: their log lines, and the choice between
//! another read with a larger buffer, a wait and a skip.

use std::collections::BTreeMap;
use std::time::Duration;

use tracing::{error, info, warn};

use super::boot_time::BootTime;
use super::context::WorkerContext;
use crate::config::container;
use rankgauge_core::event::Kind;
use rankgauge_kafka::Settings;
use rankgauge_kafka::group::{BorrowedMessage, Consumer, Member, Stall};
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

/// Stalled topic partitions of a consumer.
#[derive(Debug, Default)]
pub(super) struct StalledPartitions(BTreeMap<(i32, Kind), Known>);

/// Processing of the records of stalled topic partitions.
pub(super) trait Records {
    /// Processes a record. Returns false to stop the read.
    fn take(&mut self, record: &BorrowedMessage<'_>) -> bool;

    /// Counts the unreadable records of a topic partition before an offset as lost.
    fn lose(&mut self, kind: Kind, partition: i32, before: i64);
}

#[derive(Debug)]
struct Known {
    offset: i64,
    next_read: BootTime,
    is_unreadable: bool,
}

impl StalledPartitions {
    /// Logs new stalls, and reads from those partitions where librdkafka reports an unreadable batch.
    /// Returns all. `kafka` has the settings of the consumer.
    pub(super) fn handle<M: Member>(
        &mut self,
        consumer: &Consumer<M>,
        context: &WorkerContext,
        kafka: &Settings,
        records: &mut dyn Records,
    ) -> Vec<StalledPartition> {
        let stalls = consumer.stalls();
        let is_same = |place: &(i32, Kind), known: &Known, stall: &Stall| {
            *place == (stall.partition, stall.kind) && known.offset == stall.offset
        };
        (self.0).retain(|place, known| stalls.iter().any(|it| is_same(place, known, it)));
        for stall in &stalls {
            let place = (stall.partition, stall.kind);
            let now = BootTime::now();
            let known = self.0.entry(place).or_insert_with(|| {
                log(context, kafka, stall);
                Known {
                    offset: stall.offset,
                    next_read: now,
                    is_unreadable: false,
                }
            });
            let may_help = kafka.stalled_partition == Choice::Skip || !known.is_unreadable;
            if stall.is_unreadable && may_help && now >= known.next_read {
                known.is_unreadable = read(consumer, context, kafka, stall, records);
                known.next_read = BootTime::now() + RETRY_INTERVAL;
            }
        }
        let published = stalls.iter().map(|stall| StalledPartition {
            kind: stall.kind,
            topic: kafka.topic(stall.kind).to_owned(),
            partition: stall.partition,
            offset: stall.offset,
            since: stall.since,
            cause: cause(stall),
        });
        published.collect()
    }
}

fn cause(stall: &Stall) -> &'static str {
    if stall.is_unreadable {
        UNREADABLE
    } else {
        UNKNOWN
    }
}

fn log(context: &WorkerContext, kafka: &Settings, stall: &Stall) {
    error!(
        worker = context.number,
        topic = kafka.topic(stall.kind),
        partition = stall.partition,
        offset = stall.offset,
        seconds = stall.since.elapsed().as_secs(),
        cause = cause(stall),
        "partition stalled"
    );
}

/// Reads from a stalled topic partition with a larger buffer, or skips its batch. Returns true if the
/// batch cannot be read.
fn read<M: Member>(
    consumer: &Consumer<M>,
    context: &WorkerContext,
    kafka: &Settings,
    stall: &Stall,
    records: &mut dyn Records,
) -> bool {
    let Stall {
        kind,
        partition,
        offset,
        ..
    } = *stall;
    let worker = context.number;
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
    match prober.read(offset, &mut |record| records.take(record)) {
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
                records.lose(kind, partition, next);
                consumer.continue_at(kind, partition, next);
            }
            true
        }
    }
}
