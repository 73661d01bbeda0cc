//! `rankgauge check`: validation of a configuration and its gold set.

use anyhow::Context as _;

use super::Failure;
use super::output::print;
use super::settings::SettingsArguments;
use crate::config::Config;

/// Runs the command.
pub(super) fn run(settings: &SettingsArguments) -> Result<(), Failure> {
    check(&settings.load()?).map_err(Failure::Usage)
}

fn check(config: &Config) -> anyhow::Result<()> {
    let mut text = config.summary();
    if !config.gold.paths.is_empty() {
        let gold = rankgauge_core::gold::load(&config.gold.paths, &config.gold.options)
            .context("the gold set cannot be loaded")?;
        text = format!("{text}{gold}\n");
    }
    print(&format!("{text}the configuration is valid\n"))
}
