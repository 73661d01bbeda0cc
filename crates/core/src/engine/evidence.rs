//! Regression evidence (log e-values) by series and measure: baselines, differences of searches
//! from their baseline, and sequential tests for drops and missed targets.
//!
//! Each search is compared with the baseline of its query: the mean of the earlier searches with
//! the query, which it then joins. A change of the query mix is therefore no change of quality, and
//! there is no learning phase. A query counts once in the repeat window, so a burst of one query is
//! one observation. For measures of user behaviour, a session is one observation; it is compared
//! with its gold query if it has one, otherwise with the same hour of earlier days.
//!
//! The evidence of a worker is a function of its searches in their order; ticks do not change it.
//! The evidence of several workers is merged by the rules of [`crate::detection`]: e-values of
//! targets are averaged, those of drops are summed, and baselines add. Merging is associative and
//! independent of order, up to the rounding of floating-point logarithms. Evidence of different gold
//! sets stays separate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detection::{
    BaselineRules, Baselines, BlockTests, Bounds, Change, DropExtent, DropTest, Hypothesis,
    QueryBaseline, against_baseline, minute_of,
};
use crate::engine::family::{self, Table};
use crate::engine::fixed::{NANO_DECIMALS, Nano, count_to_f64, units_to_f64};
use crate::engine::registry::{Dimension, Label, Series};
use crate::engine::remap::IdRemap;
use crate::engine::scores::column_of;
use crate::engine::settings::{Detection, MonitoredMeasure};
use crate::time::EventTime;

/// Length in searches of the moving means of a series. The means are for display only.
const RECENT_SEARCHES: f64 = 100.0;

/// Number of queries in the list of the largest regressions.
const WORST_REGRESSIONS: usize = 5;

/// Ratio of the evidence to its threshold below which an alarm can be reported again.
const HYSTERESIS: f64 = 0.5;

/// Minutes per hour.
const HOUR: i64 = 60;

/// Baseline keys of sessions without a gold query: the hour of the day (UTC). No query has such a
/// key, because ids contain no control characters.
const HOURS: [&str; 24] = [
    "\u{0}00", "\u{0}01", "\u{0}02", "\u{0}03", "\u{0}04", "\u{0}05", "\u{0}06", "\u{0}07",
    "\u{0}08", "\u{0}09", "\u{0}10", "\u{0}11", "\u{0}12", "\u{0}13", "\u{0}14", "\u{0}15",
    "\u{0}16", "\u{0}17", "\u{0}18", "\u{0}19", "\u{0}20", "\u{0}21", "\u{0}22", "\u{0}23",
];

/// Approximate bytes of the baseline of a query, with a key of 16 bytes and its place in the map.
const BYTES_PER_QUERY: usize = size_of::<(Box<str>, QueryBaseline)>() + 40;

/// Score column of a variant.
type VariantColumn = (Label, usize);
/// Score column of a series.
type SeriesColumn = (Series, usize);
/// Baselines of the queries of a variant, by key of the query.
pub type QueryBaselines = Baselines<Box<str>>;

/// Baselines and detectors of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Gold set that judges the searches of this worker. Empty before the first one.
    gold: Box<str>,
    /// Number of workers by gold set. Only in a snapshot.
    workers: BTreeMap<Box<str>, u32>,
    /// Evidence of measures of user behaviour, which no gold set judges.
    users: Judged,
    /// Evidence of ranking measures, by gold set. A worker has that of its gold set only. Scores by
    /// different gold sets are not comparable.
    rankings: BTreeMap<Box<str>, Judged>,
}

/// Baselines and detectors of measures that one gold set judges, or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Judged {
    /// Baselines, by variant and score column.
    baselines: BTreeMap<VariantColumn, QueryBaselines>,
    /// Detectors, by series of [`family::SCORE`] and score column.
    detectors: BTreeMap<SeriesColumn, Detector>,
}

