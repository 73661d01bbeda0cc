//! Verdict of a statistical test.

use rankgauge_core::measure::direction::Direction;

/// Verdict of a statistical test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The second run is better than the first.
    Better,
    /// The second run is worse than the first.
    Worse,
    /// The second run is higher; the measure has no preferred direction.
    Higher,
    /// The second run is lower; the measure has no preferred direction.
    Lower,
    /// All queries have the same score in both runs.
    Identical,
    /// The difference can be due to chance.
    NotShown,
    /// There are too few queries for a test.
    NotTested,
}

impl Verdict {
    /// Verdict for a difference that is shown.
    pub(super) fn of(difference: f64, direction: Direction) -> Self {
        match (direction, difference > 0.0) {
            (Direction::Up, true) | (Direction::Down, false) => Self::Better,
            (Direction::Up, false) | (Direction::Down, true) => Self::Worse,
            (Direction::Neither, true) => Self::Higher,
            (Direction::Neither, false) => Self::Lower,
        }
    }

    /// Text of the verdict in reports.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Identical => "identical",
            Self::NotShown => "no difference shown",
            Self::NotTested => "not tested",
        }
    }
}
