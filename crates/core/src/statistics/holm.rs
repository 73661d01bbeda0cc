//! Holm's correction of p-values for multiple tests, which controls the family-wise error rate.
//!
//! Holm (1979), "A simple sequentially rejective multiple test procedure". The correction is valid
//! under any dependence between the tests. Measures of the same rankings are strongly dependent.

use crate::number::real_length;

/// Corrects p-values at the level `alpha`, in the given order. Each has its adjusted p-value and the number of tests
/// that it is corrected for. Entries without a p-value are not counted and stay `None`.
///
/// The i-th smallest of m p-values is multiplied by m - i + 1. The results are made non-decreasing and limited to 1.
///
/// The number of tests is that of the tests that were not rejected before. All that are not rejected have that of
/// the first of them. So a test is rejected exactly if its interval at the level `alpha` divided by this number
/// excludes 0.
pub fn holm(p: &[Option<f64>], alpha: f64) -> Vec<Option<(f64, f64)>> {
    let mut tests: Vec<(usize, f64)> = (0..).zip(p).filter_map(|(i, p)| Some((i, (*p)?))).collect();
    tests.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let left = |smaller: usize| real_length(tests.len() - smaller);
    let is_rejected = |(rank, (_, p)): &(usize, &(usize, f64))| p * left(*rank) < alpha;
    let rejected = tests.iter().enumerate().take_while(is_rejected).count();
    let mut corrected = vec![None; p.len()];
    let mut highest: f64 = 0.0;
    for (rank, (position, p)) in tests.iter().enumerate() {
        highest = highest.max(p * left(rank)).min(1.0);
        corrected[*position] = Some((highest, left(rank.min(rejected))));
    }
    corrected
}
