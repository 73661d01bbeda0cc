//! Counting of the effects of the join, above all of the feedback on searches whose feedback window
//! has passed.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Engine, action_label};
use crate::engine::events::{FeedbackOutcome, SearchOutcome};
use crate::engine::evidence::Observation;
use crate::engine::family;
use crate::engine::fixed::Nano;
use crate::engine::join::{
    Effect, Exceeded, FeedbackSummary, Finished, GoldReference, Parts, SessionFeedback,
};
use crate::engine::registry::{Label, TIE};
use crate::engine::scores::column_of;
use crate::engine::segment::Segment;
use crate::engine::settings::Observed;
use crate::gold::{GoldQuery, hash_document};
use crate::measure::Measure;
use crate::measure::user::{UserMeasure, UserResponse};
use crate::time::EventTime;

impl Engine {
    /// Counts the effects in the buffer. `watermark` is that of the partition.
    pub(super) fn count_effects(&mut self, watermark: Option<EventTime>) {
        let mut effects = std::mem::take(&mut self.scratch.effects);
        for effect in effects.drain(..) {
            self.count_effect(effect, watermark.unwrap_or(EventTime(i64::MIN)));
        }
        self.scratch.effects = effects;
    }

    fn count_effect(&mut self, effect: Effect, watermark: EventTime) {
        // User behaviour is known when the feedback window has passed, and is recorded at that
        // time. A one-minute window would otherwise never contain any.
        let window = self.feedback_window;
        let known_at = |ts: EventTime| ts.plus(window).min(watermark.max(ts));
        let events = &mut self.totals.events;
        match effect {
            Effect::Joined {
                action,
                variant,
                number,
            } => self.count_joined(action, variant, number),
            Effect::Late(number) => events.feedback(FeedbackOutcome::Late, number),
            Effect::Duplicate => events.feedback(FeedbackOutcome::Duplicate, 1),
            Effect::Orphaned(number) => events.feedback(FeedbackOutcome::Orphaned, number),
            Effect::Finished(mut search) => {
                let segment = &search.parts.segment;
                events.search(match search.parts.gold {
                    _ if !segment.is_eligible => SearchOutcome::NotEligible,
                    Some(_) => SearchOutcome::Judged,
                    None => SearchOutcome::Unjudged,
                });
                // No user sees the results of a synthetic search.
                if segment.is_eligible && !segment.is_synthetic {
                    let at = known_at(search.parts.ts);
                    self.count_feedback(&search, at);
                }
                self.preparation
                    .recycle(std::mem::take(&mut search.parts.served));
            }
            Effect::Session(feedback) => {
                let at = known_at(feedback.ts);
                self.count_session_feedback(&feedback, at);
            }
            Effect::Exceeded(limit) => {
                let limit = match limit {
                    Exceeded::SearchesPerSession => {
                        return self.count(&family::SESSION_LIMIT_EXCEEDED, [], 1);
                    }
                    Exceeded::FeedbackPerSearch => 0,
                    Exceeded::InteractionsPerSession => 1,
                };
                let limit = Label::from_position(limit);
                self.count(&family::FEEDBACK_LIMIT_EXCEEDED, [limit], 1);
            }
        }
    }

    fn count_joined(&mut self, action: u8, variant: Label, number: u64) {
        self.totals.events.feedback(FeedbackOutcome::Joined, number);
        self.count(&family::FEEDBACK, [action_label(action), variant], number);
    }

