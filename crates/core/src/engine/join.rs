//! Join of searches with their feedback, in event time.
//!
//! One join belongs to one partition. Its state is organised by seconds of event time. A second is
//! closed as a whole when the watermark is a feedback window past it. The first second that is
//! still open is the *frontier*. Every event before the frontier is late. The frontier therefore
//! determines which searches are finalised, also for the next owner of the partition.
//!
//! Ids and event times alone decide whether feedback belongs to a search. The order of reading has
//! no influence, because one topic is often read far ahead of the other. For the same reason, the
//! ids of closed searches are retained for another feedback window. Without them, a new owner of
//! the partition could not distinguish replayed feedback that was already joined from feedback
//! whose search has not yet arrived.
//!
//! Feedback on a whole session is a separate observation. It is counted when its own second is
//! closed, and is attributed to the last search before it.
//!
//! The join counts nothing. It returns effects, and the engine counts them. Searches, feedback
//! and sessions are fixed-size entries that refer to each other by number, and ids are hashes. The
//! work for a record does not depend on how many others share its id.

mod by_id;
mod closing;
mod conversions;
mod effect;
mod feedback;
mod pool;
mod read_ahead;
mod reading;
mod searches;
mod seconds;
mod sessions;
mod summary;
mod tables;

use std::collections::BTreeMap;

use crate::engine::id::{self, Id};
use crate::engine::position::Position;
use crate::engine::settings::JoinLimits;
use crate::event::{self, Kind};
use crate::gold::hash_document;
use crate::time::{EventTime, Millis};

use closing::Closing;
pub(super) use closing::Work;
pub(super) use conversions::Pending as PendingConversions;
use conversions::Waiting;
pub(super) use effect::{Effect, Exceeded, Finished, SessionFeedback};
pub(super) use feedback::Reaction;
use feedback::{Added, Facts, Feedback, Repeats};
use pool::Number;
pub(super) use read_ahead::read_ahead;
pub(super) use reading::Reading;
use searches::{Entry, Searches, State};
pub(super) use searches::{GoldReference, NewSearch, Parts, Place, Served, Teams, Trial};
use seconds::Oldest;
pub use seconds::Second;
use sessions::Sessions;
pub(super) use summary::FeedbackSummary;
pub(crate) use tables::Join;

impl Join {
    /// Creates an empty join. Every second before `frontier` is closed, and feedback belongs to a
    /// search within `window` of it.
    pub(crate) fn new(window: Millis, limits: JoinLimits, frontier: Option<Second>) -> Self {
        Self {
            window,
            limits,
            searches: Searches::default(),
            feedback: Feedback::default(),
            sessions: Sessions::default(),
            opinions: 0,
            conversions: None,
            buckets: BTreeMap::new(),
            closed: BTreeMap::new(),
            closing: None,
            frontier: frontier.unwrap_or(Second(i64::MIN)),
            is_settled: true,
            bytes: 0,
        }
    }

    /// Keeps searches for conversions within `window`, from those of a saved state on.
    pub(crate) fn wait_for_conversions(&mut self, window: Millis, pending: PendingConversions) {
        let limit = self.limits.feedback_per_search;
        self.conversions = Some(Box::new(Waiting::new(window, limit, pending)));
    }

    /// Returns the searches that wait for conversions.
    pub(crate) fn waiting_for_conversions(&self) -> Option<&PendingConversions> {
        self.conversions.as_ref().map(|it| it.pending())
    }

    /// Bytes of the searches that wait for conversions.
    pub(crate) fn conversion_bytes(&self) -> usize {
        self.conversions.as_ref().map_or(0, |it| it.bytes())
    }

    /// Returns the first second that is not completely closed; `None` if no second is closed yet.
    pub(crate) fn frontier(&self) -> Option<Second> {
        let closing = self.closing.as_ref().map(Closing::second);
        let frontier = closing
            .into_iter()
            .chain(self.oldest())
            .fold(self.frontier, Ord::min);
        (frontier.0 > i64::MIN && self.frontier.0 > i64::MIN).then_some(frontier)
    }

    /// Returns true if the feedback window of an event at `at` has passed.
    pub(crate) fn is_closed(&self, at: EventTime) -> bool {
        Second::of(at) < self.frontier
    }

    /// Returns true if a search with this id is known within a feedback window of this time. A search that is
    /// still pending is no exception: this depends on the progress of the other topic.
    pub(crate) fn contains(&self, id: Id, ts: EventTime) -> bool {
        let is_near = |entry: &Entry| belongs(ts, entry.place.ts, self.window);
        self.searches.find(id, is_near).is_some()
    }

