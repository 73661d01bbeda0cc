//! Exponential backoff with jitter.

use std::time::Duration;

/// Shortest wait.
pub const MIN_WAIT: Duration = Duration::from_secs(1);

/// Longest wait.
pub const MAX_WAIT: Duration = Duration::from_secs(30);

/// Waits between the attempts of one operation: the range of the wait doubles with each attempt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    attempts: u32,
}

impl Backoff {
    /// Wait before the next attempt, between [`MIN_WAIT`] and [`MAX_WAIT`]. The jitter keeps the
    /// workers of a group from sending their requests at the same time: `random` selects the wait
    /// within the range of the attempt.
    pub fn next_wait(&mut self, random: u64) -> Duration {
        let factor = 2_u32.saturating_pow(self.attempts);
        self.attempts = self.attempts.saturating_add(1);
        let shortest = MIN_WAIT.saturating_mul(factor).min(MAX_WAIT / 2);
        let range = u64::try_from(shortest.as_millis()).unwrap_or(u64::MAX);
        shortest + Duration::from_millis(random % (range + 1))
    }
}
