//! What happens to a search when its feedback window has passed: what people did with it is counted.

use std::collections::BTreeSet;

use super::{Engine, action_label};
use crate::engine::evidence::Observed;
use crate::engine::fixed::Nano;
use crate::engine::join::{self, Closed, Opinion, Pending, Reacted};
use crate::engine::registry::{Family, Label, TIE};
use crate::engine::scores::column_of;
use crate::engine::snapshot::{FeedbackOutcome, SearchOutcome};
use crate::gold::GoldQuery;
use crate::measure::Measure;
use crate::measure::people::{People, Reaction};
use crate::time::EventTime;

impl Engine {
    /// Counts what was closed when event time was at `watermark`.
    pub(super) fn finalise(&mut self, closed: &Closed, watermark: EventTime) {
        self.counted
            .events
            .feedback(FeedbackOutcome::Orphaned, closed.orphaned);
        // What people did is known when the window has passed, and belongs to that moment: a
        // one-minute window would never hold anything otherwise.
        let window = self.feedback_window;
        let known_at = |ts: EventTime| ts.plus(window).min(watermark.max(ts));
        for (search, reacted) in &closed.searches {
            let judged = match search.gold {
                Some(_) => SearchOutcome::Judged,
                None => SearchOutcome::Unjudged,
            };
            self.counted.events.search(judged);
            self.count_reaction(search, reacted, known_at(search.ts));
        }
        for opinion in &closed.opinions {
            self.count_opinion(opinion, known_at(opinion.ts));
        }
    }

    fn count_reaction(&mut self, search: &Pending, reacted: &Reacted, at: EventTime) {
        let settings = std::sync::Arc::clone(&self.settings);
        let reaction = reacted.reaction(search.documents.len(), &settings.click_weights);
        self.record_people(&search.series, &reaction, at, |_| true);
        // Searches of one session are not independent of each other: the last one speaks for all.
        if reaction.session.is_none_or(|session| session.is_last) {
            let scores = std::mem::take(&mut self.scratch.scores);
            self.observe(Observed {
                variant: search.variant,
                series: &search.series[..usize::from(search.watched)],
                scores: &scores,
                query: "",
            });
            self.scratch.scores = scores;
        }
        if search.gold.is_some()
            && let Some(satisfaction) = reaction.satisfaction()
        {
            let correlation = &mut self.counted.correlation;
            correlation.record(at, &search.levels, satisfaction);
        }
        self.count_clicks(search, reacted, &reaction);
        self.count_teams(search, &reaction);
        self.count_judgements(search, reacted);
    }

    /// Records what was said of a whole session.
    fn count_opinion(&mut self, opinion: &Opinion, at: EventTime) {
        let reacted = Reacted::opinion(&opinion.said);
        let reaction = reacted.reaction(0, &[]);
        self.record_people(&opinion.series, &reaction, at, People::is_opinion);
        self.count_joined(action_label(opinion.said.action), opinion.variant);
    }

    /// Records the scores of those measures of people that `are_meant`.
    fn record_people(
        &mut self,
        series: &[crate::engine::registry::Series],
        reaction: &Reaction<'_>,
        at: EventTime,
        are_meant: impl Fn(&People) -> bool,
    ) {
        let scores = &mut self.scratch.scores;
        scores.clear();
        for (index, measure) in self.settings.measures.iter().enumerate() {
            if let Measure::People(measure) = measure
                && are_meant(measure)
                && let Some(score) = measure.score(reaction)
            {
                scores.push((column_of(index), Nano::from_f64(score)));
            }
        }
        self.counted.scores.record(at, series, scores);
    }

    /// Counts clicked results, the clicks to be expected at the positions shown, clicks on what was
    /// not served, and the time to the first click.
    fn count_clicks(&mut self, search: &Pending, reacted: &Reacted, reaction: &Reaction<'_>) {
        let labels = [search.variant, Label::EMPTY, Label::EMPTY];
        let clicked: BTreeSet<u32> = reaction.clicks.iter().map(|it| it.position).collect();
        let clicked = u64::try_from(clicked.len()).unwrap_or(u64::MAX);
        if clicked > 0 {
            self.count(Family::Clicks, labels, clicked);
        }
        if reacted.unserved_clicks > 0 {
            self.count(Family::UnservedClicks, labels, reacted.unserved_clicks);
        }
        let shown = search.documents.len();
        let expected = self.settings.expected_clicks.iter().take(shown);
        let expected: i64 = expected.map(|share| Nano::from_f64(*share).get()).sum();
        if expected > 0 {
            let expected = u64::try_from(expected).unwrap_or(0);
            self.count(Family::ExpectedClicks, labels, expected);
        }
        if let Some(first) = reaction.clicks.first() {
            let series = self.series(Family::FirstClick, labels);
            self.counted.first_clicks.record(series, first.after * 1e3);
        }
    }

    /// Counts which team won an interleaved search: the one with more clicks.
    fn count_teams(&mut self, search: &Pending, reaction: &Reaction<'_>) {
        let Some(teams) = &search.teams else { return };
        let mut present: Vec<Label> = teams.of_results.to_vec();
        present.sort_unstable();
        present.dedup();
        present.retain(|team| *team != Label::EMPTY);
        let team_at = |position: u32| {
            let place = usize::try_from(position).ok()?.checked_sub(1)?;
            teams.of_results.get(place).copied()
        };
        let clicks = |team: &Label| {
            let clicked = reaction.clicks.iter();
            clicked
                .filter(|it| team_at(it.position) == Some(*team))
                .count()
        };
        let most = present.iter().map(clicks).max().unwrap_or(0);
        let mut best = present
            .iter()
            .filter(|team| most > 0 && clicks(team) == most);
        let winner = match (best.next(), best.next()) {
            (Some(winner), None) => *winner,
            _ => TIE,
        };
        // A team that never wins is shown with 0.
        for team in present {
            self.count(
                Family::Interleaving,
                [teams.experiment, team, Label::EMPTY],
                0,
            );
        }
        self.count(
            Family::Interleaving,
            [teams.experiment, winner, Label::EMPTY],
            1,
        );
    }

    /// Counts grades given in production beside those of the gold set.
    fn count_judgements(&mut self, search: &Pending, reacted: &Reacted) {
        for &(document, grade) in &reacted.judgements {
            let query = search.gold.as_ref().map(|(gold, index)| gold.query(*index));
            let level = query.map_or(1.0, |query| query.judgements.level().get());
            let in_gold = query.and_then(|query| grade_of(query, document));
            let in_gold = in_gold.map(|grade| grade >= level);
            let labels = [
                judgement_label(in_gold),
                judgement_label(Some(grade >= level)),
                search.variant,
            ];
            self.count(Family::Judgements, labels, 1);
        }
    }
}

/// The grade that a gold query gives to the document of this hash.
fn grade_of(query: &GoldQuery, document: u64) -> Option<f64> {
    let documents = query.documents();
    let found = documents.iter().find(|(id, _)| join::hash(id) == document);
    found.map(|(_, grade)| grade.get())
}

/// The label of a judgement: relevant, not relevant, or none.
fn judgement_label(relevant: Option<bool>) -> Label {
    Label::from_position(match relevant {
        Some(false) => 0,
        Some(true) => 1,
        None => 2,
    })
}
