//! Searches that wait for their feedback, and feedback that waits for its search.
//!
//! One join belongs to one partition. It is organised by seconds of event time: a second is closed
//! as a whole once the watermark has passed it by the feedback window, and the first second that
//! is still open is the *frontier*. What is older than the frontier is late, whatever it is; that
//! one number therefore says which searches were finalised, also to whoever takes the partition
//! over.
//!
//! Whether feedback belongs to a search follows from their ids and their two times alone, never
//! from which of them was read first: one topic is often read far ahead of the other. For the same
//! reason the ids of closed searches are remembered for another feedback window. Without them,
//! whoever takes a partition over could not tell feedback that was joined, and is read again, from
//! feedback that still waits.
//!
//! What is said of a whole session is an observation of its own: it is counted when its own second is
//! closed, for the search that came last before it.

mod memory;
mod pending;
mod sessions;

use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::engine::registry::{Label, Series};
use crate::event::{Feedback, Kind};
use crate::measure::people::InSession;
use crate::time::{EventTime, Millis};

use memory::Memory;
pub use pending::{Pending, Reacted, Said, Teams};
use sessions::Sessions;

/// A second of event time: seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Second(pub i64);

impl Second {
    /// The second that contains `at`.
    pub fn of(at: EventTime) -> Self {
        Self(at.0.div_euclid(1_000))
    }
}

/// What became of a feedback event.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It belongs to a pending search, served by this variant. `first` unless an earlier owner of
    /// the partition had joined the two already.
    Joined {
        /// The variant that served the search.
        variant: Label,
        /// Whether this is to be counted.
        first: bool,
    },
    /// Its search was closed before it arrived. `first` unless an earlier owner of the partition
    /// had counted it.
    Late {
        /// Whether this is to be counted.
        first: bool,
    },
    /// Its search has not arrived yet.
    Waiting,
    /// It was received before.
    Duplicate,
}

/// What is left of a closed second.
#[derive(Debug, Default)]
pub struct Closed {
    /// Searches whose feedback window has passed, and what people did with them.
    pub searches: Vec<(Pending, Reacted)>,
    /// What was said of sessions as a whole.
    pub opinions: Vec<Opinion>,
    /// Feedback events whose search never came.
    pub orphaned: u64,
}

/// Something said of a session as a whole.
#[derive(Debug)]
pub struct Opinion {
    /// What was said.
    pub said: Said,
    /// When.
    pub ts: EventTime,
    /// The system version that served the session's last search before it.
    pub variant: Label,
    /// The series that the scores of that search belong to.
    pub series: Arc<[Series]>,
}

#[derive(Debug, Default)]
struct Bucket {
    searches: Vec<Arc<str>>,
    early: Vec<Arc<str>>,
    /// Sessions in which something happened.
    sessions: Vec<u64>,
    /// Lowest offset, by topic, of the records that belong to this second's searches, waits and
    /// sessions.
    oldest: [Option<i64>; 2],
}

impl Bucket {
    fn note(&mut self, kind: Kind, offset: i64) {
        let oldest = &mut self.oldest[kind.index()];
        *oldest = Some(oldest.map_or(offset, |known| known.min(offset)));
    }
}

/// The join of one partition.
#[derive(Debug)]
pub struct Join {
    window: Millis,
    searches: HashMap<Arc<str>, Box<Pending>>,
    sessions: Sessions,
    early: HashMap<Arc<str>, BTreeMap<u64, Said>>,
    waiting: usize,
    reactions: usize,
    buckets: BTreeMap<Second, Bucket>,
    closed: Memory,
    frontier: Second,
}

impl Join {
    /// An empty join in which everything before `frontier` is closed, and in which feedback
    /// belongs to a search up to `window` after it.
    pub fn new(window: Millis, frontier: Option<Second>) -> Self {
        Self {
            window,
            searches: HashMap::new(),
            sessions: Sessions::default(),
            early: HashMap::new(),
            waiting: 0,
            reactions: 0,
            buckets: BTreeMap::new(),
            closed: Memory::default(),
            frontier: frontier.unwrap_or(Second(i64::MIN)),
        }
    }

    /// The first second that is still open; `None` when nothing was closed yet.
    pub fn frontier(&self) -> Option<Second> {
        (self.frontier.0 > i64::MIN).then_some(self.frontier)
    }

    /// The second under which waiting feedback is kept: its own, or the first that is open.
    fn bucket_of(&self, said: &Said) -> Second {
        Second::of(said.ts).max(self.frontier)
    }

    /// Whether the window of an event of time `at` has passed.
    pub fn is_closed(&self, at: EventTime) -> bool {
        Second::of(at) < self.frontier
    }

