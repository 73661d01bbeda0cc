//! One partition of both topics: its clock, its join, and where in the log it stands.
//!
//! Where it stands is what travels from one owner to the next: a [`CommitPoint`] a topic when it
//! is left, and a [`Resume`] made of them when it is taken up.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::engine::join::{Join, Second};
use crate::engine::watermark::PartitionClock;
use crate::event::Kind;
use crate::time::{EventTime, Millis, WallTime};

/// Where a partition was left by whoever owned it before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// By kind, the offset at which reading starts. While it is before `counted`, what is read is
    /// read again, and time stands still until that is done: the two topics come independently.
    pub rebuild: [Option<i64>; 2],
    /// By kind, the first offset that was not counted yet. Records before it only build the join
    /// again. `None` counts from the first record on.
    pub counted: [Option<i64>; 2],
    /// The first second that was not closed yet.
    pub frontier: Option<Second>,
    /// By kind, the newest event time seen.
    pub newest: [Option<EventTime>; 2],
    /// By kind, offsets of records that were refused because they were from the future. They stay
    /// refused, though the clock may have reached them by now.
    pub refused: [BTreeSet<i64>; 2],
}

/// What to tell Kafka about one partition of one topic, so that somebody else can go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitPoint {
    /// The partition.
    pub partition: i32,
    /// The topic.
    pub kind: Kind,
    /// The oldest offset that is still needed.
    pub rebuild: i64,
    /// The first offset that was not counted yet.
    pub counted: i64,
    /// The first second that was not closed yet.
    pub frontier: Option<Second>,
    /// The newest event time seen in the topic.
    pub newest: Option<EventTime>,
    /// Offsets from `rebuild` on that were refused because their records were from the future; at
    /// most [`MOST_REFUSED`], the newest.
    pub refused: BTreeSet<i64>,
}

impl Resume {
    /// Takes in what is known of one topic of the partition.
    pub fn add(&mut self, point: &CommitPoint) {
        let kind = point.kind.index();
        self.rebuild[kind] = Some(point.rebuild);
        self.counted[kind] = Some(point.counted);
        self.frontier = self.frontier.max(point.frontier);
        self.newest[kind] = point.newest;
        self.refused[kind].clone_from(&point.refused);
    }
}

impl CommitPoint {
    /// Orders points of one topic by how far they are. With no record in between, seconds may have
    /// been closed all the same: time also goes on when a topic is idle.
    pub fn progress(&self) -> (i64, Option<Second>) {
        (self.counted, self.frontier)
    }

    /// The point of a topic that begins for us at `start`: everything from there on counts.
    pub fn untouched(partition: i32, kind: Kind, start: i64) -> Self {
        Self {
            partition,
            kind,
            rebuild: start,
            counted: start,
            frontier: None,
            newest: None,
            refused: BTreeSet::new(),
        }
    }
}

/// Most refused offsets that are handed over: their place in a commit's metadata is limited.
pub const MOST_REFUSED: usize = 64;

/// One partition of both topics.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) clock: PartitionClock,
    pub(super) join: Join,
    /// By kind, the first offset not counted yet.
    counted: [Option<i64>; 2],
    /// By kind, the offset after the one read last, or the first one to be read.
    expected: [Option<i64>; 2],
    /// By kind, offsets that were refused as from the future.
    pub(super) refused: [BTreeSet<i64>; 2],
    pub(super) lag: [Option<u64>; 2],
    pub(super) watermark: Option<EventTime>,
}

impl Partition {
    pub(super) fn new(feedback_window: Millis, resume: Resume) -> Self {
        Self {
            clock: PartitionClock::resume(resume.newest),
            join: Join::new(feedback_window, resume.frontier),
            counted: resume.counted,
            expected: resume.rebuild,
            refused: resume.refused,
            lag: [None; 2],
            watermark: None,
        }
    }

    /// Whether records are still to be read again that an earlier owner has counted.
    pub(super) fn is_catching_up(&self) -> bool {
        Kind::ALL.into_iter().any(|kind| self.is_behind(kind))
    }

    fn is_behind(&self, kind: Kind) -> bool {
        let expected = self.expected[kind.index()];
        expected.is_some() && expected < self.counted[kind.index()]
    }

    /// Whether the record at `offset` has to wait until the other topic was read again as far as it
    /// was counted. A pair of search and feedback is counted by whoever reads the later of the two
    /// for the first time. If new records of one topic were counted while the other is behind, and
    /// the partition then changed hands, both would pass for counted, and their pairs never be.
    pub(super) fn must_wait(&self, kind: Kind, offset: i64) -> bool {
        let is_new = self.counted[kind.index()].is_none_or(|counted| offset >= counted);
        is_new && self.is_behind(other(kind))
    }

    /// The broker said that `records` of the topic are still to be read.
    pub(super) fn note_lag(&mut self, kind: Kind, records: u64, wall: WallTime) {
        let kind_index = kind.index();
        self.lag[kind_index] = Some(records);
        self.clock.lag(kind, records, wall);
        if records == 0 {
            // The last offsets may be no records (transaction markers).
            self.expected[kind_index] = self.expected[kind_index].max(self.counted[kind_index]);
        }
    }

    /// Takes note of a record; returns whether it is to be counted, and how many offsets before it
    /// are missing. What is counted is never before what is expected, so a hole in the log is
    /// counted once, whoever reads over it.
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

    /// Whether the record at `offset` was counted.
    pub(super) fn has_counted(&self, kind: Kind, offset: i64) -> bool {
        self.counted[kind.index()].is_some_and(|counted| offset < counted)
    }

    /// What to tell Kafka, for each topic from which something was read or is known.
    pub(super) fn commit_points(&self, partition: i32) -> impl Iterator<Item = CommitPoint> {
        Kind::ALL.into_iter().filter_map(move |kind| {
            let counted = self.counted[kind.index()]?;
            // What the join holds is needed, and whatever was not read yet: also what an earlier
            // owner has counted, and is to be read again.
            let unread = self.expected[kind.index()].unwrap_or(counted);
            let needed = self.join.oldest_offset(kind).unwrap_or(counted);
            let rebuild = needed.min(unread).min(counted);
            let refused = self.refused[kind.index()].range(rebuild..);
            Some(CommitPoint {
                partition,
                kind,
                rebuild,
                counted,
                frontier: self.join.frontier(),
                newest: self.clock.newest_of(kind),
                refused: refused.rev().take(MOST_REFUSED).copied().collect(),
            })
        })
    }

    /// The topic that is not to be read on for now: it was read again as far as it was counted, and
    /// the other was not; or its newest event is more than a feedback window newer than the other's,
    /// while the other has records left.
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
        let more_to_come = self.lag[behind.index()] != Some(0);
        (by > feedback_window && more_to_come).then_some(ahead)
    }

    /// The offset that is expected next; `None` when nothing is known.
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
