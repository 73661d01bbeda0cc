//! Watermarks: event times up to which all records are assumed to have arrived.
//!
//! The watermark of a topic in a partition is its newest event time minus the allowed
//! out-of-orderness. The watermark of what is joined with each other, a partition of both topics or all
//! partitions, is the lowest one of its topic partitions. A topic partition that is read to its end and
//! stays idle no longer holds the others back. If all are idle, the watermark advances with the wall
//! clock, and windows drain. A topic counts as read to
//! its end only while the broker keeps confirming it: time does not advance while the broker is
//! unavailable.
//!
//! A partition of an internal topic has the records of many source partitions, of which one can be read
//! minutes behind another. It has a clock for each of them, which advances by the reports that follow their
//! records.

use smallvec::SmallVec;

use crate::engine::sources::{MAX_SOURCES, SourceReport};
use crate::event::Kind;
use crate::time::{EventTime, Millis, WallTime};

/// Validity of a broker report that no records are left to read.
const REPORT_VALID_FOR: Millis = Millis(15_000);

/// Clocks of the topic partitions that are joined with each other.
#[derive(Clone, Debug, Default)]
pub(super) struct PartitionClock {
    topics: SmallVec<[TopicClock; 2]>,
    /// Clocks of the source partitions, if the topics are internal ones.
    sources: Option<Sources>,
    watermark: Option<EventTime>,
}

/// Clocks of the source partitions of internal topics.
#[derive(Clone, Debug)]
struct Sources {
    /// Kinds of the topics.
    kinds: &'static [Kind],
    /// Clocks by kind; empty before the first report.
    clocks: [Vec<TopicClock>; 2],
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
pub(super) struct ClockSettings {
    /// Maximum delay of a record behind the newest event time.
    pub(super) out_of_orderness: Millis,
    /// Idle time after which a topic no longer holds its partition back.
    pub(super) idle_timeout: Millis,
}

impl PartitionClock {
    /// Creates the clock of partitions of internal topics of these kinds.
    pub(super) fn of_sources(kinds: &'static [Kind]) -> Self {
        Self {
            sources: Some(Sources {
                kinds,
                clocks: [Vec::new(), Vec::new()],
            }),
            ..Self::default()
        }
    }

    /// Applies a report about source partitions of an internal topic, which is read at `wall`.
    pub(super) fn report(&mut self, kind: Kind, report: &SourceReport, wall: WallTime) {
        let Some(sources) = &mut self.sources else {
            return;
        };
        let clocks = &mut sources.clocks[kind.index()];
        let number = report.partitions.min(MAX_SOURCES);
        if clocks.len() < number {
            clocks.resize_with(number, TopicClock::default);
        }
        for source in &report.sources {
            let clock = usize::try_from(source.partition).ok();
            let Some(clock) = clock.and_then(|index| clocks.get_mut(index)) else {
                continue;
            };
            let is_newer = source.newest > clock.newest;
            clock.newest = clock.newest.max(source.newest);
            let since = clock.read_to_end.filter(|_| !is_newer);
            clock.read_to_end = source.is_at_end.then(|| ReadToEnd {
                since: since.map_or(wall, |earlier| earlier.since),
                confirmed: wall,
            });
        }
    }

    /// Clocks that determine the watermark; `None` while the source partitions of a topic are not known.
    fn clocks(&self) -> Option<SmallVec<[&TopicClock; 2]>> {
        let Some(sources) = &self.sources else {
            return Some(self.topics.iter().collect());
        };
        let mut kinds = sources.kinds.iter();
        let is_known = kinds.all(|kind| !sources.clocks[kind.index()].is_empty());
        is_known.then(|| sources.clocks.iter().flatten().collect())
    }

    /// Adds the clock of a topic partition, from the state of its previous owner.
    pub(super) fn add(&mut self, newest: Option<EventTime>) {
        self.topics.push(TopicClock {
            newest,
            read_to_end: None,
        });
    }

    /// Observes a record of topic partition `index` with event time `at`.
    pub(super) fn observe(&mut self, index: usize, at: EventTime) {
        if let Some(topic) = self.topics.get_mut(index) {
            topic.newest = topic.newest.max(Some(at));
            topic.read_to_end = None;
        }
    }

    /// Applies a broker report that `records` of topic partition `index` are still to be read.
    pub(super) fn lag(&mut self, index: usize, records: u64, wall: WallTime) {
        if let Some(topic) = self.topics.get_mut(index) {
            topic.read_to_end = (records == 0).then(|| ReadToEnd {
                since: topic.read_to_end.map_or(wall, |earlier| earlier.since),
                confirmed: wall,
            });
        }
    }

    /// Returns the watermark as of `wall`. It never decreases, and is `None` until each topic
    /// partition has a record or is idle.
    pub(super) fn watermark(
        &mut self,
        settings: ClockSettings,
        wall: WallTime,
    ) -> Option<EventTime> {
        let behind = |at: EventTime| at.minus(settings.out_of_orderness);
        let idle_for = |topic: &TopicClock| topic.idle_for(settings, wall);
        let clocks = self.clocks().unwrap_or_default();
        let mut active = (clocks.iter())
            .filter(|topic| idle_for(topic).is_none())
            .peekable();
        let current = if active.peek().is_none() {
            // All are idle: event time advances with the wall clock.
            let paced = |topic: &&TopicClock| Some(behind(topic.newest?).plus(idle_for(topic)?));
            clocks.iter().filter_map(paced).max()
        } else {
            active.map(|topic| topic.newest.map(behind)).min().flatten()
        };
        drop(clocks);
        self.watermark = self.watermark.max(current);
        self.watermark
    }

    /// Returns the newest event time of topic partition `index`.
    pub(super) fn newest_of(&self, index: usize) -> Option<EventTime> {
        self.topics.get(index)?.newest
    }

    /// Returns the newest event time.
    pub(super) fn newest(&self) -> Option<EventTime> {
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

#[cfg(test)]
mod tests;
