//! Numbers of entries by their ids.

use hashbrown::HashTable;

use super::pool::Number;
use crate::engine::id::Id;

/// Table of the entries of a [`Pool`](super::pool::Pool) by their ids. The ids are in the entries: a small
/// table stays in the processor's caches.
#[derive(Debug, Default)]
pub(super) struct ById(HashTable<Number>);

/// Approximate bytes of an entry of the table.
pub(super) const SLOT_BYTES: usize = 8;

impl ById {
    /// Adds an entry. `id_of` returns the id of any entry.
    pub(super) fn insert(&mut self, id: Id, number: Number, id_of: impl Fn(Number) -> Option<Id>) {
        let slot_of = |number: &Number| id_of(*number).map_or(0, Id::slot);
        self.0.insert_unique(id.slot(), number, slot_of);
    }

    /// Returns an entry with this id. `is_it` compares the id of an entry that may have it.
    pub(super) fn find(&self, id: Id, is_it: impl Fn(Number) -> bool) -> Option<Number> {
        self.0.find(id.slot(), |number| is_it(*number)).copied()
    }

    /// Returns the entry that probably has this id, without reading it.
    pub(super) fn guess(&self, id: Id) -> Number {
        self.find(id, |_| true).unwrap_or(Number::NONE)
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, id: Id, number: Number) {
        if let Ok(found) = self.0.find_entry(id.slot(), |it| *it == number) {
            found.remove();
        }
    }
}
