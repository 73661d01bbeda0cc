//! Incidents: drops with a beginning, one frozen reference and an end.
//!
//! An alarm of a drop test opens an incident, or adds a measure and a slice to the open incident of the
//! variant if their drops began within 15 minutes or after the same deployment. The mean of each query
//! before the beginning is frozen, and later searches are compared with it. A deployment ends nothing.
//!
//! Each worker has its share of an incident: the searches that it read. [`Incident::merge`] adds shares.
//! A worker opens and ends the incidents that the other workers of its process publish as well
//! (`adopt`), so all shares have the same identity, beginning and end.
//!
//! The module depends on scores and names. It depends on no clock, and not on the tests that raise alarms.

mod acknowledgement;
mod deployment;
mod drop;
mod ending;
mod level;
mod measure;
mod note;
mod query;
mod record;
mod reference;
mod search_loss;
mod series_names;
mod severity;
mod shares;
mod tracked;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::detection::{Baseline, Beginning, DropClass, Losses, Part, minute_of};
use crate::engine::family;
use crate::engine::registry::Registry;
use crate::engine::remap::IdRemap;
use crate::engine::score_column::column_of;
use crate::engine::series::{Dimension, Label, Series};
use crate::engine::settings::{MonitoredMeasure, Settings};
use crate::time::{EventTime, Millis};

pub use acknowledgement::Acknowledged;
pub use deployment::Deployed;
pub(super) use deployment::DeploymentMark;
pub(super) use drop::Drop;
pub use ending::EndReason;
pub(super) use ending::Ending;
pub use level::Level;
use measure::ComparedQueries;
pub use measure::IncidentMeasure;
pub use note::Note;
pub use query::IncidentQuery;
use record::EXPIRED_AFTER;
pub use record::Incident;
pub(super) use reference::{QueryReferences, SharedReference, TrackedScore};
use search_loss::SearchLoss;
pub(super) use series_names::{named_series, names_of};
pub use severity::Severity;
use tracked::{Tracked, TrackedMeasure, TrackedSeries};

/// Longest time between the beginnings of two drops of one incident, if they can have begun so close to each other.
const SAME_INCIDENT: Millis = Millis(15 * 60_000);

/// Maximum number of open incidents of a worker. Further alarms open none.
pub(super) const MAX_OPEN: usize = 32;

/// Maximum number of ended incidents that are kept.
const MAX_ENDED: usize = 100;

/// Maximum number of deployments that are kept of a variant, and of variants with deployments.
const MAX_DEPLOYMENTS: usize = 16;
const MAX_DEPLOYED: usize = 256;

/// Maximum number of variants whose ended incidents are counted.
const MAX_COUNTED: usize = 1_000;

/// Share of one worker in all incidents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Incidents {
    open: Vec<Tracked>,
    /// Ended incidents, oldest first.
    ended: VecDeque<Incident>,
    /// Number of ended incidents by name of the variant, by reason in the order of [`EndReason::ALL`].
    /// Every worker ends the incidents of all.
    ended_total: BTreeMap<Box<str>, [u64; EndReason::ALL.len()]>,
    /// Deployments by name of the variant, oldest first.
    deployments: BTreeMap<Box<str>, VecDeque<Deployed>>,
    /// Incidents that were opened or ended since they were taken last.
    #[serde(skip)]
    news: Vec<Incident>,
    /// Open incidents of other workers that this one cannot follow yet: it has read no search of their
    /// series.
    #[serde(skip)]
    awaited: Vec<Incident>,
}

impl Incidents {
    /// Returns true if a variant has an open incident.
    pub(super) fn is_tracking(&self, variant: Label) -> bool {
        self.open.iter().any(|it| it.variant == variant)
    }

