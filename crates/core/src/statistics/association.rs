//! Measures of association between two variables, from the frequencies of their pairs of values.

use std::collections::BTreeMap;

use crate::number::real;

/// Returns Spearman's rank correlation of pairs `(x, y, count)`: Pearson's correlation of the
/// mid-ranks, from -1 to 1. `None` if x or y does not vary, or without pairs. A pair may occur
/// several times in the list.
///
/// The result equals `scipy.stats.spearmanr` (1.11) of the expanded pairs.
pub(crate) fn spearman(pairs: &[(f64, f64, u64)]) -> Option<f64> {
    let count = |pair: &(f64, f64, u64)| real(pair.2);
    let n: f64 = pairs.iter().map(count).sum();
    let of_x = mid_ranks(pairs.iter().map(|pair| (pair.0, count(pair))));
    let of_y = mid_ranks(pairs.iter().map(|pair| (pair.1, count(pair))));
    // The sum of the ranks is n (n + 1) / 2, with or without ties.
    let mean = f64::midpoint(n, 1.0);
    let (mut covariance, mut x, mut y) = (0.0, 0.0, 0.0);
    for (pair, (rank_x, rank_y)) in pairs.iter().zip(of_x.iter().zip(&of_y)) {
        let (from_x, from_y) = (rank_x - mean, rank_y - mean);
        covariance += count(pair) * from_x * from_y;
        x += count(pair) * from_x * from_x;
        y += count(pair) * from_y * from_y;
    }
    (x > 0.0 && y > 0.0).then(|| (covariance / (x * y).sqrt()).clamp(-1.0, 1.0))
}

/// Returns the mean rank, starting at 1, of each value in a list of (value, count).
fn mid_ranks(values: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let values: Vec<(f64, f64)> = values.collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].0.total_cmp(&values[*b].0));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0.0;
    for tied in order.chunk_by(|a, b| values[*a].0.total_cmp(&values[*b].0).is_eq()) {
        let count: f64 = tied.iter().map(|index| values[*index].1).sum();
        for index in tied {
            ranks[*index] = before + f64::midpoint(count, 1.0);
        }
        before += count;
    }
    ranks
}

/// Returns Cohen's kappa of two raters (Cohen 1960), from `(rating of the first, rating of the
/// second, count)`. `None` without items, or if both gave the same rating to all of them: the
/// expected agreement by chance is 1. A pair of ratings may occur several times.
pub fn kappa<R: Ord>(items: impl IntoIterator<Item = (R, R, u64)>) -> Option<f64> {
    let (mut all, mut equal) = (0, 0);
    let mut ratings: BTreeMap<R, [u64; 2]> = BTreeMap::new();
    for (first, second, count) in items {
        all += count;
        equal += if first == second { count } else { 0 };
        ratings.entry(first).or_default()[0] += count;
        ratings.entry(second).or_default()[1] += count;
    }
    let share = |count| real(count) / real(all);
    let observed = share(equal);
    let ratings = ratings.into_values();
    let by_chance: f64 = ratings
        .map(|counts| counts.map(share))
        .map(|[a, b]| a * b)
        .sum();
    (all > 0 && by_chance < 1.0).then(|| (observed - by_chance) / (1.0 - by_chance))
}
