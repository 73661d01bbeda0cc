//! What a test says in words.

use rankgauge_core::measure::direction::Direction;

/// What a test says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The second is better than the first.
    Better,
    /// The second is worse than the first.
    Worse,
    /// The second is higher, and nobody can say whether that is good.
    Higher,
    /// The second is lower, and nobody can say whether that is good.
    Lower,
    /// The same for every query.
    Identical,
    /// Chance would explain it.
    NotShown,
    /// There are too few queries for a test.
    NotTested,
}

impl Verdict {
    /// For a difference that is shown.
    pub(super) fn of(difference: f64, direction: Direction) -> Self {
        match (direction, difference > 0.0) {
            (Direction::Up, true) | (Direction::Down, false) => Self::Better,
            (Direction::Up, false) | (Direction::Down, true) => Self::Worse,
            (Direction::Neither, true) => Self::Higher,
            (Direction::Neither, false) => Self::Lower,
        }
    }

    /// In words.
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
