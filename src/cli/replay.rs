//! `rankgauge replay`: events from files, and the metrics that they lead to.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use clap::{ArgAction, Args, ValueEnum};
use serde::Serialize;

use super::failure::Failure;
use super::logging;
use super::output::{print_data, printed, stdout};
use super::recorded::receive_schemas;
use super::settings::SettingsArguments;
use crate::config::{Config, parse_duration};
use crate::ingest::replay::{ReplayError, replay, replay_observed};
use rankgauge_core::engine::family::{self, Type};
use rankgauge_core::engine::position::{Join, Topics};
use rankgauge_core::engine::settings::{Rolling, Settings};
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::Kind;
use rankgauge_core::gold;
use rankgauge_core::time::{EventTime, WallTime};
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::collect::{Names, collect};
use rankgauge_serve::json::{Json, Sample};
use rankgauge_serve::text::Text;
use tracing::warn;

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub(super) struct Replay {
    #[command(flatten)]
    settings: SettingsArguments,
    /// Files of search events; each file is one partition. A file has one JSON object per line, or is an Avro
    /// container, or has values in Avro or Protobuf, each after its length.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    search: Vec<PathBuf>,
    /// Files of feedback events; the first belongs to the first search file, and so on. None, if one topic
    /// has both kinds; any number with `kafka.join: owner`.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    feedback: Vec<PathBuf>,
    /// Finalise the searches and the feedback that are pending at the end of the files, as if every
    /// feedback window had passed. With `--drain=false` they stay pending, as in live operation.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        default_value_t = true,
        default_missing_value = "true",
        action = ArgAction::Set
    )]
    drain: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Print the counters after each TIME of event time, and with that time, instead of the final state: OpenMetrics,
    /// of which `promtool tsdb create-blocks-from openmetrics` makes blocks for Prometheus.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["format", "drain"])]
    every: Option<Duration>,
    /// Names of metrics to print with `--every`, separated by commas; all by default.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "every")]
    metrics: Vec<String>,
}

/// Output format of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object.
    Json,
    /// One sample per line, without help.
    Text,
    /// The exposition of `/metrics`.
    Prometheus,
}

/// Output of the command.
#[derive(Serialize)]
struct FinalState<'a> {
    gold_version: &'a str,
    gold_sha256: &'a str,
    metrics: Vec<Sample>,
}

/// Runs the command.
pub(super) fn run(arguments: &Replay) -> Result<(), Failure> {
    let config = arguments.settings.load()?;
    let _log = logging::start(&config)?;
    let (searches, feedback) = (arguments.search.len(), arguments.feedback.len());
    if feedback > 0 && config.formats.is_shared {
        return Err(Failure::Usage(anyhow!(
            "kafka.search_topic is the topic of both kinds: name its files with --search alone"
        )));
    }
    let is_paired = config.kafka.join == Join::Partition;
    if is_paired && feedback > 0 && feedback != searches {
        return Err(Failure::Usage(anyhow!(
            "{searches} search files and {feedback} feedback files: each search file needs one \
             feedback file"
        )));
    }
    if let Some(unknown) = arguments.metrics.iter().find(|name| !is_sample(name)) {
        return Err(Failure::Usage(anyhow!(
            "--metrics: no metric is called {unknown}; docs/metrics.md lists them, a histogram has \
             NAME_bucket, NAME_sum and NAME_count"
        )));
    }
    arguments.replay(&config).map_err(Failure::Running)
}

/// Returns true if samples can have this name.
fn is_sample(name: &str) -> bool {
    family::ALL.iter().any(|family| {
        let suffixes: &[&str] = match family.kind {
            Type::Counter | Type::Gauge => &[""],
            Type::Histogram => &["_bucket", "_sum", "_count"],
            Type::Summary => &["", "_sum", "_count"],
        };
        let suffix = name.strip_prefix(&*family.full_name());
        suffix.is_some_and(|suffix| suffixes.contains(&suffix))
    })
}

