//! Targets of measures.

use rankgauge_core::measure::Measure;

/// Target of a measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// One of the measures that are computed.
    pub measure: Measure,
    /// Name of the target, such as `excellent`, `good` or `acceptable`.
    pub tier: String,
    /// Lowest mean that reaches the target, or the highest one where lower is better; finite.
    pub value: f64,
    /// Key of the value in the configuration, for messages.
    pub value_key: String,
}
