//! Topic partitions that are joined with each other: their clock, their join and their offsets. They are
//! one partition of both topics, one of a topic of both kinds, or all partitions.
//!
//! The progress of a partition passes from one owner to the next. The old owner commits a
//! [`CommitPoint`] for each topic. The new owner builds a [`Resume`] from them.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::engine::join::{Join, Second};
use crate::engine::position::{self, Position, Topics};
use crate::engine::settings::Settings;
use crate::engine::snapshot::PartitionStatus;
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
    /// Number of the partition, from 0.
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
    /// Maximum number of spans of rejected records, because the metadata of a commit is limited in size.
    ///
    /// A span covers about as much time as events may be ahead of the clock: only then can the time of
    /// an accepted record reach that of an earlier rejected one. This number therefore lasts for any
    /// number of rejections, unless a client sends times on both sides of the limit all the time.
    pub const MAX_REJECTED_SPANS: usize = 64;

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
        if self.spans.len() > CommitPoint::MAX_REJECTED_SPANS {
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

/// Topic partitions that are joined with each other.
#[derive(Debug)]
pub(super) struct Partition {
    /// Number of the partition; of all partitions, that of the first one.
    pub(super) number: i32,
    topics: Topics,
    pub(super) clock: PartitionClock,
    pub(super) join: Join,
    streams: SmallVec<[Stream; 2]>,
    /// Positions in `streams`, if all partitions are joined with each other.
    by_place: BTreeMap<(i32, Kind), usize>,
    /// Number of pending events before the replay, by kind.
    resumed: [u64; 2],
    /// Newest event time of a search.
    newest_search: Option<EventTime>,
    pub(super) watermark: Option<EventTime>,
}

/// Topic partition.
#[derive(Debug)]
struct Stream {
    /// Kind of the topic.
    kind: Kind,
    partition: i32,
    /// First offset that is not yet counted.
    counted: Option<i64>,
    /// Next expected offset: the offset after the last record read, or the first one to read.
    expected: Option<i64>,
    /// Newest time of a counted record.
    written: Option<WallTime>,
    /// Records that were rejected as too far in the future.
    rejected: Rejections,
    lag: Option<u64>,
}

impl Stream {
    /// Returns true while records that a previous owner has counted are being replayed.
    fn is_behind(&self) -> bool {
        self.expected.is_some() && self.expected < self.counted
    }
}

impl Partition {
    pub(super) fn new(number: i32, settings: &Settings, resume: Resume) -> Self {
        let window = settings.feedback_window.into();
        let mut partition = Self {
            number,
            topics: settings.topics,
            clock: match settings.topics.join {
                position::Join::Partition | position::Join::All => PartitionClock::default(),
                position::Join::Repartition => PartitionClock::of_sources(settings.topics.kinds()),
            },
            join: Join::new(window, settings.join_limits, None),
            streams: SmallVec::new(),
            by_place: BTreeMap::new(),
            resumed: [0; 2],
            newest_search: None,
            watermark: None,
        };
        partition.add(number, resume);
        partition
    }

    /// Adds the topic partitions of a number. Before the first record, all partitions that are joined
    /// with each other are added.
    pub(super) fn add(&mut self, number: i32, resume: Resume) {
        let Resume {
            rebuild,
            counted,
            frontier,
            newest,
            written,
            pending,
            rejected,
            ..
        } = resume;
        for (mine, theirs) in self.resumed.iter_mut().zip(pending) {
            *mine += theirs;
        }
        if let Some(frontier) = frontier {
            self.join.close_before(frontier);
        }
        self.newest_search = self.newest_search.max(newest[Kind::Search.index()]);
        let mut rejected = rejected.map(Rejections::resume);
        for &kind in self.topics.kinds() {
            let index = kind.index();
            // Of all partitions, one topic can have more than the other.
            if self.topics.join == position::Join::All && rebuild[index].is_none() {
                continue;
            }
            let rejected = std::mem::take(&mut rejected[index]);
            self.add_stream(
                kind,
                number,
                (rebuild[index], counted[index]),
                (newest[index], written[index]),
                rejected,
            );
        }
    }

    fn add_stream(
        &mut self,
        kind: Kind,
        partition: i32,
        (expected, counted): (Option<i64>, Option<i64>),
        (newest, written): (Option<EventTime>, Option<WallTime>),
        rejected: Rejections,
    ) {
        self.clock.add(newest);
        if self.topics.join == position::Join::All {
            self.by_place.insert((partition, kind), self.streams.len());
        }
        self.streams.push(Stream {
            kind,
            partition,
            counted,
            expected,
            written,
            rejected,
            lag: None,
        });
    }

    /// Position of the topic partition with events of a kind; `None` if it is not known.
    fn find(&self, kind: Kind, partition: i32) -> Option<usize> {
        let topic = self.topics.of(kind);
        match self.topics.join {
            position::Join::Partition | position::Join::Repartition => Some(topic.index()),
            position::Join::All => self.by_place.get(&(partition, topic)).copied(),
        }
    }

    fn stream(&self, kind: Kind, partition: i32) -> Option<&Stream> {
        self.streams.get(self.find(kind, partition)?)
    }

    fn stream_mut(&mut self, kind: Kind, partition: i32) -> Option<&mut Stream> {
        let index = self.find(kind, partition)?;
        self.streams.get_mut(index)
    }

    /// Returns true if the topic partitions of this number belong to it.
    pub(super) fn contains(&self, number: i32) -> bool {
        self.streams.iter().any(|stream| stream.partition == number)
    }

    /// Topic partitions, each with the kind of its topic.
    pub(super) fn places(&self) -> impl Iterator<Item = (i32, Kind)> {
        self.streams.iter().map(|it| (it.partition, it.kind))
    }

    /// Returns true while records that a previous owner has counted are being replayed.
    pub(super) fn is_catching_up(&self) -> bool {
        self.streams.iter().any(Stream::is_behind)
    }

    /// Returns true if the record at this position must be deferred until the other topic partitions are
    /// replayed up to their counted offsets. A pair of search and feedback is counted when the later of
    /// the two is read for the first time. If new records of one topic were counted during the replay of
    /// the other, and the partition then changed its owner, both records would be marked as counted,
    /// and their pair would never be counted.
    pub(super) fn must_defer(&self, kind: Kind, at: Position) -> bool {
        let own = self.find(kind, at.partition);
        let counted = own.and_then(|own| self.streams.get(own)?.counted);
        let is_new = counted.is_none_or(|counted| at.offset >= counted);
        let mut streams = self.streams.iter().enumerate();
        is_new && streams.any(|(index, it)| Some(index) != own && it.is_behind())
    }

    /// Applies a broker report that `records` of the topic partition are still to be read.
    pub(super) fn update_lag(&mut self, kind: Kind, partition: i32, records: u64, wall: WallTime) {
        let Some(index) = self.find(kind, partition) else {
            return;
        };
        self.clock.lag(index, records, wall);
        let Some(stream) = self.streams.get_mut(index) else {
            return;
        };
        stream.lag = Some(records);
        if records == 0 {
            // The last offsets may hold no records (transaction markers).
            stream.expected = stream.expected.max(stream.counted);
        }
    }

    /// Moves past the records before an offset, which are lost. Returns the number of those that
    /// were not counted.
    pub(super) fn lose(&mut self, kind: Kind, partition: i32, before: i64) -> u64 {
        let Some(stream) = self.stream_mut(kind, partition) else {
            return 0;
        };
        stream.expected = stream.expected.max(Some(before));
        let counted = stream.counted.unwrap_or(before);
        stream.counted = Some(counted.max(before));
        u64::try_from(before - counted).unwrap_or(0)
    }

    /// Registers the receipt of a record. Returns whether it must be counted, and the number of
    /// offsets without a record before it. The counted offset is never before the expected one. A
    /// gap in the log is therefore counted once, across all owners.
    pub(super) fn receive(&mut self, kind: Kind, at: Position) -> (bool, u64) {
        if self.find(kind, at.partition).is_none() {
            let topic = self.topics.of(kind);
            self.add_stream(
                topic,
                at.partition,
                (None, None),
                (None, None),
                Rejections::default(),
            );
        }
        let Some(stream) = self.stream_mut(kind, at.partition) else {
            return (true, 0);
        };
        let offset = at.offset;
        stream.expected = Some(offset + 1);
        let counted = &mut stream.counted;
        let gap = counted.map_or(0, |counted| u64::try_from(offset - counted).unwrap_or(0));
        let fresh = counted.is_none_or(|counted| offset >= counted);
        if fresh {
            *counted = Some(offset + 1);
        }
        (fresh, gap)
    }

    /// Notes the time that Kafka states for a record.
    pub(super) fn note_written(&mut self, kind: Kind, partition: i32, at: WallTime) {
        if let Some(stream) = self.stream_mut(kind, partition) {
            stream.written = stream.written.max(Some(at));
        }
    }

    /// Number of pending events, by kind. A replay restores them one by one, and counts none.
    fn pending(&self) -> [u64; 2] {
        if self.is_catching_up() {
            return self.resumed;
        }
        (self.join.pending()).map(|number| u64::try_from(number).unwrap_or(u64::MAX))
    }

    /// Observes the event time of an accepted event.
    pub(super) fn observe(&mut self, kind: Kind, partition: i32, ts: EventTime) {
        if kind == Kind::Search {
            self.newest_search = self.newest_search.max(Some(ts));
        }
        if let Some(index) = self.find(kind, partition) {
            self.clock.observe(index, ts);
        }
    }

    /// Events of a topic partition that were rejected as too far in the future.
    pub(super) fn rejected(&mut self, kind: Kind, partition: i32) -> Option<&mut Rejections> {
        let stream = self.stream_mut(kind, partition)?;
        Some(&mut stream.rejected)
    }

    /// Newest event time of the searches; of all events if there is no search.
    pub(super) fn newest(&self) -> Option<EventTime> {
        self.newest_search.or_else(|| self.clock.newest())
    }

    /// Returns the commit point of each topic partition with a known counted offset.
    pub(super) fn commit_points(&self) -> Vec<CommitPoint> {
        let needed = self.join.needed_offsets();
        let frontier = self.join.frontier();
        let pending = self.pending();
        let streams = self.streams.iter().enumerate();
        let points = streams.filter_map(|(index, stream)| {
            let counted = stream.counted?;
            // The needed records are those of the join and all unread ones. The latter include
            // records that a previous owner has counted and that are still to be replayed.
            let unread = stream.expected.unwrap_or(counted);
            let of_topic = Kind::ALL
                .into_iter()
                .filter(|kind| self.topics.of(*kind) == stream.kind);
            let needed = of_topic.filter_map(|kind| needed.get(&(kind, stream.partition)));
            let rebuild = needed.copied().fold(unread.min(counted), i64::min);
            let rejected = stream.rejected.spans();
            Some(CommitPoint {
                partition: stream.partition,
                kind: stream.kind,
                rebuild,
                counted,
                frontier,
                newest: self.clock.newest_of(index),
                written: stream.written,
                pending: self.pending_of(index, pending),
                rejected: rejected.filter(|span| span.last >= rebuild).collect(),
            })
        });
        points.collect()
    }

    /// Pending events that the point of a topic partition states: those of all partitions are stated by the
    /// first one of their topic.
    fn pending_of(&self, index: usize, pending: [u64; 2]) -> u64 {
        let kind = self.streams.get(index).map(|it| it.kind);
        if self.streams.iter().position(|it| Some(it.kind) == kind) != Some(index) {
            return 0;
        }
        let of_topic = Kind::ALL.into_iter().zip(pending);
        let of_topic = of_topic.filter(|(it, _)| Some(self.topics.of(*it)) == kind);
        of_topic.map(|(_, number)| number).sum()
    }

    /// Returns the topic partitions to pause, for one of two reasons. Their replay is complete, and the
    /// replay of another one is not. Or their newest event is more than a feedback window newer than
    /// that of another one which has records left.
    pub(super) fn leaders(&self, feedback_window: Millis) -> Vec<(i32, Kind)> {
        let place = |stream: &Stream| (stream.partition, stream.kind);
        if self.is_catching_up() {
            let ready = self.streams.iter().filter(|it| !it.is_behind());
            return ready.map(place).collect();
        }
        let newest = |index: usize| self.clock.newest_of(index);
        let streams = || self.streams.iter().enumerate();
        let behind = streams().filter(|(_, it)| it.lag != Some(0));
        let Some(slowest) = behind.filter_map(|(index, _)| newest(index)).min() else {
            return Vec::new();
        };
        let is_ahead =
            |index: usize| newest(index).is_some_and(|it| it.since(slowest) > feedback_window);
        let ahead = streams().filter(|(index, _)| is_ahead(*index));
        ahead.map(|(_, stream)| place(stream)).collect()
    }

    /// Returns the next expected offset; `None` if it is not known.
    pub(super) fn next_offset(&self, kind: Kind, partition: i32) -> Option<i64> {
        let stream = self.stream(kind, partition)?;
        stream.expected.or(stream.counted)
    }

    /// Status of each partition.
    pub(super) fn statuses(&self) -> impl Iterator<Item = PartitionStatus> {
        let mut statuses: BTreeMap<i32, PartitionStatus> = BTreeMap::new();
        for stream in &self.streams {
            let status = statuses
                .entry(stream.partition)
                .or_insert_with(|| PartitionStatus {
                    partition: stream.partition,
                    watermark: self.watermark,
                    lag: [None; 2],
                });
            status.lag[stream.kind.index()] = stream.lag;
        }
        statuses.into_values()
    }
}
