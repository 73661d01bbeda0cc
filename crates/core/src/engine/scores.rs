//! Scores of searches: sums since the start, and rolling sums.
//!
//! Column 0 of every row counts the searches themselves: the score is 1 for a search with a gold
//! query and 0 otherwise. Its count is the number of searches; its mean is the coverage of the gold
//! set among them. Column 1 counts those that are not eligible, which the coverage leaves out. Column
//! i + 2 belongs to measure i of the settings.

mod cells;
mod recent;

use serde::{Deserialize, Serialize};

use crate::engine::family::{self, Table};
use crate::engine::fixed::Nano;
use crate::engine::remap::{IdRemap, RowRemap};
use crate::engine::score_column::column_of;
use crate::engine::series::Series;
use crate::engine::settings::Settings;
use crate::engine::table::{self, row};
use crate::engine::window::{Progress, Windows};
use crate::measure::Documents;
use crate::measure::{Cutoff, Measure};
use crate::number::real;
use crate::time::{EventTime, Millis};
pub use cells::Cell;
pub(super) use cells::Cells;
use cells::{RollingSums, SCORE_PANES};
use recent::Recent;

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

impl Tally {
    /// Mean score, or `None` without scores.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| Nano::sum_to_f64(self.sum) / real(self.count))
    }

    fn add(&mut self, score: i64) {
        let score = i128::from(score);
        self.count += 1;
        self.sum += score;
        // A square is below 2^126. With scores up to 1, 10^20 searches fit; beyond the range the sum
        // stays at its maximum, because a counter must not decrease.
        self.squares = self.squares.saturating_add(score * score);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }
}

