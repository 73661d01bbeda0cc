//! Numbers of dead-letter records of a worker.

use std::sync::atomic::{AtomicU64, Ordering};

use rankgauge_core::event::Kind;

/// Dead-letter records of a worker by kind of event.
#[derive(Debug, Default)]
pub struct DeadLetterCounts {
    delivered: [AtomicU64; 2],
    failed: [AtomicU64; 2],
}

impl DeadLetterCounts {
    /// Numbers of delivered and failed dead-letter records.
    pub fn of(&self, kind: Kind) -> [u64; 2] {
        [&self.delivered, &self.failed].map(|counts| counts[kind.index()].load(Ordering::Relaxed))
    }

    /// Counts a dead-letter record that was delivered or has failed.
    pub fn count(&self, kind: Kind, arrived: bool) {
        let counts = if arrived {
            &self.delivered
        } else {
            &self.failed
        };
        counts[kind.index()].fetch_add(1, Ordering::Relaxed);
    }
}
