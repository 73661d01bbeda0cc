//! Judging of the answers of a run, one query at a time.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::evaluation::{ComponentFacts, QueryAnswer, QueryDocuments, QueryEvaluation};
use super::options::Options;
use super::plane;
use crate::run::{Answer, Results};
use rankgauge_core::event::{Id, Search};
use rankgauge_core::gold::{GoldQuery, GoldSet, QueryIndex};
use rankgauge_core::measure::{BleuCounts, Curves, Cutoff, Documents, Mean, Measure};
use rankgauge_core::ranking::{Contribution, Judge, Judged, Ranking};

/// Cutoffs of nDCG by cutoff.
pub(super) const CUTOFFS: [u32; 8] = [1, 2, 3, 5, 10, 20, 50, 100];

/// Data to compute for every query.
pub(crate) struct Plan<'o> {
    pub(crate) options: &'o Options,
    /// True if measures need more than the grades.
    whole_searches: bool,
    /// Cutoffs at which documents are counted.
    pub(super) cutoffs: Vec<Cutoff>,
    /// Cutoffs of nDCG by cutoff; `None` without curves.
    pub(super) curves: Option<Vec<Cutoff>>,
    /// Measures of grades with a target, by position; the others are `None`.
    pub(super) perfect: Vec<Option<&'o Measure>>,
    /// True if the mean of a measure is that of its corpus.
    has_corpus: bool,
}

impl<'o> Plan<'o> {
    pub(crate) fn new(options: &'o Options) -> Self {
        Self {
            options,
            whole_searches: !options.measures.iter().all(Measure::needs_only_grades),
            cutoffs: Documents::cutoffs(&options.measures),
            curves: options
                .curves
                .then(|| CUTOFFS.into_iter().filter_map(Cutoff::new).collect()),
            perfect: measures_with_targets(options),
            has_corpus: {
                let mut measures = options.measures.iter();
                measures.any(|measure| measure.descriptor().mean == Mean::Corpus)
            },
        }
    }
}

fn measures_with_targets(options: &Options) -> Vec<Option<&Measure>> {
    if options.targets.is_empty() {
        return Vec::new();
    }
    let measures = options.measures.iter().enumerate();
    let of_grades = measures.map(|(at, measure)| {
        let has_target = options.targets.iter().any(|target| target.measure == at);
        (has_target && measure.needs_only_grades()).then_some(measure)
    });
    of_grades.collect()
}

/// Data computed for one query.
pub(super) struct Outcome {
    pub(super) query: QueryEvaluation,
    /// Document counts by cutoff.
    pub(super) documents: Vec<Documents>,
    /// Values of the labels by which means are broken down.
    pub(super) labels: Vec<Option<String>>,
    /// Points of the curves: precision by recall, then nDCG by cutoff.
    pub(super) curves: Vec<Option<f64>>,
    /// Cells in the plane of precision and recall.
    pub(super) plane: Vec<u16>,
    /// Scores of a perfect ranking, by measure with a target.
    pub(super) perfect: Vec<Option<f64>>,
    /// Counts of the answer, for the mean of the corpus.
    pub(super) bleu: Option<BleuCounts>,
    pub(super) parts: Option<Parts>,
}

/// Data of a whole search in addition to its scores.
pub(super) struct Parts {
    /// Statistics by component.
    pub(super) components: Vec<ComponentFacts>,
    /// Expected and selected domain.
    pub(super) routing: Option<(String, String)>,
    /// Pairs of the primary domain and a contributing domain.
    pub(super) collaboration: Vec<(String, String)>,
}

/// Judges queries one after the other, in reused buffers.
pub(super) struct Judging<'p> {
    plan: &'p Plan<'p>,
    judge: Judge,
    ranking: Ranking,
    /// The ranking whose unjudged results are relevant.
    assumed: Ranking,
}

impl<'p> Judging<'p> {
    pub(super) fn new(plan: &'p Plan<'p>) -> Self {
        Self {
            plan,
            judge: Judge::new(plan.options.rules.clone()),
            ranking: Ranking::new(),
            assumed: Ranking::new(),
        }
    }

    /// Returns true if the query counts.
    pub(super) fn counts(&self, query: &GoldQuery) -> bool {
        !self.plan.options.has_relevant || query.judgements.relevant(None) > 0
    }

