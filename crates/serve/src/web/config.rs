//! Web configuration of a listener: TLS, authentication and headers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Web configuration of a listener.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebConfig {
    /// TLS; without it, the listener serves plain HTTP.
    pub tls: Option<TlsConfig>,
    /// Headers of every response, by name.
    pub headers: BTreeMap<String, String>,
    /// Users of basic authentication with their bcrypt hashes.
    pub users: BTreeMap<String, PasswordHash>,
    /// File with one bearer token a line.
    pub bearer_tokens_file: Option<PathBuf>,
}

/// TLS settings of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// Certificate chain in PEM, the certificate of the listener first.
    pub cert_file: PathBuf,
    /// Private key in PEM.
    pub key_file: PathBuf,
    /// Certificates in PEM of the authorities that sign client certificates.
    pub client_ca_file: Option<PathBuf>,
    /// Requirement of client certificates.
    pub client_auth: ClientAuth,
    /// Lowest accepted TLS version.
    pub min_version: TlsVersion,
}

/// Requirement of client certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// None is requested.
    None,
    /// One is requested, but not verified.
    Requested,
    /// Every request needs one, except probes, but it is not verified.
    AnyRequired,
    /// A certificate is verified if the client sends one.
    IfGiven,
    /// Every request needs one, except probes.
    Required,
}

/// TLS version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

/// Bcrypt hash of a password. `Debug` masks it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    text: String,
    cost: u32,
}

impl PasswordHash {
    /// The bcrypt hash in `text`.
    ///
    /// # Errors
    /// Problem and remedy, without the text: it may be a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<bcrypt::HashParts>() {
            Err(_) => Err("is not a bcrypt hash; write the output of htpasswd -nBC 10".to_owned()),
            Ok(parts) if parts.get_cost() > MAX_BCRYPT_COST => Err(format!(
                "is a bcrypt hash of a cost above {MAX_BCRYPT_COST}; use 10 to 12"
            )),
            Ok(parts) => Ok(Self {
                text: text.to_owned(),
                cost: parts.get_cost(),
            }),
        }
    }

    /// Cost of the hash.
    pub(super) fn cost(&self) -> u32 {
        self.cost
    }

    /// The hash with its parameters.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Highest accepted cost of a bcrypt hash. Each step doubles the time of a verification, which is
/// a few seconds here.
const MAX_BCRYPT_COST: u32 = 16;

impl WebConfig {
    /// All files that the configuration names.
    pub fn files(&self) -> Vec<&Path> {
        let tls = self.tls.iter().flat_map(|tls| {
            let files = [Some(&tls.cert_file), Some(&tls.key_file)];
            files.into_iter().chain([tls.client_ca_file.as_ref()])
        });
        let files = tls.chain([self.bearer_tokens_file.as_ref()]);
        files.flatten().map(PathBuf::as_path).collect()
    }

    /// Returns true if a request needs credentials.
    pub fn has_authentication(&self) -> bool {
        let certificate = self.tls.as_ref().map(|tls| tls.client_auth);
        !self.users.is_empty()
            || self.bearer_tokens_file.is_some()
            || certificate == Some(ClientAuth::Required)
    }
}
