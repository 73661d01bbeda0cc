//! Soak test: mixed, bounded load with compressed bombs, rebalances, gold reloads, slow scrapers and, in
//! a long run, broker restarts. Memory, file descriptors and threads stay flat, memory stays below the
//! stated limit, and at the end every counter equals replay.
//!
//! `make test` runs a few rounds without pauses, which prove the counters. `make soak` runs for
//! [`WARM_UP_MINUTES`] and then for `RANKGAUGE_SOAK_MINUTES`, and compares the resources of the first
//! half of these with those of the second half.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rankgauge_core::event::Kind;
use rankgauge_core::number::real;
use rankgauge_core::time::Millis;
use serde_json::{Value, json};

use super::fetched_memory::stated_limit;
use super::stream::Stream;
use super::{
    CONSUMED, SHUTDOWN, SOON, added, assert_same, counters, received, replayed, settings, start,
    wait_until_counted, without_sessions,
};
use crate::harness::kafka::{Broker, unique_name};
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::wait_until;

/// Searches per second.
const RATE: usize = 50;
/// Time of a round.
const ROUND: Duration = Duration::from_secs(5);
const ROUNDS_PER_MINUTE: u32 = 12;
/// Minutes before the resources are compared: buffers, windows and baselines fill.
const WARM_UP_MINUTES: u32 = 10;
/// Rounds in `make test`.
const SHORT_ROUNDS: u32 = 4;
/// Clients that request the metrics and do not read them.
const SLOW_SCRAPERS: usize = 8;
/// Gauges that stay flat.
const RESOURCES: [&str; 3] = [
    "process_resident_memory_bytes",
    "process_open_fds",
    "process_threads",
];
/// Partitions of each topic.
const PARTITIONS: u16 = 4;
/// Codecs of the producers of bombs, and the size of their records. All records of a batch are
/// compressed to a few kB.
const BOMBS: [(&str, usize); 4] = [
    ("zstd", 900_000),
    ("gzip", 300_000),
    ("lz4", 100_000),
    ("snappy", 20_000),
];
const BOMB_RECORDS: usize = 20;
/// Allowed relative change.
const TOLERANCE: f64 = 0.05;

/// Settings of replica `number`, with a folder for its checkpoints.
fn of_replica(settings: &Value, stream: &Stream, number: usize) -> Value {
    let mut settings = settings.clone();
    let folder = stream.folder().join(format!("soak-{number}"));
    settings["checkpoint"] = json!({"folder": folder});
    settings
}

/// Sends requests whose responses are never read.
fn scrape_slowly(sidecar: &Sidecar) -> Vec<TcpStream> {
    let connections = (0..SLOW_SCRAPERS).map(|_| {
        let mut connection = TcpStream::connect(sidecar.address()).expect("it listens");
        let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
        connection.write_all(request).expect("the request is sent");
        connection
    });
    connections.collect()
}

/// Median of the values.
fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Checks that the resources of the second half are those of the first half.
fn assert_flat(samples: &[[f64; 3]]) {
    for (index, name) in RESOURCES.into_iter().enumerate() {
        let values: Vec<f64> = samples.iter().map(|sample| sample[index]).collect();
        let (first, second) = values.split_at(values.len() / 2);
        let (before, after) = (median(first), median(second));
        let change = (after - before) / before;
        eprintln!(
            "soak: {name}: {before} in the first half, {after} in the second ({:+.1} %)",
            change * 100.0
        );
        assert!(change.abs() <= TOLERANCE, "{name} is not flat: {values:?}");
    }
}

/// Restarts or rebalances in round `number`, and reloads the gold set.
fn disturb(
    number: u32,
    replica: &mut Option<Sidecar>,
    settings: &Value,
    stream: &Stream,
    first: &Sidecar,
) {
    // Reformatted, the same judgements: a reload that changes no score.
    let gold = std::fs::read_to_string(stream.gold()).expect("the gold set");
    let end = if number.is_multiple_of(2) { "\n" } else { " " };
    // A sidecar that starts never reads a part of the file.
    let written = stream.gold().with_extension("written");
    std::fs::write(&written, format!("{}{end}", gold.trim_end())).expect("a file can be written");
    std::fs::rename(&written, stream.gold()).expect("a file can be replaced");
    first.hang_up();
    match replica.take() {
        Some(mut sidecar) if number % 4 == 3 => {
            let status = sidecar.terminate(SHUTDOWN);
            assert!(status.success(), "{status}: {}", sidecar.log());
        }
        Some(sidecar) => *replica = Some(sidecar),
        None => *replica = Some(start(settings)),
    }
}

