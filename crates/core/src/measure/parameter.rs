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
    /// Default persistence of RBP in trec_eval 10.
    pub(super) const PERSISTENCE_10: Self = Self(0.9);

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

/// Code of a currency (ISO 4217): three capital letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Currency([u8; 3]);

impl Currency {
    /// Default currency.
    pub const USD: Self = Self(*b"USD");

    /// Returns a code; `None` if it is not of three capital letters.
    pub fn new(code: &[u8]) -> Option<Self> {
        let code: [u8; 3] = code.try_into().ok()?;
        code.iter()
            .all(u8::is_ascii_uppercase)
            .then_some(Self(code))
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.0).unwrap_or_default())
    }
}

/// Property and evaluator of [`Evaluation`](super::UserMeasure::Evaluation).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EvaluatedBy {
    /// Judged property.
    pub name: Box<str>,
    /// Id of the evaluator.
    pub evaluator: Box<str>,
}

/// Denominator of `P@k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denominator {
    /// k, even if there are fewer results (trec_eval).
    Cutoff,
    /// min(k, number of results), as in krag and other tools.
    Retrieved,
    /// Number of judged results in the top k (Elasticsearch with `ignore_unlabeled`).
    Judged,
}

/// Relevant documents that average precision is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecallBase {
    /// All relevant documents of the gold query (trec_eval).
    Relevant,
    /// The relevant results in the top k (torchmetrics).
    Found,
}

/// Finite number: a goal of gain, a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(f64);

impl Number {
    /// Returns `value` as a number; `None` unless it is finite.
    pub fn new(value: f64) -> Option<Self> {
        // Adding zero turns -0.0 into 0.0, because equal numbers must have equal bits.
        value.is_finite().then_some(Self(value + 0.0))
    }

    /// Number that is known to be finite.
    pub(super) const fn constant(value: f64) -> Self {
        Self(value)
    }

    /// Value of the number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Rounding of the number of documents that a level of recall requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// floor(r · R + 0.9), as in trec_eval 9.
    Up,
    /// The nearest whole number, as in trec_eval 10.
    Nearest,
}

/// Gains of single grades. The gain of any other grade is the grade.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gains(Box<[(Grade, Number)]>);

impl Gains {
    /// Maximum number of grades with a gain of their own.
    const MAX: usize = 64;

    /// Reads `grade:gain` pairs, separated by `;`, or by `,` in braces. A gain is not negative.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let braced = text.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
        let pairs = braced.unwrap_or(text).split([';', ',']);
        let mut gains = Vec::new();
        for pair in pairs {
            let (grade, gain) = pair.split_once([':', '='])?;
            let grade = Grade::new(grade.trim().parse().ok()?)?;
            let gain = Number::new(gain.trim().parse().ok()?)?;
            let is_known = gains.iter().any(|(known, _)| *known == grade);
            if grade.get() < 0.0 || gain.get() < 0.0 || gain.get() > MAX_GAIN || is_known {
                return None;
            }
            gains.push((grade, gain));
        }
        gains.sort_unstable_by_key(|(grade, _)| *grade);
        (!gains.is_empty() && gains.len() <= Self::MAX).then(|| Self(gains.into()))
    }

    /// Gain of a grade.
    pub(super) fn of(&self, grade: Grade) -> f64 {
        let known = self.0.iter().find(|(known, _)| *known == grade);
        known.map_or_else(|| grade.get().max(0.0), |(_, gain)| gain.get())
    }
}

/// Highest gain of a grade: sums over millions of documents stay finite.
const MAX_GAIN: f64 = 1e100;

impl fmt::Display for Gains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (grade, gain)) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { ";" };
            write!(f, "{separator}{grade}:{gain}")?;
        }
        Ok(())
    }
}

/// Gain of a grade in nDCG. The gain of a negative grade is 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// Stated for single grades (trec_eval, ir_measures).
    Table(Gains),
}

/// Ideal ranking that nDCG divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ideal {
    /// All judged documents, best first (trec_eval).
    Judged,
    /// Only the retrieved documents, best first, as some tools do without stating it. The score
    /// then shows how well they were ordered, not whether the right documents were found.
    Retrieved,
    /// All judged documents, best first, but no more than there are results (Elasticsearch).
    Shown,
    /// All judged documents, best first, also those after the cutoff (Quepid).
    Uncut,
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
    /// Grade / highest grade of the query, if that is above 1 (trec_eval 10).
    OfQuery,
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
