//! Benchmark of one worker with a real Kafka, compared with programs of the same task.
//!
//! Five programs read the same records, in turns: polling alone; the sidecar; a Python worker that
//! does the same work; the mean of one measure a minute with quixstreams, of the searches alone; and
//! the sidecar with that measure and window alone. Each is a process of its own, so that its CPU
//! time is that of all its threads and of nothing else. Before any value is
//! printed, every count, mean and rolling value of the sidecar and of the Python worker is compared.
//! `docs/performance.md` explains the numbers.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::panic,
    reason = "a benchmark reads clocks, prints its results, and panics on failure"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::Parser;
use rankgauge::config;
use rdkafka::Message as _;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use serde::Deserialize;

use cargo::CargoArguments;
use cores::Cores;
use goal::Goal;
use it::harness::kafka::{Broker, unique_name};
use it::harness::sidecar::Exposition;
use process::cpu_seconds;
use sidecar::{Measured, SidecarRun};
use table::{print_heading, print_row, ratios};
use workload::{MEASURES, SLICES, WINDOWS, Workload};

#[path = "rounds/agreement.rs"]
mod agreement;
#[path = "rounds/cargo.rs"]
mod cargo;
#[path = "rounds/cores.rs"]
mod cores;
#[path = "rounds/goal.rs"]
mod goal;
#[path = "rounds/process.rs"]
#[allow(dead_code, reason = "other benchmarks measure threads and memory")]
mod process;
#[path = "rounds/sidecar.rs"]
mod sidecar;
#[path = "rounds/spread.rs"]
mod spread;
#[path = "rounds/table.rs"]
mod table;
#[path = "rounds/workload.rs"]
#[allow(
    dead_code,
    reason = "other benchmarks read both kinds of records in turns"
)]
mod workload;

#[path = "../tests/it"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "test harness; only its broker and its parser are used here"
)]
mod it {
    pub(crate) mod harness;
}

/// Number of partitions of each topic. The Python worker has one watermark.
const PARTITIONS: usize = 1;
/// Time without records after which polling fails.
const SILENCE: Duration = Duration::from_secs(30);
/// Maximum time that one poll waits for a record.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);
/// First argument of the process that only polls.
const POLL: &str = "poll";
/// Maximum difference of the mean nDCG@10 of quixstreams, which adds floating-point numbers.
const TOLERANCE: f64 = 1e-9;

/// CPU time of one worker with a real Kafka, compared with polling alone, a Python worker and
/// quixstreams.
#[derive(Parser)]
struct Arguments {
    /// Number of searches; there are about as many clicks.
    #[arg(long, default_value_t = 400_000)]
    searches: u64,
    /// Number of rounds of each program, in turns.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Searches per second of event time; a low rate makes the backlog span more event time.
    #[arg(long, default_value_t = 200)]
    rate: u64,
    /// Pin the measured program to one core, and the broker to the others.
    #[arg(long)]
    pin: bool,
    /// Run without the Python programs, and so without a comparison of results.
    #[arg(long)]
    no_peers: bool,
    #[command(flatten)]
    cargo: CargoArguments,
}

fn main() -> anyhow::Result<()> {
    let mut own_arguments = std::env::args().skip(1).peekable();
    if own_arguments.next_if(|first| first == POLL).is_some() {
        return poll(&Polling::parse_from(
            std::iter::once(POLL.to_owned()).chain(own_arguments),
        ));
    }
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("broker") {
        return Ok(());
    }
    let cores = if arguments.pin {
        Cores::pinned()
    } else {
        Cores::free("pass --pin to pin the measured program")
    };
    let python = (!arguments.no_peers).then(python).transpose()?;
    let broker = cores.others(Broker::of_a_benchmark);
    let fixture = Fixture::prepare(&broker, &arguments)?;
    println!("{}", fixture.description);
    println!("{}", cores.description);
    let mut results = Results::default();
    for number in 1..=arguments.rounds.max(1) {
        println!("round {number} of {}", arguments.rounds.max(1));
        results.polling.push(fixture.polling(&cores)?);
        let (measured, exposition) = fixture.sidecar(&cores)?;
        results.sidecar.push(measured);
        if let Some(python) = &python {
            let (measured, theirs) = fixture.worker(&cores, python)?;
            results.worker.push(measured);
            let compared = agreement::check(("rankgauge", &exposition), ("Python", &theirs))?;
            results.compared = Some(compared);
            let windowed = fixture.windowed_mean(&cores, python)?;
            windowed.check(&exposition)?;
            results.windowed.push(windowed.measured);
            results.one_measure.push(fixture.one_measure(&cores)?);
        }
    }
    results.print();
    Ok(())
}

