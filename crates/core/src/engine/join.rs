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

mod closed_searches;
mod pending;
mod sessions;

use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::engine::registry::{Label, Series};
use crate::event::{Feedback, Kind};
use crate::measure::user::SessionContext;
use crate::time::{EventTime, Millis};

use closed_searches::ClosedSearches;
pub use pending::{FeedbackRecord, FeedbackSummary, Pending, Teams};
use sessions::Sessions;

/// Second of event time, in seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Second(pub i64);

impl Second {
    /// Returns the second that contains `at`.
    pub fn of(at: EventTime) -> Self {
        Self(at.0.div_euclid(1_000))
    }
}

/// Join outcome of a feedback event.
#[derive(Clone, Copy, Debug)]
pub enum JoinOutcome {
    /// The event belongs to a pending search. `first` is false if an earlier owner of the partition
    /// had already joined the two.
    Joined {
        /// Variant that served the search.
        variant: Label,
        /// True if the event must be counted.
        first: bool,
    },
    /// The search of the event was closed before the event arrived. `first` is false if an earlier
    /// owner of the partition had already counted it.
    Late {
        /// True if the event must be counted.
        first: bool,
    },
    /// The search of the event has not yet arrived.
    Waiting,
    /// The event was received before.
    Duplicate,
}

/// Content of closed seconds.
#[derive(Debug, Default)]
pub struct ClosedEvents {
    /// Searches whose feedback window has passed, with their feedback.
    pub searches: Vec<(Pending, FeedbackSummary)>,
    /// Feedback on whole sessions.
    pub session_feedback: Vec<SessionFeedback>,
    /// Number of feedback events whose search never arrived.
    pub orphaned: u64,
}

/// Feedback on a session as a whole.
#[derive(Debug)]
pub struct SessionFeedback {
    /// Feedback record.
    pub feedback: FeedbackRecord,
    /// Event time of the feedback.
    pub ts: EventTime,
    /// System version that served the last search of the session before the feedback.
    pub variant: Label,
    /// Series that count the scores of that search.
    pub series: Arc<[Series]>,
}

#[derive(Debug, Default)]
struct Bucket {
    searches: Vec<Arc<str>>,
    early: Vec<Arc<str>>,
    /// Sessions with feedback in this second.
    sessions: Vec<u64>,
    /// Lowest offset, by topic, of the records that the searches, the buffered feedback and the
    /// sessions of this second need.
    oldest: [Option<i64>; 2],
}

impl Bucket {
    fn note_offset(&mut self, kind: Kind, offset: i64) {
        let oldest = &mut self.oldest[kind.index()];
        *oldest = Some(oldest.map_or(offset, |known| known.min(offset)));
    }
}

/// Join of one partition.
#[derive(Debug)]
pub struct Join {
    window: Millis,
    searches: HashMap<Arc<str>, Box<Pending>>,
    sessions: Sessions,
    early: HashMap<Arc<str>, BTreeMap<u64, FeedbackRecord>>,
    waiting: usize,
    reactions: usize,
    buckets: BTreeMap<Second, Bucket>,
    closed: ClosedSearches,
    frontier: Second,
}

impl Join {
    /// Creates an empty join. Every second before `frontier` is closed, and feedback belongs to a
    /// search within `window` of it.
    pub fn new(window: Millis, frontier: Option<Second>) -> Self {
        Self {
            window,
            searches: HashMap::new(),
            sessions: Sessions::default(),
            early: HashMap::new(),
            waiting: 0,
            reactions: 0,
            buckets: BTreeMap::new(),
            closed: ClosedSearches::default(),
            frontier: frontier.unwrap_or(Second(i64::MIN)),
        }
    }

    /// Returns the first second that is still open; `None` if no second is closed yet.
    pub fn frontier(&self) -> Option<Second> {
        (self.frontier.0 > i64::MIN).then_some(self.frontier)
    }

