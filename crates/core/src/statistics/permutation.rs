//! Sign-flip permutation test: probability of a mean difference at least as far from 0 if the sign
//! of each difference is random.
//!
//! A difference of 0 has no sign, so only non-zero differences count. With at most [`Settings::MAX_EXACT_DIFFERENCES`]
//! of them, every pattern of signs is evaluated and p is exact. With more, m random patterns are
//! drawn, and p = (b + 1) / (m + 1), where b patterns are at least as extreme (Phipson and Smyth
//! 2010: the observed pattern is counted, so p is never 0).

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::sample::finite;
use super::settings::Settings;
use crate::number::real_length;

/// Relative tolerance, as a part of the sum of all absolute differences. Equal sums of two patterns
/// can be rounded differently, so a sum within the tolerance of the threshold counts as extreme.
const ROUNDING: f64 = 1e-12;

/// Number of differences with signs from one random byte.
const BLOCK: usize = 8;

/// Number of patterns that are summed together. Their sums fit the first-level cache of the
/// processor.
const TILE: u32 = 2048;

/// Stream of the random number generator. The bootstrap uses another stream, so it draws different
/// numbers from the same seed.
const STREAM: u64 = 1;

/// Returns the two-sided p-value, or `None` if the sums overflow.
pub(super) fn p(differences: &[f64], settings: &Settings) -> Option<f64> {
    let moved: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|it| it.abs() > 0.0)
        .collect();
    let total = finite(moved.iter().map(|it| it.abs()).sum())?;
    let threshold = moved.iter().sum::<f64>().abs() - ROUNDING * total;
    if moved.len() <= Settings::MAX_EXACT_DIFFERENCES {
        Some(exact(&moved, threshold))
    } else {
        Some(drawn(&moved, threshold, settings))
    }
}

/// Returns the two-sided p-value of `n` equal differences: only the two patterns with one sign are as
/// extreme.
pub(super) fn p_of_equal(n: usize) -> f64 {
    let free = i32::try_from(n.saturating_sub(1)).unwrap_or(i32::MAX);
    0.5_f64.powi(free).max(f64::MIN_POSITIVE)
}

/// Returns the proportion of all patterns with an absolute sum of at least `threshold`. Each sum is
/// a sum of the first half plus a sum of the second half, so all sums have the same small number of
/// roundings.
fn exact(moved: &[f64], threshold: f64) -> f64 {
    let (left, right) = moved.split_at(moved.len() / 2);
    let (left, right) = (sums(left), sums(right));
    let extreme: usize = left
        .iter()
        .map(|left| {
            let sums = right.iter().map(|right| (left + right).abs());
            sums.filter(|sum| *sum >= threshold).count()
        })
        .sum();
    real_length(extreme) / (real_length(left.len()) * real_length(right.len()))
}

/// Returns the sum of every pattern of signs, by pattern: bit i is the sign of number i.
fn sums(numbers: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for number in numbers {
        let plus: Vec<f64> = sums.iter().map(|sum| sum + number).collect();
        for sum in &mut sums {
            *sum -= number;
        }
        sums.extend(plus);
    }
    sums
}

/// Returns the p-value from random patterns. A random byte selects the signed sum of eight
/// differences from a table, so a pattern over 10,000 queries needs 1,250 additions.
fn drawn(moved: &[f64], threshold: f64, settings: &Settings) -> f64 {
    let mut chance = ChaCha8Rng::seed_from_u64(settings.seed);
    chance.set_stream(STREAM);
    let tables: Vec<Vec<f64>> = moved.chunks(BLOCK).map(sums).collect();
    let mut extreme: usize = 0;
    let mut left = settings.permutations;
    while left > 0 {
        let tile = left.min(TILE);
        left -= tile;
        let width = usize::try_from(tile).unwrap_or_default();
        let mut patterns = vec![0.0; width];
        let mut bytes = vec![0_u8; width];
        for table in &tables {
            chance.fill_bytes(&mut bytes);
            for (sum, byte) in patterns.iter_mut().zip(&bytes) {
                // The length of the last table can be a smaller power of two: the masked bits are
                // still random.
                *sum += table[usize::from(*byte) & (table.len() - 1)];
            }
        }
        extreme += patterns.iter().filter(|sum| sum.abs() >= threshold).count();
    }
    (real_length(extreme) + 1.0) / (f64::from(settings.permutations) + 1.0)
}
