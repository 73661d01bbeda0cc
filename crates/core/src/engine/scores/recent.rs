//! Recent scores: searches that are not yet added to the sums and the windows.
//!
//! Searches of different partitions have different times, and the rows of all their series and panes
//! are larger than the processor's caches. Recent scores are therefore kept search by search, and
//! added in the order of their panes: first to the rows of one short pane, whose sums are then added
//! to a longer one, and so on.

use std::cmp::Reverse;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::engine::fixed::Nano;
use crate::engine::series::Series;
use crate::time::EventTime;

/// Maximum number of recent scores, unless one search has more: a megabyte.
const MAX_SCORES: usize = 1 << 16;
/// Maximum number of their series.
const MAX_SERIES: usize = 1 << 17;
/// Number of bits of a score, without its sign, so that the sum of as many scores as there can be
/// series fits into 64 bits: a score up to 70,000.
const MAX_BITS: u32 = 46;

/// Scores of searches that are not yet added.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recent {
    searches: Vec<Search>,
    /// Series of all searches, one after the other.
    series: Vec<Series>,
    /// Columns and scores of all searches, one after the other.
    scores: Vec<(usize, Nano)>,
    /// Bits that any score has, without its sign.
    bits: u64,
    /// Panes by length, shortest first, at least one. Empty unless scores are being added.
    levels: Vec<Level>,
}

/// Pane of a search in the first level, and its parts of the lists.
#[derive(Clone, Debug, PartialEq)]
struct Search {
    pane: i64,
    series: Range<usize>,
    scores: Range<usize>,
}

/// One pane at a time, of one length.
#[derive(Clone, Debug, Default, PartialEq)]
struct Level {
    /// Length of the panes. It divides that of the next level.
    length: i64,
    /// Positions of the windows that are made of panes of this length.
    windows: Vec<usize>,
    /// Number of the pane.
    number: i64,
    rows: Rows,
}

/// Numbers and sums of the scores of one pane, one row for each series that has any.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rows {
    /// Number of columns.
    width: usize,
    positions: FxHashMap<Series, usize>,
    /// Series with the positions of their rows.
    series: Vec<(Series, usize)>,
    counts: Vec<u32>,
    sums: Vec<i64>,
}

/// Row of a series: the number and the sum of the scores by column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) counts: &'a [u32],
    pub(super) sums: &'a [i64],
}

impl Default for Recent {
    fn default() -> Self {
        Self::new(0, 1_000, std::iter::empty())
    }
}

impl Recent {
    /// Creates a list for scores of `columns`, and for windows with panes of these lengths. `common`
    /// divides all of them.
    pub(super) fn new(columns: usize, common: i64, windows: impl Iterator<Item = i64>) -> Self {
        let level = |length| Level {
            length,
            rows: Rows {
                width: columns,
                ..Rows::default()
            },
            ..Level::default()
        };
        let mut levels = vec![level(common)];
        for (position, length) in windows.enumerate() {
            let longest = levels.last().map_or(common, |level| level.length);
            if length > longest && length % longest == 0 {
                levels.push(level(length));
            }
            let mut parts = levels.iter_mut().rev();
            if let Some(part) = parts.find(|level| length % level.length == 0) {
                part.windows.push(position);
            }
        }
        Self {
            searches: Vec::new(),
            series: Vec::new(),
            scores: Vec::new(),
            bits: 0,
            levels,
        }
    }

    /// Returns true if the scores of a search can be added to its series.
    pub(super) fn has_room(&self, series: &[Series], scores: &[(usize, Nano)]) -> bool {
        let bits = self.bits | bits_of(scores);
        let is_summable = u64::BITS - bits.leading_zeros() <= MAX_BITS;
        let has_space = self.scores.len() + scores.len() <= MAX_SCORES
            && self.series.len() + series.len() <= MAX_SERIES;
        // One search alone is added in any case.
        self.searches.is_empty() || (has_space && is_summable)
    }

    /// Adds the scores of a search.
    pub(super) fn add(&mut self, at: EventTime, series: &[Series], scores: &[(usize, Nano)]) {
        let (first_series, first_score) = (self.series.len(), self.scores.len());
        self.series.extend_from_slice(series);
        self.scores.extend_from_slice(scores);
        self.bits |= bits_of(scores);
        self.searches.push(Search {
            pane: at.0.div_euclid(self.levels[0].length),
            series: first_series..self.series.len(),
            scores: first_score..self.scores.len(),
        });
    }

    /// Returns true if there are no scores.
    pub(super) fn is_empty(&self) -> bool {
        self.searches.is_empty()
    }

