//! The served list of one search, seen through the judgements of its gold query.
//!
//! A search and a gold query go in; grades, and which component each result came from, come out.
//! It knows nothing of measures: they ask it.

mod component;
mod judged;
mod text;

pub use component::{Component, Difference, Membership, SearchField};
pub use judged::{Judge, Judged, Part, Rules};
pub use text::{Rouge, TextMatch, Words};

use crate::event::Hit;
use crate::gold::{Grade, Judgements};

/// Which field of a result names the judged document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JudgeBy {
    /// `results[].id`.
    #[default]
    Id,
    /// `results[].group_id`, the document that a chunk belongs to; a result without one is judged
    /// by its `id`.
    GroupId,
}

impl JudgeBy {
    /// The judged document of a result.
    pub fn document<'a>(self, hit: &'a Hit<'_>) -> &'a str {
        match (self, &hit.group_id) {
            (Self::GroupId, Some(group)) => group,
            (Self::Id | Self::GroupId, _) => &hit.id,
        }
    }
}

/// The grades of a served list, in order. Meant to be kept and refilled: judging allocates only
/// while the buffers grow.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    grades: Vec<Option<Grade>>,
    documents: Vec<Option<usize>>,
    seen: Vec<bool>,
}

impl Ranking {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the content by `documents`, judged by `judgements`.
    ///
    /// A document that is served again keeps its position, but only its first occurrence can be
    /// relevant. A later one of a judged document gets [`Grade::NEVER_RELEVANT`]: judged, without
    /// gain, not relevant at any level, and left out by Bpref, so that serving a document twice
    /// is neither rewarded nor mistaken for a second, non-relevant document of the pool.
    pub fn judge<'a>(&mut self, documents: impl Iterator<Item = &'a str>, judgements: &Judgements) {
        let found = documents.map(|document| judgements.find(document));
        self.fill(found, judgements.len());
    }

    /// Replaces the content by results of which each is a judged document, by its number and
    /// grade, or none.
    fn fill(&mut self, found: impl Iterator<Item = Option<(usize, Grade)>>, judged: usize) {
        self.grades.clear();
        self.documents.clear();
        self.seen.clear();
        self.seen.resize(judged, false);
        for found in found {
            self.documents.push(found.map(|(number, _)| number));
            self.grades.push(found.map(|(number, grade)| {
                let again = self
                    .seen
                    .get_mut(number)
                    .is_some_and(|seen| std::mem::replace(seen, true));
                if again { Grade::NEVER_RELEVANT } else { grade }
            }));
        }
    }

    /// The list as it would be without the results at the positions (from 0) that `left_out`
    /// names: those behind them move up.
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
        rest.fill(kept, judgements.len());
        rest
    }

    /// The grade at each rank, first rank first; `None` where nobody judged the document.
    pub fn grades(&self) -> &[Option<Grade>] {
        &self.grades
    }

    /// The number of the judged document at each rank, as [`Judgements::find`] gives it, repeated
    /// ones included; `None` where nobody judged it.
    pub fn documents(&self) -> &[Option<usize>] {
        &self.documents
    }

    /// How many results were served.
    pub fn len(&self) -> usize {
        self.grades.len()
    }

    /// Whether nothing was served.
    pub fn is_empty(&self) -> bool {
        self.grades.is_empty()
    }
}
