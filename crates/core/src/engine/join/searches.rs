//! Searches of one partition, pending and closed, as fixed-size entries.
//!
//! A closed search is retained, because feedback on it may still arrive, and because feedback on a
//! session is attributed to its last search.

use std::cell::Cell;
use std::sync::Arc;

use super::by_id::{ById, SLOT_BYTES};
use super::feedback::Facts;
use super::feedback::{List, Target};
use super::pool::{Number, Pool};
use super::reading::Reading;
use crate::engine::correlation::Level;
use crate::engine::id::Id;
use crate::engine::segment::Segment;
use crate::engine::series::Label;
use crate::engine::units::CountedBucket;
use crate::gold::{GoldQuery, GoldSet, QueryIndex};
use crate::time::EventTime;

/// Gold query of a search, in the gold set of the time at which the search was read.
///
/// The outer reference count belongs to one worker. Counting in that of the shared set would make
/// the workers wait for each other.
#[derive(Clone, Debug)]
pub(crate) struct GoldReference {
    /// Gold set.
    #[allow(clippy::redundant_allocation, reason = "see above")]
    pub set: Arc<Arc<GoldSet>>,
    /// Index of the query in the set.
    pub query: QueryIndex,
}

impl GoldReference {
    /// Returns the gold query.
    pub(crate) fn query(&self) -> &GoldQuery {
        self.set.query(self.query)
    }
}

/// Teams of a ranking that combines two or more rankings by team-draft interleaving.
#[derive(Clone, Debug)]
pub(crate) struct Teams {
    pub experiment: Label,
    /// Team of each result, in served order; empty for a result without a team.
    pub of_results: Box<[Label]>,
}

/// Part of a search in experiments: its place among the units, and its interleaved rankings.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// Bucket that counts the scores of the search.
    pub bucket: Option<CountedBucket>,
    /// Teams, if rankings are interleaved.
    pub teams: Option<Teams>,
}

/// Served results and their levels: hashes of the document ids in served order, then the levels
/// of the ranking measures, in one allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Served {
    pub(super) words: Box<[u64]>,
    results: u32,
}

impl Served {
    /// Packs hashes of documents and levels. Takes the place of `spare` if it is as long.
    pub(crate) fn new(
        documents: impl ExactSizeIterator<Item = u64>,
        levels: &[Level],
        spare: Option<Self>,
    ) -> Self {
        let results = documents.len();
        let length = results + levels.len().div_ceil(4);
        let spare = spare.map(|spare| spare.words);
        let spare = spare.filter(|words| words.len() == length);
        let mut words = spare.unwrap_or_else(|| vec![0; length].into_boxed_slice());
        let packed = documents.chain(levels.chunks(4).map(Level::pack));
        for (word, packed) in words.iter_mut().zip(packed) {
            *word = packed;
        }
        Self {
            words,
            results: u32::try_from(results).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn results(&self) -> usize {
        self.results as usize
    }

    /// Hashes of the served document ids, in served order.
    pub(crate) fn documents(&self) -> &[u64] {
        self.words.get(..self.results()).unwrap_or_default()
    }

    /// Levels of the ranking measures. The last ones may be additional levels without a score.
    pub(crate) fn levels(&self) -> impl Iterator<Item = Level> + Clone {
        let words = self.words.get(self.results()..).unwrap_or_default();
        words.iter().flat_map(|word| Level::unpack(*word))
    }

    /// Approximate bytes held.
    fn bytes(&self) -> usize {
        match self.words.len() {
            0 => 0,
            words => words * size_of::<u64>() + 16,
        }
    }
}

/// Position of a search among the searches of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Time at which the results were served.
    pub ts: EventTime,
    /// First bytes of the id. They decide between searches of one millisecond.
    order: u64,
    id: Id,
}

impl Place {
    /// Returns the place of a search with this id, as a text and as its hash, and this time.
    pub(crate) fn new(text: &str, id: Id, ts: EventTime) -> Self {
        let mut first = [0; 8];
        for (byte, of_id) in first.iter_mut().zip(text.bytes()) {
            *byte = of_id;
        }
        Self {
            ts,
            order: u64::from_be_bytes(first),
            id,
        }
    }

