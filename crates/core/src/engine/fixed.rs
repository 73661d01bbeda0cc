//! Fixed-point scores: integer sums are exact, so the order of merging does not change the result.

/// A score in units of 10⁻⁹.
///
/// A sum of scores in an `i128` cannot overflow: that takes 10¹⁹ scores of the largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nano(i64);

impl Nano {
    /// Decimal places.
    pub const DECIMALS: usize = 9;

    /// The score 1.
    pub const ONE: Self = Self(1_000_000_000);

    /// Rounds to the nearest multiple of 10⁻⁹. Values beyond ±9.2·10⁹ saturate; NaN becomes 0.
    pub fn from_f64(value: f64) -> Self {
        Self(nearest(value * 1e9))
    }

    /// Returns the difference from another score. It saturates.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Score in units of 10⁻⁹.
    pub fn get(self) -> i64 {
        self.0
    }

    /// Nearest floating-point number.
    pub fn to_f64(self) -> f64 {
        Self::sum_to_f64(self.0.into())
    }

    /// Floating-point number nearest to a sum of scores in units of 10⁻⁹, for ratios at exposition.
    pub fn sum_to_f64(units: i128) -> f64 {
        units_to_f64(units, Self::DECIMALS)
    }
}

/// Rounds to the nearest integer, half away from zero. Numbers beyond the range saturate; NaN becomes
/// 0. Faster than [`f64::round`], which most processors' common instructions do not include.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "`as` saturates, and an integer of a floating-point number is a floating-point number"
)]
pub(super) fn nearest(number: f64) -> i64 {
    let whole = number as i64;
    let rest = number - whole as f64;
    let up = i64::from(rest >= 0.5) - i64::from(rest <= -0.5);
    whole.saturating_add(up)
}

/// Returns the floating-point number nearest to `units` times 10^-`decimals`, for ratios at
/// exposition.
#[allow(
    clippy::cast_precision_loss,
    reason = "the sum itself stays exact; only the value of a gauge is rounded"
)]
pub(crate) fn units_to_f64(units: i128, decimals: usize) -> f64 {
    let scale = 10_f64.powi(i32::try_from(decimals).unwrap_or(0));
    units as f64 / scale
}
