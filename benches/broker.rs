//! Benchmark of the throughput of one worker on one core with a real Kafka, compared with a Python
//! program for the same task.
//!
//! Both read the same records in the same run, in turns. The consumer is pinned to the first core,
//! the broker to the others. The sidecar runs in this process as `rankgauge run` runs it, and is
//! timed by the snapshots it publishes. The scores of both must agree: a fast wrong answer fails.
//! `docs/performance.md` explains the numbers.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::panic,
    reason = "a benchmark reads clocks, prints its results, and panics on failure"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::Parser;
use rankgauge::app::App;
use rankgauge::config;
use rankgauge::expose::http::Exposition;
use rankgauge_core::engine::family;
use rankgauge_core::engine::fixed::{NANO_DECIMALS, count_to_f64, units_to_f64};
use rankgauge_core::engine::scores::column_of;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::Kind;
use rankgauge_demo::corpus::Corpus;
use rankgauge_demo::traffic::{Record, Traffic, TrafficSettings};
use serde::Deserialize;

use cargo::CargoArguments;
use it::harness::kafka::{Broker, unique_name};
use spread::Spread;

#[path = "rounds/cargo.rs"]
mod cargo;
#[path = "rounds/spread.rs"]
mod spread;

#[path = "../tests/it"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "test harness; only its broker is used here"
)]
mod it {
    pub(crate) mod harness;
}

/// Measures that both programs compute.
const COMPARED: [&str; 4] = ["P@5", "R@10", "nDCG@10", "RR"];
/// Maximum difference of two means, due to rounding to nine decimal places.
const TOLERANCE: f64 = 1e-8;
const PARTITIONS: usize = 4;
/// Maximum duration of one round.
const ROUND_TIMEOUT: Duration = Duration::from_mins(3);

/// Throughput of one worker on one core with a real Kafka, compared with a Python peer.
#[derive(Parser)]
struct Arguments {
    /// Number of records in both topics together.
    #[arg(long, default_value_t = 1_000_000)]
    records: usize,
    /// Number of rounds of each program, in turns.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Searches per second of event time; a low rate makes the backlog span more event time.
    #[arg(long, default_value_t = 50)]
    rate: u32,
    /// Run without the peer.
    #[arg(long)]
    no_peer: bool,
    #[command(flatten)]
    cargo: CargoArguments,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("broker") {
        return Ok(());
    }
    let cores = Cores::of_this_machine();
    let python = (!arguments.no_peer).then(virtual_environment).transpose()?;
    let broker = cores.broker(Broker::private);
    let fixture = Fixture::prepare(&broker, arguments.records, arguments.rate)?;
    println!("{}", fixture.description);
    println!("{}", cores.description);
    let (mut ours, mut durable, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1..=arguments.rounds.max(1) {
        let round = fixture.sidecar(&cores, false)?;
        print!("round {number}: rankgauge {:.0}/s", round.per_second());
        let checked = fixture.sidecar(&cores, true)?;
        print!(", with checkpoints {:.0}/s", checked.per_second());
        round.agrees_with(&checked)?;
        durable.push(checked.per_second());
        if let Some(python) = &python {
            let peer = fixture.peer(&cores, python)?;
            print!(", Python {:.0}/s", peer.per_second());
            round.agrees_with(&peer)?;
            theirs.push(peer.per_second());
        }
        println!();
        ours.push(round.per_second());
    }
    println!(
        "\n{:24}{:>12}{:>12}{:>12}{:>9}{:>12}",
        "", "median", "min", "max", "spread", "µs/event"
    );
    print_row("rankgauge, events/s", &ours);
    print_row("with checkpoints", &durable);
    let ratios = durable.iter().zip(&ours);
    print_ratios("with to without, ratio", ratios);
    if !theirs.is_empty() {
        print_row("Python, events/s", &theirs);
        print_ratios("ratio within a round", ours.iter().zip(&theirs));
        println!("means of {} agree to {TOLERANCE:.0e}", COMPARED.join(", "));
    }
    Ok(())
}

fn print_row(name: &str, values: &[f64]) {
    let spread = Spread::of(values.to_vec());
    let (Spread { median, min, max }, noise) = (&spread, spread.noise());
    let micros = 1e6 / median;
    println!("{name:24}{median:>12.0}{min:>12.0}{max:>12.0}{noise:>8.1}%{micros:>12.2}");
}

fn print_ratios<'a>(name: &str, pairs: impl Iterator<Item = (&'a f64, &'a f64)>) {
    let ratios = Spread::of(pairs.map(|(one, other)| one / other).collect());
    let Spread { median, min, max } = ratios;
    println!("{name:24}{median:>12.2}{min:>12.2}{max:>12.2}");
}

/// Assignment of cores to the consumer and the broker.
struct Cores {
    /// Core lists for `taskset -c`: all cores, those of the consumer, those of the broker.
    sets: Option<[String; 3]>,
    description: String,
}

