//! Preparation of searches: what follows from a search and the gold set alone.
//!
//! The searches of a group are prepared together. Their reads of memory do not wait for each other, and
//! the code that judges stays in the processor's caches.

use smallvec::SmallVec;

use super::correlation::Level;
use super::fixed::Nano;
use super::id::{Id, Target};
use super::input::RecordInput;
use super::join::{self, Served};
use super::machine::Engine;
use super::score_column::{NOT_ELIGIBLE, SEARCHES, column_of};
use crate::detection::Unjudged;
use crate::event::Search;
use crate::gold::{GoldSet, QueryIndex};
use crate::measure::Documents;
use crate::number::real_length;
use crate::ranking::{Ineligible, Judge, Judged, Ranking};

/// Maximum number of results of a prepared search whose memory is kept.
const MAX_KEPT_RESULTS: usize = 1_000;

/// Maximum number of finished searches whose memory is kept, and maximum number of results of each. At
/// most a few hundred kilobytes.
const MAX_SPARE: usize = 512;
const MAX_SPARE_RESULTS: usize = 64;

/// Gold query of a search, or the reason for which the search is not judged.
pub(super) type GoldMatch = Result<Option<QueryIndex>, Ineligible>;

/// Search with what follows from it and the gold set alone.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Gold query of an eligible search.
    pub(super) query: Option<QueryIndex>,
    /// Reason for which the search is not judged.
    pub(super) ineligible: Option<Ineligible>,
    /// Judge of this search alone.
    judge: Judge,
    /// Scores by their columns.
    pub(super) scores: Vec<(usize, Nano)>,
    /// Differences from the scores if every unjudged result was relevant, by their columns, where there
    /// are any.
    pub(super) unjudged: Vec<(usize, Nano)>,
    /// Unjudged results of the watched measures, by their columns, where there are any.
    pub(super) watched_unjudged: Vec<(usize, Unjudged)>,
    /// Documents of each cutoff, if there is a gold query.
    pub(super) documents: Vec<Documents>,
    /// Results and levels.
    pub(super) served: Served,
}

impl Prepared {
    /// The gold query with the judged search; `None` without a gold query.
    pub(super) fn judged<'a>(
        &'a self,
        search: &'a Search<'a>,
        gold: &'a GoldSet,
    ) -> Option<(QueryIndex, Judged<'a>)> {
        let query = self.query?;
        Some((query, self.judge.judged(search, gold.query(query))))
    }
}

/// Memory for prepared searches.
#[derive(Debug, Default)]
pub(super) struct Preparation {
    /// Memory for further searches.
    #[allow(
        clippy::vec_box,
        reason = "searches move between the list, the group and its effects, as a pointer each"
    )]
    spare: Vec<Box<Prepared>>,
    levels: Vec<Level>,
    /// Ranking of the search that is prepared, with every unjudged result relevant.
    assumed: Ranking,
    /// Memory of finished searches, for further ones. Memory that was used last is in the processor's
    /// caches.
    served: Vec<Served>,
}

impl Preparation {
    /// Keeps the memory of a prepared search that is no longer needed.
    pub(super) fn put_back(&mut self, prepared: Option<Box<Prepared>>) {
        let Some(mut applied) = prepared else { return };
        self.recycle(std::mem::take(&mut applied.served));
        if self.spare.len() < Engine::MAX_GROUP && applied.judge.hashes().len() <= MAX_KEPT_RESULTS
        {
            self.spare.push(applied);
        }
    }

    /// Keeps the memory of a finished search.
    pub(super) fn recycle(&mut self, served: Served) {
        let has_memory = (1..=MAX_SPARE_RESULTS).contains(&served.results());
        if has_memory && self.served.len() < MAX_SPARE {
            self.served.push(served);
        }
    }
}

