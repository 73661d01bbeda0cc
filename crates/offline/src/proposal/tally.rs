//! What people did with each document of each query, counted.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{FeedbackFacts, SATISFIED_MS, SearchFacts};
use rankgauge_core::event::{Action, Feedback, Search};
use rankgauge_core::gold::{GoldSet, Grade, QueryIndex, normalised};
use rankgauge_core::ranking::JudgeBy;

/// Bytes that a tally may take, about: 512 MiB. That is enough for ten million searches, a million of
/// them with a reaction, of queries with half a million documents.
pub const ROOM: usize = 512 << 20;

/// What a search costs of it: its place in the set of those that were read.
const SEARCH: usize = 20;
/// What the first feedback event of a search costs: a list with room for some.
const LIST: usize = 208;
/// What a further one costs: its place in that list, and what lists keep free.
const REACTION: usize = 80;
/// What a query costs, and what a document, its id not counted.
const QUERY: usize = 320;
const DOCUMENT: usize = 192;

/// Which result somebody meant.
#[derive(Clone, Copy, Debug)]
enum Named {
    /// By the hash of its id.
    Document(u64),
    /// By its 1-based position.
    Position(u32),
}

/// What was said of a search.
#[derive(Clone, Debug)]
enum Said {
    Clicked(Named),
    Satisfied(Named),
    Converted(Named),
    /// From 0 to 1.
    Rated(Named, f64),
    Judged(Box<str>, Grade),
}

/// A feedback event that waits for its search.
#[derive(Debug)]
struct Reaction {
    event: u64,
    said: Said,
}

/// What people did with a document of a query.
#[derive(Debug, Default)]
pub(super) struct DocumentTally {
    pub(super) searches: u32,
    /// The sum of the positions at which it was served.
    pub(super) positions: f64,
    pub(super) clicks: u32,
    pub(super) satisfied: u32,
    pub(super) conversions: u32,
    /// Searches in which it was clicked, converted or rated.
    pub(super) reacted: u32,
    pub(super) ratings: u32,
    pub(super) rating_sum: f64,
    /// Grades given in production, and how often each.
    pub(super) grades: BTreeMap<Grade, u32>,
}

/// A query and its documents.
#[derive(Debug)]
pub(super) struct QueryTally {
    /// Which gold query it is.
    pub(super) gold: Option<QueryIndex>,
    pub(super) key: Option<String>,
    pub(super) text: Option<String>,
    pub(super) searches: u32,
    pub(super) documents: FxHashMap<Box<str>, DocumentTally>,
}

/// What a query is known by.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Name {
    Gold(QueryIndex),
    /// Its text, normalised.
    Text(String),
    /// Its key: searches of it have no text.
    Key(String),
}

impl Name {
    /// Its length in bytes.
    fn len(&self) -> usize {
        match self {
            Self::Gold(_) => 0,
            Self::Text(text) | Self::Key(text) => text.len(),
        }
    }
}

/// What people did, by query and document.
#[derive(Debug)]
pub struct Tally<'a> {
    pub(super) gold: &'a GoldSet,
    judge_by: JudgeBy,
    /// Bytes that are left.
    room: usize,
    waiting: FxHashMap<u64, Vec<Reaction>>,
    read: FxHashSet<u64>,
    numbers: FxHashMap<Name, usize>,
    pub(super) queries: Vec<QueryTally>,
    searches: SearchFacts,
    feedback: FeedbackFacts,
}

impl<'a> Tally<'a> {
    /// Nothing counted yet. `judge_by` says what a judged document is, and `room` about how many
    /// bytes may be taken; [`ROOM`] is a good choice.
    pub fn new(gold: &'a GoldSet, judge_by: JudgeBy, room: usize) -> Self {
        Self {
            gold,
            judge_by,
            room,
            waiting: FxHashMap::default(),
            read: FxHashSet::default(),
            numbers: FxHashMap::default(),
            queries: Vec::new(),
            searches: SearchFacts::default(),
            feedback: FeedbackFacts::default(),
        }
    }

    /// What became of the searches and the feedback. Feedback whose search was not read by now is
    /// orphaned.
    pub(super) fn facts(&self) -> (SearchFacts, FeedbackFacts) {
        let waiting: usize = self.waiting.values().map(Vec::len).sum();
        let mut feedback = self.feedback;
        feedback.orphaned = u64::try_from(waiting).unwrap_or(u64::MAX);
        (self.searches, feedback)
    }

    /// Takes so many bytes, if there are.
    fn take(room: &mut usize, bytes: usize) -> bool {
        let left = room.checked_sub(bytes);
        *room = left.unwrap_or(*room);
        left.is_some()
    }

    /// Takes a feedback event, for its search that is yet to come.
    pub fn feedback(&mut self, event: &Feedback<'_>) {
        self.feedback.read += 1;
        let (Some(query_id), Some(said)) = (&event.query_id, said(event)) else {
            self.feedback.no_use += 1;
            return;
        };
        let judged = match &said {
            Said::Judged(document, _) => document.len(),
            _ => 0,
        };
        let reaction = Reaction {
            event: hash(&event.event_id),
            said,
        };
        let id = hash(query_id);
        if let Some(waiting) = self.waiting.get_mut(&id) {
            if Self::take(&mut self.room, REACTION + judged) {
                waiting.push(reaction);
                return;
            }
        } else if Self::take(&mut self.room, LIST + judged) {
            self.waiting.insert(id, vec![reaction]);
            return;
        }
        self.feedback.left_out += 1;
    }

