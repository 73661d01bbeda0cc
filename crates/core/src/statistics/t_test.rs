//! The paired t-test: is the mean of the differences 0?
//!
//! Student's t with n - 1 degrees of freedom, two-sided. It knows differences only.

use statrs::distribution::{Continuous as _, ContinuousCDF as _, StudentsT};

use super::{Interval, finite, mean, real, standard_deviation};

/// The probability in both tails outside a 95 % interval.
const OUTSIDE: f64 = 0.05;

/// What the test says; each `None` where it is undefined.
pub(super) struct TTest {
    pub(super) t: Option<f64>,
    pub(super) p: Option<f64>,
    pub(super) ci95: Option<Interval>,
}

/// Tests differences that vary.
pub(super) fn t_test(differences: &[f64]) -> TTest {
    let n = real(differences.len());
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

/// The t beyond which, in either direction, lies the probability `outside`. One step of Newton's
/// method takes statrs' quantile to the precision of its distribution function.
fn quantile(student: &StudentsT, outside: f64) -> f64 {
    let start = student.inverse_cdf(1.0 - outside / 2.0);
    start + (student.sf(start) - outside / 2.0) / student.pdf(start)
}
