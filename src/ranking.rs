//! The served list of one search, seen through the judgements of its gold query.
//!
//! It knows nothing of measures or of events: a list of document ids goes in, a list of grades
//! comes out.

use crate::gold::{Grade, Judgements};

/// The grades of a served list, in order. Meant to be kept and refilled: judging allocates only
/// while the buffers grow.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    grades: Vec<Option<Grade>>,
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
        self.grades.clear();
        self.seen.clear();
        self.seen.resize(judgements.len(), false);
        let seen = &mut self.seen;
        self.grades.extend(documents.map(|document| {
            let (position, grade) = judgements.find(document)?;
            let again = seen
                .get_mut(position)
                .is_some_and(|seen| std::mem::replace(seen, true));
            Some(if again { Grade::NEVER_RELEVANT } else { grade })
        }));
    }

    /// The grade at each rank, first rank first; `None` where nobody judged the document.
    pub fn grades(&self) -> &[Option<Grade>] {
        &self.grades
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