/// Measurements of every round.
#[derive(Default)]
struct Results {
    polling: Vec<Measured>,
    sidecar: Vec<Measured>,
    worker: Vec<Measured>,
    windowed: Vec<Measured>,
    /// The sidecar with the work of the windowed mean.
    one_measure: Vec<Measured>,
    /// Number of values of the sidecar and the Python worker that are equal.
    compared: Option<usize>,
}

impl Results {
    fn print(&self) {
        match self.compared {
            Some(compared) => println!("results: {compared} values of rankgauge and Python agree"),
            None => println!("results: NOT COMPARED, because of --no-peers"),
        }
        let programs = [
            ("polling alone", &self.polling),
            ("rankgauge, one worker", &self.sidecar),
            ("Python worker of the same work", &self.worker),
            ("quixstreams windowed mean", &self.windowed),
            ("rankgauge, one measure and one window", &self.one_measure),
        ];
        let programs = || programs.iter().filter(|(_, rounds)| !rounds.is_empty());
        print_heading("events/s, by the wall clock");
        for (name, rounds) in programs() {
            print_row(name, &all(rounds, Measured::per_second), 0);
        }
        print_heading("CPU, µs/event");
        for (name, rounds) in programs() {
            print_row(name, &all(rounds, Measured::cpu_micros), 2);
        }
        let cpu = |rounds| all(rounds, Measured::cpu_micros);
        print_heading("ratio of CPU within a round");
        let polling = ratios(&cpu(&self.sidecar), &cpu(&self.polling));
        let polling = print_row("rankgauge to polling, per event", &polling, 2);
        let mut goals = vec![("CPU per event against polling", Goal::AtMost(3.0), polling)];
        if self.compared.is_some() {
            let worker = ratios(&cpu(&self.worker), &cpu(&self.sidecar));
            let worker = print_row("Python worker to rankgauge, per event", &worker, 2);
            let windowed = ratios(&cpu(&self.windowed), &cpu(&self.one_measure));
            let windowed = print_row("quixstreams to rankgauge, one measure", &windowed, 2);
            goals.extend([
                (
                    "Python worker against one worker",
                    Goal::AtLeast(10.0),
                    worker,
                ),
                (
                    "quixstreams against one worker",
                    Goal::AtLeast(12.0),
                    windowed,
                ),
            ]);
        }
        println!();
        for (name, goal, value) in goals {
            goal.print(name, value, "×");
        }
    }
}

fn all(rounds: &[Measured], value: impl Fn(&Measured) -> f64) -> Vec<f64> {
    rounds.iter().map(value).collect()
}

/// Records in a broker, and their gold set.
struct Fixture<'a> {
    broker: &'a Broker,
    folder: tempfile::TempDir,
    topics: (String, String),
    /// Feedback topic without records.
    empty_topic: String,
    searches: u64,
    records: u64,
    description: String,
}

