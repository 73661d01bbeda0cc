//! Two clocks that must never be mixed: the time written in events, and the time on the wall.
//!
//! Both count milliseconds since 1970-01-01T00:00:00Z. Neither type can read a clock; a wall time
//! enters the engine as an input, an event time as part of an event.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When something happened, according to the event that reports it. Milliseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventTime(pub i64);

/// When the sidecar looked at the clock. Milliseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WallTime(pub i64);

/// A length of time in whole milliseconds, signed so that differences can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

impl EventTime {
    /// This time, `span` later.
    #[must_use]
    pub fn plus(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// This time, `span` earlier.
    #[must_use]
    pub fn minus(self, span: Millis) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// How long after `earlier` this is; negative when it is before.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl WallTime {
    /// How long after `earlier` this is; negative when the clock was set back.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }

    /// The event time that this wall time would be written as.
    pub fn as_event_time(self) -> EventTime {
        EventTime(self.0)
    }
}

impl From<Duration> for Millis {
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
    }
}
