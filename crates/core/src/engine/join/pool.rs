//! Fixed-size entries in a slab, by number. A number is valid until its entry is removed.

use slab::Slab;

/// Number of an entry in a [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Number(u32);

impl Number {
    /// Number of no entry: the end of a list.
    pub(super) const NONE: Self = Self(u32::MAX);

    /// Returns the number; `None` for [`NONE`](Self::NONE).
    pub(super) fn some(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }

    /// Number for a hash.
    pub(super) fn spread(self) -> u64 {
        u64::from(self.0) << 2
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Entries by number.
#[derive(Debug)]
pub(super) struct Pool<T>(Slab<T>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Slab::new())
    }
}

impl<T> Pool<T> {
    /// Adds an entry.
    pub(super) fn insert(&mut self, entry: T) -> Number {
        let index = self.0.insert(entry);
        // The memory budget is far below 2^32 entries of at least 64 bytes.
        Number(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Returns an entry; `None` if it was removed.
    pub(super) fn get(&self, number: Number) -> Option<&T> {
        self.0.get(number.index())
    }

    /// Returns an entry; `None` if it was removed.
    pub(super) fn get_mut(&mut self, number: Number) -> Option<&mut T> {
        self.0.get_mut(number.index())
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, number: Number) -> Option<T> {
        self.0.try_remove(number.index())
    }
}
