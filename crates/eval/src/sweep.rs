//! Sweep of the score threshold: the score from which results are kept, with the best F1.
//!
//! At each threshold a query keeps its results with at least this score. Precision is over the kept
//! results, recall over the relevant documents, and F1 is that of the query; the means are over
//! queries. A query without kept results scores 0. Of thresholds with equal F1, the highest is best,
//! because it keeps the fewest results.

use serde::Serialize;

use crate::evaluate::Options;
use crate::run::{Answer, Place, Places, Results};
use rankgauge_core::gold::{GoldQuery, GoldSet};
use rankgauge_core::ranking::{Judge, Ranking};

/// Maximum number of thresholds in a [`Sweep`].
const MAX_POINTS: usize = 20;

/// Difference of two means of F1 that is rounding.
const ROUNDING: f64 = 1e-12;

/// Thresholds of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// Name of the run.
    pub run: String,
    /// Number of queries behind the means.
    pub queries: usize,
    /// Number of different scores.
    pub thresholds: usize,
    /// Threshold with the best F1.
    pub best: Point,
    /// All results kept: the threshold is the lowest score.
    pub all: Point,
    /// Thresholds in equal steps over the different scores, highest first.
    pub points: Vec<Point>,
}

/// Means at one threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Lowest score that is kept.
    pub threshold: f64,
    /// Mean F1.
    pub f1: f64,
    /// Mean precision of the kept results.
    pub precision: f64,
    /// Mean recall.
    pub recall: f64,
    /// Mean number of kept results.
    pub kept: f64,
}

/// Error: a result has no score.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "run {run}, line {line}: a result of query `{query}` has no score, which --sweep-threshold \
     requires; add it to every result"
)]
pub struct WithoutScore {
    /// Name of the run.
    pub run: String,
    /// Key or text of the query.
    pub query: String,
    /// Line of the answer.
    pub line: usize,
}

/// Result of a query.
struct Scored {
    score: f64,
    query: usize,
    is_relevant: bool,
}

/// Kept results of a query.
#[derive(Clone, Copy, Default)]
struct Kept {
    results: u32,
    found: u32,
    relevant: u32,
}

impl Kept {
    fn f1(self) -> f64 {
        let both = f64::from(self.results) + f64::from(self.relevant);
        2.0 * f64::from(self.found) / both.max(1.0)
    }

    fn precision(self) -> f64 {
        f64::from(self.found) / f64::from(self.results.max(1))
    }

    fn recall(self) -> f64 {
        f64::from(self.found) / f64::from(self.relevant.max(1))
    }
}

/// Collector of the scores and the relevance of results.
pub(crate) struct Collector {
    complete: bool,
    has_relevant: bool,
    judge: Judge,
    ranking: Ranking,
    /// Number of gold queries that the run answers.
    answered: usize,
    /// Answers of counted queries.
    answers: Vec<Counted>,
    /// First answer with a result without a score, and its query.
    without_score: Option<(Place, String)>,
}

/// Answer of a counted query: its place, the number of relevant documents, and scores and relevance of
/// its results.
type Counted = (Place, u32, Vec<(f64, bool)>);

impl Collector {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            complete: options.complete,
            has_relevant: options.has_relevant,
            judge: Judge::new(options.rules.clone()),
            ranking: Ranking::new(),
            answered: 0,
            answers: Vec::new(),
            without_score: None,
        }
    }

    /// Adds the answer to a gold query.
    pub(crate) fn add(&mut self, place: Place, query: &GoldQuery, answer: &Answer<'_>) {
        self.answered += 1;
        let relevant = size(query.judgements.relevant(None));
        if self.has_relevant && relevant == 0 {
            return;
        }
        let Some(scores) = scores_of(answer) else {
            let found = (place, answer.query.to_string());
            self.without_score = self.without_score.take().into_iter().chain([found]).min();
            return;
        };
        let found = relevance(answer, query, &mut self.judge, &mut self.ranking);
        let results = scores.zip(found).collect();
        self.answers.push((place, relevant, results));
    }

    /// Answers of both.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.answered += other.answered;
        self.answers.extend(other.answers);
        let without = self.without_score.into_iter().chain(other.without_score);
        self.without_score = without.min();
        self
    }

    /// Sweep of the run `name`; `None` if it has no result of a counted query.
    pub(crate) fn finish(
        mut self,
        name: &str,
        gold: &GoldSet,
        places: &Places,
    ) -> Result<Option<Sweep>, WithoutScore> {
        if let Some((place, query)) = self.without_score {
            return Err(WithoutScore {
                run: name.to_owned(),
                query,
                line: places.line(place),
            });
        }
        // Sums of floating-point numbers depend on the order.
        self.answers.sort_by_key(|(place, ..)| *place);
        let mut queries: Vec<Kept> = Vec::new();
        let mut results: Vec<Scored> = Vec::new();
        for (query, (_, relevant, of_answer)) in self.answers.into_iter().enumerate() {
            results.extend(of_answer.into_iter().map(|(score, is_relevant)| Scored {
                score,
                query,
                is_relevant,
            }));
            queries.push(Kept {
                relevant,
                ..Kept::default()
            });
        }
        if self.complete && !self.has_relevant {
            let missing = gold.queries().len().saturating_sub(self.answered);
            queries.resize(queries.len() + missing, Kept::default());
        } else if self.complete {
            let with = gold.queries().iter();
            let with = with.filter(|query| query.judgements.relevant(None) > 0);
            queries.resize(with.count().max(queries.len()), Kept::default());
        }
        Ok(points(&mut queries, results).map(|points| {
            let best = best(&points);
            Sweep {
                run: name.to_owned(),
                queries: queries.len(),
                thresholds: points.len(),
                best,
                all: points.last().copied().unwrap_or(best),
                points: thinned(&points, best),
            }
        }))
    }
}

