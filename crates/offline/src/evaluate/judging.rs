//! Judging of one run against the gold set, query by query.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::{
    AnsweredTwice, ComponentFacts, Micro, Options, QueryDocuments, QueryEvaluation, RunEvaluation,
    Slice, SliceValue,
};
use crate::run::{Answer, Results, Run};
use rankgauge_core::event::{Id, Search};
use rankgauge_core::gold::{GoldQuery, GoldSet, QueryIndex};
use rankgauge_core::measure::micro::{self, Documents};
use rankgauge_core::measure::{Curves, Cutoff, LEVELS, Measure, Ranked, routing};
use rankgauge_core::ranking::{Contribution, Judge, Judged, Ranking};

/// Cutoffs of nDCG by cutoff.
const CUTOFFS: [u32; 8] = [1, 2, 3, 5, 10, 20, 50, 100];

/// Judges `run` against `gold`.
pub(super) fn judge(
    gold: &GoldSet,
    run: &Run<'_>,
    options: &Options,
) -> Result<RunEvaluation, AnsweredTwice> {
    let (answers, unknown) = match_answers(gold, run)?;
    let mut counted = Vec::with_capacity(answers.len());
    let mut missing = Vec::new();
    for (query, answer) in gold.queries().iter().zip(&answers) {
        if options.has_relevant && query.judgements.relevant(None) == 0 {
            continue;
        }
        if answer.is_none() {
            missing.push(query.key.clone());
            if !options.complete {
                continue;
            }
        }
        counted.push((query, *answer));
    }
    let plan = Plan::new(options, &answers);
    // Queries are judged in parallel and added up in their order, because sums of floating-point
    // numbers depend on the order.
    let outcomes = counted.par_iter().map_init(
        || Judging::new(&plan),
        |judging, (query, answer)| judging.outcome(query, *answer),
    );
    let outcomes: Vec<Outcome> = outcomes.collect();
    let mut sums = Sums::new(&plan, outcomes.len());
    for outcome in outcomes {
        sums.add(outcome);
    }
    Ok(RunEvaluation {
        tag: run.tag.clone(),
        missing,
        unknown,
        ..sums.finish(run.name.clone())
    })
}

/// Answer to each gold query.
type Answers<'r, 't> = Vec<Option<&'r Answer<'t>>>;

/// Matches each answer to its gold query. Also returns the queries that are not in the gold set.
fn match_answers<'r, 't>(
    gold: &GoldSet,
    run: &'r Run<'t>,
) -> Result<(Answers<'r, 't>, Vec<String>), AnsweredTwice> {
    let mut answers: Answers<'r, 't> = vec![None; gold.queries().len()];
    let mut unknown = Vec::new();
    for answer in &run.answers {
        let Some(index) = query_of(gold, answer) else {
            unknown.push(answer.query.to_string());
            continue;
        };
        let Some(slot) = answers.get_mut(index.position()) else {
            continue;
        };
        if let Some(first) = slot {
            return Err(AnsweredTwice {
                run: run.name.clone(),
                query: gold.query(index).key.clone(),
                line: answer.line,
                first: first.line,
            });
        }
        *slot = Some(answer);
    }
    Ok((answers, unknown))
}

/// Sum and number of scores, by measure.
#[derive(Clone)]
struct Means(Vec<(f64, u32)>);

impl Means {
    fn new(measures: usize) -> Self {
        Self(vec![(0.0, 0); measures])
    }

    fn add(&mut self, scores: &[Option<f64>]) {
        for ((sum, count), score) in self.0.iter_mut().zip(scores) {
            if let Some(score) = score {
                *sum += score;
                *count += 1;
            }
        }
    }

    fn finish(&self) -> Vec<Option<f64>> {
        let mean = |&(sum, count): &(f64, u32)| (count > 0).then(|| sum / f64::from(count));
        self.0.iter().map(mean).collect()
    }

    /// Number of scores, by measure.
    fn counts(&self) -> Vec<usize> {
        let counts = self.0.iter();
        counts
            .map(|(_, count)| usize::try_from(*count).unwrap_or(usize::MAX))
            .collect()
    }
}

