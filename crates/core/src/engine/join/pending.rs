//! Pending search, its feedback records, and the summary of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::correlation::Level;
use crate::engine::join::hash;
use crate::engine::registry::{Label, Series};
use crate::event::Action;
use crate::gold::{GoldSet, QueryIndex};
use crate::measure::user::{Click, Rating, SessionContext, UserResponse};
use crate::time::{EventTime, Millis};

/// Search whose feedback window has not passed.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Time at which the results were served.
    pub ts: EventTime,
    /// Gold query of the search, in the gold set of the time at which it was read.
    pub gold: Option<(Arc<GoldSet>, QueryIndex)>,
    /// System version that served the search.
    pub variant: Label,
    /// Series that count the scores of the search.
    pub series: Arc<[Series]>,
    /// Number of series, from the first on, that are monitored for regressions.
    pub watched: u16,
    /// True if the search was counted here; false if an earlier owner of the partition counted it.
    pub fresh: bool,
    /// Hashes of the session id and of the query.
    pub in_session: Option<(u64, u64)>,
    /// Hashes of the served document ids, in served order.
    pub documents: Box<[u64]>,
    /// Team that placed each result; only for interleaved rankings.
    pub teams: Option<Box<Teams>>,
    /// Scores of the ranking measures, for the correlation with satisfaction.
    pub levels: Box<[Level]>,
    /// Feedback records by the hash of the event id. Most pending searches have none.
    #[allow(
        clippy::box_collection,
        reason = "a million searches may be pending, and an empty map takes three times the space"
    )]
    feedback: Option<Box<BTreeMap<u64, FeedbackRecord>>>,
}

/// Teams of a ranking that combines two or more rankings by team-draft interleaving.
#[derive(Clone, Debug)]
pub struct Teams {
    /// Experiment.
    pub experiment: Label,
    /// Team of each result, in served order; empty for a result without a team.
    pub of_results: Box<[Label]>,
}

/// Record that the join keeps of a feedback event.
#[derive(Clone, Copy, Debug)]
pub struct FeedbackRecord {
    /// User action.
    pub action: Action,
    /// Hash of the id of the result that the event refers to.
    pub object: Option<u64>,
    /// Position that the event states, from 1 on.
    pub(super) position: Option<u32>,
    /// Event time.
    pub(super) ts: EventTime,
    /// True if the event was received here for the first time.
    pub(super) fresh: bool,
    /// True if an earlier owner of the partition is known to have counted the event.
    pub(super) is_already_counted: bool,
}

impl FeedbackRecord {
    /// Returns the rating; `None` for any other action.
    pub fn rating(&self) -> Option<Rating> {
        match self.action {
            Action::Rating { value, min, max } => Some(Rating { value, min, max }),
            _ => None,
        }
    }

    /// Returns true for a positive thumb or rating.
    pub(super) fn is_positive(&self) -> bool {
        matches!(self.action, Action::Thumbs { up: true })
            || self.rating().is_some_and(|rating| rating.is_positive())
    }

    /// Returns true if the event is a user interaction at its time. A dwell event describes the
    /// time before it, and may be sent whenever the user leaves a page.
    pub(super) fn is_interaction(&self) -> bool {
        !matches!(self.action, Action::Dwell { .. })
    }
}

/// Summary of the user feedback on one search. A [`UserResponse`] borrows from it.
#[derive(Clone, Debug, Default)]
pub struct FeedbackSummary {
    clicks: Vec<Click>,
    ratings: Vec<Rating>,
    thumbs: [u32; 2],
    conversions: u32,
    session: Option<SessionContext>,
    /// Number of clicks on results that were not served.
    pub unserved_clicks: u64,
    /// Grades given in production, with the hashes of their documents.
    pub judgements: Vec<(u64, f64)>,
}

impl FeedbackSummary {
    /// Returns the input of the user measures, for a search with `results` results and with the
    /// click weights by position.
    pub fn response<'a>(&'a self, results: usize, click_weights: &'a [f64]) -> UserResponse<'a> {
        UserResponse {
            results,
            clicks: &self.clicks,
            conversions: self.conversions,
            thumbs_up: self.thumbs[1],
            thumbs_down: self.thumbs[0],
            ratings: &self.ratings,
            session: self.session,
            click_weights,
        }
    }

    /// Creates the summary of one record of session feedback.
    pub fn of_session_feedback(record: &FeedbackRecord) -> Self {
        let mut summary = Self::default();
        summary.add_explicit(record);
        summary
    }

    fn add_explicit(&mut self, record: &FeedbackRecord) {
        if let Action::Thumbs { up } = record.action {
            self.thumbs[usize::from(up)] += 1;
        }
        self.ratings.extend(record.rating());
    }
}