impl<'a> Fixture<'a> {
    fn prepare(broker: &'a Broker, arguments: &Arguments) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let workload = Workload {
            rate: arguments.rate,
            ..Workload::default()
        };
        fs::write(folder.path().join("gold.json"), workload.gold_json())?;
        let topics = broker.unique_topics("bench", PARTITIONS);
        let (_, empty_topic) = broker.unique_topics("empty", PARTITIONS);
        let searches = arguments.searches;
        let mut bytes = [0, 0];
        let produced = workload.searches(searches).map(|record| {
            bytes[0] += record.payload.len();
            (record.key, record.payload, None)
        });
        broker.produce(&topics.0, produced);
        let produced = workload.clicks(searches).map(|record| {
            bytes[1] += record.payload.len();
            (record.key, record.payload, None)
        });
        let clicks = u64::try_from(broker.produce(&topics.1, produced))?;
        let mean =
            |kind: usize, count: u64| bytes[kind] / usize::try_from(count).unwrap_or(1).max(1);
        let description = format!(
            "{searches} searches of {} bytes with {} results and {clicks} clicks of {} bytes, {} \
             searches a second of event time, {PARTITIONS} partition; {} measures, {} slices, {} \
             windows",
            mean(0, searches),
            workload.results,
            mean(1, clicks),
            workload.rate,
            MEASURES.len(),
            SLICES.len(),
            WINDOWS.len(),
        );
        Ok(Self {
            broker,
            folder,
            topics,
            empty_topic,
            searches,
            records: searches + clicks,
            description,
        })
    }

    fn gold(&self) -> PathBuf {
        self.folder.path().join("gold.json")
    }

    /// Runs the sidecar over all records.
    fn sidecar(&self, cores: &Cores) -> anyhow::Result<(Measured, Exposition)> {
        let settings = [
            ("measures", MEASURES.join(",")),
            ("slices", SLICES.join(",")),
            ("windows", WINDOWS.join(",")),
            // The Python worker exposes every rolling value.
            ("feedback.min_samples", "1".to_owned()),
            ("metrics.rolling", "all".to_owned()),
        ];
        self.sidecar_with(cores, &self.topics.1, self.records, &settings)
    }

    /// Runs the sidecar over the searches, with the work of the windowed mean only.
    fn one_measure(&self, cores: &Cores) -> anyhow::Result<Measured> {
        let settings = [
            ("measures", "nDCG@10".to_owned()),
            ("slices", String::new()),
            ("windows", "1m".to_owned()),
            // An empty topic must not hold the watermark back.
            ("engine.idle_timeout", "1s".to_owned()),
        ];
        let (measured, _) =
            self.sidecar_with(cores, &self.empty_topic, self.searches, &settings)?;
        Ok(measured)
    }

    fn sidecar_with(
        &self,
        cores: &Cores,
        feedback_topic: &str,
        records: u64,
        of_run: &[(&str, String)],
    ) -> anyhow::Result<(Measured, Exposition)> {
        let topics = [self.topics.0.as_str(), feedback_topic];
        let mut settings = kafka_settings(self.broker.bootstrap(), topics, &unique_name("sidecar"));
        let gold = ("gold.paths", self.gold().display().to_string());
        let of_run = of_run.iter().chain([&gold]);
        settings.extend(of_run.map(|(key, value)| ((*key).to_owned(), value.clone())));
        let run = SidecarRun {
            program: Path::new(env!("CARGO_BIN_EXE_rankgauge")),
            config: None,
            settings: &settings,
            folder: self.folder.path(),
            records,
        };
        run.measure(cores)
    }

    /// Arguments that all other programs have.
    fn common(&self, command: &mut Command, group: &str, events: u64) {
        command
            .args(["--brokers", self.broker.bootstrap()])
            .args(["--group", &unique_name(group)])
            .args(["--search", &self.topics.0])
            .args(["--events", &events.to_string()]);
    }

    /// Polls all records without processing them.
    fn polling(&self, cores: &Cores) -> anyhow::Result<Measured> {
        let mut command = cores.command(std::env::current_exe()?);
        command.arg(POLL);
        self.common(&mut command, "polling", self.records);
        command.args(["--feedback", &self.topics.1]);
        output(command)
    }

    /// Runs the Python worker over all records.
    fn worker(&self, cores: &Cores, python: &Path) -> anyhow::Result<(Measured, Exposition)> {
        let metrics = self.folder.path().join("metrics.txt");
        let mut command = cores.command(python);
        command.arg(script("worker.py"));
        self.common(&mut command, "worker", self.records);
        command
            .args(["--feedback", &self.topics.1])
            .arg("--gold")
            .arg(self.gold())
            .arg("--metrics")
            .arg(&metrics);
        let measured = output(command)?;
        let text = fs::read_to_string(metrics)?;
        let exposition = Exposition::parse(&text).map_err(anyhow::Error::msg)?;
        Ok((measured, exposition))
    }

    /// Runs the windowed mean over all searches.
    fn windowed_mean(&self, cores: &Cores, python: &Path) -> anyhow::Result<WindowedMean> {
        let mut command = cores.command(python);
        command.arg(script("windowed_mean.py"));
        self.common(&mut command, "windowed", self.searches);
        command.arg("--gold").arg(self.gold());
        output(command)
    }
}

/// Result of the windowed mean.
#[derive(Deserialize)]
struct WindowedMean {
    #[serde(flatten)]
    measured: Measured,
    /// Number of closed windows.
    windows: u64,
    /// Number of judged searches, and their mean nDCG@10.
    judged: u64,
    mean: f64,
}

