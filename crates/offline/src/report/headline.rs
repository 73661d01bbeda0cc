//! The measure that a report puts first.

use rankgauge_core::measure::direction::Direction;

/// The measure that stands for the others where there is room for one: the first nDCG, else the
/// first that gets better upwards. `None` where there is none of them.
pub(super) fn headline(measures: &[String]) -> Option<usize> {
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
