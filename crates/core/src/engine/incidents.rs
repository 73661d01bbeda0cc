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

mod record;
mod reference;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::detection::{Baseline, Beginning, DropClass, Losses, Part, Season, minute_of};
use crate::engine::family;
use crate::engine::fleet::SharedIncident;
use crate::engine::registry::Registry;
use crate::engine::remap::IdRemap;
use crate::engine::score_column::column_of;
use crate::engine::series::{Dimension, Label, Series};
use crate::engine::settings::{MonitoredMeasure, Settings};
use crate::time::{EventTime, Millis};

pub(super) use record::Drop;
pub use record::{
    Acknowledged, Deployed, EndReason, Incident, IncidentMeasure, IncidentQuery, Level, Note,
    Severity,
};
use record::{ComparedQueries, EXPIRED_AFTER, MAX_MEASURES, SearchLoss};
pub(super) use record::{DeploymentMark, Ending};
pub(super) use reference::{QueryReferences, SharedReference, TrackedScore};

/// Longest time between the beginnings of two drops of one incident, if they can have begun so close to each other.
const SAME_INCIDENT: Millis = Millis(15 * 60_000);

/// Maximum number of open incidents of a worker. Further alarms open none.
pub(super) const MAX_OPEN: usize = 32;

/// Maximum number of ended incidents that are kept.
const MAX_ENDED: usize = 100;

/// Maximum number of ended incidents that a worker shares.
const MAX_SHARED_ENDED: usize = 20;

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

/// Open incident with the numbers of its series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Tracked {
    incident: Incident,
    variant: Label,
    /// Gold set that judges its ranking measures; empty without one.
    gold: Box<str>,
    columns: Vec<TrackedMeasure>,
}

/// Measure of an open incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TrackedMeasure {
    column: usize,
    series: Vec<TrackedSeries>,
    queries: QueryReferences,
}

/// Series of a measure of an open incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TrackedSeries {
    series: Series,
    /// Position among the measures of the incident.
    place: usize,
    /// Season before the beginning of the drop, for measures that have one: later it learns the drop.
    season: Option<Box<Season>>,
}

impl TrackedSeries {
    /// Compares a search of a query with the mean `mean`. `has_query` is false for the mean of an hour of the day.
    fn compare(
        &self,
        score: &TrackedScore<'_>,
        (mean, has_query): (f64, bool),
        watched: &MonitoredMeasure,
    ) -> SearchLoss {
        let minute = minute_of(score.ts.0);
        let season = self.season.as_deref();
        let expected = season.map_or(mean, |it| it.expected_score(minute, mean, has_query));
        SearchLoss {
            place: self.place,
            expected,
            loss: expected - watched.upwards(score.value),
        }
    }
}

/// Names of a series of scores: variant, slice and value.
pub(super) fn names_of(
    series: Series,
    settings: &Settings,
    registry: &Registry,
) -> Option<[Box<str>; 3]> {
    let labels = registry.series_labels(&family::SCORE);
    let [variant, slice, value, ..] = *labels.get(series.index())?;
    let text = |dimension: Dimension, label: Label| -> Box<str> {
        let values = registry.values(dimension);
        let known = values.get(label.index()).cloned();
        known.unwrap_or_else(|| Label::OTHER_NAME.into())
    };
    let position = slice.position();
    let slice = match position {
        Some(0) => Settings::ALL_SEARCHES,
        Some(slice) => settings
            .slices
            .get(slice - 1)
            .map_or(Label::OTHER_NAME, String::as_str),
        None => Label::OTHER_NAME,
    };
    let value = if value == Label::EMPTY {
        Box::default()
    } else {
        text(Dimension::SliceValue, value)
    };
    Some([text(Dimension::Variant, variant), slice.into(), value])
}

/// Series of scores with the number of its variant, its slice and its value.
type NamedSeries = ((Label, Series), Box<str>, Box<str>);

