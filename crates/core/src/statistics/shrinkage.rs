//! Empirical Bayes estimates of many units at once, each with few observations: scores of queries, or
//! their changes.
//!
//! The true values of the units are modelled as normal with the variance τ², which the units
//! themselves state (method of moments of DerSimonian and Laird, Controlled Clinical Trials 7, 1986).
//! An observed value shrinks towards the centre by the share of its variance that is noise. Where the
//! units differ by no more than their noise (Cochran's Q, one in a thousand), τ² is 0 and every change is
//! estimated as 0. The more units there are, the less any single outlier counts, so many units need no
//! correction of their own.
//!
//! The variance within a unit is moderated: it counts as if the variance within all units had been
//! observed in it [`PRIOR_FREEDOM`] times more (Smyth, Statistical Applications in Genetics and
//! Molecular Biology 3, 2004). A few equal scores are therefore no proof of a constant one.

use crate::number::{real, real_length};

/// Degrees of freedom of the variance within all units in that of one unit.
const PRIOR_FREEDOM: f64 = 4.0;

/// Quantile of the normal distribution that a share of 0.0005 exceeds: intervals have 99.9 %. Tables are
/// looked at again and again, and a change that is shown once has to be one.
const QUANTILE: f64 = 3.290_526_731_491_926;

/// Number of standard errors from which all units have changed together. Few units have a long-tailed
/// error.
const COMMON_ERRORS: f64 = 4.5;

/// Lowest variance of a mean: scores are multiples of 10⁻⁹.
const MIN_VARIANCE: f64 = 1e-18;

/// Number, mean and variance of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Number of observations.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Sum of the squared deviations from it.
    pub squares: f64,
}

impl Sample {
    /// Unbiased variance; `None` for fewer than two observations.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / self.freedom())
    }

    fn freedom(&self) -> f64 {
        real(self.count.saturating_sub(1))
    }
}

/// Estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shrunken {
    /// Estimate, between the observed value and the centre.
    pub estimate: f64,
    /// Interval that has the true value with a probability of 99.9 %.
    pub interval: [f64; 2],
}

impl Shrunken {
    /// Estimates the changes of the means from `before` to `now`, one pair a unit. A unit without
    /// observations on a side has none.
    ///
    /// The centre is 0: without evidence, nothing has changed. If the units change together beyond noise, the
    /// centre is their mean change.
    pub fn changes(units: &[(Sample, Sample)]) -> Vec<Option<Self>> {
        let observed: Vec<Option<Observed>> = units
            .iter()
            .map(|(before, now)| {
                let is_complete = before.count > 0 && now.count > 0;
                is_complete.then(|| Observed {
                    value: now.mean - before.mean,
                    within: (
                        before.squares + now.squares,
                        before.freedom() + now.freedom(),
                    ),
                    factor: 1.0 / real(before.count) + 1.0 / real(now.count),
                })
            })
            .collect();
        let (mean, error) = common(&observed).unwrap_or_default();
        let is_common = mean.abs() > COMMON_ERRORS * error;
        shrink(
            &observed,
            if is_common {
                Centre::Mean
            } else {
                Centre::Zero
            },
        )
    }

    /// Estimates the means of the units. `within` is the sample that states the variance within a unit: the
    /// unit itself, or a part of its observations. The centre is the mean of the units.
    pub fn means(units: &[(Sample, Sample)]) -> Vec<Option<Self>> {
        let observed: Vec<Option<Observed>> = units
            .iter()
            .map(|(unit, within)| {
                (unit.count > 0).then(|| Observed {
                    value: unit.mean,
                    within: (within.squares, within.freedom()),
                    factor: 1.0 / real(unit.count),
                })
            })
            .collect();
        shrink(&observed, Centre::Mean)
    }
}

/// Observed value of a unit.
#[derive(Clone, Copy, Debug)]
struct Observed {
    value: f64,
    /// Sum of the squared deviations within the unit, with its degrees of freedom.
    within: (f64, f64),
    /// Variance of the value as a multiple of the variance within the unit.
    factor: f64,
}

/// Value that the estimates shrink towards.
#[derive(Clone, Copy, PartialEq)]
enum Centre {
    Zero,
    Mean,
}

