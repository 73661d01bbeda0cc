//! Interned document ids with consecutive numbers.
//!
//! All ids of a query are stored in one string: a set of half a million judgements needs a few
//! allocations per query, and a lookup touches little memory. This module must not know grades.

use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Unique ids in the order of insertion; the first has the number 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Documents {
    /// Concatenation of all ids.
    text: String,
    /// End offsets of the ids in `text`, by number.
    ends: Vec<usize>,
    /// Numbers by the hash of the id.
    numbers: HashTable<u32>,
}

impl Documents {
    /// Returns an empty list with capacity for `count` ids of `bytes` bytes in total.
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
    /// The existing number of the id, if it is already present.
    pub(super) fn insert(&mut self, id: &str) -> Result<(), usize> {
        let hash = FxBuildHasher.hash_one(id);
        if let Some(number) = self.number_of(hash, id) {
            return Err(number);
        }
        // Four billion judgements of one query do not fit in memory. Any beyond that share the
        // last number, which affects only the detection of repeated results.
        let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.text.push_str(id);
        self.ends.push(self.text.len());
        let (text, ends) = (&self.text, &self.ends);
        self.numbers.insert_unique(hash, number, |number| {
            FxBuildHasher.hash_one(id_at(text, ends, position(*number)).unwrap_or_default())
        });
        Ok(())
    }

    /// Returns the number of an id.
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

    /// Iterates over the ids in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).filter_map(|number| id_at(&self.text, &self.ends, number))
    }
}

impl PartialEq for Documents {
    /// Equal if the same ids have the same numbers.
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
