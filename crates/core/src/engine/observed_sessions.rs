//! Measures that were observed in sessions with several searches.
//!
//! Searches of one session are not independent. A session is therefore one observation of each user
//! measure: the score of its first search that has one. The last search would say nothing of searches
//! after which the user tried again.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::fixed::Nano;
use super::units::OpenSession;
use crate::time::EventTime;

/// Maximum number of sessions. Of further ones, only those with a single search are observed.
const MAX_SESSIONS: usize = 65_536;

/// Approximate bytes of a session.
const SESSION_BYTES: usize = size_of::<(OpenSession, Observed)>() + 1;

/// Saved sessions with the times of their newest searches, by the columns of the measures that were observed. Few sets of
/// columns are observed in many sessions.
pub(super) type SavedSessions = BTreeMap<Vec<usize>, Vec<(OpenSession, EventTime)>>;

/// Sessions whose last search is not finalised, with the measures that were observed.
#[derive(Debug, Default)]
pub(super) struct ObservedSessions(FxHashMap<OpenSession, Observed>);

/// Measures of which a session has an observation.
#[derive(Debug)]
struct Observed {
    /// Time of the newest search.
    newest: EventTime,
    /// Columns of the measures, as bits.
    columns: SmallVec<[u64; 2]>,
}

impl Observed {
    fn new() -> Self {
        Self {
            newest: EventTime(i64::MIN),
            columns: SmallVec::new(),
        }
    }

    /// Adds a column. Returns false if it was added before.
    fn add(&mut self, column: usize) -> bool {
        let (word, bit) = (column / 64, 1_u64 << (column % 64));
        if self.columns.len() <= word {
            self.columns.resize(word + 1, 0);
        }
        let is_new = self.columns[word] & bit == 0;
        self.columns[word] |= bit;
        is_new
    }
}

impl ObservedSessions {
    /// Removes the scores, by column, of which the session has an observation, and keeps the columns of the rest
    /// until the session ends. Of searches of one second, the last one can come first: a session of which it is the
    /// first is kept until sessions expire the next time.
    pub(super) fn keep_first(
        &mut self,
        session: OpenSession,
        (ts, is_last): (EventTime, bool),
        scores: &mut Vec<(usize, Nano)>,
    ) {
        if self.0.len() >= MAX_SESSIONS && !self.0.contains_key(&session) {
            if !is_last {
                scores.clear();
            }
            return;
        }
        let known = self.0.entry(session).or_insert_with(Observed::new);
        if !is_last {
            known.newest = known.newest.max(ts);
        }
        scores.retain(|(column, _)| known.add(*column));
    }

    /// Removes a session that has ended.
    pub(super) fn end(&mut self, session: OpenSession) {
        self.0.remove(&session);
    }

    /// Removes the sessions without a search since `before`.
    pub(super) fn expire(&mut self, before: EventTime) {
        self.0.retain(|_, observed| observed.newest >= before);
    }

