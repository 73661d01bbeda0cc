//! Order of the rows of a sample: successive sampling proportional to size, so that every prefix of
//! the order is a valid sample.

/// Time of the exponential clock of a row with this size. Infinite without a size.
pub fn clock(uniform: f64, size: f64) -> f64 {
    if size > 0.0 {
        -uniform.ln() / size
    } else {
        f64::INFINITY
    }
}

/// Indexes of the rows by ascending clock; equal clocks keep the order of the rows.
pub fn order_of(clocks: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..clocks.len()).collect();
    order.sort_by(|a, b| clocks[*a].total_cmp(&clocks[*b]));
    order
}
