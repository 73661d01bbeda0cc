//! Seconds of the join: what each holds until it is closed, and what remains of it after that.

use serde::{Deserialize, Serialize};

use super::closing::{Closing, GROUP};
use super::pool::Number;
use super::{Join, min_some};
use crate::engine::id::Id;
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
    /// Lowest offset, by topic, of the records that the searches, the buffered feedback and the
    /// sessions of this second need.
    pub(super) oldest: [Option<i64>; 2],
}

impl Bucket {
    pub(super) fn note_offset(&mut self, kind: Kind, offset: i64) {
        let oldest = &mut self.oldest[kind.index()];
        *oldest = Some(oldest.map_or(offset, |known| known.min(offset)));
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let numbers = self.searches.capacity() + self.waiting.capacity() + self.sessions.capacity();
        size_of::<Self>()
            + 32
            + numbers * size_of::<Number>()
            + self.beyond.capacity() * size_of::<Id>()
    }
}

/// Closed searches of a second.
#[derive(Debug, Default)]
pub(super) struct ClosedSecond {
    pub(super) searches: Vec<Number>,
    /// Lowest offset of the searches.
    pub(super) oldest: Option<i64>,
}

/// Approximate bytes of a second with closed searches.
const CLOSED_SECOND_BYTES: usize = size_of::<ClosedSecond>() + 32;

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
    pub(super) fn note_closed(&mut self, second: Second, search: Number, offset: Option<i64>) {
        let mut is_new = false;
        let closed = self.closed.entry(second).or_insert_with(|| {
            is_new = true;
            ClosedSecond::default()
        });
        let before = closed.searches.capacity();
        closed.oldest = min_some(closed.oldest, offset);
        closed.searches.push(search);
        self.bytes += (closed.searches.capacity() - before) * size_of::<Number>()
            + usize::from(is_new) * CLOSED_SECOND_BYTES;
    }

    /// Declares every second before `frontier` closed. [`close_some`](Self::close_some) closes them.
    pub fn close_before(&mut self, frontier: Second) {
        if frontier > self.frontier {
            self.frontier = frontier;
            self.is_settled = false;
        }
    }

    /// Declares the oldest second closed that is not yet, regardless of its feedback window.
    /// Returns the number of its searches; `None` if there is no such second.
    pub fn close_oldest(&mut self) -> Option<u64> {
        let (second, bucket) = self.buckets.range(self.frontier..).next()?;
        let searches = u64::try_from(bucket.searches.len()).unwrap_or(u64::MAX);
        let next = Second(second.0.saturating_add(1));
        self.close_before(next);
        Some(searches)
    }

    /// Drops one of the closed searches of the oldest second. Returns false if there is none.
    pub fn drop_oldest_closed(&mut self) -> bool {
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
            let capacity = second.get().searches.capacity();
            self.bytes -= CLOSED_SECOND_BYTES + capacity * size_of::<Number>();
            second.remove();
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
    pub fn oldest(&self) -> Option<Second> {
        self.buckets.keys().next().copied()
    }

    /// Returns the lowest offset of the topic that is needed to rebuild this join; `None` if no
    /// records are needed.
    pub fn oldest_offset(&self, kind: Kind) -> Option<i64> {
        let closing = self.closing.as_ref().map(Closing::bucket);
        let open = self.buckets.values().chain(closing);
        let open = open.filter_map(|bucket| bucket.oldest[kind.index()]).min();
        match kind {
            Kind::Search => {
                let closed = self.closed.values().filter_map(|it| it.oldest).min();
                min_some(open, closed)
            }
            Kind::Feedback => open,
        }
    }
}
