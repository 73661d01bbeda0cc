//! The judgements of one gold query: which documents a person graded, and how.
//!
//! It knows nothing of files, of query texts or of measures. Document ids are opaque: nothing here
//! splits, trims or normalises them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use super::documents::Documents;

/// How relevant a document is to a query: a finite number from [`Grade::LOWEST`] to
/// [`Grade::HIGHEST`], whole or not. A negative grade means "judged, and never relevant".
///
/// The bound keeps every gain finite: `2^1000 - 1`, summed over millions of documents, still fits
/// an `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grade(f64);

impl Grade {
    /// The lowest grade that is accepted.
    pub const LOWEST: f64 = -1000.0;
    /// The highest grade that is accepted.
    pub const HIGHEST: f64 = 1000.0;
    /// Of a judged document that is not relevant at the usual relevance level.
    pub const ZERO: Self = Self(0.0);
    /// The relevance level of trec_eval, unless a gold set states another.
    pub const ONE: Self = Self(1.0);
    /// Of a document of which more than relevance was said, on a scale of three grades.
    pub const TWO: Self = Self(2.0);
    /// Of a document that is judged but can never be relevant, whatever the relevance level.
    pub const NEVER_RELEVANT: Self = Self(-1.0);

    /// `value` as a grade; `None` when it is not finite or out of range.
    pub fn new(value: f64) -> Option<Self> {
        // Adding zero turns -0.0 into 0.0, so that equal grades have equal bits.
        (Self::LOWEST..=Self::HIGHEST)
            .contains(&value)
            .then_some(Self(value + 0.0))
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Whether a document of this grade is relevant at `level`. A negative grade never is, as in
    /// trec_eval.
    pub fn reaches(self, level: Self) -> bool {
        self.0 >= level.0 && self.0 >= 0.0
    }
}

impl Eq for Grade {}

impl Ord for Grade {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Grade {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Grade {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Grade {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Self::new(value).ok_or_else(|| {
            D::Error::custom(format_args!(
                "the grade {value} is out of range: a grade is a number from {} to {}",
                Self::LOWEST,
                Self::HIGHEST
            ))
        })
    }
}

impl Serialize for Grade {
    /// A whole grade is written as a whole number.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "grades are from -1000 to 1000, and one with a fraction is told apart below"
        )]
        let whole = self.0 as i16;
        if f64::from(whole).total_cmp(&self.0) == Ordering::Equal {
            serializer.serialize_i16(whole)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// A document was judged twice for one query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("document `{document}` is judged twice: keep one of the two judgements")]
pub struct RepeatedDocument {
    /// Its id.
    pub document: String,
}

/// All judgements of one gold query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgements {
    documents: Documents,
    grades: Vec<Grade>,
    descending: Vec<Grade>,
    level: Grade,
    scale_max: Grade,
}

impl Judgements {
    /// The judgements `documents`, where relevant means a grade of at least `level`. The scale is
    /// taken to end at the highest grade among them, until [`Judgements::with_scale_max`] says
    /// where it does.
    ///
    /// # Errors
    /// When a document occurs twice.
    pub fn new(
        level: Grade,
        documents: impl IntoIterator<Item = (Box<str>, Grade)>,
    ) -> Result<Self, RepeatedDocument> {
        let documents = documents.into_iter();
        let (expected, _) = documents.size_hint();
        let mut ids = Documents::with_capacity(expected, 0);
        let mut grades = Vec::with_capacity(expected);
        for (document, grade) in documents {
            if ids.insert(&document).is_err() {
                return Err(RepeatedDocument {
                    document: document.into(),
                });
            }
            grades.push(grade);
        }
        Ok(Self::numbered(level, ids, grades))
    }

    /// The judgements of `documents`, of which each has a grade, by its number.
    pub(super) fn numbered(level: Grade, documents: Documents, grades: Vec<Grade>) -> Self {
        let mut descending = grades.clone();
        descending.sort_unstable_by(|a, b| b.cmp(a));
        let scale_max = descending.first().copied().unwrap_or(Grade::ZERO);
        Self {
            documents,
            grades,
            descending,
            level,
            scale_max,
        }
    }

    /// The same judgements on a scale that ends at `scale_max`.
    #[must_use]
    pub fn with_scale_max(mut self, scale_max: Grade) -> Self {
        self.scale_max = scale_max;
        self
    }

    /// The number of a judged document, in the order they were given, and its grade; `None` when
    /// nobody judged it.
    pub fn find(&self, document: &str) -> Option<(usize, Grade)> {
        let number = self.documents.number(document)?;
        Some((number, *self.grades.get(number)?))
    }

    /// The grade of the document with this number, as [`Judgements::find`] gives it.
    pub fn grade(&self, document: usize) -> Option<Grade> {
        self.grades.get(document).copied()
    }

    /// All judged documents with their grades, in the order they were given.
    pub fn documents(&self) -> Vec<(&str, Grade)> {
        let grades = self.grades.iter().copied();
        self.documents.iter().zip(grades).collect()
    }

    /// How many documents are judged.
    pub fn len(&self) -> usize {
        self.grades.len()
    }

    /// Whether no document is judged.
    pub fn is_empty(&self) -> bool {
        self.grades.is_empty()
    }

    /// The lowest grade that counts as relevant, unless a measure states its own `rel`.
    pub fn level(&self) -> Grade {
        self.level
    }

    /// The highest grade of the scale the documents were judged on.
    pub fn scale_max(&self) -> Grade {
        self.scale_max
    }

    /// How many judged documents are relevant at `rel`, or at the default level.
    pub fn relevant(&self, rel: Option<Grade>) -> usize {
        let level = rel.unwrap_or(self.level);
        self.descending
            .partition_point(|grade| grade.reaches(level))
    }

    /// All grades, highest first: the ideal ranking.
    pub fn descending(&self) -> &[Grade] {
        &self.descending
    }
}
