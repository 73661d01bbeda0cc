//! Regression evidence (log e-values) by series and measure: baselines, differences of searches
//! from their baseline, and sequential tests for drops and missed targets.
//!
//! Each search is compared with the baseline of its query: the mean of the earlier searches with
//! the query, which it then joins. A change of the query mix is therefore no change of quality, and
//! there is no learning phase. A query counts once in the repeat window, so a burst of one query is
//! one observation. For measures of user behaviour, a session is one observation, and the mean of its
//! hour of the week is expected of it. The series of all searches of a variant has the local part of
//! the test, which looks for drops in some of the queries.
//!
//! The evidence of a worker is a function of its searches in their order; ticks do not change it.
//! The evidence of several workers is merged by the rules of [`crate::detection`]: e-values of
//! targets are averaged, those of drops are summed, and baselines add. Merging is associative and
//! independent of order, up to the rounding of floating-point logarithms. Evidence of different gold
//! sets stays separate.

mod columns;
mod detector;
mod fleet;
mod worker;

use std::collections::BTreeMap;

use crate::detection::{
    Baseline, Baselines, DropClass, DropSeries, LearnedSeries, LearnedVariation, Losses,
    QueryBaseline, QuerySums, SeriesRules, Unjudged, minute_of,
};
use crate::engine::family::{self, Table};
use crate::engine::fixed::Nano;
use crate::engine::fleet::{Resets, SeriesName, SharedIncident, SharedLearned};
use crate::engine::incidents::{
    self, Acknowledged, Deployed, EndReason, Incident, Incidents, Note, QueryReferences,
    SharedReference, TrackedScore,
};
use crate::engine::registry::Registry;
use crate::engine::remap::IdRemap;
use crate::engine::score_column::column_of;
use crate::engine::series::{Dimension, Label, Series};
use crate::engine::settings::{MonitoredMeasure, Settings};
use crate::gold::{GoldQuery, GoldSet, JudgementHashes};
use crate::time::{EventTime, WallTime};

use columns::Columns;
pub(super) use detector::Detector;
pub use detector::{Alarm, Test};
use detector::{ComparedScore, worst_regressions};
pub(super) use worker::{Evidence, QueryBaselines};
use worker::{HOURS, Judged, SeriesColumn, VariantColumn};

/// Minutes per hour.
const HOUR: i64 = 60;

/// Approximate bytes of the baseline of a query, with a key of 16 bytes and its place in the map.
const BYTES_PER_QUERY: usize = size_of::<(Box<str>, QueryBaseline)>() + 40;

/// Approximate bytes of the inherited sums of a query.
const BYTES_PER_INHERITED: usize = size_of::<(Box<str>, QuerySums)>() + 40;

/// Approximate bytes of what another worker learned of a series, with its season.
const BYTES_PER_LEARNED: usize = size_of::<(SeriesName, SharedLearned)>() + 6_400;

/// Values with which a new detector begins.
struct Known<'a> {
    gold: &'a str,
    inherited: &'a BTreeMap<SeriesName, SharedLearned>,
    resets: &'a Resets,
}

/// Observation of one search, or of one session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation<'a> {
    pub(super) ts: EventTime,
    pub(super) variant: Label,
    /// Monitored series.
    pub(super) series: &'a [Series],
    /// Scores with their columns, in the order of the columns.
    pub(super) scores: &'a [(usize, Nano)],
    /// Differences from the upper bounds, and shares of unjudged results, with their columns, where
    /// there are any.
    pub(super) unjudged: &'a [(usize, Unjudged)],
    /// Gold query, if any.
    pub(super) query: Option<&'a GoldQuery>,
    /// True for scores of user behaviour, false for those of a ranking.
    pub(super) is_of_users: bool,
}

