//! Drop test of one series: searches against the earlier searches of their query.
//!
//! A score is compared with the mean of the earlier scores of its query, and then joins that mean.
//! The global part bets that the mean of all searches fell; the local part (`local`), that some
//! queries did. The learned tolerance (`tolerance`) covers shifts that are normal, and the season
//! (`season`) those of hours of the week. There is no learning phase: a query is compared from its
//! second counted score, with a stake that grows with the number of scores in its baseline.

use serde::{Deserialize, Serialize};

use super::bets::{BETS, largest_bet, log_mean, log_sum, within};
use super::burst::minute_of;
use super::local::{LocalBets, LocalTest};
use super::season::{Expected, Season};
use super::threshold::CEILING_MARGIN;
use super::tolerance::LearnedTolerance;
use crate::number::real;

/// Number of scores from which the baseline of a query is fixed.
const MAX_SCORES: u32 = 100;

/// Stakes of the bets on a drop of all searches: 2 to 1/64.
const STAKES: [f64; BETS] = [2.0, 1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015_625];

/// Minutes per hour and per day.
const HOUR: i64 = 60;
const DAY: i64 = 1440;

/// Minutes of the warm-up after the first comparison, without and with a season.
const WARM_UP: i64 = 2 * DAY;
const SEASONAL_WARM_UP: i64 = 9 * DAY;

/// Minimum tolerance in the warm-up with a season.
const SEASONAL_TOLERANCE: f64 = 0.05;

/// Weight of the global part; the local part has the rest.
const GLOBAL_WEIGHT: f64 = 0.75;

/// Number of repeat windows between two local comparisons of a query.
const LOCAL_WINDOWS: i64 = 2;

/// Settings of the drop test of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesRules {
    /// ln A: log evidence of an alarm.
    pub threshold: f64,
    /// Tolerated drop.
    pub tolerance: f64,
    /// Minimum tolerated drop in the warm-up.
    pub warm_up_tolerance: f64,
    /// Minutes in which a query counts once.
    pub repeat_window: i64,
    /// True if the local part is used. Without effect with a season.
    pub has_local: bool,
    /// True if the means of hours of the week are expected to differ.
    pub is_seasonal: bool,
}

impl SeriesRules {
    fn ceiling(&self) -> f64 {
        self.threshold + CEILING_MARGIN
    }

    /// Length of the warm-up in minutes after the first comparison.
    pub fn warm_up(&self) -> i64 {
        if self.is_seasonal {
            SEASONAL_WARM_UP
        } else {
            WARM_UP
        }
    }

    fn least_tolerance(&self, is_warm_up: bool) -> f64 {
        match (is_warm_up, self.is_seasonal) {
            (false, _) => self.tolerance,
            (true, false) => self.tolerance.max(self.warm_up_tolerance),
            (true, true) => self
                .tolerance
                .max(self.warm_up_tolerance)
                .max(SEASONAL_TOLERANCE),
        }
    }
}

/// Scores of a query in one series, and the local bets on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryScores {
    sum: f64,
    own_sum: f64,
    bets: LocalBets,
    count: u32,
    own_count: u32,
    last: i32,
    own_last: i32,
}

impl QueryScores {
    /// Baseline mean of the query. `None` without scores.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    fn is_repeat(&self, minute: i32, window: i64) -> bool {
        self.count > 0 && i64::from(minute) - i64::from(self.last) < window
    }

    /// Returns true if the query was counted in the local part `window` minutes ago, or never.
    fn is_apart(&self, minute: i32, window: i64) -> bool {
        self.own_count == 0 || i64::from(minute) - i64::from(self.own_last) >= window
    }

    fn learn(&mut self, score: f64, minute: i32, window: i64) {
        if self.count < MAX_SCORES {
            self.count += 1;
            self.sum += score;
        }
        if self.is_apart(minute, window) {
            self.own_count = self.own_count.saturating_add(1);
            self.own_sum += score;
            self.own_last = minute;
        }
    }
}

/// Part of the queries in which the scores fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// All queries.
    All,
    /// Some queries.
    Some,
}

/// State of the drop test of one series, without the scores of its queries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DropSeries {
    /// ln M by bet.
    logs: [f64; BETS],
    /// Newest minute of a search.
    minute: Option<i64>,
    /// Minute of the first comparison.
    first: Option<i64>,
    tolerance: LearnedTolerance,
    local: LocalTest,
    season: Option<Box<Season>>,
    /// Tolerance at the last search.
    applied: f64,
    /// ln M of both parts at the last comparison.
    global_evidence: f64,
    local_evidence: Option<f64>,
}

