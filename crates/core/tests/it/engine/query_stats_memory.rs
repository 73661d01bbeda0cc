//! Resident memory of full query statistics against their limit, in a process of its own.

use std::fmt::Write as _;
use std::process::Command;
use std::sync::{Arc, Barrier};
use std::thread;

use rankgauge_core::decode::Formats;
use rankgauge_core::engine::{Engine, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::gold;
use rankgauge_core::records;
use rankgauge_serve::live::query_stats::{MAX_BYTES, MAX_DOCUMENTS, QueryStats};

use super::query_stats::merged;
use super::{START, World, assign, settings, tick};

/// Workers of the process. Each has an equal part of the memory.
const WORKERS: usize = 8;
/// Milliseconds between two searches. Most searches of a round are closed when it ends.
const STEP: i64 = 200;
/// Variable with the name of the traffic that the process measures.
const TRAFFIC: &str = "RANKGAUGE_QUERY_STATS_TRAFFIC";

/// Traffic that fills the statistics.
struct Traffic {
    name: &'static str,
    queries: usize,
    variants: usize,
    /// Searches of each pair.
    searches: usize,
    results: usize,
    /// Length of an id of a document.
    id: usize,
    /// Stages of a result.
    stages: usize,
}

/// Few pairs with the largest lists, and many pairs with the smallest ones.
const ALL: [Traffic; 3] = [
    Traffic {
        name: "large lists",
        queries: 1,
        variants: 240,
        searches: 12,
        results: 25,
        id: 200,
        stages: 12,
    },
    Traffic {
        name: "complete baselines",
        queries: 20,
        variants: 50,
        searches: 11,
        results: MAX_DOCUMENTS,
        id: 20,
        stages: 1,
    },
    Traffic {
        name: "small rows",
        queries: 500,
        variants: 10,
        searches: 1,
        results: 1,
        id: 2,
        stages: 0,
    },
];

impl Traffic {
    fn world(&self) -> World {
        let mut settings = settings();
        settings.slices.clear();
        settings.memory = 64 << 20;
        let queries: Vec<_> = (0..self.queries)
            .map(|number| {
                serde_json::json!({
                    "query_id": format!("g{number}"), "query_text": format!("query {number}"),
                    "ground_truth": {"d0": 1},
                })
            })
            .collect();
        let file = serde_json::json!({"version": "1", "queries": queries}).to_string();
        let gold = gold::parse("gold.json", file.as_bytes(), &gold::Options::default());
        World {
            gold: Arc::new(gold.expect("a valid gold set")),
            ..World::new(settings)
        }
    }

    /// The searches of one worker in a round, pair by pair.
    fn searches(&self, round: usize) -> impl Iterator<Item = (i64, String)> + '_ {
        let stages = ["\"retrieval\""; 64][..self.stages].join(",");
        let width = self.id;
        let mut results = String::new();
        for rank in 0..self.results {
            let comma = if rank == 0 { "" } else { "," };
            write!(
                results,
                "{comma}{{\"id\":\"{rank:0width$}\",\"stages\":[{stages}]}}"
            )
            .expect("a string grows");
        }
        let pairs = (0..self.queries)
            .flat_map(|query| (0..self.variants).map(move |variant| (query, variant)));
        let searches = pairs.flat_map(|pair| (0..self.searches).map(move |_| pair));
        let first = round * self.queries * self.variants * self.searches;
        (first..)
            .zip(searches)
            .map(move |(number, (query, variant))| {
                let number = i64::try_from(number).expect("few searches");
                let search = format!(
                    "{{\"query_id\":\"search-{number:020}\",\"ts\":{},\"query_key\":\"g{query}\",\
                     \"variant\":\"v{variant}\",\"results\":[{results}]}}",
                    START + STEP * number
                );
                (number, search)
            })
    }

    /// Sends a round of traffic to a worker, and its judged searches to the statistics, if there are any.
    fn run(&self, engine: &mut Engine, round: usize, stats: Option<&QueryStats>) {
        for (offset, payload) in self.searches(round) {
            let at = Position {
                partition: 0,
                offset,
            };
            let record = (Kind::Search, at, payload.as_bytes());
            records::apply(engine, &Formats::NATIVE, [record], |_, _, judged| {
                if let (Some(stats), Some(judged)) = (stats, judged) {
                    stats.record(&judged);
                }
            });
            if offset % 10 == 0 {
                tick(engine, START + STEP * offset);
            }
        }
    }

    /// Growth of the resident memory in the second round of traffic, of all workers. With statistics, they
    /// have them in this round.
    fn measure(&self, has_stats: bool) -> usize {
        let world = self.world();
        let stats = || QueryStats::new(Arc::clone(&world.gold), MAX_BYTES / WORKERS, Some(1));
        let stats: Vec<_> = (0..WORKERS).map(|_| Arc::new(stats())).collect();
        let all = Barrier::new(WORKERS + 1);
        let growth = thread::scope(|scope| {
            for stats in &stats {
                let stats = has_stats.then_some(&**stats);
                let (world, all) = (&world, &all);
                scope.spawn(move || {
                    let mut engine = world.engine();
                    assign(&mut engine, 0);
                    self.run(&mut engine, 0, None);
                    all.wait();
                    all.wait();
                    self.run(&mut engine, 1, stats);
                    all.wait();
                    all.wait();
                });
            }
            all.wait();
            let before = resident();
            all.wait();
            all.wait();
            let after = resident();
            all.wait();
            after.saturating_sub(before)
        });
        for stats in &stats {
            let dropped = merged(&world, [stats]).dropped_searches();
            assert!(dropped > 0 || !has_stats, "the statistics are not full");
        }
        growth
    }
}

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.parse::<usize>().ok())
        .expect("a number of kB")
        * 1024
}

/// Growth of the resident memory in a process that runs the traffic.
fn measured(traffic: &Traffic, has_stats: bool) -> usize {
    let name = "engine::query_stats_memory::full_query_statistics_stay_within_their_memory";
    let output = Command::new(std::env::current_exe().expect("the test binary"))
        .args([name, "--exact", "--nocapture"])
        .env(TRAFFIC, format!("{} {has_stats}", traffic.name))
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    let bytes = text.lines().find_map(|line| line.strip_prefix("bytes: "));
    bytes
        .and_then(|it| it.parse().ok())
        .unwrap_or_else(|| panic!("{}: {text}", traffic.name))
}

#[test]
fn full_query_statistics_stay_within_their_memory() {
    if let Ok(asked) = std::env::var(TRAFFIC) {
        for has_stats in [false, true] {
            let mut all = ALL.iter();
            if let Some(traffic) = all.find(|it| asked == format!("{} {has_stats}", it.name)) {
                eprintln!("bytes: {}", traffic.measure(has_stats));
            }
        }
        return;
    }
    for traffic in ALL {
        let [without, with] = [false, true].map(|has_stats| measured(&traffic, has_stats));
        let bytes = with.saturating_sub(without);
        eprintln!("{}: {bytes} of {MAX_BYTES} bytes", traffic.name);
        assert!(
            bytes <= MAX_BYTES,
            "{}: {bytes} of {MAX_BYTES} bytes",
            traffic.name
        );
    }
}
