//! Cells of the tables about measures.

use crate::evaluate::RunEvaluation;
use crate::report::document::Cell;
use rankgauge_core::measure::direction::Direction;

/// One cell for each run, with the best ones marked.
pub(super) fn compared(measure: &str, scores: &[Option<f64>]) -> Vec<Cell> {
    let best = Direction::of(measure).best(scores);
    let cells = scores.iter().enumerate();
    cells
        .map(|(run, score)| Cell {
            best: best.contains(&run),
            ..Cell::from(*score)
        })
        .collect()
}

/// Mean of a run in a measure.
pub(super) fn mean(run: &RunEvaluation, measure: usize) -> Option<f64> {
    run.means.get(measure).copied().flatten()
}
