//! Judgements of documents by subtopic: the aspects, intents or judgement groups of a query.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::judgements::{Grade, Judgements};

/// Subtopics of a query with the grades of its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct Subtopics {
    /// Names, ascending.
    names: Vec<String>,
    /// By the number of the document: its grades, with the numbers of their subtopics.
    grades: BTreeMap<usize, SmallVec<[(usize, Grade); 2]>>,
}

impl Subtopics {
    /// Creates the subtopics of judged documents. Each judgement is the id of a document, the name of a
    /// subtopic and a grade. Judgements of other documents are left out.
    pub(super) fn of<'a>(
        judgements: &Judgements,
        stated: impl Iterator<Item = (&'a str, &'a str, Grade)> + Clone,
    ) -> Self {
        let names: BTreeSet<&str> = stated.clone().map(|(_, name, _)| name).collect();
        let numbers: BTreeMap<&str, usize> = names.iter().copied().zip(0..).collect();
        let mut grades: BTreeMap<usize, SmallVec<[(usize, Grade); 2]>> = BTreeMap::new();
        for (document, name, grade) in stated {
            if let Some((document, _)) = judgements.find(document)
                && let Some(subtopic) = numbers.get(name)
            {
                grades.entry(document).or_default().push((*subtopic, grade));
            }
        }
        for of_document in grades.values_mut() {
            of_document.sort_unstable();
            of_document.dedup_by_key(|(subtopic, _)| *subtopic);
        }
        Self {
            names: names.into_iter().map(str::to_owned).collect(),
            grades,
        }
    }

    /// Number of subtopics.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// Names, ascending.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Subtopics, by their numbers from 0, and grades of a document.
    pub fn of_document(&self, document: usize) -> &[(usize, Grade)] {
        self.grades
            .get(&document)
            .map_or(&[][..], SmallVec::as_slice)
    }
}
