//! `rankgauge run`: the sidecar.

use anyhow::Context as _;
use tracing::info;

use super::failure::Failure;
use super::logging;
use super::settings::SettingsArguments;
use crate::app::{App, AppError, stop_signal};
use crate::config::Config;
use crate::log::LogQueue;
use rankgauge_serve::log_level::LogLevel;

/// Runs the command.
pub(super) fn run(settings: &SettingsArguments) -> Result<(), Failure> {
    let config = settings.load()?;
    let (log, log_level) = logging::start(&config)?;
    sidecar(config, log.queue(), log_level).map_err(|error| match error.downcast_ref() {
        Some(AppError::Web { .. }) => Failure::Usage(error),
        _ => Failure::Running(error),
    })
}

fn sidecar(config: Config, log: &LogQueue, log_level: LogLevel) -> anyhow::Result<()> {
    info!(version = env!("CARGO_PKG_VERSION"), "starting");
    let mut app = App::start(config, log, Some(log_level))?;
    let reloads = app.reload_on_hangup();
    let signals = app.run_until(async {
        tokio::select! {
            stopped = stop_signal() => stopped,
            Err(failed) = reloads => Err(failed),
        }
    });
    signals?.context("cannot wait for signals")?;
    app.stop()?;
    info!("stopped");
    Ok(())
}
