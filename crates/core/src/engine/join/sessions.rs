//! Sessions of one partition, as far as its searches need them: the searches of each session, the
//! times of its user interactions, and feedback on the session as a whole.
//!
//! State is kept only while it is needed. An interaction is dropped when its second is closed,
//! because every search before it is then closed. A search is dropped when no more session feedback
//! can be attributed to it. The size of a session is limited: an id that thousands of searches
//! share within minutes does not identify one session.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::by_id::{ById, SLOT_BYTES};
use super::feedback::Facts;
use super::pool::{Number, Pool};
use super::searches::Searches;
use super::seconds::Second;
use crate::engine::id::Id;
use crate::engine::settings::JoinLimits;
use crate::time::EventTime;

/// Sessions of one partition.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    pub(super) entries: Pool<Session>,
    pub(super) by_id: ById,
    bytes: usize,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: Id,
    /// Open and closed searches, in the order of their places.
    pub(super) searches: SmallVec<[Number; 4]>,
    /// Time of the newest search that was ever added.
    newest: EventTime,
    /// Times of user interactions with any of the searches, ascending, without repetition.
    pub(super) interactions: SmallVec<[EventTime; 2]>,
    pub(super) opinions: Option<Box<Opinions>>,
}

/// Feedback on a session as a whole.
#[derive(Debug, Default)]
pub(super) struct Opinions {
    /// By time and by the hash of the event id.
    records: BTreeMap<(EventTime, u64), Facts>,
    /// Times and events of positive feedback.
    positive: BTreeSet<(EventTime, u64)>,
}

/// Approximate bytes of a session without its lists, with its share of the table.
const SESSION_BYTES: usize = size_of::<Session>() + SLOT_BYTES + 16;
/// Approximate bytes of a feedback record on a session.
const OPINION_BYTES: usize = size_of::<(EventTime, u64, Facts)>() + 48;

impl Session {
    fn is_empty(&self) -> bool {
        self.searches.is_empty() && self.interactions.is_empty() && self.opinions.is_none()
    }

    fn heap_bytes(&self) -> usize {
        let searches = usize::from(self.searches.spilled()) * self.searches.capacity();
        let interactions = usize::from(self.interactions.spilled()) * self.interactions.capacity();
        let opinions = self.opinions.as_ref().map_or(0, |it| it.records.len());
        searches * size_of::<Number>()
            + interactions * size_of::<EventTime>()
            + opinions * OPINION_BYTES
    }

    /// Returns the index of a search of the session. Few numbers are compared faster than places.
    fn index_of(&self, search: Number, searches: &Searches) -> Option<usize> {
        let list = &self.searches;
        let first = if list.len() > 16 {
            let place = searches.place(search);
            list.partition_point(|it| searches.place(*it) < place)
        } else {
            0
        };
        let found = list[first..].iter().position(|it| *it == search);
        found.map(|index| first + index)
    }

    /// Returns the searches after `search`, up to the time `end`.
    fn following<'a>(
        &'a self,
        searches: &'a Searches,
        search: Number,
        end: EventTime,
    ) -> impl Iterator<Item = Number> + 'a {
        let first = self.index_of(search, searches).map_or(0, |index| index + 1);
        let later = self.searches[first..].iter().copied();
        later.take_while(move |number| searches.place(*number).ts <= end)
    }
}

impl Sessions {
    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Id of a session.
    pub(super) fn id(&self, number: Number) -> Option<Id> {
        self.entries.get(number).map(|it| it.id)
    }

    /// Returns the session with this id.
    fn find(&self, id: Id) -> Option<Number> {
        let is_same = |number| self.entries.get(number).is_some_and(|it| it.id == id);
        self.by_id.find(id, is_same)
    }

    fn find_or_create(&mut self, id: Id) -> Number {
        self.find(id).unwrap_or_else(|| {
            let number = self.entries.insert(Session {
                id,
                searches: SmallVec::new(),
                newest: EventTime(i64::MIN),
                interactions: SmallVec::new(),
                opinions: None,
            });
            self.bytes += SESSION_BYTES;
            let sessions = &self.entries;
            let id_of = |number| sessions.get(number).map(|it| it.id);
            self.by_id.insert(id, number, id_of);
            number
        })
    }

    /// Changes a session, and updates the bytes held.
    fn change<T>(&mut self, number: Number, change: impl FnOnce(&mut Session) -> T) -> Option<T> {
        let session = self.entries.get_mut(number)?;
        let before = session.heap_bytes();
        let changed = change(session);
        self.bytes = self.bytes + session.heap_bytes() - before;
        Some(changed)
    }

