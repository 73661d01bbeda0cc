//! What searches scored: sums since the start, and rolling ones.
//!
//! Column 0 of every row counts the searches themselves, with a score of 1 for those that had a
//! gold query: its count is the number of searches, its mean the coverage of the gold set. Column
//! i + 1 belongs to measure i of the settings.

use serde::{Deserialize, Serialize};

use crate::engine::fixed::{NANO_DECIMALS, Nano, count_to_f64, units_to_f64};
use crate::engine::registry::{Family, Series};
use crate::engine::state::{Renumbering, Rows, same_windows};
use crate::engine::table::{self, row};
use crate::engine::window::{Pane, Progress, Window};
use crate::measure::micro::{self, Documents};
use crate::measure::{Cutoff, Measure};
use crate::time::{EventTime, Millis};

/// The column that counts searches.
pub const SEARCHES: usize = 0;

/// The column of measure `index` of the settings.
pub fn column_of(index: usize) -> usize {
    index + 1
}

/// Scores of one series and measure since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// How many searches had a score.
    pub count: u64,
    /// Sum of the scores in units of 10⁻⁹; it falls where scores are negative.
    pub sum: i128,
    /// Sum of their squares in units of 10⁻¹⁸.
    pub squares: i128,
}

/// Scores of one series and measure in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// How many searches had a score.
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

    /// The mean score; `None` for an empty cell.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| units_to_f64(self.sum, NANO_DECIMALS) / count_to_f64(self.count))
    }
}

/// Rows of cells, one row a series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
        table::merge(&mut self.0, &other.0, Cell::merge);
    }
}

/// All scores of one worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scores {
    shape: Shape,
    tallies: Vec<Tally>,
    negatives: Vec<i128>,
    documents: Vec<Documents>,
    windows: Vec<Window<Cells>>,
}

/// What the columns of score tables are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Shape {
    /// Columns of a row of tallies.
    columns: usize,
    /// The columns whose scores can be negative, ascending.
    signed: Vec<usize>,
    /// The cutoffs at which documents are counted, ascending.
    cutoffs: Vec<Cutoff>,
}

impl Scores {
    /// No scores yet of `measures`, in `windows`.
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

    /// The cutoffs at which documents are counted.
    pub fn cutoffs(&self) -> &[Cutoff] {
        &self.shape.cutoffs
    }

    /// Counts the `scores` (column and value) of one search in each of its `series`, in the panes
    /// of time `at`.
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

    /// Counts the `documents` of one search, by cutoff, in each of its `series`.
    pub fn record_documents(&mut self, series: &[Series], documents: &[Documents]) {
        for &series in series {
            let row = row(&mut self.documents, series, self.shape.cutoffs.len());
            for (sum, part) in row.iter_mut().zip(documents) {
                *sum += *part;
            }
        }
    }

    /// Adds what an earlier process counted. Its columns stand where they stand in `saved`, and go
    /// where measures of the same name stand now.
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

    /// Moves the windows to where time is.
    pub fn follow(&mut self, progress: Progress) {
        for window in &mut self.windows {
            window.follow(progress);
        }
    }

    /// What each window spans, and how many panes it holds.
    pub(super) fn windows(&self) -> impl Iterator<Item = (Millis, usize)> {
        self.windows
            .iter()
            .map(|window| (window.length(), window.panes()))
    }

    /// What is exposed of the scores.
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

/// Scores as they are exposed: additive over workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoreTotals {
    shape: Shape,
    tallies: Vec<Tally>,
    negatives: Vec<i128>,
    documents: Vec<Documents>,
    windows: Vec<Cells>,
}

impl ScoreTotals {
    /// Adds another worker's scores.
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

    /// The columns whose scores can be negative, ascending.
    pub fn signed(&self) -> &[usize] {
        &self.shape.signed
    }

    /// What the negative scores of a series and a column of [`signed`](Self::signed), by its
    /// position there, add up to, as a positive number in units of 10⁻⁹.
    pub fn negative(&self, series: usize, position: usize) -> i128 {
        let index = series * self.shape.signed.len() + position;
        self.negatives.get(index).copied().unwrap_or_default()
    }

    /// The cutoffs at which documents are counted, ascending.
    pub fn cutoffs(&self) -> &[Cutoff] {
        &self.shape.cutoffs
    }

    /// Documents by cutoff, a row for each series; rows may be missing at the end.
    pub fn document_rows(&self) -> impl Iterator<Item = &[Documents]> {
        self.documents.chunks(self.shape.cutoffs.len().max(1))
    }

    /// Sums since the start, a row of columns for each series.
    pub fn rows(&self) -> impl Iterator<Item = &[Tally]> {
        self.tallies.chunks(self.shape.columns.max(1))
    }

    /// Rolling sums of window `index` of the settings, a row of columns for each series.
    pub fn window_rows(&self, index: usize) -> impl Iterator<Item = &[Cell]> {
        self.windows
            .get(index)
            .into_iter()
            .flat_map(|cells| cells.rows(self.shape.columns.max(1)))
    }
}
