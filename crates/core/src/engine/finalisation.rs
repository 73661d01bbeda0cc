//! Counting of the effects of the join, above all of the feedback on searches whose feedback window
//! has passed.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::machine::Engine;
use crate::detection::Losses;
use crate::engine::bias::Difference;
use crate::engine::evaluators::{Evaluator, Evaluators};
use crate::engine::events::{FeedbackOutcome, SearchOutcome};
use crate::engine::evidence::Observation;
use crate::engine::family;
use crate::engine::fixed::Nano;
use crate::engine::join::{
    Effect, Exceeded, FeedbackSummary, Finished, GoldReference, Parts, SessionFeedback,
};
use crate::engine::objective::Observed;
use crate::engine::score_column::column_of;
use crate::engine::segment::Segment;
use crate::engine::series::{Dimension, Label, TIE};
use crate::engine::units::{Credits, OpenSession, credits};
use crate::event::EvaluatorKind;
use crate::gold::{GoldQuery, hash_document};
use crate::measure::Measure;
use crate::measure::user::{Evaluated, UserMeasure, UserResponse};
use crate::number::real_length;
use crate::time::{EventTime, Millis};

impl Engine {
    /// Counts the effects in the buffer. `watermark` is that of `partition`.
    pub(super) fn count_effects(&mut self, partition: i32, watermark: Option<EventTime>) {
        let mut effects = std::mem::take(&mut self.scratch.effects);
        for effect in effects.drain(..) {
            self.count_effect(effect, partition, watermark.unwrap_or(EventTime(i64::MIN)));
        }
        self.scratch.effects = effects;
    }

