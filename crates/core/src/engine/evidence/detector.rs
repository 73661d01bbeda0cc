//! Detector of one series and measure: its sequential tests, and the alarms that they raise.
//!
//! The module knows scores and baselines, but not which search or gold set they come from.

use serde::{Deserialize, Serialize};

use super::worker::{HOURS, QueryBaselines};
use crate::detection::{
    Baseline, Beginning, BlockTests, Change, Compared, Comparison, DropClass, DropExtent,
    DropSeries, LearnedSeries, Losses, Part, SeriesRules, Unjudged, UnjudgedTests, minute_of,
};
use crate::engine::series::Series;
use crate::engine::settings::{Detection, MonitoredMeasure};
use crate::number::real;
use crate::time::EventTime;

/// Length in searches of the moving means of a series. The means are for display only.
const RECENT_SEARCHES: f64 = 100.0;

/// Number of queries in the list of the largest regressions.
const WORST_REGRESSIONS: usize = 5;

/// Share of the evidence for an alarm below which the alarm can be reported again.
const HYSTERESIS: f64 = 0.5;

/// Number of scores before a drop from which on older ones lose weight.
const MAX_BEFORE: u64 = 20_000;

/// Tests and statistics of one series and measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detector {
    target: BlockTests,
    drop: DropSeries,
    /// Tests of the upper bound and of the share of judged results, while a drop is suspected and results
    /// are unjudged.
    unjudged: Option<Box<UnjudgedTests>>,
    /// Searches since the estimated start of a drop.
    change: Change,
    /// Compared scores before the estimated start of a drop, and those since then.
    before: Losses,
    segment: Losses,
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
        let weight = real(self.values).min(RECENT_SEARCHES).recip();
        self.mean += weight * (value - self.mean);
    }

    /// Mean of two means, weighted by the numbers of their values.
    fn merge(&mut self, other: Self) {
        let all = real(self.values + other.values);
        if other.values > 0 {
            self.mean += (other.mean - self.mean) * real(other.values) / all;
        }
        self.values += other.values;
    }
}

/// Score of a search, with the baselines that it is compared with.
#[derive(Debug)]
pub(super) struct ComparedScore<'a, 'q> {
    pub(super) ts: EventTime,
    pub(super) value: f64,
    /// Difference from the upper bound, and share of unjudged results.
    pub(super) unjudged: Unjudged,
    /// Query with its baselines. `None` for a score that is not compared with a query.
    pub(super) query: Option<&'a mut Compared<'q>>,
    /// True for a session without a gold query, which is compared with its hour of the week.
    pub(super) has_no_query: bool,
}

impl Detector {
    /// Creates the detector of a series whose variation is known. A seasonal one without the means of its hours
    /// begins its warm-up again.
    pub(super) fn with_learned(learned: LearnedSeries, is_seasonal: bool) -> Self {
        Self {
            drop: DropSeries::with_learned(learned, is_seasonal),
            ..Self::default()
        }
    }

