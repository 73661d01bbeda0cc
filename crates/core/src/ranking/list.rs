//! Grades of a served list.

use crate::event::Hit;
use crate::gold::{Grade, Judgements};

/// Field of a result that names the judged document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JudgeBy {
    /// `results[].id`.
    #[default]
    Id,
    /// `results[].group_id`, the document that a chunk belongs to. A result without it is judged by
    /// its `id`.
    GroupId,
}

impl JudgeBy {
    /// Returns the judged document of a result.
    pub fn document<'a>(self, hit: &'a Hit<'_>) -> &'a str {
        match (self, &hit.details().group_id) {
            (Self::GroupId, Some(group)) => group,
            (Self::Id | Self::GroupId, _) => &hit.id,
        }
    }
}

/// Grades of a served list, in order. A ranking is meant to be reused: judging allocates only while
/// the buffers grow.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    grades: Vec<Option<Grade>>,
    documents: Vec<Option<usize>>,
    judged: Vec<(usize, Grade)>,
    relevant: Vec<usize>,
    seen: Vec<bool>,
}

impl Ranking {
    /// Empty ranking.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the content with `documents`, judged by `judgements`.
    ///
    /// A document that is served again keeps its position, but only its first occurrence can be
    /// relevant. A later occurrence of a judged document gets [`Grade::NEVER_RELEVANT`]: it is
    /// judged, has no gain, is not relevant at any level, and is skipped by Bpref. A repeated
    /// document is therefore neither rewarded nor counted as a second, non-relevant document of the
    /// pool.
    pub fn judge<'a>(&mut self, documents: impl Iterator<Item = &'a str>, judgements: &Judgements) {
        let found = documents.map(|document| judgements.find(document));
        self.fill(found, judgements);
    }

    /// Does what [`Ranking::judge`] does, for the hashes of documents.
    pub fn judge_hashes(&mut self, hashes: impl Iterator<Item = u64>, judgements: &Judgements) {
        self.fill(hashes.map(|hash| judgements.find_hash(hash)), judgements);
    }

    /// Replaces the content with results. Each is the number and grade of a judged document, or
    /// `None`.
    pub(super) fn fill(
        &mut self,
        found: impl Iterator<Item = Option<(usize, Grade)>>,
        judgements: &Judgements,
    ) {
        self.grades.clear();
        self.documents.clear();
        self.judged.clear();
        self.relevant.clear();
        self.seen.clear();
        self.seen.resize(judgements.len(), false);
        // A new ranking grows once.
        let (_, most) = found.size_hint();
        let most = most.unwrap_or(0);
        self.grades.reserve(most);
        self.documents.reserve(most);
        self.judged.reserve(most);
        self.relevant.reserve(most);
        for (rank, found) in (1..).zip(found) {
            self.documents.push(found.map(|(number, _)| number));
            let grade = found.map(|(number, grade)| {
                let again = self
                    .seen
                    .get_mut(number)
                    .is_some_and(|seen| std::mem::replace(seen, true));
                if again { Grade::NEVER_RELEVANT } else { grade }
            });
            self.grades.push(grade);
            if let Some(grade) = grade {
                self.judged.push((rank, grade));
                if grade.is_relevant_at(judgements.level()) {
                    self.relevant.push(rank);
                }
            }
        }
    }

    /// Returns the ranking without the results at the positions (from 0) for which `left_out`
    /// returns true. Later results move up.
    #[must_use]
    pub fn without(&self, left_out: impl Fn(usize) -> bool, judgements: &Judgements) -> Self {
        let kept = self.documents.iter().enumerate();
        let kept = kept
            .filter(|(position, _)| !left_out(*position))
            .map(|(_, document)| {
                let number = (*document)?;
                Some((number, judgements.grade(number)?))
            });
        let mut rest = Self::new();
        rest.fill(kept, judgements);
        rest
    }

    /// Replaces the content with that of `other`, whose unjudged results get the
    /// [highest grade](Judgements::top_grade).
    pub fn assume_relevant(&mut self, other: &Self, judgements: &Judgements) {
        let (assumed, level) = (judgements.top_grade(), judgements.level());
        self.grades.clear();
        self.judged.clear();
        self.relevant.clear();
        self.documents.clone_from(&other.documents);
        for (rank, grade) in (1..).zip(&other.grades) {
            let grade = grade.unwrap_or(assumed);
            self.grades.push(Some(grade));
            self.judged.push((rank, grade));
            if grade.is_relevant_at(level) {
                self.relevant.push(rank);
            }
        }
    }

    /// Returns true if every result is judged.
    pub fn is_fully_judged(&self) -> bool {
        self.judged.len() == self.grades.len()
    }

    /// Grade at each rank, first rank first; `None` for an unjudged document.
    pub fn grades(&self) -> &[Option<Grade>] {
        &self.grades
    }

    /// Ranks (from 1) of the judged documents, ascending, with their grades.
    pub fn judged(&self) -> &[(usize, Grade)] {
        &self.judged
    }

    /// Ranks (from 1) of the documents that are relevant at the level of the gold set, ascending.
    pub fn relevant(&self) -> &[usize] {
        &self.relevant
    }

    /// Number of the judged document at each rank, as [`Judgements::find`] returns it, including
    /// repeated documents; `None` for an unjudged document.
    pub fn documents(&self) -> &[Option<usize>] {
        &self.documents
    }

    /// Number of served results.
    pub fn len(&self) -> usize {
        self.grades.len()
    }

    /// Returns true if no results were served.
    pub fn is_empty(&self) -> bool {
        self.grades.is_empty()
    }
}
