//! Precision and recall of single queries at their first ranks, counted on a grid.
//!
//! The grid bounds the data: a run with a million results has as many points as one with a hundred.

use serde::Serialize;

use rankgauge_core::gold::Judgements;
use rankgauge_core::number::real_length;
use rankgauge_core::ranking::Ranking;

/// Steps of the grid from 0 to 1.
const STEPS: usize = 20;

/// Number of values on one axis of the grid.
const SIDE: usize = STEPS + 1;

/// Number of first ranks of a query that are counted.
const MAX_RANKS: usize = 100;

/// Point in the plane of precision and recall.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlanePoint {
    /// Recall, rounded to a multiple of 0.05.
    pub recall: f64,
    /// Precision, rounded to a multiple of 0.05.
    pub precision: f64,
    /// Number of pairs of a query and a rank at this point.
    pub n: u64,
}

/// Cells of one query: one for each of its first ranks. Empty if no document is relevant.
pub(super) fn cells(ranking: &Ranking, judgements: &Judgements) -> Vec<u16> {
    let relevant = judgements.relevant(None);
    if relevant == 0 {
        return Vec::new();
    }
    let mut found = ranking.relevant().iter().peekable();
    let (mut count, mut row) = (0, 0);
    let cells = (1..=ranking.len().min(MAX_RANKS)).map(|rank| {
        if found.next_if_eq(&&rank).is_some() {
            count += 1;
            row = nearest(count, relevant) * SIDE;
        }
        u16::try_from(row + nearest(count, rank)).unwrap_or(u16::MAX)
    });
    cells.collect()
}

/// Step of the grid nearest to `part` / `whole`, at most the last one.
fn nearest(part: usize, whole: usize) -> usize {
    ((2 * STEPS * part + whole) / (2 * whole)).min(STEPS)
}

/// Counts on the grid.
#[derive(Default)]
pub(super) struct Plane(Vec<u64>);

impl Plane {
    /// Adds the cells of a query.
    pub(super) fn add(&mut self, cells: &[u16]) {
        if !cells.is_empty() {
            self.0.resize(SIDE * SIDE, 0);
        }
        for cell in cells {
            if let Some(count) = self.0.get_mut(usize::from(*cell)) {
                *count += 1;
            }
        }
    }

    /// Adds the counts of other queries.
    pub(super) fn merge(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        for (count, others) in self.0.iter_mut().zip(&other.0) {
            *count += others;
        }
    }

    /// Points with at least one pair, by recall and then by precision.
    pub(super) fn points(&self) -> Vec<PlanePoint> {
        let cells = self.0.iter().enumerate().filter(|(_, n)| **n > 0);
        cells
            .map(|(cell, n)| PlanePoint {
                recall: value(cell / SIDE),
                precision: value(cell % SIDE),
                n: *n,
            })
            .collect()
    }
}

/// Value of a step, from 0 to 1.
fn value(step: usize) -> f64 {
    real_length(step) / real_length(STEPS)
}