/// Tests and statistics of one series and measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detector {
    target: BlockTests,
    drop: DropTest,
    /// Searches since the estimated start of a drop.
    change: Change,
    /// Moving mean of the scores.
    recent: Moving,
    /// Moving mean of the compared scores.
    compared: Moving,
    /// Moving mean of the baselines that they were compared with.
    expected: Moving,
    /// True if the threshold was reached and the alarm was reported, by test.
    reported: [bool; 2],
}

/// Moving mean of the last values, for display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Moving {
    mean: f64,
    values: u64,
}

impl Moving {
    fn add(&mut self, value: f64) {
        self.values += 1;
        let weight = count_to_f64(self.values).min(RECENT_SEARCHES).recip();
        self.mean += weight * (value - self.mean);
    }

    /// Mean of two means, weighted by the numbers of their values.
    fn merge(&mut self, other: Self) {
        let all = count_to_f64(self.values + other.values);
        if other.values > 0 {
            self.mean += (other.mean - self.mean) * count_to_f64(other.values) / all;
        }
        self.values += other.values;
    }
}

impl Detector {
    /// Anytime-valid confidence bounds of the mean of the closed blocks. `threshold` is ln(R/alpha)
    /// for bounds that hold over R workers with probability 1 - alpha. `None` before the first block
    /// is closed.
    pub fn bounds(&self, threshold: f64, is_lower_better: bool) -> Option<Bounds> {
        let bounds = self.target.bounds(threshold)?;
        Some(if is_lower_better {
            Bounds {
                lower: 1.0 - bounds.upper,
                upper: 1.0 - bounds.lower,
            }
        } else {
            bounds
        })
    }

    /// Returns true if any search was compared with a baseline.
    pub fn has_comparisons(&self) -> bool {
        self.drop.compared() > 0
    }

    /// Log evidence (ln) that the target is missed: the mean e-value of `workers` workers.
    pub fn target_log_evidence(&self, watched: &MonitoredMeasure, workers: u64) -> Option<f64> {
        let target = watched.upwards(watched.target?);
        Some(self.target.log_mean(target, workers))
    }

    /// Log evidence (ln) of a drop. `None` before the first comparison.
    pub fn drop_log_evidence(&self) -> Option<f64> {
        self.has_comparisons().then(|| self.drop.log_evidence())
    }

    /// Start and size of a drop that has at least half of the evidence for an alarm.
    pub fn drop_extent(&self, settings: &Detection) -> Option<DropExtent> {
        if self.drop_log_evidence()? < settings.drop_threshold * HYSTERESIS {
            return None;
        }
        self.change.extent(settings.target_threshold_of_worker())
    }

    fn merge(&mut self, other: &Self) {
        self.target.merge(&other.target);
        self.drop.merge(&other.drop);
        self.change.merge(&other.change);
        self.recent.merge(other.recent);
        self.compared.merge(other.compared);
        self.expected.merge(other.expected);
        for (mine, theirs) in self.reported.iter_mut().zip(other.reported) {
            *mine |= theirs;
        }
    }
}

impl MonitoredMeasure {
    /// Score for which higher is better.
    fn upwards(&self, score: f64) -> f64 {
        if self.is_lower_better {
            1.0 - score
        } else {
            score
        }
    }
}

/// Sequential test, by its null hypothesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The mean meets the target.
    Target,
    /// The scores have not dropped below the baseline.
    Drop,
}

impl Test {
    /// Both tests, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Target, Self::Drop];

    /// Label value: `target`, `drop`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Drop => "drop",
        }
    }
}

/// Alarm: evidence that has just reached its threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Alarm {
    /// Test that raised the alarm.
    pub test: Test,
    /// Series of [`family::SCORE`].
    pub series: Series,
    /// Position of the measure in the settings.
    pub measure: usize,
    /// Log evidence (ln).
    pub log_evidence: f64,
    /// Threshold of the log evidence.
    pub threshold: f64,
    /// The target, or the moving mean of the baselines of the last compared searches.
    pub expected: f64,
    /// Moving mean of the last searches; for a drop, of the last compared searches.
    pub recent: f64,
    /// Queries with the largest regressions, at most five. Empty for a missed target.
    pub worst_regressions: Vec<RegressedQuery>,
    /// Start and size of a drop. `None` for a missed target.
    pub drop: Option<DropExtent>,
}

