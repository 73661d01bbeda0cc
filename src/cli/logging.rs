//! Log of a command: text or JSON lines on standard error.

use std::io::IsTerminal as _;
use std::str::FromStr;

use anyhow::Context as _;
use tracing::level_filters::LevelFilter;
use tracing::warn;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, reload};

use super::failure::Failure;
use crate::config::{Config, LogFormat};
use crate::log::{Log, TextLines, is_colour_allowed};
use rankgauge_serve::log_level::LogLevel;

/// Starts the log, which ends with the returned value, and returns its level, which can be changed.
/// `RANKGAUGE_LOG` adds directives to the level. A JSON line is one object with the fields of the
/// event at its top level.
pub(super) fn start(config: &Config) -> Result<(Log, LogLevel), Failure> {
    let level = config.log.level;
    let (filter, handle) = reload::Layer::new(filter(level));
    let log = Log::start(std::io::stderr(), |lines| {
        // The fallback for a failed event prints to standard error, and panics if that fails.
        let text = (config.log.format == LogFormat::Text).then(|| {
            let layer = tracing_subscriber::fmt::layer().log_internal_errors(false);
            let colour = use_colour();
            layer
                .with_writer(TextLines::new(lines.clone(), colour))
                .with_ansi(colour)
        });
        let json = (config.log.format == LogFormat::Json).then(|| {
            let layer = tracing_subscriber::fmt::layer().log_internal_errors(false);
            layer.json().with_writer(lines).flatten_event(true)
        });
        let log = tracing_subscriber::registry();
        log.with(filter).with(text).with(json).try_init().is_ok()
    });
    let log = log
        .context("the log cannot be started")
        .map_err(Failure::Running)?;
    if let Err(problem) = directives() {
        warn!(variable = "RANKGAUGE_LOG", error = %problem, "invalid directives are ignored");
    }
    Ok((log, changeable(level, handle)))
}

/// Levels by target in `RANKGAUGE_LOG`.
fn directives() -> Result<Targets, <Targets as FromStr>::Err> {
    match std::env::var("RANKGAUGE_LOG") {
        Ok(directives) if !directives.trim().is_empty() => directives.parse(),
        // An empty text would be a directive that turns the log off.
        _ => Ok(Targets::new()),
    }
}

/// Levels by target: those of `RANKGAUGE_LOG`, and `level` for all others.
fn filter(level: LevelFilter) -> Targets {
    let targets = directives().unwrap_or_default();
    match targets.default_level() {
        None => targets.with_default(level),
        Some(_) => targets,
    }
}

fn changeable(level: LevelFilter, handle: reload::Handle<Targets, Registry>) -> LogLevel {
    LogLevel::new(level, move |level| {
        let changed = handle.reload(filter(level));
        changed.map_err(|problem| problem.to_string())
    })
}

/// Returns true if standard error is a terminal and colours are allowed.
fn use_colour() -> bool {
    std::io::stderr().is_terminal() && is_colour_allowed()
}
