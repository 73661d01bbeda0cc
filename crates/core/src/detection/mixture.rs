//! Anytime-valid bounds of a sum of corrections by labels.
//!
//! The e-value and the interval are those of a normal mixture (Robbins 1970, "Statistical methods related to
//! the law of the iterated logarithm"), asymptotic in the number of corrections.

/// Sum with a known expectation under the null hypothesis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NormalMixture {
    /// Variance of the sum so far.
    variance: f64,
    /// Mixture variance, set before the first term. The interval is narrowest near 8.2 times it.
    mixture: f64,
}

impl NormalMixture {
    /// Mixture with these variances. Negative ones, by rounding, are 0.
    pub(crate) fn new(variance: f64, mixture: f64) -> Self {
        Self {
            variance: variance.max(0.0),
            mixture: mixture.max(0.0),
        }
    }

    /// Half width of the interval that contains the expectation of the sum at every time, with probability
    /// 1 - `alpha`. 0 without a mixture: nothing was drawn.
    pub(crate) fn half_width(&self, alpha: f64) -> f64 {
        let (v, r) = (self.variance, self.mixture);
        if r > 0.0 {
            ((v + r) * ((v + r) / (alpha * alpha * r)).ln()).sqrt()
        } else {
            0.0
        }
    }

    /// Log evidence (ln) that the expectation is lower than supposed, by a sum that is lower by `shortfall`.
    /// `None` without a mixture.
    pub(crate) fn log_evidence(&self, shortfall: f64) -> Option<f64> {
        let (v, r) = (self.variance, self.mixture);
        if r <= 0.0 || !shortfall.is_finite() {
            return None;
        }
        let shortfall = shortfall.max(0.0);
        let evidence = 0.5 * (r / (v + r)).ln() + 0.5 * shortfall * shortfall / (v + r);
        (!evidence.is_nan()).then_some(evidence)
    }
}
