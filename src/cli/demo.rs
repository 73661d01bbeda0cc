//! `rankgauge demo`: the whole system in one process.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;

use super::failure::Failure;
use super::output::Format;
use super::settings::SettingsArguments;
use crate::config::{ConfigError, parse_duration};
use crate::demo::{self, DemoOptions};

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
    /// Time after which variant V5 regresses.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_duration)]
    regress_after: Duration,
    /// Time after the drop at which a deployment of V5 repairs it (3m).
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    repair_after: Option<Duration>,
    /// Time after the drop at which a deployment of V5 is reported that repairs nothing (2m).
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    false_repair_after: Option<Duration>,
    /// Run without a regression.
    #[arg(long, conflicts_with_all = ["regress_after", "repair_after", "false_repair_after"])]
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
    /// Configuration above the law-search profile; the broker and the gold set are the demo's own.
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
