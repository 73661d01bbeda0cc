//! Settings of the randomised methods, and their limits.

use serde::Serialize;

/// Settings of the randomised methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Seed of the random numbers: equal seeds give equal results.
    pub seed: u64,
    /// Number of random sign patterns in the permutation test, if there are too many patterns to
    /// evaluate all.
    pub permutations: u32,
    /// Number of bootstrap resamples; at least 1.
    pub bootstraps: u32,
}

impl Settings {
    /// Maximum number of non-zero differences for which all patterns of signs are evaluated (2^20).
    pub const MAX_EXACT_DIFFERENCES: usize = 20;
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            permutations: 100_000,
            bootstraps: 10_000,
        }
    }
}
