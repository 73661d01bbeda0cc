//! Event time and wall time as separate types, because the two must never be mixed.
//!
//! Both count milliseconds since 1970-01-01T00:00:00Z. Neither type can read a clock: a wall time
//! is an input of the engine, an event time is part of an event.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Time at which something happened, as stated by the event. Milliseconds since the epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct EventTime(pub i64);

/// Time of the sidecar's system clock. Milliseconds since the epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct WallTime(pub i64);

/// Duration in whole milliseconds, signed so that it can hold any difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

impl EventTime {
    /// Returns the time `span` later.
    #[must_use]
    pub fn plus(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// Returns the time `span` earlier.
    #[must_use]
    pub fn minus(self, span: Millis) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// Returns the time elapsed since `earlier`; negative if this time is before it.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

/// RFC 3339 in UTC; the number of milliseconds for a time beyond the year 9999.
impl fmt::Display for EventTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(timestamp) => timestamp.fmt(f),
            Err(_) => self.0.fmt(f),
        }
    }
}

impl WallTime {
    /// Returns the time elapsed since `earlier`; negative if the clock was set back.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }

    /// Returns the event time with the same value.
    pub fn as_event_time(self) -> EventTime {
        EventTime(self.0)
    }
}

impl From<Duration> for Millis {
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
    }
}
