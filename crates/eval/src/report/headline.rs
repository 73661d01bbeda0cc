//! Headline measure of a report.

use rankgauge_core::measure::direction::Direction;

/// Position of the measure that represents the others where only one fits: the first nDCG, else the
/// first measure for which higher is better. `None` if there is no such measure.
pub fn headline(measures: &[String]) -> Option<usize> {
    let ndcg = measures
        .iter()
        .position(|measure| measure.starts_with("nDCG@") || measure.starts_with("nDCG("));
    let plain = || measures.iter().position(|measure| measure == "nDCG");
    let upwards = || {
        measures
            .iter()
            .position(|measure| Direction::of(measure) == Direction::Up)
    };
    ndcg.or_else(plain).or_else(upwards)
}
