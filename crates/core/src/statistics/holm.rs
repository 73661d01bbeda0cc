//! Holm's correction of p-values for multiple tests, which controls the family-wise error rate.
//!
//! Holm (1979), "A simple sequentially rejective multiple test procedure". The correction is valid
//! under any dependence between the tests. Measures of the same rankings are strongly dependent.

use crate::number::real_length;

/// Returns the number of tests that each p-value is corrected for at the level `alpha`: those that were
/// not rejected before it. All that are not rejected have that of the first of them. So a test is
/// rejected exactly if its interval at the level `alpha` divided by this number excludes 0.
pub fn holm_factors(p: &[Option<f64>], alpha: f64) -> Vec<Option<f64>> {
    let mut tests: Vec<(usize, f64)> = (0..).zip(p).filter_map(|(i, p)| Some((i, (*p)?))).collect();
    tests.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let left = |rejected: usize| real_length(tests.len() - rejected);
    let mut rejected = 0;
    while tests
        .get(rejected)
        .is_some_and(|(_, p)| p * left(rejected) < alpha)
    {
        rejected += 1;
    }
    let mut factors = vec![None; p.len()];
    for (rank, (position, _)) in tests.iter().enumerate() {
        factors[*position] = Some(left(rank.min(rejected)));
    }
    factors
}

/// Returns the adjusted p-values in the given order. The i-th smallest of m p-values is multiplied
/// by m - i + 1. The results are made non-decreasing and limited to 1. Entries without a p-value
/// are not counted in m and stay `None`.
pub fn holm(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut tests: Vec<(usize, f64)> = (0..).zip(p).filter_map(|(i, p)| Some((i, (*p)?))).collect();
    tests.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut adjusted = vec![None; p.len()];
    let mut highest: f64 = 0.0;
    for (smaller, (position, p)) in tests.iter().enumerate() {
        highest = highest.max(p * real_length(tests.len() - smaller)).min(1.0);
        adjusted[*position] = Some(highest);
    }
    adjusted
}
