//! `rankgauge check`: validation of a configuration and its gold set.

use anyhow::Context as _;
use clap::{Args, value_parser};

use super::Failure;
use super::output::print;
use super::settings::SettingsArguments;
use crate::capacity::{self, Load};
use crate::checkpoint::folder;
use crate::config::{Config, ConfigError, Problem};
use crate::expose::web::Web;

/// Arguments of the command.
#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    settings: SettingsArguments,
    /// Predict memory, series and the size of a scrape for this many searches a second, each with a
    /// click.
    #[arg(long, value_name = "N", value_parser = rate)]
    searches_per_second: Option<f64>,
    /// Results of a search, for the prediction.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u64).range(0..=1_000_000))]
    results: u64,
    /// Variants in use at the same time, for the prediction.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u64).range(1..=1_000_000))]
    variants: u64,
    /// Values of each slice, for the prediction.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(1..=1_000_000))]
    slice_values: u64,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok();
    let rate = rate.filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "a number above 0 is expected".to_owned())
}

/// Runs the command.
pub(super) fn run(arguments: &Check) -> Result<(), Failure> {
    let settings = &arguments.settings;
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
    check(&config, arguments).map_err(Failure::Usage)
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

fn check(config: &Config, arguments: &Check) -> anyhow::Result<()> {
    let mut text = config.summary();
    if !config.gold.paths.is_empty() {
        let gold = rankgauge_core::gold::load(&config.gold.paths, &config.gold.options)
            .context("the gold set cannot be loaded")?;
        text = format!("{text}{gold}\n");
    }
    if let Some(searches_per_second) = arguments.searches_per_second {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let load = Load {
            searches_per_second,
            results: count(arguments.results),
            variants: count(arguments.variants),
            slice_values: count(arguments.slice_values),
        };
        text.push_str(&capacity::describe(config, &load));
    }
    if let Some(limit) = capacity::memory_limit() {
        text.push_str(&capacity::warning(config, limit).unwrap_or_default());
    }
    print(&format!("{text}the configuration is valid\n"))
}