impl WindowedMean {
    /// Compares the number and the mean of all searches with those of the sidecar.
    #[allow(
        clippy::cast_precision_loss,
        reason = "a count of searches is far below 2^52"
    )]
    fn check(&self, exposition: &Exposition) -> anyhow::Result<()> {
        let labels = [("measure", "nDCG@10"), ("slice", "all")];
        let judged = exposition.sum("rankgauge_score_count_total", &labels);
        let mean = exposition.sum("rankgauge_score_sum_total", &labels) / judged;
        ensure!(
            (judged - self.judged as f64).abs() < 0.5 && (mean - self.mean).abs() <= TOLERANCE,
            "the results differ: rankgauge has {judged} judged searches with a mean nDCG@10 of \
             {mean}, quixstreams {} with {}",
            self.judged,
            self.mean
        );
        ensure!(
            self.windows > 0,
            "quixstreams closed no window: use more --searches or a lower --rate"
        );
        Ok(())
    }
}

/// Runs a program to its end and reads its report.
fn output<T: for<'a> Deserialize<'a>>(mut command: Command) -> anyhow::Result<T> {
    let name = format!("{command:?}");
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    ensure!(output.status.success(), "{name} failed: {}", output.status);
    let report = String::from_utf8_lossy(&output.stdout);
    let last = report.lines().last().unwrap_or_default();
    serde_json::from_str(last).with_context(|| format!("{name}: no report in {report:?}"))
}

/// Settings for the topics of the benchmark.
fn kafka_settings(brokers: &str, topics: [&str; 2], group: &str) -> Vec<(String, String)> {
    let settings = [
        ("kafka.brokers", brokers),
        ("kafka.search_topic", topics[0]),
        ("kafka.feedback_topic", topics[1]),
        ("kafka.group_id", group),
    ];
    settings
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("benches/python")
        .join(name)
}

/// Interpreter of the environment that `tests/setup.sh bench` creates.
fn python() -> anyhow::Result<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .context("cargo's temporary directory lies in the target directory")?;
    let folder = target.join("bench-peers");
    let requirements = "requirements.txt";
    let wanted = fs::read_to_string(script(requirements))?;
    let installed = fs::read_to_string(folder.join(requirements)).unwrap_or_default();
    if installed != wanted {
        bail!(
            "the Python programs are not installed in {}: run tests/setup.sh bench, or pass \
             --no-peers",
            folder.display()
        );
    }
    Ok(folder.join("bin/python"))
}

/// Reads both topics with the consumer settings of the sidecar, and does nothing with the records.
#[derive(Parser)]
struct Polling {
    #[arg(long)]
    brokers: String,
    #[arg(long)]
    group: String,
    #[arg(long)]
    search: String,
    #[arg(long)]
    feedback: String,
    #[arg(long)]
    events: u64,
}

fn poll(arguments: &Polling) -> anyhow::Result<()> {
    let topics = [arguments.search.as_str(), arguments.feedback.as_str()];
    let settings = kafka_settings(&arguments.brokers, topics, &arguments.group);
    let config = config::load(&[], std::iter::empty(), &settings)?;
    let mut client = config.kafka.consumer(0);
    // The sidecar resolves its start offsets itself.
    client.set("auto.offset.reset", "earliest");
    let consumer: BaseConsumer = client.create()?;
    consumer.subscribe(&topics)?;
    let mut started = None;
    let mut bytes = 0;
    let mut events = 0;
    let mut last_seen = Instant::now();
    while events < arguments.events {
        // It returns without a record also after an event of the group.
        let Some(record) = consumer.poll(POLL_TIMEOUT) else {
            let has_time = last_seen.elapsed() < SILENCE;
            ensure!(
                has_time,
                "no record came for {SILENCE:?}, after {events} events"
            );
            continue;
        };
        let record = record?;
        if started.is_none() || events.is_multiple_of(10_000) {
            last_seen = Instant::now();
            started.get_or_insert(last_seen);
        }
        bytes += record.payload().map_or(0, <[u8]>::len);
        events += 1;
    }
    let seconds = started.map_or(0.0, |started| started.elapsed().as_secs_f64());
    ensure!(bytes > 0, "all records are empty");
    let measured = Measured {
        events,
        seconds,
        cpu_seconds: cpu_seconds("self")?,
    };
    println!("{}", serde_json::to_string(&measured)?);
    Ok(())
}
