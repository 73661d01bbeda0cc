//! Paired t-test of the null hypothesis that the mean of the differences is 0.
//!
//! The test is Student's t with n - 1 degrees of freedom, two-sided. It uses only the differences,
//! not the scores.

use statrs::distribution::{Continuous as _, ContinuousCDF as _, StudentsT};

use super::sample::{finite, mean, standard_deviation};
use crate::number::real_length;

/// Probability of both tails outside a 95 % interval.
const OUTSIDE: f64 = 0.05;

/// Results of the test. A result is `None` if it is undefined.
pub(super) struct TTest {
    pub(super) t: Option<f64>,
    pub(super) p: Option<f64>,
    pub(super) ci95: Option<[f64; 2]>,
}

/// Tests varying differences.
pub(super) fn t_test(differences: &[f64]) -> TTest {
    let n = real_length(differences.len());
    let centre = mean(differences.iter().copied());
    let error = standard_deviation(differences) / n.sqrt();
    let t = finite(centre / error);
    let student = StudentsT::new(0.0, 1.0, n - 1.0).ok();
    let both = t.zip(student);
    TTest {
        t,
        p: both.and_then(|(t, student)| finite((2.0 * student.sf(t.abs())).min(1.0))),
        ci95: both.and_then(|(_, student)| {
            let half = quantile(&student, OUTSIDE) * error;
            Some([finite(centre - half)?, finite(centre + half)?])
        }),
    }
}

/// Returns the interval of the mean with the probability `outside` of both tails, from its 95 % interval.
pub(super) fn interval_at(outside: f64, n: usize, [low, high]: [f64; 2]) -> Option<[f64; 2]> {
    let student = StudentsT::new(0.0, 1.0, real_length(n) - 1.0).ok()?;
    let factor = quantile(&student, outside) / quantile(&student, OUTSIDE);
    let (centre, half) = (f64::midpoint(low, high), (high - low) / 2.0 * factor);
    Some([finite(centre - half)?, finite(centre + half)?])
}

/// Returns the critical t: the probability of a larger absolute value is `outside`. One step of
/// Newton's method improves the quantile of statrs to the precision of its distribution function.
fn quantile(student: &StudentsT, outside: f64) -> f64 {
    let start = student.inverse_cdf(1.0 - outside / 2.0);
    start + (student.sf(start) - outside / 2.0) / student.pdf(start)
}
