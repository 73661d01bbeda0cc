//! Detection of sessions whose searches are in several partitions, within one replica.
//!
//! The count depends on the partitions of this replica and on their progress. It is an indication
//! for operators and not part of the engine's counters.

use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use rustc_hash::FxHashSet;

/// Maximum number of tracked sessions. At the limit, all tracked sessions are dropped.
const MAX_SESSIONS: usize = 100_000;

/// Partitions in which each session was seen.
#[derive(Debug, Default)]
pub struct SessionPartitions {
    partitions: DashMap<Box<str>, FxHashSet<i32>>,
    split: AtomicU64,
}

impl SessionPartitions {
    /// Number of sessions that were seen in more than one partition.
    pub fn split(&self) -> u64 {
        self.split.load(Ordering::Relaxed)
    }

    /// Records that a search of `session` was read from `partition`.
    pub(super) fn record_search(&self, session: &str, partition: i32) {
        if let Some(mut partitions) = self.partitions.get_mut(session) {
            let is_second = partitions.insert(partition) && partitions.len() == 2;
            self.split
                .fetch_add(u64::from(is_second), Ordering::Relaxed);
            return;
        }
        if self.partitions.len() >= MAX_SESSIONS {
            self.partitions.clear();
        }
        self.partitions
            .insert(session.into(), std::iter::once(partition).collect());
    }
}
