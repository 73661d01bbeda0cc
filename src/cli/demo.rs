//! `rankgauge demo`: the whole system in one process.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;

use super::Failure;
use super::output::Format;
use crate::config::parse_duration;
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
    /// Run without a regression.
    #[arg(long, conflicts_with = "regress_after")]
    no_regression: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Address of the metrics endpoint.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9468")]
    listen: SocketAddr,
    /// Address of the live page and the API.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9469")]
    admin_listen: SocketAddr,
}

/// Runs the command.
pub(super) fn run(arguments: &Demo) -> Result<(), Failure> {
    let options = DemoOptions {
        seed: arguments.seed,
        rate: arguments.rate,
        duration: arguments.duration,
        regress_after: (!arguments.no_regression).then_some(arguments.regress_after),
        json: arguments.format == Format::Json,
        listen: arguments.listen,
        admin_listen: arguments.admin_listen,
    };
    demo::run(&options).map_err(Failure::Running)
}
