//! Log level of the process, which operators change while it runs.
//!
//! This module must not know the log itself: the command that starts the log provides the change.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::level_filters::LevelFilter;

/// Log levels by name.
pub const LOG_LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// Change of the level of a running log. The error states the cause.
type Apply = dyn Fn(LevelFilter) -> Result<(), String> + Send + Sync;

/// Level of the log of this process.
#[derive(Clone)]
pub struct LogLevel {
    current: Arc<Mutex<LevelFilter>>,
    apply: Arc<Apply>,
}

impl LogLevel {
    /// The level `current` of a log that `apply` changes.
    pub fn new(
        current: LevelFilter,
        apply: impl Fn(LevelFilter) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            current: Arc::new(Mutex::new(current)),
            apply: Arc::new(apply),
        }
    }

    /// Current level.
    pub fn get(&self) -> LevelFilter {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the level and returns the previous one.
    ///
    /// # Errors
    /// The cause why the log keeps its level.
    pub fn set(&self, level: LevelFilter) -> Result<LevelFilter, String> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        (self.apply)(level)?;
        Ok(std::mem::replace(&mut *current, level))
    }
}

impl fmt::Debug for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LogLevel").field(&self.get()).finish()
    }
}
