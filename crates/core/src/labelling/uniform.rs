//! Random numbers that depend on ids only.

use sha2::{Digest as _, Sha256};

use crate::number::real;

/// 2⁵³.
const STEPS: f64 = 9_007_199_254_740_992.0;

/// Random number between 0 and 1, both excluded, that depends on the seed and the two ids only.
pub fn uniform(seed: u64, query: &str, document: &str) -> f64 {
    let mut hash = Sha256::new();
    hash.update(seed.to_string());
    hash.update([0]);
    hash.update(query);
    hash.update([0]);
    hash.update(document);
    let digest = hash.finalize();
    let first = digest.iter().take(8);
    let first = first.fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    (real(first >> 11) + 0.5) / STEPS
}