    /// Counts a search, with the feedback that waits for it.
    pub fn search(&mut self, search: &Search<'_>) {
        self.searches.read += 1;
        let id = hash(&search.query_id);
        if self.read.contains(&id) {
            self.searches.duplicate += 1;
            return;
        }
        if !Self::take(&mut self.room, SEARCH) {
            self.searches.left_out += 1;
            return;
        }
        self.read.insert(id);
        let mut reactions = self.waiting.remove(&id).unwrap_or_default();
        // Grades are kept, and so is the room that they take.
        let is_done_with = |reaction: &&Reaction| !matches!(reaction.said, Said::Judged(..));
        self.room += reactions.iter().filter(is_done_with).count() * REACTION;
        let received = reactions.len();
        // Of two with one id, the one that was read first.
        reactions.sort_by_key(|reaction| reaction.event);
        reactions.dedup_by_key(|reaction| reaction.event);
        let distinct = reactions.len();
        self.feedback.duplicate += u64::try_from(received - distinct).unwrap_or(u64::MAX);

        let Some(number) = self.number(search) else {
            self.searches.left_out += 1;
            self.feedback.left_out += u64::try_from(distinct).unwrap_or(u64::MAX);
            return;
        };
        let gold = self.gold;
        let Self {
            room,
            queries,
            searches,
            feedback,
            ..
        } = self;
        let Some(query) = queries.get_mut(number) else {
            return;
        };
        query.searches = query.searches.saturating_add(1);
        let gold_query = query.gold.map(|index| gold.query(index));
        match gold_query {
            Some(_) => searches.known += 1,
            None => searches.unknown += 1,
        }
        if gold_query.is_some_and(|query| query.by_text) {
            // Its results are judged by what they say; there are no documents to be judged.
            feedback.no_use += u64::try_from(distinct).unwrap_or(u64::MAX);
            return;
        }

        let served = Served::of(search, self.judge_by, !reactions.is_empty());
        let mut acts: BTreeMap<usize, Acts> = BTreeMap::new();
        let mut graded: Vec<(&str, Grade)> = Vec::new();
        for reaction in &reactions {
            let (named, act): (_, fn(&mut Acts)) = match &reaction.said {
                Said::Judged(of, grade) => {
                    let result = served.by_id.get(&hash(of));
                    let result = result.and_then(|at| served.documents.get(*at));
                    let document = result.copied().filter(|document| !document.is_empty());
                    graded.push((document.unwrap_or(of), *grade));
                    feedback.used += 1;
                    continue;
                }
                Said::Clicked(named) => (named, |acts| acts.clicked = true),
                Said::Satisfied(named) => (named, |acts| acts.satisfied = true),
                Said::Converted(named) => (named, |acts| acts.converted = true),
                Said::Rated(named, _) => (named, |acts| acts.ratings += 1),
            };
            let Some(result) = served.find(*named) else {
                feedback.not_served += 1;
                continue;
            };
            feedback.used += 1;
            let acts = acts.entry(result).or_default();
            act(acts);
            if let Said::Rated(_, rating) = reaction.said {
                acts.rating_sum += rating;
            }
        }

        let mut count = |document: &str, change: &dyn Fn(&mut DocumentTally)| {
            if let Some(known) = query.documents.get_mut(document) {
                change(known);
            } else if Self::take(room, DOCUMENT + document.len()) {
                change(query.documents.entry(document.into()).or_default());
            } else {
                searches.documents_left_out += 1;
            }
        };
        for (at, document) in served.documents.iter().enumerate() {
            let is_judged =
                |query: &rankgauge_core::gold::GoldQuery| query.judgements.find(document).is_some();
            if document.is_empty() || served.first(at) != at || gold_query.is_some_and(is_judged) {
                continue;
            }
            let acts = acts.get(&at).copied().unwrap_or_default();
            let position = f64::from(u32::try_from(at + 1).unwrap_or(u32::MAX));
            count(document, &|tally| acts.count(position, tally));
        }
        for (document, grade) in graded {
            count(document, &|tally| {
                let times = tally.grades.entry(grade).or_default();
                *times = times.saturating_add(1);
            });
        }
    }