    /// Judges the answer to one query. A missing answer is a list without results.
    pub(super) fn outcome(&mut self, query: &GoldQuery, answer: Option<&Answer<'_>>) -> Outcome {
        let mut outcome = self.judged(query, answer);
        outcome.perfect = self.perfect(query);
        outcome
    }

    /// Scores of the ranking of all judged documents, highest grade first.
    fn perfect(&mut self, query: &GoldQuery) -> Vec<Option<f64>> {
        if self.plan.perfect.is_empty() {
            return Vec::new();
        }
        let mut documents = query.judgements.documents();
        documents.sort_by(|(_, one), (_, other)| other.get().total_cmp(&one.get()));
        let ids = documents.into_iter().map(|(id, _)| id);
        self.ranking.judge(ids, &query.judgements);
        let measures = self.plan.perfect.iter();
        let scores = measures
            .map(|it| it.and_then(|it| it.score_of_grades(&self.ranking, &query.judgements)));
        scores.collect()
    }

    fn judged(&mut self, query: &GoldQuery, answer: Option<&Answer<'_>>) -> Outcome {
        match answer.map(|answer| &answer.results) {
            Some(Results::Documents(documents)) if !self.plan.whole_searches && !query.by_text => {
                let texts = documents.iter().map(|document| &**document);
                self.ranking.judge(texts, &query.judgements);
                let measures = self.plan.options.measures.iter();
                let judgements = &query.judgements;
                let scores = measures.map(|it| it.score_of_grades(&self.ranking, judgements));
                let scores = scores.collect();
                let ids = || documents.iter().map(ToString::to_string).collect();
                let ids = self.plan.options.documents.then(ids);
                let rankings = (&self.ranking, &mut self.assumed);
                self.plan.outcome(query, rankings, scores, None, ids)
            }
            Some(Results::Documents(documents)) => {
                let ids = documents.iter();
                let documents = ids.map(|document| Id(Cow::Borrowed(&**document)));
                let search = Search::of_documents(Id(Cow::Borrowed("")), documents);
                self.of_search(query, &search, true)
            }
            Some(Results::Search(search)) => self.of_search(query, search, true),
            None => {
                let nothing = Search::of_documents(Id(Cow::Borrowed("")), std::iter::empty());
                self.of_search(query, &nothing, false)
            }
        }
    }

    fn of_search(&mut self, query: &GoldQuery, search: &Search<'_>, answered: bool) -> Outcome {
        let judged = self.judge.judge(search, query);
        let measures = self.plan.options.measures.iter();
        let scores = measures.map(|measure| measure.score(&judged)).collect();
        let judge_by = self.plan.options.rules.judge_by;
        let ids = || {
            let hits = search.results.iter();
            hits.map(|hit| judge_by.document(hit).to_owned()).collect()
        };
        let ids = self.plan.options.documents.then(ids);
        let rankings = (judged.ranking, &mut self.assumed);
        let mut outcome = self
            .plan
            .outcome(query, rankings, scores, Some(search), ids);
        outcome.query.answered = answered;
        if let Some(documents) = &mut outcome.query.documents {
            documents.answer = QueryAnswer::of(&judged);
        }
        if self.plan.has_corpus {
            outcome.bleu = BleuCounts::of_search(&judged);
        }
        outcome.parts = answered.then(|| Parts::of(&judged));
        outcome
    }
}

impl Parts {
    fn of(judged: &Judged<'_>) -> Self {
        let cell = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let (expected, selected) = (judged.expected_domain(), judged.selected_domain());
        let collaboration = selected.or(expected).map(|primary| {
            let contributors = judged.contributing_domains().into_iter();
            let cells = contributors.map(|contributor| cell(primary, &contributor));
            cells.collect()
        });
        Self {
            components: judged
                .parts()
                .map(|part| component_facts(&part, judged))
                .collect(),
            routing: expected
                .zip(selected)
                .map(|(expected, selected)| cell(expected, selected)),
            collaboration: collaboration.unwrap_or_default(),
        }
    }
}