    /// Returns true if an open incident of a variant, or one of another worker that this one cannot follow
    /// yet, contains a measure, a slice and its value.
    pub(super) fn has_open(&self, variant: &str, name: (&str, &str, &str)) -> bool {
        let open = self.open.iter().map(|it| &it.incident);
        let mut known = open.chain(&self.awaited);
        known.any(|it| *it.variant == *variant && it.has(name))
    }

    /// Returns true if an open incident contains the drop of a series.
    pub(super) fn has_drop(
        &self,
        series: Series,
        watched: &MonitoredMeasure,
        (settings, registry): (&Settings, &Registry),
    ) -> bool {
        let measure = settings.measures.get(watched.index);
        let names = names_of(series, settings, registry);
        names.zip(measure).is_some_and(|(names, measure)| {
            let [variant, slice, value] = &names;
            self.has_open(variant, (&measure.to_string(), slice, value))
        })
    }

    /// Minute of the first alarm of the open incidents that contain one of the series in a column.
    pub(super) fn alarmed(&self, series: &[Series], column: usize) -> Option<i64> {
        let contains = |of: &TrackedMeasure| {
            of.column == column && of.series.iter().any(|it| series.contains(&it.series))
        };
        let open = self.open.iter();
        let containing = open.filter(|it| it.columns.iter().any(contains));
        let alarms = containing.map(|it| minute_of(it.incident.alarmed_at.0));
        alarms.min()
    }

    /// Compares the score of a search with the references of the open incidents of its variant.
    pub(super) fn observe(&mut self, score: TrackedScore<'_>, watched: &MonitoredMeasure) {
        let column = column_of(watched.index);
        let of_variant = self
            .open
            .iter_mut()
            .filter(|it| it.variant == score.variant);
        for tracked in of_variant {
            let mut columns = tracked.columns.iter_mut();
            let Some(of) = columns.find(|it| it.column == column) else {
                continue;
            };
            let is_touched = |it: &&TrackedSeries| score.series.contains(&it.series);
            if !of.series.iter().any(|it| is_touched(&it)) {
                continue;
            }
            let Some(mean) = of.queries.count(&score, watched) else {
                continue;
            };
            let touched = of.series.iter().filter(is_touched);
            let losses: Vec<SearchLoss> = touched
                .map(|it| it.compare(&score, mean, watched))
                .collect();
            let incident = &mut tracked.incident;
            let minute = minute_of(incident.last);
            incident.observe(score.ts, &losses);
            let since = incident.recovering_since();
            of.queries.add(score.key, &losses, since);
            if incident.part == Part::Some && minute_of(incident.last) > minute {
                let mut measures = of
                    .series
                    .iter()
                    .filter_map(|it| incident.measures.get(it.place));
                let in_all = measures.find(|it| *it.slice == *Settings::ALL_SEARCHES);
                let is_of_all = in_all.and_then(|it| of.queries.is_loss_of_all(it.tolerance));
                if is_of_all == Some(true) {
                    incident.part = Part::All;
                }
            }
        }
    }

    /// Decides the class of the open incidents whose primary measure and series are these. Only a worse
    /// upper bound is a proof, so a decided class stays.
    pub(super) fn classify(
        &mut self,
        (series, column): (Series, usize),
        class: impl Fn() -> Option<DropClass>,
    ) {
        for tracked in &mut self.open {
            let mut columns = tracked.columns.iter();
            let is_primary = columns.any(|it| {
                let mut of = it.series.iter();
                it.column == column && of.any(|it| it.series == series && it.place == 0)
            });
            if is_primary && let Some(class) = class() {
                let incident = &mut tracked.incident;
                incident.class = incident.class.min(class);
            }
        }
    }

