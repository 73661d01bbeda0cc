//! Pace of a worker's loop: the end of a batch, the due times of periodic work, and the detection
//! of stalls. Everything here is a function of the times that it receives.

use std::time::Duration;

use super::boot_time::BootTime;

/// Maximum number of polls between two rounds of periodic work. A poll returns a group of records.
pub const MAX_POLLS: u32 = 32;

/// Maximum duration of the polls of a batch. It bounds the delay of periodic work at every record
/// rate, and the delay before a worker handles a command, a new gold set or a shutdown.
pub const MAX_BATCH_TIME: Duration = Duration::from_millis(50);

/// Polls between two rounds of periodic work: at most [`MAX_POLLS`] within [`MAX_BATCH_TIME`].
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    polls_left: u32,
    end: BootTime,
}

impl Batch {
    /// Batch that starts at `now`.
    pub fn starting_at(now: BootTime) -> Self {
        Self {
            polls_left: MAX_POLLS,
            end: now + MAX_BATCH_TIME,
        }
    }

    /// Maximum wait of the next poll, which is at `now`; `None` at the end of the batch.
    pub fn next_poll(&mut self, now: BootTime) -> Option<Duration> {
        let wait = self.end.since(now);
        self.polls_left = self.polls_left.checked_sub(1)?;
        (!wait.is_zero()).then_some(wait)
    }
}

/// Due times of periodic work. A late run does not delay the following ones, and missed runs are
/// skipped.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    interval: Duration,
    next: BootTime,
}

impl Schedule {
    /// Schedule whose first due time is `first`.
    pub fn starting_at(first: BootTime, interval: Duration) -> Self {
        Self {
            interval,
            next: first,
        }
    }

    /// Returns true if the work is due at `now`, and sets the next due time.
    pub fn is_due(&mut self, now: BootTime) -> bool {
        if now < self.next {
            return false;
        }
        let next = self.next + self.interval;
        self.next = if next > now {
            next
        } else {
            now + self.interval
        };
        true
    }
}

/// Detection of stalls of a worker, such as a suspended machine. After a stall of a certain length,
/// the consumer group has probably reassigned the partitions of the worker.
#[derive(Clone, Copy, Debug)]
pub struct StallCheck {
    /// Time at which the worker last ran.
    awake: BootTime,
    longest_pause: Duration,
}

impl StallCheck {
    /// Check of a worker that is awake at `now` and may pause for `longest_pause`.
    pub fn starting_at(now: BootTime, longest_pause: Duration) -> Self {
        Self {
            awake: now,
            longest_pause,
        }
    }

    /// Time at which the worker last ran.
    pub fn awake(&self) -> BootTime {
        self.awake
    }

    /// Records that the worker runs at `now`. Returns the time since it last ran if it exceeds the
    /// limit.
    pub fn runs(&mut self, now: BootTime) -> Option<Duration> {
        let pause = now.since(std::mem::replace(&mut self.awake, now));
        (pause > self.longest_pause).then_some(pause)
    }
}
