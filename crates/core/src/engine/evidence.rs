//! Regression evidence (log e-values) by series and measure: baselines, differences of searches
//! from their baseline, and sequential tests for drops and missed targets.
//!
//! Each search is compared with the baseline of its query. A change of the query mix is therefore
//! no change of quality, and a thousand searches with one query are not a thousand independent
//! observations. The baseline is learned from the first searches of a variant. It then stays fixed
//! until an operator resets it or the gold set changes. For measures of user behaviour, a session
//! is one observation and is compared with the mean of the variant.
//!
//! Detectors of different workers can be merged. The tests themselves are in [`crate::detection`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detection::{Bounds, DropDetector, Histogram, Hypothesis, TargetTest, against_baseline};
use crate::engine::family::{self, Table};
use crate::engine::fixed::{NANO_DECIMALS, Nano, count_to_f64, units_to_f64};
use crate::engine::registry::{Dimension, Label, Series};
use crate::engine::remap::IdRemap;
use crate::engine::scores::column_of;
use crate::engine::settings::{Detection, MonitoredMeasure};
use crate::engine::window::Progress;

/// Maximum number of queries with a baseline, for one variant and measure. Searches with other
/// queries are not compared.
const MAX_BASELINE_QUERIES: usize = 20_000;

/// Maximum number of minutes processed in one step. A longer pause contains no searches, so its
/// remaining minutes add no information.
const MAX_MINUTES_PER_STEP: i64 = 1_440;

/// Length in searches of the moving mean of a series. The mean is for display only.
const RECENT_SEARCHES: f64 = 100.0;
/// Length in searches of the moving mean of a query. The mean is for display only.
const RECENT_SEARCHES_OF_QUERY: f64 = 4.0;

/// Score column of a variant.
type VariantColumn = (Label, usize);
/// Score column of a series.
type SeriesColumn = (Series, usize);

/// Baselines and detectors of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Baselines, by variant and score column.
    pub baselines: BTreeMap<VariantColumn, Baseline>,
    /// Detectors, by series of [`family::SCORE`] and score column.
    pub detectors: BTreeMap<SeriesColumn, Detector>,
    /// Last processed minute of event time.
    minute: Option<i64>,
    /// Gold set with which the baselines were learned.
    gold: String,
}

/// Baseline of a variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Number of searches in the baseline.
    pub searches: u64,
    /// Sum of the scores of these searches, in units of 10⁻⁹.
    sum: i128,
    /// True if the baseline is complete and fixed.
    pub is_learned: bool,
    queries: BTreeMap<Box<str>, QueryBaseline>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct QueryBaseline {
    searches: u32,
    /// Sum of the scores in the baseline, in units of 10⁻⁹.
    sum: i64,
    /// Moving mean of the scores after the baseline.
    recent: f64,
    /// Number of searches after the baseline.
    recent_searches: u32,
}

impl Baseline {
    /// Mean score, or `None` without searches.
    pub fn mean(&self) -> Option<f64> {
        let count = count_to_f64(self.searches);
        (self.searches > 0).then(|| units_to_f64(self.sum, NANO_DECIMALS) / count)
    }

    fn learn(&mut self, query: &str, score: Nano, required: u64) {
        self.searches += 1;
        self.sum += i128::from(score.get());
        self.is_learned = self.searches >= required;
        if query.is_empty()
            || (self.queries.len() >= MAX_BASELINE_QUERIES && !self.queries.contains_key(query))
        {
            return;
        }
        let of_query = self.queries.entry(query.into()).or_default();
        of_query.searches += 1;
        of_query.sum = of_query.sum.saturating_add(score.get());
    }

    /// Returns the baseline of a query, or the baseline of the variant for a search without a gold
    /// query.
    fn expected_score(&self, query: &str) -> Option<f64> {
        if query.is_empty() {
            return self.mean();
        }
        self.queries.get(query).map(QueryBaseline::mean)
    }

    fn update_recent(&mut self, query: &str, score: f64) {
        if let Some(of_query) = self.queries.get_mut(query) {
            let count = &mut of_query.recent_searches;
            *count = count.saturating_add(1);
            let weight = f64::from(*count).min(RECENT_SEARCHES_OF_QUERY).recip();
            of_query.recent += weight * (score - of_query.recent);
        }
    }

