//! Metrics of a process that is a probe, and their listener.

use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::error::AppError;
use super::listeners::{BUILD, load_metrics_web, serve_metrics};
use crate::config::Config;
use crate::log::LogQueue;
use rankgauge_serve::base_listener::BaseListener;
use rankgauge_serve::probe::{ProbeMetrics, ProbedSearches};
use rankgauge_serve::process::BaseMetrics;

/// Metrics that are served until it is dropped.
#[derive(Debug)]
pub struct ServedMetrics {
    /// The metrics of the probe.
    pub metrics: ProbeMetrics,
    _stop: watch::Sender<bool>,
}

/// Serves the metrics of a probe on `probe.listen`; `None` without an address. The lost lines of `log` are
/// exposed.
///
/// # Errors
/// If the address cannot be bound, or the web configuration cannot be used.
pub fn start(
    runtime: Runtime,
    config: &Config,
    log: &LogQueue,
) -> Result<(Runtime, Option<ServedMetrics>), AppError> {
    let Some(address) = config.probe_listen else {
        return Ok((runtime, None));
    };
    let base = Arc::new(BaseMetrics::new(BUILD, log.lost())?);
    let metrics = base.probe()?;
    for target in &config.probe.targets {
        metrics.round(&target.variant, ProbedSearches::default());
    }
    let (runtime, web) = load_metrics_web(runtime, config)?;
    let handler = BaseListener {
        command: "probe",
        metrics: Arc::clone(&base),
        readiness_problem: Arc::new(|| None),
    };
    let (stop, stopping) = watch::channel(false);
    let listener = (address, "probe.listen");
    serve_metrics(&runtime, handler, listener, &web, &base, stopping)?;
    let served = ServedMetrics {
        metrics,
        _stop: stop,
    };
    Ok((runtime, Some(served)))
}
