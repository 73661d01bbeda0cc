//! Benchmark of how the cost of the engine grows with partitions, gold queries, measures, results
//! and variants, and of the resources for a given number of searches a minute.
//!
//! The plain workload, without Kafka, on one thread. One dimension differs from the base case at a
//! time. Each case has a process of its own, because an allocator does not return all memory. With
//! `--write docs/scaling.md` the tables of that page are replaced.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads clocks and prints its results"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::Parser;
// Linking it replaces `malloc`, as in the product.
use mimalloc as _;
use rankgauge::config;
use rankgauge_core::engine::settings::{Rolling, Settings};
use rankgauge_core::event::Kind;
use rankgauge_serve::collect::{Names, collect};
use rankgauge_serve::text::Text;
use serde::{Deserialize, Serialize};

use cargo::CargoArguments;
use feed::{AMPLE, Feed, WALL, gold};
use goal::Goal;
use process::{Running, resident_bytes, thread_cpu_seconds};
use workload::{MEASURES, SLICES, WINDOWS, Workload};

#[path = "rounds/cargo.rs"]
mod cargo;
#[path = "rounds/case.rs"]
mod case;
#[path = "rounds/feed.rs"]
#[allow(dead_code, reason = "other benchmarks feed single records")]
mod feed;
#[path = "rounds/goal.rs"]
mod goal;
#[path = "rounds/process.rs"]
#[allow(dead_code, reason = "other benchmarks measure CPU time of processes")]
mod process;
#[path = "rounds/workload.rs"]
#[allow(
    dead_code,
    reason = "other benchmarks read one kind of records at a time"
)]
mod workload;

/// Event time of a case in seconds: two feedback windows, so that searches are finalised.
const SECONDS: u64 = 1_300;
/// Share of the records before those that are measured: they fill caches and tables.
const WARM_UP: usize = 5;
/// Number of expositions; the fastest counts.
const EXPOSITIONS: usize = 5;
/// Cases whose CPU time has a target: a multiple of that of the base case.
const GROWTH: [(&str, f64); 3] = [
    ("64 partitions", 1.1),
    ("100,000 gold queries", 1.1),
    ("100 variants", 1.3),
];
/// Feedback windows of the sizing table, by their names, in seconds.
const FEEDBACK_WINDOWS: [(&str, f64); 2] = [("10m", 600.0), ("1m", 60.0)];
/// Default of `engine.out_of_orderness`, in seconds.
const OUT_OF_ORDERNESS: f64 = 30.0;
/// Searches a minute in the sizing table.
const RATES: [f64; 3] = [1e3, 1e5, 1e7];
/// Share of a core that a worker should use, so that it can catch up after a stop.
const UTILISATION: f64 = 0.5;
/// Memory of a replica above which the sizing table adds replicas, in bytes.
const MAX_REPLICA_BYTES: f64 = 4e9;
/// Time in which a sidecar has started.
const START: Duration = Duration::from_secs(3);
/// Fetch queue of librdkafka in each worker: `queued.max.messages.kbytes` of the sidecar, in bytes.
const FETCH_QUEUE_BYTES: f64 = 1024.0 * 1024.0;

/// Growth of the cost of the engine, and resources for a number of searches.
#[derive(Parser)]
struct Arguments {
    /// CPU time of reading one event from Kafka, in microseconds: "polling alone" of the benchmark
    /// `broker`.
    #[arg(long, default_value_t = 0.67, value_name = "MICROSECONDS")]
    polling: f64,
    /// Divide the searches a second of every case by this, for a short run.
    #[arg(long, default_value_t = 1)]
    shorter: u64,
    /// Replace the tables of this page.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    #[command(flatten)]
    cargo: CargoArguments,
}

