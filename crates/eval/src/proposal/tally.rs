//! Tally of user feedback by query and document.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::{FeedbackFacts, SearchFacts};
use rankgauge_core::event::{Action, Feedback, Search};
use rankgauge_core::gold::{GoldQuery, GoldSet, Grade, QueryIndex, normalise};
use rankgauge_core::number::real_length;
use rankgauge_core::ranking::JudgeBy;

/// Default memory limit of a tally in bytes, approximate: 512 MiB. It is enough for ten million
/// searches, a million of them with feedback, of queries with half a million documents.
pub const DEFAULT_MEMORY_LIMIT: usize = 512 << 20;

/// Minimum dwell time of a satisfied click, in milliseconds, as for the measure `SAT`.
pub const MIN_SATISFIED_DWELL_MS: f64 = 30_000.0;

/// Memory of a search: its entry in the set of searches that were read.
const SEARCH_BYTES: usize = 20;
/// Memory of the first feedback event of a search: a list with spare capacity.
const FIRST_FEEDBACK_BYTES: usize = 208;
/// Memory of a further feedback event: its entry in that list, with the spare capacity of lists.
const FURTHER_FEEDBACK_BYTES: usize = 80;
/// Memory of a query, and of a document without its id.
const QUERY_BYTES: usize = 320;
const DOCUMENT_BYTES: usize = 192;

/// Reference of a feedback event to a result.
#[derive(Clone, Copy, Debug)]
enum ResultRef {
    /// Hash of the result's id.
    Document(u64),
    /// Position of the result, from 1.
    Position(u32),
}

/// User action in a feedback event.
#[derive(Clone, Debug)]
enum UserAction {
    Clicked(ResultRef),
    Satisfied(ResultRef),
    Converted(ResultRef),
    /// Rating from 0 to 1.
    Rated(ResultRef, f64),
    Judged(Box<str>, Grade),
}

/// Feedback event that waits for its search.
#[derive(Debug)]
struct StoredFeedback {
    event: u64,
    action: UserAction,
}

/// Counts for one document of a query.
#[derive(Debug, Default)]
pub(super) struct DocumentTally {
    pub(super) searches: u32,
    /// Sum of the positions at which the document was served.
    pub(super) positions: f64,
    pub(super) clicks: u32,
    pub(super) satisfied: u32,
    pub(super) conversions: u32,
    /// Number of searches in which the document was clicked, converted or rated.
    pub(super) searches_with_actions: u32,
    pub(super) ratings: u32,
    pub(super) rating_sum: f64,
    /// Grades given in production, with the number of each.
    pub(super) grades: BTreeMap<Grade, u32>,
}

/// Query and its documents.
#[derive(Debug)]
pub(super) struct QueryTally {
    /// Index of the query in the gold set.
    pub(super) gold: Option<QueryIndex>,
    pub(super) key: Option<String>,
    pub(super) text: Option<String>,
    pub(super) searches: u32,
    pub(super) documents: FxHashMap<Box<str>, DocumentTally>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum QueryIdentity {
    Gold(QueryIndex),
    /// Normalised text of the query.
    Text(String),
    /// Key of the query, if its searches have no text.
    Key(String),
}

impl QueryIdentity {
    /// Length in bytes.
    fn len(&self) -> usize {
        match self {
            Self::Gold(_) => 0,
            Self::Text(text) | Self::Key(text) => text.len(),
        }
    }
}

/// User feedback by query and document.
#[derive(Debug)]
pub struct Tally<'a> {
    pub(super) gold: &'a GoldSet,
    judge_by: JudgeBy,
    /// True if judged documents of gold queries are counted as well.
    counts_judged: bool,
    /// Remaining memory in bytes.
    memory_left: usize,
    pending_feedback: FxHashMap<u64, Vec<StoredFeedback>>,
    read_searches: FxHashSet<u64>,
    query_indexes: FxHashMap<QueryIdentity, usize>,
    pub(super) queries: Vec<QueryTally>,
    searches: SearchFacts,
    feedback: FeedbackFacts,
}

