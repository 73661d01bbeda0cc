//! Things that are only counted, by series: failed searches, feedback, what components did.

use serde::{Deserialize, Serialize};

use crate::engine::registry::{Family, Series};
use crate::engine::state::Renumbering;
use crate::engine::table::{self, by_family, entry};

/// How often each series of each family was counted. Additive over workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts(#[serde(with = "by_family")] [Vec<u64>; Family::ALL.len()]);

impl Counts {
    /// What was counted before, by family and series.
    pub(super) fn new(counts: [Vec<u64>; Family::ALL.len()]) -> Self {
        Self(counts)
    }

    /// Counts `number` more.
    pub fn add(&mut self, family: Family, series: Series, number: u64) {
        *entry(&mut self.0[family as usize], series) += number;
    }

    /// The counts of a family by series; series that counted nothing may be missing at the end.
    pub fn of(&self, family: Family) -> &[u64] {
        &self.0[family as usize]
    }

    /// Adds what an earlier process counted.
    pub(super) fn restore(&mut self, saved: &Self, renumbering: &Renumbering) {
        for family in Family::ALL {
            let (mine, theirs) = (&mut self.0[family as usize], &saved.0[family as usize]);
            renumbering.add(family, mine, theirs, |mine, theirs| *mine += theirs);
        }
    }

    /// Adds another worker's counts.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            table::add(mine, theirs);
        }
    }
}
