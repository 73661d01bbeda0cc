//! Sessions of one partition, as far as its open searches need them: the searches of each session,
//! the times of its user interactions, and feedback on the session as a whole.
//!
//! State is kept only while it is needed. An interaction is dropped when its second is closed,
//! because every search before it is then closed. A search is dropped when no more session feedback
//! can be attributed to it. The size of a session is limited: an id that thousands of searches
//! share within minutes does not identify one session.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::engine::join::Second;
use crate::engine::join::pending::FeedbackRecord;
use crate::time::{EventTime, Millis};

/// Maximum number of searches kept of one session.
const MAX_SEARCHES_PER_SESSION: usize = 1_000;

/// Maximum number of user interactions kept of one session. Further interactions do not end a dwell
/// time.
const MAX_INTERACTIONS_PER_SESSION: usize = 10_000;

/// Sessions of one partition, by the hash of their ids.
#[derive(Debug, Default)]
pub(super) struct Sessions(HashMap<u64, Box<Session>>);

/// Time at which a search was served, and its id.
pub(super) type Searched = (EventTime, Arc<str>);

#[derive(Debug, Default)]
struct Session {
    /// Open and closed searches, in ascending order.
    searches: VecDeque<Searched>,
    /// Times of user interactions with any of the searches, in ascending order.
    interactions: VecDeque<EventTime>,
    /// Feedback on the session as a whole, by its time and the hash of the event id.
    feedback: BTreeMap<(EventTime, u64), FeedbackRecord>,
}

impl Session {
    fn is_empty(&self) -> bool {
        self.searches.is_empty() && self.interactions.is_empty() && self.feedback.is_empty()
    }
}

impl Sessions {
    /// Returns true if the session has reached its search limit.
    pub(super) fn is_over_search_limit(&self, session: u64) -> bool {
        let session = self.0.get(&session);
        session.is_some_and(|session| session.searches.len() >= MAX_SEARCHES_PER_SESSION)
    }

    /// Adds a search.
    pub(super) fn add(&mut self, session: u64, search: Searched) {
        let searches = &mut self.0.entry(session).or_default().searches;
        if let Err(index) = searches.binary_search(&search) {
            searches.insert(index, search);
        }
    }

    /// Adds a user interaction at `at` to `session`.
    pub(super) fn note(&mut self, session: u64, at: EventTime) {
        let interactions = &mut self.0.entry(session).or_default().interactions;
        if let Err(index) = interactions.binary_search(&at)
            && interactions.len() < MAX_INTERACTIONS_PER_SESSION
        {
            interactions.insert(index, at);
        }
    }

    /// Adds feedback on the whole `session`. Returns false if it was added before.
    pub(super) fn add_feedback(
        &mut self,
        session: u64,
        event: u64,
        record: FeedbackRecord,
    ) -> bool {
        let feedback = &mut self.0.entry(session).or_default().feedback;
        feedback.insert((record.ts, event), record).is_none()
    }

    /// Returns the time of the first user interaction or search after `at`.
    pub(super) fn next_interaction(&self, session: u64, at: EventTime) -> Option<EventTime> {
        let session = self.0.get(&session)?;
        let interactions = &session.interactions;
        let act = interactions.get(interactions.partition_point(|known| *known <= at));
        let searches = &session.searches;
        let search = searches.get(searches.partition_point(|(ts, _)| *ts <= at));
        let search = search.map(|(ts, _)| ts);
        act.into_iter().chain(search).min().copied()
    }

    /// Returns the searches after the given one, up to `end`.
    pub(super) fn following(
        &self,
        session: u64,
        ts: EventTime,
        query_id: &str,
        end: EventTime,
    ) -> impl Iterator<Item = &Searched> {
        let searches = self.0.get(&session).map(|session| &session.searches);
        searches.into_iter().flat_map(move |searches| {
            let first = searches.partition_point(|(at, id)| (*at, &**id) <= (ts, query_id));
            searches
                .range(first..)
                .take_while(move |(at, _)| *at <= end)
        })
    }

    /// Returns true if the session as a whole has positive feedback from `start` to `end`.
    pub(super) fn is_praised(&self, session: u64, start: EventTime, end: EventTime) -> bool {
        self.0.get(&session).is_some_and(|session| {
            let mut feedback = session.feedback.range((start, 0)..=(end, u64::MAX));
            feedback.any(|(_, record)| record.is_positive())
        })
    }

    /// Drops the interactions and the feedback of `session` up to the end of `second`. Returns the
    /// feedback on the whole session, each with the last search before it if that is at most
    /// `window` older.
    pub(super) fn close(
        &mut self,
        session: u64,
        second: Second,
        window: Millis,
    ) -> Vec<(FeedbackRecord, Option<Searched>)> {
        let Some(state) = self.0.get_mut(&session) else {
            return Vec::new();
        };
        let has_ended = |at: EventTime| Second::of(at) <= second;
        state
            .interactions
            .drain(..state.interactions.partition_point(|at| has_ended(*at)));
        let mut feedback = Vec::new();
        while let Some(first) = state.feedback.first_entry()
            && has_ended(first.key().0)
        {
            let record = first.remove();
            let before = state.searches.partition_point(|(ts, _)| *ts <= record.ts);
            let last = before.checked_sub(1).map(|last| &state.searches[last]);
            let recent = last.filter(|(ts, _)| record.ts.since(*ts) <= window);
            feedback.push((record, recent.cloned()));
        }
        self.drop_if_empty(session);
        feedback
    }

    /// Removes a search.
    pub(super) fn forget(&mut self, session: u64, search: &Searched) {
        if let Some(state) = self.0.get_mut(&session)
            && let Ok(index) = state.searches.binary_search(search)
        {
            state.searches.remove(index);
        }
        self.drop_if_empty(session);
    }

    fn drop_if_empty(&mut self, session: u64) {
        if self.0.get(&session).is_some_and(|state| state.is_empty()) {
            self.0.remove(&session);
        }
    }
}
