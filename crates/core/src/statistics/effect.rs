//! Effect sizes: differences relative to the variation of the scores.
//!
//! Lakens (2013), "Calculating and reporting effect sizes to facilitate cumulative science",
//! Frontiers in Psychology 4:863. Neither effect size includes Hedges' correction for small
//! samples.

use super::sample::{finite, mean, standard_deviation};

/// Cohen's d_z: mean difference / standard deviation of the differences (equation 6). It equals
/// t / sqrt(n). `None` if the differences do not vary.
pub(super) fn d_z(differences: &[f64]) -> Option<f64> {
    finite(mean(differences.iter().copied()) / standard_deviation(differences))
}

/// Cohen's d_av: mean difference / mean of the two standard deviations (equation 10), comparable
/// with the d of independent groups. `None` if the scores of both systems are constant.
pub(super) fn d_av(scores: &[(f64, f64)], mean_difference: f64) -> Option<f64> {
    let first: Vec<f64> = scores.iter().map(|(a, _)| *a).collect();
    let second: Vec<f64> = scores.iter().map(|(_, b)| *b).collect();
    // Constant scores can appear to vary because their mean is rounded.
    let varies = |side: &[f64]| {
        side.windows(2)
            .any(|pair| pair[0].total_cmp(&pair[1]).is_ne())
    };
    if !varies(&first) && !varies(&second) {
        return None;
    }
    finite(mean_difference / f64::midpoint(standard_deviation(&first), standard_deviation(&second)))
}

/// Skewness: third central moment, divided by the third power of the standard deviation of the numbers.
pub(super) fn skewness(numbers: &[f64]) -> Option<f64> {
    let centre = mean(numbers.iter().copied());
    let moment = |power| mean(numbers.iter().map(|it| (it - centre).powi(power)));
    finite(moment(3) / moment(2).powf(1.5))
}