    /// Returns the search with this id that feedback at this time is about: the last one before it
    /// within a feedback window, or else the first one after it.
    fn meant(&self, id: Id, ts: EventTime) -> Option<Number> {
        self.searches.find_best(id, |entry| {
            let distance = ts.since(entry.place.ts);
            let is_near = belongs(ts, entry.place.ts, self.window);
            is_near.then_some((distance.0 < 0, distance.0.abs()))
        })
    }

    /// Returns the number of pending searches and of buffered feedback events, in the order of
    /// [`Kind::index`].
    pub(crate) fn pending(&self) -> [usize; 2] {
        [self.searches.pending, self.feedback.pending + self.opinions]
    }

    /// Approximate bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.searches.bytes()
            + self.feedback.bytes()
            + self.sessions.bytes()
            + self.bytes
            + self.conversion_bytes()
    }

    /// Approximate bytes of the closed searches.
    pub(crate) fn closed_bytes(&self) -> usize {
        self.searches.closed * searches::ENTRY_BYTES
    }

    fn is_open(&self, entry: &Entry) -> bool {
        entry.state == State::Pending && !self.is_closed(entry.place.ts)
    }

    /// Adds a search that is not [contained](Self::contains) and not [closed](Self::is_closed).
    /// Joins it with the buffered feedback.
    pub(crate) fn add_search(
        &mut self,
        search: NewSearch,
        at: Position,
        effects: &mut Vec<Effect>,
    ) {
        let (place, reading, session) = (search.place, search.reading, search.session);
        let second = Second::of(place.ts);
        let variant = search.segment.variant;
        let number = self.searches.insert(search, State::Pending);
        let session = self.enter_session(number, session, reading, effects);
        let window = self.window;
        let (taken, beyond) = self
            .feedback
            .take_waiting(place.id(), |ts, _| belongs(ts, place.ts, window));
        let mut oldest = Oldest::default();
        for facts in taken {
            self.add_interaction(session, place.ts, &facts, None, effects);
            // Feedback that was counted as late before the first read of this search stays late.
            if facts.reading == Reading::AlreadyCounted && reading == Reading::New {
                continue;
            }
            if let Some(bucket) = self.buckets.get(&self.second_of(facts.ts)) {
                oldest.add(&bucket.oldest, Kind::Feedback);
            }
            let added = self.add_to_search(number, facts, effects);
            let is_first = reading == Reading::New || facts.reading == Reading::New;
            if added != Added::Duplicate && is_first {
                effects.push(Effect::Joined {
                    action: facts.action,
                    variant,
                    number: 1,
                });
            }
        }
        for (action, number) in beyond {
            effects.push(Effect::Joined {
                action,
                variant,
                number: first_counts(reading, number),
            });
        }
        self.change_bucket(second, |bucket| {
            bucket.oldest.note(Kind::Search, at);
            bucket.oldest.add(&oldest, Kind::Feedback);
            bucket.searches.push(number);
        });
    }

    /// Enters a search in its session. Returns the session.
    fn enter_session(
        &mut self,
        search: Number,
        session: Option<Id>,
        reading: Reading,
        effects: &mut Vec<Effect>,
    ) -> Number {
        let Some(id) = session else {
            return Number::NONE;
        };
        let added = self
            .sessions
            .add_search(id, search, &self.searches, &self.limits);
        let Some(session) = added else {
            let is_new = reading == Reading::New;
            effects.extend(is_new.then_some(Effect::Exceeded(Exceeded::SearchesPerSession)));
            let entry = self.searches.get_mut(search);
            if let Some(details) = entry.and_then(|it| it.details.as_mut()) {
                details.is_beyond_session = true;
            }
            return Number::NONE;
        };
        if let Some(entry) = self.searches.get_mut(search) {
            entry.session = session;
        }
        session
    }

    /// Adds a record to the feedback on a search.
    fn add_to_search(
        &mut self,
        number: Number,
        mut facts: Facts,
        effects: &mut Vec<Effect>,
    ) -> Added {
        let Some(entry) = self.searches.get_mut(number) else {
            return Added::Duplicate;
        };
        let (target, document) = entry.target(&facts);
        facts.document = document;
        let limit = u32::try_from(self.limits.feedback_per_search).unwrap_or(u32::MAX);
        let list = &mut entry.feedback;
        let added = self
            .feedback
            .add_to_search(number, list, facts, target, limit);
        if added == Added::BeyondLimit {
            effects.push(Effect::Exceeded(Exceeded::FeedbackPerSearch));
        }
        added
    }

    /// Adds a user interaction to a session if its time is still open. An interaction that clock
    /// differences date before its search is not added, because the session is not known before the
    /// search is read. The search itself stands for it. `at` is the position of the record, if its
    /// second needs it.
    fn add_interaction(
        &mut self,
        session: Number,
        searched: EventTime,
        facts: &Facts,
        at: Option<Position>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(session) = session.some() else {
            return;
        };
        let second = Second::of(facts.ts);
        if facts.is_interaction() && facts.ts >= searched && !self.is_closed(facts.ts) {
            if !self
                .sessions
                .add_interaction(session, facts.ts, &self.limits)
            {
                effects.push(Effect::Exceeded(Exceeded::InteractionsPerSession));
            }
            self.change_bucket(second, |bucket| {
                if bucket.sessions.last() != Some(&session) {
                    bucket.sessions.push(session);
                }
                if let Some(at) = at {
                    bucket.oldest.note(Kind::Feedback, at);
                }
            });
        } else if let Some(at) = at
            && self.buckets.contains_key(&second)
        {
            self.change_bucket(second, |bucket| bucket.oldest.note(Kind::Feedback, at));
        }
    }

    /// Adds a search that is [closed](Self::is_closed): a late one, or one that an earlier owner of
    /// the partition finalised.
    pub(crate) fn add_closed_search(
        &mut self,
        mut search: NewSearch,
        at: Position,
        effects: &mut Vec<Effect>,
    ) {
        let (place, reading) = (search.place, search.reading);
        let second = Second::of(place.ts);
        if self.is_expired(second) {
            return;
        }
        let window = self.window;
        let known = self.searches.find(place.id(), |entry| {
            !self.is_open(entry) && belongs(place.ts, entry.place.ts, window)
        });
        let session = if let Some(known) = known {
            // A repetition. What is known of the first one stays.
            let first = self.searches.get(known);
            first.map_or(Number::NONE, |it| it.session)
        } else {
            let session = search.session.take();
            // It is only compared with other searches. Its feedback is late.
            (search.gold, search.trial) = (None, None);
            search.served = Served::default();
            let number = self.searches.insert(search, State::Closed);
            self.note_closed(second, number, &Oldest::of(Kind::Search, at));
            // A late search is counted as late alone.
            self.enter_session(number, session, Reading::Again, effects)
        };
        // A conversion is joined when its own second is closed.
        let (has_conversions, frontier) = (self.conversions.is_some(), self.frontier);
        let stays = |ts: EventTime, is_conversion: bool| {
            has_conversions && is_conversion && Second::of(ts) >= frontier
        };
        let (waiting, beyond) = self.feedback.take_waiting(place.id(), |ts, is_conversion| {
            belongs(ts, place.ts, window) && !stays(ts, is_conversion)
        });
        let mut late = 0;
        for facts in waiting {
            self.add_interaction(session, place.ts, &facts, None, effects);
            let is_first = reading == Reading::New || facts.reading == Reading::New;
            late += u64::from(is_first && facts.reading != Reading::AlreadyCounted);
        }
        late += beyond
            .into_iter()
            .map(|(_, number)| first_counts(reading, number))
            .sum::<u64>();
        if late > 0 {
            effects.push(Effect::Late(late));
        }
    }

    /// Adds a feedback event on the search with this id.
    pub(crate) fn add_feedback(
        &mut self,
        id: Id,
        feedback: &event::Feedback<'_>,
        at: Position,
        fresh: bool,
        effects: &mut Vec<Effect>,
    ) {
        let facts = self.facts(feedback, fresh);
        let meant = self.meant(id, facts.ts);
        let found = meant.and_then(|number| Some((number, self.searches.get(number)?)));
        if let Some((number, search)) = found
            && self.is_open(search)
        {
            let (session, searched) = (search.session, search.place.ts);
            let (is_new, variant) = (search.reading == Reading::New, search.segment.variant);
            let was_late = facts.reading == Reading::AlreadyCounted && is_new;
            if !was_late && self.add_to_search(number, facts, effects) == Added::Duplicate {
                effects.extend(fresh.then_some(Effect::Duplicate));
                return;
            }
            self.add_interaction(session, searched, &facts, Some(at), effects);
            if was_late {
                return;
            }
            self.change_bucket(Second::of(searched), |bucket| {
                bucket.oldest.note(Kind::Feedback, at);
            });
            if fresh || is_new {
                effects.push(Effect::Joined {
                    action: facts.action,
                    variant,
                    number: 1,
                });
            }
            return;
        }
        if let Some(conversions) = &self.conversions
            && !self.is_closed(facts.ts)
            && conversions.is_meant(id, &facts)
        {
            if fresh || !conversions.has_counted(id, &facts) {
                self.wait(id, facts, at, effects);
            }
            return;
        }
        if let Some((_, search)) = found {
            let was_pending = search.state != State::Closed || search.reading != Reading::New;
            let is_first = fresh || (!was_pending && facts.reading != Reading::AlreadyCounted);
            let (session, searched) = (search.session, search.place.ts);
            self.add_interaction(session, searched, &facts, Some(at), effects);
            effects.extend(is_first.then_some(Effect::Late(1)));
            return;
        }
        if self.is_closed(facts.ts) && fresh {
            effects.push(Effect::Late(1));
            return;
        }
        self.wait(id, facts, at, effects);
    }

    /// Keeps feedback whose search has not yet arrived.
    fn wait(&mut self, id: Id, facts: Facts, at: Position, effects: &mut Vec<Effect>) {
        let limit = u32::try_from(self.limits.feedback_per_search).unwrap_or(u32::MAX);
        let second = self.second_of(facts.ts);
        match self.feedback.add_waiting(id, facts, limit) {
            Added::Duplicate => {
                let fresh = facts.reading == Reading::New;
                effects.extend(fresh.then_some(Effect::Duplicate));
            }
            Added::Kept(number) => self.change_bucket(second, |bucket| {
                bucket.oldest.note(Kind::Feedback, at);
                bucket.waiting.push(number);
            }),
            Added::BeyondLimit => {
                effects.push(Effect::Exceeded(Exceeded::FeedbackPerSearch));
                let is_first = self.feedback.count_beyond(id, second, &facts);
                self.change_bucket(second, |bucket| {
                    bucket.oldest.note(Kind::Feedback, at);
                    if is_first {
                        bucket.beyond.push(id);
                    }
                });
            }
        }
    }

    /// Adds a feedback event on a whole session. The owner of the partition counts it when it
    /// closes its second.
    pub(crate) fn add_session_feedback(
        &mut self,
        session: Id,
        feedback: &event::Feedback<'_>,
        at: Position,
        fresh: bool,
        effects: &mut Vec<Effect>,
    ) {
        if self.is_closed(feedback.ts) {
            effects.extend(fresh.then_some(Effect::Late(1)));
            return;
        }
        let facts = self.facts(feedback, fresh);
        let Some(session) = self.sessions.add_opinion(session, facts) else {
            effects.extend(fresh.then_some(Effect::Duplicate));
            return;
        };
        self.opinions += 1;
        self.change_bucket(Second::of(facts.ts), |bucket| {
            bucket.oldest.note(Kind::Feedback, at);
            bucket.sessions.push(session);
        });
    }

    /// Returns what the join keeps of a feedback event.
    fn facts(&self, feedback: &event::Feedback<'_>, fresh: bool) -> Facts {
        Facts {
            event: id::short(&feedback.event_id),
            ts: feedback.ts,
            document: feedback.object_id.as_deref().map_or(0, hash_document),
            position: feedback.position.unwrap_or(0),
            action: u8::try_from(feedback.action.index()).unwrap_or(u8::MAX),
            reading: match fresh {
                true => Reading::New,
                false if self.is_closed(feedback.ts) => Reading::AlreadyCounted,
                false => Reading::Again,
            },
            reaction: Reaction::of(feedback),
        }
    }
}

/// Returns how many events beyond the limit are counted when their search is read.
fn first_counts(search: Reading, number: Repeats) -> u64 {
    match search {
        Reading::New => number.new + number.again,
        Reading::Again | Reading::AlreadyCounted => number.new,
    }
}

/// Returns true if feedback at time `feedback` belongs to a search at time `search`. The distance
/// is symmetric, because clocks differ, and because feedback waits for its search as long as a
/// search waits for its feedback.
fn belongs(feedback: EventTime, search: EventTime, window: Millis) -> bool {
    let distance = feedback.since(search);
    distance.max(Millis(-distance.0)) <= window
}

#[cfg(test)]
mod tests {
    use super::{Join, JoinLimits, Second};
    use crate::time::Millis;

    #[test]
    fn a_join_without_records_holds_nothing() {
        let limits = JoinLimits {
            feedback_per_search: 1_000,
            searches_per_session: 1_000,
            interactions_per_session: 10_000,
        };
        let join = Join::new(Millis(1_000), limits, Some(Second(5)));
        assert_eq!((join.bytes(), join.pending()), (0, [0, 0]));
    }
}
