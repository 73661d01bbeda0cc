//! Error analysis of the worst queries of a run.
//!
//! The scores determine which queries are worst. The caller, who has the rankings and the
//! judgements, supplies the retrieved and missed documents.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use super::hard_slices::{HardSlice, hard_slices};
use super::labels::Labels;
use super::patterns::Pattern;
use super::scores::RunScores;
use crate::evaluate::QueryAnswer;
use rankgauge_core::measure::direction::Direction;

/// Errors of one run in its worst queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorAnalysis {
    /// Name of the run.
    pub run: String,
    /// Measure by which the worst queries are chosen.
    pub measure: String,
    /// Number of results examined, from the top.
    pub cutoff: u32,
    /// Number of queries with a score.
    pub scored: usize,
    /// Number of queries without a perfect score.
    pub imperfect: usize,
    /// Failure patterns of these queries, most frequent first. A query can have several.
    pub patterns: Vec<PatternCount>,
    /// Slices in which the run scores lower than elsewhere.
    pub hard_slices: Vec<HardSlice>,
    /// Worst queries without a perfect score, worst first.
    pub queries: Vec<WorstQuery>,
}

/// Frequency of a failure pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PatternCount {
    /// Pattern.
    pub pattern: Pattern,
    /// Number of queries with the pattern.
    pub queries: usize,
    /// Keys of the first of these queries, worst first.
    pub examples: Vec<String>,
}

/// Query with a bad score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstQuery {
    /// Key of the query.
    pub query: String,
    /// Text of the query, if the gold set has it.
    pub text: Option<String>,
    /// Score of the query.
    pub score: f64,
    /// Number of results.
    pub retrieved: usize,
    /// Failure patterns of the query.
    pub patterns: Vec<Pattern>,
    /// Results down to the cutoff that are relevant, in rank order.
    pub found: Vec<Found>,
    /// Results down to the cutoff that are not relevant, in rank order.
    pub false_positives: Vec<FalsePositive>,
    /// Relevant documents that are not among these results, highest grade first.
    pub missed: Vec<Missed>,
    /// Answer that a model gave from the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<QueryAnswer>,
}

/// Errors in the answer to one query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryErrors {
    /// Text of the query, if the gold set has it.
    pub text: Option<String>,
    /// Number of results.
    pub retrieved: usize,
    /// Failure patterns of the query.
    pub patterns: Vec<Pattern>,
    /// Results down to the cutoff that are relevant, in rank order.
    pub found: Vec<Found>,
    /// Results down to the cutoff that are not relevant, in rank order.
    pub false_positives: Vec<FalsePositive>,
    /// Relevant documents that are not among these results, highest grade first.
    pub missed: Vec<Missed>,
    /// Answer that a model gave from the results.
    pub answer: Option<QueryAnswer>,
}

/// Result that is relevant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// Rank, from 1.
    pub rank: u32,
    /// Id of the document.
    pub document: String,
    /// Grade of the document.
    pub grade: f64,
}

/// Result that is not relevant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FalsePositive {
    /// Rank, from 1.
    pub rank: u32,
    /// Id of the document.
    pub document: String,
    /// Grade; `None` if the document is not judged.
    pub grade: Option<f64>,
}

/// Relevant document that is not among the results down to the cutoff, nor at its rank in a perfect
/// ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Missed {
    /// Id of the document.
    pub document: String,
    /// Grade of the document.
    pub grade: f64,
    /// Rank below the cutoff; `None` if the document was not retrieved.
    pub rank: Option<u32>,
    /// Rank in a perfect ranking, the best one among documents of the same grade.
    pub expected_rank: u32,
}

/// Maximum number of examples of a pattern.
const MAX_EXAMPLES: usize = 5;

/// Tolerance for a perfect score.
const ROUNDING: f64 = 1e-12;

/// Cutoff for measures without one.
const DEFAULT_CUTOFF: u32 = 10;

