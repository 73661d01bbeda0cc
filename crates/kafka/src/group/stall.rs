//! Detection of stalled topic partitions: they have records to read and deliver none.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rankgauge_core::event::Kind;

/// Time without progress after which a topic partition is stalled.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The same, while librdkafka reports batches that it cannot read.
const UNREADABLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for which a report about an unreadable batch applies. librdkafka repeats it every
/// `fetch.error.backoff.ms`.
const REPORT_AGE: Duration = Duration::from_secs(10);

/// Topic partition that has records to read and delivers none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Kind of the topic.
    pub kind: Kind,
    /// Number of the partition, from 0.
    pub partition: i32,
    /// Offset at which reading stopped.
    pub offset: i64,
    /// Time of the last progress.
    pub since: Instant,
    /// True if librdkafka reports a batch that it cannot read. It does not name the partition.
    pub is_unreadable: bool,
}

/// Position of a topic partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Next offset to fetch.
    pub(super) fetch: i64,
    /// Offset after the last record that the worker received.
    pub(super) received: i64,
}

/// Progress of the topic partitions of a worker.
#[derive(Debug, Default)]
pub(super) struct StallWatch {
    /// Position, and the time since which it is the same.
    waiting: BTreeMap<(i32, Kind), (Position, Instant)>,
    /// Time of the last report about an unreadable batch.
    reported: Option<Instant>,
}

impl StallWatch {
    /// Notes that librdkafka received a batch that it cannot read.
    pub(super) fn note_unreadable(&mut self, now: Instant) {
        self.reported = Some(now);
    }

    /// Notes the position of a topic partition that waits for records; `None` if it waits for nothing.
    pub(super) fn note(&mut self, place: (i32, Kind), waits_at: Option<Position>, now: Instant) {
        match waits_at {
            None => {
                self.waiting.remove(&place);
            }
            Some(position) => {
                let known = self.waiting.entry(place).or_insert((position, now));
                if known.0 != position {
                    *known = (position, now);
                }
            }
        }
    }

    /// Removes all topic partitions, because others are assigned.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Stalled topic partitions at `now`.
    pub(super) fn stalls(&self, now: Instant) -> Vec<Stall> {
        let is_unreadable = (self.reported).is_some_and(|at| now.duration_since(at) < REPORT_AGE);
        let limit = if is_unreadable {
            UNREADABLE_TIMEOUT
        } else {
            STALL_TIMEOUT
        };
        let stalled = (self.waiting.iter())
            .filter(|(_, (_, since))| now.duration_since(*since) >= limit)
            .map(|((partition, kind), (position, since))| Stall {
                kind: *kind,
                partition: *partition,
                offset: position.fetch,
                since: *since,
                is_unreadable,
            });
        stalled.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: (i32, Kind) = (3, Kind::Search);

    fn at_offsets(fetch: i64, received: i64) -> Position {
        Position { fetch, received }
    }

    #[test]
    fn partition_without_progress_is_stalled_after_thirty_seconds() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut watch = StallWatch::default();
        watch.note(PLACE, Some(at_offsets(8, 7)), at(0));
        watch.note(PLACE, Some(at_offsets(8, 8)), at(10));
        watch.note(PLACE, Some(at_offsets(8, 8)), at(39));
        assert_eq!(watch.stalls(at(39)), []);
        let [stall] = watch.stalls(at(40))[..] else {
            panic!("one stall")
        };
        assert_eq!((stall.partition, stall.offset), (3, 8));
        assert_eq!(stall.since, at(10));
        assert!(!stall.is_unreadable);
        // The end of the log, a pause, or a revocation.
        watch.note(PLACE, None, at(41));
        assert_eq!(watch.stalls(at(100)), []);
    }

    #[test]
    fn reported_unreadable_batch_shortens_the_time() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut watch = StallWatch::default();
        watch.note(PLACE, Some(at_offsets(8, 8)), at(0));
        watch.note_unreadable(at(4));
        assert_eq!(watch.stalls(at(4)), []);
        assert!(watch.stalls(at(5))[0].is_unreadable);
        assert_eq!(watch.stalls(at(15)), [], "no further report");
    }
}
