//! Settings of a registry.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// URL without a slash at its end.
    pub url: String,
    /// Credentials of all requests.
    pub credentials: Option<Credentials>,
    /// Certificates of authorities in PEM; `None` for those of the system.
    pub ca_file: Option<PathBuf>,
    /// Maximum duration of a request.
    pub timeout: Duration,
}

/// Credentials. `Debug` does not print them.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// Basic authentication.
    Basic {
        /// User.
        username: String,
        /// Password.
        password: String,
    },
    /// Bearer token.
    Bearer(String),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}
