//! Error analysis of the worst queries of a run.
//!
//! The scores determine which queries are worst. The caller, who has the rankings and the
//! judgements, supplies the retrieved and missed documents.

use serde::Serialize;

use super::scores::RunScores;
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
    /// Worst queries, worst first.
    pub queries: Vec<WorstQuery>,
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
    /// Results down to the cutoff that are not relevant, in rank order.
    pub false_positives: Vec<FalsePositive>,
    /// Relevant documents that are not among these results, highest grade first.
    pub missed: Vec<Missed>,
}

/// Errors in the answer to one query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryErrors {
    /// Text of the query, if the gold set has it.
    pub text: Option<String>,
    /// Results down to the cutoff that are not relevant, in rank order.
    pub false_positives: Vec<FalsePositive>,
    /// Relevant documents that are not among these results, highest grade first.
    pub missed: Vec<Missed>,
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

/// Relevant document that is not among the results down to the cutoff.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Missed {
    /// Id of the document.
    pub document: String,
    /// Grade of the document.
    pub grade: f64,
    /// Rank below the cutoff; `None` if the document was not retrieved.
    pub rank: Option<u32>,
}

/// Cutoff for measures without one.
const DEFAULT_CUTOFF: u32 = 10;

impl ErrorAnalysis {
    /// Number of results to examine for a measure: its own cutoff, as in `P@5`, else 10.
    pub fn cutoff_of(measure: &str) -> u32 {
        let cutoff = measure
            .rsplit_once('@')
            .and_then(|(_, cutoff)| cutoff.parse().ok());
        cutoff.unwrap_or(DEFAULT_CUTOFF)
    }

    /// Returns the `count` worst queries of `run` by `measure`; of equal scores, the lower id
    /// first. `errors_of` returns the errors of a query among the first `cutoff` results. `None` if
    /// the run lacks the measure, or if the measure has no preferred direction.
    pub fn of(
        run: &RunScores,
        measure: &str,
        cutoff: u32,
        count: usize,
        mut errors_of: impl FnMut(&str) -> QueryErrors,
    ) -> Option<Self> {
        let position = run.measures.iter().position(|known| known == measure)?;
        let sign = match Direction::of(measure) {
            Direction::Up => 1.0,
            Direction::Down => -1.0,
            Direction::Neither => return None,
        };
        let mut scores: Vec<(&String, f64)> = run
            .queries
            .iter()
            .filter_map(|(query, scores)| Some((query, (*scores.get(position)?)?)))
            .collect();
        scores.sort_by(|(_, one), (_, other)| (sign * one).total_cmp(&(sign * other)));
        let worst = scores.into_iter().take(count);
        Some(Self {
            run: run.name.clone(),
            measure: measure.to_owned(),
            cutoff,
            queries: worst
                .map(|(query, score)| {
                    let errors = errors_of(query);
                    WorstQuery {
                        query: query.clone(),
                        text: errors.text,
                        score,
                        false_positives: errors.false_positives,
                        missed: errors.missed,
                    }
                })
                .collect(),
        })
    }
}
