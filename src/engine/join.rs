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

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::engine::registry::{Label, Series};
use crate::event::{Action, Feedback, Kind};
use crate::measure::people::Reaction;
use crate::time::{EventTime, Millis};

/// A second of event time: seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Second(pub i64);

impl Second {
    /// The second that contains `at`.
    pub fn of(at: EventTime) -> Self {
        Self(at.0.div_euclid(1_000))
    }
}

/// A search that waits until its feedback window has passed.
#[derive(Clone, Debug)]
pub struct Pending {
    /// When its results were served.
    pub ts: EventTime,
    /// Whether the gold set knew its query.
    pub judged: bool,
    /// The system version that served it.
    pub variant: Label,
    /// The series that its scores belong to.
    pub series: Box<[Series]>,
    /// Whether it was counted here; `false` for one that an earlier owner of the partition counted.
    pub fresh: bool,
    /// Hashes of the served ids, in served order.
    documents: Box<[u64]>,
    click_positions: Vec<u32>,
    clicks: u32,
    conversions: u32,
    thumbs_up: u32,
    thumbs_down: u32,
    positive_ratings: u32,
    /// Hashes of the ids of its feedback.
    events: BTreeSet<u64>,
}

impl Pending {
    /// A search that nobody has reacted to yet.
    pub fn new<'a>(
        ts: EventTime,
        judged: bool,
        variant: Label,
        series: &[Series],
        fresh: bool,
        documents: impl Iterator<Item = &'a str>,
    ) -> Self {
        Self {
            ts,
            judged,
            variant,
            series: series.into(),
            fresh,
            documents: documents.map(hash).collect(),
            click_positions: Vec::new(),
            clicks: 0,
            conversions: 0,
            thumbs_up: 0,
            thumbs_down: 0,
            positive_ratings: 0,
            events: BTreeSet::new(),
        }
    }

    /// What people did with it so far.
    pub fn reaction(&self) -> Reaction<'_> {
        Reaction {
            results: self.documents.len(),
            click_positions: &self.click_positions,
            clicks: self.clicks,
            conversions: self.conversions,
            thumbs_up: self.thumbs_up,
            thumbs_down: self.thumbs_down,
            positive_ratings: self.positive_ratings,
        }
    }

    /// Applies feedback; `false` when it was applied before.
    fn react(&mut self, event: u64, said: &Said) -> bool {
        if !self.events.insert(event) {
            return false;
        }
        match said.action {
            Action::Click => {
                self.clicks += 1;
                self.click_positions
                    .extend(said.position.or_else(|| self.position_of(said.object?)));
            }
            Action::Conversion => self.conversions += 1,
            Action::Thumbs { up: true } => self.thumbs_up += 1,
            Action::Thumbs { up: false } => self.thumbs_down += 1,
            Action::Rating { value, min, max } => {
                self.positive_ratings += u32::from(value > f64::midpoint(min, max));
            }
            Action::Impression
            | Action::Dwell { .. }
            | Action::Judgment { .. }
            | Action::Reformulation
            | Action::Comment
            | Action::Custom => {}
        }
        true
    }

    fn position_of(&self, object: u64) -> Option<u32> {
        let index = self
            .documents
            .iter()
            .position(|document| *document == object)?;
        u32::try_from(index + 1).ok()
    }
}

/// What the join keeps of a feedback event.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// What happened.
    pub action: Action,
    /// Whether it was received here for the first time.
    fresh: bool,
    /// Whether an earlier owner of the partition has counted it for certain.
    settled: bool,
    position: Option<u32>,
    object: Option<u64>,
    ts: EventTime,
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
    /// Searches whose feedback window has passed.
    pub searches: Vec<Pending>,
    /// Feedback events whose search never came.
    pub orphaned: u64,
}

#[derive(Debug, Default)]
struct Bucket {
    searches: Vec<Arc<str>>,
    early: Vec<Arc<str>>,
    /// Lowest offset, by topic, of the records that belong to this second's searches and waits.
    oldest: [Option<i64>; 2],
}

impl Bucket {
    fn note(&mut self, kind: Kind, offset: i64) {
        let oldest = &mut self.oldest[kind.index()];
        *oldest = Some(oldest.map_or(offset, |known| known.min(offset)));
    }
}

/// A search that is closed, and whose feedback may still be read.
#[derive(Clone, Copy, Debug)]
struct Remembered {
    ts: EventTime,
    fresh: bool,
}

/// The closed searches of one second.
#[derive(Debug, Default)]
struct Memory {
    searches: Vec<Arc<str>>,
    /// Their lowest offset.
    oldest: Option<i64>,
}