    /// Whether a search of this id is pending, or was until less than a feedback window before
    /// `ts`.
    pub fn contains(&self, query_id: &str, ts: EventTime) -> bool {
        let closed = self.closed.get(query_id);
        self.searches.contains_key(query_id)
            || closed.is_some_and(|closed| belong(ts, closed.ts, self.window))
    }

    /// Pending searches and waiting feedback events, in the order of [`Kind::index`].
    pub fn pending(&self) -> [usize; 2] {
        [self.searches.len(), self.waiting]
    }

    /// Whether the session of a search has so many already that it is nobody's.
    pub fn is_crowded(&self, search: &Pending) -> bool {
        let session = search.in_session.map(|(session, _)| session);
        session.is_some_and(|session| self.sessions.is_crowded(session))
    }

    /// How many events are held: what memory grows with.
    pub fn load(&self) -> usize {
        self.searches.len() + self.waiting + self.reactions
    }

    /// Takes the feedback that waits for a search of this id and time.
    fn take_waiting(&mut self, query_id: &str, ts: EventTime) -> BTreeMap<u64, Said> {
        let window = self.window;
        let Some(waiting) = self.early.get_mut(query_id) else {
            return BTreeMap::new();
        };
        let taken: BTreeMap<_, _> = waiting
            .extract_if(.., |_, said| belong(said.ts, ts, window))
            .collect();
        if waiting.is_empty() {
            self.early.remove(query_id);
        }
        self.waiting -= taken.values().filter(|said| !said.settled).count();
        taken
    }

    /// Adds a search that is not [contained](Self::contains) and not [closed](Self::is_closed).
    /// Feedback that waited for it is applied and handed to `joined`.
    pub fn add_search(
        &mut self,
        query_id: &str,
        mut search: Pending,
        offset: i64,
        mut joined: impl FnMut(&Said),
    ) {
        let second = Second::of(search.ts);
        let session = search.in_session.map(|(session, _)| session);
        let mut oldest = None;
        for (event, said) in self.take_waiting(query_id, search.ts) {
            self.note_act(session, search.ts, &said);
            // What was settled as late, before this search was first read, stays late.
            if said.settled && search.fresh {
                continue;
            }
            let bucket = self.buckets.get(&self.bucket_of(&said));
            oldest = min_some(oldest, bucket.and_then(|bucket| bucket.oldest[1]));
            if search.hear(event, &said) {
                self.reactions += 1;
                if search.fresh || said.fresh {
                    joined(&said);
                }
            }
        }
        let query_id: Arc<str> = query_id.into();
        let bucket = self.buckets.entry(second).or_default();
        bucket.note(Kind::Search, offset);
        if let Some(oldest) = oldest {
            bucket.note(Kind::Feedback, oldest);
        }
        bucket.searches.push(Arc::clone(&query_id));
        if let Some(session) = session {
            let searched = (search.ts, Arc::clone(&query_id));
            self.sessions.add(session, searched);
        }
        self.searches.insert(query_id, Box::new(search));
    }

    /// People did something in a session, at a time that is still open. What is said to have come
    /// before its search, which clocks that differ make of it, came with the search: before that is
    /// read, nobody knows its session.
    fn note_act(&mut self, session: Option<u64>, searched: EventTime, said: &Said) {
        if let Some(session) = session
            && said.is_act()
            && said.ts >= searched
            && !self.is_closed(said.ts)
        {
            self.sessions.note(session, said.ts);
            let bucket = self.buckets.entry(Second::of(said.ts)).or_default();
            if bucket.sessions.last() != Some(&session) {
                bucket.sessions.push(session);
            }
        }
    }

    /// Adds a search that is [closed](Self::is_closed): one that came late, or was finalised by an
    /// earlier owner of the partition. Returns how many feedback events waited for it, and are late
    /// and to be counted.
    pub fn add_closed_search(&mut self, query_id: &str, search: &Pending, offset: i64) -> u64 {
        if self.is_forgotten(Second::of(search.ts)) {
            return 0;
        }
        let session = search.in_session.map(|(session, _)| session);
        let waiting = self.take_waiting(query_id, search.ts);
        for said in waiting.values() {
            self.note_act(session, search.ts, said);
        }
        let counted = |said: &&Said| !said.settled && (search.fresh || said.fresh);
        let late = waiting.values().filter(counted).count();
        let query_id: Arc<str> = query_id.into();
        if let Some(session) = session {
            let searched = (search.ts, Arc::clone(&query_id));
            self.sessions.add(session, searched);
        }
        self.closed
            .remember(query_id, search, search.fresh, Some(offset));
        u64::try_from(late).unwrap_or(u64::MAX)
    }

