//! Searches that wait for their feedback, and feedback that waits for its search.
//!
//! One join belongs to one partition. It is organised by seconds of event time: a second is closed
//! as a whole once the watermark has passed it by the feedback window, and the first second that
//! is still open is the *frontier*. What is older than the frontier is late, whatever it is; that
//! one number therefore says which searches were finalised, also to whoever takes the partition
//! over.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::engine::registry::{Label, Series};
use crate::event::{Action, Feedback, Kind};
use crate::measure::people::Reaction;
use crate::time::EventTime;

/// A second of event time: seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
            Action::Impression
            | Action::Dwell { .. }
            | Action::Rating { .. }
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
    position: Option<u32>,
    object: Option<u64>,
    second: Second,
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

/// The join of one partition.
#[derive(Debug)]
pub struct Join {
    searches: HashMap<Arc<str>, Pending>,
    early: HashMap<Arc<str>, BTreeMap<u64, Said>>,
    waiting: usize,
    reactions: usize,
    buckets: BTreeMap<Second, Bucket>,
    frontier: Second,
}

impl Join {
    /// An empty join in which everything before `frontier` is closed.
    pub fn new(frontier: Option<Second>) -> Self {
        Self {
            searches: HashMap::new(),
            early: HashMap::new(),
            waiting: 0,
            reactions: 0,
            buckets: BTreeMap::new(),
            frontier: frontier.unwrap_or(Second(i64::MIN)),
        }
    }

    /// The first second that is still open; `None` when nothing was closed yet.
    pub fn frontier(&self) -> Option<Second> {
        (self.frontier.0 > i64::MIN).then_some(self.frontier)
    }

    /// Whether the window of an event of time `at` has passed.
    pub fn is_closed(&self, at: EventTime) -> bool {
        Second::of(at) < self.frontier
    }

    /// Whether a search of this id is pending.
    pub fn contains(&self, query_id: &str) -> bool {
        self.searches.contains_key(query_id)
    }

    /// Pending searches and waiting feedback events, in the order of [`Kind::index`].
    pub fn pending(&self) -> [usize; 2] {
        [self.searches.len(), self.waiting]
    }

    /// How many events are held: what memory grows with.
    pub fn load(&self) -> usize {
        self.searches.len() + self.waiting + self.reactions
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
        let bucket = self.buckets.entry(second).or_default();
        bucket.note(Kind::Search, offset);
        if let Some(early) = self.early.remove(query_id) {
            self.waiting -= early.len();
            let mut oldest = None;
            for (event, said) in early {
                oldest = min_some(
                    oldest,
                    self.buckets.get(&said.second).and_then(|b| b.oldest[1]),
                );
                if search.react(event, &said) {
                    self.reactions += 1;
                    if search.fresh || said.fresh {
                        joined(&said);
                    }
                }
            }
            if let (Some(oldest), Some(bucket)) = (oldest, self.buckets.get_mut(&second)) {
                bucket.note(Kind::Feedback, oldest);
            }
        }
        let query_id: Arc<str> = query_id.into();
        if let Some(bucket) = self.buckets.get_mut(&second) {
            bucket.searches.push(Arc::clone(&query_id));
        }
        self.searches.insert(query_id, search);
    }

    /// Adds a feedback event of `query_id` that is not [closed](Self::is_closed).
    pub fn add_feedback(
        &mut self,
        query_id: &str,
        feedback: &Feedback<'_>,
        offset: i64,
        fresh: bool,
    ) -> Fate {
        let event = hash(&feedback.event_id);
        let second = Second::of(feedback.ts);
        let said = Said {
            action: feedback.action,
            fresh,
            position: feedback.position,
            object: feedback.object_id.as_deref().map(hash),
            second,
        };
        if let Some(search) = self.searches.get_mut(query_id) {
            if !search.react(event, &said) {
                return Fate::Duplicate;
            }
            self.reactions += 1;
            let first = fresh || search.fresh;
            let variant = search.variant;
            let home = Second::of(search.ts);
            self.buckets
                .entry(home)
                .or_default()
                .note(Kind::Feedback, offset);
            return Fate::Joined { variant, first };
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
        self.waiting += 1;
        let bucket = self.buckets.entry(second).or_default();
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
        closed
    }

    /// Closes the oldest second that holds anything, whether or not its window has passed.
    pub fn close_oldest(&mut self) -> Closed {
        let oldest = self.buckets.keys().next().copied();
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
        self.buckets
            .values()
            .filter_map(|bucket| bucket.oldest[kind.index()])
            .min()
    }

    fn close(&mut self, second: Second, bucket: Bucket, closed: &mut Closed) {
        for query_id in bucket.searches {
            if let Some(search) = self.searches.remove(&query_id) {
                self.reactions -= search.events.len();
                closed.searches.push(search);
            }
        }
        for query_id in bucket.early {
            // Joined since, or closed by an earlier entry of the same query.
            let Some(waiting) = self.early.get_mut(&query_id) else {
                continue;
            };
            let before = waiting.len();
            waiting.retain(|_, said| said.second > second);
            let orphaned = before - waiting.len();
            if waiting.is_empty() {
                self.early.remove(&query_id);
            }
            self.waiting -= orphaned;
            closed.orphaned += u64::try_from(orphaned).unwrap_or(u64::MAX);
        }
    }
}

fn min_some(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}

/// A hash that is the same in every process. Ids are compared only with the few of one search, so
/// 64 bits leave no room for accidents, and a chosen collision harms only its own search.
fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
