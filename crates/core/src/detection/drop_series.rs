//! Drop test of one series: searches against the earlier searches of their query.
//!
//! A score is compared with the mean of the earlier scores of its query, and then joins that mean.
//! The global part bets that the mean of all searches fell; the local part (`local`), that some
//! queries did. The learned tolerance (`tolerance`) covers shifts that are normal, and the season
//! (`season`) those of hours of the week. There is no learning phase: a query is compared from its
//! second counted score, with a stake that grows with the number of scores in its baseline.

use serde::{Deserialize, Serialize};

use super::bets::{BETS, largest_bet, log_sum, within};
use super::burst::minute_of;
use super::comparison::{Baseline, LOCAL_WINDOWS};
use super::local::{LocalBets, LocalTest};
use super::season::{Expected, Season};
use super::threshold::CEILING_MARGIN;
use super::tolerance::{HOUR, LearnedTolerance};
use crate::number::{real, real_length};

/// Stakes of the bets on a drop of all searches: 2 to 1/64.
const STAKES: [f64; BETS] = [2.0, 1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015_625];

/// Minutes per day and per week.
const DAY: i64 = 1440;
const WEEK: i64 = 7 * DAY;

/// Minimum tolerance in the warm-up with a season.
const SEASONAL_TOLERANCE: f64 = 0.05;

/// Weight of the global part; the local part has the rest.
const GLOBAL_WEIGHT: f64 = 0.75;

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
    /// Minute of the alarm of an open incident with the series. After a week of it, the means of the hours learn
    /// no more of its drop, unless they began to be learned during the incident.
    pub alarmed: Option<i64>,
}

impl SeriesRules {
    /// Days of the warm-up after the first comparison.
    pub const WARM_UP_DAYS: i64 = 2;

    /// Days of the warm-up with a season.
    pub const SEASONAL_WARM_UP_DAYS: i64 = 9;

    /// Number of scores from which the baseline of a query is fixed.
    pub const BASELINE_SCORES: u32 = 100;

    /// Largest stake of a bet on a drop of all searches.
    pub const MAX_STAKE: f64 = STAKES[0];

    fn ceiling(&self) -> f64 {
        self.threshold + CEILING_MARGIN
    }

    /// Maximum of M.
    fn most(&self) -> f64 {
        self.ceiling().exp().min(Wealth::MAX)
    }

    /// Length of the warm-up in minutes after the first comparison.
    pub fn warm_up(&self) -> i64 {
        let days = if self.is_seasonal {
            Self::SEASONAL_WARM_UP_DAYS
        } else {
            Self::WARM_UP_DAYS
        };
        days * DAY
    }

    /// Least tolerated drop.
    pub fn least_tolerance(&self, is_warm_up: bool) -> f64 {
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

/// M of one bet. Products and sums cost less than logarithms, which only a reader needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Wealth(f64);

impl Default for Wealth {
    fn default() -> Self {
        Self(1.0)
    }
}

impl Wealth {
    /// Limits, so that no product is 0 or infinite.
    const MIN: f64 = 1e-300;
    const MAX: f64 = 1e300;

    /// Adds 1 for each minute, and multiplies by the factor of a bet.
    fn bet(&mut self, minutes: f64, factor: f64, most: f64) {
        self.0 = ((self.0 + minutes).min(most) * factor)
            .max(Self::MIN)
            .min(most);
    }
}

/// ln of the mean of M after a number of minutes.
fn log_mean(wealth: &[Wealth; BETS], minutes: f64, most: f64) -> f64 {
    let sum: f64 = wealth.iter().map(|it| (it.0 + minutes).min(most)).sum();
    (sum / real_length(BETS)).ln()
}

/// Scores of a query in one series, and the local bets on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct QueryScores {
    sum: f64,
    own_sum: f64,
    bets: LocalBets,
    count: u32,
    own_count: u32,
    last: i32,
    own_last: i32,
}

impl QueryScores {
    /// Baseline of the query. `None` without scores.
    fn baseline(&self) -> Option<Baseline> {
        (self.count > 0).then(|| Baseline {
            mean: self.sum / f64::from(self.count),
            scores: self.count,
        })
    }

    /// Baseline in the local part. `None` if the query was counted there less than `window` minutes
    /// ago, or never.
    fn own_baseline(&self, minute: i32, window: i64) -> Option<Baseline> {
        (self.own_count > 0 && self.is_apart(minute, window)).then(|| Baseline {
            mean: self.own_sum / f64::from(self.own_count),
            scores: self.own_count,
        })
    }

    fn is_repeat(&self, minute: i32, window: i64) -> bool {
        self.count > 0 && i64::from(minute) - i64::from(self.last) < window
    }

