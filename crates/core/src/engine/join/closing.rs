//! Closing of seconds whose feedback window has passed, in steps of bounded work.
//!
//! A second is closed as a whole: the summaries of its searches refer to each other, so their
//! feedback is removed after all of them are summarised. Between two steps further records may be
//! read. They cannot change a second that is being closed, because every record before the frontier
//! is late.

use smallvec::SmallVec;

use super::conversions::Joined;
use super::effect::{Effect, Finished, SessionFeedback};
use super::feedback::{Facts, Reaction, Record};
use super::pool::Number;
use super::searches::Entry;
use super::seconds::{Bucket, Second};
use super::summary::{self, FeedbackSummary};
use super::tables::Join;
use crate::engine::id::Id;
use crate::measure::user::SessionContext;
use crate::time::EventTime;

/// Maximum number of searches of a session with which a search is compared. A user who repeats a
/// query more often within a feedback window has not moved on.
const MAX_COMPARED_SEARCHES: usize = 32;

/// Number of searches whose data are fetched together before they are closed or dropped.
pub(super) const GROUP: usize = 32;

/// Amount of work that may still be done: about a tenth of a microsecond each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work(usize);

impl Work {
    /// Work after one record. More than the record itself can cause, so a backlog shrinks.
    pub(crate) const AFTER_RECORD: Self = Self(4_096);
    /// Work of one step of a backlog, a few milliseconds.
    pub(crate) const STEP: Self = Self(65_536);

    /// Returns true if nothing more may be done.
    pub(crate) fn is_done(self) -> bool {
        self.0 == 0
    }

    /// Reduces the work that may still be done.
    pub(crate) fn spend(&mut self, amount: usize) {
        self.0 = self.0.saturating_sub(amount);
    }
}

/// Second that is being closed.
#[derive(Debug)]
pub(super) struct Closing {
    second: Second,
    bucket: Bucket,
    stage: Stage,
    /// Number of entries of the stage that are done.
    done: usize,
    /// Number of entries of the stage whose data were fetched.
    fetched: usize,
    /// Sessions whose last search is in the second.
    ended: Vec<Id>,
}

/// Stages of closing a second, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Summaries,
    Searches,
    Sessions,
    Waiting,
    Beyond,
}

impl Closing {
    fn new(second: Second, bucket: Bucket) -> Self {
        Self {
            second,
            bucket,
            stage: Stage::Summaries,
            done: 0,
            fetched: 0,
            ended: Vec::new(),
        }
    }

    /// Second that is being closed.
    pub(super) fn second(&self) -> Second {
        self.second
    }

    pub(super) fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// Returns the next entries of the stage whose data were not fetched.
    fn next_of(&self, numbers: &[Number]) -> impl Iterator<Item = Number> + Clone {
        numbers.iter().skip(self.fetched).take(GROUP).copied()
    }

    fn advance(&mut self, to: Stage) {
        self.stage = to;
        self.done = 0;
        self.fetched = 0;
    }
}

impl Join {
    /// Closes seconds before the frontier, as far as `work` allows. Returns true if nothing is left
    /// to close.
    pub(crate) fn close_some(&mut self, work: &mut Work, effects: &mut Vec<Effect>) -> bool {
        while !work.is_done() {
            let Some(mut closing) = self.closing.take().or_else(|| self.next_closing()) else {
                self.is_settled = self.drop_expired(work) && self.close_conversions(work, effects);
                return self.is_settled;
            };
            if self.close_step(&mut closing, work, effects) {
                continue;
            }
            self.closing = Some(closing);
        }
        !self.has_backlog()
    }

    /// Returns true if a second is partly closed.
    pub(crate) fn is_within_second(&self) -> bool {
        self.closing.is_some()
    }

    /// Returns true if a second before the frontier is not yet closed.
    pub(crate) fn has_backlog(&self) -> bool {
        !self.is_settled
    }

    fn next_closing(&mut self) -> Option<Closing> {
        let entry = self.buckets.first_entry()?;
        (*entry.key() < self.frontier).then(|| {
            let (second, bucket) = entry.remove_entry();
            self.bytes -= bucket.bytes();
            Closing::new(second, bucket)
        })
    }

