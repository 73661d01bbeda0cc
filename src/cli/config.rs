//! `rankgauge config`: inspection of the configuration.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::failure::Failure;
use super::output::OutputFormat;
use super::settings::SettingsArguments;
use crate::config::{Place, Setting, SettingValue};
use rankgauge_core::text::escape_controls;

/// Subcommands of `config`.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print every setting in effect and the source of its value, with secrets masked.
    Show(Show),
}

/// Arguments of `config show`.
#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    settings: SettingsArguments,
    #[command(flatten)]
    output: OutputFormat,
}

/// Settings as JSON.
#[derive(Debug, Serialize)]
struct Settings<'a> {
    settings: Vec<SettingEntry<'a>>,
}

/// A setting as JSON.
#[derive(Debug, Serialize)]
struct SettingEntry<'a> {
    key: &'a str,
    value: &'a SettingValue,
    source: Source<'a>,
}

/// Source of a value.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Source<'a> {
    Default,
    File { file: &'a str, line: Option<usize> },
    Environment { variable: &'a str },
    CommandLine { key: &'a str },
}

impl<'a> From<&'a Place> for Source<'a> {
    fn from(place: &'a Place) -> Self {
        match place {
            Place::BuiltIn => Self::Default,
            Place::File { line, name, .. } => Self::File {
                file: name,
                line: *line,
            },
            Place::Environment(variable) => Self::Environment { variable },
            Place::CommandLine(key) => Self::CommandLine { key },
        }
    }
}

/// Runs the command.
pub(super) fn run(command: &ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Show(show) => {
            let settings = show.settings.settings()?;
            let entries = settings.iter().map(|setting| SettingEntry {
                key: &setting.key,
                value: &setting.value,
                source: Source::from(&setting.place),
            });
            let json = Settings {
                settings: entries.collect(),
            };
            show.output.print(|| text(&settings), &json)
        }
    }
}

/// One line for each setting: `key = value  # source`.
fn text(settings: &[Setting]) -> String {
    let mut text = String::new();
    for Setting { key, value, place } in settings {
        // Writing to a string cannot fail.
        let line = escape_controls(&format!("{key} = {value}  # {place}"));
        let written = writeln!(text, "{line}");
        debug_assert!(written.is_ok());
    }
    text
}
