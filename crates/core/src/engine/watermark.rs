//! Watermarks: event times up to which all records are assumed to have arrived.
//!
//! The watermark of a topic in a partition is its newest event time minus the allowed
//! out-of-orderness. The watermark of the partition is the lower one of its two topics. A topic
//! that is read to its end and stays idle no longer holds its partition back. If both topics are
//! idle, the watermark advances with the wall clock, and windows drain. A topic counts as read to
//! its end only while the broker keeps confirming it: time does not advance while the broker is
//! unavailable.

use crate::event::Kind;
use crate::time::{EventTime, Millis, WallTime};

/// Validity of a broker report that no records are left to read.
const REPORT_VALID_FOR: Millis = Millis(15_000);

/// Clocks of one partition of both topics.
#[derive(Clone, Debug, Default)]
pub struct PartitionClock {
    topics: [TopicClock; 2],
    watermark: Option<EventTime>,
}

#[derive(Clone, Debug, Default)]
struct TopicClock {
    newest: Option<EventTime>,
    read_to_end: Option<ReadToEnd>,
}

#[derive(Clone, Copy, Debug)]
struct ReadToEnd {
    since: WallTime,
    confirmed: WallTime,
}

/// Settings of the clocks, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct ClockSettings {
    /// Maximum delay of a record behind the newest event time.
    pub out_of_orderness: Millis,
    /// Idle time after which a topic no longer holds its partition back.
    pub idle_timeout: Millis,
}

impl PartitionClock {
    /// Creates the clocks from the state of the previous owner of the partition.
    pub fn resume(newest: [Option<EventTime>; 2]) -> Self {
        let topics = newest.map(|newest| TopicClock {
            newest,
            read_to_end: None,
        });
        Self {
            topics,
            watermark: None,
        }
    }

    /// Observes a record of `kind` with event time `at`.
    pub fn observe(&mut self, kind: Kind, at: EventTime) {
        let topic = &mut self.topics[kind.index()];
        topic.newest = topic.newest.max(Some(at));
        topic.read_to_end = None;
    }

    /// Applies a broker report that `records` of the topic are still to be read.
    pub fn lag(&mut self, kind: Kind, records: u64, wall: WallTime) {
        let topic = &mut self.topics[kind.index()];
        topic.read_to_end = (records == 0).then(|| ReadToEnd {
            since: topic.read_to_end.map_or(wall, |earlier| earlier.since),
            confirmed: wall,
        });
    }

    /// Returns the watermark as of `wall`. It never decreases, and is `None` until each topic has a
    /// record or is idle.
    pub fn watermark(&mut self, settings: ClockSettings, wall: WallTime) -> Option<EventTime> {
        let idle = self
            .topics
            .each_ref()
            .map(|topic| topic.idle_for(settings, wall));
        let behind = |at: EventTime| at.minus(settings.out_of_orderness);
        let current = if idle.iter().all(Option::is_some) {
            // Both topics are idle: event time advances with the wall clock.
            let paced = |(topic, silence): (&TopicClock, &Option<Millis>)| {
                Some(behind(topic.newest?).plus((*silence)?))
            };
            self.topics.iter().zip(&idle).filter_map(paced).max()
        } else {
            let active = self
                .topics
                .iter()
                .zip(&idle)
                .filter(|(_, idle)| idle.is_none());
            active
                .map(|(topic, _)| topic.newest.map(behind))
                .min()
                .flatten()
        };
        self.watermark = self.watermark.max(current);
        self.watermark
    }

    /// Returns the newest event time of one topic.
    pub fn newest_of(&self, kind: Kind) -> Option<EventTime> {
        self.topics[kind.index()].newest
    }

    /// Returns the newest event time of either topic.
    pub fn newest(&self) -> Option<EventTime> {
        self.topics.iter().filter_map(|topic| topic.newest).max()
    }
}

impl TopicClock {
    /// Returns the idle time beyond the time-out; `None` while the topic is not idle.
    fn idle_for(&self, settings: ClockSettings, wall: WallTime) -> Option<Millis> {
        let read = self.read_to_end?;
        let silence = Millis(wall.since(read.since).0 - settings.idle_timeout.0);
        let is_confirmed = wall.since(read.confirmed) <= REPORT_VALID_FOR;
        (silence.0 >= 0 && is_confirmed).then_some(silence)
    }
}
