//! Bias-corrected and accelerated (BCa) bootstrap interval of a mean difference, without the
//! assumption of a normal distribution.
//!
//! Efron (1987), "Better bootstrap confidence intervals", JASA 82:171-185. The bias comes from the
//! resamples with ties counted half, the acceleration from the jackknife. Percentiles are
//! interpolated linearly, as in `scipy.stats.bootstrap(method="BCa")`.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::sample::{finite, mean};
use super::settings::Settings;
use crate::number::real_length;

/// Probability of one tail outside a 95 % interval.
const TAIL: f64 = 0.025;

/// Relative tolerance, as a part of the largest difference. A resample mean within the tolerance of
/// the estimate is treated as equal to it; the two differ only by rounding.
const ROUNDING: f64 = 1e-13;

/// Stream of the random number generator. The permutation test uses another stream, so it draws
/// different numbers from the same seed.
const STREAM: u64 = 2;

/// Returns the 95 % interval of the mean of varying differences, or `None` if it is undefined.
pub(super) fn bca95(differences: &[f64], settings: &Settings) -> Option<[f64; 2]> {
    bca_from_resamples(differences, means(differences, settings))
}

/// Returns the means of resamples with replacement. A draw maps 32 random bits to a position by
/// multiplication; the bias of a position is less than n / 2^32.
fn means(differences: &[f64], settings: &Settings) -> Vec<f64> {
    let mut chance = ChaCha8Rng::seed_from_u64(settings.seed);
    chance.set_stream(STREAM);
    let count = differences.len();
    let choices = u64::try_from(count).unwrap_or(u64::MAX);
    let resample_mean = || {
        let draws = (0..count).map(|_| {
            let position = (u64::from(chance.next_u32()) * choices) >> u32::BITS;
            differences[usize::try_from(position).unwrap_or_default()]
        });
        mean(draws)
    };
    std::iter::repeat_with(resample_mean)
        .take(usize::try_from(settings.bootstraps).unwrap_or(usize::MAX))
        .collect()
}

/// Returns the 95 % interval of the mean of `differences`, given the means of their resamples. This
/// is the deterministic part of the bootstrap. `None` if the interval is undefined: no resamples,
/// all resamples on one side of the estimate, or differences that do not vary.
fn bca_from_resamples(differences: &[f64], mut resamples: Vec<f64>) -> Option<[f64; 2]> {
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

/// Returns the proportion of resamples below the estimate, with ties counted half. `None` without
/// resamples.
fn part_below(differences: &[f64], sorted: &[f64]) -> Option<f64> {
    let estimate = mean(differences.iter().copied());
    let largest = differences
        .iter()
        .fold(0.0, |most: f64, it| most.max(it.abs()));
    let rounding = ROUNDING * largest;
    let below = sorted.partition_point(|it| *it < estimate - rounding);
    let not_above = sorted.partition_point(|it| *it <= estimate + rounding);
    finite(f64::midpoint(real_length(below), real_length(not_above)) / real_length(sorted.len()))
}

/// Returns the acceleration: the jackknife estimate of the rate at which the standard error changes
/// with the mean. Removal of one difference moves the mean by the distance of this difference from
/// the mean, divided by n - 1. The formula therefore does not contain n.
fn acceleration(differences: &[f64]) -> Option<f64> {
    let centre = mean(differences.iter().copied());
    let power = |exponent: i32| -> f64 {
        let distances = differences.iter().map(|it| it - centre);
        distances.map(|distance| distance.powi(exponent)).sum()
    };
    finite(power(3) / (6.0 * power(2).powf(1.5)))
}

/// Returns the quantile of the sorted numbers at `level`, interpolated linearly between neighbours.
fn percentile(sorted: &[f64], level: f64) -> Option<f64> {
    let last = real_length(sorted.len().checked_sub(1)?);
    let position = level.clamp(0.0, 1.0) * last;
    let lower = whole(position.floor());
    let below = *sorted.get(lower)?;
    let above = *sorted.get(lower + 1).unwrap_or(&below);
    finite(below + (above - below) * position.fract())
}

/// Converts a whole number of at most `u32::MAX` to a position.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to the last position of a list whose length is a u32"
)]
fn whole(number: f64) -> usize {
    number as usize
}

#[cfg(test)]
mod tests {
    use super::bca_from_resamples;

    fn close(found: Option<[f64; 2]>, expected: [f64; 2]) {
        let found = found.expect("a defined interval");
        for (found, expected) in found.into_iter().zip(expected) {
            assert!(
                (found - expected).abs() <= 1e-9,
                "{found} is not {expected}"
            );
        }
    }

    // th = [np.mean(d[list(ix)]) for ix in itertools.product(range(5), repeat=5)]
    // scipy.stats._resampling._bca_interval((d,), mean, -1, 0.025, th, None) -> the percentiles
    // np.percentile(th, 5.112041180431964), np.percentile(th, 99.13410752279446)
    #[test]
    fn bca_interval_of_given_resamples_matches_scipy() {
        let d = [0.3, -0.1, 0.25, 0.07, 0.9];
        let mut resamples = Vec::new();
        for pattern in 0..5_usize.pow(5) {
            let digits = (0..5).map(|place| pattern / 5_usize.pow(place) % 5);
            resamples.push(digits.map(|digit| d[digit]).sum::<f64>() / 5.0);
        }
        let found = bca_from_resamples(&d, resamples);
        close(found, [0.05, 0.66]);
    }

    // th = 0.2 + 0.1*np.sin(np.arange(1, 1000))**3 + 0.0001*np.arange(1, 1000)
    // data d as above; percentiles 21.117256934100848 and 99.97332095093235
    #[test]
    fn bca_interval_interpolates_between_resamples_like_scipy() {
        let d = [0.3, -0.1, 0.25, 0.07, 0.9];
        let resample = |i: u32| {
            let i = f64::from(i);
            0.2 + 0.1 * i.sin().powi(3) + 0.0001 * i
        };
        let found = bca_from_resamples(&d, (1..1000).map(resample).collect());
        close(found, [0.199_517_145_794_930_9, 0.397_617_586_092_855_6]);
    }
}
