//! `rankgauge produce`: synthetic traffic, to Kafka or to files.

use std::path::PathBuf;

use clap::Args;

use super::demo::LibraryName;
use super::failure::Failure;
use super::logging;
use super::output::print;
use super::settings::SettingsArguments;
use rankgauge_lab::produce::{self, Library, ProduceOptions};
use rankgauge_serve::clock::wall_now;

/// Arguments of `produce`.
#[derive(Debug, Args)]
pub(super) struct Produce {
    #[command(flatten)]
    settings: SettingsArguments,
    /// Number of searches. Their feedback follows within minutes of event time; what is due after the last search
    /// is left out, and counted in the message.
    #[arg(long, default_value_t = 10_000)]
    searches: u64,
    /// Searches per second, in real time; without it, as fast as possible, with event times up to
    /// now.
    #[arg(long, value_name = "N")]
    rate: Option<u32>,
    /// Seed of the random generator; the same seed gives the same events.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Documents and systems.
    #[arg(long, value_enum, default_value = "law")]
    library: LibraryName,
    /// Number of gold queries of the law library.
    #[arg(long, default_value_t = 200)]
    queries: usize,
    /// Write the gold set of the traffic to this file.
    #[arg(long, value_name = "FILE")]
    gold: Option<PathBuf>,
    /// Write search-N.jsonl and feedback-N.jsonl into this folder instead of to Kafka.
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Number of partitions with --output.
    #[arg(long, default_value_t = 1, requires = "output")]
    partitions: u16,
}

/// Runs the command.
pub(super) fn run(arguments: Produce) -> Result<(), Failure> {
    let config = arguments.settings.load()?;
    let _log = logging::start(&config)?;
    let options = ProduceOptions {
        searches: arguments.searches,
        rate: arguments.rate,
        seed: arguments.seed,
        library: match arguments.library {
            LibraryName::Law => Library::Law(arguments.queries),
            LibraryName::Shop => Library::Shop,
        },
        gold: arguments.gold,
        output: arguments.output,
        partitions: arguments.partitions,
    };
    let now = wall_now().as_event_time();
    let produced = produce::run(&config.kafka, &options, now).map_err(Failure::Running)?;
    print(&format!("{produced}\n")).map_err(Failure::Running)
}