    /// Adds a feedback event of `query_id`.
    pub fn add_feedback(
        &mut self,
        query_id: &str,
        feedback: &Feedback<'_>,
        offset: i64,
        fresh: bool,
    ) -> Fate {
        let event = hash(&feedback.event_id);
        let said = self.said(feedback, fresh);
        let window = self.window;
        let open = self.searches.get_mut(query_id);
        if let Some(search) = open.filter(|search| belong(said.ts, search.ts, window)) {
            let session = search.in_session.map(|(session, _)| session);
            let (variant, is_fresh, searched) = (search.variant, search.fresh, search.ts);
            let home = Second::of(searched);
            let was_late = said.settled && is_fresh;
            if !was_late && !search.hear(event, &said) {
                return Fate::Duplicate;
            }
            self.note_act_of(session, searched, &said, offset);
            if was_late {
                return Fate::Late { first: false };
            }
            self.reactions += 1;
            let bucket = self.buckets.entry(home).or_default();
            bucket.note(Kind::Feedback, offset);
            let first = fresh || is_fresh;
            return Fate::Joined { variant, first };
        }
        if let Some(closed) = self.closed.get(query_id)
            && belong(said.ts, closed.ts, window)
        {
            let first = fresh || (closed.fresh && !said.settled);
            let session = closed.in_session.as_ref().map(|it| it.session);
            let searched = closed.ts;
            self.note_act_of(session, searched, &said, offset);
            return Fate::Late { first };
        }
        if self.is_closed(said.ts) && fresh {
            return Fate::Late { first: true };
        }
        let key: Arc<str> = match self.early.get_key_value(query_id) {
            Some((key, _)) => Arc::clone(key),
            None => query_id.into(),
        };
        let waiting = self.early.entry(Arc::clone(&key)).or_default();
        if waiting.contains_key(&event) {
            return Fate::Duplicate;
        }
        waiting.insert(event, said);
        self.waiting += usize::from(!said.settled);
        let bucket = self.buckets.entry(self.bucket_of(&said)).or_default();
        bucket.note(Kind::Feedback, offset);
        bucket.early.push(key);
        Fate::Waiting
    }

    /// Adds a feedback event that is about the whole session. It is counted when its second is
    /// closed, by whoever closes it.
    pub fn add_opinion(
        &mut self,
        session_id: &str,
        feedback: &Feedback<'_>,
        offset: i64,
        fresh: bool,
    ) -> Fate {
        if self.is_closed(feedback.ts) {
            return Fate::Late { first: fresh };
        }
        let session = hash(session_id);
        let said = self.said(feedback, fresh);
        if !self.sessions.hear(session, hash(&feedback.event_id), said) {
            return Fate::Duplicate;
        }
        self.waiting += 1;
        let bucket = self.buckets.entry(Second::of(said.ts)).or_default();
        bucket.note(Kind::Feedback, offset);
        bucket.sessions.push(session);
        Fate::Waiting
    }

    /// What is kept of a feedback event.
    fn said(&self, feedback: &Feedback<'_>, fresh: bool) -> Said {
        Said {
            action: feedback.action,
            fresh,
            // An earlier owner has counted it, as joined or as late; its search tells which.
            settled: self.is_closed(feedback.ts) && !fresh,
            position: feedback.position,
            object: feedback.object_id.as_deref().map(hash),
            ts: feedback.ts,
        }
    }

    /// The same as [`note_act`](Self::note_act), of a record that its second needs from now on.
    fn note_act_of(&mut self, session: Option<u64>, searched: EventTime, said: &Said, offset: i64) {
        self.note_act(session, searched, said);
        if session.is_some()
            && let Some(bucket) = self.buckets.get_mut(&Second::of(said.ts))
        {
            bucket.note(Kind::Feedback, offset);
        }
    }

    /// Closes every second before `frontier`.
    pub fn close_before(&mut self, frontier: Second) -> Closed {
        let mut closed = Closed::default();
        while let Some(entry) = self.buckets.first_entry() {
            if *entry.key() >= frontier {
                break;
            }
            let (second, bucket) = entry.remove_entry();
            self.close(second, bucket, &mut closed);
        }
        self.frontier = self.frontier.max(frontier);
        while let Some(second) = self.closed.oldest()
            && self.is_forgotten(second)
        {
            self.forget_oldest();
        }
        closed
    }

    /// How many closed searches are remembered.
    pub fn remembered(&self) -> usize {
        self.closed.len()
    }

    /// Forgets the oldest second of closed searches; returns how many those were.
    pub fn forget_oldest(&mut self) -> usize {
        self.closed.forget_oldest(&mut self.sessions)
    }

    /// Whether no open feedback can belong to a search of this second any more.
    fn is_forgotten(&self, second: Second) -> bool {
        let window = self.window.0.div_euclid(1_000) + 1;
        second.0.saturating_add(window) < self.frontier.0
    }

    /// Closes the oldest second that holds anything, whether or not its window has passed.
    pub fn close_oldest(&mut self) -> Closed {
        let oldest = self.oldest();
        oldest.map_or_else(Closed::default, |oldest| {
            self.close_before(Second(oldest.0 + 1))
        })
    }