/// Variance of the value of a unit; `None` if no unit has a repeated observation, because nothing is known
/// about the noise then.
fn moderated_variance(units: &[Option<Observed>]) -> Option<impl Fn(&Observed) -> f64> {
    let known = units.iter().flatten();
    let (squares, freedom) = known.fold((0.0, 0.0), |(squares, freedom), unit| {
        (squares + unit.within.0, freedom + unit.within.1)
    });
    let pooled = (freedom > 0.0).then(|| squares / freedom)?;
    Some(move |unit: &Observed| {
        let (squares, freedom) = unit.within;
        let whole = PRIOR_FREEDOM + freedom;
        let moderated = (PRIOR_FREEDOM * pooled + squares) / whole;
        // The inverse of an estimated variance is too large on average.
        let correction = 1.0 + 2.0 * freedom / whole.powi(2);
        (moderated * correction * unit.factor).max(MIN_VARIANCE)
    })
}

/// Mean of weighted values.
fn mean_by(weights: &[(f64, f64)]) -> f64 {
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let weighted = weights.iter().map(|(value, weight)| value * weight);
    weighted.sum::<f64>() / sum
}

/// Unweighted mean of the values with its standard error, in which their differences count as well.
fn common(units: &[Option<Observed>]) -> Option<(f64, f64)> {
    let values: Vec<f64> = units.iter().flatten().map(|unit| unit.value).collect();
    let number = real_length(values.len());
    let variance = moderated_variance(units)?;
    let noise: f64 = units.iter().flatten().map(variance).sum::<f64>() / number.powi(2);
    let mean = values.iter().sum::<f64>() / number;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let spread = squares / (number - 1.0).max(1.0) / number;
    mean.is_finite().then(|| (mean, noise.max(spread).sqrt()))
}

/// Quantile of χ² that a share of 0.001 exceeds (Wilson and Hilferty, Proceedings of the National Academy
/// of Sciences 17, 1931).
fn highest_chi_squared(freedom: f64) -> f64 {
    const NORMAL: f64 = 3.090_232_306_167_813;
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + NORMAL * spread.sqrt()).powi(3)
}

fn shrink(units: &[Option<Observed>], centre: Centre) -> Vec<Option<Shrunken>> {
    let known = || units.iter().flatten();
    let Some(variance) = moderated_variance(units) else {
        return vec![None; units.len()];
    };
    let weights = known().map(|unit| (unit.value, 1.0 / variance(unit)));
    let weights: Vec<(f64, f64)> = weights.collect();
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let fixed = match centre {
        Centre::Zero => 0.0,
        Centre::Mean => mean_by(&weights),
    };
    let excess: f64 = weights
        .iter()
        .map(|(value, weight)| weight * (value - fixed).powi(2) - 1.0)
        .sum();
    let concentration: f64 = weights.iter().map(|(_, weight)| weight * weight).sum();
    let number = real_length(weights.len());
    let (excess, scale) = match centre {
        Centre::Zero => (excess, total),
        Centre::Mean => (excess + 1.0, total - concentration / total),
    };
    // A mean of its own is no claim, a change is one.
    let is_shown = centre == Centre::Mean || excess > highest_chi_squared(number) - number;
    let between = if scale > 0.0 && is_shown {
        (excess / scale).max(0.0)
    } else {
        0.0
    };
    let (middle, of_middle) = match centre {
        Centre::Zero => (0.0, 0.0),
        Centre::Mean => {
            let weights: Vec<(f64, f64)> = weights
                .iter()
                .map(|(value, weight)| (*value, 1.0 / (1.0 / weight + between)))
                .collect();
            let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
            (mean_by(&weights), 1.0 / total)
        }
    };
    let estimates = units.iter().map(|unit| {
        let unit = unit.as_ref()?;
        let noise = variance(unit);
        let kept = between / (between + noise);
        let estimate = middle + kept * (unit.value - middle);
        let error = (kept * noise + (1.0 - kept).powi(2) * of_middle).sqrt();
        let half = QUANTILE * error;
        (estimate.is_finite() && half.is_finite()).then_some(Shrunken {
            estimate,
            interval: [estimate - half, estimate + half],
        })
    });
    estimates.collect()
}