impl<'a> Tally<'a> {
    /// Empty tally. `judge_by` selects the id that identifies a judged document. `memory_limit` is
    /// approximate, in bytes; [`DEFAULT_MEMORY_LIMIT`] is a good choice.
    pub fn new(gold: &'a GoldSet, judge_by: JudgeBy, memory_limit: usize) -> Self {
        Self {
            gold,
            judge_by,
            counts_judged: false,
            memory_left: memory_limit,
            pending_feedback: FxHashMap::default(),
            read_searches: FxHashSet::default(),
            query_indexes: FxHashMap::default(),
            queries: Vec::new(),
            searches: SearchFacts::default(),
            feedback: FeedbackFacts::default(),
        }
    }

    /// Counts judged documents of gold queries as well.
    #[must_use]
    pub fn with_judged(mut self) -> Self {
        self.counts_judged = true;
        self
    }

    /// Returns the outcomes of the searches and the feedback. Feedback whose search has not been
    /// read is orphaned.
    pub(super) fn facts(&self) -> (SearchFacts, FeedbackFacts) {
        let waiting: usize = self.pending_feedback.values().map(Vec::len).sum();
        let mut feedback = self.feedback;
        feedback.orphaned = u64::try_from(waiting).unwrap_or(u64::MAX);
        (self.searches, feedback)
    }

    /// Takes `bytes` from `memory_left` and returns true if there are enough, else leaves it
    /// unchanged.
    fn reserve(memory_left: &mut usize, bytes: usize) -> bool {
        let left = memory_left.checked_sub(bytes);
        *memory_left = left.unwrap_or(*memory_left);
        left.is_some()
    }

    /// Stores a feedback event until its search is read.
    pub fn feedback(&mut self, event: &Feedback<'_>) {
        self.feedback.read += 1;
        let (Some(query_id), Some(action)) = (&event.query_id, user_action(event)) else {
            self.feedback.not_applicable += 1;
            return;
        };
        let judged = match &action {
            UserAction::Judged(document, _) => document.len(),
            _ => 0,
        };
        let feedback = StoredFeedback {
            event: hash(&event.event_id),
            action,
        };
        let id = hash(query_id);
        if let Some(waiting) = self.pending_feedback.get_mut(&id) {
            if Self::reserve(&mut self.memory_left, FURTHER_FEEDBACK_BYTES + judged) {
                waiting.push(feedback);
                return;
            }
        } else if Self::reserve(&mut self.memory_left, FIRST_FEEDBACK_BYTES + judged) {
            self.pending_feedback.insert(id, vec![feedback]);
            return;
        }
        self.feedback.over_limit += 1;
    }

