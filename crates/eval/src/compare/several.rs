//! All pairs of several runs, by tests that hold for all of them together.

use super::pair::MIN_TESTED;
use rankgauge_core::statistics::{AllPairs, Settings};
use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _,
};

/// All pairs of runs, by one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Several {
    /// Name of the measure.
    pub measure: String,
    /// Number of queries that all runs have a score for.
    pub n: usize,
    /// Results by pair of runs.
    pub tested: AllPairs,
}

/// Tests all pairs of runs by each measure. `rows` returns the scores by a measure of each query that all
/// runs have a score for. A measure with fewer than [`MIN_TESTED`] such queries is left out, as in the
/// tests of two runs.
pub(super) fn several(
    measures: &[String],
    rows: impl Fn(usize) -> Vec<Vec<f64>> + Sync,
    settings: &Settings,
) -> Vec<Several> {
    let tested = measures.par_iter().enumerate().filter_map(|(at, measure)| {
        let rows = rows(at);
        if rows.len() < MIN_TESTED {
            return None;
        }
        Some(Several {
            measure: measure.clone(),
            n: rows.len(),
            tested: AllPairs::of(&rows, settings)?,
        })
    });
    tested.collect()
}