    /// Adds the score of a search. Returns true if it closed a block of the target test, and true if
    /// the score was compared. `is_whole` is true for the series of all searches, which has the local
    /// part of the test.
    pub(super) fn add(
        &mut self,
        score: &mut ComparedScore<'_, '_>,
        watched: &MonitoredMeasure,
        (rules, settings): (&SeriesRules, &Detection),
        is_whole: bool,
    ) -> (bool, bool) {
        let (ts, value) = (score.ts, score.value);
        let (minute, upwards) = (minute_of(ts.0), watched.upwards(value));
        self.recent.add(value);
        let pivot = watched.upwards(watched.target.unwrap_or(0.5));
        let block = settings.burst.block();
        let has_closed = self.target.add(ts.0, upwards, block, pivot);
        self.compare_unjudged(score, (minute, upwards), watched, rules);
        self.drop.advance(minute, rules);
        let turned = |it: Baseline| Baseline {
            mean: watched.upwards(it.mean),
            ..it
        };
        let baseline = score.query.as_ref().map(|it| it.comparison.baseline);
        let is_compared = baseline.is_some() || score.has_no_query && rules.is_seasonal;
        if !is_compared {
            return (has_closed, false);
        }
        if let Some(loss) = self.drop.compare(upwards, baseline.map(turned), rules) {
            let expected = match baseline {
                Some(baseline) if !rules.is_seasonal => baseline.mean,
                _ => watched.upwards((upwards + loss).clamp(0.0, 1.0)),
            };
            self.compared.add(value);
            self.expected.add(expected);
            let from_before = match (&score.query, self.change.minute()) {
                (Some(query), Some(since)) if !rules.is_seasonal => {
                    turned(query.before(since)).mean - upwards
                }
                _ => loss,
            };
            self.segment.add(value);
            self.change
                .add(ts.0, (loss, from_before), settings.tolerance);
            if self.change.minute().is_none() {
                self.drop.clear_recent();
                self.before.merge(&std::mem::take(&mut self.segment));
                if self.before.searches > MAX_BEFORE {
                    self.before.halve();
                }
            }
        }
        if is_whole
            && let Some(query) = &mut score.query
            && rules.has_local
            && let Some(own) = query.comparison.own
        {
            let own = turned(own);
            self.drop.compare_locally(upwards, own, query.bets(), rules);
        }
        (has_closed, true)
    }

    /// Compares the upper bound and the share of judged results, before the score itself.
    fn compare_unjudged(
        &mut self,
        score: &ComparedScore<'_, '_>,
        (minute, upwards): (i64, f64),
        watched: &MonitoredMeasure,
        rules: &SeriesRules,
    ) {
        let has_unjudged = |it: &Compared<'_>| it.comparison.unjudged != Unjudged::default();
        let is_open = score.unjudged != Unjudged::default()
            || score.query.as_deref().is_some_and(has_unjudged);
        if self.unjudged.is_none() && !is_open {
            return;
        }
        // The cause matters once a drop is suspected. Tests may begin at any time that does not depend on
        // the future.
        let rest = self.drop.evidence_at_rest();
        let is_suspected = self.drop.highest_log() >= half_way(rest, rules.threshold);
        let Some(tests) = &mut self.unjudged else {
            if is_suspected {
                self.unjudged = Some(Box::new(UnjudgedTests::beside(&self.drop)));
            }
            return;
        };
        if !is_suspected {
            self.unjudged = None;
            return;
        }
        let turned = |it: Unjudged| Unjudged {
            difference: if watched.is_lower_better {
                -it.difference
            } else {
                it.difference
            },
            ..it
        };
        let baseline = score.query.as_ref().map(|query| {
            let Comparison {
                baseline, unjudged, ..
            } = query.comparison;
            let mean = watched.upwards(baseline.mean);
            (Baseline { mean, ..baseline }, turned(unjudged))
        });
        tests.compare(minute, (upwards, turned(score.unjudged)), baseline, rules);
    }

    /// Cause of a drop that has an alarm: worse results, or more unjudged ones. `None` without an alarm.
    pub fn class(&self, settings: &Detection) -> Option<DropClass> {
        let threshold = settings.drop_threshold;
        let has_alarm = self.drop_log_evidence()? >= threshold;
        // Without unjudged results, the upper bound is the score.
        has_alarm.then(|| match &self.unjudged {
            Some(tests) => tests.class(threshold),
            None => DropClass::Worse,
        })
    }

    /// Log evidence (ln) of a drop of the upper bound and of the share of judged results, since a drop is
    /// suspected. `None` without unjudged results.
    pub fn unjudged_log_evidence(&self) -> Option<[f64; 2]> {
        Some(self.unjudged.as_ref()?.log_evidence())
    }

    /// First minute of the searches that may be part of a drop. `None` while the scores are not below
    /// the baseline.
    pub(super) fn suspected_since(&self) -> Option<i64> {
        self.change.minute()
    }

    /// Scores before the estimated start of a drop.
    pub(super) fn before(&self) -> Losses {
        self.before
    }

