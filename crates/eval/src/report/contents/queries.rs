//! Tables of the queries of each run.

use crate::evaluate::{Evaluation, QueryEvaluation};
use crate::operations::Operations;
use crate::report::document::{Block, Cell, Rows};
use crate::report::headline::headline_of;
use crate::report::names::{long_name as name, run_name};
use crate::text_layout::count_of;
use rankgauge_core::measure::direction::Direction;

/// Maximum number of measures in a table that does not list all queries.
const MAX_MEASURES: usize = 10;

/// Measures of a table, by position. Of more than [`MAX_MEASURES`], the first with a score, with the
/// headline measure among them, unless `is_complete`.
fn measures(
    evaluation: &Evaluation,
    queries: &[&QueryEvaluation],
    is_complete: bool,
) -> Vec<usize> {
    let has_score = |measure: &usize| {
        let mut queries = queries.iter();
        queries.any(|query| query.scores.get(*measure).is_some_and(Option::is_some))
    };
    if is_complete || evaluation.measures.len() <= MAX_MEASURES {
        return (0..evaluation.measures.len()).collect();
    }
    let mut measures: Vec<usize> = (0..evaluation.measures.len()).filter(has_score).collect();
    let headline = headline_of(evaluation);
    let headline = measures
        .iter()
        .position(|measure| Some(*measure) == headline);
    if let Some(at) = headline.filter(|at| *at >= MAX_MEASURES) {
        measures.swap(MAX_MEASURES - 1, at);
    }
    measures.truncate(MAX_MEASURES);
    measures
}

/// One table for each run. If there are more than `most` queries, only the worst by the headline
/// measure.
pub(super) fn tables(
    evaluation: &Evaluation,
    operations: &[Operations],
    most: usize,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    for run in evaluation.runs.iter().filter(|run| !run.queries.is_empty()) {
        let mut queries: Vec<_> = run.queries.iter().collect();
        let mut which = "Scores of all queries".to_owned();
        if let Some(measure) = headline_of(evaluation).filter(|_| queries.len() > most) {
            let direction = Direction::of(&evaluation.measures[measure]);
            queries.sort_by(|a, b| {
                let score = |scores: &[Option<f64>]| scores.get(measure).copied().flatten();
                match (score(&a.scores), score(&b.scores)) {
                    (Some(a), Some(b)) if direction == Direction::Down => b.total_cmp(&a),
                    (Some(a), Some(b)) => a.total_cmp(&b),
                    // A query without a score is not among the worst.
                    (a, b) => b.is_some().cmp(&a.is_some()),
                }
            });
            which = format!(
                "Scores of the {most} worst of {} queries by {}",
                queries.len(),
                evaluation.measures[measure]
            );
        } else if queries.len() > most {
            which = format!("Scores of the first {most} of {} queries", queries.len());
        }
        queries.truncate(most);
        let with_text = queries.iter().any(|query| query.text.is_some());
        let operations = operations.iter().find(|of| of.run == run.name);
        let latency = |key: &str| operations?.queries.get(key)?.latency_ms;
        let with_latency = queries.iter().any(|query| latency(&query.key).is_some());
        let measures = measures(evaluation, &queries, most == usize::MAX);
        let left_out = evaluation.measures.len() - measures.len();
        let scores = Rows::of(queries)
            .column("query", |query| {
                let answered = if query.answered { "" } else { " (missing)" };
                format!("{}{answered}", name(&query.key))
            })
            .column_if(with_text, "text", |query| {
                name(query.text.as_deref().unwrap_or(""))
            })
            .column("retrieved", |query| query.retrieved)
            .column("relevant", |query| query.relevant)
            .column("found", |query| query.relevant_retrieved)
            .column_if(with_latency, "latency in ms", |query| {
                Cell::optional(latency(&query.key), |it| format!("{it:.0}"))
            })
            .columns(
                measures,
                |at| evaluation.measures[*at].clone(),
                |query, at| query.scores.get(*at).copied().flatten(),
            );
        let caption = format!("{which}: {}", run_name(run));
        let heads = if with_text { 2 } else { 1 };
        blocks.push(Block::Table(scores.table(caption, heads)));
        if left_out > 0 {
            blocks.push(Block::Paragraph(format!(
                "{} not shown: without a score, or beyond the width of this table. JSON and CSV have all.",
                count_of(left_out, "measure is", "measures are")
            )));
        }
    }
    blocks
}
