//! Sample ratio mismatch test: traffic of an experiment against its declared split.
//!
//! The evidence is the Bayes factor of a Dirichlet-multinomial against the declared multinomial.
//! The test is anytime-valid (Lindon and Malek 2022, "Anytime-valid inference for multinomial count
//! data"). If the traffic is not split as declared, searches are being lost, and differences
//! between the arms are meaningless.

use statrs::function::gamma::ln_gamma;

use super::threshold::log_threshold;
use super::unit::{Unit, UnitBitmap};
use crate::number::real;

/// Concentration of the Dirichlet prior around the declared split.
const CONCENTRATION: f64 = 100.0;

/// Test of the units of an experiment against its declared split. A unit counts once.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitTest {
    seen: UnitBitmap,
    /// Units, by arm.
    counts: Vec<u64>,
    shares: Vec<f64>,
}

impl SplitTest {
    /// Probability of ever raising an alarm although the traffic of an experiment is split as declared.
    pub const ALPHA: f64 = 0.001;

    /// Log evidence of an alarm: ln(1/[`ALPHA`](Self::ALPHA)).
    pub fn threshold() -> f64 {
        log_threshold(Self::ALPHA)
    }

    /// Test of the declared shares of the arms.
    pub fn new(shares: Vec<f64>) -> Self {
        Self {
            seen: UnitBitmap::default(),
            counts: vec![0; shares.len()],
            shares,
        }
    }

    /// Adds a search of the unit with an id. Returns true if the unit is counted: it is new, and the
    /// arm has a share.
    pub fn add(&mut self, unit: &str, arm: usize) -> bool {
        let Some(count) = self.counts.get_mut(arm) else {
            return false;
        };
        let is_new = self.seen.insert(Unit::of(unit));
        *count += u64::from(is_new);
        is_new
    }

    /// Number of units, by arm.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Log evidence (ln) that the units are not split as declared. 0 if the shares are invalid.
    pub fn log_evidence(&self) -> f64 {
        Self::log_evidence_of(&self.counts, &self.shares).unwrap_or_default()
    }

    /// Log evidence against `shares`, the declared split of the traffic, given the number
    /// of searches of each arm. Shares are relative to their sum. `None` unless the number of shares
    /// equals the number of counts and all shares are finite, none is negative and one is above 0.
    /// Infinite if an arm with a share of 0 has searches.
    pub fn log_evidence_of(counts: &[u64], shares: &[f64]) -> Option<f64> {
        let whole: f64 = shares.iter().sum();
        let usable = shares.iter().all(|share| *share >= 0.0) && whole.is_finite() && whole > 0.0;
        if counts.len() != shares.len() || !usable {
            return None;
        }
        let mut evidence = 0.0;
        let mut all = 0.0;
        for (count, share) in counts.iter().zip(shares) {
            let (count, share) = (real(*count), share / whole);
            if count <= 0.0 {
                continue;
            }
            if share <= 0.0 {
                return Some(f64::INFINITY);
            }
            let prior = CONCENTRATION * share;
            evidence += ln_gamma(prior + count) - ln_gamma(prior) - count * share.ln();
            all += count;
        }
        Some(evidence + ln_gamma(CONCENTRATION) - ln_gamma(CONCENTRATION + all) + 0.0)
    }
}
