//! Benchmark of the memory of pending searches. All searches of a worker wait for feedback: first
//! as many as `engine.max_pending` allows, then as many again, and the oldest are finalised early.
//!
//! Each search has ten results with Korean ids and a session; half of the searches have a gold
//! query. The measures are the default ones. The benchmark fails if a million searches take more
//! than 500 MB.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use clap::Parser;
use rankgauge::config::Config;
use rankgauge::ingest::take;
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::family;
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::{self, Options};
use rankgauge_core::time::WallTime;
use rankgauge_demo::corpus::Corpus;

use cargo::CargoArguments;

#[path = "rounds/cargo.rs"]
mod cargo;

/// Maximum memory of a million pending searches, in bytes.
const MAX_BYTES_PER_MILLION: u64 = 500_000_000;

const START: i64 = 1_763_337_600_000;

/// Memory of pending searches.
#[derive(Parser)]
struct Arguments {
    /// Maximum number of pending searches: `engine.max_pending`.
    #[arg(long, default_value_t = 1_000_000)]
    pending: u64,
    /// Number of searches per session.
    #[arg(long, default_value_t = 3)]
    session: u64,
    #[command(flatten)]
    cargo: CargoArguments,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("memory") {
        return Ok(());
    }
    let mut settings = Config::default().engine;
    settings.max_pending = usize::try_from(arguments.pending)?;
    let settings = Arc::new(settings);
    let registry = Arc::new(Engine::registry(&settings));
    let mut engine = Engine::new(settings, registry, WallTime(START + 60_000));
    let corpus = Corpus::generate(1, 200);
    let gold = gold::parse(
        "gold.json",
        corpus.gold_json().as_bytes(),
        &Options::default(),
    )?;
    engine.apply(Input::Gold(Arc::new(gold)));

    let before = resident()?;
    println!(
        "searches   pending   early  memory above {:.0} MB, MB",
        megabytes(before)
    );
    let mut payload = String::new();
    for number in 0..2 * arguments.pending {
        write_search(&mut payload, number, arguments.session)?;
        let at = Position {
            partition: 0,
            offset: i64::try_from(number)?,
        };
        take(
            &mut engine,
            &Formats::NATIVE,
            Kind::Search,
            at,
            payload.as_bytes(),
        )?;
        if (number + 1).is_multiple_of((arguments.pending / 4).max(1)) {
            let snapshot = engine.snapshot();
            println!(
                "{:>8}  {:>8}  {:>6}  {:.0}",
                number + 1,
                snapshot.pending[Kind::Search.index()],
                snapshot.totals.counters.sum(&family::FINALISED_EARLY),
                megabytes(resident()?.saturating_sub(before))
            );
        }
        if number + 1 == arguments.pending {
            let taken = resident()?.saturating_sub(before);
            let most = MAX_BYTES_PER_MILLION / 1_000_000 * arguments.pending;
            ensure!(
                taken <= most,
                "{} pending searches take {taken} bytes, more than {most}",
                arguments.pending
            );
        }
    }
    Ok(())
}

/// Writes a search event as received from Kafka. All searches are within one feedback window.
fn write_search(out: &mut String, number: u64, session: u64) -> std::fmt::Result {
    out.clear();
    let ts = START + i64::try_from(number % 60_000).unwrap_or(0);
    write!(
        out,
        r#"{{"query_id":"01JCW2Z6Q4-{number:012}","ts":{ts},"session_id":"s-{:010}","#,
        number / session.max(1)
    )?;
    match number % 2 {
        0 => write!(out, r#""query_key":"Q{:03}","#, 1 + number / 2 % 200)?,
        _ => write!(out, r#""query":"건축 허가 절차 {number}","#)?,
    }
    out.push_str(r#""results":["#);
    for place in 0..10 {
        let comma = if place > 0 { "," } else { "" };
        let article = (number * 7 + place * 13) % 900;
        write!(
            out,
            r#"{comma}{{"id":"국토계획법_제{article}조_제1항::chunk{place}"}}"#
        )?;
    }
    out.push_str("]}");
    Ok(())
}

/// Resident memory of this process in bytes, as Linux reports it.
fn resident() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")
        .context("resident memory is read from /proc, which only Linux has")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kilobytes
        .context("no VmRSS in /proc/self/status")?
        .parse::<u64>()?
        * 1024)
}

#[allow(clippy::cast_precision_loss, reason = "human-readable megabytes")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