    /// Counts a search and the feedback events stored for it.
    pub fn search(&mut self, search: &Search<'_>) {
        self.searches.read += 1;
        let id = hash(&search.query_id);
        if self.read_searches.contains(&id) {
            self.searches.duplicate += 1;
            return;
        }
        if !Self::reserve(&mut self.memory_left, SEARCH_BYTES) {
            self.searches.over_limit += 1;
            return;
        }
        self.read_searches.insert(id);
        let mut stored = self.pending_feedback.remove(&id).unwrap_or_default();
        // Grades are retained, and so is the memory that they take.
        let is_released =
            |feedback: &&StoredFeedback| !matches!(feedback.action, UserAction::Judged(..));
        self.memory_left += stored.iter().filter(is_released).count() * FURTHER_FEEDBACK_BYTES;
        let received = stored.len();
        // Of two events with the same id, the first one read counts.
        stored.sort_by_key(|feedback| feedback.event);
        stored.dedup_by_key(|feedback| feedback.event);
        let distinct = stored.len();
        self.feedback.duplicate += u64::try_from(received - distinct).unwrap_or(u64::MAX);

        let Some(index) = self.query_index(search) else {
            self.searches.over_limit += 1;
            self.feedback.over_limit += u64::try_from(distinct).unwrap_or(u64::MAX);
            return;
        };
        let (gold, counts_judged) = (self.gold, self.counts_judged);
        let Self {
            memory_left,
            queries,
            searches,
            feedback,
            ..
        } = self;
        let Some(query) = queries.get_mut(index) else {
            return;
        };
        query.searches = query.searches.saturating_add(1);
        let gold_query = query.gold.map(|index| gold.query(index));
        match gold_query {
            Some(_) => searches.known += 1,
            None => searches.unknown += 1,
        }
        if gold_query.is_some_and(|query| query.by_text) {
            // Its results are judged by their text, so there are no documents to judge.
            feedback.not_applicable += u64::try_from(distinct).unwrap_or(u64::MAX);
            return;
        }

        let served = Served::of(search, self.judge_by, !stored.is_empty());
        let mut actions: BTreeMap<usize, ResultActions> = BTreeMap::new();
        let mut graded: Vec<(&str, Grade)> = Vec::new();
        for event in &stored {
            let (result_ref, apply): (_, fn(&mut ResultActions)) = match &event.action {
                UserAction::Judged(of, grade) => {
                    let result = served.by_id.get(&hash(of));
                    let result = result.and_then(|at| served.documents.get(*at));
                    let document = result.copied().filter(|document| !document.is_empty());
                    graded.push((document.unwrap_or(of), *grade));
                    feedback.used += 1;
                    continue;
                }
                UserAction::Clicked(of) => (of, |actions| actions.clicked = true),
                UserAction::Satisfied(of) => (of, |actions| actions.satisfied = true),
                UserAction::Converted(of) => (of, |actions| actions.converted = true),
                UserAction::Rated(of, _) => (of, |actions| actions.ratings += 1),
            };
            let Some(result) = served.find(*result_ref) else {
                feedback.not_served += 1;
                continue;
            };
            feedback.used += 1;
            let actions = actions.entry(result).or_default();
            apply(actions);
            if let UserAction::Rated(_, rating) = event.action {
                actions.rating_sum += rating;
            }
        }

        let mut count = |document: &str, change: &dyn Fn(&mut DocumentTally)| {
            if let Some(known) = query.documents.get_mut(document) {
                change(known);
            } else if Self::reserve(memory_left, DOCUMENT_BYTES + document.len()) {
                change(query.documents.entry(document.into()).or_default());
            } else {
                searches.documents_over_limit += 1;
            }
        };
        for (at, document) in served.documents.iter().enumerate() {
            let is_judged = |query: &GoldQuery| query.judgements.find(document).is_some();
            let is_left_out = !counts_judged && gold_query.is_some_and(is_judged);
            if document.is_empty() || served.first(at) != at || is_left_out {
                continue;
            }
            let actions = actions.get(&at).copied().unwrap_or_default();
            let position = real_length(at + 1);
            count(document, &|tally| actions.count(position, tally));
        }
        for (document, grade) in graded {
            count(document, &|tally| {
                let times = tally.grades.entry(grade).or_default();
                *times = times.saturating_add(1);
            });
        }
    }

    /// Index of the query of a search, which is added if it is new; `None` if it exceeds the memory
    /// limit.
    fn query_index(&mut self, search: &Search<'_>) -> Option<usize> {
        let (key, text) = (search.query_key.as_deref(), search.query.as_deref());
        let gold = self.gold.find(key, text);
        let name = match gold {
            Some(index) => QueryIdentity::Gold(index),
            None => match text.map(normalise).filter(|text| !text.is_empty()) {
                Some(text) => QueryIdentity::Text(text.into_owned()),
                None => QueryIdentity::Key(key.unwrap_or_default().to_owned()),
            },
        };
        if let Some(index) = self.query_indexes.get(&name) {
            return Some(*index);
        }
        let known = gold.map(|index| self.gold.query(index));
        let (key, text) = match known {
            Some(query) => (Some(query.key.clone()), query.text.clone()),
            None => (key.map(str::to_owned), text.map(str::to_owned)),
        };
        let names = [key.as_ref(), text.as_ref()].into_iter().flatten();
        let bytes = names.map(String::len).sum::<usize>() + name.len();
        if !Self::reserve(&mut self.memory_left, QUERY_BYTES + bytes) {
            return None;
        }
        let index = self.queries.len();
        self.query_indexes.insert(name, index);
        self.queries.push(QueryTally {
            gold,
            key: key.filter(|key| !key.trim().is_empty()),
            text: text.filter(|text| !text.trim().is_empty()),
            searches: 0,
            documents: FxHashMap::default(),
        });
        Some(index)
    }
}