#[derive(Clone, Copy, Parser)]
struct Case {
    #[arg(long, default_value_t = 1)]
    partitions: usize,
    #[arg(long, default_value_t = 1_000)]
    queries: u64,
    #[arg(long, default_value_t = 11)]
    measures: usize,
    #[arg(long, default_value_t = 10)]
    results: u64,
    #[arg(long, default_value_t = 2)]
    variants: u64,
    /// Searches per second of event time.
    #[arg(long, default_value_t = 40)]
    rate: u64,
}

#[derive(Deserialize, Serialize)]
struct CaseResult {
    /// CPU time of one event in microseconds.
    cpu_micros: f64,
    /// Growth of resident memory with gold set, engine and exposition, in bytes.
    memory: f64,
    /// Pending searches at the end.
    pending: f64,
    /// Exposed series, bytes of their text, and milliseconds to write it.
    series: f64,
    scrape_bytes: f64,
    scrape_millis: f64,
}

fn main() -> anyhow::Result<()> {
    if let Some(case) = case::given::<Case>() {
        return case::print(&case.measure()?);
    }
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("scaling") {
        return Ok(());
    }
    let base = Case::parse_from(["base case"]);
    let base = Case {
        rate: (base.rate / arguments.shorter.max(1)).max(1),
        ..base
    };
    let growth = growth_table(base)?;
    println!("{growth}");
    let sizing = sizing_table(base, arguments.polling)?;
    println!("{sizing}");
    if let Some(path) = arguments.write {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let page = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let page = replaced(&page, "growth", &growth)?;
        let page = replaced(&page, "sizing", &sizing)?;
        fs::write(&path, page)?;
        println!("written: {}", path.display());
    }
    Ok(())
}

/// Replaces the text between the comments `<!-- name: begin … -->` and `<!-- name: end -->`.
fn replaced(page: &str, name: &str, table: &str) -> anyhow::Result<String> {
    let (begin, end) = (
        format!("<!-- {name}: begin"),
        format!("<!-- {name}: end -->"),
    );
    let missing = || format!("the page has no comments {begin} … --> and {end}");
    let (before, rest) = page.split_once(&begin).with_context(missing)?;
    let (comment, rest) = rest.split_once("-->\n").with_context(missing)?;
    let (_, after) = rest.split_once(&end).with_context(missing)?;
    Ok(format!("{before}{begin}{comment}-->\n{table}{end}{after}"))
}

/// Measures the base case and every dimension. Returns a table in Markdown.
fn growth_table(base: Case) -> anyhow::Result<String> {
    let mut cases = vec![("base case".to_owned(), base)];
    cases.extend([4, 16, 64].map(|partitions| {
        let case = Case { partitions, ..base };
        (format!("{partitions} partitions"), case)
    }));
    cases.extend([100, 10_000, 100_000].map(|queries| {
        let case = Case { queries, ..base };
        (format!("{} gold queries", grouped(queries)), case)
    }));
    cases.extend([1, 5, 25, 50].map(|measures| {
        let case = Case { measures, ..base };
        (
            counted(u64::try_from(measures).unwrap_or(0), "measure"),
            case,
        )
    }));
    let of_results = [30, 100, 300, 1_000].map(|results| base.with_results(results));
    cases.extend(of_results.map(|case| (counted(case.results, "result"), case)));
    cases.extend([1, 10, 100, 1_000].map(|variants| {
        let case = Case { variants, ..base };
        (counted(variants, "variant"), case)
    }));
    let mut table = format!(
        "Base case: {} partition, {} gold queries, {} measures, {} results, {} variants, {} slices, \
         {} windows; {} searches a second of event time.\n\n\
         | case | CPU, µs/event | memory, MB | series | scrape, MB | scrape, ms |\n\
         |---|--:|--:|--:|--:|--:|\n",
        base.partitions,
        grouped(base.queries),
        base.measures,
        base.results,
        base.variants,
        SLICES.len(),
        WINDOWS.len(),
        base.rate,
    );
    let mut base_micros = 0.0;
    for (name, case) in cases {
        let result = case.run()?;
        if name == "base case" {
            base_micros = result.cpu_micros;
        }
        if let Some((_, most)) = GROWTH.iter().find(|(of, _)| *of == name) {
            let growth = result.cpu_micros / base_micros;
            Goal::AtMost(*most).print(
                &format!("CPU with {name} against the base case"),
                growth,
                "×",
            );
        }
        writeln!(
            table,
            "| {name} | {:.2} | {:.1} | {:.0} | {:.2} | {:.2} |",
            result.cpu_micros,
            result.memory / 1e6,
            result.series,
            result.scrape_bytes / 1e6,
            result.scrape_millis,
        )?;
    }
    table.push_str(
        "\nA further pending search with its click, and the closed ones that are retained as long:\n\n\
         | results of a search | bytes |\n|--:|--:|\n",
    );
    for case in [base].into_iter().chain(of_results) {
        let (further, _) = case.further_pending_search()?;
        writeln!(table, "| {} | {further:.0} |", grouped(case.results))?;
    }
    Ok(table)
}