/// Data to compute for every query.
pub(super) struct Plan<'o> {
    options: &'o Options,
    /// True if measures need more than the grades.
    whole_searches: bool,
    /// Cutoffs at which documents are counted.
    cutoffs: Vec<Cutoff>,
    /// Cutoffs of nDCG by cutoff; `None` without curves.
    curves: Option<Vec<Cutoff>>,
    /// Ranked measures with a target, by position; the others are `None`.
    perfect: Vec<Option<&'o Ranked>>,
}

impl<'o> Plan<'o> {
    fn new(options: &'o Options, answers: &Answers<'_, '_>) -> Self {
        Self::of_length(options, longest(answers))
    }

    /// Plan for rankings whose lengths are not known yet.
    pub(super) fn of_unknown_length(options: &'o Options) -> Self {
        Self::of_length(options, usize::MAX)
    }

    fn of_length(options: &'o Options, longest: usize) -> Self {
        let is_ranked = |measure: &Measure| matches!(measure, Measure::Ranked(_));
        Self {
            options,
            whole_searches: !options.measures.iter().all(is_ranked),
            cutoffs: micro::cutoffs(&options.measures),
            curves: options.curves.then(|| cutoffs_within(longest)),
            perfect: measures_with_targets(options),
        }
    }
}

fn measures_with_targets(options: &Options) -> Vec<Option<&Ranked>> {
    if options.targets.is_empty() {
        return Vec::new();
    }
    let measures = options.measures.iter().enumerate();
    let ranked = measures.map(|(at, measure)| match measure {
        Measure::Ranked(ranked) => {
            let has_target = options.targets.iter().any(|target| target.measure == at);
            has_target.then_some(ranked)
        }
        Measure::Component(_) | Measure::Diversity(_) | Measure::Routing(_) | Measure::User(_) => {
            None
        }
    });
    ranked.collect()
}

/// Data computed for one query.
pub(super) struct Outcome {
    query: QueryEvaluation,
    /// Document counts by cutoff.
    documents: Vec<Documents>,
    /// Values of the labels by which means are broken down.
    labels: Vec<Option<String>>,
    /// Points of the curves: precision by recall, then nDCG by cutoff.
    curves: Vec<Option<f64>>,
    /// Scores of a perfect ranking, by measure with a target.
    perfect: Vec<Option<f64>>,
    parts: Option<Parts>,
}

/// Data of a whole search in addition to its scores.
struct Parts {
    /// Statistics by component.
    components: Vec<ComponentFacts>,
    /// Expected and selected domain.
    routing: Option<(String, String)>,
    /// Pairs of the primary domain and a contributing domain.
    collaboration: Vec<(String, String)>,
}

/// Judges queries one after the other, in reused buffers.
pub(super) struct Judging<'p> {
    plan: &'p Plan<'p>,
    judge: Judge,
    ranking: Ranking,
}

impl<'p> Judging<'p> {
    pub(super) fn new(plan: &'p Plan<'p>) -> Self {
        Self {
            plan,
            judge: Judge::new(plan.options.rules.clone()),
            ranking: Ranking::new(),
        }
    }

    /// Returns true if only gold queries with a relevant document count.
    pub(super) fn has_relevant_only(&self) -> bool {
        self.plan.options.has_relevant
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
        let scores =
            measures.map(|it| it.and_then(|it| it.score(&self.ranking, &query.judgements)));
        scores.collect()
    }

