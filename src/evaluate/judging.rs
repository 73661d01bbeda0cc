//! One run against the gold set, query by query.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{
    AnsweredTwice, ComponentFacts, Micro, Options, QueryEvaluation, RunEvaluation, Slice,
    SliceValue,
};
use crate::event::{Id, Search};
use crate::gold::{GoldQuery, GoldSet};
use crate::measure::micro::{self, Documents};
use crate::measure::{Cutoff, Fraction, Gain, Ideal, Measure, Ranked, routing};
use crate::ranking::{Judge, Judged, Ranking};
use crate::run::{Answer, Results, Run};

/// Cutoffs of the picture of nDCG.
const CUTOFFS: [u32; 8] = [1, 2, 3, 5, 10, 20, 50, 100];

/// Judges `run` against `gold`.
pub(super) fn judge(
    gold: &GoldSet,
    run: &Run<'_>,
    options: &Options,
) -> Result<RunEvaluation, AnsweredTwice> {
    let (answers, unknown) = matched(gold, run)?;
    let mut sums = Sums::new(options, &answers);
    sums.tag.clone_from(&run.tag);
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
        sums.add(query, *answer);
    }
    Ok(sums.finish(run.name.clone(), missing, unknown))
}

/// By gold query, the answer to it.
type Answers<'r, 't> = Vec<Option<&'r Answer<'t>>>;

