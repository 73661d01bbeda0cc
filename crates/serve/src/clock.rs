//! Clocks of the process.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: the clock is read here"
)]

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rankgauge_core::time::WallTime;

/// Current wall-clock time.
pub fn wall_now() -> WallTime {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    WallTime(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// Current time of the clock that cannot be set.
pub fn monotonic_now() -> Instant {
    Instant::now()
}