    /// Returns the second that holds a buffered feedback record: its own second, or the first open
    /// one.
    fn bucket_of(&self, record: &FeedbackRecord) -> Second {
        Second::of(record.ts).max(self.frontier)
    }

    /// Returns true if the feedback window of an event at `at` has passed.
    pub fn is_closed(&self, at: EventTime) -> bool {
        Second::of(at) < self.frontier
    }

    /// Returns true if a search with this id is pending, or is closed and within a feedback window
    /// of `ts`.
    pub fn contains(&self, query_id: &str, ts: EventTime) -> bool {
        let closed = self.closed.get(query_id);
        self.searches.contains_key(query_id)
            || closed.is_some_and(|closed| belongs(ts, closed.ts, self.window))
    }

    /// Returns the number of pending searches and of buffered feedback events, in the order of
    /// [`Kind::index`].
    pub fn pending(&self) -> [usize; 2] {
        [self.searches.len(), self.waiting]
    }

    /// Returns true if the session of a search has reached its search limit.
    pub fn is_over_search_limit(&self, search: &Pending) -> bool {
        let session = search.in_session.map(|(session, _)| session);
        session.is_some_and(|session| self.sessions.is_over_search_limit(session))
    }

    /// Returns the number of events held, which determines the memory use.
    pub fn load(&self) -> usize {
        self.searches.len() + self.waiting + self.reactions
    }

    /// Takes the buffered feedback that belongs to a search with this id and time.
    fn take_buffered(&mut self, query_id: &str, ts: EventTime) -> BTreeMap<u64, FeedbackRecord> {
        let window = self.window;
        let Some(waiting) = self.early.get_mut(query_id) else {
            return BTreeMap::new();
        };
        let taken: BTreeMap<_, _> = waiting
            .extract_if(.., |_, record| belongs(record.ts, ts, window))
            .collect();
        if waiting.is_empty() {
            self.early.remove(query_id);
        }
        self.waiting -= taken
            .values()
            .filter(|record| !record.is_already_counted)
            .count();
        taken
    }

    /// Adds a search that is not [contained](Self::contains) and not [closed](Self::is_closed).
    /// Applies the buffered feedback of the search and passes it to `joined`.
    pub fn add_search(
        &mut self,
        query_id: &str,
        mut search: Pending,
        offset: i64,
        mut joined: impl FnMut(&FeedbackRecord),
    ) {
        let second = Second::of(search.ts);
        let session = search.in_session.map(|(session, _)| session);
        let mut oldest = None;
        for (event, record) in self.take_buffered(query_id, search.ts) {
            self.add_interaction(session, search.ts, &record);
            // Feedback that was counted as late before the first read of this search stays late.
            if record.is_already_counted && search.fresh {
                continue;
            }
            let bucket = self.buckets.get(&self.bucket_of(&record));
            oldest = min_some(oldest, bucket.and_then(|bucket| bucket.oldest[1]));
            if search.add_feedback(event, &record) {
                self.reactions += 1;
                if search.fresh || record.fresh {
                    joined(&record);
                }
            }
        }
        let query_id: Arc<str> = query_id.into();
        let bucket = self.buckets.entry(second).or_default();
        bucket.note_offset(Kind::Search, offset);
        if let Some(oldest) = oldest {
            bucket.note_offset(Kind::Feedback, oldest);
        }
        bucket.searches.push(Arc::clone(&query_id));
        if let Some(session) = session {
            let searched = (search.ts, Arc::clone(&query_id));
            self.sessions.add(session, searched);
        }
        self.searches.insert(query_id, Box::new(search));
    }

    /// Adds a user interaction to a session if its time is still open. An interaction that clock
    /// differences date before its search is not added, because the session is not known before the
    /// search is read. The search itself stands for it.
    fn add_interaction(
        &mut self,
        session: Option<u64>,
        searched: EventTime,
        record: &FeedbackRecord,
    ) {
        if let Some(session) = session
            && record.is_interaction()
            && record.ts >= searched
            && !self.is_closed(record.ts)
        {
            self.sessions.note(session, record.ts);
            let bucket = self.buckets.entry(Second::of(record.ts)).or_default();
            if bucket.sessions.last() != Some(&session) {
                bucket.sessions.push(session);
            }
        }
    }