/// Scores of judged searches, and documents at cutoffs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    shape: Shape,
    /// Empty in a copy for exposition or for a checkpoint.
    #[serde(skip)]
    recent: Recent,
    tallies: Vec<Tally>,
    negatives: Vec<i128>,
    documents: Vec<Documents>,
    windows: Windows<Cells>,
    /// Differences from the scores if every unjudged result was relevant, by column. Searches without
    /// a difference are left out.
    unjudged: RollingSums,
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
    /// Creates empty scores.
    pub(super) fn new(settings: &Settings) -> Self {
        let measures = &settings.measures;
        let signed =
            |(index, measure): (usize, &Measure)| measure.is_signed().then(|| column_of(index));
        let windows = Windows::new(settings, SCORE_PANES);
        Self {
            recent: Recent::new(
                column_of(measures.len()),
                windows.common_pane(),
                windows.pane_lengths(),
            ),
            shape: Shape {
                columns: column_of(measures.len()),
                signed: measures.iter().enumerate().filter_map(signed).collect(),
                cutoffs: Documents::cutoffs(measures),
            },
            tallies: Vec::new(),
            negatives: Vec::new(),
            documents: Vec::new(),
            windows,
            unjudged: RollingSums::new(column_of(measures.len()), settings),
        }
    }

    /// Cutoffs at which documents are counted, ascending.
    pub fn cutoffs(&self) -> &[Cutoff] {
        &self.shape.cutoffs
    }

    /// Adds the `scores` (column and value) of one search at time `at` to each of its `series`.
    pub fn record(&mut self, at: EventTime, series: &[Series], scores: &[(usize, Nano)]) {
        if !self.shape.signed.is_empty() {
            let negative = scores.iter().filter(|(_, score)| score.get() < 0);
            for &(column, score) in negative {
                self.record_negative(series, column, score);
            }
        }
        if !self.recent.has_room(series, scores) {
            self.flush();
        }
        self.recent.add(at, series, scores);
    }

    /// Adds the differences (column and value) that the unjudged results of one search could make.
    pub(super) fn record_unjudged(
        &mut self,
        at: EventTime,
        series: &[Series],
        differences: &[(usize, Nano)],
    ) {
        if !differences.is_empty() {
            self.unjudged.record(at, series, differences);
        }
    }

    /// Adds the recent scores to the sums and the windows.
    pub(super) fn flush(&mut self) {
        for (series, scores) in self.recent.iter() {
            for &series in series {
                let row = row(&mut self.tallies, series, self.shape.columns);
                for &(column, score) in scores {
                    row[column].add(score.get());
                }
            }
        }
        let windows = &mut self.windows;
        self.recent
            .drain(|window, at, rows| windows.record_in(window, at, |cells| cells.add(rows)));
        self.unjudged.flush();
    }

    /// Returns a copy for a checkpoint.
    pub(super) fn flushed(&self) -> Self {
        let mut copy = self.clone();
        copy.flush();
        copy
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let tallies = self.tallies.len() * size_of::<Tally>();
        let documents = self.documents.len() * size_of::<Documents>();
        let windows = self.windows.bytes(Cells::bytes) + self.unjudged.bytes();
        tallies + documents + self.recent.bytes() + windows
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

    /// Clears retired series. Their windows are empty, because they were idle for longer.
    pub(super) fn retire(&mut self, retired: &[(Table, Series)]) {
        self.flush();
        let of_scores = retired
            .iter()
            .filter(|(it, _)| Some(*it) == family::SCORE.table());
        for (_, series) in of_scores {
            table::clear(&mut self.tallies, *series, self.shape.columns);
            table::clear(&mut self.negatives, *series, self.shape.signed.len());
            table::clear(&mut self.documents, *series, self.shape.cutoffs.len());
        }
    }

    /// Returns saved scores with the numbers of this process. A saved column becomes the current
    /// column of the measure with the same name.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let now = Self::new(ids.settings);
        let Some(table) = family::SCORE.table() else {
            return now;
        };
        let shape = now.shape;
        let current = |column: &usize| ids.columns.get(*column).copied().flatten();
        let signed = |column| shape.signed.binary_search(&current(column)?).ok();
        let signed: Vec<_> = self.shape.signed.iter().map(signed).collect();
        let cutoff = |cutoff| shape.cutoffs.binary_search(cutoff).ok();
        let cutoffs: Vec<_> = self.shape.cutoffs.iter().map(cutoff).collect();
        let rows = |width: usize, columns| RowRemap {
            ids,
            table,
            width,
            columns,
        };
        let of_measures = rows(shape.columns, &ids.columns);
        let of_signed = rows(shape.signed.len(), &signed);
        let of_cutoffs = rows(shape.cutoffs.len(), &cutoffs);
        Self {
            recent: now.recent,
            tallies: of_measures.remap(&self.tallies, Tally::merge),
            negatives: of_signed.remap(&self.negatives, |mine, theirs| *mine += theirs),
            documents: of_cutoffs.remap(&self.documents, |mine, theirs| *mine += *theirs),
            windows: self
                .windows
                .remap(now.windows, |pane| pane.remap(&of_measures)),
            unjudged: self.unjudged.remap(now.unjudged, &of_measures),
            shape,
        }
    }

    /// Advances the windows to `progress`.
    pub(super) fn advance_to(&mut self, progress: Progress) {
        self.flush();
        self.windows.advance_to(progress);
        self.unjudged.advance_to(progress);
    }

    /// Length and number of panes of each window.
    pub(super) fn windows(&self) -> impl Iterator<Item = (Millis, usize)> {
        let windows = self.windows.iter();
        windows.map(|window| (window.length(), window.panes()))
    }

    /// Length of each window and of its panes.
    pub fn pane_lengths(&self) -> impl Iterator<Item = (Millis, Millis)> {
        let windows = self.windows.iter();
        windows.map(|window| (window.length(), Millis(window.pane_length())))
    }

    /// Returns a copy for exposition.
    pub(super) fn summed(&self) -> Self {
        if !self.recent.is_empty() || !self.unjudged.is_flushed() {
            return self.flushed().summed();
        }
        Self {
            shape: self.shape.clone(),
            recent: Recent::default(),
            tallies: self.tallies.clone(),
            negatives: self.negatives.clone(),
            documents: self.documents.clone(),
            windows: self.windows.summed(),
            unjudged: self.unjudged.summed(),
        }
    }

    /// Adds other scores of the same measures.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self {
            shape,
            recent: _,
            tallies,
            negatives,
            documents,
            windows,
            unjudged,
        } = other;
        if self.shape.columns == 0 {
            self.shape.clone_from(shape);
        }
        table::merge(&mut self.tallies, tallies, Tally::merge);
        table::merge(&mut self.negatives, negatives, |mine, theirs| {
            *mine += theirs;
        });
        table::merge(&mut self.documents, documents, |mine, theirs| {
            *mine += *theirs;
        });
        self.windows.merge(windows);
        self.unjudged.merge(unjudged);
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

    /// Documents by cutoff, one row for each series. Trailing rows may be missing.
    pub fn document_rows(&self) -> impl Iterator<Item = &[Documents]> {
        self.documents.chunks(self.shape.cutoffs.len().max(1))
    }

    /// Sums since the start by column, one row for each series.
    pub fn rows(&self) -> impl Iterator<Item = &[Tally]> {
        self.tallies.chunks(self.shape.columns.max(1))
    }

    /// Rolling sums of window `index` of the settings by column, for each series; `None` for a series
    /// without scores in the window. Trailing ones may be missing.
    pub fn window_rows(&self, index: usize) -> impl Iterator<Item = Option<&[Cell]>> {
        cells::rows_of(&self.windows, index)
    }

    /// Rolling sums of the differences that unjudged results could make, as
    /// [`window_rows`](Self::window_rows).
    pub fn unjudged_rows(&self, index: usize) -> impl Iterator<Item = Option<&[Cell]>> {
        self.unjudged.rows(index)
    }
}