    /// Id of the search.
    pub(crate) fn id(&self) -> Id {
        self.id
    }
}

/// Search as it enters the join.
#[derive(Debug)]
pub(crate) struct NewSearch {
    /// Id and time.
    pub place: Place,
    /// Relation to what was counted before.
    pub reading: Reading,
    pub session: Option<Id>,
    /// Hash of the normalised query.
    pub query: u64,
    /// Variant and series.
    pub segment: Arc<Segment>,
    /// Gold query.
    pub gold: Option<GoldReference>,
    /// Results and levels.
    pub served: Served,
    /// Part of the search in experiments.
    pub trial: Option<Box<Trial>>,
}

/// State of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its feedback window has not passed, or its feedback is not yet counted.
    Pending,
    /// Its feedback is counted, that of other searches of its second is not.
    Counted,
    /// It is retained.
    Closed,
}

/// Search of the join: what is needed of a closed one, in one cache line, and the details of any other
/// one.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) segment: Arc<Segment>,
    /// `None` from the time at which its feedback was counted and its second closed.
    pub(super) details: Option<Box<Details>>,
    pub(super) feedback: List,
    /// Session; `NONE` without one.
    pub(super) session: Number,
    pub(super) reading: Reading,
    pub(super) state: State,
}

/// Half of the searches are closed in a steady state: their size decides about the memory.
const _: () = assert!(size_of::<Option<Entry>>() == 64);

/// Details of a search until its second is closed.
#[derive(Debug, Default)]
pub(super) struct Details {
    /// Hash of the normalised query.
    query: u64,
    gold: Option<GoldReference>,
    pub(super) served: Served,
    trial: Option<Box<Trial>>,
    /// True if its session had reached its limit of searches.
    pub(super) is_beyond_session: bool,
}

impl Details {
    /// Approximate bytes held.
    fn bytes(&self) -> usize {
        size_of::<Self>() + 8 + self.served.bytes()
    }
}

/// Parts of a search that are needed to count its feedback.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Time at which the results were served.
    pub ts: EventTime,
    /// Variant and series.
    pub segment: Arc<Segment>,
    /// Gold query.
    pub gold: Option<GoldReference>,
    /// Results and levels.
    pub served: Served,
    /// Part of the search in experiments.
    pub trial: Option<Box<Trial>>,
    /// True if its session had reached its limit of searches. It is counted without a session.
    pub is_beyond_session: bool,
}

impl Entry {
    /// Returns true if both searches are for the same query.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        let details = self.details.as_ref().zip(other.details.as_ref());
        details.is_some_and(|(details, others)| details.query == others.query)
    }

    /// Returns the result that a record refers to, and the hash of its document; the document that
    /// the record states if it was not served.
    pub(super) fn target(&self, facts: &Facts) -> (Target, u64) {
        let details = self.details.as_ref();
        let documents = details.map_or(&[][..], |it| it.served.documents());
        let stated = usize::try_from(facts.position).ok();
        let stated = stated.and_then(|position| position.checked_sub(1));
        let stated = stated.filter(|index| *index < documents.len());
        let index = if facts.document == 0 {
            stated
        } else {
            // A document may occur at several indexes. Only the record states which one was
            // clicked.
            stated
                .filter(|index| documents[*index] == facts.document)
                .or_else(|| documents.iter().position(|it| *it == facts.document))
        };
        match index {
            Some(index) => {
                let number = u32::try_from(index).unwrap_or(u32::MAX);
                (Target::Result(number), documents[index])
            }
            None if facts.document == 0 && facts.position == 0 => (Target::NotStated, 0),
            None => (Target::NotServed, facts.document),
        }
    }
}

/// Approximate bytes of a search without its details, with its share of the tables.
pub(super) const ENTRY_BYTES: usize = size_of::<Entry>() + SLOT_BYTES + 20;

/// Searches by number and by id.
#[derive(Debug, Default)]
pub(super) struct Searches {
    pub(super) entries: Pool<Entry>,
    pub(super) by_id: ById,
    /// Number of searches whose feedback is not yet counted.
    pub(super) pending: usize,
    /// Number of other searches.
    pub(super) closed: usize,
    bytes: usize,
}

