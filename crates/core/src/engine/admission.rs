//! Processing of a search when it is read: judging, counting and adding it to the join.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Engine, Position, WHOLE_SEARCH, action_label};
use crate::engine::correlation::Level;
use crate::engine::events::{FeedbackOutcome, SearchOutcome};
use crate::engine::evidence::Observation;
use crate::engine::family::{self, HOPS};
use crate::engine::fixed::Nano;
use crate::engine::join::{self, Pending, Teams};
use crate::engine::observer::JudgedSearch;
use crate::engine::registry::{Dimension, Label, Series};
use crate::engine::scores::{self, column_of};
use crate::engine::settings::{EXPERIMENT, Settings};
use crate::event::{Kind, Search};
use crate::gold::{GoldQuery, GoldSet, QueryIndex, normalise};
use crate::measure::micro::Documents;
use crate::measure::routing;
use crate::ranking::Judged;

impl Engine {
    pub(super) fn search(&mut self, at: Position, search: &Search<'_>) {
        let fresh = self.receive(Kind::Search, at);
        if self.reject_future(Kind::Search, at, search.ts, fresh) {
            return;
        }
        let Some(partition) = self.partitions.get_mut(&at.partition) else {
            return;
        };
        partition.clock.observe(Kind::Search, search.ts);
        let rejection = if partition.join.is_closed(search.ts) {
            self.retain_closed(at, search, fresh);
            Some(SearchOutcome::Late)
        } else if partition.join.contains(&search.query_id, search.ts) {
            Some(SearchOutcome::Duplicate)
        } else {
            None
        };
        match rejection {
            Some(outcome) if fresh => self.totals.events.search(outcome),
            Some(_) => {}
            None => self.admit(at, search, fresh),
        }
        self.advance(at.partition);
        self.enforce_memory_limit();
    }

    /// Retains a search whose feedback window has passed. Feedback on it is late, and later
    /// feedback on its session may be attributed to it.
    fn retain_closed(&mut self, at: Position, search: &Search<'_>, fresh: bool) {
        let gold = Arc::clone(&self.gold);
        let query = gold_query(&gold, search).map(|index| gold.query(index));
        let variant = self.registry.label(Dimension::Variant, search.variant());
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.series.clear();
        if search.session_id.is_some() {
            self.resolve_series(search, query, variant, &mut scratch.series);
        }
        let mut pending = pending(search, variant, &scratch.series, fresh);
        self.scratch = scratch;
        if let Some(partition) = self.partitions.get_mut(&at.partition) {
            let join = &mut partition.join;
            if join.is_over_search_limit(&pending) {
                pending.in_session = None;
            }
            let late = join.add_closed_search(&search.query_id, &pending, at.offset);
            self.totals.events.feedback(FeedbackOutcome::Late, late);
        }
    }

