//! Judgements of one gold query: graded documents.
//!
//! This module must not know files, query texts or measures. Document ids are opaque: they are kept and found as they
//! are. Only [`Judgements::has_other_form`] looks for other forms of an id.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use std::sync::Arc;

use super::documents::{Columns, Documents};
use super::normal_form::{composed, decomposed};

/// Relevance grade of a document for a query: a finite number from [`Grade::MIN`] to
/// [`Grade::MAX`], whole or fractional. A negative grade means "judged, and never relevant".
///
/// The bounds keep every gain finite: `2^1000 - 1`, summed over millions of documents, fits into
/// an `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grade(f64);

impl Grade {
    /// Lowest accepted grade.
    pub const MIN: f64 = -1000.0;
    /// Highest accepted grade.
    pub const MAX: f64 = 1000.0;
    /// Grade of a judged document that is not relevant at the default relevance level.
    pub const ZERO: Self = Self(0.0);
    /// Default relevance level, as in trec_eval; a gold set can state another.
    pub const ONE: Self = Self(1.0);
    /// Grade of a highly relevant document on a scale of three grades.
    pub const TWO: Self = Self(2.0);
    /// Grade of a judged document that is not relevant at any relevance level.
    pub const NEVER_RELEVANT: Self = Self(-1.0);

    /// Converts `value` to a grade; `None` when it is not finite or is out of range.
    pub fn new(value: f64) -> Option<Self> {
        // Adding zero turns -0.0 into 0.0: equal grades then have equal bits.
        (Self::MIN..=Self::MAX)
            .contains(&value)
            .then_some(Self(value + 0.0))
    }

    /// Value of the grade.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Value of a whole grade; `None` for a fractional grade.
    pub(super) fn whole(self) -> Option<i16> {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "grades are from -1000 to 1000, and fractional grades are detected below"
        )]
        let whole = self.0 as i16;
        (f64::from(whole).total_cmp(&self.0) == Ordering::Equal).then_some(whole)
    }

    /// Returns true if a document of this grade is relevant at `level`. A negative grade never is,
    /// as in trec_eval.
    pub fn is_relevant_at(self, level: Self) -> bool {
        self.0 >= level.0 && self.0 >= 0.0
    }
}

impl From<u8> for Grade {
    fn from(value: u8) -> Self {
        Self(f64::from(value))
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
                Self::MIN,
                Self::MAX
            ))
        })
    }
}

impl Serialize for Grade {
    /// Writes a whole grade as an integer.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.whole() {
            Some(whole) => serializer.serialize_i16(whole),
            None => serializer.serialize_f64(self.0),
        }
    }
}

/// Error for a document that is judged twice for one query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("document `{document}` is judged twice: keep one of the two judgements")]
pub struct RepeatedDocument {
    /// Id of the document.
    pub document: String,
}

/// All judgements of one gold query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgements {
    documents: Documents,
    level: Grade,
    /// Number of documents that are relevant at the level.
    relevant: usize,
    scale_max: Grade,
}

impl Judgements {
    /// Creates the judgements of `documents`. A document is relevant if its grade is at least
    /// `level`. The highest grade is the end of the scale, unless [`Judgements::with_scale_max`]
    /// sets another.
    ///
    /// # Errors
    /// A document occurs twice.
    pub fn new(
        level: Grade,
        documents: impl IntoIterator<Item = (Box<str>, Grade)>,
    ) -> Result<Self, RepeatedDocument> {
        let documents = documents.into_iter();
        let (expected, _) = documents.size_hint();
        let mut columns = Columns::default();
        columns.reserve(expected, 0);
        let mut span = columns.begin(expected);
        for (document, grade) in documents {
            if columns.insert(&mut span, &document, grade).is_err() {
                return Err(RepeatedDocument {
                    document: document.into(),
                });
            }
        }
        columns.end(&span);
        let documents = Documents::new(Arc::new(columns), span);
        Ok(Self::of(level, documents))
    }

    /// Creates the judgements of `documents`, as [`Judgements::new`] does.
    pub(super) fn of(level: Grade, documents: Documents) -> Self {
        let descending = documents.descending();
        let scale_max = descending.first().copied();
        Self {
            relevant: descending.partition_point(|grade| grade.is_relevant_at(level)),
            documents,
            level,
            scale_max: scale_max.unwrap_or(Grade::ZERO),
        }
    }

