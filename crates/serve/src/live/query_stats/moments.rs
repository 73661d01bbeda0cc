//! Sums of the scores of a few searches, from which their mean and variance follow.

use rankgauge_core::engine::fixed::Nano;
use rankgauge_core::number::real;
use rankgauge_core::statistics::Sample;

/// Sums of scores. They are integers, so the order of adding does not change them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    count: u32,
    /// Sum in units of 10⁻⁹.
    sum: i64,
    /// Sum of the squares, each rounded to units of 10⁻⁹.
    squares: i64,
}

impl Moments {
    /// Number of scores.
    pub fn count(&self) -> u64 {
        self.count.into()
    }

    /// Mean score; `None` without any.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sample().mean)
    }

    /// Number, mean and variance.
    pub fn sample(&self) -> Sample {
        let count = real(self.count());
        let [sum, squares] = [self.sum, self.squares].map(|units| Nano::sum_to_f64(units.into()));
        if self.count == 0 {
            return Sample::default();
        }
        Sample {
            count: self.count(),
            mean: sum / count,
            squares: (squares - sum * sum / count).max(0.0),
        }
    }

    pub(super) fn add_score(&mut self, score: Nano) {
        self.count += 1;
        self.sum = self.sum.saturating_add(score.get());
        self.squares = self.squares.saturating_add(square(score));
    }

    /// Takes back a score that was added.
    pub(super) fn remove_score(&mut self, score: Nano) {
        self.count = self.count.saturating_sub(1);
        self.sum = self.sum.saturating_sub(score.get());
        self.squares = self.squares.saturating_sub(square(score));
    }

    /// Adds other sums.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
    }
}

/// Square of a score in units of 10⁻⁹. It saturates.
fn square(score: Nano) -> i64 {
    let units = i128::from(score.get());
    let square = (units * units + 500_000_000) / 1_000_000_000;
    i64::try_from(square).unwrap_or(i64::MAX)
}

/// Adds the scores of a search to the sums by column.
pub(super) fn add_scores(columns: &mut Vec<Moments>, scores: &[(usize, Nano)]) {
    let wide = scores.iter().map(|(column, _)| column + 1).max();
    widen(columns, wide.unwrap_or(0));
    for (column, score) in scores {
        columns[*column].add_score(*score);
    }
}

pub(super) fn remove_scores(columns: &mut [Moments], scores: &[(usize, Nano)]) {
    for (column, score) in scores {
        if let Some(moments) = columns.get_mut(*column) {
            moments.remove_score(*score);
        }
    }
}

pub(super) fn merge(columns: &mut Vec<Moments>, others: &[Moments]) {
    widen(columns, others.len());
    for (moments, other) in columns.iter_mut().zip(others) {
        moments.merge(other);
    }
}

fn widen(columns: &mut Vec<Moments>, width: usize) {
    if columns.len() < width {
        // No room for columns that never come.
        columns.reserve_exact(width - columns.len());
        columns.resize(width, Moments::default());
    }
}
