//! Random numbers of a simulation, from a seed.

use std::f64::consts::TAU;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Source of random numbers. Equal seeds and streams give equal numbers.
pub(super) struct Chance(ChaCha8Rng);

impl Chance {
    /// Numbers of a stream of a seed.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        chance.set_stream(stream);
        Self(chance)
    }

    /// Uniform number from 0 to 1, without 1.
    pub(super) fn uniform(&mut self) -> f64 {
        let high = f64::from(self.0.next_u32());
        let low = f64::from(self.0.next_u32() >> 11);
        (high * 2_097_152.0 + low) / 9_007_199_254_740_992.0
    }

    /// Number below `among`; 0 if `among` is 0.
    pub(super) fn below(&mut self, among: usize) -> usize {
        let among = u64::try_from(among).unwrap_or(u64::MAX);
        // The bias of a number is less than among / 2^32.
        let drawn = u64::from(self.0.next_u32()).saturating_mul(among) >> u32::BITS;
        usize::try_from(drawn).unwrap_or_default()
    }

    /// Standard normal number.
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }

    /// Exponential number with a mean.
    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    /// Geometric number from 1 on, with a mean of at least 1.
    pub(super) fn geometric(&mut self, mean: f64) -> u32 {
        let continuation = 1.0 - 1.0 / mean.max(1.0);
        let mut length = 1;
        while continuation > 0.0 && self.uniform() < continuation {
            length += 1;
        }
        length
    }

    /// Place among cumulated weights, drawn by weight.
    pub(super) fn place(&mut self, cumulated: &[f64]) -> usize {
        let drawn = self.uniform() * cumulated.last().copied().unwrap_or_default();
        let place = cumulated.partition_point(|sum| *sum <= drawn);
        place.min(cumulated.len().saturating_sub(1))
    }

    /// Numbers below `count` in random order.
    pub(super) fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for place in (1..count).rev() {
            order.swap(place, self.below(place + 1));
        }
        order
    }
}

/// Cumulated weights of the numbers below `count`.
pub(super) fn cumulated(count: u32, weight: impl Fn(f64) -> f64) -> Vec<f64> {
    let sums = (0..count).scan(0.0, |sum, number| {
        *sum += weight(f64::from(number));
        Some(*sum)
    });
    sums.collect()
}

/// Whole part of a number that is not negative, as a place in a list.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in a list in memory"
)]
pub(super) fn index(number: f64) -> usize {
    number.max(0.0) as usize
}
