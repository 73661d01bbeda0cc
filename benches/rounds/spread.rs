//! Summary of repeated measurements: median, minimum and maximum.

/// Median, minimum and maximum of a sample.
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Returns the spread of at least one value.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Self {
            median,
            min: values[0],
            max: values[values.len() - 1],
        }
    }

    /// Range between the minimum and the maximum, in per cent of the median.
    pub(crate) fn noise(&self) -> f64 {
        100.0 * (self.max - self.min) / self.median
    }
}
