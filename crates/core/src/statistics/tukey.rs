//! Comparison of all pairs of several systems over the same queries: Tukey's honestly significant
//! difference after a two-way analysis of variance, and its randomised version (Carterette 2012).

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

use super::settings::Settings;
use crate::number::real_length;

/// Maximum number of trials of the randomised test.
const MAX_TRIALS: u32 = 10_000;

/// Minimum number of trials of the randomised test.
const MIN_TRIALS: u32 = 1000;

/// Number of scores that all trials together shuffle, about.
const WORK: u32 = 100_000_000;

/// Rounding error of a mean, and of the deviations from it, relative to the scores.
const ROUNDING: f64 = 1e-12;

/// Stream of the random number generator, another than those of the other methods.
const STREAM: u64 = 3;

/// Steps of an integral; an even number.
const STEPS: u16 = 240;

/// Degrees of freedom from which the variance counts as known.
const MANY: f64 = 5000.0;

/// Comparison of all pairs of systems.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllPairs {
    /// Number of random trials.
    pub trials: u32,
    /// Results by pair: positions of the systems, the second after the first.
    pub pairs: Vec<PairOfSystems>,
}

impl AllPairs {
    /// Compares all pairs of systems. `scores` are the scores of each query, one of each system. `None` with
    /// fewer than two queries or systems, and for numbers that are too large.
    pub fn of(scores: &[Vec<f64>], settings: &Settings) -> Option<Self> {
        let systems = scores.first()?.len();
        let queries = scores.len();
        if queries < 2 || systems < 2 || scores.iter().any(|row| row.len() != systems) {
            return None;
        }
        let (n, k) = (real_length(queries), real_length(systems));
        let mean_of = |system: usize| scores.iter().map(|row| row[system]).sum::<f64>() / n;
        let means: Vec<f64> = (0..systems).map(mean_of).collect();
        let grand = means.iter().sum::<f64>() / k;
        let mut squares = 0.0;
        for row in scores {
            let of_query = row.iter().sum::<f64>() / k;
            for (score, of_system) in row.iter().zip(&means) {
                squares += (score - of_query - of_system + grand).powi(2);
            }
        }
        let freedom = (n - 1.0) * (k - 1.0);
        let error = (squares / freedom / n).sqrt();
        let largest = scores
            .iter()
            .flatten()
            .fold(0.0, |largest: f64, it| largest.max(it.abs()));
        let varies = error > ROUNDING * largest;
        if !error.is_finite() || !grand.is_finite() {
            return None;
        }
        let ranges = ranges(scores, settings);
        let trials = u32::try_from(ranges.len()).unwrap_or(u32::MAX);
        let mut pairs = Vec::new();
        for a in 0..systems {
            for b in a + 1..systems {
                let difference = means[b] - means[a];
                let threshold = difference.abs() - ROUNDING * means[a].abs().max(means[b].abs());
                let extreme = ranges.iter().filter(|range| **range >= threshold).count();
                pairs.push(PairOfSystems {
                    a,
                    b,
                    difference,
                    p_tukey: varies.then(|| range_exceeds(difference.abs() / error, k, freedom)),
                    p_randomised: (real_length(extreme) + 1.0) / (f64::from(trials) + 1.0),
                });
            }
        }
        Some(AllPairs { trials, pairs })
    }
}

/// Comparison of two of several systems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairOfSystems {
    /// Position of the first system.
    pub a: usize,
    /// Position of the second system.
    pub b: usize,
    /// Mean of the second system minus that of the first.
    pub difference: f64,
    /// p of Tukey's honestly significant difference. `None` without variance.
    pub p_tukey: Option<f64>,
    /// p of the randomised test.
    pub p_randomised: f64,
}

/// Returns the range of the means of the systems in each trial, in which the scores of each query are
/// shuffled among the systems.
fn ranges(scores: &[Vec<f64>], settings: &Settings) -> Vec<f64> {
    let systems = scores.first().map_or(0, Vec::len);
    let size = u32::try_from(scores.len() * systems).unwrap_or(u32::MAX);
    let trials = (WORK / size.max(1)).clamp(MIN_TRIALS, MAX_TRIALS);
    let trials = trials.min(settings.permutations.max(1));
    let mut chance = ChaCha8Rng::seed_from_u64(settings.seed);
    chance.set_stream(STREAM);
    let mut sums = vec![0.0; systems];
    let mut shuffled = vec![0.0; systems];
    let range = |_| {
        sums.fill(0.0);
        for row in scores {
            shuffled.copy_from_slice(row);
            shuffled.shuffle(&mut chance);
            for (sum, score) in sums.iter_mut().zip(&shuffled) {
                *sum += score;
            }
        }
        let highest = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = sums.iter().copied().fold(f64::INFINITY, f64::min);
        (highest - lowest) / real_length(scores.len())
    };
    (0..trials).map(range).collect()
}

/// Probability that the studentised range of `k` means with `freedom` degrees of freedom is at least `q`.
fn range_exceeds(q: f64, k: f64, freedom: f64) -> f64 {
    let within = if freedom > MANY {
        range_below(q, k)
    } else {
        // Density of the estimated standard deviation over the true one.
        let constant = freedom / 2.0 * (freedom / 2.0).ln() - ln_gamma(freedom / 2.0) + 2_f64.ln();
        let density = |s: f64| (constant + (freedom - 1.0) * s.ln() - freedom * s * s / 2.0).exp();
        let width = 8.0 / (2.0 * freedom).sqrt();
        let (low, high) = (
            (1.0 - width).max(1e-6),
            1.0 + width.max(0.5) + 2.0 / freedom,
        );
        integral(low, high, |s| density(s) * range_below(q * s, k))
    };
    (1.0 - within).clamp(0.0, 1.0)
}

/// Probability that the range of `k` standard normal numbers is below `w`.
fn range_below(w: f64, k: f64) -> f64 {
    let density = |z: f64| (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let inside = |z: f64| density(z) * (normal(z) - normal(z - w)).max(0.0).powf(k - 1.0);
    (k * integral(-8.0, 8.0, inside)).min(1.0)
}

/// Distribution function of the standard normal distribution.
fn normal(z: f64) -> f64 {
    erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

/// Integral by Simpson's rule.
fn integral(from: f64, to: f64, of: impl Fn(f64) -> f64) -> f64 {
    let step = (to - from) / f64::from(STEPS);
    let sum: f64 = (0..=STEPS)
        .map(|at| {
            let weight = match at {
                0 | STEPS => 1.0,
                at if at % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * of(from + step * f64::from(at))
        })
        .sum();
    sum * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::range_exceeds;

    #[test]
    fn the_studentised_range_has_the_quantiles_of_published_tables() {
        // Upper 5 % points.
        for (q, k, freedom) in [
            (3.877, 3.0, 10.0),
            (4.232, 5.0, 20.0),
            (3.356, 3.0, 120.0),
            (3.314, 3.0, 1e9),
            (3.633, 4.0, 1e9),
            (6.085, 2.0, 2.0),
        ] {
            let p = range_exceeds(q, k, freedom);
            assert!((p - 0.05).abs() < 2e-4, "{q} {k} {freedom}: {p}");
        }
    }
}
