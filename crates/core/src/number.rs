//! Counts as floating-point numbers.

/// Converts a count. Exact up to 2⁵³; beyond it, no ratio or test shows the difference.
#[allow(
    clippy::cast_precision_loss,
    reason = "counts beyond 2^53 lose only digits that no result shows"
)]
pub fn real(count: u64) -> f64 {
    count as f64
}

/// Converts the length of a list in memory. A length above `u32::MAX` becomes `u32::MAX`.
pub fn real_length(length: usize) -> f64 {
    f64::from(u32::try_from(length).unwrap_or(u32::MAX))
}

/// Returns 1 if `holds` is true, else 0.
pub(crate) fn indicator(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}
