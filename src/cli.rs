//! Command line: the commands, their dispatch and the failures that they report.
//!
//! Each command is a module with its arguments beside its code; its logic is in another module.

mod backtest;
mod check;
mod checkpoint;
mod compare;
mod completions;
mod config;
#[cfg(feature = "demo")]
mod demo;
mod evaluate;
mod gate;
mod gold;
mod help;
mod init;
mod input;
mod layout;
mod logging;
mod man;
mod output;
mod probe;
#[cfg(feature = "demo")]
mod produce;
mod replay;
mod run;
mod settings;
mod tail;
mod version;

use std::fmt;

use clap::{FromArgMatches as _, Parser, Subcommand};

use settings::SettingsArguments;

/// Live search-quality monitoring.
///
/// Consumes search and feedback events from Kafka, judges every search against a gold set as
/// trec_eval would, joins it with user feedback, and exposes quality metrics to Prometheus.
#[derive(Debug, Parser)]
#[command(version, long_version = version::long(), propagate_version = true)]
#[command(after_long_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// Exit codes, for `--help`.
const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  failure while the command ran, or a failed check
  2  wrong arguments, or a configuration or an input that is not valid";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the sidecar until SIGTERM or SIGINT.
    Run(SettingsArguments),
    /// Write a starter configuration and gold set into a folder.
    Init(init::Init),
    /// Check a configuration and its gold set, and print a summary.
    Check(check::Check),
    /// Inspect the configuration.
    #[command(subcommand)]
    Config(config::ConfigCommand),
    #[cfg(feature = "demo")]
    /// Write synthetic Korean law-search traffic to Kafka or to files.
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
    /// Compare runs: differences per query, their significance, and the best run for each label.
    Compare(compare::Compare),
    /// Check, convert, summarise, compare and extend gold sets.
    #[command(subcommand)]
    Gold(gold::GoldCommand),
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

/// Failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// Wrong arguments or configuration.
    Usage(anyhow::Error),
    /// Error while the command ran.
    Running(anyhow::Error),
    /// The runs were judged, and do not meet the conditions of the gate.
    Gate(anyhow::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(error) | Self::Running(error) | Self::Gate(error) => {
                let mut text = error.to_string();
                for cause in error.chain().skip(1).map(ToString::to_string) {
                    // Libraries differ in whether an error repeats its cause.
                    if !text.contains(&cause) {
                        text = format!("{text}: {cause}");
                    }
                }
                formatter.write_str(&text)
            }
        }
    }
}

/// Runs the command that `arguments` name.
///
/// # Errors
/// A [`Failure`] with a message for the user.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Run(settings) => run::run(&settings),
        Command::Init(arguments) => init::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Config(command) => config::run(&command),
        #[cfg(feature = "demo")]
        Command::Produce(arguments) => produce::run(arguments),
        Command::Probe(arguments) => probe::run(&arguments),
        Command::Tail(arguments) => tail::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        #[cfg(feature = "demo")]
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Backtest(arguments) => backtest::run(&arguments),
        Command::Checkpoint(command) => checkpoint::run(&command),
        Command::Compare(arguments) => {
            start_threads();
            compare::run(arguments)
        }
        Command::Gold(command) => gold::run(&command),
        Command::Evaluate(arguments) => {
            start_threads();
            evaluate::run(arguments)
        }
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}

/// Starts the thread pool for judging files. If the system cannot start threads, the current thread
/// does all the work.
fn start_threads() {
    if rayon::ThreadPoolBuilder::new().build_global().is_err() {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1);
        // In tests, the pool may exist already; that one is used.
        drop(alone.use_current_thread().build_global());
    }
}
