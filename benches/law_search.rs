//! Benchmark of the law-search profile on one core, compared with an earlier revision.
//!
//! Both revisions run the same command, `rankgauge run`, on the same records of a real Kafka, in
//! turns, pinned to one core. `rankgauge replay` would need no Kafka, but reads every record twice
//! to order it, which is not part of the work of a worker. Before any value is printed, the sums and
//! counts of all scores that both revisions expose are compared. In the same rounds, this revision
//! reads the plain workload of the benchmark `broker`, which shows what the profile costs.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::panic,
    reason = "a benchmark reads clocks, prints its results, and panics on failure"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{bail, ensure};
use clap::Parser;
use rankgauge_core::event::Kind;
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::traffic::{Record, Traffic, TrafficSettings};

use cargo::CargoArguments;
use cores::Cores;
use goal::Goal;
use it::harness::kafka::{Broker, unique_name};
use it::harness::sidecar::Exposition;
use sidecar::{Measured, SidecarRun};
use table::{print_heading, print_row, ratios};
use workload::{MEASURES, SLICES, WINDOWS, Workload};

#[path = "rounds/baseline.rs"]
mod baseline;
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
#[allow(dead_code, reason = "other benchmarks merge both kinds of records")]
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

const PARTITIONS: usize = 4;
/// Families that must be equal in both revisions, digit by digit.
const COMPARED: [&str; 4] = [
    "rankgauge_searches_total",
    "rankgauge_score_count_total",
    "rankgauge_score_sum_total",
    "rankgauge_score_negative_sum_total",
];

/// Throughput of the law-search profile on one core, compared with an earlier revision.
#[derive(Parser)]
struct Arguments {
    /// Number of records in both topics together.
    #[arg(long, default_value_t = 500_000)]
    records: usize,
    /// Number of rounds of each revision, in turns.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Searches per second of event time; a low rate makes the backlog span more event time.
    #[arg(long, default_value_t = 50)]
    rate: u32,
    /// Revision to compare with. By default the last one before the hot path was rewritten.
    #[arg(long, default_value = "4686e5c", value_name = "REVISION")]
    baseline: String,
    /// Pin nothing. By default the worker is pinned to one core, and the broker to the others.
    #[arg(long)]
    no_pin: bool,
    #[command(flatten)]
    cargo: CargoArguments,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("law_search") {
        return Ok(());
    }
    let (revision, program) = baseline::build(&arguments.baseline)?;
    let cores = if arguments.no_pin {
        Cores::free("because of --no-pin")
    } else {
        Cores::pinned()
    };
    let broker = cores.others(Broker::of_a_benchmark);
    let fixture = Fixture::prepare(&broker, &arguments)?;
    println!("{}", fixture.description);
    let plain = Plain::prepare(&broker, arguments.records)?;
    println!("{}", cores.description);
    let this = Path::new(env!("CARGO_BIN_EXE_rankgauge"));
    let (mut ours, mut theirs, mut of_plain) = (Vec::new(), Vec::new(), Vec::new());
    let mut compared = 0;
    for number in 1..=arguments.rounds.max(1) {
        println!("round {number} of {}", arguments.rounds.max(1));
        let (measured, of_baseline) = fixture.run(&program, &cores)?;
        theirs.push(measured);
        let (measured, exposition) = fixture.run(this, &cores)?;
        ours.push(measured);
        compared = compare(&exposition, &of_baseline)?;
        of_plain.push(plain.run(this, &cores)?);
    }
    println!("results: {compared} sums and counts of both revisions are equal");
    let per_second = |rounds: &[Measured]| rounds.iter().map(Measured::per_second).collect();
    let cpu = |rounds: &[Measured]| rounds.iter().map(Measured::cpu_micros).collect();
    let rates: [Vec<f64>; 2] = [per_second(&ours), per_second(&theirs)];
    let names = ["this revision".to_owned(), format!("baseline {revision}")];
    print_heading("law-search profile, events/s on one core");
    for (name, rates) in names.iter().zip(&rates) {
        print_row(name, rates, 0);
    }
    let costs: [Vec<f64>; 2] = [cpu(&ours), cpu(&theirs)];
    print_heading("CPU, µs/event");
    for (name, costs) in names.iter().zip(&costs) {
        print_row(name, costs, 2);
    }
    let plain: Vec<f64> = cpu(&of_plain);
    print_row("this revision, plain workload", &plain, 2);
    print_heading("ratio within a round");
    let ratio = print_row("events/s to the baseline", &ratios(&rates[0], &rates[1]), 2);
    print_row("CPU of the baseline", &ratios(&costs[1], &costs[0]), 2);
    let to_plain = print_row("CPU to the plain workload", &ratios(&costs[0], &plain), 2);
    println!();
    Goal::AtMost(2.0).print(
        "law-search profile against the plain workload, per event",
        to_plain,
        "×",
    );
    Goal::AtLeast(2.5).print("law-search profile against the baseline", ratio, "×");
    Ok(())
}

/// Records in a broker, and their gold set.
struct Fixture<'a> {
    broker: &'a Broker,
    folder: tempfile::TempDir,
    topics: (String, String),
    records: u64,
    description: String,
}

