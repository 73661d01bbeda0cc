//! Fixed-size entries in a slab, by number. A number is valid until its entry is removed.

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

/// Number of entries of a chunk.
const CHUNK: usize = 1_024;

/// Entries by number, in chunks: a pool grows without copying its entries.
#[derive(Debug)]
pub(super) struct Pool<T> {
    chunks: Vec<Vec<Option<T>>>,
    /// Number of slots, used and free.
    slots: usize,
    /// Free slots. A list within the slots would have to be read from them, and they are rarely in the
    /// processor's caches.
    free: Vec<Number>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            slots: 0,
            free: Vec::new(),
        }
    }
}

impl<T> Pool<T> {
    /// Adds an entry.
    pub(super) fn insert(&mut self, entry: T) -> Number {
        if let Some(number) = self.free.pop() {
            if let Some(slot) = self.slot_mut(number) {
                // The slot is empty. It is not read, which dropping its content would require.
                std::mem::forget(slot.replace(entry));
            }
            return number;
        }
        // The memory budget is far below 2^32 entries of at least 64 bytes.
        let number = Number(u32::try_from(self.slots).unwrap_or(u32::MAX));
        if self.slots.is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        if let Some(last) = self.chunks.last_mut() {
            last.push(Some(entry));
            self.slots += 1;
        }
        number
    }

    /// Returns an entry; `None` if it was removed.
    pub(super) fn get(&self, number: Number) -> Option<&T> {
        let index = number.index();
        let slot = self.chunks.get(index / CHUNK)?.get(index % CHUNK)?;
        slot.as_ref()
    }

    /// Returns an entry; `None` if it was removed.
    pub(super) fn get_mut(&mut self, number: Number) -> Option<&mut T> {
        self.slot_mut(number)?.as_mut()
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, number: Number) -> Option<T> {
        let removed = self.slot_mut(number)?.take()?;
        self.free.push(number);
        Some(removed)
    }

    fn slot_mut(&mut self, number: Number) -> Option<&mut Option<T>> {
        let index = number.index();
        self.chunks.get_mut(index / CHUNK)?.get_mut(index % CHUNK)
    }
}