    /// Does a part of the closing of a second. Returns true if the second is closed.
    fn close_step(
        &mut self,
        closing: &mut Closing,
        work: &mut Work,
        effects: &mut Vec<Effect>,
    ) -> bool {
        while !work.is_done() {
            let done = closing.done;
            closing.done += 1;
            if done >= closing.fetched {
                self.fetch(closing);
                closing.fetched = done + GROUP;
            }
            match closing.stage {
                Stage::Summaries => {
                    if let Some(search) = closing.bucket.searches.get(done) {
                        let ended = self.summarise(*search, work, effects);
                        closing.ended.extend(ended);
                    } else {
                        // The searches of a second are in any order.
                        effects.extend(closing.ended.drain(..).map(Effect::SessionEnded));
                        closing.advance(Stage::Searches);
                    }
                }
                Stage::Searches => match closing.bucket.searches.get(done) {
                    Some(search) => self.retain(*search, closing, work),
                    None => closing.advance(Stage::Sessions),
                },
                Stage::Sessions => match closing.bucket.sessions.get(done) {
                    Some(session) => {
                        if self.close_session(*session, closing.second, work, effects) {
                            // The session has more feedback in this second.
                            closing.done = done;
                        }
                    }
                    None => closing.advance(Stage::Waiting),
                },
                Stage::Waiting => match closing.bucket.waiting.get(done) {
                    Some(record) => {
                        work.spend(1);
                        if let Some((id, facts)) = self.feedback.expire(*record, closing.second) {
                            effects.push(self.expired(id, &facts));
                        }
                    }
                    None => closing.advance(Stage::Beyond),
                },
                Stage::Beyond => match closing.bucket.beyond.get(done) {
                    Some(id) => {
                        work.spend(1);
                        let orphaned = self.feedback.expire_beyond(*id, closing.second);
                        effects.push(Effect::Orphaned(orphaned));
                    }
                    None => return true,
                },
            }
        }
        false
    }

    /// Reads what the next entries of a stage read.
    fn fetch(&self, closing: &Closing) {
        let bucket = &closing.bucket;
        match closing.stage {
            Stage::Summaries => self.read_searches(closing.next_of(&bucket.searches)),
            Stage::Sessions => self.read_sessions(closing.next_of(&bucket.sessions)),
            Stage::Waiting => self.read_waiting(closing.next_of(&bucket.waiting)),
            Stage::Searches | Stage::Beyond => {}
        }
    }

    /// Summarises the feedback on a search. Returns its session if it is the last search of it.
    fn summarise(
        &mut self,
        number: Number,
        work: &mut Work,
        effects: &mut Vec<Effect>,
    ) -> Option<Id> {
        work.spend(8);
        let entry = self.searches.get(number)?;
        let summary = self.summary(number, entry, work);
        let session = entry.session.some().and_then(|it| self.sessions.id(it));
        let ended = session.filter(|_| summary.ends_session());
        let (place, list) = (entry.place, entry.feedback);
        if let Some(parts) = self.searches.take_parts(number) {
            if let Some(conversions) = &mut self.conversions
                && parts.segment.is_of_users()
            {
                let records = self.feedback.of(list);
                let converting =
                    records.filter(|it| matches!(it.facts.reaction, Reaction::Conversion(_)));
                let events = converting.map(|it| it.facts.event);
                conversions.add(&place, &parts.segment, &summary, events);
            }
            effects.push(Effect::Finished(Finished {
                parts,
                summary,
                session,
            }));
        }
        ended
    }

    /// Effect of feedback whose search has not arrived: a search may wait for a conversion.
    fn expired(&mut self, id: Id, facts: &Facts) -> Effect {
        let conversions = self.conversions.as_mut();
        match conversions.and_then(|it| it.join(id, facts)) {
            None => Effect::Orphaned(1),
            Some(Joined::Duplicate) => Effect::Duplicate,
            Some(Joined::Counted(variant) | Joined::BeyondLimit(variant)) => Effect::Joined {
                action: facts.action,
                variant,
                number: 1,
            },
        }
    }

    /// Returns searches whose time for conversions has passed. Returns true if none is left.
    fn close_conversions(&mut self, work: &mut Work, effects: &mut Vec<Effect>) -> bool {
        let frontier = self.frontier;
        let conversions = self.conversions.as_mut();
        conversions.is_none_or(|it| it.close_some(frontier, work, effects))
    }