/// Number and noun, in the plural if needed.
fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// Computes the resources for searches a minute. Returns a table in Markdown.
fn sizing_table(base: Case, polling: f64) -> anyhow::Result<String> {
    let (per_pending, result) = base.further_pending_search()?;
    let state = (result.memory - per_pending * result.pending).max(0.0);
    let fixed = idle_bytes()? + state + FETCH_QUEUE_BYTES;
    let per_event = result.cpu_micros + polling;
    let mut table = format!(
        "Computed from {per_event:.2} µs of CPU an event ({polling:.2} µs of them for reading), \
         {per_pending:.0} bytes for a pending search with its click and the closed ones, and {:.0} \
         MB for a replica without searches: program, gold set, series and the fetch queue of Kafka.\n\n\
         | searches a minute | feedback window | events a second | CPU, cores | replicas | partitions, at least | memory of a replica, MB |\n\
         |--:|--:|--:|--:|--:|--:|--:|\n",
        fixed / 1e6
    );
    for rate in RATES {
        for (name, window) in FEEDBACK_WINDOWS {
            let per_second = rate / 60.0;
            let cores = 2.0 * per_second * per_event / 1e6;
            let state = per_second * (window + OUT_OF_ORDERNESS) * per_pending;
            let by_memory = (state / (MAX_REPLICA_BYTES - fixed)).ceil();
            let replicas = (cores / UTILISATION).ceil().max(by_memory).max(1.0);
            writeln!(
                table,
                "| {} | {name} | {} | {cores:.3} | {replicas:.0} | {replicas:.0} | {:.0} |",
                grouped_float(rate),
                grouped_float(2.0 * per_second),
                (fixed + state / replicas) / 1e6,
            )?;
        }
    }
    Ok(table)
}

