//! Totals over the judged queries of a run.

use std::collections::BTreeMap;
use std::iter;

use super::evaluation::{ComponentFacts, Micro, QueryEvaluation, RunEvaluation, Slice, SliceValue};
use super::judging::{CUTOFFS, Outcome, Plan};
use super::plane::Plane;
use rankgauge_core::measure::{BleuCounts, Curves, Documents, Mean, Measure};

/// Sum and number of the scores of a measure.
#[derive(Clone, Copy)]
struct Total {
    mean: Mean,
    /// Sum of the scores, or of their logarithms for a geometric mean.
    sum: f64,
    count: u32,
    /// Counts of the corpus, for [`Mean::Corpus`].
    corpus: BleuCounts,
}

/// Sum and number of scores, by measure.
#[derive(Clone)]
struct Means(Vec<Total>);

impl Means {
    fn new(means: impl IntoIterator<Item = Mean>) -> Self {
        let total = |mean| Total {
            mean,
            sum: 0.0,
            count: 0,
            corpus: BleuCounts::default(),
        };
        Self(means.into_iter().map(total).collect())
    }

    fn arithmetic(values: usize) -> Self {
        Self::new(iter::repeat_n(Mean::Arithmetic, values))
    }

    fn of(measures: &[Measure]) -> Self {
        Self::new(measures.iter().map(|measure| measure.descriptor().mean))
    }

    fn add(&mut self, scores: &[Option<f64>]) {
        self.add_each(scores.iter().copied());
    }

    /// Adds the counts of a query to those of its corpus.
    fn add_counts(&mut self, counts: BleuCounts) {
        let totals = self.0.iter_mut();
        for total in totals.filter(|total| total.mean == Mean::Corpus) {
            total.corpus += counts;
        }
    }

    fn add_each(&mut self, scores: impl Iterator<Item = Option<f64>>) {
        for (total, score) in self.0.iter_mut().zip(scores) {
            if let Some(score) = score {
                total.sum += match total.mean {
                    Mean::Arithmetic | Mean::Sum | Mean::Corpus => score,
                    Mean::Geometric => score.ln(),
                };
                total.count += 1;
            }
        }
    }

    fn finish(&self) -> Vec<Option<f64>> {
        let mean = |total: &Total| {
            let count = f64::from(total.count);
            (total.count > 0).then(|| match total.mean {
                Mean::Arithmetic => total.sum / count,
                Mean::Geometric => (total.sum / count).exp(),
                Mean::Sum => total.sum,
                Mean::Corpus => total.corpus.score(),
            })
        };
        self.0.iter().map(mean).collect()
    }

    /// Number of scores, by measure.
    fn counts(&self) -> Vec<usize> {
        let counts = self.0.iter();
        counts
            .map(|total| usize::try_from(total.count).unwrap_or(usize::MAX))
            .collect()
    }
}

/// Counts over the queries of a run. Unlike the other totals, they do not depend on the order of the
/// queries.
#[derive(Default)]
pub(super) struct Counts {
    /// Documents by cutoff.
    documents: Vec<Documents>,
    plane: Plane,
}

impl Counts {
    /// Moves the counts of a query here.
    pub(super) fn take(&mut self, outcome: &mut Outcome) {
        self.add_documents(&std::mem::take(&mut outcome.documents));
        self.plane.add(&std::mem::take(&mut outcome.plane));
    }

    /// Adds the counts of other queries.
    fn merge(&mut self, other: &Self) {
        self.add_documents(&other.documents);
        self.plane.merge(&other.plane);
    }

    fn add_documents(&mut self, documents: &[Documents]) {
        let length = self.documents.len().max(documents.len());
        self.documents.resize(length, Documents::default());
        for (sum, documents) in self.documents.iter_mut().zip(documents) {
            *sum += *documents;
        }
    }
}

