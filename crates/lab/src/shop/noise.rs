//! Systems of the shop, and the noise that makes them different.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Systems of the A/B test: words, words and vectors (the control), and these ordered again by a model.
pub const SYSTEMS: [&str; 3] = ["keyword", "hybrid", "rerank"];
/// Noise of a system that belongs to the query, and of each search, in grades.
pub(super) const QUERY_NOISE: [f64; 3] = [1.5, 1.0, 0.6];
pub(super) const SEARCH_NOISE: [f64; 3] = [0.9, 0.75, 0.6];
/// Noise of a search with the fault of the ranking.
pub(super) const FAULT_NOISE: f64 = 2.2;

/// Standard normal number, by the Box-Muller transform.
pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    // 1 - u keeps the logarithm finite.
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}