    /// Opens the incident of a drop, or adds the drop to an open one. `references` makes the means of
    /// the queries before the beginning.
    pub(super) fn open(
        &mut self,
        drop: &Drop<'_>,
        gold: &str,
        (settings, registry): (&Settings, &Registry),
        references: impl FnOnce(i64) -> QueryReferences,
    ) {
        let Some([variant, slice, value]) = names_of(drop.series, settings, registry) else {
            return;
        };
        let Some(measure) = settings.measures.get(drop.watched.index) else {
            return;
        };
        let measure: Box<str> = measure.to_string().into();
        let at = EventTime(drop.beginning.at);
        if self.has_open(&variant, (&measure, &slice, &value)) {
            return;
        }
        let deployed = self.deployed_before(&variant, at).cloned();
        let same = self.open.iter().position(|it| {
            let incident = &it.incident;
            let is_near = is_near(&incident.started, &drop.beginning);
            let after = self.deployed_before(&variant, EventTime(incident.started.at));
            let is_after_same = deployed.is_some() && after == deployed.as_ref();
            *incident.variant == *variant && (is_near || is_after_same)
        });
        let member = IncidentMeasure {
            measure,
            slice,
            value,
            is_lower_better: drop.watched.is_lower_better,
            tolerance: drop.tolerance,
            loss_at_alarm: drop.at_alarm.mean().unwrap_or_default(),
            before: drop.before,
            at_alarm: drop.at_alarm,
            ..IncidentMeasure::default()
        };
        let Some(label) = registry
            .series_labels(&family::SCORE)
            .get(drop.series.index())
            .and_then(|labels| labels.first().copied())
        else {
            return;
        };
        let place = match same {
            Some(place) => place,
            None if self.open.len() >= MAX_OPEN => return,
            None => {
                let mut incident = Incident::new(variant, drop, &member.measure);
                incident.deployments = deployed.map(DeploymentMark::before).into_iter().collect();
                self.open.push(Tracked {
                    incident,
                    variant: label,
                    gold: Box::default(),
                    columns: Vec::new(),
                });
                self.open.len() - 1
            }
        };
        let tracked = &mut self.open[place];
        if same.is_some() {
            let is_in_all_searches = *member.slice == *Settings::ALL_SEARCHES;
            let mut part = drop.part;
            // A drop of a slice can be evident in all searches without being one of the others.
            if is_in_all_searches && !tracked.incident.is_in_all_searches() {
                let column = column_of(drop.watched.index);
                let mut columns = tracked.columns.iter();
                let known = columns.find(|it| it.column == column);
                if known.and_then(|it| it.queries.is_loss_of_all(drop.tolerance)) == Some(false) {
                    part = Part::Some;
                }
            }
            tracked
                .incident
                .add_drop(part, drop.class, is_in_all_searches);
        }
        if !drop.watched.is_user_measure && tracked.gold.is_empty() {
            tracked.gold = gold.into();
        }
        let begin = minute_of(drop.beginning.at);
        let of = (drop.series, column_of(drop.watched.index));
        tracked.add(member, of, (begin, drop.season), references);
        if same.is_none() {
            self.news.push(self.open[place].summed());
        }
    }

    /// Deployment of a variant before a time.
    fn deployed_before(&self, variant: &str, at: EventTime) -> Option<&Deployed> {
        let of_variant = self.deployments.get(variant)?;
        of_variant.iter().rev().find(|it| it.at <= at)
    }

    /// Marks a deployment on the open incidents of a variant. Returns true if it is new: the same version at
    /// almost the same time is one deployment.
    pub(super) fn deployed(&mut self, variant: &str, deployed: Deployed) -> bool {
        let known = self.deployments.get(variant);
        if known.is_none() && self.deployments.len() >= MAX_DEPLOYED {
            return true;
        }
        if known.is_some_and(|known| known.iter().any(|it| it.is_same(&deployed))) {
            return false;
        }
        for tracked in self
            .open
            .iter_mut()
            .filter(|it| *it.incident.variant == *variant)
        {
            tracked.incident.deployed(deployed.clone());
        }
        let known = self.deployments.entry(variant.into()).or_default();
        while known.len() >= MAX_DEPLOYMENTS {
            known.pop_front();
        }
        known.push_back(deployed);
        known.make_contiguous().sort_by_key(|it| it.at);
        true
    }

