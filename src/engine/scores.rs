//! What searches scored: sums since the start, and rolling ones.
//!
//! Column 0 of every row counts the searches themselves, with a score of 1 for those that had a
//! gold query: its count is the number of searches, its mean the coverage of the gold set. Column
//! i + 1 belongs to measure i of the settings.

use crate::engine::fixed::{NANO_DECIMALS, Nano, count_to_f64, units_to_f64};
use crate::engine::registry::Series;
use crate::engine::table::{self, row};
use crate::engine::window::{Pane, Progress, Window};
use crate::time::EventTime;

/// The column that counts searches.
pub const SEARCHES: usize = 0;

/// The column of measure `index` of the settings.
pub fn column_of(index: usize) -> usize {
    index + 1
}

/// Scores of one series and measure since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many searches had a score.
    pub count: u64,
    /// Sum of the scores in units of 10⁻⁹.
    pub sum: i128,
    /// Sum of their squares in units of 10⁻¹⁸.
    pub squares: i128,
}

/// Scores of one series and measure in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// How many searches had a score.
    pub count: u64,
    /// Sum of the scores in units of 10⁻⁹.
    pub sum: i128,
}

impl Cell {
    /// The mean score; `None` for an empty cell.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| units_to_f64(self.sum, NANO_DECIMALS) / count_to_f64(self.count))
    }
}

/// Rows of cells, one row a series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells(Vec<Cell>);

impl Cells {
    /// The cells by series and column; rows without a score may be missing at the end.
    pub fn rows(&self, columns: usize) -> impl Iterator<Item = &[Cell]> {
        self.0.chunks(columns)
    }

    fn row(&mut self, series: Series, columns: usize) -> &mut [Cell] {
        row(&mut self.0, series, columns)
    }
}

impl Pane for Cells {
    fn merge(&mut self, other: &Self) {
        table::merge(&mut self.0, &other.0, |mine, theirs| {
            mine.count += theirs.count;
            mine.sum += theirs.sum;
        });
    }
}

/// All scores of one worker.
#[derive(Clone, Debug)]
pub struct Scores {
    columns: usize,
    tallies: Vec<Tally>,
    windows: Vec<Window<Cells>>,
}

impl Scores {
    /// No scores yet of `measures` measures, in `windows`.
    pub fn new(measures: usize, windows: Vec<Window<Cells>>) -> Self {
        Self {
            columns: measures + 1,
            tallies: Vec::new(),
            windows,
        }
    }

    /// Counts the `scores` (column and value) of one search in each of its `series`, in the panes
    /// of time `at`.
    pub fn record(&mut self, at: EventTime, series: &[Series], scores: &[(usize, Nano)]) {
        let columns = self.columns;
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

    /// Moves the windows to where time is.
    pub fn follow(&mut self, progress: Progress) {
        for window in &mut self.windows {
            window.follow(progress);
        }
    }

    /// What is exposed of the scores.
    pub fn totals(&self) -> ScoreTotals {
        ScoreTotals {
            columns: self.columns,
            tallies: self.tallies.clone(),
            windows: self.windows.iter().map(Window::total).collect(),
        }
    }
}

/// Scores as they are exposed: additive over workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoreTotals {
    columns: usize,
    tallies: Vec<Tally>,
    windows: Vec<Cells>,
}

impl ScoreTotals {
    /// Adds another worker's scores.
    pub fn merge(&mut self, other: &Self) {
        self.columns = self.columns.max(other.columns);
        table::merge(&mut self.tallies, &other.tallies, |mine, theirs| {
            mine.count += theirs.count;
            mine.sum += theirs.sum;
            mine.squares += theirs.squares;
        });
        table::merge(&mut self.windows, &other.windows, Pane::merge);
    }

    /// Sums since the start, a row of columns for each series.
    pub fn rows(&self) -> impl Iterator<Item = &[Tally]> {
        self.tallies.chunks(self.columns.max(1))
    }

    /// Rolling sums of window `index` of the settings, a row of columns for each series.
    pub fn window_rows(&self, index: usize) -> impl Iterator<Item = &[Cell]> {
        self.windows
            .get(index)
            .into_iter()
            .flat_map(|cells| cells.rows(self.columns.max(1)))
    }
}