impl Engine {
    /// Prepares the searches of a group, and reads what all its inputs will read of the joins. Returns
    /// the prepared searches by input.
    pub(super) fn prepare(
        &mut self,
        inputs: &[RecordInput<'_>],
    ) -> SmallVec<[Option<Box<Prepared>>; Engine::MAX_GROUP]> {
        let mut queries: SmallVec<[GoldMatch; Engine::MAX_GROUP]> = SmallVec::new();
        let mut ids: SmallVec<[_; Engine::MAX_GROUP]> = SmallVec::new();
        for input in inputs {
            let mut query = Ok(None);
            match input {
                RecordInput::Search { at, event, ids: of } => {
                    query = self.gold_query(event);
                    ids.push((at.partition, of.search, of.session));
                }
                RecordInput::Feedback {
                    at,
                    target: Some(Target::Search(search)),
                    ..
                } => ids.push((at.partition, *search, None)),
                _ => {}
            }
            queries.push(query);
        }
        let found = queries.iter().filter_map(|query| query.ok().flatten());
        self.read_ahead(found, &ids);
        let inputs = inputs.iter().zip(queries);
        let prepared = inputs.map(|(input, query)| match input {
            RecordInput::Search { event, .. } => Some(self.prepare_search(event, query)),
            _ => None,
        });
        prepared.collect()
    }

    /// Returns the gold query of a search, if the search is eligible.
    pub(super) fn gold_query(&self, search: &Search<'_>) -> GoldMatch {
        self.settings.judging.eligibility.check(search)?;
        let (key, text) = (search.query_key.as_deref(), search.query.as_deref());
        Ok(self.gold.find(key, text))
    }

    /// Reads what will be read of the gold set and of the joins: of searches and sessions by partition
    /// and ids.
    fn read_ahead(&self, queries: impl Iterator<Item = QueryIndex>, ids: &[(i32, Id, Option<Id>)]) {
        let gold = queries.map(|index| {
            let query = self.gold.query(index);
            usize::from(self.slices_of_gold.get(index).is_some())
                + usize::from(query.by_text)
                + query.judgements.touch()
        });
        std::hint::black_box(gold.sum::<usize>());
        let known = ids.iter().filter_map(|(partition, search, session)| {
            let join = &self.partitions[self.find(*partition)?].join;
            Some((join, join.look_up(*search, *session)))
        });
        let known: SmallVec<[_; Engine::MAX_GROUP]> = known.collect();
        join::read_ahead(&known);
    }

    /// Returns a search with what follows from it and the gold set alone.
    pub(super) fn prepare_search(
        &mut self,
        search: &Search<'_>,
        query: GoldMatch,
    ) -> Box<Prepared> {
        let ineligible = query.err();
        let query = query.ok().flatten();
        let preparation = &mut self.preparation;
        let mut prepared = preparation.spare.pop().unwrap_or_else(|| {
            Box::new(Prepared {
                query,
                ineligible,
                judge: Judge::new(self.settings.judging.clone()),
                scores: Vec::new(),
                unjudged: Vec::new(),
                watched_unjudged: Vec::new(),
                documents: Vec::new(),
                served: Served::default(),
            })
        });
        prepared.query = query;
        prepared.ineligible = ineligible;
        prepared.scores.clear();
        prepared.unjudged.clear();
        prepared.watched_unjudged.clear();
        prepared.documents.clear();
        preparation.levels.clear();
        let known = match query {
            Some(_) => Nano::ONE,
            None => Nano::default(),
        };
        prepared.scores.push((SEARCHES, known));
        if ineligible.is_some() {
            prepared.scores.push((NOT_ELIGIBLE, Nano::default()));
        }
        if let Some(query) = query {
            let judged = prepared.judge.judge(search, self.gold.query(query));
            for &index in &self.ranking_measures {
                let score = self.settings.measures[index].score(&judged);
                preparation.levels.push(Level::of(score));
                if let Some(score) = score {
                    let score = Nano::from_f64(score);
                    prepared.scores.push((column_of(index), score));
                }
            }
            let judgements = &judged.query.judgements;
            let is_open = !judged.ranking.is_fully_judged();
            if is_open && !self.bounded_measures.is_empty() {
                let assumed = &mut preparation.assumed;
                assumed.assume_relevant(judged.ranking, judgements);
                for &index in &self.bounded_measures {
                    let column = column_of(index);
                    let score = prepared.scores.binary_search_by_key(&column, |it| it.0);
                    let measure = &self.settings.measures[index];
                    let upper = measure.score_if_relevant(assumed, judgements);
                    let Some((at, upper)) = score.ok().zip(upper) else {
                        continue;
                    };
                    let difference = Nano::from_f64(upper).minus(prepared.scores[at].1);
                    if difference != Nano::default() {
                        prepared.unjudged.push((column, difference));
                    }
                }
            }
            if is_open {
                let grades = judged.ranking.grades();
                // Watched measures mostly have the same cutoff.
                let (mut counted, mut share) = (None, 0.0);
                for &(index, length) in &self.watched_rankings {
                    let first = grades.get(..length).unwrap_or(grades);
                    if counted.replace(first.len()) != Some(first.len()) {
                        let open = first.iter().filter(|grade| grade.is_none()).count();
                        share = real_length(open) / real_length(first.len().max(1));
                    }
                    let column = column_of(index);
                    let difference = prepared.unjudged.iter().find(|it| it.0 == column);
                    let unjudged = Unjudged {
                        difference: difference.map_or(0.0, |it| it.1.to_f64()),
                        share,
                    };
                    if unjudged != Unjudged::default() {
                        prepared.watched_unjudged.push((column, unjudged));
                    }
                }
            }
            let cutoffs = self.totals.scores.cutoffs().iter();
            prepared
                .documents
                .extend(cutoffs.map(|cutoff| Documents::of(judged.ranking, judgements, *cutoff)));
        } else {
            prepared.judge.hash(search);
        }
        let hashes = prepared.judge.hashes().iter().copied();
        prepared.served = Served::new(hashes, &preparation.levels, preparation.served.pop());
        prepared
    }
}
