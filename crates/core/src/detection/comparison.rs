//! Baseline of a comparison.

/// Number of repeat windows between two local comparisons of a query.
pub(super) const LOCAL_WINDOWS: i64 = 2;

/// Mean of the earlier scores of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    /// Mean.
    pub mean: f64,
    /// Number of scores; at least 1.
    pub scores: u32,
}

impl Baseline {
    /// Factor of the stakes: n/(n + 1), because the baseline has the error of n scores.
    pub(super) fn trust(self) -> f64 {
        let scores = f64::from(self.scores);
        scores / (scores + 1.0)
    }
}