    fn count_effect(&mut self, effect: Effect, partition: i32, watermark: EventTime) {
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
                if segment.is_of_users() {
                    let at = known_at(search.parts.ts);
                    self.count_feedback(&search, partition, at);
                }
                self.preparation
                    .recycle(std::mem::take(&mut search.parts.served));
            }
            Effect::SessionEnded(session) => self.end_session((partition, session)),
            Effect::Session(feedback) => {
                let at = known_at(feedback.ts);
                self.count_session_feedback(&feedback, at);
            }
            Effect::Conversions(search) => {
                let window = self.settings.conversion_window.unwrap_or_default();
                let at = search.ts.plus(window.into());
                let at = at.min(watermark.max(search.ts));
                let response = UserResponse {
                    conversions: search.number,
                    values: &search.values,
                    ..UserResponse::default()
                };
                self.score(&response, UserMeasure::is_of_conversions);
                let series = &search.segment.series;
                self.totals.scores.record(at, series, &self.scratch.scores);
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

    fn count_feedback(&mut self, search: &Finished, partition: i32, at: EventTime) {
        let settings = std::sync::Arc::clone(&self.settings);
        let Finished {
            parts,
            summary,
            session,
        } = search;
        let session = session.map(|id| (partition, id));
        let segment = &*parts.segment;
        let evaluators = std::mem::take(&mut self.evaluators);
        let evaluations = evaluated(summary, &evaluators);
        let response = UserResponse {
            evaluations: &evaluations,
            ..summary.response(parts.served.results(), &settings.click_weights)
        };
        self.score(&response, |_| true);
        self.record(segment, at);
        if let Some(bucket) = parts.trial.as_ref().and_then(|it| it.bucket) {
            self.totals.units.add_scores(bucket, &self.scratch.scores);
        }
        let of = Observed::NoResults(parts.served.results() == 0);
        self.test_objectives(parts.ts, segment.variant, of);
        self.observe_response(parts, session, &response);
        if parts.gold.is_some()
            && let Some(satisfaction) = response.satisfaction()
        {
            let correlation = &mut self.totals.correlation;
            correlation.record(at, parts.served.levels(), satisfaction);
        }
        self.count_clicks(parts, summary, &response);
        self.count_teams(parts, session, &response);
        let gold = parts.gold.as_ref().map(GoldReference::query);
        self.count_judgements((parts.ts, segment), gold, summary, &evaluators);
        self.evaluators = evaluators;
    }

    /// Adds the scores that are computed to the regression evidence, as far as they are the first ones of
    /// the session. Searches beyond the limit of a session depend on each other, and are left out.
    fn observe_response(
        &mut self,
        search: &Parts,
        session: Option<OpenSession>,
        response: &UserResponse<'_>,
    ) {
        let mut watched = self.settings.detection.measures.iter();
        if search.is_beyond_session || !watched.any(|it| it.is_user_measure) {
            return;
        }
        let mut scores = std::mem::take(&mut self.scratch.scores);
        if let (Some(session), Some(context)) = (session, response.session) {
            let place = (search.ts, context.is_last);
            self.observed_sessions
                .keep_first(session, place, &mut scores);
        }
        self.observe(Observation {
            ts: search.ts,
            variant: search.segment.variant,
            series: search.segment.watched(),
            scores: &scores,
            unjudged: &[],
            query: search.gold.as_ref().map(GoldReference::query),
            is_of_users: true,
        });
        self.scratch.scores = scores;
    }

    /// Records feedback on a whole session.
    fn count_session_feedback(&mut self, feedback: &SessionFeedback, at: EventTime) {
        let SessionFeedback {
            summary, segment, ..
        } = feedback;
        let evaluators = std::mem::take(&mut self.evaluators);
        let evaluations = evaluated(summary, &evaluators);
        let response = UserResponse {
            evaluations: &evaluations,
            ..summary.response(0, &[])
        };
        self.score(&response, UserMeasure::is_opinion);
        self.record(segment, at);
        let of = (feedback.ts, &**segment);
        self.count_judgements(of, None, summary, &evaluators);
        self.evaluators = evaluators;
        self.count_joined(feedback.action, feedback.segment.variant, 1);
    }

    /// Computes the scores of the user measures for which `is_included` returns true.
    fn score(&mut self, response: &UserResponse<'_>, is_included: impl Fn(&UserMeasure) -> bool) {
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
    }

    /// Records the scores that are computed, except those that wait for conversions.
    fn record(&mut self, segment: &Segment, at: EventTime) {
        let scores = &self.scratch.scores;
        let recorded = &mut self.totals.scores;
        if self.waiting_columns.is_empty() {
            recorded.record(at, &segment.series, scores);
            return;
        }
        let is_known = |(column, _): &&(usize, Nano)| !self.waiting_columns.contains(column);
        let known: SmallVec<[(usize, Nano); 32]> =
            scores.iter().filter(is_known).copied().collect();
        recorded.record(at, &segment.series, &known);
    }

    /// Counts clicked results and expected clicks, both at the positions with expected clicks, clicks on
    /// unserved results, and the time to the first click.
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
        let listed = self.settings.expected_clicks.len();
        let is_expected = |position: &u32| {
            listed == 0 || usize::try_from(*position).is_ok_and(|position| position <= listed)
        };
        let clicked = clicked.iter().filter(|it| is_expected(it)).count();
        let clicked = u64::try_from(clicked).unwrap_or(u64::MAX);
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

    /// Adds the credit of an interleaved search to its session. A search without a session is one.
    fn count_teams(
        &mut self,
        search: &Parts,
        session: Option<OpenSession>,
        response: &UserResponse<'_>,
    ) {
        let Some(trial) = &search.trial else { return };
        let Some(teams) = &trial.teams else { return };
        let documents = search.served.documents();
        let results = documents
            .iter()
            .copied()
            .zip(teams.of_results.iter().copied());
        let document_at = |position: u32| {
            let index = usize::try_from(position).ok()?.checked_sub(1)?;
            documents.get(index).copied()
        };
        let clicked = response
            .clicks
            .iter()
            .filter_map(|it| document_at(it.position));
        let credits = credits(results, clicked);
        let experiment = teams.experiment;
        let Some(session) = session else {
            return self.count_credits(experiment, &credits);
        };
        let sessions = &mut self.totals.open_sessions;
        if !sessions.add(session, experiment, search.ts, &credits) {
            self.count_credits(experiment, &credits);
        }
    }

    /// Time after which a session without a further search has ended.
    fn session_age(&self) -> Millis {
        Millis(self.feedback_window.0.saturating_mul(4))
    }

    /// Counts the sessions that began here and continue in another worker, which has their partition now, or all
    /// without a further search if there is no room, and forgets what was observed in sessions without one.
    pub(super) fn end_lost_sessions(&mut self, watermark: Option<EventTime>) {
        let Some(watermark) = watermark else { return };
        let before = watermark.minus(self.session_age());
        self.observed_sessions.expire(before);
        let (partitions, is_full) = (&self.partitions, self.totals.open_sessions.is_full());
        let is_lost =
            |partition: i32| is_full || partitions.iter().all(|it| it.number != partition);
        let expired = self.totals.open_sessions.expire(before, is_lost);
        for (experiment, credits) in expired {
            self.count_credits(experiment, &credits);
        }
    }

    /// Counts the interleaved rankings of a session that has ended.
    fn end_session(&mut self, session: OpenSession) {
        self.observed_sessions.end(session);
        for (experiment, credits) in self.totals.open_sessions.end(session) {
            self.count_credits(experiment, &credits);
        }
    }

    /// Counts a session with interleaved rankings: its winning team, which has more credit than any other,
    /// and each pair of teams.
    fn count_credits(&mut self, experiment: Label, credits: &Credits) {
        let most = credits.iter().map(|(_, number)| *number).max().unwrap_or(0);
        let mut best = credits
            .iter()
            .filter(|(_, number)| most > 0 && *number == most);
        let winner = match (best.next(), best.next()) {
            (Some((winner, _)), None) => *winner,
            _ => TIE,
        };
        // A team that never wins is exposed with 0.
        for (team, _) in credits {
            self.count(&family::INTERLEAVING_WINS, [experiment, *team], 0);
        }
        self.count(&family::INTERLEAVING_WINS, [experiment, winner], 1);
        // Names are in the same order in every process, so that replicas count the same pairs.
        let registry = self.names.shared();
        let mut named: Vec<(Label, u64)> = credits.clone();
        named.sort_by(|(one, _), (other, _)| registry.compare(Dimension::Team, *one, *other));
        for (place, (team, credit)) in named.iter().enumerate() {
            for (against, other) in named.iter().skip(place + 1) {
                let outcome = Label::from_position(match credit.cmp(other) {
                    Ordering::Greater => 0,
                    Ordering::Less => 1,
                    Ordering::Equal => 2,
                });
                let labels = [experiment, *team, *against, outcome];
                self.count(&family::INTERLEAVING_PAIRS, labels, 1);
            }
        }
    }

    /// Counts grades given in production against the grades of the gold set, and the judgments of evaluators
    /// against those of people.
    fn count_judgements(
        &mut self,
        (ts, segment): (EventTime, &Segment),
        query: Option<&GoldQuery>,
        summary: &FeedbackSummary,
        evaluators: &Evaluators,
    ) {
        if summary.judgements.is_empty() && summary.evaluations.is_empty() {
            return;
        }
        let variant = segment.variant;
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
                variant,
            ];
            self.count(&family::PRODUCTION_JUDGEMENTS, labels, 1);
        }
        let people = summary.judgements.iter();
        let people = people.map(|(document, grade)| Opinion {
            by: None,
            document: *document,
            value: *grade,
        });
        let others = summary.evaluations.iter().filter_map(|it| {
            Some(Opinion {
                by: Some(evaluators.get(it.by)?),
                document: it.document,
                value: it.value,
            })
        });
        let opinions: Vec<Opinion<'_>> = people.chain(others).collect();
        let scale = query.map(|query| query.judgements.scale_max().get());
        let mut differences = Differences::default();
        for opinion in &opinions {
            let expected = opinion.people(&opinions, &grades);
            self.count_opinion(opinion, expected, level, variant);
            differences.add(opinion, expected, (level, scale));
        }
        // The first series is that of all searches of the variant.
        let slices = segment.series.get(1..).unwrap_or_default();
        for ((id, version, name), of_search) in &differences.0 {
            let of = Difference {
                version: (
                    self.names.label(Dimension::Evaluator, id),
                    self.names.label(Dimension::EvaluatorVersion, version),
                ),
                variant,
                name,
                from_people: of_search.mean.mean(),
                value: of_search.values.mean(),
                judgments: &of_search.judgments,
                slices,
            };
            self.totals.biases.add(ts, &of, &self.settings.detection);
        }
    }

    /// Counts a judgment, and its difference from what people say, if they do.
    fn count_opinion(
        &mut self,
        opinion: &Opinion<'_>,
        people: Option<f64>,
        level: f64,
        variant: Label,
    ) {
        let (id, version) = opinion.by.map_or(("", ""), |by| (&*by.id, &*by.version));
        let evaluator = self.names.label(Dimension::Evaluator, id);
        let version = self.names.label(Dimension::EvaluatorVersion, version);
        let kind = Label::from_position(opinion.kind() as usize);
        self.count(
            &family::EVALUATOR_JUDGEMENTS,
            [evaluator, version, kind, variant],
            1,
        );
        let Some(people) = people else { return };
        let outcome = Label::from_position(opinion.outcome(people, level));
        self.count(
            &family::EVALUATOR_PAIRS,
            [evaluator, version, outcome, variant],
            1,
        );
        let difference = opinion.value - people;
        let sign = Label::from_position(usize::from(difference < 0.0));
        self.count(
            &family::EVALUATOR_ERROR_SUM,
            [evaluator, version, sign, variant],
            Nano::from_f64(difference.abs()).get(),
        );
    }
}

