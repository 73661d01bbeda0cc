//! Recorded counters: one number for each family and series.

use serde::{Deserialize, Serialize};

use crate::engine::family::{self, Family, Table};
use crate::engine::remap::IdRemap;
use crate::engine::series::Series;
use crate::engine::table::{self, entry};

/// Counters by family and series, in units of the last decimal place of the family.
///
/// A counter holds 10¹⁴ events with the largest possible amount (10⁹ currency units in units of
/// 10⁻¹⁵). Beyond that it stays at its maximum, so it never decreases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters(Vec<Vec<i128>>);

impl Counters {
    /// Adds `number` to the counter of `series`.
    pub(super) fn add(&mut self, family: &Family, series: Series, number: i128) {
        if self.0.len() <= family.index() {
            self.0.resize(family::ALL.len(), Vec::new());
        }
        let counter = entry(&mut self.0[family.index()], series);
        *counter = counter.saturating_add(number);
    }

    /// Clears the counters of retired series.
    pub(super) fn retire(&mut self, retired: &[(Table, Series)]) {
        for (table, series) in retired {
            let families = family::ALL.iter().zip(&mut self.0);
            for (_, counters) in families.filter(|(family, _)| family.table() == Some(*table)) {
                table::clear(counters, *series, 1);
            }
        }
    }

    /// Counters of a family, by series. Trailing series without counts may be missing.
    pub fn of(&self, family: &Family) -> &[i128] {
        self.0.get(family.index()).map_or(&[], Vec::as_slice)
    }

    /// Sum of the counters of a family over all series.
    pub fn sum(&self, family: &Family) -> i128 {
        self.of(family).iter().sum()
    }

    /// Adds other counters.
    pub(super) fn merge(&mut self, other: &Self) {
        table::merge(&mut self.0, &other.0, |mine, theirs| {
            table::merge(mine, theirs, |mine, theirs| {
                *mine = mine.saturating_add(*theirs);
            });
        });
    }

    /// Returns saved counters with the numbers of this process.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let mut counters = vec![Vec::new(); family::ALL.len()];
        for (saved, family) in self.0.iter().zip(ids.families()) {
            if let Some(family) = family
                && let Some(table) = family.table()
            {
                let mine = &mut counters[family.index()];
                ids.add(table, mine, saved, |mine, theirs| {
                    *mine = mine.saturating_add(*theirs);
                });
            }
        }
        Self(counters)
    }
}
