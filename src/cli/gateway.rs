//! `rankgauge gateway`: events over HTTP, written to Kafka.

use anyhow::{Context as _, anyhow};
use tracing::info;

use super::failure::Failure;
use super::logging;
use super::settings::SettingsArguments;
use crate::app::signals::stop_signal;
use crate::app::{self, AppError};
use crate::config::{Config, gateway_problem};
use crate::log::LogQueue;

/// Runs the command.
pub(super) fn run(settings: &SettingsArguments) -> Result<(), Failure> {
    let config = settings.load()?;
    if let Some(problem) = gateway_problem(&config.formats) {
        return Err(Failure::Usage(anyhow!(problem)));
    }
    let (log, _) = logging::start(&config)?;
    gateway(&config, log.queue()).map_err(|error| match error.downcast_ref() {
        Some(AppError::Web { .. }) => Failure::Usage(error),
        _ => Failure::Running(error),
    })
}

fn gateway(config: &Config, log: &LogQueue) -> anyhow::Result<()> {
    let runtime = app::runtime().context("the runtime cannot be started")?;
    let stop = {
        let _context = runtime.enter();
        stop_signal().context("cannot wait for signals")?
    };
    info!(version = env!("CARGO_PKG_VERSION"), "starting");
    app::gateway::run(runtime, config, log, stop)?;
    info!("stopped");
    Ok(())
}