impl<'a> Fixture<'a> {
    fn prepare(broker: &'a Broker, arguments: &Arguments) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let corpus = Arc::new(Corpus::generate(1, 200));
        fs::write(folder.path().join("gold.json"), corpus.gold_json())?;
        let settings = TrafficSettings {
            searches_per_second: f64::from(arguments.rate),
            ..TrafficSettings::default()
        };
        let topics = broker.unique_topics("bench", PARTITIONS);
        let mut bytes = 0;
        let mut counts = Vec::new();
        // The stream is generated once for each topic: cheaper than storing it.
        for (kind, topic) in [(Kind::Search, &topics.0), (Kind::Feedback, &topics.1)] {
            let traffic = Traffic::new(Arc::clone(&corpus), settings).take(arguments.records);
            let of_kind = traffic.filter(|record| record.kind == kind);
            let produced = of_kind.map(|Record { key, payload, .. }| {
                bytes += payload.len();
                (key, payload, None)
            });
            counts.push(broker.produce(topic, produced));
        }
        let description = format!(
            "{} records ({} searches, {} feedback, {} MB) in 2 topics of {PARTITIONS} partitions, \
             {} searches a second of event time",
            arguments.records,
            counts[0],
            counts[1],
            bytes / 1_000_000,
            arguments.rate
        );
        Ok(Self {
            broker,
            folder,
            topics,
            records: u64::try_from(arguments.records)?,
            description,
        })
    }

    fn run(&self, program: &Path, cores: &Cores) -> anyhow::Result<(Measured, Exposition)> {
        let profile = self.folder.path().join("law-search.yaml");
        fs::write(&profile, common_profile()?)?;
        let gold = self.folder.path().join("gold.json");
        let settings = [
            ("kafka.brokers", self.broker.bootstrap()),
            ("kafka.search_topic", &self.topics.0),
            ("kafka.feedback_topic", &self.topics.1),
            ("kafka.group_id", &unique_name("law-search")),
            ("gold.paths", &gold.display().to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let run = SidecarRun {
            program,
            config: Some(&profile),
            settings: &settings,
            folder: self.folder.path(),
            records: self.records,
        };
        run.measure(cores)
    }
}

/// Records of the plain workload in a broker, and their gold set.
struct Plain<'a> {
    broker: &'a Broker,
    folder: tempfile::TempDir,
    topics: (String, String),
    records: u64,
}

impl<'a> Plain<'a> {
    /// Produces about `records` records, half of them searches.
    fn prepare(broker: &'a Broker, records: usize) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let workload = Workload::default();
        fs::write(folder.path().join("gold.json"), workload.gold_json())?;
        let topics = broker.unique_topics("plain", 1);
        let searches = u64::try_from(records / 2)?;
        let produced = workload.searches(searches);
        broker.produce(&topics.0, produced.map(|it| (it.key, it.payload, None)));
        let produced = workload.clicks(searches);
        let clicks = broker.produce(&topics.1, produced.map(|it| (it.key, it.payload, None)));
        Ok(Self {
            broker,
            folder,
            topics,
            records: searches + u64::try_from(clicks)?,
        })
    }

    fn run(&self, program: &Path, cores: &Cores) -> anyhow::Result<Measured> {
        let settings = [
            ("kafka.brokers", self.broker.bootstrap().to_owned()),
            ("kafka.search_topic", self.topics.0.clone()),
            ("kafka.feedback_topic", self.topics.1.clone()),
            ("kafka.group_id", unique_name("plain")),
            (
                "gold.paths",
                self.folder.path().join("gold.json").display().to_string(),
            ),
            ("measures", MEASURES.join(",")),
            ("slices", SLICES.join(",")),
            ("windows", WINDOWS.join(",")),
        ]
        .map(|(key, value)| (key.to_owned(), value));
        let run = SidecarRun {
            program,
            config: None,
            settings: &settings,
            folder: self.folder.path(),
            records: self.records,
        };
        Ok(run.measure(cores)?.0)
    }
}

/// Returns the law-search profile without what not every revision reads: sections that compare means with targets
/// and change no sum, and measures of answers, which this traffic lacks.
fn common_profile() -> anyhow::Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/law-search.yaml");
    let mut is_kept = true;
    let mut profile = String::new();
    for line in fs::read_to_string(path)?.lines() {
        if line.starts_with(|first: char| first.is_ascii_lowercase()) {
            let name = line.split(':').next().unwrap_or_default();
            is_kept = !["goals", "targets", "tier_measures"].contains(&name);
        }
        let is_of_answers = OF_ANSWERS
            .iter()
            .any(|it| line.trim_start().starts_with(it));
        if is_kept && !is_of_answers {
            profile.push_str(line);
            profile.push('\n');
        }
    }
    Ok(profile)
}

/// Beginnings of the lines of measures of answers.
const OF_ANSWERS: [&str; 2] = ["- CitationF1", "- CitedServed"];

/// Compares the sums and counts that both revisions expose. Returns how many are equal.
fn compare(ours: &Exposition, baseline: &Exposition) -> anyhow::Result<usize> {
    let values = |exposition: &Exposition| -> BTreeMap<String, String> {
        let samples = exposition.samples.iter();
        samples
            .filter(|sample| COMPARED.contains(&sample.name.as_str()))
            .map(|sample| {
                let name = format!("{}{:?}", sample.name, sample.labels);
                (name, sample.text.clone())
            })
            .collect()
    };
    let (ours, baseline) = (values(ours), values(baseline));
    let mut equal = 0;
    for (name, value) in &ours {
        match baseline.get(name) {
            Some(other) if other == value => equal += 1,
            Some(other) => {
                bail!("the results differ: {name} is {value}, and {other} in the baseline")
            }
            None => {}
        }
    }
    ensure!(equal > 0, "the revisions expose no value in common");
    Ok(equal)
}