    /// Adds a search that is [closed](Self::is_closed): a late one, or one that an earlier owner of
    /// the partition finalised. Returns the number of buffered feedback events of the search that
    /// must be counted as late.
    pub fn add_closed_search(&mut self, query_id: &str, search: &Pending, offset: i64) -> u64 {
        if self.is_expired(Second::of(search.ts)) {
            return 0;
        }
        let session = search.in_session.map(|(session, _)| session);
        let waiting = self.take_buffered(query_id, search.ts);
        for record in waiting.values() {
            self.add_interaction(session, search.ts, record);
        }
        let counted =
            |record: &&FeedbackRecord| !record.is_already_counted && (search.fresh || record.fresh);
        let late = waiting.values().filter(counted).count();
        let query_id: Arc<str> = query_id.into();
        if let Some(session) = session {
            let searched = (search.ts, Arc::clone(&query_id));
            self.sessions.add(session, searched);
        }
        self.closed
            .insert(query_id, search, search.fresh, Some(offset));
        u64::try_from(late).unwrap_or(u64::MAX)
    }

    /// Adds a feedback event of `query_id`.
    pub fn add_feedback(
        &mut self,
        query_id: &str,
        feedback: &Feedback<'_>,
        offset: i64,
        fresh: bool,
    ) -> JoinOutcome {
        let event = hash(&feedback.event_id);
        let record = self.feedback_record(feedback, fresh);
        let window = self.window;
        let open = self.searches.get_mut(query_id);
        if let Some(search) = open.filter(|search| belongs(record.ts, search.ts, window)) {
            let session = search.in_session.map(|(session, _)| session);
            let (variant, is_fresh, searched) = (search.variant, search.fresh, search.ts);
            let second = Second::of(searched);
            let was_late = record.is_already_counted && is_fresh;
            if !was_late && !search.add_feedback(event, &record) {
                return JoinOutcome::Duplicate;
            }
            self.add_interaction_at(session, searched, &record, offset);
            if was_late {
                return JoinOutcome::Late { first: false };
            }
            self.reactions += 1;
            let bucket = self.buckets.entry(second).or_default();
            bucket.note_offset(Kind::Feedback, offset);
            let first = fresh || is_fresh;
            return JoinOutcome::Joined { variant, first };
        }
        if let Some(closed) = self.closed.get(query_id)
            && belongs(record.ts, closed.ts, window)
        {
            let first = fresh || (closed.fresh && !record.is_already_counted);
            let session = closed.in_session.as_ref().map(|it| it.session);
            let searched = closed.ts;
            self.add_interaction_at(session, searched, &record, offset);
            return JoinOutcome::Late { first };
        }
        if self.is_closed(record.ts) && fresh {
            return JoinOutcome::Late { first: true };
        }
        let key: Arc<str> = match self.early.get_key_value(query_id) {
            Some((key, _)) => Arc::clone(key),
            None => query_id.into(),
        };
        let waiting = self.early.entry(Arc::clone(&key)).or_default();
        if waiting.contains_key(&event) {
            return JoinOutcome::Duplicate;
        }
        waiting.insert(event, record);
        self.waiting += usize::from(!record.is_already_counted);
        let bucket = self.buckets.entry(self.bucket_of(&record)).or_default();
        bucket.note_offset(Kind::Feedback, offset);
        bucket.early.push(key);
        JoinOutcome::Waiting
    }