/// Query with regressed scores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegressedQuery {
    /// Key of the query in the gold set.
    pub query: Box<str>,
    /// Baseline mean of the query.
    pub baseline: f64,
    /// Moving mean of the last searches with the query.
    pub recent: f64,
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
    /// Key of the gold query, if any.
    pub(super) query: Option<&'a str>,
    /// True for scores of user behaviour, false for those of a ranking.
    pub(super) is_of_users: bool,
}

impl Observation<'_> {
    /// Score in a column.
    fn score(&self, column: usize) -> Option<f64> {
        let place = self.scores.binary_search_by_key(&column, |(it, _)| *it);
        let (_, score) = self.scores.get(place.ok()?)?;
        Some(units_to_f64(i128::from(score.get()), NANO_DECIMALS))
    }

    /// Key and rules of the baseline with which the observation is compared.
    fn baseline(&self, settings: &Detection) -> (&str, BaselineRules) {
        if let Some(query) = self.query {
            return (query, BaselineRules::of_query(settings.burst));
        }
        let hour = minute_of(self.ts.0).div_euclid(HOUR).rem_euclid(24);
        let hour = usize::try_from(hour).ok().and_then(|hour| HOURS.get(hour));
        (
            hour.copied().unwrap_or_default(),
            BaselineRules::of_hour(settings.tolerance),
        )
    }
}

impl Evidence {
    /// Adds the scores of a search. Returns the alarms that they raise.
    #[allow(
        clippy::map_entry,
        reason = "an entry would copy the name of the gold set for every search"
    )]
    pub(super) fn observe(&mut self, of: Observation<'_>, settings: &Detection) -> Vec<Alarm> {
        let mut watched = settings.measures.iter();
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
        judged.map_or_else(Vec::new, |judged| judged.observe(of, settings))
    }

    /// Resets the baselines and all evidence, for a new deployment.
    pub(super) fn reset_baselines(&mut self) {
        self.users = Judged::default();
        self.rankings.clear();
    }

    /// Resets the baselines and the evidence of a variant. `is_of_variant` is true for its series of
    /// [`family::SCORE`].
    pub(super) fn reset_variant(&mut self, variant: Label, is_of_variant: impl Fn(Series) -> bool) {
        for judged in std::iter::once(&mut self.users).chain(self.rankings.values_mut()) {
            judged.baselines.retain(|(it, _), _| *it != variant);
            judged
                .detectors
                .retain(|(series, _), _| !is_of_variant(*series));
        }
    }

    /// Sets the gold set that judges the following searches. This removes the baselines and the
    /// evidence of other gold sets.
    pub(super) fn set_gold_set(&mut self, gold: &str) {
        self.gold = gold.into();
        self.rankings.retain(|judged_by, _| **judged_by == *gold);
    }

    /// Baselines and detectors to expose: those of the user measures, and those of the gold set that
    /// most workers use. Before any worker has a gold set, those of the gold set with the most
    /// scores.
    fn current(&self) -> impl Iterator<Item = &Judged> {
        let most_workers = self.workers.iter().max_by_key(|(_, workers)| **workers);
        let scores = |judged: &Judged| -> u64 {
            let baselines = judged.baselines.values();
            baselines.map(Baselines::scores).sum()
        };
        let rankings = match most_workers {
            Some((gold, _)) => self.rankings.get(gold),
            None => self.rankings.values().max_by_key(|judged| scores(judged)),
        };
        std::iter::once(&self.users).chain(rankings)
    }

    /// Baselines of the current gold set, by variant and score column.
    pub fn baselines(&self) -> impl Iterator<Item = (Label, usize, &QueryBaselines)> {
        let baselines = self.current().flat_map(|judged| &judged.baselines);
        baselines.map(|((variant, column), it)| (*variant, *column, it))
    }

    /// Detectors of the current gold set, by series of [`family::SCORE`] and score column.
    pub fn detectors(&self) -> impl Iterator<Item = (Series, usize, &Detector)> {
        let detectors = self.current().flat_map(|judged| &judged.detectors);
        detectors.map(|((series, column), it)| (*series, *column, it))
    }

    /// Drops the evidence of a retired variant.
    pub(super) fn retire(&mut self, variant: Label, retired: &[(Table, Series)]) {
        let is_retired = |series: Series| {
            let mut of_scores = retired.iter();
            of_scores.any(|(table, it)| *it == series && Some(*table) == family::SCORE.table())
        };
        self.reset_variant(variant, is_retired);
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let judged = std::iter::once(&self.users).chain(self.rankings.values());
        judged.map(Judged::bytes).sum()
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
        }
    }

    /// Adds other evidence with the same numbers. Evidence of different gold sets stays separate.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self {
            gold,
            workers,
            users,
            rankings,
        } = other;
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
        }
    }

    /// Adds restored evidence. If this worker has a gold set, evidence of other gold sets is
    /// removed.
    pub(super) fn drop_other_gold_sets(&mut self) {
        if !self.gold.is_empty() {
            let gold = &self.gold;
            self.rankings.retain(|judged_by, _| judged_by == gold);
        }
    }
}

