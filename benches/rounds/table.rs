//! Tables of repeated measurements, one line a program.

use crate::spread::Spread;

/// Width of the name of a line.
const NAME: usize = 44;

/// Prints the heading of a table.
pub(crate) fn print_heading(title: &str) {
    println!(
        "\n{title:NAME$}{:>12}{:>12}{:>12}{:>9}",
        "median", "min", "max", "spread"
    );
}

/// Prints median, minimum, maximum and spread of a value over the rounds. Returns the median.
pub(crate) fn print_row(name: &str, values: &[f64], decimals: usize) -> f64 {
    let spread = Spread::of(values.to_vec());
    let noise = spread.noise();
    let Spread { median, min, max } = spread;
    println!(
        "{name:NAME$}{median:>12.decimals$}{min:>12.decimals$}{max:>12.decimals$}{noise:>8.1}%"
    );
    median
}

/// Quotients of two values of the same round.
pub(crate) fn ratios(numerators: &[f64], denominators: &[f64]) -> Vec<f64> {
    let pairs = numerators.iter().zip(denominators);
    pairs.map(|(one, other)| one / other).collect()
}
