//! `rankgauge run`: the sidecar.

use anyhow::Context as _;
use tracing::info;

use super::settings::SettingsArguments;
use super::{Failure, logging};
use crate::app::{App, stop_signal};
use crate::config::Config;

/// Runs the command.
pub(super) fn run(settings: &SettingsArguments) -> Result<(), Failure> {
    let config = settings.load()?;
    logging::start(&config);
    sidecar(config).map_err(Failure::Running)
}

fn sidecar(config: Config) -> anyhow::Result<()> {
    info!(version = env!("CARGO_PKG_VERSION"), "starting");
    let mut app = App::start(config)?;
    app.run_until(stop_signal())?
        .context("cannot wait for signals")?;
    app.stop()?;
    info!("stopped");
    Ok(())
}
