//! Judging of a run that is in memory as a whole.

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::judging::{Judging, Outcome, Plan, query_of};
use super::sums::Sums;
use super::{AnsweredTwice, Options, RunEvaluation};
use crate::run::{Answer, Results, Run};
use rankgauge_core::gold::GoldSet;

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
    let plan = Plan::new(options, longest(&answers));
    // Queries are judged in parallel and added up in their order, because sums of floating-point
    // numbers depend on the order.
    let outcomes = counted.par_iter().map_init(
        || Judging::new(&plan),
        |judging, (query, answer)| judging.outcome(query, *answer),
    );
    let mut outcomes: Vec<Outcome> = outcomes.collect();
    let mut sums = Sums::new(&plan, outcomes.len());
    for outcome in &mut outcomes {
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

/// Length of the longest ranking.
fn longest(answers: &Answers<'_, '_>) -> usize {
    let length = |answer: &Answer<'_>| match &answer.results {
        Results::Documents(documents) => documents.len(),
        Results::Search(search) => search.results.len(),
    };
    let lengths = answers.iter().flatten().map(|answer| length(answer));
    lengths.max().unwrap_or(0)
}
