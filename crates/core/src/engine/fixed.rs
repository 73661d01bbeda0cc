//! Scores as integers: sums of them are exact, so merging is independent of order.

/// A score in units of 10⁻⁹.
///
/// A sum of them in an `i128` cannot overflow: it would take 10¹⁹ of the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nano(i64);

/// Decimal places of [`Nano`].
pub const NANO_DECIMALS: usize = 9;

impl Nano {
    /// One, as a score.
    pub const ONE: Self = Self(1_000_000_000);

    /// The nearest multiple of 10⁻⁹; values beyond ±9.2·10⁹ saturate, NaN is 0.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the one place where scores leave floating point; `as` saturates"
    )]
    pub fn from_f64(value: f64) -> Self {
        Self((value * 1e9).round() as i64)
    }

    /// The score in units of 10⁻⁹.
    pub fn get(self) -> i64 {
        self.0
    }
}

/// A number of things as a floating-point number, for ratios at the edge. Exact below 2⁵³.
#[allow(
    clippy::cast_precision_loss,
    reason = "counts beyond 2^53 lose digits that no display shows"
)]
pub fn count_to_f64(count: u64) -> f64 {
    count as f64
}

/// `units` times 10^-`decimals` as the nearest floating-point number, for ratios at the edge.
#[allow(
    clippy::cast_precision_loss,
    reason = "the sum itself stays exact; only what a gauge shows is rounded"
)]
pub fn units_to_f64(units: i128, decimals: usize) -> f64 {
    let scale = 10_f64.powi(i32::try_from(decimals).unwrap_or(0));
    units as f64 / scale
}
