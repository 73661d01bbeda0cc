//! Benchmark of the memory of pending searches, and of the memory budget.
//!
//! First without pressure: searches with ten results and one click each come at a constant rate of
//! event time, for several feedback windows. Some searches are pending then, and the closed ones of
//! one more window are retained. Twice the rate has twice as many of both. The growth of resident
//! memory between the two is the cost of a further pending search, closed ones included.
//!
//! Then with pressure: the same traffic at a rate that needs several times the budget. The oldest
//! searches are finalised early, and resident memory stays within the budget.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::sync::Arc;

use anyhow::ensure;
use clap::Parser;
// Linking it replaces `malloc`, as in the product.
use mimalloc as _;
use rankgauge::config::Config;
use rankgauge_core::engine::family;
use rankgauge_core::event::Kind;

use cargo::CargoArguments;
use feed::{AMPLE, Feed, gold};
use goal::Goal;
use process::resident_bytes;
use workload::Workload;

#[path = "rounds/cargo.rs"]
mod cargo;
#[path = "rounds/case.rs"]
mod case;
#[path = "rounds/feed.rs"]
#[allow(dead_code, reason = "other benchmarks expose the state of the engine")]
mod feed;
#[path = "rounds/goal.rs"]
mod goal;
#[path = "rounds/process.rs"]
#[allow(dead_code, reason = "other benchmarks measure CPU time and processes")]
mod process;
#[path = "rounds/workload.rs"]
#[allow(
    dead_code,
    reason = "other benchmarks read one kind of records at a time"
)]
mod workload;

/// Feedback windows of the traffic: closed searches are retained for one of them.
const FEEDBACK_WINDOWS: u64 = 3;
/// Records between two samples of the resident memory.
const RECORDS_PER_SAMPLE: usize = 10_000;
/// Resident memory that the budget does not cover, in bytes: the program, the gold set, and buffers.
const BESIDE_BUDGET: f64 = 32e6;

/// Memory of pending searches, and the memory budget.
#[derive(Parser)]
struct Arguments {
    /// Searches per second of event time, N; the second case has twice as many.
    #[arg(long, default_value_t = 200)]
    rate: u64,
    /// Memory budget of the case with pressure, in MiB.
    #[arg(long, default_value_t = 64)]
    budget: usize,
    #[command(flatten)]
    cargo: CargoArguments,
}

/// Traffic of one case.
#[derive(Parser)]
struct Case {
    #[arg(long)]
    rate: u64,
    /// Memory budget in bytes.
    #[arg(long)]
    budget: usize,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct CaseResult {
    /// Pending searches at the end.
    pending: f64,
    /// Searches finalised early.
    early: f64,
    /// Growth of resident memory until the end, and the highest growth, in bytes.
    grown: f64,
    highest: f64,
}

fn main() -> anyhow::Result<()> {
    if let Some(case) = case::given::<Case>() {
        return case::print(&case.measure()?);
    }
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("memory") {
        return Ok(());
    }
    println!(
        "{:>10}{:>12}{:>12}{:>12}{:>14}{:>14}",
        "rate", "budget, MB", "pending", "early", "memory, MB", "highest, MB"
    );
    let small = print_case(arguments.rate, AMPLE)?;
    let large = print_case(2 * arguments.rate, AMPLE)?;
    let budget = arguments.budget << 20;
    let pressed = print_case(4 * arguments.rate, budget)?;
    for case in [&small, &large] {
        ensure!(
            case.early < 0.5,
            "searches were finalised early without pressure"
        );
    }
    ensure!(
        pressed.early > 0.0,
        "no pressure: pass a higher --rate or a lower --budget"
    );
    let further = (large.grown - small.grown) / (large.pending - small.pending);
    println!();
    Goal::AtMost(400.0).print(
        "memory of a further pending search with 10 results and a click, closed ones included",
        further,
        "bytes",
    );
    #[allow(clippy::cast_precision_loss, reason = "a budget is far below 2^52")]
    let bound = budget as f64 + BESIDE_BUDGET;
    Goal::AtMost(bound / 1e6).print(
        "highest memory under pressure, for the budget and 32 MB beside it",
        pressed.highest / 1e6,
        "MB",
    );
    Ok(())
}

/// Measures a case in a process of its own and prints it.
fn print_case(rate: u64, budget: usize) -> anyhow::Result<CaseResult> {
    let arguments = [("rate", rate.to_string()), ("budget", budget.to_string())];
    let result: CaseResult = case::run(&arguments)?;
    println!(
        "{rate:>10}{:>12}{:>12}{:>12}{:>14.1}{:>14.1}",
        budget / 1_000_000,
        result.pending,
        result.early,
        result.grown / 1e6,
        result.highest / 1e6
    );
    Ok(result)
}

impl Case {
    #[allow(
        clippy::cast_precision_loss,
        reason = "counts and bytes are far below 2^52"
    )]
    fn measure(&self) -> anyhow::Result<CaseResult> {
        let workload = Workload {
            rate: self.rate,
            ..Workload::default()
        };
        let mut settings = Config::default().engine;
        settings.memory = self.budget;
        let window = settings.feedback_window.as_secs() + settings.out_of_orderness.as_secs();
        let searches = FEEDBACK_WINDOWS * window * self.rate;
        let mut feed = Feed::new(&Arc::new(settings), gold(&workload.gold_json())?, 1);
        // The generator holds the times of all clicks, until the memory after is measured: they are part
        // of both.
        let mut records = workload.records(searches);
        let before = resident_bytes("self")?;
        let mut highest = before;
        for (number, record) in records.by_ref().enumerate() {
            feed.take(record.kind, &record.key, &record.payload)?;
            if number.is_multiple_of(RECORDS_PER_SAMPLE) {
                highest = highest.max(resident_bytes("self")?);
            }
        }
        feed.tick();
        let after = resident_bytes("self")?;
        drop(records);
        let snapshot = feed.engine.snapshot();
        let early = snapshot.totals.counters.sum(&family::FINALISED_EARLY);
        Ok(CaseResult {
            pending: snapshot.pending[Kind::Search.index()] as f64,
            early: early.to_string().parse()?,
            grown: after.saturating_sub(before) as f64,
            highest: highest.max(after).saturating_sub(before) as f64,
        })
    }
}
