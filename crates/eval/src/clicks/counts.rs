//! Counts of impressions and clicks by pair and rank, from cleaned searches.

use rustc_hash::FxHashMap;

use super::log::{CleanLog, StoredSearch, position};
use super::model::{Cell, Harvest};
use rankgauge_core::number::real;

/// A week in milliseconds.
const WEEK: i64 = 7 * 24 * 3_600_000;

/// Pairs of query and document, numbered.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) indexes: FxHashMap<(u32, u32), usize>,
    pub(super) pairs: Vec<(u32, u32)>,
}

/// Shown result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// Index of the pair; `None` if it is not numbered.
    pub(super) pair: Option<usize>,
    /// Rank from 0.
    pub(super) rank: usize,
    /// Last clicked rank above, from 1; 0 for none.
    pub(super) last_click: usize,
    /// True if the result was clicked.
    pub(super) clicked: bool,
}

impl Pairs {
    /// All pairs of the searches.
    pub(super) fn of(log: &CleanLog) -> Self {
        let mut all = Self::default();
        for search in &log.searches {
            let documents = search.documents.iter();
            for document in documents.filter(|document| position(**document).is_some()) {
                let pair = (search.query, *document);
                let next = all.pairs.len();
                if *all.indexes.entry(pair).or_insert(next) == next {
                    all.pairs.push(pair);
                }
            }
        }
        all
    }

    /// Shown results of a search from the top.
    pub(super) fn shown(&self, search: &StoredSearch) -> impl Iterator<Item = Shown> {
        let mut last_click = 0;
        let documents = search.documents.iter().enumerate();
        documents.filter_map(move |(rank, document)| {
            position(*document)?;
            let has = |mask: u64| mask & (1 << rank) != 0;
            let clicked = has(search.clicked);
            let shown = Shown {
                pair: self.indexes.get(&(search.query, *document)).copied(),
                rank,
                last_click,
                clicked,
            };
            if clicked {
                last_click = rank + 1;
            }
            // A click on a result proves that it was shown.
            (has(search.shown) || clicked).then_some(shown)
        })
    }

    /// Counts by pair and context.
    pub(super) fn cells(
        &self,
        searches: &[StoredSearch],
        context: impl Fn(&Shown) -> usize,
    ) -> Vec<Cell> {
        let mut counts: FxHashMap<(usize, usize), [u64; 2]> = FxHashMap::default();
        for search in searches {
            for shown in self.shown(search) {
                let Some(pair) = shown.pair else { continue };
                let cell = counts.entry((pair, context(&shown))).or_default();
                cell[0] += 1;
                cell[1] += u64::from(shown.clicked);
            }
        }
        let mut cells: Vec<Cell> = counts
            .into_iter()
            .map(|((pair, context), [shown, clicked])| Cell {
                pair,
                context,
                shown: real(shown),
                clicked: real(clicked),
            })
            .collect();
        cells.sort_unstable_by_key(|cell| (cell.pair, cell.context));
        cells
    }

    /// Sums for the ratios of ranks, week by week. The searches are in the order of their times.
    pub(super) fn harvest(&self, searches: &[StoredSearch]) -> Harvest {
        let mut harvest = Harvest::default();
        for week in searches.chunk_by(|a, b| a.time.div_euclid(WEEK) == b.time.div_euclid(WEEK)) {
            let cells = self.cells(week, |shown| shown.rank);
            for of_pair in cells.chunk_by(|a, b| a.pair == b.pair) {
                harvest.add(of_pair);
            }
        }
        harvest
    }
}
