//! Sums of scores in a window or a pane of it.

use serde::{Deserialize, Serialize};

use super::recent::{Recent, Row, Rows};
use crate::engine::fixed::Nano;
use crate::engine::remap::RowRemap;
use crate::engine::series::Series;
use crate::engine::settings::Settings;
use crate::engine::window::{Pane, Progress, Windows};
use crate::number::real;
use crate::time::EventTime;

/// Number of panes in a window of scores. The time resolution of a rolling mean is 1/60 of the
/// window.
pub(super) const SCORE_PANES: i64 = 60;

/// Sum of the scores of one series and measure in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Number of searches with a score.
    pub count: u64,
    /// Sum of the scores in units of 10⁻⁹.
    pub sum: i128,
}

impl Cell {
    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Mean score, or `None` for an empty cell.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| Nano::sum_to_f64(self.sum) / real(self.count))
    }
}

/// Rows of cells, one row for each series that has scores. A pane of a second has few of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cells {
    /// Series of the rows, ascending.
    series: Vec<Series>,
    cells: Vec<Cell>,
}

impl Cells {
    /// Rows by series: that of the first series, the second, and so on. `None` for a series without
    /// scores; trailing ones are left out.
    pub(crate) fn by_series(&self) -> impl Iterator<Item = Option<&[Cell]>> {
        let mut rows = self.rows().peekable();
        let length = self.series.last().map_or(0, |last| last.index() + 1);
        (0..length).map(move |number| {
            let row = rows.next_if(|(series, _)| series.index() == number);
            row.map(|(_, row)| row)
        })
    }

    /// Rows with their series, ascending.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Series, &[Cell])> + Clone {
        let rows = self.cells.chunks(self.width().max(1));
        self.series.iter().copied().zip(rows)
    }

    /// Number of columns; 0 without rows.
    fn width(&self) -> usize {
        self.cells.len().checked_div(self.series.len()).unwrap_or(0)
    }

    /// Returns saved rows with the numbers of this process.
    pub(super) fn remap(&self, ids: &RowRemap<'_>) -> Self {
        let rows = self.rows();
        let rows = rows.filter_map(|(series, row)| Some((ids.series(series)?, row)));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable_by_key(|(series, _)| *series);
        let mut now = Self::default();
        // Several saved series can have become one.
        for rows in rows.chunk_by(|a, b| a.0 < b.0) {
            now.add_rows(ids.width, rows.iter().copied(), |mine, theirs| {
                ids.merge_row(mine, theirs, Cell::merge);
            });
        }
        now
    }

    /// Adds the sums of a pane.
    pub(super) fn add(&mut self, rows: &Rows) {
        if self.series.is_empty() {
            *self = Self::of(rows);
            return;
        }
        self.add_rows(rows.width(), rows.iter(), |cells, row| {
            for (cell, sums) in cells.iter_mut().zip(cells_of(row)) {
                cell.merge(&sums);
            }
        });
    }

    /// Sums of a pane.
    fn of(rows: &Rows) -> Self {
        let series: Vec<Series> = rows.iter().map(|(series, _)| series).collect();
        let mut cells = Vec::with_capacity(series.len() * rows.width());
        for (_, row) in rows.iter() {
            cells.extend(cells_of(row));
        }
        Self { series, cells }
    }

    /// Calls `add` with the row of each series and what is to be added to it. The series are
    /// ascending.
    pub(super) fn add_rows<R>(
        &mut self,
        width: usize,
        rows: impl Iterator<Item = (Series, R)> + Clone,
        add: impl Fn(&mut [Cell], R),
    ) {
        self.insert_missing(width, rows.clone().map(|(series, _)| series));
        let mine = self.cells.chunks_mut(width.max(1));
        let mut mine = self.series.iter().zip(mine);
        for (series, row) in rows {
            if let Some((_, cells)) = mine.find(|(it, _)| **it == series) {
                add(cells, row);
            }
        }
    }

    /// Inserts empty rows for those of the series, ascending, that have none.
    fn insert_missing(&mut self, width: usize, series: impl Iterator<Item = Series>) {
        let mut known = self.series.iter().copied().peekable();
        let missing = series.filter(|it| {
            while known.next_if(|known| known < it).is_some() {}
            known.peek() != Some(it)
        });
        let missing: Vec<Series> = missing.collect();
        if missing.is_empty() {
            return;
        }
        let old = std::mem::take(self);
        let all = old.series.len() + missing.len();
        self.series.reserve_exact(all);
        self.cells.reserve_exact(all * width);
        let mut missing = missing.into_iter().peekable();
        let mut insert_below = |this: &mut Self, end: Option<Series>| {
            while let Some(series) = missing.next_if(|it| end.is_none_or(|end| *it < end)) {
                this.series.push(series);
                let length = this.cells.len() + width;
                this.cells.resize(length, Cell::default());
            }
        };
        for (series, row) in old.rows() {
            insert_below(self, Some(series));
            self.series.push(series);
            self.cells.extend_from_slice(row);
        }
        insert_below(self, None);
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.series.capacity() * size_of::<Series>() + self.cells.capacity() * size_of::<Cell>()
    }
}