    /// Returns true if the query was counted in the local part `window` minutes ago, or never.
    fn is_apart(&self, minute: i32, window: i64) -> bool {
        self.own_count == 0 || i64::from(minute) - i64::from(self.own_last) >= window
    }

    fn learn(&mut self, score: f64, minute: i32, window: i64) {
        if self.count < SeriesRules::BASELINE_SCORES {
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

impl Part {
    /// Name: `all`, `some`.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Some => "some",
        }
    }
}

/// State of the drop test of one series, without the scores of its queries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DropSeries {
    /// M by bet, at the last comparison.
    wealth: [Wealth; BETS],
    /// Maximum of M at the last advance of the clock. 0 before the first one.
    most: f64,
    /// Minutes since the last comparison. They count at the next one.
    passed: u64,
    /// Newest minute of a search.
    minute: Option<i64>,
    /// Minute of the first comparison.
    first: Option<i64>,
    /// Start of the warm-up: the first comparison with the variation of hours that is being learned.
    warm_up_since: Option<i64>,
    tolerance: LearnedTolerance,
    local: LocalTest,
    season: Option<Box<Season>>,
    /// Tolerance at the last search.
    applied: f64,
    /// ln M of the local part at its last comparison.
    local_evidence: Option<f64>,
}

impl From<LearnedVariation> for LearnedSeries {
    fn from(variation: LearnedVariation) -> Self {
        Self {
            variation,
            season: None,
        }
    }
}

/// Variation of the hours of a series. It outlives the baselines of the series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LearnedVariation {
    tolerance: LearnedTolerance,
    warm_up_since: i64,
}

/// Variation of the hours of a series, and its season.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnedSeries {
    variation: LearnedVariation,
    season: Option<Box<Season>>,
}

impl LearnedSeries {
    /// Start of the warm-up: a minute of event time.
    pub fn warm_up_since(&self) -> i64 {
        self.variation.warm_up_since
    }

    /// The variation alone: a season is that of the baselines since the last reset.
    #[must_use]
    pub fn without_season(self) -> Self {
        Self {
            season: None,
            ..self
        }
    }

    /// Returns true if scores from 0 to 1 can have these values.
    pub fn is_possible(&self) -> bool {
        let season = self.season.as_ref();
        self.variation.tolerance.is_possible() && season.is_none_or(|it| it.is_possible())
    }
}

impl DropSeries {
    /// Season. `None` for a test without one, and before the first comparison.
    pub(crate) fn season(&self) -> Option<&Season> {
        self.season.as_deref()
    }

    /// Learned values, for the test of the same series in another worker. `None` before the first
    /// comparison.
    pub(crate) fn learned(&self) -> Option<LearnedSeries> {
        let mut season = self.season.clone();
        if let Some(season) = &mut season {
            season.clear_recent();
        }
        Some(LearnedSeries {
            variation: self.variation()?,
            season,
        })
    }

    /// States that no drop is suspected; see [`Season::clear_recent`].
    pub(crate) fn clear_recent(&mut self) {
        if let Some(season) = &mut self.season {
            season.clear_recent();
        }
    }

    /// Creates the test of a series whose values were learned before. It continues the warm-up, but a seasonal test
    /// without a season begins it again: it expects nothing of its hours yet.
    pub(crate) fn with_learned(learned: LearnedSeries, is_seasonal: bool) -> Self {
        let LearnedSeries { variation, season } = learned;
        let has_known_hours = season.is_some() || !is_seasonal;
        Self {
            tolerance: variation.tolerance,
            warm_up_since: has_known_hours.then_some(variation.warm_up_since),
            season,
            ..Self::default()
        }
    }

    /// Variation of the hours, for a test that follows this one. `None` before the first comparison.
    pub(crate) fn variation(&self) -> Option<LearnedVariation> {
        Some(LearnedVariation {
            tolerance: self.tolerance.learned(),
            warm_up_since: self.warm_up_since?,
        })
    }

    /// A test with the same clock and tolerance, and without evidence.
    pub(super) fn without_evidence(&self) -> Self {
        Self {
            minute: self.minute,
            first: self.first,
            warm_up_since: self.warm_up_since,
            tolerance: self.tolerance.learned(),
            season: self.season.clone(),
            ..Self::default()
        }
    }