/// Judgment of a person, a model or a rule.
struct Opinion<'e> {
    /// Evaluator; `None` for a person without an id.
    by: Option<&'e Evaluator>,
    /// Hash of the judged document; 0 for an answer or a search.
    document: u64,
    /// Value from 0 to 1, or a grade.
    value: f64,
}

impl Opinion<'_> {
    fn kind(&self) -> EvaluatorKind {
        self.by.map_or(EvaluatorKind::Human, |by| by.kind)
    }

    fn name(&self) -> &str {
        self.by.map_or("", |by| &by.name)
    }

    fn is_rescaled(&self) -> bool {
        self.by.is_some_and(|by| by.is_rescaled)
    }

    /// Position of the outcome of the comparison with people: both low, above, below, both high.
    fn outcome(&self, people: f64, level: f64) -> usize {
        let from = if self.is_rescaled() { 0.5 } else { level };
        usize::from(self.value >= from) + 2 * usize::from(people >= from)
    }

    /// Mean of what people say of the same object, else the grade of the gold set. A person is compared with
    /// the gold set alone.
    fn people(&self, all: &[Self], gold: &FxHashMap<u64, f64>) -> Option<f64> {
        if self.kind() != EvaluatorKind::Human {
            let people = all.iter().filter(|it| {
                it.kind() == EvaluatorKind::Human
                    && it.is_rescaled() == self.is_rescaled()
                    && (it.name(), it.document) == (self.name(), self.document)
            });
            let (count, sum) =
                people.fold((0, 0.0), |(count, sum), it| (count + 1, sum + it.value));
            if count > 0 {
                return Some(sum / real_length(count));
            }
        }
        let has_grade = self.name().is_empty() && !self.is_rescaled();
        gold.get(&self.document).copied().filter(|_| has_grade)
    }
}