impl Pending {
    /// Creates a search without feedback.
    pub fn new<'a>(
        ts: EventTime,
        variant: Label,
        series: &[Series],
        fresh: bool,
        in_session: Option<(u64, u64)>,
        served: impl Iterator<Item = &'a str>,
    ) -> Self {
        Self {
            ts,
            gold: None,
            variant,
            series: series.into(),
            watched: 0,
            fresh,
            in_session,
            documents: served.map(hash).collect(),
            teams: None,
            levels: Box::default(),
            feedback: None,
        }
    }

    /// Returns the feedback records, in no particular order.
    pub(super) fn feedback(&self) -> impl Iterator<Item = &FeedbackRecord> {
        self.feedback.iter().flat_map(|records| records.values())
    }

    /// Returns the number of feedback records.
    pub(super) fn feedback_count(&self) -> usize {
        self.feedback.as_ref().map_or(0, |records| records.len())
    }

    /// Adds a feedback record. Returns false if the event was added before.
    pub(super) fn add_feedback(&mut self, event: u64, record: &FeedbackRecord) -> bool {
        let records = self.feedback.get_or_insert_default();
        if records.contains_key(&event) {
            return false;
        }
        records.insert(event, *record);
        true
    }

    /// Returns the index, from 0 on, of the result that a feedback record refers to; `None` if the
    /// result was not served or the record identifies none.
    fn result_index(&self, record: &FeedbackRecord) -> Option<usize> {
        let stated = record.position.and_then(|it| usize::try_from(it).ok());
        let stated = stated.and_then(|position| position.checked_sub(1));
        let stated = stated.filter(|index| *index < self.documents.len());
        let Some(object) = record.object else {
            return stated;
        };
        // A document may occur at several indexes. Only the record states which one was clicked.
        stated
            .filter(|index| self.documents[*index] == object)
            .or_else(|| self.documents.iter().position(|served| *served == object))
    }

    /// Returns the hashes of the documents that were clicked until `end`.
    pub(super) fn clicked_until(&self, end: EventTime) -> impl Iterator<Item = u64> {
        self.feedback()
            .filter(move |record| matches!(record.action, Action::Click) && record.ts <= end)
            .filter_map(|record| self.documents.get(self.result_index(record)?).copied())
    }

    /// Returns true if the search belongs to a session and has the query with this hash.
    pub(super) fn has_query(&self, query: u64) -> bool {
        self.in_session.is_some_and(|(_, it)| it == query)
    }

    /// Returns true if users reported a reformulation.
    pub(super) fn has_reformulation(&self) -> bool {
        self.feedback()
            .any(|record| matches!(record.action, Action::Reformulation))
    }

    /// Summarises the feedback records. `session` is the session context of the search, and `next`
    /// returns the first user interaction in the session after a given time.
    pub(super) fn react(
        &self,
        end: EventTime,
        session: Option<SessionContext>,
        next: impl Fn(EventTime) -> Option<EventTime>,
    ) -> FeedbackSummary {
        let mut summary = FeedbackSummary {
            session,
            ..FeedbackSummary::default()
        };
        // Clocks differ: an event on a search cannot be earlier than the search.
        let mut clicks: Vec<(EventTime, usize)> = Vec::new();
        for record in self.feedback() {
            match record.action {
                Action::Click => match self.result_index(record) {
                    Some(index) => clicks.push((record.ts.max(self.ts), index)),
                    None => summary.unserved_clicks += 1,
                },
                Action::Conversion => summary.conversions += 1,
                Action::Thumbs { .. } | Action::Rating { .. } => summary.add_explicit(record),
                Action::Judgment { grade } => {
                    summary
                        .judgements
                        .extend(record.object.map(|object| (object, grade)));
                }
                Action::Impression
                | Action::Dwell { .. }
                | Action::Reformulation
                | Action::Comment
                | Action::Custom => {}
            }
        }
        clicks.sort_unstable();
        let reported = self.reported_dwells(&clicks);
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
                position: u32::try_from(index + 1).unwrap_or(u32::MAX),
                after: seconds(at.since(self.ts)),
                dwell: reported.get(&index).copied().or_else(observed),
            });
        }
        summary
    }

    /// Returns the longest dwell time in seconds that an event states, by result index. An event
    /// without a result refers to the last result clicked before it.
    fn reported_dwells(&self, clicks: &[(EventTime, usize)]) -> BTreeMap<usize, f64> {
        let mut dwells = BTreeMap::new();
        for record in self.feedback() {
            let Action::Dwell { dwell_ms } = record.action else {
                continue;
            };
            let index = if record.object.is_none() && record.position.is_none() {
                let before = clicks.partition_point(|(at, _)| *at <= record.ts);
                before.checked_sub(1).map(|last| clicks[last].1)
            } else {
                self.result_index(record)
            };
            if let Some(index) = index {
                let longest = dwells.entry(index).or_insert(0.0_f64);
                *longest = longest.max(dwell_ms / 1e3);
            }
        }
        dwells
    }
}

/// Converts a span to seconds; 0 for a negative span.
pub(super) fn seconds(span: Millis) -> f64 {
    std::time::Duration::from_millis(u64::try_from(span.0).unwrap_or(0)).as_secs_f64()
}