/// Series of the scores of a variant.
pub(super) fn named_series(
    variant: &str,
    settings: &Settings,
    registry: &Registry,
) -> Vec<NamedSeries> {
    let labels = registry.series_labels(&family::SCORE);
    let named = labels.iter().enumerate().filter_map(|(number, labels)| {
        let series = Series::at(number);
        let [of, slice, value] = names_of(series, settings, registry)?;
        (*of == *variant).then_some(((labels[0], series), slice, value))
    });
    named.collect()
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

    /// Open incidents of other workers that this one has no share in, and the identity of those that
    /// both opened: the one with the earlier alarm. Returns the drops to open.
    pub(super) fn adopt(&mut self, others: &[&Incident]) -> Vec<Incident> {
        let mut missing: Vec<Incident> = Vec::new();
        // The earliest alarm gives its identity to all.
        let mut open: Vec<&&Incident> = others.iter().filter(|it| it.ended.is_none()).collect();
        open.sort_by_key(|it| (it.alarmed_at, it.id));
        for theirs in open {
            if self.ended.iter().any(|it| it.id == theirs.id) {
                continue;
            }
            let same = self
                .open
                .iter_mut()
                .find(|it| is_same(&it.incident, theirs));
            match same {
                Some(mine) => {
                    mine.incident.take_identity(theirs);
                    let lacks = theirs
                        .measures
                        .iter()
                        .any(|it| !mine.incident.has(it.name()));
                    // Otherwise the other worker takes this identity first, and there would be two incidents.
                    if lacks && mine.incident.id == theirs.id {
                        missing.push((*theirs).clone());
                    }
                }
                // Two workers that opened it at once have not agreed on an identity yet.
                None if missing
                    .iter()
                    .any(|it| it.id != theirs.id && is_same(it, theirs)) => {}
                None => missing.push((*theirs).clone()),
            }
        }
        missing
    }

    /// Notes the incidents of other workers that this one does not follow yet.
    pub(super) fn keep_awaited(&mut self, missing: Vec<Incident>) {
        let open = &self.open;
        let is_followed = |it: &Incident| open.iter().any(|open| open.incident.id == it.id);
        self.awaited = missing.into_iter().filter(|it| !is_followed(it)).collect();
    }

    /// Adds a measure and a slice of another worker's incident.
    pub(super) fn follow(
        &mut self,
        theirs: &Incident,
        (member, series): (&IncidentMeasure, Series),
        (label, column, gold): (Label, usize, &str),
        (tolerance, before, season): (f64, Losses, Option<&Season>),
        references: impl FnOnce(i64) -> QueryReferences,
    ) {
        let known = self.open.iter().position(|it| it.incident.id == theirs.id);
        let place = match known {
            Some(place) => place,
            None if self.open.len() >= MAX_OPEN => return,
            None => {
                self.open.push(Tracked {
                    incident: theirs.without_sums(),
                    variant: label,
                    gold: Box::default(),
                    columns: Vec::new(),
                });
                self.open.len() - 1
            }
        };
        let tracked = &mut self.open[place];
        if tracked.incident.has(member.name()) {
            return;
        }
        if tracked.gold.is_empty() {
            tracked.gold = gold.into();
        }
        let member = IncidentMeasure {
            tolerance: member.tolerance.max(tolerance),
            before,
            ..member.without_sums()
        };
        let begin = minute_of(theirs.started.at);
        tracked.add(member, (series, column), (begin, season), references);
    }

    /// Incidents that were opened or ended since the last call, with the sums of this worker.
    pub(super) fn take_news(&mut self) -> Vec<Incident> {
        std::mem::take(&mut self.news)
    }

    /// Incidents to share: the open ones with their references, and the last that ended. `measure` has the
    /// name of a column.
    pub(super) fn to_share(
        &self,
        measure: impl Fn(usize) -> Option<Box<str>>,
    ) -> Vec<SharedIncident> {
        let open = self.open.iter().map(|it| SharedIncident {
            gold: it.gold.clone(),
            incident: it.summed(),
            references: (it.columns.iter())
                .filter_map(|of| Some((measure(of.column)?, of.queries.to_share())))
                .collect(),
        });
        let ended = self.ended.iter().rev().take(MAX_SHARED_ENDED);
        let ended = ended.map(|it| SharedIncident {
            gold: Box::default(),
            incident: it.clone(),
            references: Vec::new(),
        });
        open.chain(ended).collect()
    }

    /// Adds the shares of workers of other processes, for exposition.
    pub(super) fn add_shares<'a>(&mut self, shares: impl Iterator<Item = &'a Incident>) {
        let mut others = Self::default();
        for theirs in shares {
            if theirs.ended.is_some() {
                others.keep(theirs.clone());
                continue;
            }
            match others
                .open
                .iter_mut()
                .find(|it| it.incident.id == theirs.id)
            {
                Some(known) => known.incident.merge(theirs),
                None => others.open.push(Tracked {
                    incident: theirs.clone(),
                    variant: Label::OTHER,
                    gold: Box::default(),
                    columns: Vec::new(),
                }),
            }
        }
        // The end that one worker has published holds for all.
        let ended = &others.ended;
        let (open, over): (Vec<Tracked>, Vec<Tracked>) = std::mem::take(&mut others.open)
            .into_iter()
            .partition(|it| !ended.iter().any(|ended| ended.id == it.incident.id));
        others.open = open;
        for it in over {
            others.keep(it.incident);
        }
        self.merge(&others);
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

    /// Adds the shares of another worker. An incident that one of them has ended is ended.
    pub(super) fn merge(&mut self, other: &Self) {
        for theirs in &other.open {
            let id = theirs.incident.id;
            if let Some(ended) = self.ended.iter_mut().find(|it| it.id == id) {
                ended.merge(&theirs.incident);
            } else if let Some(mine) = self.open.iter_mut().find(|it| it.incident.id == id) {
                mine.merge(theirs);
            } else {
                self.open.push(theirs.clone());
            }
        }
        for theirs in &other.ended {
            let open = self.open.iter().position(|it| it.incident.id == theirs.id);
            let mut ended = theirs.clone();
            if let Some(place) = open {
                ended.merge(&self.open.remove(place).incident);
            }
            self.keep(ended);
        }
        self.open
            .sort_by_key(|it| (it.incident.started.at, it.incident.id));
        let ended = self.ended.make_contiguous();
        ended.sort_by_key(|it| (it.ended.as_ref().map(|it| it.at), it.id));
        for (variant, theirs) in &other.ended_total {
            let mine = self.ended_total.entry(variant.clone()).or_default();
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine = (*mine).max(*theirs);
            }
        }
        for (variant, theirs) in &other.deployments {
            for it in theirs {
                self.deployed(variant, it.clone());
            }
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

/// Returns true if two records are of one incident. Two workers can estimate different beginnings of one
/// drop.
fn is_same(mine: &Incident, theirs: &Incident) -> bool {
    let is_near = || is_near(&mine.started, &theirs.started);
    let has_same = || theirs.measures.iter().any(|it| mine.has(it.name()));
    mine.id == theirs.id || mine.variant == theirs.variant && (is_near() || has_same())
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

impl TrackedMeasure {
    /// Approximate bytes held.
    fn bytes(&self) -> usize {
        let seasons = self.series.iter().filter_map(|it| it.season.as_ref());
        self.queries.bytes() + seasons.map(|it| it.bytes()).sum::<usize>()
    }
}

impl Tracked {
    /// Adds a measure and slice. `begin` is the minute of the beginning of its drop, `season` that of the series
    /// now.
    fn add(
        &mut self,
        member: IncidentMeasure,
        (series, column): (Series, usize),
        (begin, season): (i64, Option<&Season>),
        references: impl FnOnce(i64) -> QueryReferences,
    ) {
        let place = self.incident.measures.len();
        if place >= MAX_MEASURES {
            return;
        }
        self.incident.measures.push(member);
        let of_series = TrackedSeries {
            series,
            place,
            season: season.map(|it| Box::new(it.before(begin))),
        };
        match self.columns.iter_mut().find(|it| it.column == column) {
            Some(known) => known.series.push(of_series),
            None => self.columns.push(TrackedMeasure {
                column,
                series: vec![of_series],
                queries: references(begin),
            }),
        }
    }

    /// Incident with the queries that lost most now in its primary measure.
    fn summed(&self) -> Incident {
        self.with_queries(None)
    }

    /// Ended incident with the queries that lost most at its end.
    fn ended(&self, ending: Ending) -> Incident {
        let is_recovered = ending.by == EndReason::Recovered;
        let since = self.incident.recovering_since();
        let mut incident = self.with_queries(since.filter(|_| is_recovered));
        incident.end(ending);
        incident
    }

    fn with_queries(&self, recovered_since: Option<i64>) -> Incident {
        let mut incident = self.incident.clone();
        let of_primary = |it: &&TrackedMeasure| it.series.iter().any(|it| it.place == 0);
        if let Some(primary) = self.columns.iter().find(of_primary) {
            incident.queries = primary.queries.largest_losses(recovered_since);
        }
        incident
    }

    fn merge(&mut self, other: &Self) {
        self.incident.merge(&other.incident);
        // Other workers would refuse a record with more measures, and `Places` has no bits for them.
        self.incident.measures.truncate(MAX_MEASURES);
        if self.gold.is_empty() {
            self.gold.clone_from(&other.gold);
        }
        // The merged record has every measure of both, the own ones first.
        let places: Vec<usize> = (other.incident.measures.iter())
            .map(|it| self.incident.place_of(it.name()))
            .collect();
        let moved = |of: &TrackedSeries| {
            Some(TrackedSeries {
                place: *places.get(of.place)?,
                ..of.clone()
            })
        };
        for theirs in &other.columns {
            let queries = theirs.queries.with_places(&places);
            let Some(mine) = self
                .columns
                .iter_mut()
                .find(|it| it.column == theirs.column)
            else {
                let series = theirs.series.iter().filter_map(moved);
                self.columns.push(TrackedMeasure {
                    series: series.collect(),
                    column: theirs.column,
                    queries,
                });
                continue;
            };
            for of in &theirs.series {
                match mine.series.iter_mut().find(|it| it.series == of.series) {
                    Some(known) if known.season.is_none() => known.season.clone_from(&of.season),
                    Some(_) => {}
                    None => mine.series.extend(moved(of)),
                }
            }
            mine.queries.merge(&queries);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::record::tests::incident_of;
    use super::*;
    use crate::detection::{DropSeries, SeriesRules};

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

    #[test]
    fn an_incident_of_clicks_and_rankings_has_the_gold_set_of_the_rankings() {
        let theirs = incident_of("CTR", true, (Part::All, DropClass::Worse));
        let follow = |members: &[(usize, &str, &str)]| {
            let mut incidents = Incidents::default();
            for (column, measure, gold) in members {
                let member = IncidentMeasure {
                    measure: (*measure).into(),
                    ..IncidentMeasure::default()
                };
                incidents.follow(
                    &theirs,
                    (&member, Series::at(0)),
                    (Label::EMPTY, *column, *gold),
                    (0.03, Losses::default(), None),
                    |_| QueryReferences::default(),
                );
            }
            incidents
        };
        let (clicks, ranking) = ((0, "CTR", ""), (1, "P@1", "one"));
        let mut merged = follow(&[clicks]);
        merged.merge(&follow(&[ranking]));
        for mut incidents in [follow(&[clicks, ranking]), merged] {
            incidents.end_of_gold_sets(|gold| gold == "one", EventTime(1));
            let ended = incidents.iter().filter_map(|it| it.ended.as_ref());
            let reasons: Vec<EndReason> = ended.map(|it| it.by).collect();
            assert_eq!(reasons, [EndReason::Reset]);
        }
    }
}
