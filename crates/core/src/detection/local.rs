//! Local part of the drop test: a drop in an unknown part of the queries.
//!
//! Each query has two bets on its own drop, restarted continuously. Their wealth R mixes over the
//! time of the drop: ρ(m) is the share that has not been bet after m comparisons. The evidence of
//! all queries is Π(1 − π + πE), for three assumed shares π of dropped queries. An epoch of a day
//! starts a new product, and two epochs are active.

use serde::{Deserialize, Serialize};

use super::bets::{largest_bet, log_sum};
use super::comparison::Baseline;

/// Assumed shares of dropped queries.
const SHARES: [f64; 3] = [0.004, 0.03, 0.2];

/// Stakes of the bets of a query.
const STAKES: [f64; 2] = [2.0, 0.5];

/// Number of comparisons after which half of the wealth is bet.
const HALF_BET: f64 = 16.0;

/// Maximum wealth of a bet.
const MAX_WEALTH: f64 = 1e30;

/// Additional tolerated drop of a single query.
const ADDED_TOLERANCE: f64 = 0.01;

/// Length of an epoch in minutes.
const EPOCH: f64 = 1440.0;

/// ln 3.
const LN_SHARES: f64 = 1.098_612_288_668_109_8;

/// Local bets on a query in the two active epochs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalBets {
    wealth: [[f32; 2]; 2],
    comparisons: [u16; 2],
    /// Epochs of the bets, modulo 2¹⁶.
    epochs: [u16; 2],
}

impl Default for LocalBets {
    fn default() -> Self {
        Self {
            wealth: [[0.5; 2]; 2],
            comparisons: [0; 2],
            epochs: [0; 2],
        }
    }
}

/// Share of the wealth that is not bet after `comparisons`, for each of two bets.
fn reserve(comparisons: f64) -> f64 {
    0.5 * HALF_BET / (comparisons + HALF_BET)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "the rounding to single precision is part of the specified value"
)]
fn single(number: f64) -> f32 {
    number as f32
}

impl LocalBets {
    fn value(&self, slot: usize) -> f64 {
        let [first, second] = self.wealth.get(slot).copied().unwrap_or_default();
        let comparisons = self.comparisons.get(slot).copied().unwrap_or_default();
        0.5 * (f64::from(first) + f64::from(second)) + reserve(f64::from(comparisons))
    }

    /// Wealth in the two epochs, the larger of both: the evidence that the query dropped.
    pub fn evidence(&self) -> f64 {
        self.value(0).max(self.value(1))
    }
}

/// Local part of the test of one series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LocalTest {
    logs: [[f64; 3]; 2],
    /// Active epochs.
    epochs: [Option<i64>; 2],
    newest: Option<i64>,
}

impl LocalTest {
    /// Number of minutes of the two active epochs: M without evidence.
    pub(super) const MINUTES: f64 = 2.0 * EPOCH;

    /// Starts the epoch of a day.
    pub(super) fn advance(&mut self, epoch: i64) {
        if self.newest == Some(epoch) {
            return;
        }
        let slot = usize::from(epoch.rem_euclid(2) == 1);
        let is_next = self.newest == epoch.checked_sub(1);
        for (at, (logs, active)) in self.logs.iter_mut().zip(&mut self.epochs).enumerate() {
            if at == slot {
                (*logs, *active) = ([0.0; 3], Some(epoch));
            } else if !is_next {
                *active = None;
            }
        }
        self.newest = Some(epoch);
    }

    /// Bets on a score of a query. Returns ln M of the local part, at most `ceiling`.
    pub(super) fn add(
        &mut self,
        bets: &mut LocalBets,
        own: Baseline,
        score: f64,
        tolerance: f64,
        ceiling: f64,
    ) -> f64 {
        let count = f64::from(own.scores);
        let baseline = own.mean;
        let trust = count / (count + 3.0);
        let tolerance = tolerance + ADDED_TOLERANCE;
        let won = (baseline - score) - tolerance;
        let limit = largest_bet(1.0 - baseline + tolerance);
        let mut means = [f64::NEG_INFINITY; 2];
        for (slot, (logs, epoch)) in self.logs.iter_mut().zip(self.epochs).enumerate() {
            let Some(epoch) = epoch else { continue };
            let epoch = u16::try_from(epoch.rem_euclid(1 << 16)).unwrap_or_default();
            if bets.epochs[slot] != epoch {
                bets.epochs[slot] = epoch;
                bets.comparisons[slot] = 0;
                bets.wealth[slot] = [0.5; 2];
            }
            let comparisons = f64::from(bets.comparisons[slot]);
            let moved = reserve(comparisons) - reserve(comparisons + 1.0);
            let before = bets.value(slot);
            for (wealth, stake) in bets.wealth[slot].iter_mut().zip(STAKES) {
                let factor = 1.0 + (stake * trust).min(limit) * won;
                *wealth = single(((f64::from(*wealth) + moved) * factor).min(MAX_WEALTH));
            }
            let [first, second] = bets.wealth[slot];
            let after = 0.5 * (f64::from(first) + f64::from(second)) + reserve(comparisons + 1.0);
            bets.comparisons[slot] = bets.comparisons[slot].saturating_add(1);
            for (log, share) in logs.iter_mut().zip(SHARES) {
                *log += (share * (after - 1.0)).ln_1p() - (share * (before - 1.0)).ln_1p();
            }
            means[slot] = log_sum(logs.as_slice()) - LN_SHARES;
        }
        (log_sum(&means) + EPOCH.ln()).min(ceiling)
    }
}
