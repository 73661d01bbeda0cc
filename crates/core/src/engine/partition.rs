//! One partition of both topics: its clock, its join and its offsets.
//!
//! The progress of a partition passes from one owner to the next. The old owner commits a
//! [`CommitPoint`] for each topic. The new owner builds a [`Resume`] from them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::engine::join::{Join, Second};
use crate::engine::settings::Settings;
use crate::engine::watermark::PartitionClock;
use crate::event::Kind;
use crate::time::{EventTime, Millis, WallTime};

/// State in which the previous owner left a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// Offset at which reading starts, by kind. While it is before `counted`, records are replayed,
    /// and event time stops until the replay is complete, because the two topics are read
    /// independently.
    pub rebuild: [Option<i64>; 2],
    /// First offset that is not yet counted, by kind. Records before it only rebuild the join.
    /// `None` counts from the first record on.
    pub counted: [Option<i64>; 2],
    /// First second that is not yet closed.
    pub frontier: Option<Second>,
    /// Newest event time, by kind.
    pub newest: [Option<EventTime>; 2],
    /// Newest time of a counted record, by kind.
    pub written: [Option<WallTime>; 2],
    /// Number of pending events, by kind. The replay restores them.
    pub pending: [u64; 2],
    /// Number of pending events, by kind, that no replay can restore, because their records are gone.
    pub lost_pending: [u64; 2],
    /// Records that were rejected as too far in the future, by kind. They stay rejected even if the
    /// clock has reached their times by now.
    pub rejected: [Vec<RejectedSpan>; 2],
}

/// State committed to Kafka for one topic partition, from which a new owner continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitPoint {
    /// Partition number.
    pub partition: i32,
    /// Kind of the topic.
    pub kind: Kind,
    /// Oldest offset that is still needed.
    pub rebuild: i64,
    /// First offset that is not yet counted.
    pub counted: i64,
    /// First second that is not yet closed.
    pub frontier: Option<Second>,
    /// Newest event time of the topic.
    pub newest: Option<EventTime>,
    /// Newest time that Kafka states for a counted record. All records of a topic that is recreated
    /// later have later times.
    pub written: Option<WallTime>,
    /// Number of pending events.
    pub pending: u64,
    /// Records from `rebuild` on that were rejected as too far in the future.
    pub rejected: Vec<RejectedSpan>,
}

impl Resume {
    /// Adds the committed state of one topic of the partition.
    pub fn add(&mut self, point: &CommitPoint) {
        let kind = point.kind.index();
        self.rebuild[kind] = Some(point.rebuild);
        self.counted[kind] = Some(point.counted);
        self.frontier = self.frontier.max(point.frontier);
        self.newest[kind] = point.newest;
        self.written[kind] = point.written;
        self.pending[kind] = point.pending;
        self.rejected[kind].clone_from(&point.rejected);
    }
}

impl CommitPoint {
    /// Returns a key that orders the points of one topic by progress. The frontier is part of it,
    /// because seconds are also closed without new records: time advances when a topic is idle.
    pub fn progress(&self) -> (i64, Option<Second>) {
        (self.counted, self.frontier)
    }

    /// Creates the point of a topic that this engine reads first at `start`. Every record from
    /// there on counts.
    pub fn starting_at(partition: i32, kind: Kind, start: i64) -> Self {
        Self {
            partition,
            kind,
            rebuild: start,
            counted: start,
            frontier: None,
            newest: None,
            written: None,
            pending: 0,
            rejected: Vec::new(),
        }
    }
}

/// Events that were rejected as too far in the future: those of the records between two offsets whose
/// event time is at least `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedSpan {
    /// Offset of the first one.
    pub first: i64,
    /// Offset of the last one.
    pub last: i64,
    /// Lowest event time of them. Every other event of the span has a lower one.
    pub from: EventTime,
}

/// Maximum number of spans, because the metadata of a commit is limited in size.
///
/// A span covers about as much time as events may be ahead of the clock: only then can the time of
/// an accepted record reach that of an earlier rejected one. This number therefore lasts for any
/// number of rejections, unless a client sends times on both sides of the limit all the time.
pub const MAX_REJECTED_SPANS: usize = 64;

/// Events of one topic that were rejected as too far in the future.
///
/// A record can hold several events. All of them are checked at the same wall time, so a time
/// separates the rejected from the accepted ones of a record. A record is therefore added to the
/// spans as a whole, when the next one is read.
#[derive(Debug, Default)]
pub(super) struct Rejections {
    spans: VecDeque<RejectedSpan>,
    /// True if the last span can be extended.
    is_open: bool,
    /// Newest event time of an accepted event since the start of the last span.
    accepted: Option<EventTime>,
    /// Record that was read last.
    current: Option<CurrentRecord>,
}

