//! The bias-corrected and accelerated (BCa) bootstrap interval of a mean difference: no assumption
//! of a normal distribution.
//!
//! Efron (1987), "Better bootstrap confidence intervals", JASA 82:171-185; bias from the resamples
//! with ties counted half, acceleration from the jackknife, percentiles interpolated linearly: as
//! `scipy.stats.bootstrap(method="BCa")`.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::{Interval, Settings, finite, mean, real};

/// The probability in one tail outside a 95 % interval.
const TAIL: f64 = 0.025;

/// A resample's mean closer to the estimate than this part of the largest difference is equal to
/// it, and was rounded on another way.
const ROUNDING: f64 = 1e-13;

/// The generator's stream, so that the permutation test draws other numbers from the same seed.
const STREAM: u64 = 2;

/// The 95 % interval of the mean of differences that vary; `None` where it is undefined.
pub(super) fn bca95(differences: &[f64], settings: &Settings) -> Option<Interval> {
    bca_from_resamples(differences, means(differences, settings))
}

/// Means of resamples with replacement. A draw maps 32 random bits to a position by
/// multiplication, which favours positions by less than n / 2^32.
fn means(differences: &[f64], settings: &Settings) -> Vec<f64> {
    let mut chance = ChaCha8Rng::seed_from_u64(settings.seed);
    chance.set_stream(STREAM);
    let count = differences.len();
    let choices = u64::try_from(count).unwrap_or(u64::MAX);
    let one = || {
        let draws = (0..count).map(|_| {
            let position = (u64::from(chance.next_u32()) * choices) >> u32::BITS;
            differences[usize::try_from(position).unwrap_or_default()]
        });
        mean(draws)
    };
    std::iter::repeat_with(one)
        .take(usize::try_from(settings.bootstraps).unwrap_or(usize::MAX))
        .collect()
}

/// The 95 % interval of the mean of `differences`, given the means of resamples of them: the part
/// of the bootstrap that has no chance in it. `None` where it is undefined: no resamples, all of
/// them on one side of the estimate, differences that do not vary.
pub fn bca_from_resamples(differences: &[f64], mut resamples: Vec<f64>) -> Option<Interval> {
    let normal = Normal::standard();
    resamples.sort_by(f64::total_cmp);
    let bias = finite(normal.inverse_cdf(part_below(differences, &resamples)?))?;
    let acceleration = acceleration(differences)?;
    let end = |tail: f64| {
        let shifted = bias + normal.inverse_cdf(tail);
        let level = normal.cdf(bias + shifted / (1.0 - acceleration * shifted));
        percentile(&resamples, finite(level)?)
    };
    Some([end(TAIL)?, end(1.0 - TAIL)?])
}

/// The part of the resamples below the estimate, those equal to it counted half; `None` without
/// resamples.
fn part_below(differences: &[f64], sorted: &[f64]) -> Option<f64> {
    let estimate = mean(differences.iter().copied());
    let largest = differences
        .iter()
        .fold(0.0, |most: f64, it| most.max(it.abs()));
    let rounding = ROUNDING * largest;
    let below = sorted.partition_point(|it| *it < estimate - rounding);
    let not_above = sorted.partition_point(|it| *it <= estimate + rounding);
    finite(f64::midpoint(real(below), real(not_above)) / real(sorted.len()))
}

/// The jackknife's estimate of how the standard error changes with the mean. Of a mean, leaving
/// out one difference moves it by that difference's distance from the mean, over n - 1, so the
/// formula needs no n.
fn acceleration(differences: &[f64]) -> Option<f64> {
    let centre = mean(differences.iter().copied());
    let power = |exponent: i32| -> f64 {
        let distances = differences.iter().map(|it| it - centre);
        distances.map(|distance| distance.powi(exponent)).sum()
    };
    finite(power(3) / (6.0 * power(2).powf(1.5)))
}

/// The number below which the part `level` of the sorted numbers lies, linear between neighbours.
fn percentile(sorted: &[f64], level: f64) -> Option<f64> {
    let last = real(sorted.len().checked_sub(1)?);
    let position = level.clamp(0.0, 1.0) * last;
    let lower = whole(position.floor());
    let below = *sorted.get(lower)?;
    let above = *sorted.get(lower + 1).unwrap_or(&below);
    finite(below + (above - below) * position.fract())
}

/// A whole number of at most `u32::MAX` as a position.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to the last position of a list whose length is a u32"
)]
fn whole(number: f64) -> usize {
    number as usize
}