impl Judged {
    /// Adds the scores of a search. Returns the alarms that they raise.
    fn observe(&mut self, of: Observation<'_>, settings: &Detection) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        let Some(hypothesis) = Hypothesis::dropped_at_most(settings.tolerance) else {
            return alarms;
        };
        let minute = minute_of(of.ts.0);
        let (key, rules) = of.baseline(settings);
        for watched in &settings.measures {
            let column = column_of(watched.index);
            let Some(value) = of.score(column) else {
                continue;
            };
            let baselines = self.baselines.entry((of.variant, column)).or_default();
            let expected = baselines.add(key, |key: &str| key.into(), (value, minute), rules);
            let difference = expected.map(|expected| {
                against_baseline(watched.upwards(value), watched.upwards(expected))
            });
            for series in of.series {
                let detector = self.detectors.entry((*series, column)).or_default();
                detector.recent.add(value);
                if let Some(expected) = expected {
                    detector.compared.add(value);
                    detector.expected.add(expected);
                    let loss = watched.upwards(expected) - watched.upwards(value);
                    detector.change.add(minute, loss, settings.tolerance);
                }
                let pivot = watched.upwards(watched.target.unwrap_or(0.5));
                let has_closed = detector.target.add(
                    of.ts.0,
                    watched.upwards(value),
                    settings.burst.block(),
                    pivot,
                );
                detector
                    .drop
                    .add(minute, difference, hypothesis, settings.ceiling);
                let place = (*series, watched);
                if has_closed {
                    alarms.extend(detector.target_alarm(place, settings));
                }
                if difference.is_some() {
                    alarms.extend(detector.drop_alarm(place, baselines, settings));
                }
            }
        }
        alarms
    }

    /// Approximate bytes held.
    fn bytes(&self) -> usize {
        let queries: usize = self.baselines.values().map(Baselines::len).sum();
        queries * BYTES_PER_QUERY + self.detectors.len() * size_of::<Detector>()
    }

    fn summed(&self) -> Self {
        let baselines = self.baselines.iter();
        Self {
            baselines: baselines.map(|(of, it)| (*of, it.total())).collect(),
            detectors: self.detectors.clone(),
        }
    }

    fn merge(&mut self, other: &Self) {
        for (of, theirs) in &other.baselines {
            self.baselines.entry(*of).or_default().merge(theirs);
        }
        for (of, theirs) in &other.detectors {
            self.detectors.entry(*of).or_default().merge(theirs);
        }
    }

    fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let mut now = Self::default();
        let column = |column: usize| ids.columns.get(column).copied().flatten();
        for ((variant, of), baselines) in &self.baselines {
            if let Some(column) = column(*of) {
                let variant = ids.label(Dimension::Variant, *variant);
                let mine = now.baselines.entry((variant, column)).or_default();
                mine.merge(baselines);
            }
        }
        for ((series, of), detector) in &self.detectors {
            let table = family::SCORE.table();
            let series = table.and_then(|table| ids.series(table, *series));
            if let (Some(series), Some(column)) = (series, column(*of)) {
                let mine = now.detectors.entry((series, column)).or_default();
                mine.merge(detector);
            }
        }
        now
    }
}

