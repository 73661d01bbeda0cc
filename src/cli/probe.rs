//! `rankgauge probe`: gold queries sent to search endpoints, as events on Kafka or in files.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tokio::time::MissedTickBehavior;
use tracing::{info, warn};

use super::failure::Failure;
use super::logging;
use super::output::{check_writable, is_stdout, note, print, print_or_write};
use super::settings::SettingsArguments;
use crate::app::signals::stop_signal;
use crate::app::{self, AppError};
use crate::config::{self, Config};
use rankgauge_core::decode::Format;
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::number::percent;
use rankgauge_kafka::producer::Producer;
use rankgauge_probe::{Client, ProbedEvent, Round, Tally};
use rankgauge_serve::probe::{ProbeMetrics, ProbedSearches};

/// Arguments of `probe`.
#[derive(Debug, Args)]
pub(super) struct Probe {
    #[command(flatten)]
    settings: SettingsArguments,
    /// Write the events to this file, in the order of the gold set, instead of to Kafka. With
    /// several targets, {variant} in the name makes a file for each.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Repeat the round at this interval until SIGTERM or SIGINT: 15m.
    #[arg(long, value_name = "DURATION", value_parser = config::parse_duration, conflicts_with = "output")]
    every: Option<Duration>,
    /// Probe only the target of this variant; may be repeated.
    #[arg(long, value_name = "VARIANT")]
    target: Vec<String>,
    /// File or folder with judgements; may be repeated. Without it, the gold set of the
    /// configuration.
    #[arg(long, value_name = "PATH")]
    gold: Vec<PathBuf>,
}

/// Placeholder of a variant in the name of a file.
const VARIANT: &str = "{variant}";

/// Runs the command.
pub(super) fn run(arguments: &Probe) -> Result<(), Failure> {
    let config = configuration(arguments)?;
    check_writable(arguments.output.as_deref())?;
    let (log, _) = logging::start(&config)?;
    let mut runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")
        .map_err(Failure::Running)?;
    let mut served = None;
    if arguments.every.is_some() {
        let started = app::probe::start(runtime, &config, log.queue());
        (runtime, served) = started.map_err(|error| match error {
            AppError::Web { .. } => Failure::Usage(error.into()),
            _ => Failure::Running(error.into()),
        })?;
    }
    let metrics = served.as_ref().map(|served| &served.metrics);
    runtime.block_on(async {
        let stop = stop_signal().context("cannot wait for signals");
        let stop = stop.map_err(Failure::Running)?;
        match (arguments.every, &arguments.output) {
            (Some(every), _) => repeat(&config, every, metrics, stop).await,
            (None, output) => once(&config, output.as_deref(), stop).await,
        }
    })
}

/// Counts the searches of a round for one variant.
fn count(metrics: &ProbeMetrics, tally: &Tally) {
    let searches = ProbedSearches {
        answered: tally.answered,
        failed: tally.failed.values().sum(),
        skipped: tally.skipped,
    };
    metrics.round(&tally.variant, searches);
    for milliseconds in &tally.latencies {
        let latency = Duration::try_from_secs_f64(milliseconds / 1e3);
        metrics.answered(&tally.variant, latency.unwrap_or(Duration::MAX));
    }
}

/// The configuration with the targets and the gold set of the arguments.
fn configuration(arguments: &Probe) -> Result<Config, Failure> {
    let usage = |text: String| Failure::Usage(anyhow::anyhow!(text));
    let mut config = arguments.settings.load()?;
    if !arguments.gold.is_empty() {
        config.gold.paths.clone_from(&arguments.gold);
    }
    let targets = &mut config.probe.targets;
    for name in &arguments.target {
        if !targets.iter().any(|target| target.variant == *name) {
            let known: Vec<&str> = targets.iter().map(|it| it.variant.as_str()).collect();
            return Err(usage(format!(
                "--target {name}: no target has this variant; write one of {}",
                known.join(", ")
            )));
        }
    }
    if !arguments.target.is_empty() {
        targets.retain(|target| arguments.target.contains(&target.variant));
    }
    if arguments.output.is_none() && config.formats.search != Format::Native {
        return Err(usage(format!(
            "the probe writes native events, and kafka.search_format is {}; name another topic with \
             --set kafka.search_topic=TOPIC --set kafka.search_format=native",
            config.formats.search.name()
        )));
    }
    Ok(config)
}

/// Gold set and client of a round.
struct Prepared {
    gold: Arc<GoldSet>,
    client: Arc<Client>,
}

impl Prepared {
    fn new(config: &Config) -> Result<Self, Failure> {
        // A probe finds documents to judge.
        let options = gold::Options {
            unjudged: gold::Unjudged::All,
            ..config.gold.options.clone()
        };
        let gold = gold::load(&config.gold.paths, &options)
            .context("the gold set cannot be loaded")
            .map_err(Failure::Usage)?;
        rankgauge_probe::check(&config.probe, &gold).map_err(Failure::usage)?;
        let client = Client::new(&config.probe).map_err(Failure::usage)?;
        Ok(Self {
            gold: Arc::new(gold),
            client: Arc::new(client),
        })
    }

    fn round(&self, config: &Config) -> Result<Round, Failure> {
        let limits = config.engine.record_limits;
        let (gold, client) = (Arc::clone(&self.gold), Arc::clone(&self.client));
        let round = Round::new(config.probe.clone(), gold, limits, client);
        round.map_err(Failure::usage)
    }
}

/// Producer of events to the search topic.
struct SearchTopic<'a> {
    name: &'a str,
    producer: Producer,
}