impl Observation<'_> {
    /// Score in a column.
    fn score(&self, column: usize) -> Option<f64> {
        let place = self.scores.binary_search_by_key(&column, |(it, _)| *it);
        let (_, score) = self.scores.get(place.ok()?)?;
        Some(score.to_f64())
    }

    /// Unjudged results in a column.
    fn unjudged(&self, column: usize) -> Unjudged {
        let found = self.unjudged.iter().find(|(it, _)| *it == column);
        found.map_or_else(Unjudged::default, |(_, it)| *it)
    }
}

impl Evidence {
    /// Adds the scores of a search. Returns the alarms that they raise.
    #[allow(
        clippy::map_entry,
        reason = "an entry would copy the name of the gold set for every search"
    )]
    pub(super) fn observe(
        &mut self,
        of: Observation<'_>,
        settings: &Settings,
        registry: &Registry,
    ) -> Vec<Alarm> {
        let mut watched = settings.detection.measures.iter();
        if !watched.any(|it| it.is_user_measure == of.is_of_users) {
            return Vec::new();
        }
        let judged = if of.is_of_users {
            Some(&mut self.users)
        } else {
            if !self.rankings.contains_key(&self.gold) {
                self.rankings.insert(self.gold.clone(), Judged::default());
            }
            self.rankings.get_mut(&self.gold)
        };
        let Some(judged) = judged else {
            return Vec::new();
        };
        let known = Known {
            gold: &self.gold,
            inherited: &self.inherited,
            resets: &self.resets,
        };
        judged.observe(of, settings, registry, (&known, &mut self.incidents))
    }

    /// Resets the baselines and all evidence, and ends the incidents, unless this or a later reset is known.
    /// The variation of hours is kept. Returns true if the reset is new.
    pub(super) fn reset_baselines(&mut self, at: EventTime, reported: WallTime) -> bool {
        if !self.resets.reset(reported) {
            return false;
        }
        for judged in self.all_judged() {
            judged.reset(|_| true, |_| true);
        }
        self.incidents.reset(at);
        true
    }

    /// Marks a deployment on the incidents of a variant, unless it is known, and begins the tests of its
    /// targets again. With `reset`, the time of the report, the baselines and all evidence are reset.
    /// `is_of_variant` is true for its series of [`family::SCORE`]. The variation of hours and the references
    /// of incidents are kept. Returns true if the deployment is new.
    pub(super) fn deploy(
        &mut self,
        (variant, name): (Label, &str),
        is_of_variant: impl Fn(Series) -> bool,
        (deployed, reset): (Deployed, Option<WallTime>),
    ) -> bool {
        let Some(reported) = reset else {
            let is_new = self.incidents.deployed(name, deployed);
            if is_new {
                for judged in self.all_judged() {
                    judged.restart_targets(&is_of_variant);
                }
            }
            return is_new;
        };
        if !self
            .resets
            .deploy(name, deployed.version.as_deref(), reported)
        {
            return false;
        }
        for judged in self.all_judged() {
            judged.reset(|it| it == variant, &is_of_variant);
        }
        self.incidents.deployed(name, deployed);
        true
    }

    /// Incidents, the open ones first.
    pub fn incidents(&self) -> impl Iterator<Item = &Incident> {
        self.incidents.iter()
    }

    /// Keeps the acknowledgement of an incident.
    pub(super) fn acknowledge(&mut self, id: u64, given: &Acknowledged) {
        self.incidents.acknowledge(id, given);
    }

    /// Keeps a note on an incident.
    pub(super) fn add_note(&mut self, id: u64, note: &Note) {
        self.incidents.add_note(id, note);
    }

    /// Number of ended incidents, by name of the variant and reason.
    pub fn ended_incidents(&self) -> impl Iterator<Item = (&str, EndReason, u64)> {
        self.incidents.ended_total()
    }

    /// Incidents that were opened or ended since the last call.
    pub(super) fn take_incident_news(&mut self) -> Vec<Incident> {
        self.incidents.take_news()
    }

    /// Opens the incidents that other workers opened, and ends those that have recovered or expired.
    /// `others` are the shares of the other workers of the process, `fleet` those of other processes, `now`
    /// is the progress of event time.
    pub(super) fn advance_incidents(
        &mut self,
        (others, fleet): (&[Incident], &[SharedIncident]),
        now: Option<EventTime>,
        (settings, registry): (&Settings, &Registry),
    ) {
        let mut incidents = std::mem::take(&mut self.incidents);
        // Also those that another gold set judges: a reload reaches the processes one after another.
        let shares = fleet.iter().map(|it| &it.incident);
        let known = shares.filter(|it| it.ended.is_none() && it.is_known());
        let known: Vec<u64> = known.map(|it| it.id).collect();
        let fleet: Vec<&SharedIncident> = fleet.iter().filter(|it| self.concerns(it)).collect();
        let shares = fleet.iter().map(|it| &it.incident);
        let all: Vec<&Incident> = others.iter().chain(shares).collect();
        // An incident that ends no longer contains the measures of another worker's incident, which this
        // one opens then.
        for _ in 0..=incidents::MAX_OPEN {
            let missing = incidents.adopt(&all);
            for theirs in &missing {
                let found = fleet
                    .iter()
                    .find(|it| it.incident.id == theirs.id && !it.references.is_empty());
                self.follow(&mut incidents, (theirs, found.copied()), settings, registry);
            }
            incidents.keep_awaited(missing);
            let has_ended =
                incidents.advance((&all, &known), now, |variant, column, series, baselines| {
                    for judged in self.all_judged() {
                        judged.recover((variant, column), series, &baselines);
                    }
                });
            if !has_ended {
                break;
            }
        }
        self.incidents = incidents;
    }

    /// Opens the incident of another worker. The references are those that a worker of another process
    /// shared, or the baselines of this one.
    fn follow(
        &self,
        incidents: &mut Incidents,
        (theirs, shared): (&Incident, Option<&SharedIncident>),
        settings: &Settings,
        registry: &Registry,
    ) {
        let series = incidents::named_series(&theirs.variant, settings, registry);
        for member in &theirs.measures {
            let watched = settings.monitored(&member.measure);
            let is_named = |(_, slice, value): &&(_, Box<str>, Box<str>)| {
                *slice == member.slice && *value == member.value
            };
            let Some((watched, ((variant, of), _, _))) = watched.zip(series.iter().find(is_named))
            else {
                continue;
            };
            let judged = if watched.is_user_measure {
                Some(&self.users)
            } else {
                self.rankings.get(&self.gold)
            };
            let Some(judged) = judged else { continue };
            let column = column_of(watched.index);
            let detector = judged.detectors.get(&(*of, column));
            let tolerance = detector.map_or(0.0, |it| it.drop_series().tolerance());
            // A worker that began later has no searches from before the incident.
            let begin = minute_of(theirs.started.at);
            let was_there = |it: &&Detector| it.drop_series().first_minute() < Some(begin);
            let before = detector.filter(was_there).map(Detector::before);
            let before = before.unwrap_or_default();
            let gold = if watched.is_user_measure {
                ""
            } else {
                &*self.gold
            };
            let season = detector.and_then(|it| it.drop_series().season());
            incidents.follow(
                theirs,
                (member, *of),
                (*variant, column, gold),
                (tolerance, before, season),
                |begin| {
                    let of_measure = shared.and_then(|it| it.references_of(&member.measure));
                    let baselines = judged.baselines.get(&(*variant, column));
                    match (of_measure, baselines) {
                        (Some(queries), _) => shared_references(queries, watched),
                        (None, Some(baselines)) => references(baselines, watched, begin),
                        (None, None) => QueryReferences::default(),
                    }
                },
            );
        }
    }

    fn all_judged(&mut self) -> impl Iterator<Item = &mut Judged> {
        std::iter::once(&mut self.users).chain(self.rankings.values_mut())
    }

    /// Sets the gold set that judges the following searches, and takes over the evidence of other sets. The same
    /// files with another relevance level are another set.
    pub(super) fn set_gold_set(&mut self, gold: &GoldSet, at: EventTime, settings: &Settings) {
        self.gold = gold.sha256().into();
        let current = Judged {
            judgements: gold.judgement_hashes().clone(),
            ..Judged::default()
        };
        self.take_over(current, at, settings);
    }

    /// Takes over the evidence of other gold sets than that of this worker, if it has one.
    pub(super) fn take_over_gold_sets(&mut self, at: EventTime, settings: &Settings) {
        if let Some(current) = self.rankings.remove(&self.gold) {
            self.take_over(current, at, settings);
        }
    }

    /// Takes over the baselines, the evidence and the incidents of all gold sets into `current`, that of this worker,
    /// as far as it judges the queries alike. If it judges none of them alike, they are removed.
    fn take_over(&mut self, mut current: Judged, at: EventTime, settings: &Settings) {
        // The whole hashes are saved: a change of the measures alone changes no judgement.
        let depends_on_scale = settings.depends_on_scale();
        let now = current.judgements.for_measures(depends_on_scale);
        for (gold, judged) in std::mem::take(&mut self.rankings) {
            let before = judged.judgements.for_measures(depends_on_scale);
            if before == now || before.agree_on_any(&now) {
                let is_alike = |key: &str| before.agree(&now, key);
                let names = (&*gold, &*self.gold);
                self.incidents.take_over(names, is_alike, settings);
                current.take_over(judged, (&before, &now));
            } else {
                self.incidents.end_of_gold_sets(|it| *it == *gold, at);
            }
        }
        let current_gold = &*self.gold;
        self.incidents.end_of_gold_sets(|it| it != current_gold, at);
        self.rankings.insert(self.gold.clone(), current);
    }

    /// SHA-256 of the gold set that judges the searches of this worker. `None` without judgements.
    pub(super) fn gold_set(&self) -> Option<&str> {
        let none = GoldSet::empty();
        Some(&*self.gold).filter(|it| !["", none.sha256()].contains(it))
    }

    /// Gold set that most workers use. `None` before any worker has one.
    fn most_workers(&self) -> Option<&str> {
        let most_workers = self.workers.iter().max_by_key(|(_, workers)| **workers);
        most_workers.map(|(gold, _)| &**gold)
    }

    /// Baselines and detectors to expose: those of the user measures, and those of the gold set that
    /// most workers use. Before any worker has a gold set, those of the gold set with the most
    /// scores.
    fn current(&self) -> impl Iterator<Item = &Judged> {
        let most_workers = self.most_workers();
        let scores = |judged: &Judged| -> u64 {
            let baselines = judged.baselines.values();
            baselines.map(Baselines::scores).sum()
        };
        let rankings = match most_workers {
            Some(gold) => self.rankings.get(gold),
            None => self.rankings.values().max_by_key(|judged| scores(judged)),
        };
        std::iter::once(&self.users).chain(rankings)
    }

    /// Baselines of the current gold set, by variant and score column.
    pub fn baselines(&self) -> impl Iterator<Item = (Label, usize, &QueryBaselines)> {
        let baselines = self.current().flat_map(|judged| judged.baselines.iter());
        baselines.map(|((variant, column), it)| (variant, column, it))
    }

    /// Detectors of the current gold set, by series of [`family::SCORE`] and score column.
    pub fn detectors(&self) -> impl Iterator<Item = (Series, usize, &Detector)> {
        let detectors = self.current().flat_map(|judged| judged.detectors.iter());
        detectors.map(|((series, column), it)| (series, column, it))
    }

    /// Detector of the current gold set of one series and score column.
    pub(super) fn detector(&self, series: Series, column: usize) -> Option<&Detector> {
        let mut judged = self.current();
        judged.find_map(|judged| judged.detectors.get(&(series, column)))
    }

    /// Drops the evidence of a retired variant.
    pub(super) fn retire(&mut self, variant: Label, retired: &[(Table, Series)]) {
        let is_retired = |series: Series| {
            let mut of_scores = retired.iter();
            of_scores.any(|(table, it)| *it == series && Some(*table) == family::SCORE.table())
        };
        for judged in self.all_judged() {
            judged.reset(|it| it == variant, is_retired);
            judged.variations.retain(|(it, _), _| !is_retired(*it));
        }
        self.incidents.retire(variant);
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let judged = std::iter::once(&self.users).chain(self.rankings.values());
        judged.map(Judged::bytes).sum::<usize>()
            + self.incidents.bytes()
            + self.inherited.len() * BYTES_PER_LEARNED
    }

    /// Returns a copy for exposition: without the baselines of single queries.
    pub(super) fn summed(&self) -> Self {
        let judging = (!self.gold.is_empty()).then(|| (self.gold.clone(), 1));
        let rankings = self.rankings.iter();
        Self {
            gold: self.gold.clone(),
            workers: judging.into_iter().collect(),
            users: self.users.summed(),
            rankings: rankings
                .map(|(gold, judged)| (gold.clone(), judged.summed()))
                .collect(),
            incidents: self.incidents.summed(),
            resets: self.resets.clone(),
            ids: Vec::new(),
            inherited: BTreeMap::new(),
        }
    }

    /// Adds other evidence with the same numbers. Evidence of different gold sets stays separate.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self {
            gold,
            workers,
            users,
            rankings,
            incidents,
            resets,
            ids,
            inherited: _,
        } = other;
        self.incidents.merge(incidents);
        self.resets.merge(resets);
        self.ids.extend(ids);
        if *gold > self.gold {
            self.gold.clone_from(gold);
        }
        for (gold, theirs) in workers {
            *self.workers.entry(gold.clone()).or_default() += theirs;
        }
        self.users.merge(users);
        for (gold, theirs) in rankings {
            self.rankings.entry(gold.clone()).or_default().merge(theirs);
        }
    }

    /// Returns saved evidence with the numbers of this process. The gold set of the worker is not
    /// part of it.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let rankings = self.rankings.iter();
        Self {
            gold: Box::default(),
            workers: BTreeMap::new(),
            users: self.users.remap(ids),
            rankings: rankings
                .map(|(gold, judged)| (gold.clone(), judged.remap(ids)))
                .collect(),
            incidents: self.incidents.remap(ids),
            resets: self.resets.clone(),
            ids: self.ids.clone(),
            inherited: BTreeMap::new(),
        }
    }
}

