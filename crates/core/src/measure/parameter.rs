//! Values of the parameters of measures.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::gold::Grade;

/// The k of `P@k`: the number of first results that a measure uses. At least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cutoff(NonZeroU32);

impl Cutoff {
    /// Returns `k` as a cutoff; `None` for 0.
    pub fn new(k: u32) -> Option<Self> {
        NonZeroU32::new(k).map(Self)
    }

    /// Value of k.
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// Returns true if a 1-based position is among the first k.
    pub fn admits(self, position: u32) -> bool {
        (1..=self.get()).contains(&position)
    }

    /// Value of k as a length.
    pub(super) fn length(self) -> usize {
        usize::try_from(self.get()).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Cutoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number from 0 to 1: the persistence of RBP, the recall level of IPrec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fraction(f64);

impl Fraction {
    /// Default persistence of RBP (ir_measures).
    pub const PERSISTENCE: Self = Self(0.8);

    /// Returns `value` as a fraction; `None` outside 0 to 1.
    pub fn new(value: f64) -> Option<Self> {
        // Adding zero turns -0.0 into 0.0, because equal fractions must have equal bits.
        (0.0..=1.0).contains(&value).then_some(Self(value + 0.0))
    }

    /// Value of the fraction.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Eq for Fraction {}

impl Hash for Fraction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Denominator of `P@k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denominator {
    /// k, even if there are fewer results (trec_eval).
    Cutoff,
    /// min(k, number of results), as in krag and other tools.
    Retrieved,
}

/// Gain of a grade in nDCG. The gain of a negative grade is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gain {
    /// Grade itself (trec_eval; Järvelin and Kekäläinen 2002).
    Linear,
    /// 2^grade - 1 (Burges et al. 2005).
    Exponential,
    /// 1 if relevant, else 0.
    Binary {
        /// Relevance level; by default that of the gold set.
        rel: Option<Grade>,
    },
}

/// Ideal ranking that nDCG divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ideal {
    /// All judged documents, best first (trec_eval).
    Judged,
    /// Only the retrieved documents, best first, as some tools do without stating it. The score
    /// then shows how well they were ordered, not whether the right documents were found.
    Retrieved,
}

/// Gain of a document in RBP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Weighting {
    /// 1 if relevant, else 0.
    Binary {
        /// Relevance level; by default that of the gold set.
        rel: Option<Grade>,
    },
    /// Grade / highest grade of the scale.
    Graded,
}

/// Condition on a search, by which searches without it have no score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// The component ran (`when=fired`).
    Fired,
    /// The gold set states that the component is needed (`when=needed`).
    Needed,
}

/// Treatment of absent values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Absent {
    /// An absent value is left out.
    Skip,
    /// An absent value is 0.
    Zero,
}