    /// The number of a search's query, which may be new; `None` when there is no room for it.
    fn number(&mut self, search: &Search<'_>) -> Option<usize> {
        let (key, text) = (search.query_key.as_deref(), search.query.as_deref());
        let gold = self.gold.find(key, text);
        let name = match gold {
            Some(index) => Name::Gold(index),
            None => match text.map(normalised).filter(|text| !text.is_empty()) {
                Some(text) => Name::Text(text),
                None => Name::Key(key.unwrap_or_default().to_owned()),
            },
        };
        if let Some(number) = self.numbers.get(&name) {
            return Some(*number);
        }
        let known = gold.map(|index| self.gold.query(index));
        let (key, text) = match known {
            Some(query) => (Some(query.key.clone()), query.text.clone()),
            None => (key.map(str::to_owned), text.map(str::to_owned)),
        };
        let said = [key.as_ref(), text.as_ref()].into_iter().flatten();
        let bytes = said.map(String::len).sum::<usize>() + name.len();
        if !Self::take(&mut self.room, QUERY + bytes) {
            return None;
        }
        let number = self.queries.len();
        self.numbers.insert(name, number);
        self.queries.push(QueryTally {
            gold,
            key: key.filter(|key| !key.trim().is_empty()),
            text: text.filter(|text| !text.trim().is_empty()),
            searches: 0,
            documents: FxHashMap::default(),
        });
        Some(number)
    }
}

/// What a search served, for finding the results that people meant.
struct Served<'a> {
    /// The judged document of each result.
    documents: Vec<&'a str>,
    /// Where each document was served first.
    first: FxHashMap<&'a str, usize>,
    /// Where each id was served first, by its hash; the id of a result goes before that of its
    /// group. Empty when nobody asks.
    by_id: FxHashMap<u64, usize>,
}

impl<'a> Served<'a> {
    fn of(search: &'a Search<'_>, judge_by: JudgeBy, is_asked: bool) -> Self {
        let results = &search.results;
        let documents: Vec<&str> = results.iter().map(|hit| judge_by.document(hit)).collect();
        let mut first = FxHashMap::default();
        for (at, document) in documents.iter().enumerate() {
            first.entry(*document).or_insert(at);
        }
        let mut by_id = FxHashMap::default();
        if is_asked {
            for (at, hit) in results.iter().enumerate() {
                by_id.entry(hash(&hit.id)).or_insert(at);
            }
            for (at, document) in documents.iter().enumerate() {
                by_id.entry(hash(document)).or_insert(at);
            }
        }
        Self {
            documents,
            first,
            by_id,
        }
    }

    /// Where the document of the result at `at` was served first.
    fn first(&self, at: usize) -> usize {
        let document = self.documents.get(at);
        let first = document.and_then(|document| self.first.get(document));
        first.copied().unwrap_or(at)
    }

    /// The result that somebody meant; of a document that was served again, its first.
    fn find(&self, named: Named) -> Option<usize> {
        let at = match named {
            Named::Document(id) => *self.by_id.get(&id)?,
            Named::Position(position) => usize::try_from(position).ok()?.checked_sub(1)?,
        };
        (at < self.documents.len()).then(|| self.first(at))
    }
}

/// What people did with one result of one search.
#[derive(Clone, Copy, Debug, Default)]
struct Acts {
    clicked: bool,
    satisfied: bool,
    converted: bool,
    ratings: u32,
    rating_sum: f64,
}

impl Acts {
    /// Counts one search in which they did this.
    fn count(&self, position: f64, tally: &mut DocumentTally) {
        // Who looked at it for long has opened it, also where the click got lost.
        let clicked = self.clicked || self.satisfied;
        let reacted = clicked || self.converted || self.ratings > 0;
        tally.searches = tally.searches.saturating_add(1);
        tally.positions += position;
        tally.clicks = tally.clicks.saturating_add(clicked.into());
        tally.satisfied = tally.satisfied.saturating_add(self.satisfied.into());
        tally.conversions = tally.conversions.saturating_add(self.converted.into());
        tally.reacted = tally.reacted.saturating_add(reacted.into());
        tally.ratings = tally.ratings.saturating_add(self.ratings);
        tally.rating_sum += self.rating_sum;
    }
}

/// What an event says of a result; `None` where it says nothing of one.
fn said(event: &Feedback<'_>) -> Option<Said> {
    let object = event.object_id.as_deref();
    if let Action::Judgment { grade } = event.action {
        let document = object.filter(|document| !document.is_empty())?;
        return Some(Said::Judged(document.into(), Grade::new(grade)?));
    }
    let position = event.position.map(Named::Position);
    let named = object.map(|id| Named::Document(hash(id))).or(position)?;
    match event.action {
        Action::Click => Some(Said::Clicked(named)),
        Action::Dwell { dwell_ms } if dwell_ms >= SATISFIED_MS => Some(Said::Satisfied(named)),
        Action::Conversion => Some(Said::Converted(named)),
        Action::Thumbs { up } => Some(Said::Rated(named, f64::from(u8::from(up)))),
        Action::Rating { value, min, max } if max > min => {
            let rating = (value - min) / (max - min);
            rating
                .is_finite()
                .then(|| Said::Rated(named, rating.clamp(0.0, 1.0)))
        }
        Action::Rating { .. }
        | Action::Dwell { .. }
        | Action::Judgment { .. }
        | Action::Impression
        | Action::Reformulation
        | Action::Comment
        | Action::Custom => None,
    }
}

/// A hash of an id. Ids are kept as such, 8 bytes each; among four million of them two are alike once
/// in two million tallies.
fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
