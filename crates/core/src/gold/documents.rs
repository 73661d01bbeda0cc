//! Ids of documents, each once, with the numbers by which they are known.
//!
//! All ids of a query stand in one text: a set of half a million judgements is a few allocations a
//! query, and looking one up touches little memory. Nothing here knows grades.

use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Ids in the order in which they came; the first has the number 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Documents {
    /// All ids, one after the other.
    text: String,
    /// Where each ends in `text`, by number.
    ends: Vec<usize>,
    /// The numbers, by the hashes of the ids.
    numbers: HashTable<u32>,
}

impl Documents {
    /// None yet, with room for `count` of them that are `bytes` long together.
    pub(super) fn with_capacity(count: usize, bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            ends: Vec::with_capacity(count),
            numbers: HashTable::with_capacity(count),
        }
    }

    /// Adds an id.
    ///
    /// # Errors
    /// The number it already has.
    pub(super) fn insert(&mut self, id: &str) -> Result<(), usize> {
        let hash = FxBuildHasher.hash_one(id);
        if let Some(number) = self.number_of(hash, id) {
            return Err(number);
        }
        // Four billion judgements of one query do not fit any memory; should they, the surplus
        // shares the last number, which only blurs what is a repeated result.
        let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.text.push_str(id);
        self.ends.push(self.text.len());
        let (text, ends) = (&self.text, &self.ends);
        self.numbers.insert_unique(hash, number, |number| {
            FxBuildHasher.hash_one(id_at(text, ends, position(*number)).unwrap_or_default())
        });
        Ok(())
    }

    /// The number of an id.
    pub(super) fn number(&self, id: &str) -> Option<usize> {
        self.number_of(FxBuildHasher.hash_one(id), id)
    }

    fn number_of(&self, hash: u64, id: &str) -> Option<usize> {
        let is_it = |number: &u32| {
            id_at(&self.text, &self.ends, position(*number)).is_some_and(|it| it == id)
        };
        self.numbers
            .find(hash, is_it)
            .map(|number| position(*number))
    }

    /// The ids in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).filter_map(|number| id_at(&self.text, &self.ends, number))
    }
}

impl PartialEq for Documents {
    /// The same ids by the same numbers.
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl Eq for Documents {}

fn position(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn id_at<'a>(text: &'a str, ends: &[usize], number: usize) -> Option<&'a str> {
    let start = match number.checked_sub(1) {
        Some(before) => *ends.get(before)?,
        None => 0,
    };
    text.get(start..*ends.get(number)?)
}
