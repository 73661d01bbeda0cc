//! Commands and their arguments.

use clap::{FromArgMatches as _, Parser, Subcommand};

use super::settings::SettingsArguments;
use super::{
    backtest, check, checkpoint, compare, completions, config, ctl, evaluate, gold, help, init,
    label, man, probe, replay, tail, version,
};
#[cfg(feature = "demo")]
use super::{demo, produce};

/// Live search-quality monitoring.
///
/// Consumes search and feedback events from Kafka, judges every search against a gold set as
/// trec_eval would, joins it with user feedback, and exposes quality metrics to Prometheus.
#[derive(Debug, Parser)]
#[command(version, long_version = version::long(), propagate_version = true)]
#[command(after_long_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// Exit codes, for `--help`.
const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  failure while the command ran, or a failed check
  2  wrong arguments, or a configuration or an input that is not valid
  3  a gate that is missed (evaluate, compare)";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the sidecar until SIGTERM or SIGINT.
    Run(SettingsArguments),
    /// Take events over HTTP and write them to Kafka until SIGTERM or SIGINT.
    Gateway(SettingsArguments),
    /// Write a starter configuration and gold set into a folder.
    Init(init::Init),
    /// Check a configuration and its gold set, and print a summary.
    Check(check::Check),
    /// Inspect the configuration.
    #[command(subcommand)]
    Config(config::ConfigCommand),
    #[cfg(feature = "demo")]
    /// Write synthetic traffic, of a Korean law library or a web shop, to Kafka or to files.
    Produce(produce::Produce),
    /// Send the gold queries to search endpoints, and write the answers as events to Kafka or a file.
    Probe(probe::Probe),
    /// Print events from the topics or from files as the decoder sees them, one line each.
    Tail(tail::Tail),
    /// Process events from files with the same engine, without Kafka, and print the final metrics
    /// as JSON.
    Replay(replay::Replay),
    #[cfg(feature = "demo")]
    /// Run a demo in one process: an embedded broker, traffic, the sidecar and its metrics.
    Demo(demo::Demo),
    /// Run a regression test on recorded scores, and report when it would have raised an alarm.
    Backtest(backtest::Backtest),
    /// Inspect the checkpoint folder of a sidecar.
    #[command(subcommand)]
    Checkpoint(checkpoint::CheckpointCommand),
    /// Talk to a running sidecar over its admin listener.
    #[command(subcommand)]
    Ctl(ctl::CtlCommand),
    /// Compare runs: differences per query, their significance, and the best run for each label.
    Compare(compare::Compare),
    /// Check, convert, summarise, compare and extend gold sets.
    #[command(subcommand)]
    Gold(gold::GoldCommand),
    /// Estimate the quality of all traffic from few labels.
    #[command(subcommand)]
    Label(label::LabelCommand),
    /// Judge run files against a gold set as trec_eval does, and report the scores.
    Evaluate(evaluate::Evaluate),
    /// Print the completion script of a shell.
    Completions(completions::Completions),
    /// Print the manual page, or write the pages of all commands to a folder.
    Man(man::ManPages),
}

impl Arguments {
    /// Parses the arguments of the process. Prints help, version or an error, and exits, if they
    /// request it.
    pub fn from_process() -> Self {
        let matches = help::command().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}
