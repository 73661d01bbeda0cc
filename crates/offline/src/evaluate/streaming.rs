//! Judging while reading: every thread reads the next part of a run and judges it, and only the
//! outcomes stay in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::judging::{Judging, Outcome, Plan};
use super::sums::{Counts, Sums};
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

/// Judged answers of some parts of a run.
#[derive(Default)]
struct Judged {
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
    let reader = Reader {
        gold,
        parser: run.parser(),
        source: Mutex::new(Some((0, run))),
        answered: gold
            .queries()
            .iter()
            .map(|_| AtomicBool::new(false))
            .collect(),
    };
    let judged = rayon::broadcast(|_| reader.judge(Judging::new(&plan)));
    let mut slots: Vec<Slot> = Vec::new();
    slots.resize_with(gold.queries().len(), || Slot::Missing);
    let mut sums = Sums::new(&plan, slots.len());
    let mut unknown: Vec<(String, (usize, usize))> = Vec::new();
    let mut answers = 0;
    for judged in judged {
        let judged = judged?;
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

/// Reader of the parts of a run, for several threads.
struct Reader<'g> {
    gold: &'g GoldSet,
    parser: PartParser,
    /// Number of parts that are read, and the run. `None` if the file is not regular.
    source: Mutex<Option<(usize, RunStream)>>,
    /// True for each gold query that is answered.
    answered: Vec<AtomicBool>,
}

impl Reader<'_> {
    /// Judges parts until the end of the run. `None` if the file is not regular.
    fn judge(&self, mut judging: Judging<'_>) -> Option<Judged> {
        let mut judged = Judged::default();
        let mut part = Part::default();
        loop {
            let number = self.read(&mut part)?;
            if part.is_empty() {
                return Some(judged);
            }
            let mut is_regular = true;
            let take = |answer: &Answer<'_>| {
                is_regular = is_regular
                    && self
                        .answer(number, answer, &mut judging, &mut judged)
                        .is_some();
            };
            let parsed = self.parser.parse(&part, take);
            if parsed.is_none() || !is_regular {
                // The other threads stop as well.
                *self.source() = None;
                return None;
            }
        }
    }

    /// Reads the next part and returns its number. `None` if the file is not regular.
    fn read(&self, part: &mut Part) -> Option<usize> {
        let mut source = self.source();
        let (parts, run) = source.as_mut()?;
        *parts += 1;
        run.read(part)?;
        Some(*parts)
    }

    fn source(&self) -> MutexGuard<'_, Option<(usize, RunStream)>> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges an answer in a part. `None` if its query is answered before.
    fn answer(
        &self,
        part: usize,
        answer: &Answer<'_>,
        judging: &mut Judging<'_>,
        judged: &mut Judged,
    ) -> Option<()> {
        let Some(index) = query_of(self.gold, answer) else {
            let position = (part, judged.unknown.len());
            let before = judged.unknown.insert(answer.query.to_string(), position);
            return before.is_none().then_some(());
        };
        let answered = self.answered.get(index.position())?;
        if answered.swap(true, Ordering::Relaxed) {
            return None;
        }
        let query = self.gold.query(index);
        let counts = !judging.has_relevant_only() || query.judgements.relevant(None) > 0;
        let slot = if counts {
            let mut outcome = judging.outcome(query, Some(answer));
            judged.counts.take(&mut outcome);
            Slot::Judged(Box::new(outcome))
        } else {
            Slot::LeftOut
        };
        judged.known.push((index, slot));
        Some(())
    }
}