/// Learned values of a new series: its variation before it was reset, those of another worker, or
/// the variation of the same slice of another variant with the newest search.
fn learned_of(
    new: SeriesColumn,
    (variations, detectors): (
        &BTreeMap<SeriesColumn, LearnedVariation>,
        &Columns<Series, Detector>,
    ),
    (known, watched): (&Known<'_>, &MonitoredMeasure),
    (settings, registry): (&Settings, &Registry),
) -> Option<LearnedSeries> {
    if let Some(known) = variations.get(&new) {
        return Some(known.clone().into());
    }
    let inherited = known.of_fleet(new.0, watched, (settings, registry));
    if let Some((shared, true)) = inherited {
        let is_reset = shared.reset_at < known.resets.of(&shared.name[2]);
        let learned = shared.learned.clone();
        return Some(if is_reset {
            learned.without_season()
        } else {
            learned
        });
    }
    let labels = registry.series_labels(&family::SCORE);
    let slice_of = |series: Series| labels.get(series.index()).map(|[_, rest @ ..]| *rest);
    let slice = slice_of(new.0)?;
    let is_same = |of: &SeriesColumn| of.1 == new.1 && slice_of(of.0) == Some(slice);
    let others = detectors.iter().filter(|(of, _)| is_same(of));
    let others = others.map(|(_, it)| it.drop_series());
    let newest = others
        .filter(|it| it.has_comparisons())
        .max_by_key(|it| it.minute());
    let of_others = || variations.iter().find(|(of, _)| is_same(of));
    let variation = newest.map_or_else(|| Some(of_others()?.1.clone()), DropSeries::variation);
    let of_fleet = || Some(inherited?.0.learned.clone().without_season());
    variation.map(LearnedSeries::from).or_else(of_fleet)
}

impl Known<'_> {
    /// Learned values of another worker of a series, and true; or those of the same slice of another
    /// variant, and false.
    fn of_fleet(
        &self,
        series: Series,
        watched: &MonitoredMeasure,
        (settings, registry): (&Settings, &Registry),
    ) -> Option<(&SharedLearned, bool)> {
        if self.inherited.is_empty() {
            return None;
        }
        let measure = settings.measures.get(watched.index)?.to_string();
        let [variant, slice, value] = incidents::names_of(series, settings, registry)?;
        let gold = if watched.is_user_measure {
            ""
        } else {
            self.gold
        };
        let name = [gold.into(), measure.into(), variant, slice, value];
        if let Some(known) = self.inherited.get(&name) {
            return Some((known, true));
        }
        let is_same = |it: &&SharedLearned| it.name[..2] == name[..2] && it.name[3..] == name[3..];
        let others = self.inherited.values().filter(is_same);
        Some((others.max_by_key(|it| it.newest)?, false))
    }
}