/// Finds the gold query of each answer; returns what the gold set does not know as well.
fn matched<'r, 't>(
    gold: &GoldSet,
    run: &'r Run<'t>,
) -> Result<(Answers<'r, 't>, Vec<String>), AnsweredTwice> {
    let mut answers: Answers<'r, 't> = vec![None; gold.queries().len()];
    let mut unknown = Vec::new();
    for answer in &run.answers {
        let text = match &answer.results {
            Results::Search(search) => search.query.as_deref(),
            Results::Documents(_) => Some(&*answer.query),
        };
        let Some(index) = gold.find(Some(&answer.query), text) else {
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
}

/// What is gathered over the queries of a run.
struct Sums<'o> {
    options: &'o Options,
    judge: Judge,
    /// Whether measures ask for more than the grades.
    whole_searches: bool,
    ranking: Ranking,
    queries: Vec<QueryEvaluation>,
    retrieved: u64,
    relevant: u64,
    relevant_retrieved: u64,
    tag: Option<String>,
    means: Means,
    cutoffs: Vec<Cutoff>,
    documents: Vec<Documents>,
    by: Vec<BTreeMap<String, (usize, Means)>>,
    pictures: Vec<Ranked>,
    picture_means: Means,
    components: Vec<ComponentFacts>,
    routing: BTreeMap<(String, String), u64>,
    collaboration: BTreeMap<(String, String), u64>,
}

impl<'o> Sums<'o> {
    fn new(options: &'o Options, answers: &Answers<'_, '_>) -> Self {
        let cutoffs = micro::cutoffs(&options.measures);
        let is_ranked = |measure: &Measure| matches!(measure, Measure::Ranked(_));
        let pictures = if options.pictures {
            pictures(answers)
        } else {
            Vec::new()
        };
        let components = options.rules.components.iter();
        Self {
            judge: Judge::new(options.rules.clone()),
            whole_searches: !options.measures.iter().all(is_ranked),
            ranking: Ranking::new(),
            queries: Vec::new(),
            retrieved: 0,
            relevant: 0,
            relevant_retrieved: 0,
            tag: None,
            means: Means::new(options.measures.len()),
            documents: vec![Documents::default(); cutoffs.len()],
            cutoffs,
            by: vec![BTreeMap::new(); options.by.len()],
            picture_means: Means::new(pictures.len()),
            pictures,
            components: components
                .map(|component| ComponentFacts {
                    name: component.name.clone(),
                    ..ComponentFacts::default()
                })
                .collect(),
            routing: BTreeMap::new(),
            collaboration: BTreeMap::new(),
            options,
        }
    }

    /// Judges the answer to one query; none at all is a list without results.
    fn add(&mut self, query: &GoldQuery, answer: Option<&Answer<'_>>) {
        match answer.map(|answer| &answer.results) {
            Some(Results::Documents(documents)) if !self.whole_searches && !query.by_text => {
                let mut ranking = std::mem::take(&mut self.ranking);
                let documents = documents.iter().map(|document| &**document);
                ranking.judge(documents, &query.judgements);
                let scores = self.options.measures.iter().map(|measure| match measure {
                    Measure::Ranked(measure) => measure.score(&ranking, &query.judgements),
                    Measure::Component(_)
                    | Measure::Diversity(_)
                    | Measure::Routing(_)
                    | Measure::People(_) => None,
                });
                let scores = scores.collect();
                self.count(query, &ranking, scores, true, None);
                self.ranking = ranking;
            }
            Some(Results::Documents(documents)) => {
                let ids = documents.iter();
                let documents = ids.map(|document| Id(Cow::Borrowed(&**document)));
                let search = Search::of_documents(Id(Cow::Borrowed("")), documents);
                self.add_search(query, &search, true);
            }
            Some(Results::Search(search)) => self.add_search(query, search, true),
            None => {
                let nothing = Search::of_documents(Id(Cow::Borrowed("")), std::iter::empty());
                self.add_search(query, &nothing, false);
            }
        }
    }

    fn add_search(&mut self, query: &GoldQuery, search: &Search<'_>, answered: bool) {
        let mut judge = std::mem::take(&mut self.judge);
        let judged = judge.judge(search, query);
        let measures = self.options.measures.iter();
        let scores = measures.map(|measure| measure.score(&judged)).collect();
        self.count(query, judged.ranking, scores, answered, Some(search));
        if answered {
            self.count_parts(&judged);
        }
        self.judge = judge;
    }

    fn count_parts(&mut self, judged: &Judged<'_>) {
        for (facts, part) in self.components.iter_mut().zip(judged.parts()) {
            if let Some(needed) = part.needed {
                facts.trigger[usize::from(needed)][usize::from(part.fired)] += 1;
            }
            for hops in part.hops(&judged.search.results) {
                let distance = usize::try_from(hops).unwrap_or(4).min(4);
                if let Some(index) = distance.checked_sub(1) {
                    facts.hops[index] += 1;
                }
            }
        }
        let cell = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        if let Some((expected, selected)) = routing::confusion(judged) {
            *self.routing.entry(cell(expected, selected)).or_default() += 1;
        }
        if let Some((primary, contributors)) = routing::collaboration(judged) {
            for contributor in contributors {
                let cell = cell(primary, &contributor);
                *self.collaboration.entry(cell).or_default() += 1;
            }
        }
    }

    fn count(
        &mut self,
        query: &GoldQuery,
        ranking: &Ranking,
        scores: Vec<Option<f64>>,
        answered: bool,
        search: Option<&Search<'_>>,
    ) {
        let judgements = &query.judgements;
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let level = judgements.level();
        let grades = ranking.grades().iter().flatten();
        let found = grades.filter(|grade| grade.reaches(level)).count();
        let retrieved = count(ranking.len());
        let relevant = count(judgements.relevant(None));
        let relevant_retrieved = count(found);
        self.retrieved += retrieved;
        self.relevant += relevant;
        self.relevant_retrieved += relevant_retrieved;
        self.means.add(&scores);
        for (sum, cutoff) in self.documents.iter_mut().zip(&self.cutoffs) {
            *sum += Documents::of(ranking, judgements, *cutoff);
        }
        for (label, values) in self.options.by.iter().zip(&mut self.by) {
            if let Some(value) = label_of(label, query, search) {
                let measures = self.options.measures.len();
                let slot = values.entry(value);
                let (queries, means) = slot.or_insert_with(|| (0, Means::new(measures)));
                *queries += 1;
                means.add(&scores);
            }
        }
        if !self.pictures.is_empty() {
            let pictures = self.pictures.iter();
            let scores: Vec<_> = pictures
                .map(|measure| measure.score(ranking, judgements))
                .collect();
            self.picture_means.add(&scores);
        }
        self.queries.push(QueryEvaluation {
            key: query.key.clone(),
            text: query.text.clone(),
            answered,
            retrieved,
            relevant,
            relevant_retrieved,
            scores,
        });
    }

    fn finish(self, name: String, missing: Vec<String>, unknown: Vec<String>) -> RunEvaluation {
        let slices = self.options.by.iter().zip(self.by);
        let pictures = self.picture_means.finish();
        let (curve, ndcg) = pictures.split_at(pictures.len().min(LEVELS));
        let ndcg = CUTOFFS.into_iter().zip(ndcg);
        RunEvaluation {
            name,
            tag: self.tag,
            queries: self.queries,
            missing,
            unknown,
            retrieved: self.retrieved,
            relevant: self.relevant,
            relevant_retrieved: self.relevant_retrieved,
            means: self.means.finish(),
            micro: self
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

/// The curve, where every level has a mean.
fn curve_of(means: &[Option<f64>]) -> Option<[f64; LEVELS]> {
    let means: Option<Vec<f64>> = means.iter().copied().collect();
    means?.try_into().ok()
}

/// Recall levels of the precision-recall curve.
const LEVELS: usize = 11;

/// The measures that pictures show: interpolated precision at every level, then nDCG at the cutoffs
/// up to the first that reaches the longest ranking.
fn pictures(answers: &Answers<'_, '_>) -> Vec<Ranked> {
    let length = |answer: &Answer<'_>| match &answer.results {
        Results::Documents(documents) => documents.len(),
        Results::Search(search) => search.results.len(),
    };
    let longest = answers.iter().flatten().map(|answer| length(answer)).max();
    let longest = u32::try_from(longest.unwrap_or(0)).unwrap_or(u32::MAX);
    let levels = (0_u32..).take(LEVELS);
    let curve = levels
        .filter_map(|level| Fraction::new(f64::from(level) / 10.0))
        .map(|recall| Ranked::InterpolatedPrecision { recall, rel: None });
    let within = CUTOFFS.into_iter().filter(|cutoff| *cutoff <= longest);
    let ndcg = within.filter_map(Cutoff::new).map(|cutoff| Ranked::Ndcg {
        cutoff: Some(cutoff),
        gain: Gain::Linear,
        ideal: Ideal::Judged,
    });
    curve.chain(ndcg).collect()
}

/// The value of a label: of the gold query, else of the search; `variant` is the search's.
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