/// Scores of the queries of a run by a measure, by key. `None` if the run lacks the measure.
fn scores_of<'r>(run: &'r RunScores, measure: &str) -> Option<Vec<(&'r String, f64)>> {
    let position = run.measures.iter().position(|known| known == measure)?;
    let queries = run.queries.iter();
    let scores = queries.filter_map(|(query, scores)| Some((query, (*scores.get(position)?)?)));
    Some(scores.collect())
}

/// Preference between the scores of a measure.
pub(super) struct Preference {
    /// 1 if higher is better, else -1.
    sign: f64,
    perfect: Option<f64>,
}

impl Preference {
    /// Preference of a measure, by its name; `None` without a preferred direction.
    pub(super) fn of(measure: &str) -> Option<Self> {
        let sign = match Direction::of(measure) {
            Direction::Up => 1.0,
            Direction::Down => -1.0,
            Direction::Neither => return None,
        };
        let perfect = Direction::perfect(measure);
        Some(Self { sign, perfect })
    }

    pub(super) fn is_perfect(&self, score: f64) -> bool {
        let perfect = self.perfect.map(|perfect| self.sign * perfect - ROUNDING);
        perfect.is_some_and(|perfect| self.sign * score >= perfect)
    }

    /// Compares two scores, the worse first.
    pub(super) fn compare(&self, one: f64, other: f64) -> Ordering {
        (self.sign * one).total_cmp(&(self.sign * other))
    }
}

impl ErrorAnalysis {
    /// Number of results to examine for a measure: its own cutoff, as in `P@5`, else 10.
    pub fn cutoff_of(measure: &str) -> u32 {
        let cutoff = measure
            .rsplit_once('@')
            .and_then(|(_, cutoff)| cutoff.parse().ok());
        cutoff.unwrap_or(DEFAULT_CUTOFF)
    }

    /// Analyses the queries of `run` without a perfect score by `measure`, and lists the `count`
    /// worst; of equal scores, the lower id first. `errors_of` returns the errors of a query among
    /// the first `cutoff` results. `None` if the run lacks the measure, or if the measure has no
    /// preferred direction.
    pub fn of(
        run: &RunScores,
        measure: &str,
        cutoff: u32,
        count: usize,
        labels: &Labels,
        mut errors_of: impl FnMut(&str) -> QueryErrors,
    ) -> Option<Self> {
        let mut scores = scores_of(run, measure)?;
        let hard_slices = hard_slices(&scores, labels, Direction::of(measure));
        let all = scores.len();
        let preference = Preference::of(measure)?;
        scores.retain(|(_, score)| !preference.is_perfect(*score));
        scores.sort_by(|(_, one), (_, other)| preference.compare(*one, *other));
        let mut patterns: BTreeMap<Pattern, (usize, Vec<String>)> = BTreeMap::new();
        let mut queries = Vec::new();
        for (query, score) in &scores {
            let errors = errors_of(query);
            for pattern in &errors.patterns {
                let (number, examples) = patterns.entry(pattern.clone()).or_default();
                *number += 1;
                if examples.len() < MAX_EXAMPLES {
                    examples.push((*query).clone());
                }
            }
            if queries.len() < count {
                queries.push(WorstQuery {
                    query: (*query).clone(),
                    text: errors.text,
                    score: *score,
                    retrieved: errors.retrieved,
                    patterns: errors.patterns,
                    found: errors.found,
                    false_positives: errors.false_positives,
                    missed: errors.missed,
                    answer: errors.answer,
                });
            }
        }
        let mut patterns: Vec<PatternCount> = patterns
            .into_iter()
            .map(|(pattern, (queries, examples))| PatternCount {
                pattern,
                queries,
                examples,
            })
            .collect();
        patterns.sort_by_key(|it| std::cmp::Reverse(it.queries));
        Some(Self {
            run: run.name.clone(),
            measure: measure.to_owned(),
            cutoff,
            scored: all,
            imperfect: scores.len(),
            patterns,
            hard_slices,
            queries,
        })
    }
}