/// Totals over the queries of a run.
pub(super) struct Sums<'p> {
    plan: &'p Plan<'p>,
    /// Queries with their positions in the gold set.
    queries: Vec<(usize, QueryEvaluation)>,
    retrieved: u64,
    relevant: u64,
    relevant_retrieved: u64,
    /// Length of the longest ranking.
    longest: u64,
    means: Means,
    /// Lowest and highest scores.
    bounds: [Means; 2],
    counts: Counts,
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
            means: Means::of(&plan.options.measures),
            bounds: [0, 1].map(|_| Means::arithmetic(plan.options.measures.len())),
            counts: Counts {
                documents: vec![Documents::default(); plan.cutoffs.len()],
                plane: Plane::default(),
            },
            by: vec![BTreeMap::new(); plan.options.by.len()],
            curve_means: Means::arithmetic(
                plan.curves
                    .as_ref()
                    .map_or(0, |it| Curves::LEVELS + it.len()),
            ),
            perfect: match plan.perfect.len() {
                0 => Means::arithmetic(0),
                _ => Means::of(&plan.options.measures),
            },
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

    /// Adds the query at this position in the gold set. What is left of its outcome has no meaning.
    pub(super) fn add(&mut self, position: usize, outcome: &mut Outcome) {
        self.counts.take(outcome);
        let query = std::mem::take(&mut outcome.query);
        self.longest = self.longest.max(query.retrieved);
        self.retrieved += query.retrieved;
        self.relevant += query.relevant;
        self.relevant_retrieved += query.relevant_retrieved;
        self.means.add(&query.scores);
        if let Some(counts) = outcome.bleu {
            self.means.add_counts(counts);
        }
        let [low, high] = &mut self.bounds;
        low.add_each(query.bounds.iter().map(|it| it.map(|[low, _]| low)));
        high.add_each(query.bounds.iter().map(|it| it.map(|[_, high]| high)));
        self.curve_means.add(&outcome.curves);
        self.perfect.add(&outcome.perfect);
        for (value, values) in outcome.labels.drain(..).zip(&mut self.by) {
            if let Some(value) = value {
                let new = || (0, Means::of(&self.plan.options.measures));
                let (queries, means) = values.entry(value).or_insert_with(new);
                *queries += 1;
                means.add(&query.scores);
                if let Some(counts) = outcome.bleu {
                    means.add_counts(counts);
                }
            }
        }
        if let Some(parts) = outcome.parts.take() {
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
        self.queries.push((position, query));
    }

    /// Adds counts that were taken from outcomes.
    pub(super) fn add_counts(&mut self, counts: &Counts) {
        self.counts.merge(counts);
    }

    /// Returns the evaluation of the run with this name.
    pub(super) fn finish(mut self, name: String) -> RunEvaluation {
        self.queries.sort_by_key(|(position, _)| *position);
        let slices = self.plan.options.by.iter().zip(self.by);
        let curves = self.curve_means.finish();
        let (curve, ndcg) = curves.split_at(curves.len().min(Curves::LEVELS));
        let ndcg = CUTOFFS.into_iter().zip(ndcg);
        let longest = self.longest;
        let ndcg = ndcg.filter(|(cutoff, _)| u64::from(*cutoff) <= longest);
        RunEvaluation {
            name,
            tag: None,
            queries: self.queries.into_iter().map(|(_, query)| query).collect(),
            missing: Vec::new(),
            unknown: Vec::new(),
            not_eligible: 0,
            retrieved: self.retrieved,
            relevant: self.relevant,
            relevant_retrieved: self.relevant_retrieved,
            scored: self.means.counts(),
            bounds: bounds_of(&self.bounds),
            perfect: self.perfect.finish(),
            means: self.means.finish(),
            micro: self
                .plan
                .cutoffs
                .iter()
                .zip(self.counts.documents)
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
            points: self.counts.plane.points(),
            components: self.components,
            routing: self.routing,
            collaboration: self.collaboration,
        }
    }
}

/// Mean bounds, by measure.
fn bounds_of([low, high]: &[Means; 2]) -> Vec<Option<[f64; 2]>> {
    let ends = low.finish().into_iter().zip(high.finish());
    ends.map(|(low, high)| Some([low?, high?])).collect()
}

/// Returns the curve, if every level has a mean.
fn curve_of(means: &[Option<f64>]) -> Option<[f64; Curves::LEVELS]> {
    let means: Option<Vec<f64>> = means.iter().copied().collect();
    means?.try_into().ok()
}
