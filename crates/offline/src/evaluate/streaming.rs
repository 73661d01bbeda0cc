//! Judging while reading: a part of a run is read while the one before is judged, and only the
//! outcomes stay in memory.

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use rustc_hash::FxHashSet;

use super::judging::{Judging, Outcome, Plan};
use super::sums::Sums;
use super::{Options, RunEvaluation, query_of};
use crate::run::{Answer, Part, PartParser, RunStream};
use rankgauge_core::gold::{GoldSet, QueryIndex};

/// Evaluation of a run that was judged while it was read.
#[derive(Clone, Debug)]
pub struct Streamed {
    /// Evaluation of the run.
    pub evaluation: RunEvaluation,
    /// Number of answers in the run.
    pub answers: usize,
}

/// Judged answer.
enum Judged {
    /// Answer to a gold query.
    Known(QueryIndex, Slot),
    /// Answer to another query.
    Unknown(String),
}

/// State of a gold query.
enum Slot {
    /// Not answered so far.
    Missing,
    /// Answered, and left out of the means.
    LeftOut,
    /// Judged.
    Judged(Box<Outcome>),
}

/// Judges `run` against `gold` while reading it. `None` if the file is not regular: a wrong line, or
/// a query whose lines are in several places. Then judge it as a whole, with
/// [`evaluate`](super::evaluate).
pub fn evaluate_stream(
    gold: &GoldSet,
    name: &str,
    mut run: RunStream,
    options: &Options,
) -> Option<Streamed> {
    let plan = Plan::new(options, usize::MAX);
    let parser = run.parser();
    let count = 4 * rayon::current_num_threads().max(1);
    let mut slots: Vec<Slot> = Vec::new();
    slots.resize_with(gold.queries().len(), || Slot::Missing);
    let mut unknown = Vec::new();
    let mut seen: FxHashSet<String> = FxHashSet::default();
    let mut answers = 0;
    let mut parts = run.parts(count)?;
    while !parts.is_empty() {
        let (next, judged) = rayon::join(
            || run.parts(count),
            || {
                let parts = parts.par_iter();
                let judged = parts.map_init(
                    || Judging::new(&plan),
                    |judging, part| judge(gold, &parser, part, judging),
                );
                judged.collect::<Option<Vec<Vec<Judged>>>>()
            },
        );
        for judged in judged?.into_iter().flatten() {
            answers += 1;
            match judged {
                Judged::Known(index, outcome) => {
                    let slot = slots.get_mut(index.position())?;
                    if !matches!(slot, Slot::Missing) {
                        return None;
                    }
                    *slot = outcome;
                }
                Judged::Unknown(query) => {
                    if !seen.insert(query.clone()) {
                        return None;
                    }
                    unknown.push(query);
                }
            }
        }
        parts = next?;
    }
    let mut sums = Sums::new(&plan, slots.len());
    let mut missing = Vec::new();
    let mut judging = Judging::new(&plan);
    for (query, slot) in gold.queries().iter().zip(slots) {
        match slot {
            Slot::LeftOut => {}
            Slot::Judged(outcome) => sums.add(*outcome),
            Slot::Missing if options.has_relevant && query.judgements.relevant(None) == 0 => {}
            Slot::Missing => {
                missing.push(query.key.clone());
                if options.complete {
                    sums.add(judging.outcome(query, None));
                }
            }
        }
    }
    Some(Streamed {
        evaluation: RunEvaluation {
            tag: run.tag().map(ToOwned::to_owned),
            missing,
            unknown,
            ..sums.finish(name.to_owned())
        },
        answers,
    })
}

/// Judges the answers of a part; `None` if a line is wrong.
fn judge(
    gold: &GoldSet,
    parser: &PartParser,
    part: &Part,
    judging: &mut Judging<'_>,
) -> Option<Vec<Judged>> {
    let mut judged = Vec::new();
    let take = |answer: &Answer<'_>| {
        judged.push(match query_of(gold, answer) {
            None => Judged::Unknown(answer.query.to_string()),
            Some(index) => {
                let query = gold.query(index);
                let counts = !judging.has_relevant_only() || query.judgements.relevant(None) > 0;
                let slot = if counts {
                    Slot::Judged(Box::new(judging.outcome(query, Some(answer))))
                } else {
                    Slot::LeftOut
                };
                Judged::Known(index, slot)
            }
        });
    };
    parser.parse(part, take).ok()?;
    Some(judged)
}