    /// Adds a feedback event on a whole session. The owner of the partition counts it when it
    /// closes its second.
    pub fn add_session_feedback(
        &mut self,
        session_id: &str,
        feedback: &Feedback<'_>,
        offset: i64,
        fresh: bool,
    ) -> JoinOutcome {
        if self.is_closed(feedback.ts) {
            return JoinOutcome::Late { first: fresh };
        }
        let session = hash(session_id);
        let record = self.feedback_record(feedback, fresh);
        if !self
            .sessions
            .add_feedback(session, hash(&feedback.event_id), record)
        {
            return JoinOutcome::Duplicate;
        }
        self.waiting += 1;
        let bucket = self.buckets.entry(Second::of(record.ts)).or_default();
        bucket.note_offset(Kind::Feedback, offset);
        bucket.sessions.push(session);
        JoinOutcome::Waiting
    }

    /// Returns the record that the join keeps of a feedback event.
    fn feedback_record(&self, feedback: &Feedback<'_>, fresh: bool) -> FeedbackRecord {
        FeedbackRecord {
            action: feedback.action,
            fresh,
            // An earlier owner has counted the event, as joined or as late. Its search determines
            // which.
            is_already_counted: self.is_closed(feedback.ts) && !fresh,
            position: feedback.position,
            object: feedback.object_id.as_deref().map(hash),
            ts: feedback.ts,
        }
    }

    /// Adds an interaction as [`add_interaction`](Self::add_interaction) does, and registers the
    /// offset of its record as needed by its second.
    fn add_interaction_at(
        &mut self,
        session: Option<u64>,
        searched: EventTime,
        record: &FeedbackRecord,
        offset: i64,
    ) {
        self.add_interaction(session, searched, record);
        if session.is_some()
            && let Some(bucket) = self.buckets.get_mut(&Second::of(record.ts))
        {
            bucket.note_offset(Kind::Feedback, offset);
        }
    }

    /// Closes every second before `frontier`.
    pub fn close_before(&mut self, frontier: Second) -> ClosedEvents {
        let mut closed = ClosedEvents::default();
        while let Some(entry) = self.buckets.first_entry() {
            if *entry.key() >= frontier {
                break;
            }
            let (second, bucket) = entry.remove_entry();
            self.close(second, bucket, &mut closed);
        }
        self.frontier = self.frontier.max(frontier);
        while let Some(second) = self.closed.oldest()
            && self.is_expired(second)
        {
            self.drop_oldest_closed();
        }
        closed
    }

    /// Returns the number of closed searches retained.
    pub fn closed_search_count(&self) -> usize {
        self.closed.len()
    }

    /// Drops the oldest second of closed searches. Returns the number of searches dropped.
    pub fn drop_oldest_closed(&mut self) -> usize {
        self.closed.drop_oldest_closed(&mut self.sessions)
    }

    /// Returns true if no open feedback can belong to a search of this second.
    fn is_expired(&self, second: Second) -> bool {
        let window = self.window.0.div_euclid(1_000) + 1;
        second.0.saturating_add(window) < self.frontier.0
    }

    /// Closes the oldest non-empty second, regardless of its feedback window.
    pub fn close_oldest(&mut self) -> ClosedEvents {
        let oldest = self.oldest();
        oldest.map_or_else(ClosedEvents::default, |oldest| {
            self.close_before(Second(oldest.0 + 1))
        })
    }

    /// Returns the oldest non-empty second.
    pub fn oldest(&self) -> Option<Second> {
        self.buckets.keys().next().copied()
    }

    /// Returns the lowest offset of the topic that is needed to rebuild this join; `None` if no
    /// records are needed.
    pub fn oldest_offset(&self, kind: Kind) -> Option<i64> {
        let open = self.buckets.values();
        let open = open.filter_map(|bucket| bucket.oldest[kind.index()]).min();
        match kind {
            Kind::Search => min_some(open, self.closed.oldest_offset()),
            Kind::Feedback => open,
        }
    }

