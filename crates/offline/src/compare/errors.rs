//! Error analysis: what the worst queries of a run got wrong.
//!
//! Which queries are worst follows from the scores; what they retrieved and missed is for somebody
//! to say who has the rankings and the judgements.

use super::scores::RunScores;
use rankgauge_core::measure::direction::Direction;

/// What the worst queries of one run got wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorAnalysis {
    /// The run's name.
    pub run: String,
    /// The measure by which queries are worst.
    pub measure: String,
    /// So many results from the top are looked at.
    pub cutoff: u32,
    /// The worst queries, worst first.
    pub queries: Vec<WorstQuery>,
}

/// A query with a bad score.
#[derive(Clone, Debug, PartialEq)]
pub struct WorstQuery {
    /// Its key.
    pub query: String,
    /// Its score.
    pub score: f64,
    /// What it got wrong.
    pub errors: QueryErrors,
}

/// What one query got wrong.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryErrors {
    /// Its text, where the gold set has it.
    pub text: Option<String>,
    /// Results down to the cutoff that are not relevant, in the order of their ranks.
    pub false_positives: Vec<FalsePositive>,
    /// Relevant documents that are not among these results, the highest grade first.
    pub missed: Vec<Missed>,
}

/// A result that is not relevant.
#[derive(Clone, Debug, PartialEq)]
pub struct FalsePositive {
    /// Its rank, from 1.
    pub rank: u32,
    /// The document's id.
    pub document: String,
    /// Its grade; `None` where nobody judged it.
    pub grade: Option<f64>,
}

/// A relevant document that is not among the results down to the cutoff.
#[derive(Clone, Debug, PartialEq)]
pub struct Missed {
    /// The document's id.
    pub document: String,
    /// Its grade.
    pub grade: f64,
    /// Where it was found below the cutoff; `None` where it was not found at all.
    pub rank: Option<u32>,
}

/// The cutoff of a measure without one.
const USUAL_CUTOFF: u32 = 10;

impl ErrorAnalysis {
    /// How many results to look at for a measure: those that it looks at, `P@5`, else 10.
    pub fn cutoff_of(measure: &str) -> u32 {
        let cutoff = measure
            .rsplit_once('@')
            .and_then(|(_, cutoff)| cutoff.parse().ok());
        cutoff.unwrap_or(USUAL_CUTOFF)
    }

    /// The `count` worst queries of `run` by its measure `measure`; of equal scores, the lower id
    /// first. `errors_of` says what a query got wrong among the first `cutoff` results. `None`
    /// where the run lacks the measure, or the measure does not judge.
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
                .map(|(query, score)| WorstQuery {
                    query: query.clone(),
                    score,
                    errors: errors_of(query),
                })
                .collect(),
        })
    }
}
