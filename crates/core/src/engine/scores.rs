//! Scores of searches: sums since the start, and rolling sums.
//!
//! Column 0 of every row counts the searches themselves: the score is 1 for a search with a gold
//! query and 0 otherwise. Its count is the number of searches; its mean is the coverage of the gold
//! set. Column i + 1 belongs to measure i of the settings.

use serde::{Deserialize, Serialize};

use crate::engine::fixed::{NANO_DECIMALS, Nano, count_to_f64, units_to_f64};
use crate::engine::registry::{Family, Series};
use crate::engine::state::{Renumbering, Rows, same_windows};
use crate::engine::table::{self, row};
use crate::engine::window::{Pane, Progress, Window};
use crate::measure::micro::{self, Documents};
use crate::measure::{Cutoff, Measure};
use crate::time::{EventTime, Millis};

/// Column that counts searches.
pub const SEARCHES: usize = 0;

/// Returns the column of measure `index` of the settings.
pub fn column_of(index: usize) -> usize {
    index + 1
}

/// Sums of the scores of one series and measure since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Number of searches with a score.
    pub count: u64,
    /// Sum of the scores in units of 10⁻⁹. Negative scores decrease it.
    pub sum: i128,
    /// Sum of the squared scores in units of 10⁻¹⁸.
    pub squares: i128,
}

/// Sum of the scores of one series and measure in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Number of searches with a score.
    pub count: u64,
    /// Sum of the scores in units of 10⁻⁹.
    pub sum: i128,
}

impl Tally {
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

impl Cell {
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Mean score, or `None` for an empty cell.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| units_to_f64(self.sum, NANO_DECIMALS) / count_to_f64(self.count))
    }
}

/// Rows of cells, one row for each series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cells(Vec<Cell>);

impl Cells {
    /// Cells by series and column. Trailing rows without scores may be missing.
    pub fn rows(&self, columns: usize) -> impl Iterator<Item = &[Cell]> {
        self.0.chunks(columns)
    }

    fn row(&mut self, series: Series, columns: usize) -> &mut [Cell] {
        row(&mut self.0, series, columns)
    }
}

impl Pane for Cells {
    fn merge(&mut self, other: &Self) {
        table::merge(&mut self.0, &other.0, Cell::merge);
    }
}

/// Scores of one worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scores {
    shape: Shape,
    tallies: Vec<Tally>,
    negatives: Vec<i128>,
    documents: Vec<Documents>,
    windows: Vec<Window<Cells>>,
}

/// Layout of the columns of score tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Shape {
    /// Number of columns in a row of tallies.
    columns: usize,
    /// Columns whose scores can be negative, ascending.
    signed: Vec<usize>,
    /// Cutoffs at which documents are counted, ascending.
    cutoffs: Vec<Cutoff>,
}

impl Scores {
    /// Creates empty scores for `measures` with the given `windows`.
    pub fn new(measures: &[Measure], windows: Vec<Window<Cells>>) -> Self {
        let signed =
            |(index, measure): (usize, &Measure)| measure.is_signed().then(|| column_of(index));
        Self {
            shape: Shape {
                columns: measures.len() + 1,
                signed: measures.iter().enumerate().filter_map(signed).collect(),
                cutoffs: micro::cutoffs(measures),
            },
            tallies: Vec::new(),
            negatives: Vec::new(),
            documents: Vec::new(),
            windows,
        }
    }

    /// Cutoffs at which documents are counted, ascending.
    pub fn cutoffs(&self) -> &[Cutoff] {
        &self.shape.cutoffs
    }

    /// Adds the `scores` (column and value) of one search at time `at` to each of its `series`.
    pub fn record(&mut self, at: EventTime, series: &[Series], scores: &[(usize, Nano)]) {
        let columns = self.shape.columns;
        for &series in series {
            let row = row(&mut self.tallies, series, columns);
            for &(column, score) in scores {
                let score = i128::from(score.get());
                let tally = &mut row[column];
                tally.count += 1;
                tally.sum += score;
                tally.squares += score * score;
            }
        }
        let negative = scores.iter().filter(|(_, score)| score.get() < 0);
        for &(column, score) in negative {
            self.record_negative(series, column, score);
        }
        for window in &mut self.windows {
            window.record(at, |cells| {
                for &series in series {
                    let row = cells.row(series, columns);
                    for &(column, score) in scores {
                        row[column].count += 1;
                        row[column].sum += i128::from(score.get());
                    }
                }
            });
        }
    }

    fn record_negative(&mut self, series: &[Series], column: usize, score: Nano) {
        let Ok(position) = self.shape.signed.binary_search(&column) else {
            return;
        };
        for &series in series {
            let row = row(&mut self.negatives, series, self.shape.signed.len());
            row[position] -= i128::from(score.get());
        }
    }

