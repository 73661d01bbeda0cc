//! Dependence of searches in time, as one setting.

use serde::{Deserialize, Serialize};

/// Milliseconds per minute.
const MINUTE: i64 = 60_000;

/// Number of bursts in a block of the target test.
const BURSTS_PER_BLOCK: i64 = 5;

/// Mean length of a burst: the searches of one user, or of one session, that follow each other.
/// Searches within a burst are dependent; searches of different bursts are treated as independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Burst(i64);

impl Default for Burst {
    /// One minute.
    fn default() -> Self {
        Self(MINUTE)
    }
}

impl Burst {
    /// Bursts with a mean length in milliseconds. The tests treat a burst as at least one minute
    /// long.
    pub fn of_millis(millis: i64) -> Self {
        Self(millis.max(0))
    }

    /// Number of minutes in which a query counts once in the drop test; at least 1.
    pub fn repeat_window(self) -> i64 {
        let minutes = self.0 / MINUTE + i64::from(self.0 % MINUTE > 0);
        minutes.max(1)
    }

    /// Length of a block of the target test in milliseconds; at least 5 minutes.
    pub fn block(self) -> i64 {
        self.0.max(MINUTE).saturating_mul(BURSTS_PER_BLOCK)
    }
}

/// Minute of an event time in milliseconds since 1970.
pub(crate) fn minute_of(ts: i64) -> i64 {
    ts.div_euclid(MINUTE)
}