    fn judged(&mut self, query: &GoldQuery, answer: Option<&Answer<'_>>) -> Outcome {
        match answer.map(|answer| &answer.results) {
            Some(Results::Documents(documents)) if !self.plan.whole_searches && !query.by_text => {
                let texts = documents.iter().map(|document| &**document);
                self.ranking.judge(texts, &query.judgements);
                let measures = self.plan.options.measures.iter();
                let scores = measures.map(|measure| match measure {
                    Measure::Ranked(measure) => measure.score(&self.ranking, &query.judgements),
                    Measure::Component(_)
                    | Measure::Diversity(_)
                    | Measure::Routing(_)
                    | Measure::User(_) => None,
                });
                let scores = scores.collect();
                let ids = || documents.iter().map(ToString::to_string).collect();
                let ids = self.plan.options.documents.then(ids);
                self.plan.outcome(query, &self.ranking, scores, None, ids)
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
        let mut outcome = self
            .plan
            .outcome(query, judged.ranking, scores, Some(search), ids);
        outcome.query.answered = answered;
        outcome.parts = answered.then(|| Parts::of(&judged));
        outcome
    }
}

impl Parts {
    fn of(judged: &Judged<'_>) -> Self {
        let cell = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let collaboration = routing::collaboration(judged).map(|(primary, contributors)| {
            let contributors = contributors.into_iter();
            let cells = contributors.map(|contributor| cell(primary, &contributor));
            cells.collect()
        });
        Self {
            components: judged
                .parts()
                .map(|part| component_facts(&part, judged))
                .collect(),
            routing: routing::confusion(judged)
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
    /// Computes the data of a query whose answer was judged.
    fn outcome(
        &self,
        query: &GoldQuery,
        ranking: &Ranking,
        scores: Vec<Option<f64>>,
        search: Option<&Search<'_>>,
        retrieved: Option<Vec<String>>,
    ) -> Outcome {
        let judgements = &query.judgements;
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let level = judgements.level();
        let grades = ranking.grades().iter().flatten();
        let found = grades.filter(|grade| grade.is_relevant_at(level)).count();
        let cutoffs = self.cutoffs.iter();
        let labels = self.options.by.iter();
        let curves = self.curves.as_ref();
        let curves = curves.map(|cutoffs| Curves::of(ranking, judgements, cutoffs));
        Outcome {
            query: QueryEvaluation {
                key: query.key.clone(),
                text: query.text.clone(),
                answered: true,
                retrieved: count(ranking.len()),
                relevant: count(judgements.relevant(None)),
                relevant_retrieved: count(found),
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
            perfect: Vec::new(),
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
    }
}

/// Totals over the queries of a run.
pub(super) struct Sums<'p> {
    plan: &'p Plan<'p>,
    queries: Vec<QueryEvaluation>,
    retrieved: u64,
    relevant: u64,
    relevant_retrieved: u64,
    /// Length of the longest ranking.
    longest: u64,
    means: Means,
    documents: Vec<Documents>,
    by: Vec<BTreeMap<String, (usize, Means)>>,
    curve_means: Means,
    perfect: Means,
    components: Vec<ComponentFacts>,
    routing: BTreeMap<(String, String), u64>,
    collaboration: BTreeMap<(String, String), u64>,
}

impl<'p> Sums<'p> {
    /// Empty totals, with capacity for `queries`.
    pub(super) fn new(plan: &'p Plan<'p>, queries: usize) -> Self {
        let components = plan.options.rules.components.iter();
        Self {
            plan,
            queries: Vec::with_capacity(queries),
            retrieved: 0,
            relevant: 0,
            relevant_retrieved: 0,
            longest: 0,
            means: Means::new(plan.options.measures.len()),
            documents: vec![Documents::default(); plan.cutoffs.len()],
            by: vec![BTreeMap::new(); plan.options.by.len()],
            curve_means: Means::new(plan.curves.as_ref().map_or(0, |it| LEVELS + it.len())),
            perfect: Means::new(plan.perfect.len()),
            components: components
                .map(|component| ComponentFacts {
                    name: component.name.clone(),
                    ..ComponentFacts::default()
                })
                .collect(),
            routing: BTreeMap::new(),
            collaboration: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, outcome: Outcome) {
        let query = outcome.query;
        self.longest = self.longest.max(query.retrieved);
        self.retrieved += query.retrieved;
        self.relevant += query.relevant;
        self.relevant_retrieved += query.relevant_retrieved;
        self.means.add(&query.scores);
        self.curve_means.add(&outcome.curves);
        self.perfect.add(&outcome.perfect);
        for (sum, documents) in self.documents.iter_mut().zip(outcome.documents) {
            *sum += documents;
        }
        for (value, values) in outcome.labels.into_iter().zip(&mut self.by) {
            if let Some(value) = value {
                let new = || (0, Means::new(query.scores.len()));
                let (queries, means) = values.entry(value).or_insert_with(new);
                *queries += 1;
                means.add(&query.scores);
            }
        }
        if let Some(parts) = outcome.parts {
            for (sum, facts) in self.components.iter_mut().zip(parts.components) {
                let cells = sum.trigger.iter_mut().flatten();
                for (sum, searches) in cells.zip(facts.trigger.into_iter().flatten()) {
                    *sum += searches;
                }
                for (sum, results) in sum.hops.iter_mut().zip(facts.hops) {
                    *sum += results;
                }
            }
            if let Some(cell) = parts.routing {
                *self.routing.entry(cell).or_default() += 1;
            }
            for cell in parts.collaboration {
                *self.collaboration.entry(cell).or_default() += 1;
            }
        }
        self.queries.push(query);
    }

    /// Returns the evaluation of the run with this name.
    pub(super) fn finish(self, name: String) -> RunEvaluation {
        let slices = self.plan.options.by.iter().zip(self.by);
        let curves = self.curve_means.finish();
        let (curve, ndcg) = curves.split_at(curves.len().min(LEVELS));
        let ndcg = CUTOFFS.into_iter().zip(ndcg);
        let longest = self.longest;
        let ndcg = ndcg.filter(|(cutoff, _)| u64::from(*cutoff) <= longest);
        RunEvaluation {
            name,
            tag: None,
            queries: self.queries,
            missing: Vec::new(),
            unknown: Vec::new(),
            retrieved: self.retrieved,
            relevant: self.relevant,
            relevant_retrieved: self.relevant_retrieved,
            scored: self.means.counts(),
            perfect: self.perfect.finish(),
            means: self.means.finish(),
            micro: self
                .plan
                .cutoffs
                .iter()
                .zip(self.documents)
                .map(|(cutoff, documents)| Micro {
                    cutoff: cutoff.get(),
                    true_positives: documents.true_positives,
                    false_positives: documents.false_positives,
                    false_negatives: documents.false_negatives,
                })
                .collect(),
            by: slices
                .map(|(name, values)| Slice {
                    name: name.clone(),
                    values: values
                        .into_iter()
                        .map(|(value, (queries, means))| SliceValue {
                            value,
                            queries,
                            scored: means.counts(),
                            means: means.finish(),
                        })
                        .collect(),
                })
                .collect(),
            curve: curve_of(curve),
            ndcg: ndcg
                .filter_map(|(cutoff, mean)| Some((cutoff, (*mean)?)))
                .collect(),
            components: self.components,
            routing: self.routing,
            collaboration: self.collaboration,
        }
    }
}

/// Returns the curve, if every level has a mean.
fn curve_of(means: &[Option<f64>]) -> Option<[f64; LEVELS]> {
    let means: Option<Vec<f64>> = means.iter().copied().collect();
    means?.try_into().ok()
}

/// Length of the longest ranking.
fn longest(answers: &Answers<'_, '_>) -> usize {
    let length = |answer: &Answer<'_>| match &answer.results {
        Results::Documents(documents) => documents.len(),
        Results::Search(search) => search.results.len(),
    };
    let lengths = answers.iter().flatten().map(|answer| length(answer));
    lengths.max().unwrap_or(0)
}

/// Cutoffs of nDCG by cutoff, up to the length of the longest ranking.
fn cutoffs_within(longest: usize) -> Vec<Cutoff> {
    let longest = u32::try_from(longest).unwrap_or(u32::MAX);
    let within = CUTOFFS.into_iter().filter(|cutoff| *cutoff <= longest);
    within.filter_map(Cutoff::new).collect()
}

/// Returns the gold query that an answer belongs to.
pub fn query_of(gold: &GoldSet, answer: &Answer<'_>) -> Option<QueryIndex> {
    let text = match &answer.results {
        Results::Search(search) => search.query.as_deref(),
        Results::Documents(_) => Some(&*answer.query),
    };
    gold.find(Some(&answer.query), text)
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
