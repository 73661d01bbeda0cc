//! Benchmark of the exposition of 100,000 series, with the law-search profile.
//!
//! The demo's traffic is repeated for further variants until a snapshot has about 100,000 samples.
//! The times are scaled to exactly 100,000.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads clocks and prints its results"
)]

use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
// Linking it replaces `malloc`, as in the product.
use mimalloc as _;
use rankgauge_core::engine::settings::{Rolling, Settings};
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_serve::collect::{Names, collect};
use rankgauge_serve::gzip::compress;
use rankgauge_serve::text::Text;

use cargo::CargoArguments;
use feed::{Feed, WALL, gold};
use goal::Goal;
use table::{print_heading, print_row, ratios};

#[path = "rounds/cargo.rs"]
mod cargo;
#[path = "rounds/feed.rs"]
#[allow(dead_code, reason = "other benchmarks feed groups of records")]
mod feed;
#[path = "rounds/goal.rs"]
mod goal;
#[path = "rounds/law_search.rs"]
mod law_search;
#[path = "rounds/spread.rs"]
mod spread;
#[path = "rounds/table.rs"]
#[allow(dead_code, reason = "other benchmarks compare programs")]
mod table;

/// Samples to which the times are scaled.
const SAMPLES: f64 = 100_000.0;

/// Time of the exposition of 100,000 series.
#[derive(Parser)]
struct Arguments {
    /// Number of expositions.
    #[arg(long, default_value_t = 101)]
    rounds: usize,
    /// Number of records before.
    #[arg(long, default_value_t = 100_000)]
    records: usize,
    /// Number of copies of each of the demo's five variants.
    #[arg(long, default_value_t = 3)]
    copies: usize,
    #[command(flatten)]
    cargo: CargoArguments,
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a number of samples is far below 2^52"
)]
fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("scrape") {
        return Ok(());
    }
    let settings = law_search::settings()?;
    let corpus = law_search::corpus();
    let mut feed = Feed::new(&settings, gold(&corpus.gold_json())?, 4);
    for (number, record) in law_search::records(&corpus, arguments.records).enumerate() {
        let (kind, key, payload) = record;
        let text = String::from_utf8(payload)?;
        let copy = format!("\"variant\":\"copy {}, ", number % arguments.copies.max(1));
        let payload = text.replace("\"variant\":\"", &copy);
        feed.take(kind, &key, payload.as_bytes())?;
    }
    feed.tick();
    let snapshot = feed.engine.snapshot();
    let names = Names {
        settings: Arc::new(Settings {
            rolling: Rolling::All,
            ..(*settings).clone()
        }),
        registry: Arc::clone(&feed.registry),
        topics: ["search.log", "search.feedback"].map(String::from).to_vec(),
    };
    // The buffer has room for the last exposition, as that of the listener.
    let exposition = |snapshot: &Snapshot, capacity: usize| {
        let mut sink = Text::with_capacity(capacity);
        collect(snapshot, &names, WALL, &mut sink);
        sink.into_string()
    };
    let text = exposition(&snapshot, 0);
    let capacity = text.len() + text.len() / 16;
    let samples = text.lines().filter(|line| !line.starts_with('#')).count();
    let scale = SAMPLES / samples as f64;
    println!(
        "{samples} series, {:.1} MB of text",
        text.len() as f64 / 1e6
    );
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let compressed = compress(text.as_bytes())?.len();
    println!("compressed: {:.2} MB", compressed as f64 / 1e6);
    for _ in 0..arguments.rounds.max(1) {
        let begin = Instant::now();
        let text = exposition(&snapshot, capacity);
        times[0].push(begin.elapsed().as_secs_f64() * 1e3 * scale);
        // A scrape of Prometheus accepts gzip.
        drop(compress(text.as_bytes())?);
        times[2].push(begin.elapsed().as_secs_f64() * 1e3 * scale);
        drop(text);
        let begin = Instant::now();
        let mut merged = Snapshot::default();
        merged.merge(&snapshot);
        let text = exposition(&merged, capacity);
        times[1].push(begin.elapsed().as_secs_f64() * 1e3 * scale);
        drop(text);
    }
    print_heading("ms, scaled to 100,000 series");
    let median = print_row("exposition", &times[0], 2);
    print_row("merge of one worker and exposition", &times[1], 2);
    print_row("exposition with gzip", &times[2], 2);
    let ratios = ratios(&times[2], &times[0]);
    print_heading("ratio within a round");
    let ratio = print_row("with gzip to the text", &ratios, 2);
    println!();
    Goal::AtMost(10.0).print("scrape of 100,000 series", median, "ms");
    Goal::AtMost(2.0).print("scrape with gzip against the text", ratio, "×");
    Ok(())
}
