//! Recovery: anytime-valid evidence that a drop has ended.
//!
//! Each search is compared with the frozen reference of its query. Bets multiply their wealth by
//! 1 + λ(t − loss), so under "the mean loss is at least t" no wealth grows in expectation. Every minute
//! of event time a new test starts with a wealth of 1. M is the sum of their wealth (a Shiryaev-Roberts
//! e-detector): while the drop lasts, the mean time until M reaches A is at least A minutes.

use serde::{Deserialize, Serialize};

use super::bets::{largest_bet, log_sum};
use super::burst::minute_of;
use super::losses::Losses;
use super::threshold::CEILING_MARGIN;
use crate::number::real;

/// Stakes of the bets.
const STAKES: [f64; 4] = [2.0, 0.5, 0.125, 0.03125];

/// ln of the number of bets.
const LN_BETS: f64 = 2.0 * std::f64::consts::LN_2;

/// Log evidence of a recovery: ln of the minutes in 90 days. A lasting drop is taken for recovered at
/// most once a quarter.
const RECOVERY_THRESHOLD: f64 = 11.772_207_741_480_25;

/// Share of the loss at the alarm below which the loss must have fallen, if this is more than the
/// tolerated one.
const REST: f64 = 0.5;

/// Time before the newest search from which on a search is not compared, in minutes. While a backlog is read,
/// one partition can be far behind the others: its searches of the drop say nothing about the present, and no
/// test begins after them before the next minute.
const MAX_LATE: i64 = 15;

/// Test for the end of a drop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recovery {
    /// ln M by bet.
    logs: [f64; STAKES.len()],
    minute: Option<i64>,
    /// Cumulative sum of the gains, 0 while the drop lasts.
    cumulative: f64,
    /// Event time since which it is above 0.
    since: Option<i64>,
    losses: Losses,
}

impl Recovery {
    /// Loss that a recovery excludes, by the tolerated loss and the loss at the alarm.
    pub(crate) fn excluded_loss(tolerance: f64, at_alarm: f64) -> f64 {
        tolerance.max(REST * at_alarm)
    }

    /// Estimated start of the recovery in milliseconds of event time, without a proof of it. `None` while
    /// the drop lasts.
    pub(crate) fn since(&self) -> Option<i64> {
        self.since
    }

    /// Adds the loss of a search at an event time in milliseconds. `expected` is its reference, where
    /// higher scores are better; `excluded` the loss that a recovery excludes.
    pub(crate) fn add(&mut self, ts: i64, loss: f64, (expected, excluded): (f64, f64)) {
        if loss.is_nan() {
            return;
        }
        let minute = minute_of(ts);
        let newest = self.minute.map_or(minute, |newest| newest.max(minute));
        if newest.saturating_sub(minute) > MAX_LATE {
            return;
        }
        let passed = newest.saturating_sub(self.minute.unwrap_or(newest));
        self.minute = Some(newest);
        if passed > 0 {
            let added = real(passed.unsigned_abs()).ln();
            let ceiling = RECOVERY_THRESHOLD + CEILING_MARGIN;
            for log in &mut self.logs {
                *log = log_sum(&[*log, added]).min(ceiling);
            }
        }
        let limit = largest_bet(expected - excluded);
        for (log, stake) in self.logs.iter_mut().zip(STAKES) {
            *log += (stake.min(limit) * (excluded - loss)).max(-0.9).ln_1p();
            *log = log.min(RECOVERY_THRESHOLD + CEILING_MARGIN);
        }
        self.cumulative += excluded - loss;
        if self.cumulative <= 0.0 {
            (self.cumulative, self.since, self.losses) = (0.0, None, Losses::default());
            return;
        }
        self.since.get_or_insert(ts);
        self.losses.add(loss);
    }

    /// Returns true if a test can have this state.
    pub(crate) fn is_possible(&self) -> bool {
        let is_log = |log: &f64| (-1e6..=RECOVERY_THRESHOLD + CEILING_MARGIN).contains(log);
        self.logs.iter().all(is_log)
            && (0.0..=1e12).contains(&self.cumulative)
            && self.losses.is_possible()
    }

    /// Log evidence that the loss is below the excluded one.
    pub(crate) fn log_evidence(&self) -> f64 {
        log_sum(&self.logs) - LN_BETS
    }

    /// Estimated start of the recovery in milliseconds of event time, if the evidence is sufficient and
    /// the mean loss since then is not above `tolerance` (lower bound of its interval). `parts` is the
    /// number of parts that are merged.
    pub(crate) fn recovered_since(&self, tolerance: f64, parts: u64) -> Option<i64> {
        let is_sufficient = self.log_evidence() >= RECOVERY_THRESHOLD + real(parts.max(1)).ln();
        let rest = self.losses.interval();
        let is_within = rest.is_some_and(|rest| rest.lower <= tolerance);
        self.since.filter(|_| is_sufficient && is_within)
    }

    /// Merges the test of another part of the traffic: the values of M are summed.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.minute.is_none() || other.minute.is_none() {
            if self.minute.is_none() {
                self.clone_from(other);
            }
            return;
        }
        for (log, more) in self.logs.iter_mut().zip(other.logs) {
            *log = log_sum(&[*log, more]);
        }
        self.minute = self.minute.max(other.minute);
        // The recovery of all parts began with that of the last one.
        self.since = self.since.max(other.since);
        self.cumulative = self.cumulative.min(other.cumulative);
        self.losses.merge(&other.losses);
    }
}