    /// Judges a search and adds it to the join.
    fn admit(&mut self, at: Position, search: &Search<'_>, fresh: bool) {
        let gold = Arc::clone(&self.gold);
        let index = gold_query(&gold, search);
        let query = index.map(|index| gold.query(index));
        let variant = self.registry.label(Dimension::Variant, search.variant());
        let mut scratch = std::mem::take(&mut self.scratch);
        let watched = self.resolve_series(search, query, variant, &mut scratch.series);
        scratch.scores.clear();
        scratch.levels.clear();
        let known = match query {
            Some(_) => Nano::ONE,
            None => Nano::default(),
        };
        scratch.scores.push((scores::SEARCHES, known));
        if let Some(query) = query {
            let mut judge = std::mem::take(&mut self.judge);
            let judged = judge.judge(search, query);
            for (index, measure) in self.settings.measures.iter().enumerate() {
                let score = measure.score(&judged);
                if !measure.is_user_measure() {
                    scratch.levels.push(Level::of(score));
                }
                if let Some(score) = score {
                    let score = Nano::from_f64(score);
                    scratch.scores.push((column_of(index), score));
                }
            }
            if fresh {
                scratch.documents.clear();
                let cutoffs = self.totals.scores.cutoffs().iter();
                scratch.documents.extend(
                    cutoffs.map(|cutoff| Documents::of(judged.ranking, &query.judgements, *cutoff)),
                );
                self.totals
                    .scores
                    .record_documents(&scratch.series, &scratch.documents);
                self.count_components(&judged, variant);
                self.count_domains(&judged, variant);
                if let (Some(observer), Some(query)) = (&self.observer, index) {
                    observer.judged(&JudgedSearch {
                        search,
                        variant,
                        gold: &gold,
                        query,
                        ranking: judged.ranking,
                        judge_by: self.settings.judging.judge_by,
                        scores: &scratch.scores,
                    });
                }
            }
            self.judge = judge;
        }
        if fresh {
            self.totals
                .scores
                .record(search.ts, &scratch.series, &scratch.scores);
            if let Some(query) = query {
                self.observe(Observation {
                    variant,
                    series: &scratch.series[..watched],
                    scores: &scratch.scores,
                    query: &query.key,
                });
            }
            self.record_latency(search, variant);
            self.count_cost(search, variant);
            if let Some(error_type) = &search.error_type {
                let error_type = self.registry.label(Dimension::ErrorType, error_type);
                self.count(&family::SEARCH_ERRORS, [variant, error_type], 1);
            }
        }
        let mut pending = pending(search, variant, &scratch.series, fresh);
        pending.gold = index.map(|index| (gold, index));
        pending.teams = self.teams(search);
        pending.levels = scratch.levels.as_slice().into();
        pending.watched = u16::try_from(watched).unwrap_or(u16::MAX);
        self.scratch = scratch;
        let mut joined_actions = Vec::new();
        let mut over_limit = false;
        if let Some(partition) = self.partitions.get_mut(&at.partition) {
            if partition.join.is_over_search_limit(&pending) {
                pending.in_session = None;
                over_limit = fresh;
            }
            partition
                .join
                .add_search(&search.query_id, pending, at.offset, |record| {
                    joined_actions.push(action_label(record.action));
                });
        }
        if over_limit {
            self.count(&family::SESSION_LIMIT_EXCEEDED, [], 1);
        }
        for action in joined_actions {
            self.count_joined(action, variant);
        }
    }

    /// Returns the team that placed each result; `None` for a search without teams.
    fn teams(&self, search: &Search<'_>) -> Option<Box<Teams>> {
        search.results.iter().find(|hit| hit.team.is_some())?;
        let experiment = search.experiment.as_ref();
        let experiment = experiment.and_then(|it| it.id.as_deref()).unwrap_or("");
        let team = |team| self.registry.label(Dimension::Team, team);
        let of_results = search
            .results
            .iter()
            .map(|hit| hit.team.as_deref().map_or(Label::EMPTY, team));
        Some(Box::new(Teams {
            experiment: self.registry.label(Dimension::Experiment, experiment),
            of_results: of_results.collect(),
        }))
    }

    /// Counts the components of a judged search: the trigger outcome of each, and the hop distances
    /// of its results.
    fn count_components(&mut self, judged: &Judged<'_>, variant: Label) {
        for (index, part) in judged.parts().enumerate() {
            let component = Label::from_position(index);
            if let Some(needed) = part.needed {
                let [needed, fired] = [needed, part.fired].map(flag_label);
                let labels = [component, needed, fired, variant];
                self.count(&family::COMPONENT_TRIGGER, labels, 1);
            }
            for hops in part.hops(&judged.search.results).filter_map(hops_label) {
                self.count(&family::COMPONENT_HOPS, [component, hops, variant], 1);
            }
        }
    }

    /// Counts the expected and the selected domain of a judged search, and the domains that
    /// contributed to it.
    fn count_domains(&mut self, judged: &Judged<'_>, variant: Label) {
        let registry = Arc::clone(&self.registry);
        let label = |domain: &str| registry.label(Dimension::Domain, domain);
        if let Some((expected, selected)) = routing::confusion(judged) {
            self.count(
                &family::ROUTING,
                [label(expected), label(selected), variant],
                1,
            );
        }
        if let Some((primary, contributors)) = routing::collaboration(judged) {
            for contributor in contributors {
                let labels = [label(primary), label(&contributor), variant];
                self.count(&family::COLLABORATION, labels, 1);
            }
        }
    }

