//! Plain counters by series: failed searches, feedback, component activity.

use serde::{Deserialize, Serialize};

use crate::engine::registry::{Family, Series};
use crate::engine::state::Renumbering;
use crate::engine::table::{self, by_family, entry};

/// Counters by family and series, additive over workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts(#[serde(with = "by_family")] [Vec<u64>; Family::ALL.len()]);

impl Counts {
    /// Creates counters from saved values, by family and series.
    pub(super) fn new(counts: [Vec<u64>; Family::ALL.len()]) -> Self {
        Self(counts)
    }

    /// Adds `number` to the counter of `series`.
    pub fn add(&mut self, family: Family, series: Series, number: u64) {
        *entry(&mut self.0[family as usize], series) += number;
    }

    /// Counters of a family, by series. Trailing series without counts may be missing.
    pub fn of(&self, family: Family) -> &[u64] {
        &self.0[family as usize]
    }

    /// Adds the counts that an earlier process saved.
    pub(super) fn restore(&mut self, saved: &Self, renumbering: &Renumbering) {
        for family in Family::ALL {
            let (mine, theirs) = (&mut self.0[family as usize], &saved.0[family as usize]);
            renumbering.add(family, mine, theirs, |mine, theirs| *mine += theirs);
        }
    }

    /// Adds the counts of another worker.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            table::add(mine, theirs);
        }
    }
}
