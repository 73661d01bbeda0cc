//! Arguments for the configuration, shared by the commands that load it.

use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use crate::config::{self, Config, Setting};

/// Sources of the settings.
#[derive(Debug, Args)]
pub(super) struct SettingsArguments {
    /// Configuration file; may be repeated; later files take precedence.
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Setting by its key, with the highest precedence: kafka.brokers=kafka:9092.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
}

impl SettingsArguments {
    /// Loads the configuration.
    pub(super) fn load(&self) -> Result<Config, Failure> {
        config::load(&self.config, config::environment(), &self.set).map_err(Failure::usage)
    }

    /// Configuration files, in the order of their precedence.
    #[cfg(feature = "demo")]
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.config
    }

    /// Settings of `--set`.
    #[cfg(feature = "demo")]
    pub(super) fn overrides(&self) -> &[(String, String)] {
        &self.set
    }

    /// Every setting with its place.
    pub(super) fn settings(&self) -> Result<Vec<Setting>, Failure> {
        config::settings(&self.config, config::environment(), &self.set).map_err(Failure::usage)
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("KEY=VALUE is expected, kafka.brokers=kafka:9092")?;
    Ok((key.to_owned(), value.to_owned()))
}