    /// Resolves the series that count the scores of a search: the whole, and one for each slice for
    /// which the search has a value. Series monitored for regressions come first. Returns the
    /// number of monitored series.
    fn resolve_series(
        &mut self,
        search: &Search<'_>,
        gold: Option<&GoldQuery>,
        variant: Label,
        series: &mut Vec<Series>,
    ) -> usize {
        series.clear();
        series.push(self.series(
            &family::SCORE,
            [variant, Label::from_position(0), Label::EMPTY],
        ));
        let settings = Arc::clone(&self.settings);
        let is_watched = |index: &usize| settings.detection.slices.contains(index);
        let slices = || 0..settings.slices.len();
        for index in slices().filter(is_watched) {
            series.extend(self.series_of_slice(&settings, index, search, gold, variant));
        }
        let watched = series.len();
        for index in slices().filter(|index| !is_watched(index)) {
            series.extend(self.series_of_slice(&settings, index, search, gold, variant));
        }
        watched
    }

    /// Returns the series of a search in one slice; `None` if the search has no value for the
    /// slice.
    fn series_of_slice(
        &mut self,
        settings: &Settings,
        index: usize,
        search: &Search<'_>,
        gold: Option<&GoldQuery>,
        variant: Label,
    ) -> Option<Series> {
        let slice = &settings.slices[index];
        let value = if slice == EXPERIMENT && !settings.experiments.is_empty() {
            settings.experiment_of(search).map(Cow::Borrowed)
        } else {
            let of_gold = gold.and_then(|gold| Some(gold.labels.get(slice)?.as_str().into()));
            of_gold.or_else(|| search.labels.as_ref()?.label(slice))
        };
        let value = self.registry.label(Dimension::SliceValue, &value?);
        let labels = [variant, Label::from_position(index + 1), value];
        Some(self.series(&family::SCORE, labels))
    }

    fn record_latency(&mut self, search: &Search<'_>, variant: Label) {
        let whole = search.latency_ms.map(|latency| (WHOLE_SEARCH, latency));
        let stages = search.stages.iter().flatten();
        // A stage of this name would be counted among the whole searches.
        let stages = stages.filter(|stage| &*stage.name != WHOLE_SEARCH);
        let stages = stages.filter_map(|stage| Some((&*stage.name, stage.latency_ms?)));
        for (stage, latency) in whole.into_iter().chain(stages) {
            let stage = self.registry.label(Dimension::Stage, stage);
            let series = self.series(&family::SEARCH_LATENCY, [stage, variant]);
            self.totals.latency.record(search.ts, series, latency);
        }
    }
}

/// Returns the gold query of a search.
fn gold_query(gold: &GoldSet, search: &Search<'_>) -> Option<QueryIndex> {
    gold.find(search.query_key.as_deref(), search.query.as_deref())
}

/// Creates the state that the join keeps of every search.
fn pending(search: &Search<'_>, variant: Label, series: &[Series], fresh: bool) -> Pending {
    let query = || match (&search.query, &search.query_key) {
        (Some(text), _) => join::hash(&normalise(text)),
        (None, Some(key)) => join::hash(key),
        (None, None) => 0,
    };
    let session = search.session_id.as_deref();
    let in_session = session.map(|session| (join::hash(session), query()));
    let served = search.results.iter().map(|hit| &*hit.id);
    Pending::new(search.ts, variant, series, fresh, in_session, served)
}

/// Label of a flag: `false` or `true`.
fn flag_label(flag: bool) -> Label {
    Label::from_position(usize::from(flag))
}

/// Label of a distance in hops. Longer distances share the last label. `None` for distance 0.
fn hops_label(hops: u32) -> Option<Label> {
    let hops = usize::try_from(hops).unwrap_or(HOPS.len()).min(HOPS.len());
    hops.checked_sub(1).map(Label::from_position)
}