/// The join of one partition.
#[derive(Debug)]
pub struct Join {
    window: Millis,
    searches: HashMap<Arc<str>, Pending>,
    early: HashMap<Arc<str>, BTreeMap<u64, Said>>,
    waiting: usize,
    reactions: usize,
    buckets: BTreeMap<Second, Bucket>,
    closed: HashMap<Arc<str>, Remembered>,
    memories: BTreeMap<Second, Memory>,
    frontier: Second,
}

impl Join {
    /// An empty join in which everything before `frontier` is closed, and in which feedback
    /// belongs to a search up to `window` after it.
    pub fn new(window: Millis, frontier: Option<Second>) -> Self {
        Self {
            window,
            searches: HashMap::new(),
            early: HashMap::new(),
            waiting: 0,
            reactions: 0,
            buckets: BTreeMap::new(),
            closed: HashMap::new(),
            memories: BTreeMap::new(),
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
        let mut oldest = None;
        for (event, said) in self.take_waiting(query_id, search.ts) {
            // What was settled as late, before this search was first read, stays late.
            if said.settled && search.fresh {
                continue;
            }
            let bucket = self.buckets.get(&self.bucket_of(&said));
            oldest = min_some(oldest, bucket.and_then(|bucket| bucket.oldest[1]));
            if search.react(event, &said) {
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
        self.searches.insert(query_id, search);
    }

    /// Adds a search that is [closed](Self::is_closed): one that came late, or was finalised by an
    /// earlier owner of the partition. Returns how many feedback events waited for it, and are late
    /// and to be counted.
    pub fn add_closed_search(
        &mut self,
        query_id: &str,
        ts: EventTime,
        offset: i64,
        fresh: bool,
    ) -> u64 {
        if self.is_forgotten(Second::of(ts)) {
            return 0;
        }
        let waiting = self.take_waiting(query_id, ts);
        let counted = |said: &&Said| !said.settled && (fresh || said.fresh);
        let late = waiting.values().filter(counted).count();
        self.remember(query_id.into(), Remembered { ts, fresh }, Some(offset));
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
        let is_closed = self.is_closed(feedback.ts);
        let said = Said {
            action: feedback.action,
            fresh,
            // An earlier owner has counted it, as joined or as late; its search tells which.
            settled: is_closed && !fresh,
            position: feedback.position,
            object: feedback.object_id.as_deref().map(hash),
            ts: feedback.ts,
        };
        let window = self.window;
        let open = self.searches.get_mut(query_id);
        if let Some(search) = open.filter(|search| belong(said.ts, search.ts, window)) {
            if said.settled && search.fresh {
                return Fate::Late { first: false };
            }
            if !search.react(event, &said) {
                return Fate::Duplicate;
            }
            self.reactions += 1;
            let first = fresh || search.fresh;
            let variant = search.variant;
            let home = Second::of(search.ts);
            let bucket = self.buckets.entry(home).or_default();
            bucket.note(Kind::Feedback, offset);
            return Fate::Joined { variant, first };
        }
        if let Some(closed) = self.closed.get(query_id)
            && belong(said.ts, closed.ts, window)
        {
            let first = fresh || (closed.fresh && !said.settled);
            return Fate::Late { first };
        }
        if is_closed && fresh {
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
        while let Some(entry) = self.memories.first_key_value()
            && self.is_forgotten(*entry.0)
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
        let before = self.closed.len();
        if let Some((_, memory)) = self.memories.pop_first() {
            for query_id in memory.searches {
                self.closed.remove(&query_id);
            }
        }
        before - self.closed.len()
    }

    /// Whether no open feedback can belong to a search of this second any more.
    fn is_forgotten(&self, second: Second) -> bool {
        let window = self.window.0.div_euclid(1_000) + 1;
        second.0.saturating_add(window) < self.frontier.0
    }

    fn remember(&mut self, query_id: Arc<str>, search: Remembered, offset: Option<i64>) {
        let memory = self.memories.entry(Second::of(search.ts)).or_default();
        memory.oldest = min_some(memory.oldest, offset);
        memory.searches.push(Arc::clone(&query_id));
        self.closed.entry(query_id).or_insert(search);
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
        let closed = self.memories.values().filter_map(|memory| memory.oldest);
        match kind {
            Kind::Search => min_some(open, closed.min()),
            Kind::Feedback => open,
        }
    }

    fn close(&mut self, second: Second, bucket: Bucket, closed: &mut Closed) {
        for query_id in bucket.searches {
            if let Some(search) = self.searches.remove(&query_id) {
                self.reactions -= search.events.len();
                let remembered = Remembered {
                    ts: search.ts,
                    // It has been counted by now, whoever counted it first.
                    fresh: false,
                };
                self.remember(query_id, remembered, bucket.oldest[Kind::Search.index()]);
                closed.searches.push(search);
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
fn hash(id: &str) -> u64 {
    let mut hasher = FxHasher::default();
    id.hash(&mut hasher);
    hasher.finish()
}
