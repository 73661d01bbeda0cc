//! A variant against its control: the difference of two means, looked at any time.
//!
//! An asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024,
//! "Time-uniform central limit theory and asymptotic confidence sequences", Annals of Statistics 52):
//! with probability 1 - alpha the difference lies in it at every look. It knows sums only, so what
//! replicas counted can be added first.

use serde::{Deserialize, Serialize};

use super::real;

/// Values an arm has to have before anything is said of it; the sequence is asymptotic.
pub const MINIMUM_PER_ARM: u64 = 100;

/// Values of both arms together for which the interval is made narrowest.
const OPTIMUM: f64 = 2000.0;

/// What is summed of one arm's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
}

impl Arm {
    /// Counts a value; one that is not finite is left out.
    pub fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.count += 1;
            self.sum += value;
            self.squares += value * value;
        }
    }

    /// Takes in what somebody else counted of the same arm.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// The mean, and the squared standard error: variance / count. A variance is taken to be at least
    /// 1/count, for values that were all the same so far need not be so forever.
    fn moments(&self) -> (f64, f64) {
        let count = real(self.count);
        let mean = self.sum / count;
        let variance = (self.squares / count - mean * mean).max(1.0 / count);
        (mean, variance / count)
    }
}

/// How much more the variant has than the control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The variant's mean minus the control's.
    pub difference: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Half the width of the two-sided confidence sequence.
    pub half_width: f64,
    /// How far the one-sided confidence sequence reaches: with probability 1 - alpha, the true
    /// difference never lies above `difference + reach` (and, as another statement, never below
    /// `difference - reach`).
    pub reach: f64,
}

impl Difference {
    /// The two-sided interval, lower end first.
    pub fn interval(&self) -> [f64; 2] {
        [
            self.difference - self.half_width,
            self.difference + self.half_width,
        ]
    }

    /// Whether the variant is shown to be lower than the control.
    pub fn is_lower(&self) -> bool {
        self.difference + self.reach < 0.0
    }

    /// Whether the variant is shown to be higher than the control.
    pub fn is_higher(&self) -> bool {
        self.difference - self.reach > 0.0
    }
}

/// The difference between a variant and its control at `alpha`; `None` while an arm has fewer than
/// [`MINIMUM_PER_ARM`] values, for an alpha outside (0, 1), and for sums that are not finite.
pub fn difference(variant: &Arm, control: &Arm, alpha: f64) -> Option<Difference> {
    let enough = variant.count.min(control.count) >= MINIMUM_PER_ARM;
    if !enough || alpha.is_nan() || alpha <= 0.0 || alpha >= 1.0 {
        return None;
    }
    let (variant_mean, variant_error) = variant.moments();
    let (control_mean, control_error) = control.moments();
    let error = variant_error + control_error;
    let n = real(variant.count) + real(control.count);
    let doubled = -2.0 * alpha.ln();
    let rho = (doubled + (doubled + 1.0).ln()) / OPTIMUM;
    let grown = n * rho + 1.0;
    let one_sided = 2.0 * grown / (n * rho) * (grown.sqrt() / (2.0 * alpha)).ln_1p();
    let two_sided = grown / (n * rho) * (grown / (alpha * alpha)).ln();
    let found = Difference {
        difference: variant_mean - control_mean,
        standard_error: error.sqrt(),
        half_width: (error * two_sided).sqrt(),
        reach: (error * one_sided).sqrt(),
    };
    (found.difference.is_finite() && found.half_width.is_finite() && found.reach.is_finite())
        .then_some(found)
}
