//! Units of an experiment: users or sessions, as hashes. Ids of units are not stored.

use serde::{Deserialize, Serialize};

/// Number of bits of a bitmap of units.
const BITS: u64 = 1 << 20;

/// Number of buckets of an arm.
pub(super) const BUCKETS: u64 = 1024;

/// Hash of the id of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unit(pub(super) u64);

impl Unit {
    /// FNV-1a of the bytes of an id, then the finaliser of splitmix64.
    pub(crate) fn of(id: &str) -> Self {
        let fold =
            |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        let mut mixed = id.as_bytes().iter().fold(0xCBF2_9CE4_8422_2325, fold);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self(mixed ^ (mixed >> 31))
    }

    /// Bucket of the unit in its arm.
    pub(super) fn bucket(self) -> usize {
        usize::try_from(self.0 % BUCKETS).unwrap_or_default()
    }
}

/// Units that were counted, as a bitmap of 128 kB. Two units with the same bit count as one, in
/// every arm alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnitBitmap {
    words: Vec<u64>,
}

impl Default for UnitBitmap {
    fn default() -> Self {
        let words = usize::try_from(BITS / 64).unwrap_or_default();
        Self {
            words: vec![0; words],
        }
    }
}

impl UnitBitmap {
    /// Marks a unit. Returns true if it was not marked: it counts.
    pub(crate) fn insert(&mut self, unit: Unit) -> bool {
        let bit = (unit.0 >> 10) % BITS;
        let word = usize::try_from(bit / 64).ok();
        let Some(word) = word.and_then(|word| self.words.get_mut(word)) else {
            return false;
        };
        let mask = 1 << (bit % 64);
        let is_new = *word & mask == 0;
        *word |= mask;
        is_new
    }

    /// Marks the units of another part of the traffic.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Approximate bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }
}