/// Cells of a row, by column.
fn cells_of(row: Row<'_>) -> impl Iterator<Item = Cell> {
    let columns = row.counts.iter().zip(row.sums);
    columns.map(|(count, sum)| Cell {
        count: u64::from(*count),
        sum: i128::from(*sum),
    })
}

impl Pane for Cells {
    fn merge(&mut self, other: &Self) {
        self.add_rows(other.width(), other.rows(), |mine, theirs| {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                mine.merge(theirs);
            }
        });
    }
}

/// Rolling sums by series and column. A series without values has no row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RollingSums {
    #[serde(skip)]
    recent: Recent,
    windows: Windows<Cells>,
}

impl RollingSums {
    /// Creates empty sums of `columns`.
    pub(super) fn new(columns: usize, settings: &Settings) -> Self {
        let windows = Windows::new(settings, SCORE_PANES);
        Self {
            recent: Recent::new(columns, windows.common_pane(), windows.pane_lengths()),
            windows,
        }
    }

    /// Adds the values (column and value) of one search to each of its series.
    pub(super) fn record(&mut self, at: EventTime, series: &[Series], values: &[(usize, Nano)]) {
        if !self.recent.has_room(series, values) {
            self.flush();
        }
        self.recent.add(at, series, values);
    }

    /// Adds the recent values to the windows.
    pub(super) fn flush(&mut self) {
        let windows = &mut self.windows;
        self.recent
            .drain(|window, at, rows| windows.record_in(window, at, |cells| cells.add(rows)));
    }

    /// Returns true if the windows have all values.
    pub(super) fn is_flushed(&self) -> bool {
        self.recent.is_empty()
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.recent.bytes() + self.windows.bytes(Cells::bytes)
    }

    /// Returns saved sums with the numbers of this process, in the windows of `now`.
    pub(super) fn remap(&self, now: Self, ids: &RowRemap<'_>) -> Self {
        Self {
            recent: now.recent,
            windows: self.windows.remap(now.windows, |pane| pane.remap(ids)),
        }
    }

    /// Advances the windows to `progress`.
    pub(super) fn advance_to(&mut self, progress: Progress) {
        self.windows.advance_to(progress);
    }

    /// Returns a copy for exposition.
    pub(super) fn summed(&self) -> Self {
        Self {
            recent: Recent::default(),
            windows: self.windows.summed(),
        }
    }

    /// Adds other sums of the same columns.
    pub(super) fn merge(&mut self, other: &Self) {
        self.windows.merge(&other.windows);
    }

    /// Sums of window `index` of the settings by column, for each series.
    pub(super) fn rows(&self, index: usize) -> impl Iterator<Item = Option<&[Cell]>> {
        rows_of(&self.windows, index)
    }
}

/// Sums of window `index` by column, for each series; `None` for a series without values in the window.
/// Trailing ones may be missing.
pub(super) fn rows_of(
    windows: &Windows<Cells>,
    index: usize,
) -> impl Iterator<Item = Option<&[Cell]>> {
    let window = windows.iter().nth(index);
    window
        .into_iter()
        .flat_map(|window| window.sum().by_series())
}
