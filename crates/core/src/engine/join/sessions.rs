//! What is known of sessions, as far as the open searches of one partition need it: which searches
//! belong together, when people did something, and what they said of the whole.
//!
//! A session is bounded by what it is needed for: an act is forgotten when its second is closed,
//! because every search before it is, and a search when nothing can be said of it any more. And it is
//! bounded in size: an id that thousands of searches share within minutes is nobody's session.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::engine::join::Second;
use crate::engine::join::pending::Said;
use crate::time::{EventTime, Millis};

/// Most searches of one session that are known at a time.
const MOST_SEARCHES: usize = 1_000;

/// Most acts of one session that are known at a time; what comes on top ends no dwell.
const MOST_ACTS: usize = 10_000;

/// The sessions of one partition, by the hash of their ids.
#[derive(Debug, Default)]
pub(super) struct Sessions(HashMap<u64, Box<Session>>);

/// When a search was served, and its id.
pub(super) type Searched = (EventTime, Arc<str>);

#[derive(Debug, Default)]
struct Session {
    /// Open and closed searches, ascending.
    searches: VecDeque<Searched>,
    /// When people reacted to any of them, ascending.
    acts: VecDeque<EventTime>,
    /// What was said of the session as a whole, by its time and the hash of the event's id.
    opinions: BTreeMap<(EventTime, u64), Said>,
}

impl Session {
    fn is_empty(&self) -> bool {
        self.searches.is_empty() && self.acts.is_empty() && self.opinions.is_empty()
    }
}

impl Sessions {
    /// Whether the session has as many searches as are kept.
    pub(super) fn is_crowded(&self, session: u64) -> bool {
        let session = self.0.get(&session);
        session.is_some_and(|session| session.searches.len() >= MOST_SEARCHES)
    }

    /// Adds a search.
    pub(super) fn add(&mut self, session: u64, search: Searched) {
        let searches = &mut self.0.entry(session).or_default().searches;
        if let Err(place) = searches.binary_search(&search) {
            searches.insert(place, search);
        }
    }

    /// People did something in `session` at `at`.
    pub(super) fn note(&mut self, session: u64, at: EventTime) {
        let acts = &mut self.0.entry(session).or_default().acts;
        if let Err(place) = acts.binary_search(&at)
            && acts.len() < MOST_ACTS
        {
            acts.insert(place, at);
        }
    }

    /// Something was said of the whole `session`; `false` when it was said before.
    pub(super) fn hear(&mut self, session: u64, event: u64, said: Said) -> bool {
        let opinions = &mut self.0.entry(session).or_default().opinions;
        opinions.insert((said.ts, event), said).is_none()
    }

    /// The first thing that people did after `at`, searches among it.
    pub(super) fn next_act(&self, session: u64, at: EventTime) -> Option<EventTime> {
        let session = self.0.get(&session)?;
        let acts = &session.acts;
        let act = acts.get(acts.partition_point(|known| *known <= at));
        let searches = &session.searches;
        let search = searches.get(searches.partition_point(|(ts, _)| *ts <= at));
        let search = search.map(|(ts, _)| ts);
        act.into_iter().chain(search).min().copied()
    }

    /// The searches after one of them, up to `end`.
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

    /// Whether the session was praised as a whole from `start` to `end`.
    pub(super) fn is_praised(&self, session: u64, start: EventTime, end: EventTime) -> bool {
        self.0.get(&session).is_some_and(|session| {
            let mut opinions = session.opinions.range((start, 0)..=(end, u64::MAX));
            opinions.any(|(_, said)| said.is_praise())
        })
    }

    /// Forgets what happened in `session` before the end of `second`. Returns what was said of it as
    /// a whole, each with the last search before, at most `window` ago.
    pub(super) fn close(
        &mut self,
        session: u64,
        second: Second,
        window: Millis,
    ) -> Vec<(Said, Option<Searched>)> {
        let Some(state) = self.0.get_mut(&session) else {
            return Vec::new();
        };
        let over = |at: EventTime| Second::of(at) <= second;
        state
            .acts
            .drain(..state.acts.partition_point(|at| over(*at)));
        let mut opinions = Vec::new();
        while let Some(first) = state.opinions.first_entry()
            && over(first.key().0)
        {
            let said = first.remove();
            let before = state.searches.partition_point(|(ts, _)| *ts <= said.ts);
            let last = before.checked_sub(1).map(|last| &state.searches[last]);
            let recent = last.filter(|(ts, _)| said.ts.since(*ts) <= window);
            opinions.push((said, recent.cloned()));
        }
        self.drop_if_empty(session);
        opinions
    }

    /// Forgets a search.
    pub(super) fn forget(&mut self, session: u64, search: &Searched) {
        if let Some(state) = self.0.get_mut(&session)
            && let Ok(place) = state.searches.binary_search(search)
        {
            state.searches.remove(place);
        }
        self.drop_if_empty(session);
    }

    fn drop_if_empty(&mut self, session: u64) {
        if self.0.get(&session).is_some_and(|state| state.is_empty()) {
            self.0.remove(&session);
        }
    }
}
