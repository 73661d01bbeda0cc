//! Settings of the probe: targets, pace and limits, all checked.

use std::path::PathBuf;
use std::time::Duration;

use super::target::ProbeTarget;

/// Settings of the probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Search endpoints, one per variant.
    pub targets: Vec<ProbeTarget>,
    /// Requests per second over all targets, repetitions included; above 0.
    pub rate: f64,
    /// Maximum number of requests in progress.
    pub concurrency: usize,
    /// Time limit of one request, from the connection to the last byte of the answer.
    pub timeout: Duration,
    /// Maximum number of repetitions of a failed request.
    pub retries: usize,
    /// Number of results to request, the value of `{{size}}`.
    pub results: usize,
    /// Maximum size of an answer in bytes.
    pub max_answer: usize,
    /// Share of failed searches above which the probe fails; 0 to 1.
    pub max_failures: f64,
    /// Certificates in PEM of the authorities that sign the certificates of the targets. Default:
    /// those of the system.
    pub ca_file: Option<PathBuf>,
}