impl Cores {
    fn of_this_machine() -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let last = count - 1;
        let sets = [format!("0-{last}"), "0".to_owned(), format!("1-{last}")];
        if count < 2 {
            Self::free("one core only: consumer and broker share it".to_owned())
        } else if pin(&sets[0]) {
            let description = format!(
                "{count} cores: the consumer is pinned to core {}, the broker to {}",
                sets[1], sets[2]
            );
            Self {
                sets: Some(sets),
                description,
            }
        } else {
            Self::free(format!(
                "{count} cores, nothing pinned: taskset (util-linux) is not installed"
            ))
        }
    }

    fn free(description: String) -> Self {
        Self {
            sets: None,
            description,
        }
    }

    /// Runs `start` on the core of the consumer.
    fn consumer<T>(&self, start: impl FnOnce() -> T) -> T {
        self.on(1, start)
    }

    /// Runs `start` on the other cores.
    fn broker<T>(&self, start: impl FnOnce() -> T) -> T {
        self.on(2, start)
    }

    /// Runs `start` on a set of cores. Threads and processes inherit the cores of the thread that
    /// starts them, here the main thread.
    fn on<T>(&self, set: usize, start: impl FnOnce() -> T) -> T {
        let Some(sets) = &self.sets else {
            return start();
        };
        assert!(pin(&sets[set]), "taskset has worked before");
        let started = start();
        assert!(pin(&sets[0]), "taskset has worked before");
        started
    }
}

