//! TLS, authentication and headers of a listener, from its web configuration, and their reload.
//!
//! The files are read again when one of them changes, so that certificates, passwords and tokens
//! can be rotated while the process runs. This module must not know resources.

mod authentication;
pub mod config;
mod files;
mod tls;
mod token;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use rustls::ServerConfig;

use config::{ClientAuth, WebConfig};
pub use files::WebError;
use files::{read, sha256};

pub use token::{TOKEN, TokenHash, bearer_token};

pub(super) use authentication::{Authentication, Verdict};

/// Web configuration of a listener with the contents of its files.
#[derive(Debug, Default)]
pub struct Web {
    /// `None` for plain HTTP without authentication.
    source: Option<Source>,
    current: ArcSwap<Loaded>,
    /// Hashes of the files at the last attempt to load them.
    attempted: Mutex<Vec<FileHash>>,
}

/// Reader of a file with a web configuration. The error names all its problems.
pub type ReadConfig = fn(&Path) -> Result<WebConfig, Box<dyn Error + Send + Sync>>;

/// Source of a web configuration.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    read: ReadConfig,
}

/// A file and the hash of its content; `None` if it cannot be read.
type FileHash = (PathBuf, Option<[u8; 32]>);

/// A loaded web configuration.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) requires_certificate: bool,
    pub(super) headers: HeaderMap,
    /// `None` if no request needs a password or a token.
    pub(super) authentication: Option<Authentication>,
    has_authentication: bool,
    files: Vec<PathBuf>,
}

impl Web {
    /// Loads the file at `path` with `read`. Without one, the listener serves plain HTTP without
    /// authentication.
    ///
    /// # Errors
    /// The problem of the file, or of a file that it names.
    pub fn load(path: Option<&Path>, read: ReadConfig) -> Result<Self, WebError> {
        let Some(path) = path.map(Path::to_owned) else {
            return Ok(Self::default());
        };
        let source = Source { path, read };
        // A file that changes while it is loaded then has another hash at the next check.
        let hashes = source.hashes(&source.named_files().unwrap_or_default());
        Ok(Self {
            current: ArcSwap::from_pointee(source.load()?),
            source: Some(source),
            attempted: Mutex::new(hashes),
        })
    }

    /// The file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        Some(&self.source.as_ref()?.path)
    }

    /// Scheme of the listener in URLs. It does not change.
    pub fn scheme(&self) -> &'static str {
        match self.current.load().tls {
            Some(_) => "https",
            None => "http",
        }
    }

    /// Returns true if every client needs a certificate, a password or a token. A reload cannot remove this.
    pub fn has_authentication(&self) -> bool {
        self.current.load().has_authentication
    }

    /// Returns true if requests are protected from pages of other sites: such a page neither has
    /// the certificate of the listener nor a password or token.
    pub(super) fn is_protected(&self) -> bool {
        let current = self.current.load();
        current.tls.is_some() || current.authentication.is_some()
    }

    /// User of a request that the listener accepted; `token` for a bearer token. `None` if the listener
    /// checks neither passwords nor tokens.
    pub(super) fn user(&self, headers: &HeaderMap) -> Option<String> {
        let current = self.current.load();
        current.authentication.as_ref()?;
        authentication::user(headers)
    }

    /// The contents in use.
    pub(super) fn current(&self) -> Arc<Loaded> {
        self.current.load_full()
    }

    /// Loads the files again if one of them has changed since the last attempt. Returns true if
    /// the new contents are in use.
    ///
    /// # Errors
    /// The problem of the new contents; the previous ones stay in use. It is returned once for
    /// each change.
    pub fn reload(&self) -> Result<bool, WebError> {
        let Some(source) = &self.source else {
            return Ok(false);
        };
        let mut attempted = self
            .attempted
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let current = self.current.load();
        let files = source.named_files();
        let found = source.hashes(&files.unwrap_or_else(|| current.files.clone()));
        if *attempted == found {
            return Ok(false);
        }
        *attempted = found;
        let loaded = source.load()?;
        let weaker = |text| WebError::Weaker {
            path: source.path.clone(),
            text,
        };
        if loaded.tls.is_some() != current.tls.is_some() {
            return Err(weaker("adds or removes TLS"));
        }
        if current.has_authentication && !loaded.has_authentication {
            return Err(weaker("removes authentication"));
        }
        self.current.store(Arc::new(loaded));
        Ok(true)
    }
}

impl Source {
    /// Files that the web configuration names; `None` if it is not valid.
    fn named_files(&self) -> Option<Vec<PathBuf>> {
        let config = (self.read)(&self.path).ok()?;
        Some(config.files().into_iter().map(Path::to_owned).collect())
    }

    /// Hashes of the web configuration and of the files that it names.
    fn hashes(&self, files: &[PathBuf]) -> Vec<FileHash> {
        let paths = std::iter::once(&self.path).chain(files);
        let hash = |path| fs::read(path).ok().map(|bytes| sha256(&bytes));
        paths.map(|path| (path.clone(), hash(path))).collect()
    }

    fn load(&self) -> Result<Loaded, WebError> {
        let config = (self.read)(&self.path).map_err(WebError::Config)?;
        let tokens = match &config.bearer_tokens_file {
            Some(file) => tokens(file)?,
            None => Vec::new(),
        };
        let headers = config.headers.iter().filter_map(|(name, value)| {
            // The configuration accepts only names and values of headers.
            let name = name.parse::<HeaderName>().ok()?;
            Some((name, HeaderValue::from_str(value).ok()?))
        });
        let needs_credentials = !config.users.is_empty() || config.bearer_tokens_file.is_some();
        Ok(Loaded {
            tls: match &config.tls {
                Some(settings) => Some(Arc::new(tls::server_config(settings)?)),
                None => None,
            },
            requires_certificate: config.tls.as_ref().is_some_and(|tls| {
                matches!(
                    tls.client_auth,
                    ClientAuth::Required | ClientAuth::AnyRequired
                )
            }),
            headers: headers.collect(),
            has_authentication: config.has_authentication(),
            files: config.files().into_iter().map(Path::to_owned).collect(),
            authentication: needs_credentials.then(|| Authentication::new(config.users, tokens)),
        })
    }
}

/// The tokens in a file, one a line. Empty lines and lines that begin with `#` are ignored.
fn tokens(path: &Path) -> Result<Vec<TokenHash>, WebError> {
    let problem = |text: String| WebError::Content {
        path: path.to_owned(),
        text,
    };
    let text = String::from_utf8(read(path)?)
        .map_err(|_| problem("is not UTF-8; write one token a line".to_owned()))?;
    let mut tokens = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let token = line.trim();
        if token.is_empty() || token.starts_with('#') {
            continue;
        }
        let hash = TokenHash::parse(token)
            .ok_or_else(|| problem(format!("line {number} is not a token; {TOKEN}")))?;
        tokens.push(hash);
    }
    if tokens.is_empty() {
        return Err(problem("has no token; write one a line".to_owned()));
    }
    Ok(tokens)
}
