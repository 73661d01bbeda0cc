//! A few measurements of the same thing in three numbers.

/// The median of a sample, and how far it reaches.
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Of at least one value.
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

    /// Per cent of the median between the smallest and the largest value.
    pub(crate) fn noise(&self) -> f64 {
        100.0 * (self.max - self.min) / self.median
    }
}
