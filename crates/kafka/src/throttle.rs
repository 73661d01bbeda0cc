//! Rate limit for repeated log messages.

use std::time::{Duration, Instant};

/// Minimum time between two log messages about a persistent problem.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// Rate limit for one kind of log message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Throttle {
    last: Option<Instant>,
    suppressed: u64,
}

impl Throttle {
    /// Returns the number of messages suppressed since the last one, if a message may be logged
    /// now. Otherwise counts a suppressed message.
    pub fn admit(&mut self) -> Option<u64> {
        if self.last.is_some_and(|last| last.elapsed() < LOG_INTERVAL) {
            self.suppressed = self.suppressed.saturating_add(1);
            return None;
        }
        self.last = Some(Instant::now());
        Some(std::mem::take(&mut self.suppressed))
    }

    /// Admits the next message at once. Call it when the problem is solved.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::Throttle;

    #[test]
    fn a_repeated_message_is_suppressed_until_the_problem_is_solved() {
        let mut throttle = Throttle::default();
        assert_eq!(throttle.admit(), Some(0));
        assert_eq!(throttle.admit(), None);
        throttle.reset();
        assert_eq!(throttle.admit(), Some(0));
    }
}
