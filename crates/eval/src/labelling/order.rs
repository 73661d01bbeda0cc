//! Order of the rows of a sample: successive sampling proportional to size, so that every prefix of
//! the order is a valid sample.

use sha2::{Digest as _, Sha256};

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
    (rankgauge_core::number::real(first >> 11) + 0.5) / STEPS
}

/// Time of the exponential clock of a row with this size. Infinite without a size.
pub fn clock(uniform: f64, size: f64) -> f64 {
    if size > 0.0 {
        -uniform.ln() / size
    } else {
        f64::INFINITY
    }
}

/// Indexes of the rows by ascending clock; equal clocks keep the order of the rows.
pub fn order_of(clocks: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..clocks.len()).collect();
    order.sort_by(|a, b| clocks[*a].total_cmp(&clocks[*b]));
    order
}