    /// Returns the judgements with a scale that ends at `scale_max`.
    #[must_use]
    pub fn with_scale_max(mut self, scale_max: Grade) -> Self {
        self.scale_max = scale_max;
        self
    }

    /// Returns the number of a judged document, in input order, and its grade; `None` for an
    /// unjudged document.
    pub fn find(&self, document: &str) -> Option<(usize, Grade)> {
        let number = self.documents.number(document)?;
        Some((number, self.grade(number)?))
    }

    /// Returns true if a document is judged under another Unicode form of its id alone (NFC or NFD).
    pub fn has_other_form(&self, document: &str) -> bool {
        let is_judged = |form: &str| self.find(form).is_some();
        !is_judged(document)
            && (is_judged(&composed(document.into())) || is_judged(&decomposed(document)))
    }

    /// Does what [`Judgements::find`] does, for the hash of an id.
    pub fn find_hash(&self, hash: u64) -> Option<(usize, Grade)> {
        let number = self.documents.number_of(hash)?;
        Some((number, self.grade(number)?))
    }

    /// Reads what [`Judgements::find_hash`] reads of the first documents. Returns a number that depends
    /// on it.
    pub(crate) fn touch(&self) -> usize {
        self.relevant + self.documents.touch()
    }

    /// Grade of the document with this number, as returned by [`Judgements::find`].
    pub fn grade(&self, document: usize) -> Option<Grade> {
        self.grades().get(document).copied()
    }

    /// Grades of the documents, by their numbers.
    pub fn grades(&self) -> &[Grade] {
        self.documents.grades()
    }

    /// All judged documents with their grades, in input order.
    pub fn documents(&self) -> Vec<(&str, Grade)> {
        let grades = self.grades().iter().copied();
        self.documents.iter().zip(grades).collect()
    }

    /// Number of judged documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns true if no document is judged.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lowest grade that counts as relevant, unless a measure states its own `rel`.
    pub fn level(&self) -> Grade {
        self.level
    }

    /// Highest grade of the judgement scale.
    pub fn scale_max(&self) -> Grade {
        self.scale_max
    }

    /// Highest grade that a document can have: that of the scale, and relevant.
    pub fn top_grade(&self) -> Grade {
        self.scale_max.max(self.level).max(Grade::ZERO)
    }

    /// Number of judged documents that are relevant at `rel`. Default: the level of the set.
    pub fn relevant(&self, rel: Option<Grade>) -> usize {
        let Some(level) = rel else {
            return self.relevant;
        };
        self.descending()
            .partition_point(|grade| grade.is_relevant_at(level))
    }

    /// All grades in descending order: the ideal ranking.
    pub fn descending(&self) -> &[Grade] {
        self.documents.descending()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Grade, Judgements};
    use crate::gold::hash_document;

    /// Few and many documents are found in different ways.
    #[test]
    fn documents_are_found_by_their_hash_as_by_their_id() {
        for count in [0, 1, 30, 64, 65, 200] {
            let documents =
                (0..count).map(|number| (format!("d{number}").into(), Grade::from(number)));
            let judgements = Judgements::new(Grade::ONE, documents).expect("no document twice");
            for number in 0..count {
                let id = format!("d{number}");
                let expected = Some((usize::from(number), Grade::from(number)));
                assert_eq!(judgements.find(&id), expected, "{id} of {count}");
                assert_eq!(
                    judgements.find_hash(hash_document(&id)),
                    expected,
                    "{id} of {count}"
                );
            }
            assert_eq!(
                judgements.find_hash(hash_document("other")),
                None,
                "{count}"
            );
        }
    }

    /// Hashes are compared by a part of their bits first.
    #[test]
    fn documents_whose_hashes_agree_in_16_bits_are_told_apart() {
        let mut alike: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        let ids = (0..).find_map(|number| {
            let id = format!("d{number}");
            let ids = alike.entry(hash_document(&id) & 0xffff).or_default();
            ids.push(id);
            (ids.len() == 4).then(|| ids.clone())
        });
        let ids = ids.expect("ids without an end");
        for judged in 0..ids.len() {
            let documents = (1..).zip(&ids[..judged]);
            let documents = documents.map(|(grade, id)| (id.as_str().into(), Grade::from(grade)));
            let judgements = Judgements::new(Grade::ONE, documents).expect("no document twice");
            for id in &ids {
                let found = judgements.find_hash(hash_document(id));
                assert_eq!(found, judgements.find(id), "{id} of {judged}");
            }
        }
    }
}
