//! Limits of a listener.

use std::time::Duration;

/// Limits of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of requests in progress, until their responses are sent. Bounds the memory
    /// of responses. Probes are not counted.
    pub requests: usize,
    /// Maximum number of connections.
    pub connections: usize,
    /// Time limit from the accepted connection, or the first byte of a later request, to the end
    /// of the head of the request. A handler that reads bodies limits their time.
    pub request: Duration,
    /// Time limit for sending a response.
    pub response: Duration,
    /// Time limit between two requests of a connection.
    pub idle: Duration,
    /// Time limit for requests in progress at shutdown.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 16,
            connections: 256,
            request: Duration::from_secs(10),
            response: Duration::from_secs(30),
            idle: Duration::from_mins(2),
            drain: Duration::from_secs(2),
        }
    }
}
