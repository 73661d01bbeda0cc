//! Anytime-valid comparison of a variant with its control: the difference of two means.
//!
//! The comparison is an asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy and
//! Ramdas 2024, "Time-uniform central limit theory and asymptotic confidence sequences", Annals of
//! Statistics 52). With probability 1 - alpha, the sequence contains the difference at every time.
//! It needs sums only, so the sums of replicas can be added first.

use serde::{Deserialize, Serialize};

use crate::number::real;

/// Minimum number of values in each arm for a comparison. The limit exists because the sequence is
/// asymptotic.
const MIN_VALUES_PER_ARM: u64 = 100;

/// Number of values in both arms together for which the interval is narrowest.
const OPTIMAL_SAMPLE_SIZE: f64 = 2000.0;

/// Sums of the values of one arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Number of values.
    pub count: u64,
    /// Sum of the values.
    pub sum: f64,
    /// Sum of the squared values.
    pub squares: f64,
}

impl Arm {
    /// Adds a value. A value that is not finite is ignored.
    pub fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.count += 1;
            self.sum += value;
            self.squares += value * value;
        }
    }

    /// Adds the sums of another replica for the same arm.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Returns the mean and the squared standard error (variance / count). The variance is at least
    /// 1/count, because values that were constant so far can still vary later.
    fn moments(&self) -> (f64, f64) {
        let count = real(self.count);
        let mean = self.sum / count;
        let variance = (self.squares / count - mean * mean).max(1.0 / count);
        (mean, variance / count)
    }
}

/// Difference between a variant and its control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean of the variant minus mean of the control.
    pub difference: f64,
    /// Standard error of the difference.
    pub standard_error: f64,
    /// Half the width of the two-sided confidence sequence.
    pub half_width: f64,
    /// Margin of the one-sided confidence sequences. With probability 1 - alpha, the true
    /// difference is never above `difference + reach`. As a separate statement, with the same
    /// probability it is never below `difference - reach`.
    pub reach: f64,
}

impl Difference {
    /// Two-sided confidence interval, lower end first.
    pub fn interval(&self) -> [f64; 2] {
        [
            self.difference - self.half_width,
            self.difference + self.half_width,
        ]
    }

    /// Returns true if the variant is significantly lower than the control.
    pub fn is_lower(&self) -> bool {
        self.difference + self.reach < 0.0
    }

    /// Returns true if the variant is significantly higher than the control.
    pub fn is_higher(&self) -> bool {
        self.difference - self.reach > 0.0
    }
}

/// Returns the difference between a variant and its control at level `alpha`. `None` if an arm has
/// fewer than 100 values, if `alpha` is outside (0, 1), and if a sum is not finite.
pub fn difference(variant: &Arm, control: &Arm, alpha: f64) -> Option<Difference> {
    let enough = variant.count.min(control.count) >= MIN_VALUES_PER_ARM;
    if !enough || alpha.is_nan() || alpha <= 0.0 || alpha >= 1.0 {
        return None;
    }
    let (variant_mean, variant_error) = variant.moments();
    let (control_mean, control_error) = control.moments();
    let error = variant_error + control_error;
    let n = real(variant.count) + real(control.count);
    let doubled = -2.0 * alpha.ln();
    let rho = (doubled + (doubled + 1.0).ln()) / OPTIMAL_SAMPLE_SIZE;
    let grown = n * rho + 1.0;
    let one_sided = 2.0 * grown / (n * rho) * (grown.sqrt() / (2.0 * alpha)).ln_1p();
    let two_sided = grown / (n * rho) * (grown / (alpha * alpha)).ln();
    let result = Difference {
        difference: variant_mean - control_mean,
        standard_error: error.sqrt(),
        half_width: (error * two_sided).sqrt(),
        reach: (error * one_sided).sqrt(),
    };
    (result.difference.is_finite() && result.half_width.is_finite() && result.reach.is_finite())
        .then_some(result)
}
