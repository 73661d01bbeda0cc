//! Log of a command: text or JSON lines on standard error.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use super::Failure;
use crate::config::{Config, LogFormat};
use crate::log::Log;

/// Starts the log, which ends with the returned value. `RANKGAUGE_LOG` adds directives to the
/// configured level. A JSON line is one object with the fields of the event at its top level.
pub(super) fn start(config: &Config) -> Result<Log, Failure> {
    let filter = EnvFilter::builder()
        .with_default_directive(config.log.level.into())
        .with_env_var("RANKGAUGE_LOG")
        .from_env_lossy();
    let log = Log::start(|lines| {
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(lines)
            // The fallback for a failed event prints to standard error, and panics if that fails.
            .log_internal_errors(false);
        let started = match config.log.format {
            LogFormat::Text => log.with_ansi(use_colour()).try_init(),
            LogFormat::Json => log.json().flatten_event(true).try_init(),
        };
        started.is_ok()
    });
    log.context("the log cannot be started")
        .map_err(Failure::Running)
}

/// Returns true if standard error is a terminal and `NO_COLOR` is not set (<https://no-color.org>).
fn use_colour() -> bool {
    std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
