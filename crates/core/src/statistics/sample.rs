//! Mean and standard deviation of a sample.

use crate::number::real_length;

/// Returns a finite number, or `None` for NaN and infinities. -0 becomes 0.
pub(super) fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number + 0.0)
}

/// Returns the mean, or NaN for an empty list.
pub(super) fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = real_length(numbers.len());
    numbers.sum::<f64>() / count
}

/// Returns the standard deviation of a sample (n - 1 in the denominator), or NaN for fewer than two
/// numbers.
pub(super) fn standard_deviation(numbers: &[f64]) -> f64 {
    let centre = mean(numbers.iter().copied());
    let squares: f64 = numbers.iter().map(|it| (it - centre).powi(2)).sum();
    (squares / (real_length(numbers.len()) - 1.0)).sqrt()
}
