//! Benchmark of checkpoints: the pause of a worker to copy its state, the time to write the copy in
//! the background, and the time to restore the state after a restart.
//!
//! The state is that of a day of the demo's traffic with the law-search profile. Each of the demo's
//! five variants is duplicated until the state has the requested size. The benchmark `broker`
//! measures the effect of checkpoints on throughput.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads clocks and prints its results"
)]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use clap::Parser;
// Linking it replaces `malloc`, as in the product.
use mimalloc as _;
use rankgauge::checkpoint::folder::Folder;
use rankgauge::checkpoint::{Checkpoint, Source};
use rankgauge::config::{self, Config};
use rankgauge::ingest::start_up;
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::{self, Options};
use rankgauge_core::records;
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::traffic::{Traffic, TrafficSettings};
use rankgauge_serve::clock::wall_now;

use cargo::CargoArguments;
use goal::Goal;
use spread::Spread;

#[path = "rounds/cargo.rs"]
mod cargo;
#[path = "rounds/goal.rs"]
mod goal;
#[path = "rounds/spread.rs"]
mod spread;

/// Bytes of a state for which the restart has a target: that of 20 copies.
const LARGE: u64 = 35_000_000;

/// Cost of checkpoints of a large state.
#[derive(Parser)]
struct Arguments {
    /// Number of searches of a day's traffic; more searches fill more of the windows.
    #[arg(long, default_value_t = 60_000)]
    searches: u32,
    /// Number of copies of each of the demo's five variants.
    #[arg(long, default_value_t = 6)]
    copies: usize,
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    #[command(flatten)]
    cargo: CargoArguments,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("checkpoint") {
        return Ok(());
    }
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let config = Arc::new(profile()?);
    let engine = engine_after_a_day(&config, arguments.searches, arguments.copies)?;
    let folder = Folder::open(scratch.path())?;
    let (mut copied, mut written, mut restored) = (Vec::new(), Vec::new(), Vec::new());
    let mut size = 0;
    for _ in 0..arguments.rounds.max(1) {
        let started = Instant::now();
        let state = engine.state();
        copied.push(millis(started));
        let checkpoint = Checkpoint {
            worker: 0,
            written: wall_now(),
            absorbed: std::collections::BTreeMap::new(),
            source: Source {
                cluster: None,
                group: config.kafka.group_id.clone(),
                topics: [
                    config.kafka.search_topic.clone(),
                    config.kafka.feedback_topic.clone(),
                ],
            },
            points: engine.commit_points(),
            state,
        };
        let started = Instant::now();
        size = folder.save(&checkpoint)?;
        written.push(millis(started));
        drop(checkpoint);
    }
    drop(folder);
    for _ in 0..arguments.rounds.max(1) {
        let started = Instant::now();
        let folder = Folder::open(scratch.path())?;
        let startup = start_up(&config, Some(folder));
        restored.push(millis(started));
        anyhow::ensure!(
            startup.published.merged().totals.scores == engine.snapshot().totals.scores,
            "the restored state differs from the written state"
        );
        drop(startup);
    }
    let unpacked = unpacked(scratch.path())?;
    println!(
        "a state of {} MB, {} MB on disk",
        unpacked / 1_000_000,
        size / 1_000_000
    );
    println!(
        "\n{:40}{:>10}{:>10}{:>10}{:>9}",
        "ms", "median", "min", "max", "spread"
    );
    print_row("the worker stops to copy", copied);
    print_row("written and synced, beside the worker", written);
    let restored = print_row("read, restored and shown after a restart", restored);
    if unpacked >= LARGE {
        println!();
        Goal::AtMost(200.0).print(
            "restart with a large state until the first scrape",
            restored,
            "ms",
        );
    }
    Ok(())
}

/// Prints a row, and returns its median.
fn print_row(name: &str, values: Vec<f64>) -> f64 {
    let spread = Spread::of(values);
    let (Spread { median, min, max }, noise) = (&spread, spread.noise());
    println!("{name:40}{median:>10.1}{min:>10.1}{max:>10.1}{noise:>8.1}%");
    *median
}

fn millis(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1e3
}

fn profile() -> anyhow::Result<Config> {
    let profile = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("config/law-search.yaml");
    let room = ("limits.series_per_family".into(), "1000000".into());
    Ok(config::load(&[profile], std::iter::empty(), &[room])?)
}

/// Returns an engine with the state of a day's traffic.
fn engine_after_a_day(config: &Config, searches: u32, copies: usize) -> anyhow::Result<Engine> {
    let settings = Arc::new(config.engine.clone());
    let registry = Arc::new(Engine::registry(&settings));
    let mut engine = Engine::new(settings, registry, wall_now());
    let corpus = Arc::new(Corpus::generate(1, 200));
    let gold = corpus.gold_json();
    let gold = gold::parse("gold.json", gold.as_bytes(), &Options::default())?;
    engine.apply(Input::Gold(Arc::new(gold)));
    let traffic = TrafficSettings {
        searches_per_second: f64::from(searches) / 86_400.0,
        ..TrafficSettings::default()
    };
    let mut next = [0; 2];
    let mut seen = 0;
    for record in Traffic::new(corpus, traffic) {
        let kind = record.kind;
        seen += u32::from(kind == Kind::Search);
        if seen > searches {
            break;
        }
        let text = String::from_utf8(record.payload).context("the demo writes UTF-8")?;
        // Searches are assigned to the copies of a variant in turn.
        let copy = usize::try_from(seen)? % copies.max(1);
        let payload = text.replace(r#""variant":"V"#, &format!(r#""variant":"{copy}V"#));
        let offset = &mut next[kind.index()];
        let at = Position {
            partition: 0,
            offset: *offset,
        };
        *offset += 1;
        let record = (kind, at, payload.as_bytes());
        let rejected = records::apply(&mut engine, &Formats::NATIVE, [record], |_, _, _| ());
        anyhow::ensure!(rejected.is_empty(), "{rejected:?}");
    }
    engine.apply(Input::Tick {
        wall: wall_now(),
        others: None,
    });
    Ok(engine)
}

/// Size of the checkpoint before compression, in bytes.
fn unpacked(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path
            .extension()
            .is_some_and(|suffix| suffix == "checkpoint")
        {
            let mut file = BufReader::new(File::open(path)?);
            file.read_until(b'\n', &mut Vec::new())?;
            let mut frame = zstd::Decoder::with_buffer(file)?;
            bytes += std::io::copy(&mut frame, &mut std::io::sink())?;
        }
    }
    Ok(bytes)
}
