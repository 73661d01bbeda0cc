//! Statistics of a test in the data formats of a comparison.

use serde::Serialize;

use crate::compare::MeasureComparison;

/// One statistic. An undefined one is `null` in JSON.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
pub(super) enum Statistic {
    Number(Option<f64>),
    Interval(Option<[f64; 2]>),
    Count(usize),
}

/// Statistics of a test with their names in JSON, in order.
pub(super) fn statistics(of: &MeasureComparison) -> [(&'static str, Statistic); 13] {
    use Statistic::{Count, Interval, Number};
    let paired = &of.paired;
    [
        ("a", Number(paired.a)),
        ("b", Number(paired.b)),
        ("difference", Number(paired.difference)),
        // Difference / mean of the first run.
        ("relative", Number(of.relative())),
        ("t", Number(paired.t)),
        ("p", Number(paired.p)),
        ("p_permutation", Number(paired.p_permutation)),
        ("p_holm", Number(of.p_holm)),
        ("d_z", Number(paired.d_z)),
        ("d_av", Number(paired.d_av)),
        ("ci95", Interval(paired.ci95)),
        ("bca95", Interval(paired.bca95)),
        ("n", Count(paired.n)),
    ]
}