    /// Incident with an id.
    fn find_mut(&mut self, id: u64) -> Option<&mut Incident> {
        let open = self.open.iter_mut().map(|it| &mut it.incident);
        open.chain(&mut self.ended).find(|it| it.id == id)
    }

    /// Keeps the acknowledgement of an incident.
    pub(super) fn acknowledge(&mut self, id: u64, given: &Acknowledged) {
        if let Some(incident) = self.find_mut(id) {
            incident.acknowledge(Some(given));
        }
    }

    /// Keeps a note on an incident.
    pub(super) fn add_note(&mut self, id: u64, note: &Note) {
        if let Some(incident) = self.find_mut(id) {
            incident.add_notes(std::slice::from_ref(note));
        }
    }

    /// Ends the open incidents that `is_ended` selects. Returns true if it selects any.
    fn end(&mut self, mut is_ended: impl FnMut(&Tracked) -> Option<Ending>) -> bool {
        let open = self.open.len();
        let mut place = 0;
        while let Some(tracked) = self.open.get(place) {
            let Some(ending) = is_ended(tracked) else {
                place += 1;
                continue;
            };
            let reason = ending.by as usize;
            let incident = self.open.remove(place).ended(ending);
            if self.ended_total.len() < MAX_COUNTED
                || self.ended_total.contains_key(&incident.variant)
            {
                self.ended_total
                    .entry(incident.variant.clone())
                    .or_default()[reason] += 1;
            }
            self.news.push(incident.clone());
            self.keep(incident);
        }
        self.open.len() < open
    }

    fn keep(&mut self, incident: Incident) {
        if let Some(known) = self.ended.iter_mut().find(|it| it.id == incident.id) {
            known.merge(&incident);
            return;
        }
        while self.ended.len() >= MAX_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(incident);
    }

    /// Ends the incidents of a variant, or all, because the baselines were reset.
    pub(super) fn reset(&mut self, at: EventTime) {
        self.end(|_| Some(Ending::new(EndReason::Reset, at)));
    }

    /// Ends the incidents about rankings whose gold set `is_ended` selects.
    pub(super) fn end_of_gold_sets(&mut self, is_ended: impl Fn(&str) -> bool, at: EventTime) {
        let is_of_ended = |it: &Tracked| !it.gold.is_empty() && is_ended(&it.gold);
        self.end(|it| is_of_ended(it).then(|| Ending::new(EndReason::Reset, at)));
    }

    /// Continues the open incidents of the gold set `before` with the set `gold`. Of ranking measures, only the
    /// queries that both judge alike are compared further.
    pub(super) fn take_over(
        &mut self,
        (before, gold): (&str, &str),
        is_alike: impl Fn(&str) -> bool,
        settings: &Settings,
    ) {
        for tracked in self.open.iter_mut().filter(|it| *it.gold == *before) {
            tracked.gold = gold.into();
            for of in &mut tracked.columns {
                let mut watched = settings.detection.measures.iter();
                let watched = watched.find(|it| column_of(it.index) == of.column);
                if watched.is_none_or(|it| !it.is_user_measure) {
                    let rejudged = of.queries.retain(&is_alike);
                    for of in of.series.iter().filter(|it| rejudged.has(it.place)) {
                        if let Some(measure) = tracked.incident.measures.get_mut(of.place) {
                            measure.compared = ComparedQueries::Rejudged;
                        }
                    }
                }
            }
        }
    }

    /// Ends the incidents of a retired variant.
    pub(super) fn retire(&mut self, variant: Label) {
        self.end(|it| {
            let at = EventTime(it.incident.last).plus(EXPIRED_AFTER);
            (it.variant == variant).then(|| Ending::new(EndReason::Expired, at))
        });
    }

