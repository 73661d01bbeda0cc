//! Sample ratio mismatch test: traffic of an experiment against its declared split.
//!
//! The evidence is the Bayes factor of a Dirichlet-multinomial against the declared multinomial.
//! The test is anytime-valid (Lindon and Malek 2022, "Anytime-valid inference for multinomial count
//! data"). If the traffic is not split as declared, searches are being lost, and differences
//! between the arms are meaningless.

use statrs::function::gamma::ln_gamma;

use crate::number::real;

/// Concentration of the Dirichlet prior around the declared split.
const CONCENTRATION: f64 = 100.0;

/// Returns the log evidence against `shares`, the declared split of the traffic, given the number
/// of searches of each arm. Shares are relative to their sum. `None` unless the number of shares
/// equals the number of counts and all shares are finite, none is negative and one is above 0.
/// Infinite if an arm with a share of 0 has searches.
pub fn split_log_evidence(counts: &[u64], shares: &[f64]) -> Option<f64> {
    let whole: f64 = shares.iter().sum();
    let usable = shares.iter().all(|share| *share >= 0.0) && whole.is_finite() && whole > 0.0;
    if counts.len() != shares.len() || !usable {
        return None;
    }
    let mut evidence = 0.0;
    let mut all = 0.0;
    for (count, share) in counts.iter().zip(shares) {
        let (count, share) = (real(*count), share / whole);
        if count <= 0.0 {
            continue;
        }
        if share <= 0.0 {
            return Some(f64::INFINITY);
        }
        let prior = CONCENTRATION * share;
        evidence += ln_gamma(prior + count) - ln_gamma(prior) - count * share.ln();
        all += count;
    }
    Some(evidence + ln_gamma(CONCENTRATION) - ln_gamma(CONCENTRATION + all) + 0.0)
}
