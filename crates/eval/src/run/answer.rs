//! Answers of a run, and the order of their results.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::reader::Place;
use rankgauge_core::columns::Columns;
use rankgauge_core::decode::Formats;
use rankgauge_core::event::{Limits, Search};
use rankgauge_core::gold::composed;
use rankgauge_core::ranking::Eligibility;

/// Path that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// Order in which the results of a run are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Served order: events by rank if every result has one, else as listed; files as listed.
    Served,
    /// Order of trec_eval: by score, compared as a 32-bit float, descending; equal scores by
    /// document id, compared by bytes, descending.
    Score,
    /// Order of trec_eval 10: as [`Order::Score`], with scores compared as 64-bit floats.
    Score64,
    /// Score ascending, as for distances; equal scores as in [`Order::Score`].
    Ascending,
    /// Stated rank, ascending.
    Rank,
}

impl Order {
    /// Number whose descending order is this order, for a score.
    pub(super) fn key(self, score: f64) -> f64 {
        match self {
            // -0 is equal to 0.
            Self::Score64 => score + 0.0,
            Self::Ascending => f64::from(as_compared(-score)),
            Self::Served | Self::Score | Self::Rank => f64::from(as_compared(score)),
        }
    }
}

/// Choice of an order by the user.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chosen {
    order: Option<Order>,
    doubles: bool,
}

impl Chosen {
    /// Returns the chosen order, else that of the format.
    pub(super) fn or(self, of_format: Order) -> Order {
        match self.order.unwrap_or(of_format) {
            Order::Score if self.doubles => Order::Score64,
            order => order,
        }
    }
}

/// Searches that are read of a run of search events.
#[derive(Clone, Debug, Default)]
pub enum Searches {
    /// All. A query that is searched again is an error.
    #[default]
    Distinct,
    /// All. A query may be searched again.
    All,
    /// Those with these places and ids in the same file. A record of a mapping can have several searches.
    Of(Arc<BTreeSet<(Place, String)>>),
}

impl Searches {
    /// Returns true if the search with this id is read at this place.
    pub(super) fn has(&self, place: Place, id: &str) -> bool {
        match self {
            Self::Distinct | Self::All => true,
            Self::Of(searches) => searches.contains(&(place, id.to_owned())),
        }
    }
}

/// Options of a reader of runs.
#[derive(Clone, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent choices of the user, each named at its place"
)]
pub struct ReadOptions {
    /// Order in which results are judged. By default events are as served and other formats by
    /// score.
    pub order: Option<Order>,
    /// True to compare scores as 64-bit floats, as trec_eval 10 does.
    pub doubles: bool,
    /// Maximum number of results of a query; later ones are left out (trec_eval -M).
    pub max_results: Option<usize>,
    /// Limits of search events.
    pub limits: Limits,
    /// True to keep the scores of documents.
    pub scores: bool,
    /// Searches that are judged. Others can be for a query that is answered already.
    pub eligibility: Eligibility,
    /// Searches that are read.
    pub searches: Searches,
    /// Columns of a table or record. By default they are found by their names.
    pub columns: Option<Columns>,
    /// True to leave out results whose id is that of the query, as BEIR does.
    pub ignore_identical_ids: bool,
    /// True to compose the ids of queries and documents (Unicode NFC).
    pub compose_ids: bool,
    /// Formats of the lines of recorded events; `None` for native ones and those of User Behavior Insights.
    /// Feedback of a topic of both kinds is skipped.
    pub formats: Option<Arc<Formats>>,
}

impl ReadOptions {
    /// Options without a choice: every format in its own order.
    pub fn new(limits: Limits) -> Self {
        Self {
            order: None,
            doubles: false,
            max_results: None,
            limits,
            scores: false,
            eligibility: Eligibility::default(),
            searches: Searches::default(),
            columns: None,
            ignore_identical_ids: false,
            compose_ids: false,
            formats: None,
        }
    }

    /// Choice of the order.
    pub(super) fn chosen(&self) -> Chosen {
        Chosen {
            order: self.order,
            doubles: self.doubles,
        }
    }

    /// Returns the answer with the changes that the options demand; `None` without one.
    pub(super) fn changed<'t>(&self, answer: &Answer<'t>) -> Option<Answer<'t>> {
        if !self.ignore_identical_ids && !self.compose_ids && self.max_results.is_none() {
            return None;
        }
        let id = |id: &Cow<'t, str>| {
            if self.compose_ids {
                composed(id.clone())
            } else {
                id.clone()
            }
        };
        let max = self.max_results.unwrap_or(usize::MAX);
        let query = id(&answer.query);
        let is_kept = |document: &str| !self.ignore_identical_ids || *document != *query;
        let (results, scores) = match &answer.results {
            Results::Documents(documents) => {
                let documents: Vec<Cow<'t, str>> = documents.iter().map(id).collect();
                let scores = documents.iter().zip(&answer.scores);
                let scores = scores.filter(|(document, _)| is_kept(document));
                let scores = scores.map(|(_, score)| *score).collect();
                let mut scores: Vec<f64> = scores;
                let mut kept = documents;
                kept.retain(|document| is_kept(document));
                kept.truncate(max);
                scores.truncate(max);
                (Results::Documents(kept), scores)
            }
            Results::Search(search) => {
                let mut search = search.clone();
                if let Some(key) = &mut search.query_key {
                    key.0 = id(&key.0);
                }
                for hit in &mut search.results {
                    hit.id.0 = id(&hit.id.0);
                }
                let answer = search.answer.iter_mut();
                let citations = answer.filter_map(|it| it.citations.as_mut()).flatten();
                for citation in citations {
                    citation.id.0 = id(&citation.id.0);
                }
                for member in search.context.iter_mut().flatten() {
                    member.0 = id(&member.0);
                }
                search.results.retain(|hit| is_kept(&hit.id));
                search.results.truncate(max);
                (Results::Search(search), Vec::new())
            }
        };
        Some(Answer {
            query,
            results,
            scores,
        })
    }
}

/// Answer to one query.
#[derive(Debug)]
pub struct Answer<'t> {
    /// Query: its key, or its text if an event has no key.
    pub query: Cow<'t, str>,
    /// Results of the answer.
    pub results: Results<'t>,
    /// Scores of the documents, in the same order. Empty unless [`ReadOptions::scores`] is set, and
    /// for search events, whose results have scores themselves.
    pub scores: Vec<f64>,
}

/// Results of one answer, in the order in which they are judged.
#[derive(Debug)]
pub enum Results<'t> {
    /// Document ids.
    Documents(Vec<Cow<'t, str>>),
    /// Complete search event.
    Search(Box<Search<'t>>),
}

/// Returns the name of a run: its file name without folder and extension.
pub fn name_of(path: &Path) -> String {
    if path == Path::new(STANDARD_INPUT) {
        return "stdin".to_owned();
    }
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    stem.to_string_lossy().into_owned()
}

/// Compares two results in trec_eval's order.
pub(super) fn by_score(a: (f64, &str), b: (f64, &str)) -> Ordering {
    b.0.total_cmp(&a.0)
        .then_with(|| b.1.as_bytes().cmp(a.1.as_bytes()))
}

/// Converts a score to the form in which trec_eval compares it: a 32-bit float, with -0 equal to 0.
#[allow(
    clippy::cast_possible_truncation,
    reason = "trec_eval stores scores as `float`; ties from the conversion are ties in trec_eval"
)]
pub(crate) fn as_compared(score: f64) -> f32 {
    score as f32 + 0.0
}