    /// Sessions to save, in the order of their keys, so that equal states have equal checkpoints.
    pub(super) fn saved(&self) -> SavedSessions {
        let mut by_columns: BTreeMap<&[u64], Vec<(OpenSession, EventTime)>> = BTreeMap::new();
        #[allow(
            clippy::iter_over_hash_type,
            reason = "the sessions of a set of columns are sorted"
        )]
        for (session, observed) in &self.0 {
            let sessions = by_columns.entry(&observed.columns).or_default();
            sessions.push((*session, observed.newest));
        }
        let saved = by_columns.into_iter().map(|(words, mut sessions)| {
            sessions.sort_unstable();
            let columns = 0..words.len() * 64;
            let is_observed = |column: &usize| (words[column / 64] >> (column % 64)) & 1 == 1;
            (columns.filter(is_observed).collect(), sessions)
        });
        saved.collect()
    }

    /// Adds saved sessions. `column` is the present column of a saved one.
    pub(super) fn restore(
        &mut self,
        saved: &SavedSessions,
        column: impl Fn(usize) -> Option<usize>,
    ) {
        for (columns, sessions) in saved {
            for (session, newest) in sessions {
                if self.0.len() >= MAX_SESSIONS && !self.0.contains_key(session) {
                    continue;
                }
                let known = self.0.entry(*session).or_insert_with(Observed::new);
                known.newest = known.newest.max(*newest);
                for column in columns.iter().filter_map(|it| column(*it)) {
                    known.add(column);
                }
            }
        }
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * SESSION_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::id::Id;

    fn score(column: usize) -> (usize, Nano) {
        (column, Nano::from_f64(0.5))
    }

    #[test]
    fn a_session_is_observed_once_for_each_measure() {
        let mut sessions = ObservedSessions::default();
        let session = (0, Id::of("s"));
        let mut kept = |ts: i64, is_last: bool, columns: &[usize]| {
            let mut scores: Vec<(usize, Nano)> = columns.iter().map(|it| score(*it)).collect();
            sessions.keep_first(session, (EventTime(ts), is_last), &mut scores);
            let columns: Vec<usize> = scores.iter().map(|(column, _)| *column).collect();
            columns
        };
        assert_eq!(kept(1, false, &[0, 70]), [0, 70]);
        // The second search has the first rating (200) of the session.
        assert_eq!(kept(2, false, &[0, 70, 200]), [200]);
        assert_eq!(kept(3, true, &[0, 3, 70, 200]), [3]);
        sessions.end(session);
        assert!(sessions.0.is_empty());
    }

    #[test]
    fn saved_sessions_are_observed_in_the_present_columns() {
        let mut before = ObservedSessions::default();
        for id in ["a", "b"] {
            let mut scores = vec![score(3), score(70)];
            before.keep_first((0, Id::of(id)), (EventTime(1), false), &mut scores);
        }
        let saved = before.saved();
        assert_eq!(saved.values().map(Vec::len).collect::<Vec<_>>(), [2]);
        let mut sessions = ObservedSessions::default();
        // The measure of column 70 is not configured any more.
        sessions.restore(&saved, |column| (column == 3).then_some(5));
        let mut scores = vec![score(3), score(5)];
        sessions.keep_first((0, Id::of("b")), (EventTime(2), false), &mut scores);
        let kept: Vec<usize> = scores.iter().map(|(column, _)| *column).collect();
        assert_eq!(kept, [3]);
        sessions.expire(EventTime(2));
        assert_eq!(sessions.0.len(), 1);
    }

    #[test]
    fn of_two_searches_in_one_second_the_last_one_can_come_first() {
        let mut sessions = ObservedSessions::default();
        let session = (0, Id::of("s"));
        let observed = [(2, true), (1, false)].map(|(ts, is_last)| {
            let mut scores = vec![score(0)];
            sessions.keep_first(session, (EventTime(ts), is_last), &mut scores);
            scores.len()
        });
        assert_eq!(observed, [1, 0]);
        let mut scores = vec![score(0)];
        let single = (0, Id::of("single"));
        sessions.keep_first(single, (EventTime(2), true), &mut scores);
        sessions.expire(EventTime(1));
        assert!(sessions.0.contains_key(&session));
        assert!(!sessions.0.contains_key(&single), "no room for long");
    }

    #[test]
    fn the_number_of_sessions_is_limited_and_old_ones_leave() {
        let mut sessions = ObservedSessions::default();
        let mut add = |number: usize, ts: i64| {
            let mut scores = vec![score(0)];
            let id = Id::of(&number.to_string());
            sessions.keep_first((0, id), (EventTime(ts), false), &mut scores);
            scores.len()
        };
        let observed: usize = (0..MAX_SESSIONS).map(|number| add(number, 1)).sum();
        assert_eq!(observed, MAX_SESSIONS);
        assert_eq!(add(MAX_SESSIONS, 2), 0);
        let mut single = vec![score(0)];
        sessions.keep_first((0, Id::of("single")), (EventTime(2), true), &mut single);
        assert_eq!(single.len(), 1);
        sessions.expire(EventTime(2));
        assert!(sessions.0.is_empty());
        let mut scores = vec![score(0)];
        sessions.keep_first((0, Id::of("new")), (EventTime(3), false), &mut scores);
        assert_eq!(scores.len(), 1);
    }
}