    /// Adds a search or a session at an event time in milliseconds. `query` has the earlier scores
    /// of its query in this series; `None` without a gold query, for a test with a season. A late
    /// search counts in the newest minute. Returns true if the search was compared. NaN is ignored.
    pub(super) fn add(
        &mut self,
        ts: i64,
        query: Option<&mut QueryScores>,
        score: f64,
        rules: &SeriesRules,
    ) -> bool {
        let Some(score) = within(score) else {
            return false;
        };
        let minute = minute_of(ts);
        self.advance(minute, rules);
        let minute = i32::try_from(minute).unwrap_or(if minute < 0 { i32::MIN } else { i32::MAX });
        let Some(query) = query else {
            self.compare(score, None, rules);
            return true;
        };
        if query.is_repeat(minute, rules.repeat_window) {
            return false;
        }
        let window = rules.repeat_window.saturating_mul(LOCAL_WINDOWS);
        let baseline = query.baseline();
        if let Some(baseline) = baseline {
            self.compare(score, Some(baseline), rules);
            if let Some(own) = query.own_baseline(minute, window) {
                self.compare_locally(score, own, &mut query.bets, rules);
            }
        }
        query.last = minute;
        query.learn(score, minute, window);
        baseline.is_some()
    }

    /// Advances the clock, the blocks of the tolerance and the epochs to the minute of a search. A
    /// late search belongs to the newest minute.
    pub fn advance(&mut self, minute: i64, rules: &SeriesRules) {
        let minute = self.minute.map_or(minute, |newest| newest.max(minute));
        // Almost every search of a busy series is in the minute of the search before.
        let is_settled = self.most > 0.0 && self.warm_up_since.is_some_and(|since| since < minute);
        if self.minute == Some(minute) && is_settled && !self.tolerance.is_due(minute) {
            return;
        }
        let passed = minute.saturating_sub(self.minute.unwrap_or(minute));
        self.minute = Some(minute);
        if self.first.is_some() {
            self.passed = self.passed.saturating_add(passed.unsigned_abs());
        }
        let day = minute.div_euclid(DAY);
        self.most = rules.most();
        let is_quiet = {
            let (wealth, passed, most) = (&self.wealth, real(self.passed), self.most);
            move || log_mean(wealth, passed, most) < rules.threshold
        };
        self.tolerance
            .advance(minute.div_euclid(HOUR), day, is_quiet);
        self.local.advance(day);
        let is_warm_up = self
            .warm_up_since
            .is_none_or(|it| minute.saturating_sub(it) < rules.warm_up());
        self.applied = rules
            .least_tolerance(is_warm_up)
            .max(self.tolerance.tolerance());
    }

    /// Compares a score with the baseline of its query, or with its hour of the week alone: the bets
    /// of the global part. Call [`advance`](Self::advance) first. Returns the loss: the expected
    /// score minus the score. `None` if nothing is expected yet.
    pub fn compare(
        &mut self,
        score: f64,
        baseline: Option<Baseline>,
        rules: &SeriesRules,
    ) -> Option<f64> {
        let minute = self.minute?;
        let mean = baseline.map_or(0.0, |it| it.mean);
        let difference = mean - score;
        let expected = if rules.is_seasonal {
            self.expect(difference, baseline.is_some(), (minute, rules.alarmed))
        } else {
            Expected {
                difference: 0.0,
                trust: 1.0,
                tolerance: 0.0,
                is_known: true,
            }
        };
        let trust = baseline.map_or(1.0, Baseline::trust) * expected.trust;
        let difference = difference - expected.difference;
        if expected.is_known {
            self.tolerance.add(difference);
        }
        self.first.get_or_insert(minute);
        self.warm_up_since.get_or_insert(minute);
        let tolerance = self.applied.max(expected.tolerance);
        let limit = largest_bet(1.0 - mean + expected.difference + tolerance);
        let minutes = real(std::mem::take(&mut self.passed));
        for (wealth, stake) in self.wealth.iter_mut().zip(STAKES) {
            let bet = (stake * trust).min(limit);
            wealth.bet(minutes, 1.0 + bet * (difference - tolerance), self.most);
        }
        (trust > 0.0).then_some(difference)
    }

    /// Compares a score with the baseline of its query in the local part. Without effect if the local
    /// part is not used.
    pub fn compare_locally(
        &mut self,
        score: f64,
        own: Baseline,
        bets: &mut LocalBets,
        rules: &SeriesRules,
    ) {
        if rules.has_local && !rules.is_seasonal {
            let ceiling = rules.ceiling() + CEILING_MARGIN;
            let evidence = self.local.add(bets, own, score, self.applied, ceiling);
            self.local_evidence = Some(evidence);
        }
    }

    /// Returns the expected difference of an hour of the week, and adds this difference to it, unless it is part of
    /// an incident that is older than a week.
    fn expect(
        &mut self,
        difference: f64,
        has_query: bool,
        (minute, alarmed): (i64, Option<i64>),
    ) -> Expected {
        let season = self.season.get_or_insert_default();
        let hour = minute.div_euclid(HOUR);
        let expected = season.expected(hour, has_query);
        // In the first week of an incident they do: what recurs each week, such as a weekend, is not a drop.
        let is_in_incident = alarmed.is_some_and(|alarmed| {
            let is_known = self.warm_up_since.is_some_and(|began| began < alarmed);
            is_known && minute.saturating_sub(alarmed) >= WEEK
        });
        if is_in_incident {
            return expected;
        }
        let is_old = self
            .first
            .is_some_and(|first| minute.saturating_sub(first) >= DAY);
        season.add(hour, difference, has_query, is_old);
        expected
    }

