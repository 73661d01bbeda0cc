//! Settings of the log on standard error.

use tracing::level_filters::LevelFilter;

/// Settings of the log on standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// One line of text or one JSON object for each message.
    pub format: LogFormat,
    /// The least important level that is written.
    pub level: LevelFilter,
}

/// Format of log messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text, for users.
    Text,
    /// JSON, for log collectors.
    Json,
}