    /// Estimated start of a drop, with the losses since then. `None` while there is no drop.
    pub(super) fn drop_so_far(&self) -> Option<(Beginning, Losses)> {
        let beginning = self.change.beginning()?;
        Some((beginning, Losses::of(self.change.sums(beginning))))
    }

    /// Starts the drop test again, after a drop has ended. What was learned of the hours is kept. `before` are the
    /// scores before the drop.
    pub(super) fn restart_drop(&mut self, before: Losses) {
        let learned = self.drop.learned();
        self.drop = learned.map_or_else(DropSeries::default, |learned| {
            DropSeries::with_learned(learned, false)
        });
        self.before = before;
        self.unjudged = None;
        self.change = Change::default();
        self.segment = Losses::default();
        self.reported[Test::Drop as usize] = false;
    }

    /// Starts the test of the target and the bounds again, with a deployment.
    pub(super) fn restart_target(&mut self) {
        self.target = BlockTests::default();
        self.reported[Test::Target as usize] = false;
    }

    /// Lower and upper anytime-valid confidence bound of the mean of the closed blocks. `threshold` is
    /// ln(R/alpha) for bounds that hold over R workers with probability 1 - alpha. `None` before the first
    /// block is closed.
    pub fn bounds(&self, threshold: f64, is_lower_better: bool) -> Option<[f64; 2]> {
        let [lower, upper] = self.target.bounds(threshold)?;
        Some(if is_lower_better {
            [1.0 - upper, 1.0 - lower]
        } else {
            [lower, upper]
        })
    }

    /// Number of searches behind the bounds.
    pub fn bounded_searches(&self) -> u64 {
        self.target.searches()
    }

    /// Returns true if any search was compared with a baseline.
    pub fn has_comparisons(&self) -> bool {
        self.drop.has_comparisons()
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
        let rest = self.drop.evidence_at_rest();
        if self.drop_log_evidence()? < half_way(rest, settings.drop_threshold) {
            return None;
        }
        self.change.extent(settings.target_threshold_of_worker())
    }

    /// Drop test of the series.
    pub fn drop_series(&self) -> &DropSeries {
        &self.drop
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let unjudged = self.unjudged.as_ref().map_or(0, |it| it.bytes());
        size_of::<Self>() + self.drop.bytes() + self.change.bytes() + unjudged
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.target.merge(&other.target);
        self.merge_unjudged(other);
        self.drop.merge(&other.drop);
        self.change.merge(&other.change);
        self.before.merge(&other.before);
        self.segment.merge(&other.segment);
        self.recent.merge(other.recent);
        self.compared.merge(other.compared);
        self.expected.merge(other.expected);
        for (mine, theirs) in self.reported.iter_mut().zip(other.reported) {
            *mine |= theirs;
        }
    }

    /// Merges the tests of unjudged results. A part that suspects no drop has no evidence.
    fn merge_unjudged(&mut self, other: &Self) {
        match (&mut self.unjudged, &other.unjudged) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, theirs) => mine.clone_from(theirs),
            (Some(_), None) => {}
        }
    }
}

impl MonitoredMeasure {
    /// Score for which higher is better.
    pub(in crate::engine) fn upwards(&self, score: f64) -> f64 {
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
    /// Series of [`SCORE`](crate::engine::family::SCORE).
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
    /// Part of the queries that dropped. `None` for a missed target.
    pub part: Option<Part>,
    /// Cause of the drop, as far as it is known. `None` for a missed target.
    pub class: Option<DropClass>,
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

impl Detector {
    /// Returns the alarm about a missed target that a closed block raises, unless it was reported.
    pub(super) fn target_alarm(
        &mut self,
        (series, watched): (Series, &MonitoredMeasure),
        settings: &Detection,
    ) -> Option<Alarm> {
        let target = watched.target?;
        // A worker has no access to the evidence of the others. At this threshold, the mean of all
        // e-values is at least 1/alpha for any evidence of the others.
        let threshold = settings.target_threshold_of_worker();
        let log_evidence = self.target.log_sum(watched.upwards(target));
        self.is_new(Test::Target, log_evidence, threshold, 0.0)
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
                part: None,
                class: None,
            })
    }

