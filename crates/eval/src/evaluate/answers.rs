//! Judged answers of a run: every thread judges the answers that it reads, and only their outcomes stay
//! in memory.

use super::evaluation::{QueryEvaluation, RunEvaluation};
use super::judging::{Judging, Outcome, Plan};
use super::sums::{Counts, Sums};
use crate::run::{Answer, Place, Places};
use rankgauge_core::gold::{GoldQuery, GoldSet, QueryIndex};

/// Answers that one thread has judged.
pub(crate) struct JudgedAnswers<'p> {
    judging: Judging<'p>,
    /// Answers to gold queries.
    known: Vec<(Place, QueryIndex, Slot)>,
    /// Other queries that are answered.
    unknown: Vec<(Place, String)>,
    /// Number of searches that are not judged.
    not_eligible: usize,
    /// Counts of all outcomes.
    counts: Counts,
}

/// State of a gold query.
enum Slot {
    /// Not answered.
    Missing,
    /// Answered, and left out of the means.
    LeftOut,
    Judged(Box<Outcome>),
}

impl<'p> JudgedAnswers<'p> {
    pub(crate) fn new(plan: &'p Plan<'p>) -> Self {
        Self {
            judging: Judging::new(plan),
            known: Vec::new(),
            unknown: Vec::new(),
            not_eligible: 0,
            counts: Counts::default(),
        }
    }

    /// Counts a search that is not judged.
    pub(crate) fn add_not_eligible(&mut self) {
        self.not_eligible += 1;
    }

    /// Adds an answer to a query that is not in the gold set.
    pub(crate) fn add_unknown(&mut self, place: Place, answer: &Answer<'_>) {
        self.unknown.push((place, answer.query.to_string()));
    }

    /// Judges an answer. `None` if its query does not count.
    pub(crate) fn add(
        &mut self,
        place: Place,
        index: QueryIndex,
        query: &GoldQuery,
        answer: &Answer<'_>,
    ) -> Option<&QueryEvaluation> {
        let slot = if self.judging.counts(query) {
            let mut outcome = self.judging.outcome(query, Some(answer));
            self.counts.take(&mut outcome);
            Slot::Judged(Box::new(outcome))
        } else {
            Slot::LeftOut
        };
        self.known.push((place, index, slot));
        match self.known.last() {
            Some((_, _, Slot::Judged(outcome))) => Some(&outcome.query),
            _ => None,
        }
    }

    /// Returns true if the run answers a gold query, or has a search that is not judged.
    pub(crate) fn has_known(&self) -> bool {
        !self.known.is_empty() || self.not_eligible > 0
    }

    /// Returns the evaluation of the run `name`, whose answers the threads have judged.
    pub(crate) fn finish(
        threads: Vec<Self>,
        name: &str,
        gold: &GoldSet,
        plan: &Plan<'_>,
        places: &Places,
    ) -> Result<RunEvaluation, AnsweredTwice> {
        let mut slots: Vec<(Option<Place>, Slot)> = Vec::new();
        slots.resize_with(gold.queries().len(), || (None, Slot::Missing));
        let mut sums = Sums::new(plan, slots.len());
        let mut unknown: Vec<(Place, String)> = Vec::new();
        let mut not_eligible = 0;
        let mut twice: Option<(Place, Place, QueryIndex)> = None;
        for thread in threads {
            unknown.extend(thread.unknown);
            not_eligible += thread.not_eligible;
            sums.add_counts(&thread.counts);
            for (place, index, slot) in thread.known {
                let Some(known) = slots.get_mut(index.position()) else {
                    continue;
                };
                if let Some(other) = known.0 {
                    let found = (place.max(other), place.min(other), index);
                    twice = twice.into_iter().chain([found]).min();
                }
                *known = (Some(place), slot);
            }
        }
        if let Some((place, first, index)) = twice {
            return Err(AnsweredTwice {
                run: name.to_owned(),
                query: gold.query(index).key.clone(),
                line: places.line(place),
                first: places.line(first),
                replay: None,
            });
        }
        unknown.sort_by_key(|(place, _)| *place);
        let mut missing = Vec::new();
        let mut judging = Judging::new(plan);
        let queries = gold.queries().iter().zip(&mut slots).enumerate();
        let mut queries: Vec<_> = queries.collect();
        // Sums of floating-point numbers depend on the order. As in trec_eval, it is that of the keys.
        queries.sort_by(|(_, (one, _)), (_, (other, _))| one.key.cmp(&other.key));
        for (position, (query, (_, slot))) in queries {
            match slot {
                Slot::LeftOut => {}
                Slot::Judged(outcome) => sums.add(position, outcome),
                Slot::Missing if !judging.counts(query) => {}
                Slot::Missing => {
                    missing.push((position, query.key.clone()));
                    if plan.options.complete {
                        sums.add(position, &mut judging.outcome(query, None));
                    }
                }
            }
        }
        missing.sort();
        // Another thread frees the outcomes, so that the caller does not wait.
        rayon::spawn(move || drop(slots));
        Ok(RunEvaluation {
            missing: missing.into_iter().map(|(_, key)| key).collect(),
            unknown: unknown.into_iter().map(|(_, query)| query).collect(),
            not_eligible,
            ..sums.finish(name.to_owned())
        })
    }
}

/// Error: a run answers one gold query twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "run {run}, line {line}: the gold query `{query}` is answered again, first on line {first} \
     under another name; keep one answer{}", log_remedy(.replay.as_deref())
)]
pub struct AnsweredTwice {
    /// Name of the run.
    pub run: String,
    /// Key of the gold query.
    pub query: String,
    /// Line of the second answer.
    pub line: usize,
    /// Line of the first answer.
    pub first: usize,
    /// Command for a run that can be a log of users' searches.
    pub replay: Option<String>,
}

fn log_remedy(replay: Option<&str>) -> String {
    replay.map_or_else(String::new, |command| {
        format!(
            " (--last-search keeps the last one), or, if the run is a log of users' searches, run: {command}"
        )
    })
}
