//! Pipeline: events by outcome, partitions, progress and memory.

use super::model::ReadModel;
use crate::engine::family::{self, Table};
use crate::engine::snapshot::{Memory, PartitionStatus};
use crate::event::{Kind, Reason};
use crate::time::{EventTime, WallTime};

impl<'a> ReadModel<'a> {
    /// Wall time of the oldest worker's last tick.
    pub fn wall(&self) -> Option<WallTime> {
        self.snapshot.wall
    }

    /// Event time up to which all records have arrived: the end of the rolling windows.
    pub fn watermark(&self) -> Option<EventTime> {
        self.snapshot.progress?.watermark
    }

    /// Newest event time.
    pub fn newest(&self) -> Option<EventTime> {
        Some(self.snapshot.progress?.newest)
    }

    /// Events by outcome; with those pending, they add up to those received.
    pub fn outcomes(&self, kind: Kind) -> Vec<(&'static str, u64)> {
        self.snapshot.totals.events.outcomes(kind)
    }

    /// Number of searches that are judged if their query is in the gold set.
    pub fn eligible_searches(&self) -> u64 {
        self.snapshot.totals.events.eligible_searches()
    }

    /// Searches that wait for feedback, or feedback events that wait for their search.
    pub fn pending(&self, kind: Kind) -> u64 {
        self.snapshot.pending[kind.index()]
    }

    /// Events received.
    pub fn received(&self, kind: Kind) -> u64 {
        let outcomes = self.outcomes(kind).into_iter();
        outcomes.map(|(_, count)| count).sum::<u64>() + self.pending(kind)
    }

    /// Records by outcome.
    pub fn records(&self, kind: Kind) -> impl Iterator<Item = (&'static str, u64)> {
        self.snapshot.totals.events.records(kind).into_iter()
    }

    /// Events that cannot be used, by reason.
    pub fn invalid(&self, kind: Kind) -> impl Iterator<Item = (Reason, u64)> {
        let counts = self.snapshot.totals.events.invalid_by_reason(kind);
        Reason::ALL.into_iter().zip(counts.iter().copied())
    }

    /// Searches finalised before the end of their feedback window.
    pub fn finalised_early(&self) -> u64 {
        self.sum(&family::FINALISED_EARLY, |_| true)
    }

    /// Samples in overflow series, by the family that numbers the series.
    pub fn overflow(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let tables = Table::all().filter(|table| table.can_overflow());
        tables.map(|table| {
            let owner = table.owner();
            (owner.name, self.snapshot.totals.overflow(owner))
        })
    }

    /// Assigned partitions, by number.
    pub fn partitions(&self) -> &'a [PartitionStatus] {
        &self.snapshot.partitions
    }

    /// Approximate memory held.
    pub fn memory(&self) -> Memory {
        self.snapshot.memory
    }
}
