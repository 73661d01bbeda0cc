//! Settings of a gateway.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Key of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyBy {
    /// Id of the search.
    QueryId,
    /// Session of the user.
    SessionId,
}

impl KeyBy {
    /// Every key with its name in the configuration.
    pub const NAMES: [(&str, Self); 2] =
        [("query_id", Self::QueryId), ("session_id", Self::SessionId)];
}

/// Settings of a gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Address; `None` if the gateway is off.
    pub listen: Option<SocketAddr>,
    /// Web configuration of the listener.
    pub web: Option<PathBuf>,
    /// File with the tokens of applications; `None` if every client can send events.
    pub tokens: Option<PathBuf>,
    /// Key of the records.
    pub key: KeyBy,
    /// Origins whose pages can send events; `*` for every page.
    pub cors_origins: Vec<String>,
    /// Maximum memory of all requests with their records, in bytes.
    pub memory: usize,
    /// Maximum size of the body of a request as it is sent, in bytes.
    pub max_body: usize,
    /// Maximum size of the body of a request without compression, in bytes.
    pub max_decompressed: usize,
    /// Maximum number of events in a request.
    pub max_events: usize,
    /// Maximum number of connections.
    pub max_connections: usize,
    /// Time limit for the answer of the broker.
    pub timeout: Duration,
}
