//! Whether an experiment's traffic is split as declared.
//!
//! A Bayes factor of a Dirichlet-multinomial against the declared multinomial, which may be looked at
//! after every search (Lindon and Malek 2022, "Anytime-valid inference for multinomial count data").
//! Where traffic is split otherwise than declared, something loses searches, and no difference between
//! the arms means anything.

use statrs::function::gamma::ln_gamma;

use super::real;

/// How close to the declared split other splits are looked for.
pub const CONCENTRATION: f64 = 100.0;

/// The log evidence against `shares`, the declared parts of the traffic, given how many searches each
/// arm had. Shares are parts of their sum. `None` unless there are as many shares as counts, all of them
/// finite and none below 0. Infinite where an arm has searches that was declared to have none.
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
