//! Loss of one search in a measure of an incident.

/// Search that is compared with what is expected of a measure and slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchLoss {
    /// Position of the measure and slice.
    pub(super) place: usize,
    /// Expected score, where higher scores are better.
    pub(super) expected: f64,
    pub(super) loss: f64,
}
