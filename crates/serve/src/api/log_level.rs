//! Log level: shown, and changed until the next restart.

use hyper::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use tracing::info;
use tracing::level_filters::LevelFilter;

use super::parameters::{Parameter, Parameters, Values};
use super::problem::ApiError;
use crate::log_level::{LOG_LEVELS, LogLevel};

/// Parameters of a change.
pub(crate) const PARAMETERS: [Parameter; 1] = [Parameter {
    name: "level",
    values: Values::Word {
        words: &NAMES,
        default: None,
    },
    help: "Log level until the next change or restart.",
}];

/// Names of the levels.
const NAMES: [&str; LOG_LEVELS.len()] = {
    let mut names = [""; LOG_LEVELS.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = LOG_LEVELS[place].0;
        place += 1;
    }
    names
};

/// Current log level.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CurrentLevel {
    pub(crate) level: &'static str,
}

/// Change of the log level.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangedLevel {
    pub(crate) before: &'static str,
    pub(crate) after: &'static str,
}

pub(crate) fn current(log: Option<&LogLevel>) -> Result<CurrentLevel, ApiError> {
    Ok(CurrentLevel {
        level: name(log.ok_or_else(fixed)?.get()),
    })
}

/// Changes the log level to the parameter `level`.
pub(crate) fn change(
    log: Option<&LogLevel>,
    parameters: &Parameters,
) -> Result<ChangedLevel, ApiError> {
    let log = log.ok_or_else(fixed)?;
    let after = parameters.word("level");
    let known = LOG_LEVELS.iter().find(|(name, _)| *name == after);
    let level = known.map_or(log.get(), |(_, level)| *level);
    let before = log.get();
    let report = || info!(before = name(before), after, "log level changed");
    // The message is written at the level that shows more.
    if level < before {
        report();
    }
    log.set(level)
        .map_err(|problem| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, problem))?;
    if level >= before {
        report();
    }
    Ok(ChangedLevel {
        before: name(before),
        after,
    })
}

fn name(level: LevelFilter) -> &'static str {
    let known = LOG_LEVELS.iter().find(|(_, known)| *known == level);
    known.map_or("off", |(name, _)| name)
}

fn fixed() -> ApiError {
    let error = "the log level of this process is fixed; set log.level and restart";
    ApiError::new(StatusCode::CONFLICT, error)
}
