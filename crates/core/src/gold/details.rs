//! Fields of judged documents other than the grade, with their facets by column.
//!
//! A measure of facets compares the same few names and values for every search. Columns of numbers
//! replace these comparisons of texts.

use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::query::JudgementDetail;

/// Fields of the judged documents of a query, by the document's number.
#[derive(Clone, Debug, Default)]
pub struct Details {
    documents: Vec<JudgementDetail>,
    /// Columns by facet. Made at the first look-up, and dropped by a change.
    facets: OnceLock<Vec<(Box<str>, FacetColumn)>>,
}

/// Facet of the judged documents of a query: the value of each document, as a number.
#[derive(Clone, Debug, Default)]
pub struct FacetColumn {
    /// Distinct values.
    values: Vec<Box<str>>,
    /// Value of each document, by its position in `values` plus 1.
    numbers: Vec<Option<NonZeroUsize>>,
}

impl Details {
    /// Column of a facet. `None` if no document has it.
    pub fn facet(&self, name: &str) -> Option<&FacetColumn> {
        let columns = self.facets.get_or_init(|| columns(&self.documents));
        let mut columns = columns.iter();
        let (_, column) = columns.find(|(known, _)| **known == *name)?;
        Some(column)
    }
}

impl FacetColumn {
    /// Number of a value. `None` if no document has it.
    pub fn number_of(&self, value: &str) -> Option<NonZeroUsize> {
        let mut values = self.values.iter();
        let position = values.position(|known| **known == *value)?;
        NonZeroUsize::new(position + 1)
    }

    /// Number of the value of a document. `None` for a document without the facet.
    pub fn number(&self, document: usize) -> Option<NonZeroUsize> {
        *self.numbers.get(document)?
    }

    /// Value of a document. `None` for a document without the facet.
    pub fn value(&self, document: usize) -> Option<&str> {
        let value = self.values.get(self.number(document)?.get() - 1);
        value.map(|value| &**value)
    }
}

fn columns(documents: &[JudgementDetail]) -> Vec<(Box<str>, FacetColumn)> {
    let mut columns: Vec<(Box<str>, FacetColumn)> = Vec::new();
    let mut numbers: FxHashMap<(&str, &str), NonZeroUsize> = FxHashMap::default();
    for (document, detail) in documents.iter().enumerate() {
        for (name, value) in &detail.facets {
            let known = columns.iter().position(|(known, _)| **known == **name);
            let index = known.unwrap_or_else(|| {
                columns.push((name.as_str().into(), FacetColumn::default()));
                columns.len() - 1
            });
            let (_, column) = &mut columns[index];
            let number = *numbers.entry((name, value)).or_insert_with(|| {
                column.values.push(value.as_str().into());
                NonZeroUsize::MIN.saturating_add(column.values.len() - 1)
            });
            column.numbers.resize(document, None);
            column.numbers.push(Some(number));
        }
    }
    columns
}

impl From<Vec<JudgementDetail>> for Details {
    fn from(documents: Vec<JudgementDetail>) -> Self {
        Self {
            documents,
            facets: OnceLock::new(),
        }
    }
}

impl PartialEq for Details {
    fn eq(&self, other: &Self) -> bool {
        self.documents == other.documents
    }
}

impl Deref for Details {
    type Target = Vec<JudgementDetail>;

    fn deref(&self) -> &Self::Target {
        &self.documents
    }
}

impl DerefMut for Details {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.facets = OnceLock::new();
        &mut self.documents
    }
}

impl<'a> IntoIterator for &'a Details {
    type Item = &'a JudgementDetail;
    type IntoIter = std::slice::Iter<'a, JudgementDetail>;

    fn into_iter(self) -> Self::IntoIter {
        self.documents.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::{Details, JudgementDetail};

    #[test]
    fn facet_columns_number_the_values_of_documents_and_follow_changes() {
        let detail = |facets: &[(&str, &str)]| JudgementDetail {
            facets: facets
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..JudgementDetail::default()
        };
        let mut details = Details::from(vec![
            detail(&[("law_type", "법률"), ("chapter", "1")]),
            detail(&[]),
            detail(&[("law_type", "시행령")]),
            detail(&[("law_type", "법률")]),
        ]);
        let values = |details: &Details, name: &str| -> Vec<Option<String>> {
            let column = details.facet(name).expect("a facet");
            let documents = 0..details.len();
            documents
                .map(|document| column.value(document).map(str::to_owned))
                .collect()
        };
        let [law, decree] = ["법률", "시행령"].map(|value| Some(value.to_owned()));
        assert_eq!(
            values(&details, "law_type"),
            [law.clone(), None, decree.clone(), law.clone()]
        );
        let column = details.facet("law_type").expect("a facet");
        assert_eq!(column.number_of("법률"), column.number(3));
        assert_ne!(column.number(0), column.number(2));
        assert_eq!(column.number_of("조례"), None);
        assert_eq!(column.number(1), None);
        assert!(details.facet("source").is_none());

        details.push(detail(&[("law_type", "시행령"), ("source", "a2a")]));
        assert_eq!(
            values(&details, "law_type"),
            [law.clone(), None, decree.clone(), law, decree]
        );
        let source = details.facet("source").expect("the added facet");
        assert_eq!(source.value(4), Some("a2a"));
        assert_eq!(source.value(0), None);
    }
}