    /// Ends the incidents that have recovered, those of which a new gold set judges all compared queries differently,
    /// and those without a compared search for a day.
    /// `others` are the shares of other workers and the incidents of which any has a query that is judged as before,
    /// `now` is the progress of event time. Calls `restart`
    /// with each variant, measure column, series and references of such an incident: searches that are worse
    /// afterwards are another drop. Returns true if an incident has ended.
    pub(super) fn advance(
        &mut self,
        (others, known): (&[&Incident], &[u64]),
        now: Option<EventTime>,
        mut restart: impl FnMut(Label, usize, &[(Series, Losses)], Vec<(Box<str>, Baseline)>),
    ) -> bool {
        self.end(|tracked| {
            let shares = others.iter().filter(|it| it.id == tracked.incident.id);
            let mut all = tracked.incident.clone();
            let mut parts = 1;
            let mut ending: Option<Ending> = None;
            for share in shares {
                ending = ending.or_else(|| share.ended.clone());
                all.merge(share);
                parts += 1;
            }
            let rejudged = (all.is_rejudged() && !known.contains(&all.id)).then(|| {
                let at = now.unwrap_or(EventTime(all.last));
                Ending::new(EndReason::Reset, at)
            });
            let ending = ending.or(rejudged);
            let ending = ending.or_else(|| all.recovery(parts)).or_else(|| {
                let expires = EventTime(all.last).plus(EXPIRED_AFTER);
                let is_expired = now.is_some_and(|now| now >= expires);
                is_expired.then(|| Ending::new(EndReason::Expired, expires))
            })?;
            for of in &tracked.columns {
                let measures = &tracked.incident.measures;
                let series = of.series.iter().map(|it| {
                    let before = measures.get(it.place).map(|it| it.before);
                    (it.series, before.unwrap_or_default())
                });
                let series: Vec<(Series, Losses)> = series.collect();
                restart(tracked.variant, of.column, &series, of.queries.baselines());
            }
            Some(ending)
        })
    }

    /// Incidents that were opened or ended since the last call, with the sums of this worker.
    pub(super) fn take_news(&mut self) -> Vec<Incident> {
        std::mem::take(&mut self.news)
    }

    /// Means of the queries before the open incidents, by variant and column. `is_reset` is true for
    /// incidents after whose alarm the baselines of their variant were reset.
    pub(super) fn frozen_baselines(
        &self,
        is_reset: impl Fn(&Incident) -> bool,
    ) -> BTreeMap<(Label, usize), BTreeMap<Box<str>, Baseline>> {
        let mut frozen = BTreeMap::new();
        for tracked in self.open.iter().filter(|it| !is_reset(&it.incident)) {
            for of in &tracked.columns {
                // The first of two incidents of a variant has the older reference.
                let place = (tracked.variant, of.column);
                frozen
                    .entry(place)
                    .or_insert_with(|| of.queries.baselines().into_iter().collect());
            }
        }
        frozen
    }

    /// All incidents, the open ones first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Incident> {
        let open = self.open.iter().map(|it| &it.incident);
        open.chain(self.ended.iter().rev())
    }

    /// Number of ended incidents, by name of the variant and reason.
    pub(super) fn ended_total(&self) -> impl Iterator<Item = (&str, EndReason, u64)> {
        let counts = self.ended_total.iter();
        counts.flat_map(|(variant, counts)| {
            let counts = EndReason::ALL.into_iter().zip(counts);
            counts.map(|(reason, count)| (&**variant, reason, *count))
        })
    }

    /// Returns a copy for exposition: without the references of single queries.
    pub(super) fn summed(&self) -> Self {
        let open = self.open.iter().map(|it| Tracked {
            incident: it.summed(),
            variant: it.variant,
            gold: it.gold.clone(),
            columns: Vec::new(),
        });
        Self {
            open: open.collect(),
            ended: self.ended.clone(),
            ended_total: self.ended_total.clone(),
            deployments: BTreeMap::new(),
            news: Vec::new(),
            awaited: Vec::new(),
        }
    }

    /// Returns saved incidents with the numbers of this process. Measures and slices that no longer
    /// exist are not compared any more.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let column = |column: usize| ids.columns.get(column).copied().flatten();
        let open = self.open.iter().map(|it| {
            let columns = it.columns.iter().filter_map(|of| {
                let series = of.series.iter().filter_map(|it| {
                    Some(TrackedSeries {
                        series: ids.series(family::SCORE.table()?, it.series)?,
                        ..it.clone()
                    })
                });
                Some(TrackedMeasure {
                    column: column(of.column)?,
                    series: series.collect(),
                    queries: of.queries.clone(),
                })
            });
            Tracked {
                columns: columns.collect(),
                variant: ids.label(Dimension::Variant, it.variant),
                ..it.clone()
            }
        });
        Self {
            open: open.collect(),
            ..self.clone()
        }
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let columns = self.open.iter().flat_map(|it| &it.columns);
        columns.map(TrackedMeasure::bytes).sum::<usize>()
            + self.iter().map(Incident::bytes).sum::<usize>()
    }
}

