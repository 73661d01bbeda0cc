//! What is known of sessions, as far as the open searches of one partition need it: which searches
//! belong together, when people did something, and what they said of the whole.
//!
//! A session is bounded by what it is needed for. An event is forgotten when its second is closed,
//! because every search before it is; a search when nothing can be said of it any more.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::engine::join::Second;
use crate::engine::join::pending::Said;
use crate::engine::registry::{Label, Series};
use crate::time::{EventTime, Millis};

/// The sessions of one partition, by the hash of their ids.
#[derive(Debug, Default)]
pub(super) struct Sessions(HashMap<u64, Box<Session>>);

#[derive(Debug, Default)]
struct Session {
    /// Ascending by time and id.
    searches: Vec<Searched>,
    /// When people did something, ascending.
    acts: Vec<EventTime>,
    /// What was said of the session as a whole, by the hash of the event's id.
    opinions: BTreeMap<u64, Said>,
}

/// A search of a session, open or closed.
#[derive(Clone, Debug)]
pub(super) struct Searched {
    pub(super) ts: EventTime,
    pub(super) query_id: Arc<str>,
    /// A hash of what was searched.
    pub(super) query: u64,
    pub(super) variant: Label,
    pub(super) series: Arc<[Series]>,
}

impl Searched {
    fn key(&self) -> (EventTime, &str) {
        (self.ts, &self.query_id)
    }
}

impl Session {
    fn is_empty(&self) -> bool {
        self.searches.is_empty() && self.acts.is_empty() && self.opinions.is_empty()
    }
}

impl Sessions {
    /// Adds a search.
    pub(super) fn add(&mut self, session: u64, search: Searched) {
        let searches = &mut self.0.entry(session).or_default().searches;
        if let Err(place) = searches.binary_search_by(|known| known.key().cmp(&search.key())) {
            searches.insert(place, search);
        }
    }

    /// People did something in `session` at `at`.
    pub(super) fn note(&mut self, session: u64, at: EventTime) {
        let acts = &mut self.0.entry(session).or_default().acts;
        let place = acts.partition_point(|known| *known < at);
        if acts.get(place) != Some(&at) {
            acts.insert(place, at);
        }
    }

    /// Something was said of the whole `session`; `false` when it was said before.
    pub(super) fn hear(&mut self, session: u64, event: u64, said: Said) -> bool {
        let opinions = &mut self.0.entry(session).or_default().opinions;
        if opinions.contains_key(&event) {
            return false;
        }
        opinions.insert(event, said);
        true
    }

    /// The first thing that people did after `at`.
    pub(super) fn next_act(&self, session: u64, at: EventTime) -> Option<EventTime> {
        let acts = &self.0.get(&session)?.acts;
        acts.get(acts.partition_point(|known| *known <= at))
            .copied()
    }

    /// The searches after one of them, up to `end`.
    pub(super) fn following(
        &self,
        session: u64,
        ts: EventTime,
        query_id: &str,
        end: EventTime,
    ) -> impl Iterator<Item = &Searched> {
        let searches = self.0.get(&session).map(|session| &*session.searches);
        let searches = searches.unwrap_or_default();
        let first = searches.partition_point(|search| search.key() <= (ts, query_id));
        searches[first..]
            .iter()
            .take_while(move |search| search.ts <= end)
    }

    /// Whether the session was praised as a whole from `start` to `end`.
    pub(super) fn is_praised(&self, session: u64, start: EventTime, end: EventTime) -> bool {
        let session = self.0.get(&session);
        let mut opinions = session.into_iter().flat_map(|it| it.opinions.values());
        opinions.any(|said| said.is_praise() && (start..=end).contains(&said.ts))
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
        let searches = &state.searches;
        let gone = state.opinions.extract_if(.., |_, said| over(said.ts));
        let opinions = gone
            .map(|(_, said)| {
                let before = searches.partition_point(|search| search.ts <= said.ts);
                let last = before.checked_sub(1).map(|last| &searches[last]);
                let recent = last.filter(|search| said.ts.since(search.ts) <= window);
                (said, recent.cloned())
            })
            .collect();
        self.drop_if_empty(session);
        opinions
    }

    /// Forgets a search.
    pub(super) fn forget(&mut self, session: u64, ts: EventTime, query_id: &str) {
        if let Some(state) = self.0.get_mut(&session) {
            state.searches.retain(|it| it.key() != (ts, query_id));
        }
        self.drop_if_empty(session);
    }

    fn drop_if_empty(&mut self, session: u64) {
        if self.0.get(&session).is_some_and(|state| state.is_empty()) {
            self.0.remove(&session);
        }
    }
}