    /// Returns at most five queries, those with the largest regressions against their baseline.
    fn worst_regressions(&self, sign: f64) -> Vec<RegressedQuery> {
        let compared = self.queries.iter().filter(|(_, it)| it.recent_searches > 0);
        let mut regressed: Vec<RegressedQuery> = compared
            .map(|(query, it)| RegressedQuery {
                query: query.clone(),
                baseline: it.mean(),
                recent: it.recent,
            })
            .filter(|it| sign * (it.baseline - it.recent) > 0.0)
            .collect();
        regressed.sort_by(|a, b| {
            let by = |it: &RegressedQuery| sign * (it.baseline - it.recent);
            by(b).total_cmp(&by(a)).then_with(|| a.query.cmp(&b.query))
        });
        regressed.truncate(5);
        regressed
    }

    fn merge(&mut self, other: &Self) {
        self.searches += other.searches;
        self.sum += other.sum;
        self.is_learned &= other.is_learned;
        for (query, theirs) in &other.queries {
            let mine = self.queries.entry(query.clone()).or_default();
            mine.searches = mine.searches.saturating_add(theirs.searches);
            mine.sum = mine.sum.saturating_add(theirs.sum);
            if theirs.recent_searches > mine.recent_searches {
                mine.recent = theirs.recent;
                mine.recent_searches = theirs.recent_searches;
            }
        }
    }

    /// Returns a copy without the baselines of single queries, for exposition.
    fn total(&self) -> Self {
        Self {
            queries: BTreeMap::new(),
            ..*self
        }
    }
}

impl QueryBaseline {
    fn mean(&self) -> f64 {
        let sum = units_to_f64(i128::from(self.sum), NANO_DECIMALS);
        sum / f64::from(self.searches.max(1))
    }
}

/// Tests and statistics of one series and measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detector {
    target: TargetTest,
    drop: DropDetector,
    scores: Histogram,
    bounds: Option<(Bounds, u64)>,
    /// Moving mean of the scores.
    recent: f64,
    /// Number of searches.
    searches: u64,
    /// Number of searches that were compared with a baseline.
    compared: u64,
    /// True if the threshold was reached and the alarm was reported, by test.
    reported: [bool; 2],
}

impl Detector {
    /// Confidence bounds of the mean as of their last update, and the number of searches in them.
    pub fn bounds(&self) -> Option<(Bounds, u64)> {
        self.bounds
    }

    /// Returns true if any search was compared with a baseline.
    pub fn has_comparisons(&self) -> bool {
        self.compared > 0
    }

    /// Log evidence (ln) of a test.
    pub fn log_evidence(&self, test: Test) -> f64 {
        match test {
            Test::Target => self.target.log_evidence(),
            Test::Drop => self.drop.log_evidence(),
        }
    }