/// Returns true if two drops can have begun within [`SAME_INCIDENT`].
fn is_near(one: &Beginning, other: &Beginning) -> bool {
    let earliest = |it: &Beginning| it.lower.min(it.at);
    let latest = |it: &Beginning| it.upper.max(it.at);
    let between = earliest(one)
        .max(earliest(other))
        .saturating_sub(latest(one).min(latest(other)));
    between <= SAME_INCIDENT.0
}

#[cfg(test)]
mod tests {
    use super::record::tests::incident_of;
    use super::*;
    use crate::detection::{DropSeries, Season, SeriesRules};

    /// Season of sessions without a gold query, one of which had this score. Those since the beginning, in the
    /// same hour, had none.
    fn season_of(score: f64) -> Season {
        let rules = SeriesRules {
            threshold: 17.0,
            tolerance: 0.01,
            warm_up_tolerance: 0.02,
            repeat_window: 1,
            has_local: false,
            is_seasonal: true,
            alarmed: None,
        };
        let mut series = DropSeries::default();
        series.advance(0, &rules);
        series.compare(score, None, &rules);
        series.clear_recent();
        for _ in 0..9 {
            series.compare(0.0, None, &rules);
        }
        series.season().cloned().expect("a season")
    }

    #[test]
    fn each_series_of_an_incident_is_compared_with_its_own_hours() {
        let theirs = incident_of("CTR", true, (Part::All, DropClass::Worse));
        let [all, topic] = [0, 1].map(Series::at);
        let mut incidents = Incidents::default();
        for (series, slice, score) in [(topic, "topic", 0.25), (all, "all", 0.75)] {
            let member = IncidentMeasure {
                measure: "CTR".into(),
                slice: slice.into(),
                ..IncidentMeasure::default()
            };
            incidents.follow(
                &theirs,
                (&member, series),
                (Label::EMPTY, column_of(0), ""),
                (0.03, Losses::default(), Some(&season_of(score))),
                |_| QueryReferences::shared(&[("hour".into(), 0.5, 100)], false, |_| true),
            );
        }
        let watched = MonitoredMeasure {
            index: 0,
            target: None,
            is_lower_better: false,
            is_user_measure: true,
            is_seasonal: true,
        };
        let mut losses_after = |series: &[Series]| {
            let session = TrackedScore {
                ts: EventTime(60_000),
                variant: Label::EMPTY,
                series,
                key: "hour",
                value: 0.75,
                repeat_window: 0,
            };
            incidents.observe(session, &watched);
            let measures = incidents.open[0].incident.measures.iter();
            let losses = measures.map(|it| it.blocks[0].mean());
            losses.collect::<Vec<Option<f64>>>()
        };
        assert_eq!(losses_after(&[all]), [None, Some(0.0)]);
        assert_eq!(losses_after(&[all, topic]), [Some(-0.5), Some(0.0)]);
    }
}
