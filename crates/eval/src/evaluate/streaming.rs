//! Judging while reading: every thread reads the next part of a run and judges it, and only the
//! outcomes stay in memory.

use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use super::judging::{Judging, Outcome, Plan};
use super::sums::{Counts, Sums};
use super::{Options, RunEvaluation, query_of};
use crate::run::{Answer, RunStream};
use rankgauge_core::gold::{GoldSet, QueryIndex};

/// Evaluation of a run that was judged while it was read.
#[derive(Clone, Debug)]
pub struct Streamed {
    /// Evaluation of the run.
    pub evaluation: RunEvaluation,
    /// Number of answers in the run.
    pub answers: usize,
}

/// Judged answers of some parts of a run.
struct Judged<'p> {
    gold: &'p GoldSet,
    /// True for each gold query that is answered in any part.
    answered: &'p [AtomicBool],
    judging: Judging<'p>,
    /// Answers to gold queries.
    known: Vec<(QueryIndex, Slot)>,
    /// Other queries that are answered, with the numbers of their parts and within these parts.
    unknown: FxHashMap<String, (usize, usize)>,
    /// Counts of all outcomes.
    counts: Counts,
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
    run: RunStream,
    options: &Options,
) -> Option<Streamed> {
    let plan = Plan::new(options, usize::MAX);
    let tag = run.tag().map(ToOwned::to_owned);
    let queries = gold.queries().iter();
    let answered: Vec<AtomicBool> = queries.map(|_| AtomicBool::new(false)).collect();
    let judged = run.each_answer(|| Judged::new(gold, &answered, &plan), Judged::answer)?;
    let mut slots: Vec<Slot> = Vec::new();
    slots.resize_with(gold.queries().len(), || Slot::Missing);
    let mut sums = Sums::new(&plan, slots.len());
    let mut unknown: Vec<(String, (usize, usize))> = Vec::new();
    let mut answers = 0;
    for judged in judged {
        answers += judged.known.len() + judged.unknown.len();
        for (index, outcome) in judged.known {
            *slots.get_mut(index.position())? = outcome;
        }
        unknown.extend(judged.unknown);
        sums.add_counts(&judged.counts);
    }
    unknown.sort_by_key(|(_, position)| *position);
    let unknown: Vec<String> = unknown.into_iter().map(|(query, _)| query).collect();
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    if !unknown.iter().all(|query| seen.insert(query)) {
        return None;
    }
    let mut missing = Vec::new();
    let mut judging = Judging::new(&plan);
    for (query, slot) in gold.queries().iter().zip(&mut slots) {
        match slot {
            Slot::LeftOut => {}
            Slot::Judged(outcome) => sums.add(outcome),
            Slot::Missing if options.has_relevant && query.judgements.relevant(None) == 0 => {}
            Slot::Missing => {
                missing.push(query.key.clone());
                if options.complete {
                    sums.add(&mut judging.outcome(query, None));
                }
            }
        }
    }
    // Another thread frees the outcomes, so that the caller does not wait.
    rayon::spawn(move || drop(slots));
    Some(Streamed {
        evaluation: RunEvaluation {
            tag,
            missing,
            unknown,
            ..sums.finish(name.to_owned())
        },
        answers,
    })
}

impl<'p> Judged<'p> {
    fn new(gold: &'p GoldSet, answered: &'p [AtomicBool], plan: &'p Plan<'p>) -> Self {
        Self {
            gold,
            answered,
            judging: Judging::new(plan),
            known: Vec::new(),
            unknown: FxHashMap::default(),
            counts: Counts::default(),
        }
    }

    /// Judges an answer in a part. `None` if its query is answered before.
    fn answer(&mut self, part: usize, answer: &Answer<'_>) -> Option<()> {
        let Some(index) = query_of(self.gold, answer) else {
            let position = (part, self.unknown.len());
            let before = self.unknown.insert(answer.query.to_string(), position);
            return before.is_none().then_some(());
        };
        let answered = self.answered.get(index.position())?;
        if answered.swap(true, Ordering::Relaxed) {
            return None;
        }
        let query = self.gold.query(index);
        let counts = !self.judging.has_relevant_only() || query.judgements.relevant(None) > 0;
        let slot = if counts {
            let mut outcome = self.judging.outcome(query, Some(answer));
            self.counts.take(&mut outcome);
            Slot::Judged(Box::new(outcome))
        } else {
            Slot::LeftOut
        };
        self.known.push((index, slot));
        Some(())
    }
}