impl Searches {
    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns a search; `None` if it was removed.
    pub(super) fn get(&self, number: Number) -> Option<&Entry> {
        self.entries.get(number)
    }

    /// Returns a search; `None` if it was removed.
    pub(super) fn get_mut(&mut self, number: Number) -> Option<&mut Entry> {
        self.entries.get_mut(number)
    }

    /// Returns the place of a search that has not been removed.
    pub(super) fn place(&self, number: Number) -> Place {
        let entry = self.entries.get(number);
        entry.expect("invariant: a session lists only searches that exist, and is updated first when one is removed").place
    }

    /// Returns a search with this id that `is_meant` accepts.
    pub(super) fn find(&self, id: Id, is_meant: impl Fn(&Entry) -> bool) -> Option<Number> {
        self.by_id.find(id, |number| {
            let entry = self.entries.get(number);
            entry.is_some_and(|entry| entry.place.id == id && is_meant(entry))
        })
    }

    /// Returns the search with this id that has the lowest rank of those with a rank.
    pub(super) fn find_best<R: Ord + Copy>(
        &self,
        id: Id,
        rank: impl Fn(&Entry) -> Option<R>,
    ) -> Option<Number> {
        let best = Cell::new(None::<(R, Number)>);
        // More than one search has an id only if a client uses ids again.
        self.by_id.find(id, |number| {
            let entry = self.entries.get(number);
            let entry = entry.filter(|entry| entry.place.id == id);
            if let Some(rank) = entry.and_then(&rank)
                && best.get().is_none_or(|(known, _)| rank < known)
            {
                best.set(Some((rank, number)));
            }
            false
        });
        best.get().map(|(_, number)| number)
    }

    /// Adds a search. Its session is set later.
    pub(super) fn insert(&mut self, search: NewSearch, state: State) -> Number {
        let NewSearch {
            place,
            reading,
            session: _,
            query,
            segment,
            gold,
            served,
            trial,
        } = search;
        let details = Details {
            query,
            gold,
            served,
            trial,
            is_beyond_session: false,
        };
        self.bytes += ENTRY_BYTES + details.bytes();
        match state {
            State::Pending => self.pending += 1,
            State::Counted | State::Closed => self.closed += 1,
        }
        let number = self.entries.insert(Entry {
            place,
            segment,
            details: Some(Box::new(details)),
            feedback: List::default(),
            session: Number::NONE,
            reading,
            state,
        });
        let entries = &self.entries;
        let id_of = |number| entries.get(number).map(|it| it.place.id);
        self.by_id.insert(place.id, number, id_of);
        number
    }

    /// Takes the parts of a search that are needed to count its feedback. It remains for the other
    /// searches of its second.
    pub(super) fn take_parts(&mut self, number: Number) -> Option<Parts> {
        let entry = self.entries.get_mut(number)?;
        let details = entry.details.as_mut()?;
        let parts = Parts {
            ts: entry.place.ts,
            segment: Arc::clone(&entry.segment),
            gold: details.gold.take(),
            served: std::mem::take(&mut details.served),
            trial: details.trial.take(),
            is_beyond_session: details.is_beyond_session,
        };
        self.bytes -= parts.served.bytes();
        if entry.state == State::Pending {
            entry.state = State::Counted;
            self.pending -= 1;
            self.closed += 1;
        }
        Some(parts)
    }

    /// Closes a search whose feedback is counted, here or by an earlier owner. It is retained without
    /// its feedback, which the caller releases, and without details.
    pub(super) fn close(&mut self, number: Number) {
        let Some(entry) = self.entries.get_mut(number) else {
            return;
        };
        entry.state = State::Closed;
        entry.reading = Reading::Again;
        let details = entry.details.take();
        self.bytes -= details.map_or(0, |details| details.bytes());
    }

    /// Removes a search that is not pending.
    pub(super) fn remove(&mut self, number: Number) {
        let Some(entry) = self.entries.remove(number) else {
            return;
        };
        self.by_id.remove(entry.place.id, number);
        let details = entry.details.map_or(0, |details| details.bytes());
        self.bytes -= ENTRY_BYTES + details;
        self.closed -= 1;
    }
}
