//! `rankgauge run`: the sidecar.

use std::pin::pin;

use anyhow::Context as _;
use tracing::info;

use super::failure::Failure;
use super::logging;
use super::settings::SettingsArguments;
use crate::app::signals::{hangup_signal, stop_signal};
use crate::app::{self, App, AppError};
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
    let runtime = app::runtime().context("the runtime cannot be started")?;
    let (stop, hangup) = {
        let _context = runtime.enter();
        let cause = "cannot wait for signals";
        (
            stop_signal().context(cause)?,
            hangup_signal().context(cause)?,
        )
    };
    info!(version = env!("CARGO_PKG_VERSION"), "starting");
    let mut stop = pin!(stop);
    let started = App::start_unless(runtime, config, log, Some(log_level), stop.as_mut());
    let mut app = match started {
        Err(AppError::Stopped) => return Ok(()),
        started => started?,
    };
    let reloads = app.reload_on_hangup(hangup);
    app.run_until(async {
        tokio::select! {
            () = stop => {}
            never = reloads => match never {},
        }
    })?;
    app.stop()?;
    info!("stopped");
    Ok(())
}
