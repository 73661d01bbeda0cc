//! Comparison of two systems over the same queries.

use super::sample::{finite, mean};
use super::settings::Settings;
use super::{bootstrap, effect, permutation, t_test};
use crate::number::real_length;

/// Results of the paired comparison of two systems over the same queries. Differences are second
/// minus first.
///
/// | scores | defined results |
/// |---|---|
/// | no query | none |
/// | the same for every query | difference 0, t 0, every p 1, effects 0, intervals \[0, 0\] |
/// | one query, different | means, difference, `p_permutation` (1) |
/// | every query differs by the same amount | all except `t`, `d_z` (infinite) and `p`; intervals of length 0 |
/// | otherwise | all, unless a number is too large to square |
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Paired {
    /// Number of queries.
    pub n: usize,
    /// Mean of the first system.
    pub a: Option<f64>,
    /// Mean of the second system.
    pub b: Option<f64>,
    /// Mean of the differences.
    pub difference: Option<f64>,
    /// Student's t of the paired t-test.
    pub t: Option<f64>,
    /// Two-sided p of the paired t-test, n - 1 degrees of freedom. Undefined if the differences do not vary.
    pub p: Option<f64>,
    /// Two-sided p of the sign-flip permutation test.
    pub p_permutation: Option<f64>,
    /// Cohen's d of paired differences: mean difference / standard deviation of the differences
    /// (Lakens 2013, equation 6).
    pub d_z: Option<f64>,
    /// Cohen's d: mean difference / mean of the two systems' standard deviations (Lakens 2013,
    /// equation 10).
    pub d_av: Option<f64>,
    /// 95 % confidence interval of the mean difference by Student's t, lower end first.
    pub ci95: Option<[f64; 2]>,
    /// 95 % confidence interval of the mean difference by the bias-corrected and accelerated
    /// bootstrap (Efron 1987).
    pub bca95: Option<[f64; 2]>,
    /// Skewness of the differences: third central moment / standard deviation³.
    pub skewness: Option<f64>,
}

/// Skewness above which differences count as skewed.
const SKEWED: f64 = 1.0;

impl Paired {
    /// Number of queries from which the t-test holds for skewed differences. From it, the random draws
    /// decide nothing.
    pub const MIN_SKEWED: usize = 30;

    /// Compares the pairs (first, second). Their order affects only the random draws: the same pairs in
    /// the same order give the same results.
    pub fn of(scores: &[(f64, f64)], settings: &Settings) -> Self {
        let n = scores.len();
        if n == 0 {
            return Paired::default();
        }
        let differences: Vec<f64> = scores.iter().map(|(a, b)| b - a).collect();
        let mean_difference = mean(differences.iter().copied());
        let d_av = effect::d_av(scores, mean_difference);
        let means = Paired {
            n,
            a: finite(mean(scores.iter().map(|(a, _)| *a))),
            b: finite(mean(scores.iter().map(|(_, b)| *b))),
            difference: finite(mean_difference),
            ..Paired::default()
        };
        match spread(scores, &differences) {
            Spread::None => Paired {
                difference: Some(0.0),
                t: Some(0.0),
                p: Some(1.0),
                p_permutation: Some(1.0),
                d_z: Some(0.0),
                d_av: Some(0.0),
                ci95: Some([0.0, 0.0]),
                bca95: Some([0.0, 0.0]),
                ..means
            },
            Spread::Constant | Spread::Varying if n == 1 => Paired {
                p_permutation: permutation::p(&differences, settings),
                ..means
            },
            Spread::Constant => {
                let point = finite(mean_difference).map(|mean| [mean, mean]);
                Paired {
                    p_permutation: Some(permutation::p_of_equal(n)),
                    d_av,
                    ci95: point,
                    bca95: point,
                    ..means
                }
            }
            Spread::Varying => {
                let test = t_test::t_test(&differences);
                Paired {
                    t: test.t,
                    p: test.p,
                    p_permutation: permutation::p(&differences, settings),
                    d_z: effect::d_z(&differences),
                    d_av,
                    ci95: test.ci95,
                    bca95: bootstrap::bca95(&differences, settings),
                    skewness: effect::skewness(&differences),
                    ..means
                }
            }
        }
    }

    /// Returns true if the differences are skewed, and the queries too few for the t-test to hold.
    pub fn is_skewed(&self) -> bool {
        let is_skewed = self.skewness.is_some_and(|it| it.abs() > SKEWED);
        is_skewed && self.n < Self::MIN_SKEWED
    }

    /// Confidence interval of the mean difference by Student's t, which leaves out the true one with the
    /// probability `outside`.
    pub fn interval_at(&self, outside: f64) -> Option<[f64; 2]> {
        let ends = self.ci95?;
        if ends[0] >= ends[1] {
            return Some(ends);
        }
        t_test::interval_at(outside, self.n, ends)
    }

    /// p of the test that decides: the t-test, or the permutation test if the differences are skewed or
    /// do not vary.
    pub fn deciding_p(&self) -> Option<f64> {
        if self.is_decided_by_permutation() {
            self.p_permutation
        } else {
            self.p
        }
    }

    fn is_decided_by_permutation(&self) -> bool {
        self.is_skewed() || self.p.is_none()
    }

    /// Smallest p that the deciding test can have with so many queries: all signs are equal in two of 2ⁿ
    /// permutations. 0 if the t-test decides.
    pub fn smallest_p(&self) -> f64 {
        if self.is_decided_by_permutation() {
            (1.0 - real_length(self.n)).exp2()
        } else {
            0.0
        }
    }

    /// Returns true if every query has the same score in both systems.
    pub fn identical(&self) -> bool {
        self.n > 0 && self.difference == Some(0.0) && self.p == Some(1.0) && self.d_z == Some(0.0)
    }
}

/// Variation of the differences.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spread {
    /// All differences are 0.
    None,
    /// All differences are the same number, which is not 0.
    Constant,
    /// The differences vary.
    Varying,
}

/// Classifies the variation of the differences, with a tolerance for the rounding of a subtraction:
/// 0.4 - 0.3 and 0.3 - 0.2 are the same difference.
fn spread(scores: &[(f64, f64)], differences: &[f64]) -> Spread {
    let magnitudes = scores.iter().map(|(a, b)| a.abs().max(b.abs()));
    let rounding = 4.0 * f64::EPSILON * magnitudes.fold(0.0, f64::max);
    let lowest = differences.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = differences
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    if lowest.abs().max(highest.abs()) <= rounding {
        Spread::None
    } else if highest - lowest <= rounding {
        Spread::Constant
    } else {
        Spread::Varying
    }
}