/// Differences from people in one search, by id, version and property of the evaluator.
#[derive(Default)]
struct Differences<'e>(BTreeMap<(&'e str, &'e str, &'e str), OfSearch>);

/// Judgments of one evaluator in a search.
#[derive(Default)]
struct OfSearch {
    mean: Losses,
    /// Values from 0 to 1.
    values: Losses,
    /// Outcomes of the comparison with people, and differences from them.
    judgments: Vec<(usize, Nano)>,
}

impl<'e> Differences<'e> {
    /// Adds a judgment. A difference of grades is divided by the highest grade; without one, it is not
    /// comparable.
    fn add(
        &mut self,
        opinion: &Opinion<'e>,
        people: Option<f64>,
        (level, scale): (f64, Option<f64>),
    ) {
        let Some(by) = opinion.by else { return };
        let key = (&*by.id, &*by.version, &*by.name);
        let of = self.0.entry(key).or_default();
        let scale = if by.is_rescaled { Some(1.0) } else { scale };
        let scale = scale.filter(|scale| *scale > 0.0);
        if let Some(scale) = scale {
            of.values.add(opinion.value / scale);
        }
        let Some(people) = people else { return };
        let difference = opinion.value - people;
        let outcome = opinion.outcome(people, level);
        of.judgments.push((outcome, Nano::from_f64(difference)));
        if let Some(scale) = scale {
            of.mean.add(difference / scale);
        }
    }
}

/// Values from 0 to 1 that evaluators gave.
fn evaluated<'e>(summary: &FeedbackSummary, evaluators: &'e Evaluators) -> Vec<Evaluated<'e>> {
    let evaluations = summary.evaluations.iter().filter_map(|it| {
        let by = evaluators.get(it.by).filter(|by| by.is_rescaled)?;
        Some(Evaluated {
            name: &by.name,
            evaluator: &by.id,
            value: it.value,
        })
    });
    evaluations.collect()
}

/// Returns the label of a judgement: relevant, not relevant, or none.
fn judgement_label(relevant: Option<bool>) -> Label {
    Label::from_position(match relevant {
        Some(false) => 0,
        Some(true) => 1,
        None => 2,
    })
}

/// Returns the label under which feedback with this action is counted.
fn action_label(action: u8) -> Label {
    Label::from_position(action.into())
}
