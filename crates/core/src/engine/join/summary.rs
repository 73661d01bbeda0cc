//! Summary of the feedback on one search.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::feedback::{Reaction, Record, Target, add_worth};
use crate::engine::evaluators::EvaluatorKey;
use crate::measure::user::{Click, Rating, SessionContext, UserResponse, Worth};
use crate::time::{EventTime, Millis};

/// Judgment with an evaluator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evaluated {
    /// Evaluator and property.
    pub by: EvaluatorKey,
    /// Hash of the judged document; 0 for an answer or a search.
    pub document: u64,
    /// Value from 0 to 1, or a grade.
    pub value: f64,
}

/// Summary of the user feedback on one search. A [`UserResponse`] borrows from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FeedbackSummary {
    clicks: Vec<Click>,
    ratings: Vec<Rating>,
    thumbs: [u32; 2],
    pub(super) conversions: u32,
    pub(super) values: Vec<Worth>,
    session: Option<SessionContext>,
    /// Number of clicks on results that were not served.
    pub unserved_clicks: u64,
    /// Grades given in production by people without an id, with the hashes of their documents.
    pub judgements: Vec<(u64, f64)>,
    /// Judgments with an evaluator.
    pub evaluations: Vec<Evaluated>,
}

impl FeedbackSummary {
    /// Returns the input of the user measures, for a search with `results` results and with the
    /// click weights by position.
    pub(crate) fn response<'a>(
        &'a self,
        results: usize,
        click_weights: &'a [f64],
    ) -> UserResponse<'a> {
        UserResponse {
            results,
            clicks: &self.clicks,
            conversions: self.conversions,
            values: &self.values,
            thumbs_up: self.thumbs[1],
            thumbs_down: self.thumbs[0],
            ratings: &self.ratings,
            session: self.session,
            click_weights,
            evaluations: &[],
        }
    }

    /// Returns true for the last search of a session.
    pub(super) fn ends_session(&self) -> bool {
        self.session.is_some_and(|session| session.is_last)
    }

    /// Creates the summary of one record of session feedback.
    pub(super) fn of_session_feedback(reaction: Reaction) -> Self {
        let mut summary = Self::default();
        if let Reaction::Evaluation(by, value) = reaction {
            let document = 0;
            summary.evaluations.push(Evaluated {
                by,
                document,
                value,
            });
        }
        summary.add_explicit(reaction);
        summary
    }

    fn add_explicit(&mut self, reaction: Reaction) {
        match reaction {
            Reaction::Thumbs(up) => self.thumbs[usize::from(up)] += 1,
            Reaction::Rating(rating) => self.ratings.push(rating),
            _ => {}
        }
    }

    /// Summarises the records of a search at `searched`. Its feedback window ends at `end`.
    /// `session` is the session context of the search, and `next` returns the first user
    /// interaction in the session after a given time.
    pub(super) fn of<'a>(
        records: impl Iterator<Item = &'a Record> + Clone,
        (searched, end): (EventTime, EventTime),
        session: Option<SessionContext>,
        next: impl Fn(EventTime) -> Option<EventTime>,
    ) -> Self {
        let mut summary = Self {
            session,
            ..Self::default()
        };
        // Clocks differ: an event on a search cannot be earlier than the search.
        let mut clicks: SmallVec<[(EventTime, u32); 4]> = SmallVec::new();
        for record in records.clone() {
            match record.facts.reaction {
                Reaction::Click => match record.target {
                    Target::Result(index) => clicks.push((record.facts.ts.max(searched), index)),
                    Target::NotStated | Target::NotServed => summary.unserved_clicks += 1,
                },
                Reaction::Conversion(worth) => {
                    summary.conversions += 1;
                    if let Some(worth) = worth {
                        add_worth(&mut summary.values, worth);
                    }
                }
                Reaction::Thumbs(_) | Reaction::Rating(_) => {
                    summary.add_explicit(record.facts.reaction);
                }
                Reaction::Judgment(grade) if record.facts.document != 0 => {
                    summary.judgements.push((record.facts.document, grade));
                }
                Reaction::Evaluation(by, value) => summary.evaluations.push(Evaluated {
                    by,
                    document: record.facts.document,
                    value,
                }),
                Reaction::Judgment(_)
                | Reaction::Dwell(_)
                | Reaction::Reformulation
                | Reaction::Other => {}
            }
        }
        clicks.sort_unstable();
        let reported = reported_dwells(records, &clicks);
        summary.clicks.reserve_exact(clicks.len());
        for &(at, index) in &clicks {
            // Without a later interaction, the dwell time extends to the end of the feedback
            // window.
            let observed = || {
                session.map(|_| {
                    let left = next(at).filter(|next| *next <= end).unwrap_or(end);
                    seconds(left.since(at))
                })
            };
            summary.clicks.push(Click {
                position: index.saturating_add(1),
                after: seconds(at.since(searched)),
                dwell: reported.get(&index).copied().or_else(observed),
            });
        }
        summary
    }
}

/// Returns the longest dwell time in seconds that an event states, by result index. An event
/// without a result refers to the last result clicked before it.
fn reported_dwells<'a>(
    records: impl Iterator<Item = &'a Record>,
    clicks: &[(EventTime, u32)],
) -> BTreeMap<u32, f64> {
    let mut dwells = BTreeMap::new();
    for record in records {
        let Reaction::Dwell(dwell_ms) = record.facts.reaction else {
            continue;
        };
        let index = match record.target {
            Target::Result(index) => Some(index),
            Target::NotServed => None,
            Target::NotStated => {
                let before = clicks.partition_point(|(at, _)| *at <= record.facts.ts);
                before.checked_sub(1).map(|last| clicks[last].1)
            }
        };
        if let Some(index) = index {
            let longest = dwells.entry(index).or_insert(0.0_f64);
            *longest = longest.max(dwell_ms / 1e3);
        }
    }
    dwells
}

/// Converts a span to seconds; 0 for a negative span.
pub(super) fn seconds(span: Millis) -> f64 {
    std::time::Duration::from_millis(u64::try_from(span.0).unwrap_or(0)).as_secs_f64()
}
