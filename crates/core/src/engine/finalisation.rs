//! Processing of a search when its feedback window has passed: counting of the user feedback.

use std::collections::BTreeSet;

use super::{Engine, action_label};
use crate::engine::events::{FeedbackOutcome, SearchOutcome};
use crate::engine::evidence::Observation;
use crate::engine::family;
use crate::engine::fixed::Nano;
use crate::engine::join::{self, ClosedEvents, FeedbackSummary, Pending, SessionFeedback};
use crate::engine::registry::{Label, TIE};
use crate::engine::scores::column_of;
use crate::gold::GoldQuery;
use crate::measure::Measure;
use crate::measure::user::{UserMeasure, UserResponse};
use crate::time::EventTime;

impl Engine {
    /// Counts the searches and the feedback that were closed at `watermark`.
    pub(super) fn finalise(&mut self, closed: &ClosedEvents, watermark: EventTime) {
        self.totals
            .events
            .feedback(FeedbackOutcome::Orphaned, closed.orphaned);
        // User behaviour is known when the feedback window has passed, and is recorded at that
        // time. A one-minute window would otherwise never contain any.
        let window = self.feedback_window;
        let known_at = |ts: EventTime| ts.plus(window).min(watermark.max(ts));
        for (search, summary) in &closed.searches {
            let judged = match search.gold {
                Some(_) => SearchOutcome::Judged,
                None => SearchOutcome::Unjudged,
            };
            self.totals.events.search(judged);
            self.count_feedback(search, summary, known_at(search.ts));
        }
        for feedback in &closed.session_feedback {
            self.count_session_feedback(feedback, known_at(feedback.ts));
        }
    }

    fn count_feedback(&mut self, search: &Pending, summary: &FeedbackSummary, at: EventTime) {
        let settings = std::sync::Arc::clone(&self.settings);
        let response = summary.response(search.documents.len(), &settings.click_weights);
        self.record_user_measures(&search.series, &response, at, |_| true);
        // Searches of one session are not independent. Only the last one counts as an observation.
        if response.session.is_none_or(|session| session.is_last) {
            let scores = std::mem::take(&mut self.scratch.scores);
            self.observe(Observation {
                variant: search.variant,
                series: &search.series[..usize::from(search.watched)],
                scores: &scores,
                query: "",
            });
            self.scratch.scores = scores;
        }
        if search.gold.is_some()
            && let Some(satisfaction) = response.satisfaction()
        {
            let correlation = &mut self.totals.correlation;
            correlation.record(at, &search.levels, satisfaction);
        }
        self.count_clicks(search, summary, &response);
        self.count_teams(search, &response);
        self.count_judgements(search, summary);
    }

    /// Records feedback on a whole session.
    fn count_session_feedback(&mut self, feedback: &SessionFeedback, at: EventTime) {
        let summary = FeedbackSummary::of_session_feedback(&feedback.feedback);
        let response = summary.response(0, &[]);
        self.record_user_measures(&feedback.series, &response, at, UserMeasure::is_opinion);
        self.count_joined(action_label(feedback.feedback.action), feedback.variant);
    }

    /// Records the scores of the user measures for which `is_included` returns true.
    fn record_user_measures(
        &mut self,
        series: &[crate::engine::registry::Series],
        response: &UserResponse<'_>,
        at: EventTime,
        is_included: impl Fn(&UserMeasure) -> bool,
    ) {
        let scores = &mut self.scratch.scores;
        scores.clear();
        for (index, measure) in self.settings.measures.iter().enumerate() {
            if let Measure::User(measure) = measure
                && is_included(measure)
                && let Some(score) = measure.score(response)
            {
                scores.push((column_of(index), Nano::from_f64(score)));
            }
        }
        self.totals.scores.record(at, series, scores);
    }

    /// Counts clicked results, expected clicks at the positions shown, clicks on unserved results,
    /// and the time to the first click.
    fn count_clicks(
        &mut self,
        search: &Pending,
        summary: &FeedbackSummary,
        response: &UserResponse<'_>,
    ) {
        let labels = [search.variant];
        let clicked: BTreeSet<u32> = response.clicks.iter().map(|it| it.position).collect();
        let clicked = u64::try_from(clicked.len()).unwrap_or(u64::MAX);
        if clicked > 0 {
            self.count(&family::CLICKS, labels, clicked);
        }
        if summary.unserved_clicks > 0 {
            self.count(&family::UNSERVED_CLICKS, labels, summary.unserved_clicks);
        }
        let shown = search.documents.len();
        let expected = self.settings.expected_clicks.iter().take(shown);
        let expected: i64 = expected.map(|share| Nano::from_f64(*share).get()).sum();
        if expected > 0 {
            self.count(&family::EXPECTED_CLICKS, labels, expected);
        }
        if let Some(first) = response.clicks.first() {
            let series = self.series(&family::TIME_TO_FIRST_CLICK, labels);
            self.totals.first_clicks.record(series, first.after * 1e3);
        }
    }

    /// Counts the winning team of an interleaved search: the team with more clicks.
    fn count_teams(&mut self, search: &Pending, response: &UserResponse<'_>) {
        let Some(teams) = &search.teams else { return };
        let mut present: Vec<Label> = teams.of_results.to_vec();
        present.sort_unstable();
        present.dedup();
        present.retain(|team| *team != Label::EMPTY);
        let team_at = |position: u32| {
            let index = usize::try_from(position).ok()?.checked_sub(1)?;
            teams.of_results.get(index).copied()
        };
        let clicks = |team: &Label| {
            let clicked = response.clicks.iter();
            clicked
                .filter(|it| team_at(it.position) == Some(*team))
                .count()
        };
        let max_clicks = present.iter().map(clicks).max().unwrap_or(0);
        let mut best = present
            .iter()
            .filter(|team| max_clicks > 0 && clicks(team) == max_clicks);
        let winner = match (best.next(), best.next()) {
            (Some(winner), None) => *winner,
            _ => TIE,
        };
        // A team that never wins is exposed with 0.
        for team in present {
            self.count(&family::INTERLEAVING_WINS, [teams.experiment, team], 0);
        }
        self.count(&family::INTERLEAVING_WINS, [teams.experiment, winner], 1);
    }

    /// Counts grades given in production against the grades of the gold set.
    fn count_judgements(&mut self, search: &Pending, summary: &FeedbackSummary) {
        for &(document, grade) in &summary.judgements {
            let query = search.gold.as_ref().map(|(gold, index)| gold.query(*index));
            let level = query.map_or(1.0, |query| query.judgements.level().get());
            let in_gold = query.and_then(|query| grade_of(query, document));
            let in_gold = in_gold.map(|grade| grade >= level);
            let labels = [
                judgement_label(in_gold),
                judgement_label(Some(grade >= level)),
                search.variant,
            ];
            self.count(&family::PRODUCTION_JUDGEMENTS, labels, 1);
        }
    }
}

/// Returns the grade that a gold query gives to the document with this hash.
fn grade_of(query: &GoldQuery, document: u64) -> Option<f64> {
    let documents = query.documents();
    let found = documents.iter().find(|(id, _)| join::hash(id) == document);
    found.map(|(_, grade)| grade.get())
}

/// Returns the label of a judgement: relevant, not relevant, or none.
fn judgement_label(relevant: Option<bool>) -> Label {
    Label::from_position(match relevant {
        Some(false) => 0,
        Some(true) => 1,
        None => 2,
    })
}