impl<'a> SearchTopic<'a> {
    fn connect(config: &'a Config) -> Result<Self, Failure> {
        let name = &config.kafka.search_topic;
        let properties = [
            ("client.id", "rankgauge-probe"),
            ("enable.idempotence", "true"),
            ("message.timeout.ms", "30000"),
        ];
        let (producer, _) =
            Producer::connect(&config.kafka, &properties, [name]).map_err(Failure::running)?;
        Ok(Self { name, producer })
    }

    fn send(&mut self, event: &ProbedEvent) {
        let payload = event.json.as_bytes();
        self.producer
            .send(self.name, None, &event.query_id, payload);
    }
}

/// Runs one round, to a file or to Kafka.
async fn once(
    config: &Config,
    output: Option<&Path>,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let running = |error: anyhow::Error| Failure::Running(error);
    let prepared = Prepared::new(config)?;
    let round = prepared.round(config)?;
    let (tallies, written) = if let Some(path) = output {
        let mut events = Vec::new();
        let tallies = round.run(stop, |event| events.push(event)).await;
        let tallies = tallies.map_err(|error| running(error.into()))?;
        (tallies, write(config, path, events).map_err(running)?)
    } else {
        let mut topic = SearchTopic::connect(config)?;
        let tallies = round.run(stop, |event| topic.send(&event)).await;
        topic
            .producer
            .finish()
            .map_err(|error| running(error.into()))?;
        let tallies = tallies.map_err(|error| running(error.into()))?;
        (tallies, Vec::new())
    };
    let mut lines: Vec<String> = tallies.iter().map(ToString::to_string).collect();
    lines.extend(written);
    let report = format!("{}\n", lines.join("\n"));
    if output.is_some_and(is_stdout) {
        // Standard output has the events.
        note(&report);
    } else {
        print(&report).map_err(running)?;
    }
    too_many_failures(&tallies, config.probe.max_failures)
        .map_or(Ok(()), |text| Err(running(anyhow::anyhow!(text))))
}

/// Runs rounds at an interval until `stop` ends.
async fn repeat(
    config: &Config,
    every: Duration,
    metrics: Option<&ProbeMetrics>,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let mut prepared = Prepared::new(config)?;
    // Wrong headers are reported at the start, not in the first round.
    prepared.round(config)?;
    let mut topic = SearchTopic::connect(config)?;
    let mut ticks = tokio::time::interval(every.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    tokio::pin!(stop);
    let mut is_first = true;
    loop {
        tokio::select! {
            () = &mut stop => break,
            _ = ticks.tick() => {}
        }
        if !std::mem::take(&mut is_first) {
            // The gold set and the secrets may have changed.
            match Prepared::new(config) {
                Ok(now) => prepared = now,
                Err(error) => warn!(%error, "gold set not loaded; the previous one stays in use"),
            }
        }
        let round = match prepared.round(config) {
            Ok(round) => round,
            Err(error) => {
                warn!(%error, "round skipped");
                continue;
            }
        };
        let tallies = round.run(&mut stop, |event| topic.send(&event)).await;
        if let Err(error) = topic.producer.finish() {
            warn!(%error, "events not delivered");
        }
        let Ok(tallies) = tallies else { break };
        for tally in &tallies {
            if let Some(metrics) = metrics {
                count(metrics, tally);
            }
            info!(variant = tally.variant, result = %tally, "round finished");
        }
        if let Some(problem) = too_many_failures(&tallies, config.probe.max_failures) {
            warn!(problem, "too many searches failed");
        }
    }
    info!("stopped");
    Ok(())
}

/// Message if a target has a larger share of failures than `max`.
fn too_many_failures(tallies: &[Tally], max: f64) -> Option<String> {
    let failed = tallies.iter().filter(|tally| tally.failed_share() > max);
    let failed: Vec<String> = failed
        .map(|tally| format!("{} {}", tally.variant, percent(tally.failed_share(), 1)))
        .collect();
    (!failed.is_empty()).then(|| {
        format!(
            "too many failed searches: {}; probe.max_failures allows {}",
            failed.join(", "),
            percent(max, 1)
        )
    })
}

/// Writes the events in the order of targets and gold queries. Returns a line for each file.
fn write(
    config: &Config,
    path: &Path,
    mut events: Vec<ProbedEvent>,
) -> anyhow::Result<Vec<String>> {
    events.sort_by_key(|event| (event.target, event.query));
    let name = path.to_string_lossy();
    let targets = &config.probe.targets;
    let mut written = Vec::new();
    let mut file = |path: &Path, events: &mut dyn Iterator<Item = &ProbedEvent>| {
        let mut text = String::new();
        let mut count = 0_usize;
        for event in events {
            text.push_str(&event.json);
            text.push('\n');
            count += 1;
        }
        print_or_write(&text, true, Some(path))?;
        written.push(format!("{}: {count} events", path.display()));
        anyhow::Ok(())
    };
    if name.contains(VARIANT) {
        for (index, target) in targets.iter().enumerate() {
            let variant = target.variant.replace(['/', '\0'], "_");
            let path = PathBuf::from(name.replace(VARIANT, &variant));
            let mut events = events.iter().filter(|event| event.target == index);
            file(&path, &mut events)?;
        }
    } else {
        file(path, &mut events.iter())?;
    }
    if targets.len() > 1 && !name.contains(VARIANT) {
        written.push(
            "The file holds several variants. `rankgauge evaluate` takes one a file: write {variant} \
             into the name, or choose one with --target."
                .to_owned(),
        );
    }
    Ok(written)
}
