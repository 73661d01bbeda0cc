//! Heartbeat of a thread, by which others see that its loop goes on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::clock::monotonic_now;

/// Heartbeat of a thread. It does not depend on the wall clock, which can be set.
#[derive(Debug)]
pub struct Heartbeat {
    created: Instant,
    /// Time of the last beat since `created`, in milliseconds.
    last: AtomicU64,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self {
            created: monotonic_now(),
            last: AtomicU64::new(0),
        }
    }
}

impl Heartbeat {
    /// Records the start of an iteration of the thread's loop.
    pub fn beat(&self) {
        let now = u64::try_from(self.created.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    /// Time since the start of the last iteration; at first, since the creation.
    pub fn age(&self) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.created.elapsed().saturating_sub(last)
    }
}
