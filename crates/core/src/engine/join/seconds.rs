//! Seconds of the join: what each holds until it is closed, and what remains of it after that.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::closing::{Closing, GROUP};
use super::pool::Number;
use super::tables::Join;
use crate::engine::id::Id;
use crate::engine::position::Position;
use crate::event::Kind;
use crate::time::EventTime;

/// Second of event time, in seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Second(pub i64);

impl Second {
    /// Returns the second that contains `at`.
    pub fn of(at: EventTime) -> Self {
        Self(at.0.div_euclid(1_000))
    }
}

/// Lowest offsets of the records that something needs, by kind of event and partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Oldest(SmallVec<[Needed; 2]>);

/// Lowest offset of one kind in one partition.
#[derive(Clone, Copy, Debug)]
struct Needed {
    offset: i64,
    partition: i32,
    kind: Kind,
}

impl Oldest {
    /// Offset of a single record.
    pub(super) fn of(kind: Kind, at: Position) -> Self {
        let mut oldest = Self::default();
        oldest.note(kind, at);
        oldest
    }

    /// Notes that a record is needed.
    pub(super) fn note(&mut self, kind: Kind, at: Position) {
        let Position { partition, offset } = at;
        let mut known = self.0.iter_mut();
        match known.find(|it| it.kind == kind && it.partition == partition) {
            Some(known) => known.offset = known.offset.min(offset),
            None => self.0.push(Needed {
                offset,
                partition,
                kind,
            }),
        }
    }

    /// Notes that the records of a kind are needed that something else needs.
    pub(super) fn add(&mut self, other: &Self, kind: Kind) {
        for needed in other.0.iter().filter(|it| it.kind == kind) {
            let Needed {
                offset, partition, ..
            } = *needed;
            self.note(kind, Position { partition, offset });
        }
    }

    /// Bytes held beside the value itself.
    fn bytes(&self) -> usize {
        if self.0.spilled() {
            self.0.capacity() * size_of::<Needed>()
        } else {
            0
        }
    }
}

/// Contents of a second that is not closed.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    pub(super) searches: Vec<Number>,
    /// Feedback that waits for its search.
    pub(super) waiting: Vec<Number>,
    /// Ids with waiting feedback beyond the limit.
    pub(super) beyond: Vec<Id>,
    /// Sessions with interactions or feedback in this second.
    pub(super) sessions: Vec<Number>,
    /// Lowest offsets of the records that the searches, the buffered feedback and the sessions of
    /// this second need.
    pub(super) oldest: Oldest,
}

impl Bucket {
    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let numbers = self.searches.capacity() + self.waiting.capacity() + self.sessions.capacity();
        size_of::<Self>()
            + 32
            + numbers * size_of::<Number>()
            + self.beyond.capacity() * size_of::<Id>()
            + self.oldest.bytes()
    }
}

/// Closed searches of a second.
#[derive(Debug, Default)]
pub(super) struct ClosedSecond {
    pub(super) searches: Vec<Number>,
    /// Lowest offsets of the searches.
    pub(super) oldest: Oldest,
}

impl ClosedSecond {
    /// Approximate bytes held.
    fn bytes(&self) -> usize {
        size_of::<Self>()
            + 32
            + self.searches.capacity() * size_of::<Number>()
            + self.oldest.bytes()
    }
}

impl Join {
    /// Changes the bucket of a second, and updates the bytes held.
    pub(super) fn change_bucket(&mut self, second: Second, change: impl FnOnce(&mut Bucket)) {
        let mut is_new = false;
        let bucket = self.buckets.entry(second).or_insert_with(|| {
            is_new = true;
            Bucket::default()
        });
        let before = if is_new { 0 } else { bucket.bytes() };
        change(bucket);
        self.bytes = self.bytes + bucket.bytes() - before;
    }

    /// Returns the second that holds a buffered feedback record: its own second, or the first open
    /// one.
    pub(super) fn second_of(&self, ts: EventTime) -> Second {
        Second::of(ts).max(self.frontier)
    }

    /// Adds a closed search to the list of its second.
    pub(super) fn note_closed(&mut self, second: Second, search: Number, oldest: &Oldest) {
        let mut is_new = false;
        let closed = self.closed.entry(second).or_insert_with(|| {
            is_new = true;
            ClosedSecond::default()
        });
        let before = if is_new { 0 } else { closed.bytes() };
        closed.oldest.add(oldest, Kind::Search);
        closed.searches.push(search);
        self.bytes = self.bytes + closed.bytes() - before;
    }

    /// Declares every second before `frontier` closed. [`close_some`](Self::close_some) closes them.
    pub(crate) fn close_before(&mut self, frontier: Second) {
        if frontier > self.frontier {
            self.frontier = frontier;
            self.is_settled = false;
        }
    }

    /// Declares the oldest second closed that is not yet, regardless of its feedback window.
    /// Returns the number of its searches; `None` if there is no such second.
    pub(crate) fn close_oldest(&mut self) -> Option<u64> {
        let (second, bucket) = self.buckets.range(self.frontier..).next()?;
        let searches = u64::try_from(bucket.searches.len()).unwrap_or(u64::MAX);
        let next = Second(second.0.saturating_add(1));
        self.close_before(next);
        Some(searches)
    }

    /// Drops one of the closed searches of the oldest second. Returns false if there is none.
    pub(crate) fn drop_oldest_closed(&mut self) -> bool {
        if let Some((_, second)) = self.closed.first_key_value()
            && second.searches.len().is_multiple_of(GROUP)
        {
            self.read_closed(second.searches.iter().rev().take(GROUP).copied());
        }
        let Some(mut second) = self.closed.first_entry() else {
            return false;
        };
        let dropped = second.get_mut().searches.pop();
        if second.get().searches.is_empty() {
            self.bytes -= second.remove().bytes();
        }
        if let Some(number) = dropped {
            let session = self
                .searches
                .get(number)
                .map_or(Number::NONE, |it| it.session);
            if let Some(session) = session.some() {
                self.sessions.remove_search(session, number, &self.searches);
            }
            self.searches.remove(number);
        }
        true
    }

    /// Returns true if no open feedback can belong to a search of this second.
    pub(super) fn is_expired(&self, second: Second) -> bool {
        let window = self.window.0.div_euclid(1_000) + 1;
        second.0.saturating_add(window) < self.frontier.0
    }

    /// Returns the oldest second with contents.
    pub(crate) fn oldest(&self) -> Option<Second> {
        self.buckets.keys().next().copied()
    }

    /// Returns the lowest offsets that are needed to rebuild this join, by kind of event and partition.
    pub(crate) fn needed_offsets(&self) -> BTreeMap<(Kind, i32), i64> {
        let closing = self.closing.as_ref().map(Closing::bucket);
        let open = self.buckets.values().chain(closing).map(|it| &it.oldest);
        let closed = self.closed.values().map(|it| &it.oldest);
        let mut needed = BTreeMap::new();
        for it in open.chain(closed).flat_map(|it| &it.0) {
            let offset = needed.entry((it.kind, it.partition)).or_insert(it.offset);
            *offset = it.offset.min(*offset);
        }
        needed
    }
}