    /// The oldest second that holds anything.
    pub fn oldest(&self) -> Option<Second> {
        self.buckets.keys().next().copied()
    }

    /// The lowest offset of the topic that is still needed to build this join again; `None` when
    /// nothing is held.
    pub fn oldest_offset(&self, kind: Kind) -> Option<i64> {
        let open = self.buckets.values();
        let open = open.filter_map(|bucket| bucket.oldest[kind.index()]).min();
        match kind {
            Kind::Search => min_some(open, self.closed.oldest_offset()),
            Kind::Feedback => open,
        }
    }

    /// What people did with an open search, and what its session tells.
    fn react(&self, query_id: &str, search: &Pending) -> Reacted {
        // What is known of later depends on when a second is closed, and must not count.
        let end = search.ts.plus(self.window);
        let session = search.in_session.map(|(session, query)| {
            let mut following = self.sessions.following(session, search.ts, query_id, end);
            let next = following.find(|(_, next)| {
                let next = self.searches.get(next);
                next.is_none_or(|next| !next.asks(query) && !self.share_click(search, next))
            });
            let after = next.map(|(ts, _)| pending::seconds(ts.since(search.ts)));
            let is_said = search.is_said_to_be_reformulated();
            let mut later = self.sessions.following(session, search.ts, query_id, end);
            InSession {
                reformulated_after: if is_said { Some(0.0) } else { after },
                is_last: later.next().is_none(),
                is_praised: self.sessions.is_praised(session, search.ts, end),
            }
        });
        search.react(end, session, |at| {
            let (session, _) = search.in_session?;
            self.sessions.next_act(session, at)
        })
    }

    /// Whether a result of `search` was clicked that was clicked in `next` as well, as far as is
    /// known when the window of `search` ends.
    fn share_click(&self, search: &Pending, next: &Pending) -> bool {
        let end = search.ts.plus(self.window);
        let clicked: Vec<u64> = search.clicked_until(end).collect();
        next.clicked_until(end)
            .any(|document| clicked.contains(&document))
    }

    fn close(&mut self, second: Second, bucket: Bucket, closed: &mut Closed) {
        // All of them before any is gone: they look at each other.
        let reacted: Vec<Option<Reacted>> = bucket
            .searches
            .iter()
            .map(|query_id| Some(self.react(query_id, self.searches.get(query_id)?)))
            .collect();
        for (query_id, reacted) in bucket.searches.into_iter().zip(reacted) {
            if let (Some(search), Some(reacted)) = (self.searches.remove(&query_id), reacted) {
                self.reactions -= search.heard();
                // It has been counted by now, whoever counted it first.
                let fresh = false;
                let oldest = bucket.oldest[Kind::Search.index()];
                self.closed.remember(query_id, &search, fresh, oldest);
                closed.searches.push((*search, reacted));
            }
        }
        let mut sessions = bucket.sessions;
        sessions.sort_unstable();
        sessions.dedup();
        for session in sessions {
            for (said, search) in self.sessions.close(session, second, self.window) {
                self.waiting -= 1;
                let search = search.and_then(|(_, query_id)| self.closed.get(&query_id));
                let Some(of) = search.and_then(|search| search.in_session.as_ref()) else {
                    closed.orphaned += 1;
                    continue;
                };
                closed.opinions.push(Opinion {
                    said,
                    ts: said.ts,
                    variant: of.variant,
                    series: Arc::clone(&of.series),
                });
            }
        }
        for query_id in bucket.early {
            // Joined since, or closed by an earlier entry of the same query.
            let Some(waiting) = self.early.get_mut(&query_id) else {
                continue;
            };
            let gone = waiting.extract_if(.., |_, said| Second::of(said.ts) <= second);
            let orphaned = gone.filter(|(_, said)| !said.settled).count();
            if waiting.is_empty() {
                self.early.remove(&query_id);
            }
            self.waiting -= orphaned;
            closed.orphaned += u64::try_from(orphaned).unwrap_or(u64::MAX);
        }
    }
}

/// Whether feedback of time `said` belongs to a search of time `searched`. Both ways, because
/// clocks differ, and because feedback waits for its search no longer than a search for it.
fn belong(said: EventTime, searched: EventTime, window: Millis) -> bool {
    let distance = said.since(searched);
    distance.max(Millis(-distance.0)) <= window
}

fn min_some(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}

/// A hash without a random key: an engine's state follows from its inputs. Ids are compared only with the few of one search, so
/// 64 bits leave no room for accidents, and a chosen collision harms only its own search.
pub(super) fn hash(id: &str) -> u64 {
    let mut hasher = FxHasher::default();
    id.hash(&mut hasher);
    hasher.finish()
}
