//! `rankgauge run`: the sidecar.

use anyhow::Context as _;
use tracing::info;

use super::settings::SettingsArguments;
use super::{Failure, logging};
use crate::app::{App, stop_signal};
use crate::config::Config;
use crate::log::LogQueue;

/// Runs the command.
pub(super) fn run(settings: &SettingsArguments) -> Result<(), Failure> {
    let config = settings.load()?;
    let log = logging::start(&config)?;
    sidecar(config, log.queue()).map_err(Failure::Running)
}

fn sidecar(config: Config, log: &LogQueue) -> anyhow::Result<()> {
    info!(version = env!("CARGO_PKG_VERSION"), "starting");
    let mut app = App::start(config, log.clone())?;
    app.run_until(stop_signal())?
        .context("cannot wait for signals")?;
    app.stop()?;
    info!("stopped");
    Ok(())
}