/// Returns the statistics of a component in one search.
fn component_facts(part: &Contribution<'_>, judged: &Judged<'_>) -> ComponentFacts {
    let mut facts = ComponentFacts::default();
    if let Some(needed) = part.needed {
        facts.trigger[usize::from(needed)][usize::from(part.fired)] += 1;
    }
    for hops in part.hops(&judged.search.results) {
        let distance = usize::try_from(hops).unwrap_or(4).min(4);
        if let Some(index) = distance.checked_sub(1) {
            facts.hops[index] += 1;
        }
    }
    facts
}

impl Plan<'_> {
    /// Computes the data of a query whose answer was judged. `assumed` is a buffer.
    fn outcome(
        &self,
        query: &GoldQuery,
        (ranking, assumed): (&Ranking, &mut Ranking),
        scores: Vec<Option<f64>>,
        search: Option<&Search<'_>>,
        retrieved: Option<Vec<String>>,
    ) -> Outcome {
        let judgements = &query.judgements;
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let cutoffs = self.cutoffs.iter();
        let labels = self.options.by.iter();
        let curves = self.curves.as_ref();
        let curves = curves.map(|cutoffs| Curves::of(ranking, judgements, cutoffs));
        let bounds = if self.options.bounds {
            assumed.assume_relevant(ranking, judgements);
            let pairs = self.options.measures.iter().zip(&scores);
            let bounds = pairs.map(|(measure, score)| {
                score.and_then(|score| measure.bounds(score, ranking, assumed, judgements))
            });
            bounds.collect()
        } else {
            Vec::new()
        };
        Outcome {
            query: QueryEvaluation {
                key: query.key.clone(),
                text: query.text.clone(),
                answered: true,
                retrieved: count(ranking.len()),
                relevant: count(judgements.relevant(None)),
                relevant_retrieved: count(ranking.relevant().len()),
                bounds,
                scores,
                documents: retrieved.map(|ids| documents_of(query, ranking, ids)),
            },
            documents: cutoffs
                .map(|cutoff| Documents::of(ranking, judgements, *cutoff))
                .collect(),
            labels: labels.map(|label| label_of(label, query, search)).collect(),
            curves: curves.map_or_else(Vec::new, |curves| {
                let points = curves.precision.into_iter().chain(curves.ndcg);
                points.map(Some).collect()
            }),
            plane: if self.curves.is_some() {
                plane::cells(ranking, judgements)
            } else {
                Vec::new()
            },
            perfect: Vec::new(),
            bleu: None,
            parts: None,
        }
    }
}

/// Documents of a query with these results.
fn documents_of(query: &GoldQuery, ranking: &Ranking, retrieved: Vec<String>) -> QueryDocuments {
    let level = query.judgements.level();
    let found: BTreeSet<usize> = ranking.documents().iter().flatten().copied().collect();
    let documents = query.judgements.documents().into_iter().enumerate();
    let mut relevant: Vec<_> = documents
        .filter(|(_, (_, grade))| grade.is_relevant_at(level))
        .collect();
    relevant.sort_by(|(_, (_, one)), (_, (_, other))| other.get().total_cmp(&one.get()));
    let missed = relevant.iter().filter(|(at, _)| !found.contains(at));
    QueryDocuments {
        missed: missed.map(|(_, (id, _))| (*id).to_owned()).collect(),
        relevant: relevant
            .iter()
            .map(|(_, (id, _))| (*id).to_owned())
            .collect(),
        retrieved,
        answer: None,
    }
}

/// Returns the gold query that an answer belongs to.
pub fn query_of(gold: &GoldSet, answer: &Answer<'_>) -> Option<QueryIndex> {
    match &answer.results {
        Results::Search(search) if search.query_key.is_some() => {
            gold.find(search.query_key.as_deref(), search.query.as_deref())
        }
        Results::Search(_) | Results::Documents(_) => gold.find_named(&answer.query),
    }
}

/// Returns the value of a label: of the gold query, else of the search. `variant` is that of the
/// search.
pub fn label_of(label: &str, query: &GoldQuery, search: Option<&Search<'_>>) -> Option<String> {
    if let Some(value) = query.labels.get(label) {
        return Some(value.clone());
    }
    let search = search?;
    let stated = search
        .labels
        .as_ref()
        .and_then(|labels| labels.label(label));
    let variant = (label == "variant" && !search.variant().is_empty()).then(|| search.variant());
    stated
        .map(Cow::into_owned)
        .or_else(|| variant.map(ToOwned::to_owned))
}
