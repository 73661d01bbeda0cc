//! Whether the searches of a session meet in one partition, as far as one replica can see.
//!
//! What is counted here depends on which partitions this replica has and on how far each is: it is a
//! sign for people, and no part of what the engine counts.

use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use rustc_hash::FxHashSet;

/// Most sessions that are known at a time; then they are forgotten.
const MOST: usize = 100_000;

/// In which partitions sessions were seen.
#[derive(Debug, Default)]
pub struct SessionPlaces {
    places: DashMap<Box<str>, FxHashSet<i32>>,
    split: AtomicU64,
}

impl SessionPlaces {
    /// How many sessions were seen in more than one partition.
    pub fn split(&self) -> u64 {
        self.split.load(Ordering::Relaxed)
    }

    /// A search of `session` was read from `partition`.
    pub(super) fn note(&self, session: &str, partition: i32) {
        if let Some(mut places) = self.places.get_mut(session) {
            let is_second = places.insert(partition) && places.len() == 2;
            self.split
                .fetch_add(u64::from(is_second), Ordering::Relaxed);
            return;
        }
        if self.places.len() >= MOST {
            self.places.clear();
        }
        self.places
            .insert(session.into(), std::iter::once(partition).collect());
    }
}