    /// Updates the bounds when the number of scores has grown by more than 5 %.
    fn update_bounds(&mut self, alpha: f64) {
        let known = self.bounds.map_or(0, |(_, searches)| searches);
        if self.searches > known + known / 20 {
            self.bounds = Some((self.scores.bounds(alpha), self.searches));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.target.merge(&other.target);
        self.drop.merge(&other.drop);
        self.scores.merge(&other.scores);
        // The two sets of searches are disjoint: the bounds of both are interpolated by the number
        // of searches.
        self.bounds = match (self.bounds, other.bounds) {
            (Some((mine, m)), Some((theirs, n))) => {
                let share = count_to_f64(n) / count_to_f64((m + n).max(1));
                let between = |a: f64, b: f64| a + share * (b - a);
                let bounds = Bounds {
                    lower: between(mine.lower, theirs.lower),
                    upper: between(mine.upper, theirs.upper),
                };
                Some((bounds, m + n))
            }
            (mine, theirs) => mine.or(theirs),
        };
        if other.searches > self.searches {
            self.recent = other.recent;
        }
        self.searches += other.searches;
        self.compared += other.compared;
        for (mine, theirs) in self.reported.iter_mut().zip(other.reported) {
            *mine |= theirs;
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
    /// Baseline mean, or the target.
    pub expected: f64,
    /// Moving mean of the last searches.
    pub recent: f64,
    /// Queries with the largest regressions, at most five. Empty for a missed target.
    pub worst_regressions: Vec<RegressedQuery>,
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

/// Observation of one search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation<'a> {
    pub(super) variant: Label,
    /// Monitored series.
    pub(super) series: &'a [Series],
    /// Scores with their columns.
    pub(super) scores: &'a [(usize, Nano)],
    /// Key of the gold query. Empty for measures of user behaviour.
    pub(super) query: &'a str,
}

impl Evidence {
    /// Adds the scores of a search. Returns the alarms that they raise.
    pub(super) fn observe(&mut self, of: Observation<'_>, settings: &Detection) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        for watched in &settings.measures {
            let column = column_of(watched.index);
            let Some((_, score)) = of.scores.iter().find(|(it, _)| *it == column) else {
                continue;
            };
            let value = units_to_f64(i128::from(score.get()), NANO_DECIMALS);
            let baseline = self.baselines.entry((of.variant, column)).or_default();
            let expected = if baseline.is_learned {
                baseline.update_recent(of.query, value);
                baseline.expected_score(of.query)
            } else {
                baseline.learn(of.query, *score, settings.baseline_searches);
                None
            };
            let upwards = |score: f64| {
                if watched.is_lower_better {
                    1.0 - score
                } else {
                    score
                }
            };
            for series in of.series {
                let detector = self.detectors.entry((*series, column)).or_default();
                detector.searches += 1;
                let weight = count_to_f64(detector.searches).min(RECENT_SEARCHES).recip();
                detector.recent += weight * (value - detector.recent);
                detector.scores.add(value);
                if let Some(target) = watched.target
                    && let Some(hypothesis) = Hypothesis::at_least(upwards(target))
                {
                    detector.target.add(upwards(value), hypothesis);
                }
                if let Some(expected) = expected
                    && let Some(hypothesis) = Hypothesis::dropped_at_most(settings.tolerance)
                {
                    let difference = against_baseline(upwards(value), upwards(expected));
                    detector.compared += 1;
                    detector.drop.add(difference, hypothesis);
                    detector.drop.limit(settings.ceiling);
                }
                let place = (*series, watched);
                alarms.extend(new_alarms(detector, place, baseline, settings));
            }
        }
        alarms
    }

    /// Advances the detectors by the minutes of event time that have passed, and updates the
    /// bounds.
    pub(super) fn advance_to(&mut self, progress: Progress, settings: &Detection) {
        for detector in self.detectors.values_mut() {
            detector.update_bounds(settings.alpha);
        }
        let Some(watermark) = progress.watermark else {
            return;
        };
        let minute = watermark.0.div_euclid(60_000);
        let passed = self.minute.map_or(0, |last| minute - last);
        if passed < 0 {
            return;
        }
        self.minute = Some(minute);
        for _ in 0..passed.min(MAX_MINUTES_PER_STEP) {
            // Minutes count only after the first comparison with a baseline.
            let comparing = self.detectors.values_mut().filter(|it| it.compared > 0);
            for detector in comparing {
                detector.drop.tick();
                detector.drop.limit(settings.ceiling);
            }
        }
    }

    /// Resets the baselines and all evidence, for a new deployment.
    pub(super) fn reset_baselines(&mut self) {
        self.baselines.clear();
        self.detectors.clear();
    }

    /// Sets the gold set that judges the following searches. If it changes, this resets the
    /// baselines and the evidence of the ranking measures, because scores by different gold sets
    /// are not comparable.
    pub(super) fn set_gold_set(&mut self, gold: &str, settings: &Detection) {
        if self.gold == gold {
            return;
        }
        let is_first = self.gold.is_empty();
        gold.clone_into(&mut self.gold);
        if is_first {
            return;
        }
        let is_user_measure = |column: usize| {
            let mut watched = settings.measures.iter();
            watched.any(|it| it.is_user_measure && column_of(it.index) == column)
        };
        self.baselines
            .retain(|(_, column), _| is_user_measure(*column));
        self.detectors
            .retain(|(_, column), _| is_user_measure(*column));
    }

    /// Drops the evidence of a retired variant.
    pub(super) fn retire(&mut self, variant: Label, retired: &[(Table, Series)]) {
        self.baselines.retain(|(it, _), _| *it != variant);
        let is_retired = |series: Series| {
            let mut of_scores = retired.iter();
            of_scores.any(|(table, it)| *it == series && Some(*table) == family::SCORE.table())
        };
        self.detectors.retain(|(series, _), _| !is_retired(*series));
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let baselines = self.baselines.values().map(|it| it.queries.len());
        let queries = size_of::<(Box<str>, QueryBaseline)>() + 40;
        baselines.sum::<usize>() * queries + self.detectors.len() * size_of::<Detector>()
    }

    /// Returns a copy for exposition: without the baselines of single queries.
    pub(super) fn summed(&self) -> Self {
        let baselines = self.baselines.iter().map(|(of, it)| (*of, it.total()));
        Self {
            baselines: baselines.collect(),
            detectors: self.detectors.clone(),
            minute: self.minute,
            gold: self.gold.clone(),
        }
    }

    /// Adds other evidence with the same numbers. A baseline is learned only if it is learned in
    /// both.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self {
            baselines,
            detectors,
            minute,
            gold,
        } = other;
        for (of, theirs) in baselines {
            let add = |mine: &mut Baseline| mine.merge(theirs);
            let mine = self.baselines.entry(*of);
            mine.and_modify(add).or_insert_with(|| theirs.clone());
        }
        for (of, theirs) in detectors {
            let add = |mine: &mut Detector| mine.merge(theirs);
            let mine = self.detectors.entry(*of);
            mine.and_modify(add).or_insert_with(|| theirs.clone());
        }
        self.minute = self.minute.max(*minute);
        if self.gold.is_empty() {
            self.gold.clone_from(gold);
        }
    }

