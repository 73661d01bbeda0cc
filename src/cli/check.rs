//! `rankgauge check`: validation of a configuration and its gold set.

use anyhow::Context as _;

use super::Failure;
use super::output::print;
use super::settings::SettingsArguments;
use crate::checkpoint::folder;
use crate::config::{Config, ConfigError, Problem};
use crate::expose::web::Web;

/// Runs the command.
pub(super) fn run(settings: &SettingsArguments) -> Result<(), Failure> {
    let config = settings.load()?;
    let mut problems = config.kafka.problems();
    if let Some(path) = &config.checkpoints {
        let problem = folder::problem(path);
        let problem = problem.map(|text| format!("{} {text}", path.display()));
        problems.extend(problem.map(|text| ("checkpoint.folder".to_owned(), text)));
    }
    for (key, path) in [
        ("metrics.web_config_file", &config.metrics_web),
        ("admin.web_config_file", &config.admin_web),
    ] {
        if let Err(problem) = Web::load(path.as_deref()) {
            problems.push((key.to_owned(), problem.to_string()));
        }
    }
    if !problems.is_empty() {
        return Err(Failure::Usage(placed(settings, problems)?.into()));
    }
    check(&config).map_err(Failure::Usage)
}

/// Problems of keys with the places of their values.
fn placed(
    settings: &SettingsArguments,
    problems: Vec<(String, String)>,
) -> Result<ConfigError, Failure> {
    let settings = settings.settings()?;
    let mut problems: Vec<Problem> = problems
        .into_iter()
        .filter_map(|(key, text)| {
            // A problem of a section is placed at its first key.
            let setting = settings
                .iter()
                .find(|setting| setting.key.starts_with(&key))?;
            let place = setting.place.clone();
            Some(Problem { place, key, text })
        })
        .collect();
    problems.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(ConfigError { problems })
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
