//! Bets in parallel, and sums of their wealth in logarithms.

use crate::number::real;

/// Number of parallel bets.
pub(super) const BETS: usize = 8;

/// Clamps a number to \[0, 1\]. `None` for NaN.
pub(super) fn within(number: f64) -> Option<f64> {
    (!number.is_nan()).then(|| number.clamp(0.0, 1.0))
}

/// Returns the log of a sum, given the logs of the summands. The logs must not contain NaN. -∞ for
/// an empty list.
pub(super) fn log_sum(logs: &[f64]) -> f64 {
    let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if highest.is_infinite() {
        return highest;
    }
    let rest: f64 = logs.iter().map(|log| (log - highest).exp()).sum();
    highest + rest.ln()
}

/// Returns the combined log evidence of several parts of the traffic, given the log evidence of
/// each part: the log of the sum. The threshold for the sum of n parts is n times that of one part.
/// With a product instead of a sum, the result would depend on the number of parts. -∞ for an empty
/// list. NaN is ignored.
pub(crate) fn summed(log_evidence: &[f64]) -> f64 {
    let known = log_evidence.iter().copied().filter(|log| !log.is_nan());
    log_sum(&known.collect::<Vec<f64>>())
}

/// Log of the mean of the e-values of `parts` parts, given the log evidence of those that are known. A part
/// that is not known counts 0. `None` without any.
pub(crate) fn averaged(log_evidence: &[f64], parts: u64) -> Option<f64> {
    let known = u64::try_from(log_evidence.len()).unwrap_or(u64::MAX);
    (known > 0).then(|| log_sum(log_evidence) - real(parts.max(known)).ln() + 0.0)
}

/// Largest stake with which a loss of `loss` costs at most 0.9 of the wealth.
pub(super) fn largest_bet(loss: f64) -> f64 {
    0.9 / loss.max(0.01)
}
