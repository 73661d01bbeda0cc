//! Targets of the benchmarks, printed beside the measured values. A missed target is reported, not
//! an error: times depend on the machine.

/// Bound of a measured value.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "most benchmarks have bounds of one kind")]
pub(crate) enum Goal {
    /// The value should not be higher.
    AtMost(f64),
    /// The value should not be lower.
    AtLeast(f64),
}

impl Goal {
    /// Prints a value with its target and the result of the comparison.
    pub(crate) fn print(self, name: &str, value: f64, unit: &str) {
        let (sign, bound, is_met) = match self {
            Self::AtMost(bound) => ("≤", bound, value <= bound),
            Self::AtLeast(bound) => ("≥", bound, value >= bound),
        };
        let result = if is_met { "met" } else { "MISSED" };
        println!("target: {name}: {value:.2} {unit} (target {sign} {bound} {unit}): {result}");
    }
}
