//! `rankgauge check`: validation of a configuration and its gold set, and of a running system.

mod traffic;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{Args, value_parser};
use serde::Serialize;

use super::failure::Failure;
use super::output::{Format, print, print_data, warn};
use super::settings::SettingsArguments;
use crate::advice;
use crate::capacity::{self, Load};
use crate::checkpoint::folder;
use crate::config::{self, Config, ConfigError, Problem, Setting, SettingValue};
use crate::init::MISSING;
use crate::live_check::{self, Finding, Limits, Severity};
use crate::reach;
use rankgauge_core::gold::GoldSet;
use rankgauge_eval::text_layout::{count_of, escape_controls};
use rankgauge_gateway::Tokens;
use rankgauge_serve::web::Web;

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
    /// Check the running system too: topics, permissions, and a sample of the records. Nothing is
    /// written and no offset is committed.
    #[arg(long)]
    live: bool,
    /// Records of each topic to sample.
    #[arg(long, value_name = "N", requires = "live", default_value_t = 1_000, value_parser = value_parser!(u32).range(1..=1_000_000))]
    sample: u32,
    /// Time limit of all requests to Kafka: 30s, 2m.
    #[arg(long, value_name = "DURATION", requires = "live", default_value = "30s", value_parser = config::parse_duration)]
    timeout: Duration,
    /// Output format of the findings.
    #[arg(long, value_enum, requires = "live", default_value_t = Format::Text)]
    format: Format,
}

/// Findings for programs.
#[derive(Serialize)]
struct Report<'a> {
    findings: &'a [Finding],
    errors: usize,
    warnings: usize,
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
    let mut web = |key: &str, path: &Option<PathBuf>, read| match Web::load(path.as_deref(), read) {
        Ok(web) => Some(web),
        Err(problem) => {
            problems.push((key.to_owned(), problem.to_string()));
            None
        }
    };
    web(
        "metrics.web_config_file",
        &config.metrics_web,
        config::web_config,
    );
    let admin_web = web(
        "admin.web_config_file",
        &config.admin_web,
        config::web_config,
    );
    let read = config.gateway_web_config();
    let gateway_web = web("gateway.web_config_file", &config.gateway.web, read);
    let is_admin_open = admin_web.is_some_and(|web| config.is_admin_open(&web));
    let is_gateway_open = gateway_web.is_some_and(|web| config.is_gateway_open(&web));
    let tokens = Tokens::load(config.gateway.tokens.as_deref(), config::applications);
    if let Err(problem) = tokens {
        problems.push(("gateway.tokens_file".to_owned(), problem.to_string()));
    }
    let gold = gold(&config).map_err(Failure::Usage)?;
    if let Some(gold) = &gold {
        let unreachable = reach::unreachable(&config.targets, gold);
        problems.extend(unreachable.into_iter().map(|it| (it.key, it.text)));
    }
    if !problems.is_empty() {
        return Err(Failure::Usage(placed(settings, problems)?.into()));
    }
    for Setting { key, value, place } in settings.settings()? {
        if value == SettingValue::Text(MISSING.to_owned()) {
            warn(&format!(
                "{place}: {}: \"{MISSING}\" is a part of the mapping that the sample of init did not show; replace \
                 it, as the comment before it says",
                escape_controls(&key)
            ));
        }
    }
    if let Some(warning) = gold.as_ref().and_then(GoldSet::level_warning) {
        warn(&warning);
    }
    if is_admin_open {
        warn(
            "admin.listen: other machines reach the admin listener without authentication; set \
             admin.web_config_file, listen on 127.0.0.1, or accept it with admin.allow_unauthenticated: true",
        );
    }
    if is_gateway_open {
        warn(
            "gateway.listen: other machines can send events to the gateway without credentials; set \
             gateway.tokens_file or gateway.web_config_file, or listen on 127.0.0.1",
        );
    }
    let rejected = config.rejected_judgments();
    if config.gateway.listen.is_some() && !rejected.is_empty() {
        warn(&format!(
            "gateway.key: with query_id, the gateway rejects the judgments of answers of otlp.feedback ({}), \
             because with otlp.session: trace they name a session and no search; set gateway.key: \
             session_id, or send them to the topic of feedback without the gateway",
            rejected.join(", ")
        ));
    }
    if arguments.format == Format::Text {
        summarise(&config, gold.as_ref(), arguments).map_err(Failure::Usage)?;
    }
    if arguments.live {
        live(&config, gold.as_ref(), arguments)?;
    }
    Ok(())
}

/// Checks the running system.
fn live(config: &Config, gold: Option<&GoldSet>, arguments: &Check) -> Result<(), Failure> {
    let limits = Limits {
        records: usize::try_from(arguments.sample).unwrap_or(usize::MAX),
        time: arguments.timeout,
    };
    let findings = live_check::run(config, gold, limits);
    let count = |severity| {
        let found = findings.iter();
        found.filter(|it| it.severity == severity).count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let text = match arguments.format {
        Format::Text => {
            let lines: String = findings.iter().map(|it| it.line() + "\n").collect();
            format!(
                "{lines}live check: {}, {}\n",
                count_of(errors, "error", "errors"),
                count_of(warnings, "warning", "warnings")
            )
        }
        Format::Json => {
            let report = Report {
                findings: &findings,
                errors,
                warnings,
            };
            let json = serde_json::to_string_pretty(&report);
            json.map_err(Failure::running)? + "\n"
        }
    };
    match arguments.format {
        Format::Text => print(&text),
        Format::Json => print_data(&text),
    }
    .map_err(Failure::Running)?;
    if errors == 0 {
        return Ok(());
    }
    Err(Failure::Running(anyhow!(
        "the live check found {}",
        count_of(errors, "error", "errors")
    )))
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

/// Loads the gold set, if one is configured.
fn gold(config: &Config) -> anyhow::Result<Option<GoldSet>> {
    if config.gold.paths.is_empty() {
        return Ok(None);
    }
    let gold = rankgauge_core::gold::load(&config.gold.paths, &config.gold.options);
    gold.context("the gold set cannot be loaded").map(Some)
}

/// Prints the summary of a valid configuration.
fn summarise(config: &Config, gold: Option<&GoldSet>, arguments: &Check) -> anyhow::Result<()> {
    let mut text = config.summary();
    if let Some(gold) = gold {
        text = format!("{text}{}\n", escape_controls(&gold.to_string()));
        if gold.is_unjudged() {
            text.push_str(
                "the starter set judges nothing: add grades, or remove gold.paths to measure user behaviour alone\n",
            );
        }
    }
    let unwatched = traffic::unwatched_targets(config);
    text.push_str(&unwatched.unwrap_or_default());
    if let Some(searches_per_second) = arguments.searches_per_second {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let load = Load {
            searches_per_second,
            results: count(arguments.results),
            variants: count(arguments.variants),
            slice_values: count(arguments.slice_values),
        };
        text.push_str(&capacity::describe(config, &load));
        let queries = gold.map(|gold| gold.queries().len());
        for (number, line) in advice::lines(config, queries, &load).iter().enumerate() {
            let part = if number == 0 { "advice" } else { "" };
            _ = writeln!(text, "{part:12}{}", escape_controls(line));
        }
        text.push_str(&traffic::warnings(config, gold, &load));
    }
    text.push_str(&capacity::describe_process(config));
    if let Some(limit) = config::container::memory_limit() {
        text.push_str(&capacity::warning(config, limit).unwrap_or_default());
    }
    print(&format!("{text}the configuration is valid\n"))
}
