//! Preparation of records: what follows from a search and the gold set alone.
//!
//! Records are prepared in groups. Their reads of memory do not wait for each other, and the code that
//! judges stays in the processor's caches. Preparing changes nothing that is counted or exposed: a
//! search that was not prepared is prepared when it is applied.

use smallvec::SmallVec;

use super::Engine;
use super::correlation::Level;
use super::fixed::Nano;
use super::id::{Id, SearchIds, Target};
use super::input::{Input, Position};
use super::join::Served;
use super::scores::{self, column_of};
use crate::event::Search;
use crate::gold::{GoldSet, QueryIndex};
use crate::measure::micro::Documents;
use crate::ranking::{Judge, Judged};

/// Maximum number of prepared searches, and maximum number of results of those whose memory is kept.
const MAX_PREPARED: usize = 64;
const MAX_KEPT_RESULTS: usize = 1_000;

/// Maximum number of finished searches whose memory is kept, and maximum number of results of each. At
/// most a few hundred kilobytes.
const MAX_SPARE: usize = 512;
const MAX_SPARE_RESULTS: usize = 64;

/// Search with what follows from it and the gold set alone.
#[derive(Debug)]
pub(super) struct Prepared {
    at: Position,
    id: Id,
    /// Gold query.
    pub(super) query: Option<QueryIndex>,
    /// Judge of this search alone.
    judge: Judge,
    /// Scores by their columns.
    pub(super) scores: Vec<(usize, Nano)>,
    /// Documents of each cutoff, if there is a gold query.
    pub(super) documents: Vec<Documents>,
    /// Results and levels.
    pub(super) served: Served,
}

impl Prepared {
    /// The judged search; `None` without a gold query.
    pub(super) fn judged<'a>(
        &'a self,
        search: &'a Search<'a>,
        gold: &'a GoldSet,
    ) -> Option<Judged<'a>> {
        let query = self.query?;
        Some(self.judge.judged(search, gold.query(query)))
    }
}

/// Prepared searches.
#[derive(Debug, Default)]
#[allow(
    clippy::vec_box,
    reason = "searches move between the lists and the engine, as a pointer each"
)]
pub(super) struct Preparation {
    /// Searches that are prepared and not applied, last one first.
    ready: Vec<Box<Prepared>>,
    /// Memory for further searches.
    spare: Vec<Box<Prepared>>,
    levels: Vec<Level>,
    /// Memory of finished searches, for further ones. Memory that was used last is in the processor's
    /// caches.
    served: Vec<Served>,
}

impl Preparation {
    /// Takes a prepared search; `None` if it was not prepared.
    pub(super) fn take(&mut self, at: Position, id: Id) -> Option<Box<Prepared>> {
        let mut ready = self.ready.iter();
        let index = ready.rposition(|it| it.at == at && it.id == id)?;
        Some(self.ready.remove(index))
    }

    /// Keeps the memory of a search that was applied.
    pub(super) fn put_back(&mut self, mut applied: Box<Prepared>) {
        self.recycle(std::mem::take(&mut applied.served));
        if self.spare.len() < MAX_PREPARED && applied.judge.hashes().len() <= MAX_KEPT_RESULTS {
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

    /// Drops the searches that are not applied.
    pub(super) fn clear(&mut self) {
        while let Some(prepared) = self.ready.pop() {
            self.put_back(prepared);
        }
    }
}

impl Engine {
    /// Prepares inputs, which [`Engine::apply`] receives next: judges the searches, and reads what will
    /// be read of the joins.
    pub fn prepare<'a>(&mut self, inputs: impl Iterator<Item = Input<'a>>) {
        self.preparation.clear();
        let mut searches: SmallVec<[_; 16]> = SmallVec::new();
        let mut ids: SmallVec<[_; 16]> = SmallVec::new();
        for input in inputs.take(MAX_PREPARED) {
            match input {
                Input::Search { at, event, ids: of } => {
                    searches.push((at, event, of, gold_query(&self.gold, event)));
                    ids.push((at.partition, of.search, of.session));
                }
                Input::Feedback {
                    at,
                    target: Some(Target::Search(search)),
                    ..
                } => ids.push((at.partition, search, None)),
                _ => {}
            }
        }
        self.read_ahead(searches.iter().filter_map(|(.., query)| *query), &ids);
        // The first search is taken first, from the end.
        for (at, search, ids, query) in searches.into_iter().rev() {
            let prepared = self.prepare_search(at, search, ids, query);
            self.preparation.ready.push(prepared);
        }
    }

    /// Reads what will be read of the gold set and of the joins: of searches and sessions by partition
    /// and ids.
    fn read_ahead(&self, queries: impl Iterator<Item = QueryIndex>, ids: &[(i32, Id, Option<Id>)]) {
        let gold = queries.map(|it| self.slices_of_gold.touch(it) + self.gold.query(it).touch());
        let gold: usize = gold.sum();
        let known = ids.iter().filter_map(|(partition, search, session)| {
            let join = &self.partitions[self.find(*partition)?].join;
            Some((join, join.look_up(*search, *session)))
        });
        let known: SmallVec<[_; 16]> = known.collect();
        let read = known.iter().map(|(join, known)| join.touch(*known));
        let read: usize = read.sum();
        let parts = known.iter().map(|(join, known)| join.touch_parts(*known));
        let parts: usize = parts.sum();
        let served = known.iter().map(|(join, known)| join.touch_served(*known));
        std::hint::black_box(gold + read + parts + served.sum::<usize>());
    }

    /// Returns a search with what follows from it, which was prepared or is now.
    pub(super) fn prepared(
        &mut self,
        at: Position,
        search: &Search<'_>,
        ids: SearchIds,
    ) -> Box<Prepared> {
        let ready = self.preparation.take(at, ids.search);
        ready.unwrap_or_else(|| {
            let query = gold_query(&self.gold, search);
            self.prepare_search(at, search, ids, query)
        })
    }

    fn prepare_search(
        &mut self,
        at: Position,
        search: &Search<'_>,
        ids: SearchIds,
        query: Option<QueryIndex>,
    ) -> Box<Prepared> {
        let preparation = &mut self.preparation;
        let mut prepared = preparation.spare.pop().unwrap_or_else(|| {
            Box::new(Prepared {
                at,
                id: ids.search,
                query,
                judge: Judge::new(self.settings.judging.clone()),
                scores: Vec::new(),
                documents: Vec::new(),
                served: Served::default(),
            })
        });
        (prepared.at, prepared.id, prepared.query) = (at, ids.search, query);
        prepared.scores.clear();
        prepared.documents.clear();
        preparation.levels.clear();
        let known = match query {
            Some(_) => Nano::ONE,
            None => Nano::default(),
        };
        prepared.scores.push((scores::SEARCHES, known));
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
            let cutoffs = self.totals.scores.cutoffs().iter();
            let judgements = &judged.query.judgements;
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

/// Returns the gold query of a search.
fn gold_query(gold: &GoldSet, search: &Search<'_>) -> Option<QueryIndex> {
    gold.find(search.query_key.as_deref(), search.query.as_deref())
}