/// Pins the main thread of this process to these cores. Returns false on failure.
fn pin(cores: &str) -> bool {
    Command::new("taskset")
        .args(["-pc", cores, &std::process::id().to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Records in a broker, and their gold set.
struct Fixture<'a> {
    broker: &'a Broker,
    folder: tempfile::TempDir,
    topics: (String, String),
    records: usize,
    description: String,
}

impl<'a> Fixture<'a> {
    fn prepare(broker: &'a Broker, records: usize, rate: u32) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let corpus = Arc::new(Corpus::generate(1, 200));
        fs::write(folder.path().join("gold.json"), corpus.gold_json())?;
        let settings = TrafficSettings {
            searches_per_second: f64::from(rate),
            ..TrafficSettings::default()
        };
        let topics = broker.unique_topics("bench", PARTITIONS);
        let mut bytes = 0;
        let mut counts = Vec::new();
        // The stream is generated once for each topic: cheaper than storing it.
        for (kind, topic) in [(Kind::Search, &topics.0), (Kind::Feedback, &topics.1)] {
            let traffic = Traffic::new(Arc::clone(&corpus), settings).take(records);
            let of_kind = traffic.filter(|record| Kind::from(record.kind) == kind);
            let produced = of_kind.map(|Record { key, payload, .. }| {
                bytes += payload.len();
                (key, payload, None)
            });
            counts.push(broker.produce(topic, produced));
        }
        let description = format!(
            "{records} records ({} searches, {} feedback, {} MB) in 2 topics of {PARTITIONS} \
             partitions, {rate} searches a second of event time",
            counts[0],
            counts[1],
            bytes / 1_000_000
        );
        Ok(Self {
            broker,
            folder,
            topics,
            records,
            description,
        })
    }

    fn gold(&self) -> PathBuf {
        self.folder.path().join("gold.json")
    }

    /// Runs the sidecar over all records, with or without checkpoints.
    fn sidecar(&self, cores: &Cores, checkpoints: bool) -> anyhow::Result<Round> {
        let profile = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/law-search.yaml");
        let settings = [
            ("kafka.brokers", self.broker.bootstrap()),
            ("kafka.search_topic", &self.topics.0),
            ("kafka.feedback_topic", &self.topics.1),
            ("kafka.group_id", &unique_name("sidecar")),
            ("kafka.start", "earliest"),
            ("gold.paths", &self.gold().display().to_string()),
            ("metrics.listen", "127.0.0.1:0"),
            ("admin.listen", "none"),
            ("workers", "1"),
            // More often than by default, for a finer clock.
            ("publish_interval", "250ms"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut config = config::load(&[profile], std::iter::empty(), &settings)?;
        let folder = self.folder.path().join(unique_name("checkpoints"));
        config.checkpoints = checkpoints.then_some(folder);
        let mut app = cores.consumer(|| App::start(config))?;
        let exposition = app.exposition();
        let seen = app.run_until(watch(&exposition, self.records))?;
        app.stop()?;
        let (first, last) = seen?;
        let snapshot = exposition.published.merged();
        let measures = &exposition.names.settings.measures;
        let whole = whole_series(&exposition);
        let rows: Vec<_> = snapshot.totals.scores.rows().collect();
        let mut judged = 0;
        let mut sums = BTreeMap::new();
        for name in COMPARED {
            let measure = measures.iter().position(|one| one.to_string() == name);
            let column = column_of(measure.context("a compared measure is not in the profile")?);
            let tallies = || {
                let rows = whole.iter().filter_map(|&series| rows.get(series));
                rows.map(|row| &row[column])
            };
            judged = tallies().map(|tally| tally.count).sum();
            let sum = tallies().map(|tally| tally.sum).sum();
            sums.insert(name.to_owned(), units_to_f64(sum, NANO_DECIMALS));
        }
        Ok(Round {
            events: last.records - first.records,
            seconds: count_to_f64(u64::try_from(last.wall - first.wall)?) / 1e3,
            judged,
            sums,
        })
    }

    /// Runs the peer over all records.
    fn peer(&self, cores: &Cores, python: &Path) -> anyhow::Result<Round> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/python/sidecar.py");
        let mut command = Command::new(python);
        command
            .arg(script)
            .args(["--brokers", self.broker.bootstrap()])
            .args(["--group", &unique_name("python")])
            .args(["--search", &self.topics.0])
            .args(["--feedback", &self.topics.1])
            .args(["--events", &self.records.to_string()])
            .arg("--gold")
            .arg(self.gold())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let output = cores.consumer(|| command.spawn())?.wait_with_output()?;
        ensure!(
            output.status.success(),
            "the peer failed: {}",
            output.status
        );
        serde_json::from_slice(&output.stdout).context("the peer's report cannot be read")
    }
}

/// Result of one run.
#[derive(Deserialize)]
struct Round {
    /// Number of events within `seconds`.
    events: u64,
    seconds: f64,
    /// Number of judged searches of the whole run; `sums` holds their scores by measure.
    judged: u64,
    sums: BTreeMap<String, f64>,
}

impl Round {
    fn per_second(&self) -> f64 {
        count_to_f64(self.events) / self.seconds
    }

    fn agrees_with(&self, other: &Self) -> anyhow::Result<()> {
        ensure!(
            self.judged == other.judged,
            "rankgauge judged {} searches and the peer {}",
            self.judged,
            other.judged
        );
        for ((name, ours), theirs) in self.sums.iter().zip(other.sums.values()) {
            let difference = (ours - theirs).abs() / count_to_f64(self.judged.max(1));
            ensure!(
                difference <= TOLERANCE,
                "the means of {name} differ by {difference:e}"
            );
        }
        Ok(())
    }
}

/// Number of records received at a wall time in milliseconds.
#[derive(Clone, Copy)]
struct Progress {
    wall: i64,
    records: u64,
}

/// Waits until all records are received. Returns the first and the last snapshot before that.
async fn watch(exposition: &Exposition, records: usize) -> anyhow::Result<(Progress, Progress)> {
    let records = u64::try_from(records)?;
    let deadline = Instant::now() + ROUND_TIMEOUT;
    let mut first: Option<Progress> = None;
    let mut last: Option<Progress> = None;
    loop {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let snapshot = exposition.published.views[0].snapshot();
        let received = received(&snapshot);
        if received >= records {
            break;
        }
        if let Some(wall) = snapshot.wall.filter(|_| received > 0) {
            let seen = Progress {
                wall: wall.0,
                records: received,
            };
            first.get_or_insert(seen);
            last = Some(seen);
        }
        if Instant::now() > deadline {
            bail!("{received} of {records} records received in {ROUND_TIMEOUT:?}");
        }
    }
    match (first, last) {
        (Some(first), Some(last)) if first.wall < last.wall => Ok((first, last)),
        _ => bail!("too short to measure: use more --records"),
    }
}

fn received(snapshot: &Snapshot) -> u64 {
    let outcomes = Kind::ALL
        .into_iter()
        .flat_map(|kind| snapshot.totals.events.outcomes(kind));
    outcomes.map(|(_, count)| count).sum::<u64>() + snapshot.pending.iter().sum::<u64>()
}

/// Indices of the score series that are not slices.
fn whole_series(exposition: &Exposition) -> Vec<usize> {
    let members = exposition.names.registry.series_labels(&family::SCORE);
    let members = members.iter().enumerate();
    members
        .filter(|(_, [_, slice, ..])| slice.position() == Some(0))
        .map(|(series, _)| series)
        .collect()
}

/// Returns the interpreter of the peer's virtual environment. Creates the environment if it is
/// missing or old.
fn virtual_environment() -> anyhow::Result<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .context("cargo's temporary directory lies in the target directory")?;
    let folder = target.join("bench-venv");
    let python = folder.join("bin/python");
    let wanted = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/python/requirements.txt");
    let installed = folder.join("requirements.txt");
    let wanted_text = fs::read_to_string(&wanted)?;
    if fs::read_to_string(&installed).is_ok_and(|text| text == wanted_text) {
        return Ok(python);
    }
    println!("installing the peer into {}", folder.display());
    let remedy = "install Python 3.9 or later with venv (Debian: apt-get install python3-venv), or \
                  pass --no-peer";
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder)).context(remedy)?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
    ];
    run(Command::new(&python).args(pip).arg(&wanted)).context(remedy)?;
    // Last: its presence marks the environment as complete.
    fs::write(installed, wanted_text)?;
    Ok(python)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    ensure!(
        status.success(),
        "{} failed: {status}",
        command.get_program().display()
    );
    Ok(())
}
