//! `rankgauge demo`: the whole system in one process.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::failure::Failure;
use super::output::Format;
use super::settings::SettingsArguments;
use crate::config::{ConfigError, parse_duration};
use crate::demo::setting::{Library, Scenario};
use crate::demo::{self, DemoOptions};

/// Documents and systems.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum LibraryName {
    /// Web shop: products, three systems in an A/B test, purchases, answers of an assistant.
    Shop,
    /// Korean law: five system versions of the evaluation plan, V1 to V5.
    Law,
}

/// Course of the demo.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScenarioName {
    /// One system ranks worse: an incident.
    Drop,
    /// Searches of every system fail for two minutes: an incident on each.
    Outage,
    /// One system is worse than the control from the start: no incident.
    Experiment,
    /// One system returns documents without judgements: a warning.
    Unjudged,
    /// A bot repeats a query with bad results: no alarm.
    Bots,
    /// Answers of one system cite wrong documents: an incident of its answers.
    Answers,
}

impl From<LibraryName> for Library {
    fn from(name: LibraryName) -> Self {
        match name {
            LibraryName::Shop => Self::Shop,
            LibraryName::Law => Self::Law,
        }
    }
}

impl From<ScenarioName> for Scenario {
    fn from(name: ScenarioName) -> Self {
        match name {
            ScenarioName::Drop => Self::Drop,
            ScenarioName::Outage => Self::Outage,
            ScenarioName::Experiment => Self::Experiment,
            ScenarioName::Unjudged => Self::Unjudged,
            ScenarioName::Bots => Self::Bots,
            ScenarioName::Answers => Self::Answers,
        }
    }
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Seed of the random generator; the same seed gives the same searches and scores.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Searches per second.
    #[arg(long, default_value_t = 100)]
    rate: u32,
    /// Stop after this time (30s, 5m) and print a summary.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// Documents and systems.
    #[arg(long, value_enum, default_value = "shop")]
    library: LibraryName,
    /// Course of the demo.
    #[arg(long, value_enum, default_value = "drop")]
    scenario: ScenarioName,
    /// Time after which the change of the scenario begins.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_duration)]
    regress_after: Duration,
    /// Time after its beginning at which the change ends; a deployment repairs a drop. By default 3m for
    /// drop and answers, 2m for outage, otherwise never.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    repair_after: Option<Duration>,
    /// Time after the beginning at which a deployment is reported that repairs nothing (2m).
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    false_repair_after: Option<Duration>,
    /// Run without a change.
    #[arg(long, conflicts_with_all = ["scenario", "regress_after", "repair_after", "false_repair_after"])]
    no_regression: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Address of the metrics endpoint, by default 127.0.0.1:9468 (metrics.listen).
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Address of the live page and the API, by default 127.0.0.1:9469 (admin.listen).
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<SocketAddr>,
    /// Configuration above the profile of the library; the broker and the gold set are the demo's own.
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Runs the command.
pub(super) fn run(arguments: &Demo) -> Result<(), Failure> {
    let settings = &arguments.settings;
    if let Some((key, _)) = settings
        .overrides()
        .iter()
        .find(|(key, _)| demo::OWN_KEYS.contains(&key.as_str()))
    {
        return Err(Failure::Usage(anyhow::anyhow!(
            "--set {key}: the demo has its own broker and gold set; use `rankgauge run` for yours"
        )));
    }
    let options = DemoOptions {
        library: arguments.library.into(),
        scenario: arguments.scenario.into(),
        seed: arguments.seed,
        rate: arguments.rate,
        duration: arguments.duration,
        regress_after: (!arguments.no_regression).then_some(arguments.regress_after),
        repair_after: arguments.repair_after,
        false_repair_after: arguments.false_repair_after,
        json: arguments.format == Format::Json,
        listen: arguments.listen,
        admin_listen: arguments.admin_listen,
        config: settings.files().to_vec(),
        set: settings.overrides().to_vec(),
    };
    demo::run(&options).map_err(|error| {
        if error.is::<ConfigError>() {
            Failure::Usage(error)
        } else {
            Failure::Running(error)
        }
    })
}