fn resources(exposition: &Exposition) -> [f64; 3] {
    RESOURCES.map(|name| exposition.value(name, &[]).expect("a process metric"))
}

fn soak(broker: &mut Option<Broker>, rounds: u32, is_paced: bool) {
    let shared = crate::harness::kafka::broker;
    let mut stream = {
        let broker = broker.as_ref().unwrap_or_else(|| shared());
        let name = unique_name("soak");
        let topics = Kind::ALL.map(|kind| format!("{name}.{}", kind.name()));
        for topic in &topics {
            // The broker compresses again what producers that are not trusted send.
            let settings = [("compression.type", "lz4"), ("max.message.bytes", "524288")];
            broker.create_topic_with(topic, usize::from(PARTITIONS), &settings);
        }
        Stream::new(topics, PARTITIONS, 50.0, Millis(0))
    };
    let mut settings = settings(broker.as_ref().unwrap_or_else(|| shared()), &stream);
    settings["workers"] = json!(2);
    settings["windows"] = json!(["1m"]);
    settings["engine"]["feedback_window"] = json!("1m");
    settings["engine"]["out_of_orderness"] = json!("5s");
    settings["engine"]["max_future_skew"] = json!("24h");
    let limit = stated_limit(&settings);
    let [first_settings, second_settings] =
        [0, 1].map(|number| of_replica(&settings, &stream, number));
    let first = start(&first_settings);
    let mut second = None;
    let mut samples = Vec::new();
    let (mut broker_restarts, mut rebalances) = (0_u32, 0_u32);
    for number in 0..rounds {
        let started = Instant::now();
        let slow = scrape_slowly(&first);
        let had_second = second.is_some();
        disturb(number, &mut second, &second_settings, &stream, &first);
        rebalances += u32::from(had_second != second.is_some());
        if let Some(broker) = broker.as_mut()
            && number % 24 == 12
        {
            broker.restart();
            broker_restarts += 1;
        }
        let producers = broker.as_ref().unwrap_or_else(|| shared());
        let (codec, bytes) = BOMBS[number as usize % BOMBS.len()];
        stream.send_bombs(producers, codec, BOMB_RECORDS, bytes);
        stream.produce(producers, RATE * 5);
        samples.push(resources(&first.metrics()));
        if is_paced {
            wait_until(ROUND * 4, "the round has its time", || {
                (started.elapsed() >= ROUND).then_some(())
            });
        }
        drop(slow);
    }
    let broker = broker.as_ref().unwrap_or_else(|| shared());
    let second = second.unwrap_or_else(|| start(&second_settings));
    wait_until_counted(broker, &settings, &stream);
    let produced = stream.produced();
    let [a, b] = wait_until(CONSUMED, "both replicas show every record once", || {
        let both = [first.metrics(), second.metrics()];
        let [x, y] = [received(&both[0]), received(&both[1])];
        ([x[0] + y[0], x[1] + y[1]] == produced).then_some(both)
    });
    let peak = first.peak_memory();
    eprintln!("soak: peak of memory {peak} bytes, stated limit {limit} bytes");
    assert!(peak < real(limit), "{peak} of {limit} bytes");
    let truth = without_sessions(replayed(&settings, &stream, &a));
    let parts = [counters(&a), counters(&b)].map(without_sessions);
    assert_same(&added(&parts), &added([&truth]));
    eprintln!(
        "soak: {rounds} rounds, {produced:?} searches and feedback events, {rebalances} joins and \
         leaves, {broker_restarts} broker restarts, {} gold reloads: {} series equal to replay",
        a.sum("rankgauge_gold_reloads_total", &[]),
        truth.len()
    );
    if is_paced {
        let warm_up = (WARM_UP_MINUTES * ROUNDS_PER_MINUTE) as usize;
        assert_flat(samples.get(warm_up..).expect("minutes after the warm-up"));
    }
    wait_until(SOON, "the listener responds to the end", || {
        (first.get("/healthz").0 == 200).then_some(())
    });
}

#[test]
fn mixed_load_with_disturbances_is_counted_exactly() {
    match std::env::var("RANKGAUGE_SOAK_MINUTES") {
        Err(_) => soak(&mut None, SHORT_ROUNDS, false),
        Ok(minutes) => {
            let minutes: u32 = minutes.parse().expect("RANKGAUGE_SOAK_MINUTES is a number");
            let mut private = Some(Broker::private());
            let rounds = (WARM_UP_MINUTES + minutes) * ROUNDS_PER_MINUTE;
            soak(&mut private, rounds, true);
        }
    }
}
