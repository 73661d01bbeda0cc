//! Holm's correction: many tests at once, without one of them being right by chance alone.
//!
//! Holm (1979), "A simple sequentially rejective multiple test procedure". It holds whatever the
//! tests' dependence, which for measures of the same rankings is strong.

use super::real;

/// Adjusted p in the order given: the i-th smallest of m times m - i + 1, never below a smaller
/// one's, at most 1. What has no p is no test: it counts in no m and stays without.
pub fn holm(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut tests: Vec<(usize, f64)> = (0..).zip(p).filter_map(|(i, p)| Some((i, (*p)?))).collect();
    tests.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut adjusted = vec![None; p.len()];
    let mut highest: f64 = 0.0;
    for (smaller, (position, p)) in tests.iter().enumerate() {
        highest = highest.max(p * real(tests.len() - smaller)).min(1.0);
        adjusted[*position] = Some(highest);
    }
    adjusted
}