/// Events of the record that was read last.
#[derive(Clone, Copy, Debug)]
struct CurrentRecord {
    offset: i64,
    /// Newest event time of its accepted events.
    accepted: Option<EventTime>,
    /// Lowest event time of its rejected events.
    rejected: Option<EventTime>,
}

impl CurrentRecord {
    fn span(&self) -> Option<RejectedSpan> {
        Some(RejectedSpan {
            first: self.offset,
            last: self.offset,
            from: self.rejected?,
        })
    }
}

impl Rejections {
    fn resume(spans: Vec<RejectedSpan>) -> Self {
        Self {
            spans: spans.into(),
            ..Self::default()
        }
    }

    /// Returns true if an event was rejected when it was first read.
    pub(super) fn contains(&self, offset: i64, ts: EventTime) -> bool {
        let is_within =
            |span: RejectedSpan| (span.first..=span.last).contains(&offset) && ts >= span.from;
        self.spans().any(is_within)
    }

    /// Notes that an event of the record at `offset` is accepted.
    pub(super) fn accept(&mut self, offset: i64, ts: EventTime) {
        let current = self.enter(offset);
        current.accepted = current.accepted.max(Some(ts));
    }

    /// Notes that an event of the record at `offset` is rejected.
    pub(super) fn reject(&mut self, offset: i64, ts: EventTime) {
        let current = self.enter(offset);
        current.rejected = Some(current.rejected.map_or(ts, |lowest| lowest.min(ts)));
    }

    /// Returns the events of the record at `offset`. Adds an earlier record to the spans.
    fn enter(&mut self, offset: i64) -> &mut CurrentRecord {
        if let Some(current) = self.current.filter(|current| current.offset != offset) {
            self.add(current);
            self.current = None;
        }
        self.current.get_or_insert(CurrentRecord {
            offset,
            accepted: None,
            rejected: None,
        })
    }

    fn add(&mut self, record: CurrentRecord) {
        if let (Some(ts), Some(span)) = (record.accepted, self.spans.back()) {
            self.is_open &= ts < span.from;
            self.accepted = self.accepted.max(Some(ts));
        }
        let Some(new) = record.span() else {
            return;
        };
        let is_open = self.is_open && self.accepted.is_none_or(|accepted| new.from > accepted);
        if let Some(span) = self.spans.back_mut().filter(|_| is_open) {
            span.last = new.last;
            span.from = span.from.min(new.from);
            return;
        }
        self.spans.push_back(new);
        if self.spans.len() > MAX_REJECTED_SPANS {
            self.spans.pop_front();
        }
        self.is_open = true;
        self.accepted = record.accepted;
    }

    /// All spans, with that of the record that was read last.
    fn spans(&self) -> impl Iterator<Item = RejectedSpan> {
        let current = self.current.as_ref().and_then(CurrentRecord::span);
        self.spans.iter().copied().chain(current)
    }
}

/// One partition of both topics.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) number: i32,
    pub(super) clock: PartitionClock,
    pub(super) join: Join,
    /// First offset that is not yet counted, by kind.
    counted: [Option<i64>; 2],
    /// Next expected offset, by kind: the offset after the last record read, or the first one to
    /// read.
    expected: [Option<i64>; 2],
    /// Newest time of a counted record, by kind.
    written: [Option<WallTime>; 2],
    /// Number of pending events before the replay, by kind.
    resumed: [u64; 2],
    /// Records that were rejected as too far in the future, by kind.
    pub(super) rejected: [Rejections; 2],
    pub(super) lag: [Option<u64>; 2],
    pub(super) watermark: Option<EventTime>,
}

impl Partition {
    pub(super) fn new(number: i32, settings: &Settings, resume: Resume) -> Self {
        let window = settings.feedback_window.into();
        Self {
            number,
            clock: PartitionClock::resume(resume.newest),
            join: Join::new(window, settings.join_limits, resume.frontier),
            counted: resume.counted,
            expected: resume.rebuild,
            written: resume.written,
            resumed: resume.pending,
            rejected: resume.rejected.map(Rejections::resume),
            lag: [None; 2],
            watermark: None,
        }
    }

    /// Returns true while records that a previous owner has counted are being replayed.
    pub(super) fn is_catching_up(&self) -> bool {
        Kind::ALL.into_iter().any(|kind| self.is_behind(kind))
    }

    fn is_behind(&self, kind: Kind) -> bool {
        let expected = self.expected[kind.index()];
        expected.is_some() && expected < self.counted[kind.index()]
    }