/// Results of a search, indexed for the lookup of feedback references.
struct Served<'a> {
    /// Judged document of each result.
    documents: Vec<&'a str>,
    /// Index at which each document was served first.
    first: FxHashMap<&'a str, usize>,
    /// Index at which each id was served first, keyed by the hash of the id. The id of a result
    /// takes precedence over that of its group. Empty if the search has no feedback.
    by_id: FxHashMap<u64, usize>,
}

impl<'a> Served<'a> {
    fn of(search: &'a Search<'_>, judge_by: JudgeBy, has_feedback: bool) -> Self {
        let results = &search.results;
        let documents: Vec<&str> = results.iter().map(|hit| judge_by.document(hit)).collect();
        let mut first = FxHashMap::default();
        for (at, document) in documents.iter().enumerate() {
            first.entry(*document).or_insert(at);
        }
        let mut by_id = FxHashMap::default();
        if has_feedback {
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

    /// Index at which the document of the result at `at` was served first.
    fn first(&self, at: usize) -> usize {
        let document = self.documents.get(at);
        let first = document.and_then(|document| self.first.get(document));
        first.copied().unwrap_or(at)
    }

    /// Returns the result that feedback refers to; for a document that was served repeatedly, its
    /// first result.
    fn find(&self, result_ref: ResultRef) -> Option<usize> {
        let at = match result_ref {
            ResultRef::Document(id) => *self.by_id.get(&id)?,
            ResultRef::Position(position) => usize::try_from(position).ok()?.checked_sub(1)?,
        };
        (at < self.documents.len()).then(|| self.first(at))
    }
}

/// User actions on one result of one search.
#[derive(Clone, Copy, Debug, Default)]
struct ResultActions {
    clicked: bool,
    satisfied: bool,
    converted: bool,
    ratings: u32,
    rating_sum: f64,
}

impl ResultActions {
    /// Counts one search with these actions.
    fn count(&self, position: f64, tally: &mut DocumentTally) {
        // A long dwell time implies a click, even if the click event was lost.
        let clicked = self.clicked || self.satisfied;
        let has_action = clicked || self.converted || self.ratings > 0;
        tally.searches = tally.searches.saturating_add(1);
        tally.positions += position;
        tally.clicks = tally.clicks.saturating_add(clicked.into());
        tally.satisfied = tally.satisfied.saturating_add(self.satisfied.into());
        tally.conversions = tally.conversions.saturating_add(self.converted.into());
        tally.searches_with_actions = tally
            .searches_with_actions
            .saturating_add(has_action.into());
        tally.ratings = tally.ratings.saturating_add(self.ratings);
        tally.rating_sum += self.rating_sum;
    }
}

/// Returns the user action of an event on a result; `None` if the event has no such action.
fn user_action(event: &Feedback<'_>) -> Option<UserAction> {
    let object = event.object_id.as_deref();
    if let Action::Judgment { grade } = event.action {
        // A person's grade of relevance can be adopted; values of models and of other properties cannot.
        let evaluation = event.evaluation.as_deref();
        if event.is_by_machine() || evaluation.is_some_and(|it| it.scale.is_some()) {
            return None;
        }
        let document = object.filter(|document| !document.is_empty())?;
        return Some(UserAction::Judged(document.into(), Grade::new(grade)?));
    }
    let position = event.position.map(ResultRef::Position);
    let result_ref = object
        .map(|id| ResultRef::Document(hash(id)))
        .or(position)?;
    match event.action {
        Action::Click => Some(UserAction::Clicked(result_ref)),
        Action::Dwell { dwell_ms } if dwell_ms >= MIN_SATISFIED_DWELL_MS => {
            Some(UserAction::Satisfied(result_ref))
        }
        Action::Conversion { .. } => Some(UserAction::Converted(result_ref)),
        Action::Thumbs { up } => Some(UserAction::Rated(result_ref, f64::from(u8::from(up)))),
        Action::Rating { value, min, max } if max > min => {
            let rating = (value - min) / (max - min);
            rating
                .is_finite()
                .then(|| UserAction::Rated(result_ref, rating.clamp(0.0, 1.0)))
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

/// Hash of an id. Only hashes are stored, 8 bytes each. Among four million ids, two collide once in
/// two million tallies.
fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
