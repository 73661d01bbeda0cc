//! Command line: the commands and their arguments.
//!
//! Each command is a few lines here; its logic is in another module.

mod backtest;
mod checkpoint;
mod compare;
mod evaluate;
mod gold;
mod layout;
mod output;

use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;
use tracing::info;
use tracing_subscriber::EnvFilter;

use crate::app::{App, stop_signal};
use crate::config::{self, Config, LogFormat};
#[cfg(feature = "demo")]
use crate::demo::{self, DemoOptions};
use crate::expose::collect::{Names, collect};
use crate::expose::json::{Json, Sample};
use crate::ingest::replay::replay;
use crate::ingest::wall_now;
use rankgauge_core::engine::{Engine, Input};
#[cfg(feature = "demo")]
use rankgauge_demo::produce::{self, ProduceOptions};

/// Live search-quality monitoring.
///
/// Consumes search and feedback events from Kafka, judges every search against a gold set as
/// trec_eval would, joins it with user feedback, and exposes quality metrics to Prometheus.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the sidecar until SIGTERM or SIGINT.
    Run(Settings),
    /// Check a configuration and its gold set, and print a summary.
    Check(Settings),
    #[cfg(feature = "demo")]
    /// Write synthetic Korean law-search traffic to Kafka or to files.
    Produce(Produce),
    /// Process events from files with the same engine, without Kafka, and print the final metrics
    /// as JSON.
    Replay(Replay),
    #[cfg(feature = "demo")]
    /// Run a demo in one process: an embedded broker, traffic, the sidecar and its metrics.
    Demo(Demo),
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
}

/// Sources of the settings.
#[derive(Debug, Args)]
struct Settings {
    /// Configuration file; may be repeated; later files take precedence.
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Setting by its key, with the highest precedence: kafka.brokers=kafka:9092.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
}

#[cfg(feature = "demo")]
#[derive(Debug, Args)]
struct Produce {
    #[command(flatten)]
    settings: Settings,
    /// Number of searches, without their feedback events.
    #[arg(long, default_value_t = 10_000)]
    searches: u64,
    /// Searches per second, in real time; without it, as fast as possible, with event times up to
    /// now.
    #[arg(long, value_name = "N")]
    rate: Option<u32>,
    /// Seed of the random generator; the same seed gives the same events.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of gold queries of the synthetic law library.
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

#[derive(Debug, Args)]
struct Replay {
    #[command(flatten)]
    settings: Settings,
    /// Files of search events, one JSON object per line; each file is one partition.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    search: Vec<PathBuf>,
    /// Files of feedback events; the first belongs to the first search file, and so on.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    feedback: Vec<PathBuf>,
}

#[cfg(feature = "demo")]
#[derive(Debug, Args)]
struct Demo {
    /// Seed of the random generator; the same seed gives the same searches and scores.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Searches per second.
    #[arg(long, default_value_t = 100)]
    rate: u32,
    /// Stop after this time (30s, 5m) and print a summary.
    #[arg(long = "for", value_name = "TIME", value_parser = config::parse_duration)]
    duration: Option<Duration>,
    /// Time after which variant V5 regresses.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = config::parse_duration)]
    regress_after: Duration,
    /// Run without a regression.
    #[arg(long, conflicts_with = "regress_after")]
    no_regression: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Address of the metrics endpoint.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9468")]
    listen: std::net::SocketAddr,
}

/// Output format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Human-readable text.
    Text,
    /// JSON for programs.
    Json,
}