    /// Returns the alarm about a drop that a comparison raises, unless it was reported. It names no
    /// query yet.
    pub(super) fn drop_alarm(
        &mut self,
        (series, watched): (Series, &MonitoredMeasure),
        settings: &Detection,
    ) -> Option<Alarm> {
        let threshold = settings.drop_threshold;
        // The bound saves nine exponentials for almost every search.
        let highest = self.drop.highest_log();
        let rest = self.drop.evidence_at_rest();
        let log_evidence = if highest < half_way(rest, threshold) {
            highest
        } else {
            self.drop.log_evidence()
        };
        self.is_new(Test::Drop, log_evidence, threshold, rest)
            .then(|| self.alarm_of_drop((series, watched), log_evidence, settings))
    }

    /// Alarm about a drop that the workers of a fleet show together. `None` while this worker has no
    /// estimate of its start.
    pub(super) fn fleet_alarm(
        &mut self,
        of_series: (Series, &MonitoredMeasure),
        log_evidence: f64,
        settings: &Detection,
    ) -> Option<Alarm> {
        self.change.minute()?;
        self.reported[Test::Drop as usize] = true;
        let alarm = self.alarm_of_drop(of_series, log_evidence, settings);
        // Its own evidence is below the threshold, so nothing is proven about the cause.
        let class = self.unjudged.as_ref().map(|_| DropClass::Undecided);
        Some(Alarm {
            class: Some(class.unwrap_or(DropClass::Worse)),
            ..alarm
        })
    }

    fn alarm_of_drop(
        &self,
        (series, watched): (Series, &MonitoredMeasure),
        log_evidence: f64,
        settings: &Detection,
    ) -> Alarm {
        Alarm {
            test: Test::Drop,
            series,
            measure: watched.index,
            log_evidence,
            threshold: settings.drop_threshold,
            expected: self.expected.mean,
            recent: self.compared.mean,
            worst_regressions: Vec::new(),
            drop: self.change.extent(settings.target_threshold_of_worker()),
            part: Some(self.drop.part()),
            class: self.class(settings),
        }
    }

    /// Returns true if the evidence has reached the threshold and this was not reported. An alarm is
    /// reported again only after the evidence fell half of the way to `rest`, its value without a
    /// regression.
    fn is_new(&mut self, test: Test, log_evidence: f64, threshold: f64, rest: f64) -> bool {
        let reported = &mut self.reported[test as usize];
        if log_evidence < threshold {
            *reported &= log_evidence >= half_way(rest, threshold);
            return false;
        }
        !std::mem::replace(reported, true)
    }
}

/// Log evidence half of the way from its value without a regression to its threshold.
fn half_way(rest: f64, threshold: f64) -> f64 {
    rest + HYSTERESIS * (threshold - rest)
}

/// Returns the queries with the largest regressions against their baseline, or, for a drop in some
/// queries, those with the largest local evidence.
pub(super) fn worst_regressions(
    baselines: &QueryBaselines,
    watched: &MonitoredMeasure,
    part: Option<Part>,
) -> Vec<RegressedQuery> {
    let loss = |it: &RegressedQuery| watched.upwards(it.baseline) - watched.upwards(it.recent);
    let queries = baselines
        .queries()
        .filter(|(query, _)| !HOURS.contains(&&***query));
    let regressed = queries.filter_map(|(query, it)| {
        let regressed = RegressedQuery {
            query: query.clone(),
            baseline: it.mean()?,
            recent: it.recent()?,
        };
        let rank = match part {
            Some(Part::Some) => it.evidence(),
            Some(Part::All) | None => loss(&regressed),
        };
        Some((rank, regressed))
    });
    let mut regressed: Vec<(f64, RegressedQuery)> =
        regressed.filter(|(_, it)| loss(it) > 0.0).collect();
    regressed.sort_by(|(a, one), (b, other)| {
        let by_rank = b.total_cmp(a);
        by_rank.then_with(|| one.query.cmp(&other.query))
    });
    regressed.truncate(WORST_REGRESSIONS);
    regressed.into_iter().map(|(_, it)| it).collect()
}
