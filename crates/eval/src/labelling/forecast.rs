//! Forecast of standard errors for other numbers of labels.
//!
//! The estimate of a label varies with the size that was not labelled before it, and the estimates are
//! weighted by the inverse square of that size (`estimate`). The weights therefore contain the sizes of the
//! rows, which are their chances of an early label, and the end of the rows: after all of them, nothing is
//! left to chance.

/// Forecast for the rows of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Standard error after each number of labels, in standard deviations of the ratio of a gain to its
    /// size; 0 after all rows.
    errors: Vec<f64>,
}

impl Forecast {
    /// Forecast for rows of these sizes, in the order of their labels.
    pub fn of(sizes: &[f64]) -> Self {
        let mut remaining: Vec<f64> = Vec::with_capacity(sizes.len());
        let mut sum = 0.0;
        for size in sizes.iter().rev() {
            sum += size;
            remaining.push(sum);
        }
        let mut weights = 0.0;
        let errors = remaining.iter().rev().enumerate().map(|(at, remaining)| {
            weights += remaining.powi(-2);
            if at + 1 == sizes.len() {
                0.0
            } else {
                weights.powf(-0.5)
            }
        });
        Self {
            errors: errors.collect(),
        }
    }

    /// Standard error after this number of labels, in standard deviations.
    pub fn error(&self, labels: usize) -> f64 {
        let last = labels.max(1).min(self.errors.len());
        self.errors
            .get(last.wrapping_sub(1))
            .copied()
            .unwrap_or(0.0)
    }

    /// Number of labels from which the standard error is at most `error` standard deviations; at most all rows.
    pub fn labels_for(&self, error: f64) -> usize {
        let above = self.errors.partition_point(|it| *it > error);
        (above + 1).min(self.errors.len())
    }
}
