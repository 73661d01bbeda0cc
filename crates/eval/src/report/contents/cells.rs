//! Cells of the tables about measures.

use crate::evaluate::RunEvaluation;
use crate::report::document::Cell;
use rankgauge_core::measure::direction::Direction;

/// One cell for the score of each run, with those marked that are best by the `comparable` ones.
pub(super) fn compared(
    measure: &str,
    scores: &[Option<f64>],
    comparable: &[Option<f64>],
) -> Vec<Cell> {
    let best = Direction::of(measure).best(comparable);
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