/// Resident memory of a sidecar that reaches no broker, in bytes.
fn idle_bytes() -> anyhow::Result<f64> {
    let sidecar = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .arg("run")
        .args(["--set", "kafka.brokers=127.0.0.1:1"])
        .args(["--set", "metrics.listen=127.0.0.1:0"])
        .args(["--set", "admin.listen=none"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut sidecar = Running(sidecar);
    std::thread::sleep(START);
    let ended = sidecar.0.try_wait()?;
    ensure!(ended.is_none(), "the sidecar ended without a broker");
    #[allow(clippy::cast_precision_loss, reason = "bytes are far below 2^52")]
    Ok(resident_bytes(&sidecar.0.id().to_string())? as f64)
}

/// Number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn grouped_float(number: f64) -> String {
    let rounded = format!("{number:.0}");
    rounded.parse().map_or(rounded, grouped)
}

impl Case {
    /// The case with longer lists, and fewer searches: a list of 1,000 results has 65 kB.
    fn with_results(self, results: u64) -> Self {
        Self {
            results,
            rate: (10 * self.rate / results).max(2),
            ..self
        }
    }

    /// Memory of a further pending search in bytes: the growth between this case and the same at
    /// twice the rate. Returns it with the result at twice the rate.
    fn further_pending_search(self) -> anyhow::Result<(f64, CaseResult)> {
        let twice = Self {
            rate: 2 * self.rate,
            ..self
        };
        let (once, twice) = (self.run()?, twice.run()?);
        let further = (twice.memory - once.memory) / (twice.pending - once.pending);
        Ok((further, twice))
    }

    /// Measures the case in a process of its own.
    fn run(self) -> anyhow::Result<CaseResult> {
        let Self {
            partitions,
            queries,
            measures,
            results,
            variants,
            rate,
        } = self;
        case::run(&[
            ("partitions", partitions.to_string()),
            ("queries", queries.to_string()),
            ("measures", measures.to_string()),
            ("results", results.to_string()),
            ("variants", variants.to_string()),
            ("rate", rate.to_string()),
        ])
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "counts and bytes are far below 2^52"
    )]
    fn measure(self) -> anyhow::Result<CaseResult> {
        let workload = Workload {
            queries: self.queries,
            results: self.results,
            variants: self.variants,
            rate: self.rate,
            ..Workload::default()
        };
        let measures = measures();
        ensure!(
            self.measures <= measures.len(),
            "at most {} measures",
            measures.len()
        );
        let settings = [
            ("measures", measures[..self.measures].join(",")),
            ("slices", SLICES.join(",")),
            ("windows", WINDOWS.join(",")),
            ("limits.values_per_label", "2000".to_owned()),
            ("limits.series_per_family", "1000000".to_owned()),
        ]
        .map(|(key, value)| (key.to_owned(), value));
        let mut settings = config::load(&[], std::iter::empty(), &settings)?.engine;
        settings.memory = AMPLE;
        let settings = Arc::new(settings);
        let searches = SECONDS * self.rate;
        let records = workload.records(searches);
        let records: Vec<_> = records.map(|it| (it.kind, it.key, it.payload)).collect();
        let json = workload.gold_json();
        let before = resident_bytes("self")?;
        let mut feed = Feed::new(&settings, gold(&json)?, self.partitions);
        let (first, counted) = records.split_at(records.len() / WARM_UP);
        feed.take_all(first)?;
        let begin = thread_cpu_seconds()?;
        feed.take_all(counted)?;
        feed.tick();
        let cpu_seconds = thread_cpu_seconds()? - begin;
        let snapshot = feed.engine.snapshot();
        let names = Names {
            settings: Arc::new(Settings {
                rolling: Rolling::All,
                ..(*settings).clone()
            }),
            registry: Arc::clone(&feed.registry),
            topics: ["search.log", "search.feedback"].map(String::from).into(),
        };
        let mut text = String::new();
        let mut scrape_millis = f64::INFINITY;
        for _ in 0..EXPOSITIONS {
            let begin = Instant::now();
            let mut sink = Text::with_capacity(text.len());
            collect(&snapshot, &names, WALL, &mut sink);
            text = sink.into_string();
            scrape_millis = scrape_millis.min(begin.elapsed().as_secs_f64() * 1e3);
        }
        let series = text.lines().filter(|line| !line.starts_with('#')).count();
        Ok(CaseResult {
            cpu_micros: 1e6 * cpu_seconds / counted.len() as f64,
            memory: resident_bytes("self")?.saturating_sub(before) as f64,
            pending: snapshot.pending[Kind::Search.index()] as f64,
            series: series as f64,
            scrape_bytes: text.len() as f64,
            scrape_millis,
        })
    }
}

/// Fifty measures: first those of the plain workload.
fn measures() -> Vec<String> {
    let mut all: Vec<String> = MEASURES.map(str::to_owned).into();
    for name in ["P", "R", "nDCG", "Success", "F1", "Judged", "AP"] {
        for cutoff in [1, 3, 5, 10, 20, 30, 50, 100] {
            let measure = format!("{name}@{cutoff}");
            if !all.contains(&measure) {
                all.push(measure);
            }
        }
    }
    all.truncate(50);
    all
}