    /// Log evidence of a drop at the last comparison. 0 before the first one.
    pub fn log_evidence(&self) -> f64 {
        let global = self.global_evidence();
        match self.local_evidence {
            None => global,
            Some(local) => log_sum(&[
                GLOBAL_WEIGHT.ln() + global,
                (1.0 - GLOBAL_WEIGHT).ln() + local,
            ]),
        }
    }

    /// Log evidence if no query dropped and the global part has no evidence: that of the two active
    /// epochs of the local part, or 0.
    pub fn evidence_at_rest(&self) -> f64 {
        let is_local = self.local_evidence.is_some();
        let rest = (1.0 - GLOBAL_WEIGHT) * LocalTest::MINUTES;
        if is_local { rest.ln() } else { 0.0 }
    }

    /// Upper bound of the log evidence, without an exponential.
    pub fn highest_log(&self) -> f64 {
        let local = self.local_evidence.unwrap_or(f64::NEG_INFINITY);
        let most = self.wealth.iter().map(|it| it.0).fold(0.0, f64::max);
        most.ln().max(local)
    }

    /// Returns true if any search was compared.
    pub fn has_comparisons(&self) -> bool {
        self.first.is_some()
    }

    /// Minute of the first comparison. `None` before it.
    pub fn first_minute(&self) -> Option<i64> {
        self.first
    }

    /// Newest minute of a search. `None` without searches.
    pub fn minute(&self) -> Option<i64> {
        self.minute
    }

    /// Minute of the end of the warm-up. `None` before the first comparison.
    pub fn warm_up_until(&self, rules: &SeriesRules) -> Option<i64> {
        self.first?;
        Some(self.warm_up_since?.saturating_add(rules.warm_up()))
    }

    /// Merges the test of another part of the traffic, for exposition: the values of M are summed.
    /// Clock, tolerance and season are those of the part with the newest search, and the warm-up is
    /// that of the part that began last.
    pub fn merge(&mut self, other: &Self) {
        if self.minute.is_none() {
            self.clone_from(other);
            return;
        }
        let warm_up_since = self.warm_up_since.max(other.warm_up_since);
        let mut wealth = self.wealth;
        let mut local_evidence = self.local_evidence;
        let first = match (self.first, other.first) {
            (Some(mine), Some(theirs)) => {
                for (mine, theirs) in wealth.iter_mut().zip(other.wealth) {
                    mine.0 += theirs.0;
                }
                // A part without local evidence has its global evidence in both places.
                if local_evidence.is_some() || other.local_evidence.is_some() {
                    local_evidence = Some(log_sum(&[
                        local_evidence.unwrap_or(self.global_evidence()),
                        other.local_evidence.unwrap_or(other.global_evidence()),
                    ]));
                }
                Some(mine.min(theirs))
            }
            (None, Some(_)) => {
                wealth = other.wealth;
                local_evidence = other.local_evidence;
                other.first
            }
            (mine, None) => mine,
        };
        if other.minute > self.minute {
            self.clone_from(other);
        }
        self.wealth = wealth;
        self.local_evidence = local_evidence;
        self.first = first;
        self.warm_up_since = warm_up_since;
    }

    /// Bytes held beside the value itself.
    pub fn bytes(&self) -> usize {
        self.season.as_ref().map_or(0, |it| it.bytes())
    }

    /// Log evidence of the global part at the last comparison.
    pub fn global_evidence(&self) -> f64 {
        if self.first.is_some() {
            log_mean(&self.wealth, 0.0, f64::INFINITY)
        } else {
            0.0
        }
    }

    /// Log evidence of the local part at the last local comparison. `None` before the first one.
    pub fn local_evidence(&self) -> Option<f64> {
        self.local_evidence
    }

    /// Part of the queries that has the larger share of the evidence.
    pub fn part(&self) -> Part {
        let global = GLOBAL_WEIGHT.ln() + self.global_evidence();
        let local = self
            .local_evidence
            .map(|it| (1.0 - GLOBAL_WEIGHT).ln() + it);
        match local {
            Some(local) if local > global => Part::Some,
            _ => Part::All,
        }
    }

    /// Tolerated drop at the last search.
    pub fn tolerance(&self) -> f64 {
        self.applied
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
    /// All classes.
    pub const ALL: [Self; 3] = [Self::Worse, Self::MoreUnjudged, Self::Undecided];

    /// Name: `worse`, `more_unjudged`, `undecided`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::MoreUnjudged => "more_unjudged",
            Self::Undecided => "undecided",
        }
    }

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
