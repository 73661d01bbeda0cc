//! Which way a measure is good, and what a test says in words.
//!
//! It knows measures by name, ours and trec_eval's, because per-query scores come with nothing else.

/// Whether a larger score is a better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// As of nearly every measure.
    HigherIsBetter,
    /// Of what counts mistakes.
    LowerIsBetter,
    /// Of what describes and does not judge.
    Neither,
}

/// Our measures that count what should not be.
const LOWER: &[&str] = &[
    "Abandoned",
    "DupAfter",
    "DupBefore",
    "FN",
    "FP",
    "Reformulated",
    "ZeroResult",
];

/// Our measures that describe, and trec_eval's counts.
const NEITHER: &[&str] = &[
    "Fired",
    "Hops",
    "Judged",
    "MaxDepth",
    "MeanDepth",
    "Share",
    "num_q",
    "num_rel",
    "num_ret",
];

impl Direction {
    /// Of a measure by its name: `FP@10`, `nDCG(gain=exp)@10`, `ndcg_cut_10`.
    pub fn of(measure: &str) -> Self {
        let name = measure.split(['(', '@']).next().unwrap_or(measure);
        if LOWER.contains(&name) {
            Self::LowerIsBetter
        } else if NEITHER.contains(&name) {
            Self::Neither
        } else {
            Self::HigherIsBetter
        }
    }
}

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
            (Direction::HigherIsBetter, true) | (Direction::LowerIsBetter, false) => Self::Better,
            (Direction::HigherIsBetter, false) | (Direction::LowerIsBetter, true) => Self::Worse,
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