impl Detector {
    /// Returns the alarm about a missed target that a closed block raises, unless it was reported.
    fn target_alarm(
        &mut self,
        (series, watched): (Series, &MonitoredMeasure),
        settings: &Detection,
    ) -> Option<Alarm> {
        let target = watched.target?;
        // A worker has no access to the evidence of the others. At this threshold, the mean of all
        // e-values is at least 1/alpha for any evidence of the others.
        let threshold = settings.target_threshold_of_worker();
        let log_evidence = self.target.log_sum(watched.upwards(target));
        self.is_new(Test::Target, log_evidence, threshold)
            .then(|| Alarm {
                test: Test::Target,
                series,
                measure: watched.index,
                log_evidence,
                threshold,
                expected: target,
                recent: self.recent.mean,
                worst_regressions: Vec::new(),
                drop: None,
            })
    }

    /// Returns the alarm about a drop that a comparison raises, unless it was reported.
    fn drop_alarm(
        &mut self,
        (series, watched): (Series, &MonitoredMeasure),
        baselines: &QueryBaselines,
        settings: &Detection,
    ) -> Option<Alarm> {
        let threshold = settings.drop_threshold;
        // The bound saves nine exponentials for almost every search.
        let highest = self.drop.detector().highest_log();
        let log_evidence = if highest < threshold * HYSTERESIS {
            highest
        } else {
            self.drop.log_evidence()
        };
        self.is_new(Test::Drop, log_evidence, threshold)
            .then(|| Alarm {
                test: Test::Drop,
                series,
                measure: watched.index,
                log_evidence,
                threshold,
                expected: self.expected.mean,
                recent: self.compared.mean,
                worst_regressions: worst_regressions(baselines, watched),
                drop: self.change.extent(settings.target_threshold_of_worker()),
            })
    }

    /// Returns true if the evidence has reached the threshold and this was not reported. An alarm is
    /// reported again only after the evidence fell below half of the threshold.
    fn is_new(&mut self, test: Test, log_evidence: f64, threshold: f64) -> bool {
        let reported = &mut self.reported[test as usize];
        if log_evidence < threshold {
            *reported &= log_evidence >= threshold * HYSTERESIS;
            return false;
        }
        !std::mem::replace(reported, true)
    }
}

/// Returns the queries with the largest regressions against their baseline.
fn worst_regressions(
    baselines: &QueryBaselines,
    watched: &MonitoredMeasure,
) -> Vec<RegressedQuery> {
    let loss = |it: &RegressedQuery| watched.upwards(it.baseline) - watched.upwards(it.recent);
    let mut regressed: Vec<RegressedQuery> = baselines
        .queries()
        .filter(|(query, _)| !HOURS.contains(&&***query))
        .filter_map(|(query, it)| {
            Some(RegressedQuery {
                query: query.clone(),
                baseline: it.mean()?,
                recent: it.recent()?,
            })
        })
        .filter(|it| loss(it) > 0.0)
        .collect();
    regressed.sort_by(|a, b| {
        let by_loss = loss(b).total_cmp(&loss(a));
        by_loss.then_with(|| a.query.cmp(&b.query))
    });
    regressed.truncate(WORST_REGRESSIONS);
    regressed
}