/// Argument for the output format of a result.
#[derive(Debug, Args)]
struct Shown {
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Shown {
    /// Prints `text` or `json`, depending on the output format.
    fn print(&self, text: impl FnOnce() -> String, json: &impl Serialize) -> Result<(), Failure> {
        let shown = match self.format {
            Format::Text => text(),
            Format::Json => {
                let json = serde_json::to_string_pretty(json);
                json.map_err(|error| Failure::Running(error.into()))? + "\n"
            }
        };
        print(&shown).map_err(Failure::Running)
    }
}

/// Failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// Wrong arguments or configuration.
    Usage(anyhow::Error),
    /// Error while the command ran.
    Running(anyhow::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(error) | Self::Running(error) => {
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
        Command::Run(settings) => {
            let config = settings.load()?;
            start_log(&config);
            sidecar(config).map_err(Failure::Running)
        }
        Command::Check(settings) => check(&settings.load()?).map_err(Failure::Usage),
        #[cfg(feature = "demo")]
        Command::Produce(arguments) => {
            let config = arguments.settings.load()?;
            start_log(&config);
            let options = ProduceOptions {
                searches: arguments.searches,
                rate: arguments.rate,
                seed: arguments.seed,
                queries: arguments.queries,
                gold: arguments.gold,
                output: arguments.output,
                partitions: arguments.partitions,
            };
            let produced = produce::run(
                &config.kafka.cluster(),
                &options,
                wall_now().as_event_time(),
            )
            .map_err(Failure::Running)?;
            print(&format!("{produced}\n")).map_err(Failure::Running)
        }
        Command::Replay(arguments) => {
            let config = arguments.settings.load()?;
            start_log(&config);
            if !arguments.feedback.is_empty() && arguments.feedback.len() != arguments.search.len()
            {
                return Err(Failure::Usage(anyhow::anyhow!(
                    "{} search files and {} feedback files: each search file needs one feedback file",
                    arguments.search.len(),
                    arguments.feedback.len()
                )));
            }
            replay_files(&config, &arguments.search, &arguments.feedback).map_err(Failure::Running)
        }
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
        #[cfg(feature = "demo")]
        Command::Demo(arguments) => {
            let options = DemoOptions {
                seed: arguments.seed,
                rate: arguments.rate,
                duration: arguments.duration,
                regress_after: (!arguments.no_regression).then_some(arguments.regress_after),
                json: arguments.format == Format::Json,
                listen: arguments.listen,
            };
            demo::run(&options).map_err(Failure::Running)
        }
    }
}

impl Settings {
    fn load(&self) -> Result<Config, Failure> {
        config::load(&self.config, config::environment(), &self.set)
            .map_err(|problems| Failure::Usage(problems.into()))
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("KEY=VALUE is expected, kafka.brokers=kafka:9092")?;
    Ok((key.to_owned(), value.to_owned()))
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

fn start_log(config: &Config) {
    let filter = EnvFilter::builder()
        .with_default_directive(config.log.level.into())
        .with_env_var("RANKGAUGE_LOG")
        .from_env_lossy();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // In tests, a second command in the same process keeps the log of the first.
    let started = match config.log.format {
        LogFormat::Text => log.with_ansi(use_colour()).try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    drop(started);
}

/// Returns true if standard error is a terminal and `NO_COLOR` is not set (<https://no-color.org>).
fn use_colour() -> bool {
    use std::io::IsTerminal as _;
    std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn sidecar(config: Config) -> anyhow::Result<()> {
    info!(version = env!("CARGO_PKG_VERSION"), "starting");
    let mut app = App::start(config)?;
    app.run_until(stop_signal())?
        .context("cannot wait for signals")?;
    app.stop()?;
    info!("stopped");
    Ok(())
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

/// Prints a result. A closed pipe (`| head`) is not an error.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(problem) if problem.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => done.context("the result cannot be printed"),
    }
}

/// Output of `replay`.
#[derive(Serialize)]
struct FinalState<'a> {
    gold_version: &'a str,
    gold_sha256: &'a str,
    metrics: Vec<Sample>,
}

fn replay_files(config: &Config, searches: &[PathBuf], feedback: &[PathBuf]) -> anyhow::Result<()> {
    let settings = Arc::new(config.engine.clone());
    let registry = Arc::new(Engine::registry(&settings));
    let mut engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), wall_now());
    let gold = Arc::new(rankgauge_core::gold::load(
        &config.gold.paths,
        &config.gold.options,
    )?);
    engine.apply(Input::Gold(Arc::clone(&gold)));
    replay(&mut engine, &config.formats, searches, feedback)?;
    let names = Names {
        settings,
        registry,
        topics: [
            config.kafka.search_topic.clone(),
            config.kafka.feedback_topic.clone(),
        ],
    };
    let mut sink = Json::default();
    collect(&engine.snapshot(), &names, wall_now(), &mut sink);
    let state = FinalState {
        gold_version: gold.version(),
        gold_sha256: gold.sha256(),
        metrics: sink.into_samples(),
    };
    print(&format!("{}\n", serde_json::to_string(&state)?))
}