/// Scores of the results, in order; `None` if one has no score.
fn scores_of<'a>(answer: &'a Answer<'_>) -> Option<Box<dyn Iterator<Item = f64> + 'a>> {
    match &answer.results {
        Results::Documents(documents) => (documents.len() == answer.scores.len())
            .then(|| -> Box<dyn Iterator<Item = f64>> { Box::new(answer.scores.iter().copied()) }),
        Results::Search(search) => {
            let hits = &search.results;
            hits.iter()
                .all(|hit| hit.score.is_some())
                .then(|| -> Box<dyn Iterator<Item = f64>> {
                    Box::new(hits.iter().filter_map(|hit| Some(hit.score?.get())))
                })
        }
    }
}

/// Relevance of the results, in order.
fn relevance(
    answer: &Answer<'_>,
    query: &GoldQuery,
    judge: &mut Judge,
    ranking: &mut Ranking,
) -> Vec<bool> {
    let level = query.judgements.level();
    let flags = |ranking: &Ranking| {
        let grades = ranking.grades().iter();
        grades
            .map(|grade| grade.is_some_and(|grade| grade.is_relevant_at(level)))
            .collect()
    };
    match &answer.results {
        Results::Documents(documents) => {
            ranking.judge(documents.iter().map(|it| &**it), &query.judgements);
            flags(ranking)
        }
        Results::Search(search) => flags(judge.judge(search, query).ranking),
    }
}

/// Means at every threshold, highest first; `None` without results.
fn points(queries: &mut [Kept], mut results: Vec<Scored>) -> Option<Vec<Point>> {
    results.sort_by(|a, b| b.score.total_cmp(&a.score));
    results.first()?;
    let number = f64::from(size(queries.len())).max(1.0);
    let (mut f1, mut precision, mut recall, mut kept) = (0.0, 0.0, 0.0, 0.0);
    let mut points = Vec::new();
    let same = |a: &Scored, b: &Scored| a.score.total_cmp(&b.score).is_eq();
    for group in results.chunk_by(same) {
        for result in group {
            let Some(query) = queries.get_mut(result.query) else {
                continue;
            };
            let before = *query;
            query.results += 1;
            query.found += u32::from(result.is_relevant);
            f1 += query.f1() - before.f1();
            precision += query.precision() - before.precision();
            recall += query.recall() - before.recall();
            kept += 1.0;
        }
        points.extend(group.first().map(|first| Point {
            threshold: first.score,
            f1: f1 / number,
            precision: precision / number,
            recall: recall / number,
            kept: kept / number,
        }));
    }
    Some(points)
}

/// Point with the highest F1, the first of those that tie.
fn best(points: &[Point]) -> Point {
    let none = Point {
        threshold: 0.0,
        f1: -1.0,
        precision: 0.0,
        recall: 0.0,
        kept: 0.0,
    };
    points.iter().fold(none, |best, point| {
        if point.f1 > best.f1 + ROUNDING {
            *point
        } else {
            best
        }
    })
}

/// Points in equal steps, with the first, the best and the last.
fn thinned(points: &[Point], best: Point) -> Vec<Point> {
    let step = points.len().div_ceil(MAX_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.iter().enumerate().filter(|(at, point)| {
        at.is_multiple_of(step) || *at == last || point.threshold.total_cmp(&best.threshold).is_eq()
    });
    kept.map(|(_, point)| *point).collect()
}

/// Count as a number, at most `u32::MAX`, which no run reaches.
fn size(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
