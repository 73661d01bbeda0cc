//! Failures of a process.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::checkpoint::folder::InUse;
use crate::ingest::IngestError;
use rankgauge_core::gold::GoldError;
use rankgauge_gateway::StartError;
use rankgauge_serve::web::WebError;

/// Maximum duration of a read of a web configuration with its files.
pub(super) const WEB_LOAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Failure of the sidecar at its start or while it runs.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// Failure to load the gold set.
    #[error("the gold set cannot be loaded:\n{0}")]
    Gold(#[from] GoldError),
    /// The checkpoint folder is in use by another process.
    #[error(transparent)]
    CheckpointsInUse(#[from] InUse),
    /// Failure to listen on a configured address.
    #[error("cannot listen on {address} ({key}): {source}")]
    Listen {
        /// Configured address.
        address: SocketAddr,
        /// Configuration key of the address.
        key: &'static str,
        /// Cause.
        source: io::Error,
    },
    /// The web configuration of a listener, or a file with tokens, cannot be used.
    #[error("{key} cannot be used: {source}")]
    Web {
        /// Configuration key of the file.
        key: &'static str,
        /// Cause.
        source: WebError,
    },
    /// Such a file does not answer.
    #[error(
        "{key} was not read within {} s: {}; check that its volume answers",
        WEB_LOAD_TIMEOUT.as_secs(), path.display()
    )]
    SlowWeb {
        /// Configuration key of the file.
        key: &'static str,
        /// File.
        path: PathBuf,
    },
    /// The key of label requests cannot be used.
    #[error("labelling.key_file cannot be used: {}: {problem}", path.display())]
    LabelKey {
        /// File.
        path: PathBuf,
        /// Cause.
        problem: String,
    },
    /// Failure to start a thread or the runtime.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
    /// Conflict between metric families.
    #[error("the metric families cannot be set up: {0}")]
    Metrics(#[from] rankgauge_serve::process::Error),
    /// Permanent error of a worker.
    #[error("worker {worker}: {source}")]
    Worker {
        /// Number of the worker, from 0.
        worker: usize,
        /// Cause.
        source: IngestError,
    },
    /// Request to stop before the first gold set was loaded.
    #[error("stopped before the gold set was loaded")]
    Stopped,
    /// Panic of a worker, which is a defect.
    #[error("worker {0} panicked: this is a defect, please report it with the log above")]
    WorkerPanicked(usize),
    /// Failure to start the gateway.
    #[error(transparent)]
    Gateway(#[from] StartError),
    /// Workers that exceeded the shutdown time-out.
    #[error(
        "{0} worker(s) did not stop within shutdown_timeout; the next owner of their partitions \
         counts the records since the last commit again"
    )]
    ShutdownTimeout(usize),
}