    /// Adds the `documents` of one search, by cutoff, to each of its `series`.
    pub fn record_documents(&mut self, series: &[Series], documents: &[Documents]) {
        for &series in series {
            let row = row(&mut self.documents, series, self.shape.cutoffs.len());
            for (sum, part) in row.iter_mut().zip(documents) {
                *sum += *part;
            }
        }
    }

    /// Adds the scores that an earlier process saved. Each saved column is added to the current
    /// column of the measure with the same name.
    pub(super) fn restore(&mut self, saved: &Self, renumbering: &Renumbering) {
        let columns = &renumbering.columns;
        let of_new = |column: &usize| columns.get(*column).copied().flatten();
        let signed = |column| self.shape.signed.binary_search(&of_new(column)?).ok();
        let signed: Vec<_> = saved.shape.signed.iter().map(signed).collect();
        let cutoff = |cutoff| self.shape.cutoffs.binary_search(cutoff).ok();
        let cutoffs: Vec<_> = saved.shape.cutoffs.iter().map(cutoff).collect();
        let shape = &self.shape;
        let of = |width: usize, columns| Rows {
            renumbering,
            family: Family::Scores,
            width,
            columns,
        };
        of(shape.columns, columns).add(&mut self.tallies, &saved.tallies, Tally::merge);
        of(shape.signed.len(), &signed).add(
            &mut self.negatives,
            &saved.negatives,
            |mine, theirs| *mine += theirs,
        );
        of(shape.cutoffs.len(), &cutoffs).add(
            &mut self.documents,
            &saved.documents,
            |mine, theirs| *mine += *theirs,
        );
        let scores = of(shape.columns, columns);
        for (mine, theirs) in same_windows(&mut self.windows, &saved.windows) {
            mine.restore(theirs, |pane| {
                let mut cells = Cells::default();
                scores.add(&mut cells.0, &pane.0, Cell::merge);
                cells
            });
        }
    }

    /// Advances the windows to `progress`.
    pub fn follow(&mut self, progress: Progress) {
        for window in &mut self.windows {
            window.follow(progress);
        }
    }

    /// Length and number of panes of each window.
    pub(super) fn windows(&self) -> impl Iterator<Item = (Millis, usize)> {
        self.windows
            .iter()
            .map(|window| (window.length(), window.panes()))
    }

    /// Returns a snapshot of the scores, for exposition.
    pub fn totals(&self) -> ScoreTotals {
        ScoreTotals {
            shape: self.shape.clone(),
            tallies: self.tallies.clone(),
            negatives: self.negatives.clone(),
            documents: self.documents.clone(),
            windows: self.windows.iter().map(Window::total).collect(),
        }
    }
}

/// Snapshot of the scores, additive over workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoreTotals {
    shape: Shape,
    tallies: Vec<Tally>,
    negatives: Vec<i128>,
    documents: Vec<Documents>,
    windows: Vec<Cells>,
}

impl ScoreTotals {
    /// Adds the scores of another worker.
    pub fn merge(&mut self, other: &Self) {
        if self.shape.columns == 0 {
            self.shape = other.shape.clone();
        }
        table::merge(&mut self.tallies, &other.tallies, Tally::merge);
        table::merge(&mut self.negatives, &other.negatives, |mine, theirs| {
            *mine += theirs;
        });
        table::merge(&mut self.documents, &other.documents, |mine, theirs| {
            *mine += *theirs;
        });
        table::merge(&mut self.windows, &other.windows, Pane::merge);
    }

    /// Columns whose scores can be negative, ascending.
    pub fn signed(&self) -> &[usize] {
        &self.shape.signed
    }

    /// Absolute sum of the negative scores of a series, in units of 10⁻⁹. `position` is the
    /// position of the column in [`signed`](Self::signed).
    pub fn negative(&self, series: usize, position: usize) -> i128 {
        let index = series * self.shape.signed.len() + position;
        self.negatives.get(index).copied().unwrap_or_default()
    }

    /// Cutoffs at which documents are counted, ascending.
    pub fn cutoffs(&self) -> &[Cutoff] {
        &self.shape.cutoffs
    }

    /// Documents by cutoff, one row for each series. Trailing rows may be missing.
    pub fn document_rows(&self) -> impl Iterator<Item = &[Documents]> {
        self.documents.chunks(self.shape.cutoffs.len().max(1))
    }

    /// Sums since the start by column, one row for each series.
    pub fn rows(&self) -> impl Iterator<Item = &[Tally]> {
        self.tallies.chunks(self.shape.columns.max(1))
    }

    /// Rolling sums of window `index` of the settings by column, one row for each series.
    pub fn window_rows(&self, index: usize) -> impl Iterator<Item = &[Cell]> {
        self.windows
            .get(index)
            .into_iter()
            .flat_map(|cells| cells.rows(self.shape.columns.max(1)))
    }
}
