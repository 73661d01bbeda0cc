//! Watermarks: up to which event time everything is believed to have arrived.
//!
//! Per partition and topic the watermark is the newest event time minus the allowed disorder. A
//! partition's is the lower of its two topics'. A topic that was read to its end and stays silent
//! stops holding its partition back; when both are silent the watermark moves on with the wall
//! clock, so that windows drain. A topic is known to be read to its end only while the broker
//! keeps saying so: a broker that is away does not let time pass.

use crate::event::Kind;
use crate::time::{EventTime, Millis, WallTime};

/// A report of "nothing left to read" that is older than this no longer counts.
const REPORT_VALID_FOR: Millis = Millis(15_000);

/// The clocks of one partition of both topics.
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

/// What the clock needs of the settings, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct ClockSettings {
    /// How far behind the newest event time a record may arrive.
    pub out_of_orderness: Millis,
    /// Silence after which a topic stops holding its partition back.
    pub idle_timeout: Millis,
}

impl PartitionClock {
    /// The clocks as whoever owned the partition before has left them.
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

    /// A record of `kind` with event time `at` was read.
    pub fn observe(&mut self, kind: Kind, at: EventTime) {
        let topic = &mut self.topics[kind.index()];
        topic.newest = topic.newest.max(Some(at));
        topic.read_to_end = None;
    }

    /// The broker says that `records` of the topic are still to be read.
    pub fn lag(&mut self, kind: Kind, records: u64, wall: WallTime) {
        let topic = &mut self.topics[kind.index()];
        topic.read_to_end = (records == 0).then(|| ReadToEnd {
            since: topic.read_to_end.map_or(wall, |earlier| earlier.since),
            confirmed: wall,
        });
    }

    /// The watermark as of `wall`. Never goes back; `None` until both topics have spoken or are
    /// idle.
    pub fn watermark(&mut self, settings: ClockSettings, wall: WallTime) -> Option<EventTime> {
        let idle = self
            .topics
            .each_ref()
            .map(|topic| topic.idle_for(settings, wall));
        let behind = |at: EventTime| at.minus(settings.out_of_orderness);
        let current = if idle.iter().all(Option::is_some) {
            // Both silent: event time goes on at the pace of the wall clock.
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

    /// The newest event time of one topic.
    pub fn newest_of(&self, kind: Kind) -> Option<EventTime> {
        self.topics[kind.index()].newest
    }

    /// The newest event time of either topic.
    pub fn newest(&self) -> Option<EventTime> {
        self.topics.iter().filter_map(|topic| topic.newest).max()
    }
}

impl TopicClock {
    /// How long the topic has been idle beyond the time-out; `None` while it is not idle.
    fn idle_for(&self, settings: ClockSettings, wall: WallTime) -> Option<Millis> {
        let read = self.read_to_end?;
        let silence = Millis(wall.since(read.since).0 - settings.idle_timeout.0);
        let still_true = wall.since(read.confirmed) <= REPORT_VALID_FOR;
        (silence.0 >= 0 && still_true).then_some(silence)
    }
}
