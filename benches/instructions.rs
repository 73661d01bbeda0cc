//! Instruction counts of the engine, as a guard against regressions: unlike times, they do not
//! depend on the load of the machine.
//!
//! Callgrind counts the instructions of decoding and applying records, without Kafka: of the plain
//! workload, and of the law-search profile with the demo's traffic. The expected counts are in
//! `benches/instructions.json`. `make instructions` compares, and fails if a count is above its
//! tolerance. After a deliberate change, `make instructions UPDATE=1` writes the new counts.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use clap::{Parser, ValueEnum};
// Linking it replaces `malloc`, as in the product.
use mimalloc as _;
use rankgauge::config;
use rankgauge_core::event::Kind;
use serde::{Deserialize, Serialize};

use cargo::CargoArguments;
use feed::{Feed, gold};
use workload::{MEASURES, SLICES, WINDOWS, Workload};

#[path = "rounds/cargo.rs"]
mod cargo;
#[path = "rounds/feed.rs"]
#[allow(dead_code, reason = "other benchmarks expose the state of the engine")]
mod feed;
#[path = "rounds/law_search.rs"]
mod law_search;
#[path = "rounds/workload.rs"]
#[allow(
    dead_code,
    reason = "other benchmarks read one kind of records at a time"
)]
mod workload;

/// Searches of the plain workload. There are about as many clicks. At this number and rate, searches
/// are finalised for half of the event time.
const PLAIN_SEARCHES: u64 = 20_000;
const PLAIN_RATE: u64 = 15;
/// Records of the law-search traffic.
const LAW_SEARCH_RECORDS: usize = 40_000;
/// Records before those that are counted: they fill caches, tables and windows.
const WARM_UP: usize = 5_000;
/// Function that callgrind counts, by the end of its path.
const COUNTED: &str = "*apply_counted*";

/// Instruction counts of the engine, compared with the expected ones.
#[derive(Parser)]
struct Arguments {
    /// Write the counts to benches/instructions.json instead of comparing.
    #[arg(long)]
    update: bool,
    /// Run one workload without counting; the process that callgrind runs.
    #[arg(long, hide = true)]
    kernel: Option<Kernel>,
    #[command(flatten)]
    cargo: CargoArguments,
}

/// Workload whose instructions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kernel {
    /// Searches and clicks of the broker benchmark.
    Plain,
    /// Law-search profile and traffic.
    LawSearch,
}

/// Content of `benches/instructions.json`.
#[derive(Deserialize, Serialize)]
struct Expected {
    /// Tolerance of a count in per cent.
    tolerance_percent: f64,
    /// Instructions per record.
    per_record: BTreeMap<Kernel, f64>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("instructions") {
        return Ok(());
    }
    if let Some(kernel) = arguments.kernel {
        println!("{}", kernel.run()?);
        return Ok(());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.json");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut expected: Expected = serde_json::from_str(&text)?;
    let mut exceeded = Vec::new();
    println!(
        "{:14}{:>14}{:>14}{:>12}",
        "instructions", "per record", "expected", "difference"
    );
    for kernel in [Kernel::Plain, Kernel::LawSearch] {
        let counted = kernel.count()?;
        let name = format!("{kernel:?}");
        let before = expected.per_record.insert(kernel, counted.round());
        let Some(before) = before else {
            println!("{name:14}{counted:>14.0}{:>14}", "none");
            ensure!(
                arguments.update,
                "no expected count of {name}: pass --update"
            );
            continue;
        };
        let difference = 100.0 * (counted - before) / before;
        println!("{name:14}{counted:>14.0}{before:>14.0}{difference:>+11.2}%");
        if difference > expected.tolerance_percent {
            exceeded.push(name);
        } else if difference < -expected.tolerance_percent {
            println!("{name} needs fewer instructions: make instructions UPDATE=1 keeps the gain");
        }
    }
    if arguments.update {
        fs::write(&path, serde_json::to_string_pretty(&expected)? + "\n")?;
        println!("written: {}", path.display());
    } else if !exceeded.is_empty() {
        bail!(
            "{} needs over {} % more instructions than {} states. Find the cause with \
             callgrind_annotate on the files in {}, or, if the work is wanted, write the new count \
             with make instructions UPDATE=1",
            exceeded.join(" and "),
            expected.tolerance_percent,
            path.display(),
            output_folder().display()
        );
    }
    Ok(())
}

/// Folder of callgrind's files.
fn output_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions")
}

impl Kernel {
    /// Runs the workload under callgrind. Returns the instructions per record.
    #[allow(clippy::cast_precision_loss, reason = "a count is far below 2^52")]
    fn count(self) -> anyhow::Result<f64> {
        let name = self.to_possible_value();
        let name = name.as_ref().map_or("", |value| value.get_name());
        fs::create_dir_all(output_folder())?;
        let file = output_folder().join(format!("callgrind.out.{name}"));
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--collect-atstart=no"])
            .arg(format!("--toggle-collect={COUNTED}"))
            .arg(format!("--callgrind-out-file={}", file.display()))
            .arg(std::env::current_exe()?)
            .args(["--kernel", name])
            .output()
            .context("cannot start valgrind: run tests/setup.sh valgrind")?;
        let log = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "valgrind failed: {}\n{log}",
            output.status
        );
        let records: u64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
        let profile = fs::read_to_string(&file)?;
        // "totals: 123", or "summary: 123" in older versions.
        let totals = profile
            .lines()
            .find_map(|line| line.strip_prefix("totals: "));
        let totals = totals.or_else(|| {
            let mut lines = profile.lines();
            lines.find_map(|line| line.strip_prefix("summary: "))
        });
        let instructions: u64 = totals.context("no totals in the profile")?.trim().parse()?;
        ensure!(
            instructions > records,
            "callgrind counted {instructions} instructions: {COUNTED} is not in the symbols"
        );
        Ok(instructions as f64 / records as f64)
    }

    /// Runs the workload. Returns the number of counted records.
    fn run(self) -> anyhow::Result<usize> {
        let (mut feed, records) = match self {
            Self::Plain => {
                let workload = Workload {
                    rate: PLAIN_RATE,
                    ..Workload::default()
                };
                let settings = [
                    ("measures", MEASURES.join(",")),
                    ("slices", SLICES.join(",")),
                    ("windows", WINDOWS.join(",")),
                ]
                .map(|(key, value)| (key.to_owned(), value));
                let config = config::load(&[], std::iter::empty(), &settings)?;
                let settings = Arc::new(config.engine);
                let feed = Feed::new(&settings, gold(&workload.gold_json())?, 1);
                let records = workload.records(PLAIN_SEARCHES);
                let records = records.map(|it| (it.kind, it.key, it.payload));
                (feed, records.collect::<Vec<_>>())
            }
            Self::LawSearch => {
                let corpus = law_search::corpus();
                let settings = law_search::settings()?;
                let feed = Feed::new(&settings, gold(&corpus.gold_json())?, 4);
                let records = law_search::records(&corpus, LAW_SEARCH_RECORDS);
                (feed, records.collect())
            }
        };
        let (before, counted) = records.split_at(WARM_UP.min(records.len()));
        feed.take_all(before)?;
        apply_counted(&mut feed, counted)?;
        Ok(counted.len())
    }
}

/// Part that callgrind counts. It must stay a function of its own.
#[inline(never)]
fn apply_counted(feed: &mut Feed, records: &[(Kind, String, Vec<u8>)]) -> anyhow::Result<()> {
    feed.take_all(records)?;
    feed.tick();
    Ok(())
}
