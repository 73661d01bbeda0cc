//! Headline measure of a report.

use crate::evaluate::Evaluation;
use rankgauge_core::measure::Mean;
use rankgauge_core::measure::direction::Direction;

/// Position of the measure that represents the others where only one fits: the configured one, else the
/// usual one of the measures.
pub(super) fn headline_of(evaluation: &Evaluation) -> Option<usize> {
    let configured = evaluation.headline;
    configured.or_else(|| headline(&evaluation.measures))
}

/// Position of the usual headline measure: the first nDCG, else the first measure for which higher is
/// better and that is no count. `None` if there is no such measure.
pub fn headline(measures: &[String]) -> Option<usize> {
    let ndcg = measures
        .iter()
        .position(|measure| measure.starts_with("nDCG@") || measure.starts_with("nDCG("));
    let plain = || measures.iter().position(|measure| measure == "nDCG");
    let upwards = || {
        measures.iter().position(|measure| {
            Direction::of(measure) == Direction::Up && Mean::of(measure) != Mean::Sum
        })
    };
    ndcg.or_else(plain).or_else(upwards)
}
