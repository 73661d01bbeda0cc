//! Anytime-valid confidence bounds of a mean: the means that a test does not reject.

/// Number of bisection steps. More steps do not improve a floating-point bound.
const BISECTION_STEPS: u32 = 50;

/// First step away from the mean.
const FIRST_STEP: f64 = 1e-6;

/// Returns the number nearest to `mean`, in the direction of `limit`, that `rejects` accepts as
/// rejected; `limit` if there is none. The search starts at the mean and doubles its step, because
/// far from the mean the evidence need not be monotone.
pub(super) fn bisect(mean: f64, limit: f64, rejects: impl Fn(f64) -> bool) -> f64 {
    let width = limit - mean;
    let (mut accepted, mut step) = (0.0, FIRST_STEP.min(width.abs()));
    let at = |distance: f64| mean + distance * width.signum();
    while !rejects(at(step)) {
        if step >= width.abs() {
            return limit;
        }
        accepted = step;
        step = (2.0 * step).min(width.abs());
    }
    let mut rejected = step;
    for _ in 0..BISECTION_STEPS {
        let middle = f64::midpoint(accepted, rejected);
        if rejects(at(middle)) {
            rejected = middle;
        } else {
            accepted = middle;
        }
    }
    at(rejected)
}