impl DropSeries {
    /// Adds a search or a session at an event time in milliseconds. `query` has the earlier scores
    /// of its query in this series; `None` without a gold query, for a test with a season. A late
    /// search counts in the newest minute. Returns true if the search was compared. NaN is ignored.
    pub fn add(
        &mut self,
        ts: i64,
        query: Option<&mut QueryScores>,
        score: f64,
        rules: &SeriesRules,
    ) -> bool {
        let Some(score) = within(score) else {
            return false;
        };
        let own = minute_of(ts);
        let minute = self.minute.map_or(own, |newest| newest.max(own));
        self.advance(minute, rules);
        let own = i32::try_from(own).unwrap_or(if own < 0 { i32::MIN } else { i32::MAX });
        let Some(query) = query else {
            self.compare(score, None, minute, rules);
            return true;
        };
        if query.is_repeat(own, rules.repeat_window) {
            return false;
        }
        let window = rules.repeat_window.saturating_mul(LOCAL_WINDOWS);
        let is_compared = query.count > 0;
        if is_compared {
            self.compare(score, Some(&*query), minute, rules);
            if rules.has_local && !rules.is_seasonal && query.is_apart(own, window) {
                let ceiling = rules.ceiling() + CEILING_MARGIN;
                let own = (query.own_sum / f64::from(query.own_count), query.own_count);
                let evidence = self
                    .local
                    .add(&mut query.bets, own, score, self.applied, ceiling);
                self.local_evidence = Some(evidence);
            }
        }
        query.last = own;
        query.learn(score, own, window);
        is_compared
    }

    /// Advances the clock, the blocks of the tolerance and the epochs.
    fn advance(&mut self, minute: i64, rules: &SeriesRules) {
        let passed = minute.saturating_sub(self.minute.unwrap_or(minute));
        self.minute = Some(minute);
        if self.first.is_some() && passed > 0 {
            let added = real(passed.unsigned_abs()).ln();
            let ceiling = rules.ceiling();
            for log in &mut self.logs {
                *log = (log.max(added) + (-(*log - added).abs()).exp().ln_1p()).min(ceiling);
            }
        }
        let (logs, day) = (&self.logs, minute.div_euclid(DAY));
        let is_quiet = || log_mean(logs) < rules.threshold;
        self.tolerance
            .advance(minute.div_euclid(HOUR), day, is_quiet);
        self.local.advance(day);
        let is_warm_up = self.first.is_none_or(|it| minute - it < rules.warm_up());
        self.applied = rules
            .least_tolerance(is_warm_up)
            .max(self.tolerance.tolerance());
    }

    /// Compares a score with the baseline of its query: the global bets.
    fn compare(
        &mut self,
        score: f64,
        query: Option<&QueryScores>,
        minute: i64,
        rules: &SeriesRules,
    ) {
        let baseline = query.and_then(QueryScores::mean).unwrap_or(0.0);
        let count = query.map(|query| f64::from(query.count));
        let difference = baseline - score;
        let expected = if rules.is_seasonal {
            self.expect(difference, query.is_some(), minute)
        } else {
            Expected {
                difference: 0.0,
                trust: 1.0,
                tolerance: 0.0,
                is_known: true,
            }
        };
        let trust = count.map_or(1.0, |count| count / (count + 1.0)) * expected.trust;
        let difference = difference - expected.difference;
        if expected.is_known {
            self.tolerance.add(difference);
        }
        self.first.get_or_insert(minute);
        let tolerance = self.applied.max(expected.tolerance);
        let limit = largest_bet(1.0 - baseline + expected.difference + tolerance);
        let ceiling = rules.ceiling();
        for (log, stake) in self.logs.iter_mut().zip(STAKES) {
            let bet = (stake * trust).min(limit);
            *log = (*log + (bet * (difference - tolerance)).ln_1p()).min(ceiling);
        }
        self.global_evidence = log_mean(&self.logs);
    }

    /// Returns the expected difference of an hour of the week, and adds this difference to it.
    fn expect(&mut self, difference: f64, has_query: bool, minute: i64) -> Expected {
        let season = self.season.get_or_insert_default();
        let hour = minute.div_euclid(HOUR);
        let expected = season.expected(hour, has_query);
        let is_old = self.first.is_some_and(|first| minute - first >= DAY);
        season.add(hour, difference, !has_query || is_old);
        expected
    }

    /// Log evidence of a drop at the last comparison. 0 before the first one.
    pub fn log_evidence(&self) -> f64 {
        match self.local_evidence {
            None => self.global_evidence,
            Some(local) => log_sum(&[
                GLOBAL_WEIGHT.ln() + self.global_evidence,
                (1.0 - GLOBAL_WEIGHT).ln() + local,
            ]),
        }
    }

    /// Log evidence of the global part at the last comparison.
    pub fn global_evidence(&self) -> f64 {
        self.global_evidence
    }

    /// Log evidence of the local part at the last local comparison. `None` before the first one.
    pub fn local_evidence(&self) -> Option<f64> {
        self.local_evidence
    }

    /// Part of the queries that has the larger share of the evidence.
    pub fn part(&self) -> Part {
        let global = GLOBAL_WEIGHT.ln() + self.global_evidence;
        let local = self
            .local_evidence
            .map(|it| (1.0 - GLOBAL_WEIGHT).ln() + it);
        match local {
            Some(local) if local > global => Part::Some,
            _ => Part::All,
        }
    }
}

/// Class of a drop, by the bounds of its unjudged results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropClass {
    /// The upper bound of the score fell as well: the quality fell for any value of the unjudged
    /// results.
    Worse,
    /// The share of judged results fell, and the upper bound did not.
    MoreUnjudged,
    /// Neither fell.
    Undecided,
}

impl DropClass {
    /// Class of a drop. `high` and `judged` are true if the upper bound of the score and the share
    /// of judged results have an alarm.
    pub fn of(high: bool, judged: bool) -> Self {
        match (high, judged) {
            (true, _) => Self::Worse,
            (false, true) => Self::MoreUnjudged,
            (false, false) => Self::Undecided,
        }
    }
}