/// Means of the queries before a drop that began at `begin`, a minute.
fn references(
    baselines: &QueryBaselines,
    watched: &MonitoredMeasure,
    begin: i64,
) -> QueryReferences {
    let queries = baselines.queries().filter_map(|(query, it)| {
        let before = it.before(begin)?;
        Some((query.clone(), before, it.since(begin)))
    });
    QueryReferences::new(queries, watched.is_lower_better, |key| HOURS.contains(&key))
}

/// References that another worker shared.
fn shared_references(queries: &[SharedReference], watched: &MonitoredMeasure) -> QueryReferences {
    QueryReferences::shared(queries, watched.is_lower_better, |key| HOURS.contains(&key))
}

/// Key of an hour of the day.
fn hour_key(minute: i64) -> &'static str {
    let hour = minute.div_euclid(HOUR).rem_euclid(24);
    let hour = usize::try_from(hour).ok().and_then(|hour| HOURS.get(hour));
    hour.copied().unwrap_or_default()
}

impl Judged {
    /// Adds the scores of a search, and opens the incidents of the drops that they show. Returns the
    /// alarms that they raise, without those of drops that an open incident has.
    fn observe(
        &mut self,
        of: Observation<'_>,
        settings: &Settings,
        registry: &Registry,
        (begin_with, incidents): (&Known<'_>, &mut Incidents),
    ) -> Vec<Alarm> {
        let (detection, gold) = (&settings.detection, begin_with.gold);
        let mut alarms = Vec::new();
        let minute = minute_of(of.ts.0);
        let is_tracked = incidents.is_tracking(of.variant);
        for watched in &detection.measures {
            let column = column_of(watched.index);
            let Some(value) = of.score(column) else {
                continue;
            };
            let rules = detection.series_rules(watched);
            let baselines = self.baselines.get_or_default((of.variant, column));
            let (key, window) = match of.query {
                Some(query) => (&*query.key, rules.repeat_window),
                None => (hour_key(minute), 0),
            };
            if is_tracked {
                let score = TrackedScore {
                    ts: of.ts,
                    variant: of.variant,
                    series: of.series,
                    key,
                    value,
                    repeat_window: window,
                };
                incidents.observe(score, watched);
            }
            let unjudged = of.unjudged(column);
            let scored = (value, unjudged, minute);
            let mut compared = baselines.add_bounded(key, |key: &str| key.into(), scored, window);
            let mut score = ComparedScore {
                ts: of.ts,
                value,
                unjudged,
                query: compared.as_mut().filter(|_| of.query.is_some()),
                has_no_query: of.query.is_none(),
            };
            let raised = alarms.len();
            let mut suspected_since: Option<i64> = None;
            for (place, series) in of.series.iter().enumerate() {
                let known = (*series, column);
                if self.detectors.get(&known).is_none() {
                    let mine = (&self.variations, &self.detectors);
                    let names = (settings, registry);
                    let learned = learned_of(known, mine, (begin_with, watched), names);
                    let new = || {
                        learned.map_or_else(Detector::default, |learned| {
                            Detector::with_learned(learned, watched.is_seasonal)
                        })
                    };
                    self.detectors.get_or_insert_with(known, new);
                }
                let Some(detector) = self.detectors.get_mut(&known) else {
                    continue;
                };
                let of_whole = [of.series[0], *series];
                let rules = SeriesRules {
                    alarmed: (is_tracked && rules.is_seasonal)
                        .then(|| incidents.alarmed(&of_whole, column))
                        .flatten(),
                    ..rules
                };
                let (has_closed, is_compared) =
                    detector.add(&mut score, watched, (&rules, detection), place == 0);
                if let Some(since) = detector.suspected_since() {
                    suspected_since = Some(suspected_since.map_or(since, |it| it.min(since)));
                }
                let of_series = (*series, watched);
                if has_closed {
                    alarms.extend(detector.target_alarm(of_series, detection));
                }
                if is_compared {
                    alarms.extend(detector.drop_alarm(of_series, detection));
                }
                if is_tracked {
                    incidents.classify(known, || detector.class(detection));
                }
            }
            if let Some(compared) = &mut compared {
                compared.keep_before(suspected_since);
            }
            let mut raised = alarms.split_off(raised);
            raised.retain_mut(|alarm| {
                let names = (settings, registry);
                if alarm.test == Test::Target {
                    return true;
                }
                // The incident can be one of before a restart, or of another worker.
                if incidents.has_drop(alarm.series, watched, names) {
                    return false;
                }
                let place = (watched, of.variant);
                self.open(alarm, place, of.ts, (gold, &mut *incidents), names);
                true
            });
            alarms.extend(raised);
        }
        alarms
    }

    /// Opens the incident of an alarm of a drop, and names the queries with the largest regressions.
    fn open(
        &self,
        alarm: &mut Alarm,
        (watched, variant): (&MonitoredMeasure, Label),
        alarmed_at: EventTime,
        (gold, incidents): (&str, &mut Incidents),
        names: (&Settings, &Registry),
    ) {
        let column = column_of(watched.index);
        let Some(baselines) = self.baselines.get(&(variant, column)) else {
            return;
        };
        alarm.worst_regressions = worst_regressions(baselines, watched, alarm.part);
        let Some(detector) = self.detectors.get(&(alarm.series, column)) else {
            return;
        };
        let Some((beginning, at_alarm)) = detector.drop_so_far() else {
            return;
        };
        let drop = incidents::Drop {
            series: alarm.series,
            watched,
            beginning,
            alarmed_at,
            before: detector.before(),
            at_alarm,
            tolerance: detector.drop_series().tolerance(),
            class: alarm.class.unwrap_or(DropClass::Undecided),
            part: detector.drop_series().part(),
            season: detector.drop_series().season(),
        };
        let references = |begin| references(baselines, watched, begin);
        incidents.open(&drop, gold, names, references);
    }

    /// Replaces the baselines of queries by those before a drop that has ended, and starts the drop
    /// tests of its series again, each with its scores before the drop.
    fn recover(
        &mut self,
        of: VariantColumn,
        series: &[(Series, Losses)],
        before: &[(Box<str>, Baseline)],
    ) {
        let Some(baselines) = self.baselines.get_mut(&of) else {
            return;
        };
        for (query, baseline) in before {
            baselines.set(&**query, |key: &str| key.into(), *baseline);
        }
        for (series, scores) in series {
            if let Some(detector) = self.detectors.get_mut(&(*series, of.1)) {
                detector.restart_drop(*scores);
            }
        }
    }

    /// Begins the tests of targets of series again.
    fn restart_targets(&mut self, is_of_series: impl Fn(Series) -> bool) {
        for ((series, _), detector) in self.detectors.iter_mut() {
            if is_of_series(series) {
                detector.restart_target();
            }
        }
    }

    /// Takes over what another gold set judged, with the baselines of the queries that both judge alike. If any
    /// is judged differently, the tests of targets begin again.
    fn take_over(&mut self, mut judged: Self, (before, now): (&JudgementHashes, &JudgementHashes)) {
        judged.judgements = JudgementHashes::default();
        if before != now {
            for (_, baselines) in judged.baselines.iter_mut() {
                baselines.retain(|key| before.agree(now, key));
            }
            judged.restart_targets(|_| true);
        }
        if self.baselines.is_empty() && self.detectors.is_empty() {
            judged.judgements = std::mem::take(&mut self.judgements);
            *self = judged;
        } else {
            self.merge(&judged);
        }
    }

    /// Resets the baselines of variants and the detectors of series. Keeps the variation of hours.
    fn reset(
        &mut self,
        is_variant_reset: impl Fn(Label) -> bool,
        is_series_reset: impl Fn(Series) -> bool,
    ) {
        self.baselines.retain(|it| !is_variant_reset(it));
        let reset = self
            .detectors
            .iter()
            .filter(|((it, _), _)| is_series_reset(*it));
        let known = reset.filter_map(|(of, it)| Some((of, it.drop_series().variation()?)));
        self.variations.extend(known);
        self.detectors.retain(|it| !is_series_reset(it));
    }

    /// Approximate bytes held.
    fn bytes(&self) -> usize {
        let queries: usize = self.baselines.values().map(Baselines::len).sum();
        let inherited: usize = self.baselines.values().map(Baselines::inherited_len).sum();
        queries * BYTES_PER_QUERY
            + inherited * BYTES_PER_INHERITED
            + self.detectors.values().map(Detector::bytes).sum::<usize>()
            + self.variations.len() * size_of::<(SeriesColumn, LearnedVariation)>()
            + self.judgements.bytes()
    }

    fn summed(&self) -> Self {
        let baselines = self.baselines.iter();
        Self {
            baselines: baselines.map(|(of, it)| (of, it.total())).collect(),
            detectors: self.detectors.clone(),
            variations: BTreeMap::new(),
            judgements: JudgementHashes::default(),
        }
    }

    fn merge(&mut self, other: &Self) {
        for (of, theirs) in other.baselines.iter() {
            self.baselines.get_or_default(of).merge(theirs);
        }
        for (of, theirs) in other.detectors.iter() {
            self.detectors.get_or_default(of).merge(theirs);
        }
        for (of, theirs) in &other.variations {
            self.variations.entry(*of).or_insert_with(|| theirs.clone());
        }
        if self.judgements == JudgementHashes::default() {
            self.judgements.clone_from(&other.judgements);
        }
    }

    fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let mut now = Self {
            judgements: self.judgements.clone(),
            ..Self::default()
        };
        let column = |column: usize| ids.columns.get(column).copied().flatten();
        for ((variant, of), baselines) in self.baselines.iter() {
            if let Some(column) = column(of) {
                let variant = ids.label(Dimension::Variant, variant);
                let mine = now.baselines.get_or_default((variant, column));
                mine.merge(baselines);
            }
        }
        let known = |(series, of): SeriesColumn| {
            let series = ids.series(family::SCORE.table()?, series)?;
            Some((series, column(of)?))
        };
        for (of, detector) in self.detectors.iter() {
            if let Some(of) = known(of) {
                now.detectors.get_or_default(of).merge(detector);
            }
        }
        let variations = self.variations.iter();
        let variations = variations.filter_map(|(of, it)| Some((known(*of)?, it.clone())));
        now.variations.extend(variations);
        now
    }
}