    /// Returns the summary of the feedback on an open search and its session.
    fn react(&self, query_id: &str, search: &Pending) -> FeedbackSummary {
        // Later events are ignored, because the time at which the second is closed determines which
        // of them are known.
        let end = search.ts.plus(self.window);
        let session = search.in_session.map(|(session, query)| {
            let mut following = self.sessions.following(session, search.ts, query_id, end);
            let next = following.find(|(_, next)| {
                let next = self.searches.get(next);
                next.is_none_or(|next| !next.has_query(query) && !self.share_click(search, next))
            });
            let after = next.map(|(ts, _)| pending::seconds(ts.since(search.ts)));
            let is_reformulated = search.has_reformulation();
            let mut later = self.sessions.following(session, search.ts, query_id, end);
            SessionContext {
                reformulated_after: if is_reformulated { Some(0.0) } else { after },
                is_last: later.next().is_none(),
                is_praised: self.sessions.is_praised(session, search.ts, end),
            }
        });
        search.react(end, session, |at| {
            let (session, _) = search.in_session?;
            self.sessions.next_interaction(session, at)
        })
    }

    /// Returns true if a result clicked in `search` was also clicked in `next`, by the end of the
    /// feedback window of `search`.
    fn share_click(&self, search: &Pending, next: &Pending) -> bool {
        let end = search.ts.plus(self.window);
        let clicked: Vec<u64> = search.clicked_until(end).collect();
        next.clicked_until(end)
            .any(|document| clicked.contains(&document))
    }

    fn close(&mut self, second: Second, bucket: Bucket, closed: &mut ClosedEvents) {
        // All summaries are made before any search is removed, because they refer to each other's
        // searches.
        let summaries: Vec<Option<FeedbackSummary>> = bucket
            .searches
            .iter()
            .map(|query_id| Some(self.react(query_id, self.searches.get(query_id)?)))
            .collect();
        for (query_id, summary) in bucket.searches.into_iter().zip(summaries) {
            if let (Some(search), Some(summary)) = (self.searches.remove(&query_id), summary) {
                self.reactions -= search.feedback_count();
                // The search is counted by now, here or by an earlier owner.
                let fresh = false;
                let oldest = bucket.oldest[Kind::Search.index()];
                self.closed.insert(query_id, &search, fresh, oldest);
                closed.searches.push((*search, summary));
            }
        }
        let mut sessions = bucket.sessions;
        sessions.sort_unstable();
        sessions.dedup();
        for session in sessions {
            for (record, search) in self.sessions.close(session, second, self.window) {
                self.waiting -= 1;
                let search = search.and_then(|(_, query_id)| self.closed.get(&query_id));
                let Some(attribution) = search.and_then(|search| search.in_session.as_ref()) else {
                    closed.orphaned += 1;
                    continue;
                };
                closed.session_feedback.push(SessionFeedback {
                    feedback: record,
                    ts: record.ts,
                    variant: attribution.variant,
                    series: Arc::clone(&attribution.series),
                });
            }
        }
        for query_id in bucket.early {
            // The feedback was joined, or was removed by an earlier entry of the same query.
            let Some(waiting) = self.early.get_mut(&query_id) else {
                continue;
            };
            let expired = waiting.extract_if(.., |_, record| Second::of(record.ts) <= second);
            let orphaned = expired
                .filter(|(_, record)| !record.is_already_counted)
                .count();
            if waiting.is_empty() {
                self.early.remove(&query_id);
            }
            self.waiting -= orphaned;
            closed.orphaned += u64::try_from(orphaned).unwrap_or(u64::MAX);
        }
    }
}

/// Returns true if feedback at time `feedback` belongs to a search at time `search`. The distance
/// is symmetric, because clocks differ, and because feedback waits for its search as long as a
/// search waits for its feedback.
fn belongs(feedback: EventTime, search: EventTime, window: Millis) -> bool {
    let distance = feedback.since(search);
    distance.max(Millis(-distance.0)) <= window
}

fn min_some(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}

/// Hashes an id without a random key, because the state of an engine follows from its inputs alone.
/// An id is compared only with the few ids of one search: at 64 bits an accidental collision is
/// negligible, and a deliberate one affects only its own search.
pub(super) fn hash(id: &str) -> u64 {
    let mut hasher = FxHasher::default();
    id.hash(&mut hasher);
    hasher.finish()
}
