//! Files of a web configuration.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest as _, Sha256};

/// Problem of a web configuration or of a file that it names.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The file is not valid.
    #[error(transparent)]
    Config(Box<dyn Error + Send + Sync>),
    /// A file that it names cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The content of a file that it names is not valid.
    #[error("{}: {text}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Problem and remedy, without the content.
        text: String,
    },
    /// A reload would remove a protection.
    #[error("{} {text}; restart to change this", path.display())]
    Weaker {
        /// The web configuration.
        path: PathBuf,
        /// The protection.
        text: &'static str,
    },
}

/// Hash of a content.
pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Content of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, WebError> {
    fs::read(path).map_err(|source| WebError::Unreadable {
        path: path.to_owned(),
        source,
    })
}