    /// Adds a search to the session with this id, and returns the session; `None` if the session has
    /// reached its limit.
    pub(super) fn add_search(
        &mut self,
        id: Id,
        search: Number,
        searches: &Searches,
        limits: &JoinLimits,
    ) -> Option<Number> {
        let number = self.find_or_create(id);
        let session = self.entries.get(number)?;
        if session.searches.len() >= limits.searches_per_session {
            return None;
        }
        let place = searches.place(search);
        self.change(number, |session| {
            let list = &mut session.searches;
            // Most searches are the last one of their session.
            if place.ts > session.newest {
                session.newest = place.ts;
                list.push(search);
            } else {
                let index = list.partition_point(|it| searches.place(*it) < place);
                list.insert(index, search);
            }
        });
        Some(number)
    }

    /// Removes a search from its session.
    pub(super) fn remove_search(&mut self, number: Number, search: Number, searches: &Searches) {
        self.change(number, |session| {
            if let Some(index) = session.index_of(search, searches) {
                session.searches.remove(index);
            }
        });
        self.drop_if_empty(number);
    }

    /// Adds a user interaction. Returns false if the session has reached its limit of interactions.
    pub(super) fn add_interaction(
        &mut self,
        number: Number,
        at: EventTime,
        limits: &JoinLimits,
    ) -> bool {
        let added = self.change(number, |session| {
            let interactions = &mut session.interactions;
            match interactions.binary_search(&at) {
                Ok(_) => true,
                Err(_) if interactions.len() >= limits.interactions_per_session => false,
                Err(index) => {
                    interactions.insert(index, at);
                    true
                }
            }
        });
        added.unwrap_or(true)
    }

    /// Adds feedback on the whole session. Returns the session; `None` if the event was added
    /// before.
    pub(super) fn add_opinion(&mut self, id: Id, facts: Facts) -> Option<Number> {
        let number = self.find_or_create(id);
        let added = self.change(number, |session| {
            let opinions = session.opinions.get_or_insert_default();
            let key = (facts.ts, facts.event);
            if facts.reaction.is_positive() {
                opinions.positive.insert(key);
            }
            opinions.records.insert(key, facts).is_none()
        });
        added.filter(|added| *added).map(|_| number)
    }

    /// Returns the time of the first user interaction or search after `at`.
    pub(super) fn next_interaction(
        &self,
        number: Number,
        at: EventTime,
        searches: &Searches,
    ) -> Option<EventTime> {
        let session = self.entries.get(number)?;
        let interactions = &session.interactions;
        let first = interactions.partition_point(|known| *known <= at);
        let interaction = interactions.get(first).copied();
        let list = &session.searches;
        let first = list.partition_point(|it| searches.place(*it).ts <= at);
        let search = list.get(first).map(|it| searches.place(*it).ts);
        interaction.into_iter().chain(search).min()
    }

    /// Returns the searches of the session after `search`, up to the time `end`.
    pub(super) fn following<'a>(
        &'a self,
        number: Number,
        searches: &'a Searches,
        search: Number,
        end: EventTime,
    ) -> impl Iterator<Item = Number> + 'a {
        let session = self.entries.get(number).into_iter();
        session.flat_map(move |session| session.following(searches, search, end))
    }

    /// Returns true if the session as a whole has positive feedback from `start` to `end`.
    pub(super) fn is_praised(&self, number: Number, start: EventTime, end: EventTime) -> bool {
        let session = self.entries.get(number);
        let opinions = session.and_then(|session| session.opinions.as_ref());
        opinions.is_some_and(|opinions| {
            let mut positive = opinions.positive.range((start, 0)..=(end, u64::MAX));
            positive.next().is_some()
        })
    }

    /// Drops the interactions up to the end of `second`, and takes the first feedback record on the
    /// whole session up to then, with the last search before it. Returns `None` if nothing up to
    /// the end of `second` is left.
    pub(super) fn close_next(
        &mut self,
        number: Number,
        second: Second,
        searches: &Searches,
    ) -> Option<(Facts, Option<Number>)> {
        let has_ended = |at: EventTime| Second::of(at) <= second;
        let taken = self.change(number, |session| {
            let ended = session.interactions.partition_point(|at| has_ended(*at));
            session.interactions.drain(..ended);
            let opinions = session.opinions.as_mut()?;
            let first = opinions.records.first_entry();
            let record = first.filter(|first| has_ended(first.key().0))?.remove();
            opinions.positive.remove(&(record.ts, record.event));
            if opinions.records.is_empty() {
                session.opinions = None;
            }
            let list = &session.searches;
            let before = list.partition_point(|it| searches.place(*it).ts <= record.ts);
            let recent = before.checked_sub(1).map(|index| list[index]);
            Some((record, recent))
        });
        let taken = taken.flatten();
        if taken.is_none() {
            self.drop_if_empty(number);
        }
        taken
    }

    fn drop_if_empty(&mut self, number: Number) {
        let Some(session) = self.entries.get(number).filter(|it| it.is_empty()) else {
            return;
        };
        self.bytes -= SESSION_BYTES + session.heap_bytes();
        self.by_id.remove(session.id, number);
        self.entries.remove(number);
    }
}