    /// Series and scores by search.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[Series], &[(usize, Nano)])> {
        self.searches.iter().map(|search| self.parts(search))
    }

    fn parts(&self, search: &Search) -> (&[Series], &[(usize, Nano)]) {
        let series = self.series.get(search.series.clone());
        let scores = self.scores.get(search.scores.clone());
        (series.unwrap_or_default(), scores.unwrap_or_default())
    }

    /// Removes all scores, and calls `receive` with the position of a window, the start of a pane and
    /// its sums, for each window and pane. Newer panes come first, because a window ignores what is
    /// too old.
    pub(super) fn drain(&mut self, mut receive: impl FnMut(usize, EventTime, &Rows)) {
        let mut levels = std::mem::take(&mut self.levels);
        let newest_first = |search: &Search| Reverse(search.pane);
        if !self.searches.is_sorted_by_key(newest_first) {
            self.searches.sort_unstable_by_key(newest_first);
        }
        for search in &self.searches {
            let rows = enter(&mut levels, search.pane, &mut receive);
            let (series, scores) = self.parts(search);
            for &series in series {
                let (counts, sums) = rows.row_mut(series);
                for &(column, score) in scores {
                    counts[column] += 1;
                    // Only one search alone, counted in one series several times, could saturate it.
                    sums[column] = sums[column].saturating_add(score.get());
                }
            }
        }
        for level in 0..levels.len() {
            close(&mut levels[level..], &mut receive);
        }
        self.levels = levels;
        self.searches.clear();
        self.series.clear();
        self.scores.clear();
        self.bits = 0;
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.levels.iter().map(|level| level.rows.counts.capacity());
        self.searches.capacity() * size_of::<Search>()
            + self.series.capacity() * size_of::<Series>()
            + self.scores.capacity() * size_of::<(usize, Nano)>()
            + rows.sum::<usize>() * (size_of::<u32>() + size_of::<i64>())
    }
}

/// Bits that any score has, without its sign.
fn bits_of(scores: &[(usize, Nano)]) -> u64 {
    let scores = scores.iter();
    scores.fold(0, |bits, (_, score)| bits | score.get().unsigned_abs())
}

/// Returns the rows of a pane of the first level, after those of another one are passed on.
fn enter<'a>(
    levels: &'a mut [Level],
    number: i64,
    receive: &mut impl FnMut(usize, EventTime, &Rows),
) -> &'a mut Rows {
    if levels[0].number != number {
        close(levels, receive);
        levels[0].number = number;
    }
    &mut levels[0].rows
}

/// Passes the rows of the first level on to its windows and to the next level.
fn close(levels: &mut [Level], receive: &mut impl FnMut(usize, EventTime, &Rows)) {
    let Some((level, longer)) = levels.split_first_mut() else {
        return;
    };
    let rows = &mut level.rows;
    if rows.series.is_empty() {
        return;
    }
    rows.series.sort_unstable();
    let start = level.number.saturating_mul(level.length);
    for window in &level.windows {
        receive(*window, EventTime(start), rows);
    }
    if let Some(next) = longer.first() {
        let number = start.div_euclid(next.length);
        enter(longer, number, receive).merge(rows);
    }
    rows.clear();
}

impl Rows {
    /// Number of columns.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Counts and sums of a series, by column.
    fn row_mut(&mut self, series: Series) -> (&mut [u32], &mut [i64]) {
        let width = self.width;
        let position = *self.positions.entry(series).or_insert_with(|| {
            let position = self.series.len();
            self.series.push((series, position));
            self.counts.resize((position + 1) * width, 0);
            self.sums.resize((position + 1) * width, 0);
            position
        });
        let row = position * width..(position + 1) * width;
        (&mut self.counts[row.clone()], &mut self.sums[row])
    }

    /// Rows in the order of their series.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Series, Row<'_>)> + Clone {
        self.series.iter().map(|(series, position)| {
            let row = position * self.width..(position + 1) * self.width;
            let row = Row {
                counts: &self.counts[row.clone()],
                sums: &self.sums[row],
            };
            (*series, row)
        })
    }

    fn merge(&mut self, other: &Self) {
        for (series, theirs) in other.iter() {
            let (counts, sums) = self.row_mut(series);
            for (mine, theirs) in counts.iter_mut().zip(theirs.counts) {
                *mine += theirs;
            }
            for (mine, theirs) in sums.iter_mut().zip(theirs.sums) {
                *mine += theirs;
            }
        }
    }

    fn clear(&mut self) {
        self.positions.clear();
        self.series.clear();
        self.counts.clear();
        self.sums.clear();
    }
}