    /// Returns the searches of the oldest minute that wait for conversions before their time has passed.
    /// Returns their number.
    pub(crate) fn close_oldest_conversions(&mut self, effects: &mut Vec<Effect>) -> usize {
        let conversions = self.conversions.as_mut();
        conversions.map_or(0, |it| it.close_oldest(effects))
    }

    fn summary(&self, number: Number, search: &Entry, work: &mut Work) -> FeedbackSummary {
        // Later events are ignored, because the time at which the second is closed determines which
        // of them are known.
        let end = search.place.ts.plus(self.window);
        let session = search.session.some().map(|session| {
            let following = || {
                self.sessions
                    .following(session, &self.searches, number, end)
            };
            let is_reformulated = self
                .feedback
                .of(search.feedback)
                .any(|record| record.facts.reaction == Reaction::Reformulation);
            let after = if is_reformulated {
                Some(0.0)
            } else {
                self.moved_on(search, following(), end, work)
            };
            SessionContext {
                reformulated_after: after,
                is_last: following().next().is_none(),
                is_praised: self.sessions.is_praised(session, search.place.ts, end),
            }
        });
        work.spend(search.feedback.len as usize);
        FeedbackSummary::of(
            self.feedback.of(search.feedback),
            (search.place.ts, end),
            session,
            |at| {
                let session = search.session.some()?;
                self.sessions.next_interaction(session, at, &self.searches)
            },
        )
    }

    /// Returns the seconds until the next search of the session for something else: with another
    /// query, and without a click on the same document by the end of the feedback window.
    fn moved_on(
        &self,
        search: &Entry,
        following: impl Iterator<Item = Number>,
        end: EventTime,
        work: &mut Work,
    ) -> Option<f64> {
        let clicks = |entry: &Entry| {
            let is_known = move |record: &&Record| {
                record.facts.reaction == Reaction::Click && record.facts.ts <= end
            };
            self.feedback.of(entry.feedback).filter(is_known)
        };
        let document = |record: &Record| record.clicked_document();
        let mut clicked: SmallVec<[u64; 8]> = clicks(search).filter_map(document).collect();
        clicked.sort_unstable();
        for number in following.take(MAX_COMPARED_SEARCHES) {
            let Some(next) = self.searches.get(number) else {
                continue;
            };
            if next.repeats(search) {
                continue;
            }
            if !clicked.is_empty() {
                work.spend(next.feedback.len as usize);
                let mut common = clicks(next).filter_map(document);
                if common.any(|document| clicked.binary_search(&document).is_ok()) {
                    continue;
                }
            }
            return Some(summary::seconds(next.place.ts.since(search.place.ts)));
        }
        None
    }

    /// Releases the feedback on a search, and retains the search as closed.
    fn retain(&mut self, number: Number, closing: &Closing, work: &mut Work) {
        work.spend(1);
        let Some(entry) = self.searches.get_mut(number) else {
            return;
        };
        work.spend(entry.feedback.len as usize);
        self.feedback.clear(&mut entry.feedback);
        self.searches.close(number);
        self.note_closed(closing.second, number, &closing.bucket.oldest);
    }

    /// Takes the next feedback on a whole session in a second. Returns false if nothing is left.
    fn close_session(
        &mut self,
        session: Number,
        second: Second,
        work: &mut Work,
        effects: &mut Vec<Effect>,
    ) -> bool {
        work.spend(2);
        let Some((facts, last)) = self.sessions.close_next(session, second, &self.searches) else {
            return false;
        };
        self.opinions -= 1;
        let last = last.and_then(|number| self.searches.get(number));
        let recent = last.filter(|search| facts.ts.since(search.place.ts) <= self.window);
        effects.push(match recent {
            Some(search) => Effect::Session(SessionFeedback {
                action: facts.action,
                summary: FeedbackSummary::of_session_feedback(facts.reaction),
                ts: facts.ts,
                segment: std::sync::Arc::clone(&search.segment),
            }),
            None => Effect::Orphaned(1),
        });
        true
    }

    /// Drops closed searches on which no open feedback can follow. Returns true if none is left.
    fn drop_expired(&mut self, work: &mut Work) -> bool {
        while self.has_expired() {
            if work.is_done() {
                return false;
            }
            work.spend(1);
            self.drop_oldest_closed();
        }
        true
    }

    fn has_expired(&self) -> bool {
        let oldest = self.closed.keys().next();
        oldest.is_some_and(|second| self.is_expired(*second))
    }
}
