//! Gateway of the sidecar, or a process that is only a gateway.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;
use tracing::warn;

use super::error::AppError;
use super::listeners::{Access, BUILD, load, serve_metrics};
use crate::config::Config;
use crate::log::LogQueue;
use rankgauge_core::event::Acceptance;
use rankgauge_gateway::{Gateway, KnownFormats};
use rankgauge_serve::base_listener::BaseListener;
use rankgauge_serve::process::BaseMetrics;

/// Address without `gateway.listen`: that of OpenTelemetry over HTTP.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4318);

/// Starts the gateway.
pub(super) fn start(
    config: &Config,
    base: &BaseMetrics,
    access: &Access,
) -> Result<Gateway, AppError> {
    if config.is_gateway_open(&access.gateway) {
        warn!(
            "gateway without credentials on an address of the network; set gateway.tokens_file or \
             gateway.web_config_file, or listen on 127.0.0.1"
        );
    }
    let rejected = config.rejected_judgments();
    if !rejected.is_empty() {
        warn!(
            evaluations = rejected.join(", "),
            "gateway rejects judgments of answers, which name no search; set gateway.key: session_id"
        );
    }
    // The conditions of the engine that will read the events. A gateway reads no gold set.
    let acceptance = Acceptance {
        limits: config.engine.record_limits,
        has_gold_texts: false,
    };
    let gateway = Gateway::start(
        config.gateway.listen.unwrap_or(LISTEN),
        &config.gateway,
        &config.kafka,
        (
            acceptance,
            KnownFormats::new(&config.formats, &config.mappings),
        ),
        (Arc::clone(&access.gateway), Arc::clone(&access.tokens)),
        (base.gateway()?, base.listener("gateway")),
    );
    Ok(gateway?)
}

/// Runs a gateway without a sidecar until `until` completes, and answers the requests that it has taken.
/// The lost lines of `log` are exposed.
///
/// # Errors
/// If an address cannot be bound, or a configuration cannot be used.
pub fn run(
    runtime: Runtime,
    config: &Config,
    log: &LogQueue,
    until: impl Future<Output = ()>,
) -> Result<(), AppError> {
    let base = Arc::new(BaseMetrics::new(BUILD, log.lost())?);
    let (runtime, access) = load(runtime, config)?;
    let gateway = start(config, &base, &access)?;
    let (stop_listener, stopping) = watch::channel(false);
    let handler = BaseListener {
        command: "gateway",
        metrics: Arc::clone(&base),
        readiness_problem: gateway.readiness(),
    };
    let listener = (config.metrics_listen, "metrics.listen");
    serve_metrics(
        &runtime,
        handler,
        listener,
        &access.metrics,
        &base,
        stopping,
    )?;
    access.watch(&runtime);
    runtime.block_on(until);
    gateway.stop();
    stop_listener.send_replace(true);
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok(())
}