impl Replay {
    fn replay(&self, config: &Config) -> anyhow::Result<()> {
        let settings = Arc::new(Settings {
            // The final state is complete.
            rolling: Rolling::All,
            topics: Topics {
                // Without internal topics, the files are joined with each other.
                join: match config.kafka.join {
                    Join::Repartition => Join::All,
                    join => join,
                },
                ..config.engine.topics
            },
            ..config.engine.clone()
        });
        let registry = Arc::new(Engine::registry(&settings));
        let mut engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), wall_now());
        let gold = Arc::new(gold::load(&config.gold.paths, &config.gold.options)?);
        engine.apply(Input::Gold(Arc::clone(&gold)));
        let files: [(Kind, &[PathBuf]); 2] = [
            (Kind::Search, &self.search),
            (Kind::Feedback, &self.feedback),
        ];
        receive_schemas(config, &files)?;
        if let Some(every) = self.every {
            let names = Names {
                settings,
                registry,
                topics: config.kafka.names(),
            };
            return self.print_states(config, &mut engine, &names, every);
        }
        let records = replay(&mut engine, &config.formats, &self.search, &self.feedback)?;
        if self.drain {
            engine.drain();
        }
        if records.rejected > records.accepted {
            warn!(
                invalid = records.rejected,
                records = records.rejected + records.accepted,
                "most records are invalid; check that the files have the configured formats \
                 (kafka.search_format, kafka.feedback_format)"
            );
        }
        let names = Names {
            settings,
            registry,
            topics: config.kafka.names(),
        };
        let snapshot = engine.snapshot();
        let text = match self.format {
            Format::Json => {
                let mut sink = Json::default();
                collect(&snapshot, &names, wall_now(), &mut sink);
                let state = FinalState {
                    gold_version: gold.version(),
                    gold_sha256: gold.sha256(),
                    metrics: sink.into_samples(),
                };
                format!("{}\n", serde_json::to_string(&state)?)
            }
            Format::Text | Format::Prometheus => {
                let mut sink = Text::default();
                collect(&snapshot, &names, wall_now(), &mut sink);
                let exposition = sink.into_string();
                if self.format == Format::Prometheus {
                    exposition
                } else {
                    let lines = exposition.split_inclusive('\n');
                    lines.filter(|line| !line.starts_with('#')).collect()
                }
            }
        };
        print_data(&text)
    }

    /// Prints the state after each `every` of event time.
    fn print_states(
        &self,
        config: &Config,
        engine: &mut Engine,
        names: &Names,
        every: Duration,
    ) -> anyhow::Result<()> {
        let every = i64::try_from(every.as_millis())?;
        anyhow::ensure!(every > 0, "--every is at least 1ms");
        let mut out = BufWriter::new(stdout());
        let mut due = None;
        let mut print = |engine: &Engine, EventTime(now): EventTime| {
            let first = now
                .div_euclid(every)
                .saturating_add(1)
                .saturating_mul(every);
            let due = due.get_or_insert(first);
            if *due > now {
                return Ok(());
            }
            let snapshot = engine.snapshot();
            while *due <= now {
                let mut sink = Text::default();
                collect(&snapshot, names, WallTime(*due), &mut sink);
                for line in sink.into_string().lines() {
                    let name = line.split(['{', ' ']).next().unwrap_or_default();
                    let is_wanted =
                        self.metrics.is_empty() || self.metrics.iter().any(|it| it == name);
                    if is_wanted && !line.starts_with('#') {
                        writeln!(out, "{line} {}.{:03}", *due / 1_000, *due % 1_000)?;
                    }
                }
                *due = due.saturating_add(every);
            }
            Ok(())
        };
        let replayed = replay_observed(
            engine,
            &config.formats,
            &self.search,
            &self.feedback,
            &mut print,
        );
        printed(match replayed {
            Ok(_) => writeln!(out, "# EOF").and_then(|()| out.flush()),
            Err(ReplayError::Observe(problem)) => Err(problem),
            Err(problem) => return Err(problem.into()),
        })
    }
}
