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

mod detector;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detection::{BaselineRules, Baselines, Hypothesis, QueryBaseline, minute_of};
use crate::engine::family::{self, Table};
use crate::engine::fixed::{NANO_DECIMALS, Nano, units_to_f64};
use crate::engine::registry::{Dimension, Label, Series};
use crate::engine::remap::IdRemap;
use crate::engine::scores::column_of;
use crate::engine::settings::Detection;
use crate::gold::GoldQuery;
use crate::time::EventTime;

use detector::ComparedScore;
pub use detector::{Alarm, Detector, RegressedQuery, Test};

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

/// Observation of one search, or of one session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation<'a> {
    pub(super) ts: EventTime,
    pub(super) variant: Label,
    /// Monitored series.
    pub(super) series: &'a [Series],
    /// Scores with their columns, in the order of the columns.
    pub(super) scores: &'a [(usize, Nano)],
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
        Some(units_to_f64(i128::from(score.get()), NANO_DECIMALS))
    }

    /// Key and rules of the baseline with which the observation is compared.
    fn baseline(&self, settings: &Detection) -> (&str, BaselineRules) {
        if let Some(query) = self.query {
            return (&query.key, BaselineRules::of_query(settings.burst));
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
            let score = ComparedScore {
                ts: of.ts,
                value,
                expected,
            };
            for series in of.series {
                let detector = self.detectors.entry((*series, column)).or_default();
                let has_closed = detector.add(score, watched, hypothesis, settings);
                let place = (*series, watched);
                if has_closed {
                    alarms.extend(detector.target_alarm(place, settings));
                }
                if expected.is_some() {
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