    fn count_feedback(&mut self, search: &Finished, at: EventTime) {
        let settings = std::sync::Arc::clone(&self.settings);
        let Finished { parts, summary } = search;
        let segment = &*parts.segment;
        let response = summary.response(parts.served.results(), &settings.click_weights);
        self.record_user_measures(segment, &response, at, |_| true);
        if let Some(bucket) = parts.trial.as_ref().and_then(|it| it.bucket) {
            self.totals.units.add_scores(bucket, &self.scratch.scores);
        }
        if segment.is_eligible {
            let of = Observed::NoResults(parts.served.results() == 0);
            self.test_objectives(parts.ts, segment.variant, of);
        }
        // Searches of one session are not independent. Only the last one counts as an observation.
        if response.session.is_none_or(|session| session.is_last) {
            let scores = std::mem::take(&mut self.scratch.scores);
            self.observe(Observation {
                ts: parts.ts,
                variant: segment.variant,
                series: segment.watched(),
                scores: &scores,
                query: parts.gold.as_ref().map(GoldReference::query),
                is_of_users: true,
            });
            self.scratch.scores = scores;
        }
        if parts.gold.is_some()
            && let Some(satisfaction) = response.satisfaction()
        {
            let correlation = &mut self.totals.correlation;
            correlation.record(at, parts.served.levels(), satisfaction);
        }
        self.count_clicks(parts, summary, &response);
        self.count_teams(parts, &response);
        self.count_judgements(parts, summary);
    }

    /// Records feedback on a whole session.
    fn count_session_feedback(&mut self, feedback: &SessionFeedback, at: EventTime) {
        let response = feedback.summary.response(0, &[]);
        self.record_user_measures(&feedback.segment, &response, at, UserMeasure::is_opinion);
        self.count_joined(feedback.action, feedback.segment.variant, 1);
    }

    /// Records the scores of the user measures for which `is_included` returns true.
    fn record_user_measures(
        &mut self,
        segment: &Segment,
        response: &UserResponse<'_>,
        at: EventTime,
        is_included: impl Fn(&UserMeasure) -> bool,
    ) {
        let scores = &mut self.scratch.scores;
        scores.clear();
        for &index in &self.user_measures {
            if let Measure::User(measure) = &self.settings.measures[index]
                && is_included(measure)
                && let Some(score) = measure.score(response)
            {
                scores.push((column_of(index), Nano::from_f64(score)));
            }
        }
        self.totals.scores.record(at, &segment.series, scores);
    }

    /// Counts clicked results, expected clicks at the positions shown, clicks on unserved results,
    /// and the time to the first click.
    fn count_clicks(
        &mut self,
        search: &Parts,
        summary: &FeedbackSummary,
        response: &UserResponse<'_>,
    ) {
        let labels = [search.segment.variant];
        let positions = response.clicks.iter().map(|it| it.position);
        let mut clicked: SmallVec<[u32; 8]> = positions.collect();
        clicked.sort_unstable();
        clicked.dedup();
        let clicked = u64::try_from(clicked.len()).unwrap_or(u64::MAX);
        if clicked > 0 {
            self.count(&family::CLICKS, labels, clicked);
        }
        if summary.unserved_clicks > 0 {
            self.count(&family::UNSERVED_CLICKS, labels, summary.unserved_clicks);
        }
        let shown = search.served.results();
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
    fn count_teams(&mut self, search: &Parts, response: &UserResponse<'_>) {
        let teams = search.trial.as_ref().and_then(|it| it.teams.as_ref());
        let Some(teams) = teams else { return };
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
    fn count_judgements(&mut self, search: &Parts, summary: &FeedbackSummary) {
        if summary.judgements.is_empty() {
            return;
        }
        let query = search.gold.as_ref().map(GoldReference::query);
        let level = query.map_or(1.0, |query| query.judgements.level().get());
        let documents = query.map(GoldQuery::documents).unwrap_or_default();
        let documents = documents.iter();
        let grades: FxHashMap<u64, f64> = documents
            .map(|(document, grade)| (hash_document(document), grade.get()))
            .collect();
        for &(document, grade) in &summary.judgements {
            let in_gold = grades.get(&document).map(|grade| *grade >= level);
            let labels = [
                judgement_label(in_gold),
                judgement_label(Some(grade >= level)),
                search.segment.variant,
            ];
            self.count(&family::PRODUCTION_JUDGEMENTS, labels, 1);
        }
    }
}

/// Returns the label of a judgement: relevant, not relevant, or none.
fn judgement_label(relevant: Option<bool>) -> Label {
    Label::from_position(match relevant {
        Some(false) => 0,
        Some(true) => 1,
        None => 2,
    })
}
