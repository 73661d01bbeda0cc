//! Expectations of the answer to a gold query.

use super::normal_form::normalise;
use super::problem::{Place, Problem, Problems};

/// Maximum number of reference texts, of texts that an answer contains, and of ids that it cites.
const MAX_ENTRIES: usize = 1_000;

/// Maximum number of bytes of a text.
const MAX_TEXT: usize = 1 << 16;

/// Expectations of an answer. All are optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectedAnswer {
    /// Reference answers. The best one counts.
    pub references: Vec<String>,
    /// Ids that the answer cites.
    pub must_cite: Vec<String>,
    /// Texts that the answer contains.
    pub must_contain: Vec<String>,
    /// False if the documents do not answer the query: a refusal is then right.
    pub answerable: Option<bool>,
}

impl ExpectedAnswer {
    /// Returns true if nothing is expected.
    pub fn is_empty(&self) -> bool {
        self.references.is_empty()
            && self.must_cite.is_empty()
            && self.must_contain.is_empty()
            && self.answerable.is_none()
    }

    /// Adds what another file expects.
    pub(super) fn merge(&mut self, other: Self) {
        self.references.extend(other.references);
        self.must_cite.extend(other.must_cite);
        self.must_contain.extend(other.must_contain);
        self.answerable = self.answerable.or(other.answerable);
    }

    /// Checks the texts and ids of a query.
    pub(super) fn check(&self, place: &Place, key: &str, problems: &mut Problems) {
        let lists = [
            ("answers", &self.references),
            ("must_cite", &self.must_cite),
            ("must_contain", &self.must_contain),
        ];
        for (field, entries) in lists {
            let mut problem = |reason: String| {
                problems.push(Problem::ExpectedAnswer {
                    place: place.clone(),
                    key: key.to_owned(),
                    field,
                    reason,
                });
            };
            if entries.len() > MAX_ENTRIES {
                problem(format!(
                    "{} entries; at most {MAX_ENTRIES} are read",
                    entries.len()
                ));
            }
            if entries.iter().any(|entry| normalise(entry).is_empty()) {
                problem("an entry is empty; write it, or leave it out".to_owned());
            }
            if let Some(long) = entries.iter().find(|entry| entry.len() > MAX_TEXT) {
                problem(format!(
                    "a text of {} bytes; at most {MAX_TEXT} are compared",
                    long.len()
                ));
            }
        }
        if self.answerable == Some(false) && !self.must_cite.is_empty() {
            problems.push(Problem::ExpectedAnswer {
                place: place.clone(),
                key: key.to_owned(),
                field: "must_cite",
                reason: "answerable is false; leave one of the two out".to_owned(),
            });
        }
    }
}