    /// Returns true if the record at `offset` must be deferred until the other topic is replayed up
    /// to its counted offset. A pair of search and feedback is counted when the later of the two is
    /// read for the first time. If new records of one topic were counted during the replay of the
    /// other, and the partition then changed its owner, both records would be marked as counted,
    /// and their pair would never be counted.
    pub(super) fn must_defer(&self, kind: Kind, offset: i64) -> bool {
        let is_new = self.counted[kind.index()].is_none_or(|counted| offset >= counted);
        is_new && self.is_behind(other(kind))
    }

    /// Applies a broker report that `records` of the topic are still to be read.
    pub(super) fn update_lag(&mut self, kind: Kind, records: u64, wall: WallTime) {
        let kind_index = kind.index();
        self.lag[kind_index] = Some(records);
        self.clock.lag(kind, records, wall);
        if records == 0 {
            // The last offsets may hold no records (transaction markers).
            self.expected[kind_index] = self.expected[kind_index].max(self.counted[kind_index]);
        }
    }

    /// Moves past the records before an offset, which are lost. Returns the number of those that
    /// were not counted.
    pub(super) fn lose(&mut self, kind: Kind, before: i64) -> u64 {
        let kind = kind.index();
        self.expected[kind] = self.expected[kind].max(Some(before));
        let counted = self.counted[kind].unwrap_or(before);
        self.counted[kind] = Some(counted.max(before));
        u64::try_from(before - counted).unwrap_or(0)
    }

    /// Registers the receipt of a record. Returns whether it must be counted, and the number of
    /// offsets without a record before it. The counted offset is never before the expected one. A
    /// gap in the log is therefore counted once, across all owners.
    pub(super) fn receive(&mut self, kind: Kind, offset: i64) -> (bool, u64) {
        self.expected[kind.index()] = Some(offset + 1);
        let counted = &mut self.counted[kind.index()];
        let gap = counted.map_or(0, |counted| u64::try_from(offset - counted).unwrap_or(0));
        let fresh = counted.is_none_or(|counted| offset >= counted);
        if fresh {
            *counted = Some(offset + 1);
        }
        (fresh, gap)
    }

    /// Notes the time that Kafka states for a record.
    pub(super) fn note_written(&mut self, kind: Kind, at: WallTime) {
        let written = &mut self.written[kind.index()];
        *written = (*written).max(Some(at));
    }

    /// Number of pending events, by kind. A replay restores them one by one, and counts none.
    fn pending(&self) -> [u64; 2] {
        if self.is_catching_up() {
            return self.resumed;
        }
        (self.join.pending()).map(|number| u64::try_from(number).unwrap_or(u64::MAX))
    }

    /// Returns the commit point of each topic with a known counted offset.
    pub(super) fn commit_points(&self) -> impl Iterator<Item = CommitPoint> {
        let pending = self.pending();
        Kind::ALL.into_iter().filter_map(move |kind| {
            let counted = self.counted[kind.index()]?;
            // The needed records are those of the join and all unread ones. The latter include
            // records that a previous owner has counted and that are still to be replayed.
            let unread = self.expected[kind.index()].unwrap_or(counted);
            let needed = self.join.oldest_offset(kind).unwrap_or(counted);
            let rebuild = needed.min(unread).min(counted);
            let rejected = self.rejected[kind.index()].spans();
            Some(CommitPoint {
                partition: self.number,
                kind,
                rebuild,
                counted,
                frontier: self.join.frontier(),
                newest: self.clock.newest_of(kind),
                written: self.written[kind.index()],
                pending: pending[kind.index()],
                rejected: rejected.filter(|span| span.last >= rebuild).collect(),
            })
        })
    }

    /// Returns the topic to pause, for one of two reasons. Its replay is complete, and the replay
    /// of the other topic is not. Or its newest event is more than a feedback window newer than the
    /// other topic's, and the other topic has records left.
    pub(super) fn leader(&self, feedback_window: Millis) -> Option<Kind> {
        let is_ahead = |kind: &Kind| !self.is_behind(*kind) && self.is_behind(other(*kind));
        if let Some(kind) = Kind::ALL.into_iter().find(is_ahead) {
            return Some(kind);
        }
        let [search, feedback] = Kind::ALL.map(|kind| self.clock.newest_of(kind));
        let lead = search?.since(feedback?);
        let (ahead, behind, by) = if lead.0 >= 0 {
            (Kind::Search, Kind::Feedback, lead)
        } else {
            (Kind::Feedback, Kind::Search, Millis(-lead.0))
        };
        let has_more = self.lag[behind.index()] != Some(0);
        (by > feedback_window && has_more).then_some(ahead)
    }

    /// Returns the next expected offset; `None` if it is not known.
    pub(super) fn next_offset(&self, kind: Kind) -> Option<i64> {
        self.expected[kind.index()].or(self.counted[kind.index()])
    }
}

fn other(kind: Kind) -> Kind {
    match kind {
        Kind::Search => Kind::Feedback,
        Kind::Feedback => Kind::Search,
    }
}