    /// Returns saved evidence with the numbers of this process.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let mut now = Self {
            minute: self.minute,
            gold: self.gold.clone(),
            ..Self::default()
        };
        let column = |column: usize| ids.columns.get(column).copied().flatten();
        for ((variant, of), baseline) in &self.baselines {
            if let Some(column) = column(*of) {
                let variant = ids.label(Dimension::Variant, *variant);
                let add = |mine: &mut Baseline| mine.merge(baseline);
                let mine = now.baselines.entry((variant, column));
                mine.and_modify(add).or_insert_with(|| baseline.clone());
            }
        }
        for ((series, of), detector) in &self.detectors {
            let table = family::SCORE.table();
            let series = table.and_then(|table| ids.series(table, *series));
            if let (Some(series), Some(column)) = (series, column(*of)) {
                let add = |mine: &mut Detector| mine.merge(detector);
                let mine = now.detectors.entry((series, column));
                mine.and_modify(add).or_insert_with(|| detector.clone());
            }
        }
        now
    }
}

/// Returns the alarms that a detector raises now and did not report before.
fn new_alarms(
    detector: &mut Detector,
    (series, watched): (Series, &MonitoredMeasure),
    baseline: &Baseline,
    settings: &Detection,
) -> Vec<Alarm> {
    let mut alarms = Vec::new();
    for test in Test::ALL {
        let (threshold, expected) = match test {
            Test::Target => (settings.target_threshold, watched.target),
            Test::Drop => (settings.drop_threshold, baseline.mean()),
        };
        let log_evidence = detector.log_evidence(test);
        let reported = &mut detector.reported[test as usize];
        if log_evidence < threshold {
            // Hysteresis: an alarm is reported again only after the evidence fell below half of the
            // threshold.
            *reported &= log_evidence >= threshold / 2.0;
            continue;
        }
        if std::mem::replace(reported, true) {
            continue;
        }
        let sign = if watched.is_lower_better { -1.0 } else { 1.0 };
        alarms.push(Alarm {
            test,
            series,
            measure: watched.index,
            log_evidence,
            threshold,
            expected: expected.unwrap_or_default(),
            recent: detector.recent,
            worst_regressions: match test {
                Test::Target => Vec::new(),
                Test::Drop => baseline.worst_regressions(sign),
            },
        });
    }
    alarms
}
