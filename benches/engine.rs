//! Benchmark of one event, one snapshot and one scrape without Kafka, on the demo's traffic.
//!
//! Everything runs on one thread, with the law-search profile. `docs/performance.md` explains the
//! numbers.
#![allow(clippy::print_stdout, reason = "a benchmark prints its input")]

use std::cell::Cell;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::sync::{Arc, LazyLock};

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
// Linking it replaces `malloc`, as in the product.
use mimalloc as _;
use rankgauge::ingest::replay::replay;
use rankgauge_core::decode::{Formats, native};
use rankgauge_core::engine::settings::{Rolling, Settings};
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::{Engine, Input, Position, Registry};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::ranking::Judge;
use rankgauge_core::records;
use rankgauge_core::time::{Millis, WallTime};
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::traffic::{Record, Traffic, TrafficSettings};
use rankgauge_serve::collect::{Names, collect};
use rankgauge_serve::live::query_stats::{MAX_BYTES, QueryStats};
use rankgauge_serve::text::Text;

#[path = "rounds/feed.rs"]
#[allow(
    dead_code,
    reason = "this benchmark feeds records that are already placed"
)]
mod feed;
#[path = "rounds/law_search.rs"]
#[allow(dead_code, reason = "this benchmark sets the rate of its records")]
mod law_search;

/// Searches per second of event time. At a low rate, hours of event time pass in a minute, as when
/// a backlog is read: the harder case, because windows advance and searches are finalised all the
/// time.
const SEARCHES_PER_SECOND: f64 = 50.0;
/// Number of records of one run through the engine.
const RECORDS: usize = 100_000;
const PARTITIONS: i32 = 4;

/// Number of copies of each of the demo's five variants in the large scrape.
const VARIANT_COPIES: usize = 8;

fn main() {
    println!(
        "one record: {} bytes of a search, {} of feedback, on average",
        mean_length(Kind::Search),
        mean_length(Kind::Feedback)
    );
    divan::main();
}

/// Shared inputs of all measurements.
struct Fixture {
    settings: Arc<Settings>,
    corpus: Arc<Corpus>,
    gold: Arc<GoldSet>,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let corpus = law_search::corpus();
    let gold = feed::gold(&corpus.gold_json()).expect("the demo's gold set loads");
    Fixture {
        settings: law_search::settings().expect("the profile loads"),
        corpus,
        gold,
    }
});

/// Record with its position in the log.
struct Placed {
    kind: Kind,
    at: Position,
    payload: Vec<u8>,
}

/// The first `count` records of the demo's traffic, spread over partitions by their key.
fn placed(count: usize) -> Vec<Placed> {
    let settings = TrafficSettings {
        searches_per_second: SEARCHES_PER_SECOND,
        ..TrafficSettings::default()
    };
    let mut next = [[0; PARTITIONS as usize]; 2];
    let traffic = Traffic::new(Arc::clone(&FIXTURE.corpus), settings);
    let place = |Record {
                     kind, key, payload, ..
                 }: Record| {
        let partition = key.bytes().map(usize::from).sum::<usize>() % next[0].len();
        let offset = &mut next[kind.index()][partition];
        let at = Position {
            partition: i32::try_from(partition).unwrap_or(0),
            offset: *offset,
        };
        *offset += 1;
        Placed { kind, at, payload }
    };
    traffic.take(count).map(place).collect()
}

static BACKLOG: LazyLock<Vec<Placed>> = LazyLock::new(|| placed(RECORDS));

fn payloads(kind: Kind) -> impl Iterator<Item = &'static [u8]> {
    let of_kind = BACKLOG.iter().filter(move |record| record.kind == kind);
    of_kind.map(|record| record.payload.as_slice())
}

fn mean_length(kind: Kind) -> usize {
    payloads(kind).map(<[u8]>::len).sum::<usize>() / payloads(kind).count().max(1)
}

/// Returns a function that yields the elements of `all` in a cycle.
fn in_turn<'a, T>(all: &'a [T]) -> impl Fn() -> &'a T {
    let next = Cell::new(0);
    move || {
        let index = next.get();
        next.set((index + 1) % all.len());
        &all[index]
    }
}

fn new_engine() -> Engine {
    engine_with(Arc::new(Engine::registry(&FIXTURE.settings)))
}

fn engine_with(registry: Arc<Registry>) -> Engine {
    let mut engine = Engine::new(Arc::clone(&FIXTURE.settings), registry, wall());
    engine.apply(Input::Gold(Arc::clone(&FIXTURE.gold)));
    engine
}

/// Wall time a day after the start of the traffic: no event is from the future.
fn wall() -> WallTime {
    WallTime(TrafficSettings::default().start.plus(Millis(86_400_000)).0)
}

/// Processes `records` as a worker does, with query statistics if there are any: decodes and applies
/// them, then applies a tick.
fn run_through(engine: &mut Engine, records: &[Placed], stats: Option<&QueryStats>) {
    for group in records.chunks(Engine::MAX_GROUP) {
        let group = group
            .iter()
            .map(|record| (record.kind, record.at, &*record.payload));
        let rejected = records::apply(engine, &Formats::NATIVE, group, |_, _, judged| {
            if let (Some(stats), Some(judged)) = (stats, judged) {
                stats.record(&judged);
            }
        });
        assert_eq!(rejected, [], "the demo's events are valid");
    }
    engine.apply(Input::Tick {
        wall: wall(),
        others: None,
    });
}

/// Decodes JSON to a search ready for judgement.
#[divan::bench(min_time = 1)]
fn decode_search(bencher: Bencher<'_, '_>) {
    decode(bencher, Kind::Search, |payload| {
        black_box(native::search(payload, &FIXTURE.settings.record_limits)).is_ok()
    });
}

/// Decodes JSON to a feedback event.
#[divan::bench(min_time = 1)]
fn decode_feedback(bencher: Bencher<'_, '_>) {
    decode(bencher, Kind::Feedback, |payload| {
        black_box(native::feedback(payload, &FIXTURE.settings.record_limits)).is_ok()
    });
}

fn decode(bencher: Bencher<'_, '_>, kind: Kind, read: impl Fn(&[u8]) -> bool + Sync) {
    let payloads: Vec<&[u8]> = payloads(kind).collect();
    bencher
        .with_inputs(in_turn(&payloads))
        .input_counter(|payload: &&&[u8]| BytesCount::new(payload.len()))
        .bench_local_values(|payload| assert!(read(payload)));
}

/// Scores a decoded search: finds the gold query, judges the results, computes every ranking
/// measure.
#[divan::bench(min_time = 1)]
fn judge_search(bencher: Bencher<'_, '_>) {
    let searches: Vec<_> = payloads(Kind::Search)
        .take(10_000)
        .filter_map(|payload| native::search(payload, &FIXTURE.settings.record_limits).ok())
        .collect();
    let mut judge = Judge::new(FIXTURE.settings.judging.clone());
    bencher
        .with_inputs(in_turn(&searches))
        .bench_local_values(|search| {
            let found = FIXTURE
                .gold
                .find(search.query_key.as_deref(), search.query.as_deref());
            let Some(query) = found.map(|index| FIXTURE.gold.query(index)) else {
                return 0.0;
            };
            let judged = judge.judge(search, query);
            let measures = FIXTURE.settings.measures.iter();
            let scores = measures.filter_map(|measure| measure.score(&judged));
            scores.sum::<f64>()
        });
}

/// Processes 100,000 records from bytes: decodes, judges, joins and counts them.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn apply_records(bencher: Bencher<'_, '_>) {
    bencher
        .counter(ItemsCount::new(BACKLOG.len()))
        .with_inputs(new_engine)
        .bench_local_values(|mut engine| {
            run_through(&mut engine, &BACKLOG, None);
            // Returned, because dropping it must not be measured.
            engine
        });
}

/// The same with query statistics, which keep the last results of each gold query for the API.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn apply_records_with_query_stats(bencher: Bencher<'_, '_>) {
    bencher
        .counter(ItemsCount::new(BACKLOG.len()))
        .with_inputs(|| {
            let stats = QueryStats::new(Arc::clone(&FIXTURE.gold), MAX_BYTES, Some(1));
            (new_engine(), stats)
        })
        .bench_local_values(|(mut engine, stats)| {
            run_through(&mut engine, &BACKLOG, Some(&stats));
            (engine, stats)
        });
}

/// Replays the same 100,000 records from files, as `rankgauge replay` does.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn replay_files(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let paths = Kind::ALL.map(|kind| folder.path().join(kind.name()));
    for (kind, path) in Kind::ALL.into_iter().zip(&paths) {
        let mut file = BufWriter::new(File::create(path).expect("a file in a new folder"));
        for payload in payloads(kind) {
            file.write_all(payload)
                .and_then(|()| file.write_all(b"\n"))
                .expect("room for the file");
        }
    }
    let [searches, feedback] = paths.map(|path| [path]);
    bencher
        .counter(ItemsCount::new(BACKLOG.len()))
        .with_inputs(new_engine)
        .bench_local_values(|mut engine| {
            replay(&mut engine, &Formats::NATIVE, &searches, &feedback)
                .expect("the files were just written");
            engine
        });
}

/// Engine after many records, and the names for its exposition.
struct Loaded {
    engine: Engine,
    names: Names,
}

impl Loaded {
    fn with(records: &[Placed]) -> Self {
        let registry = Arc::new(Engine::registry(&FIXTURE.settings));
        let mut engine = engine_with(Arc::clone(&registry));
        run_through(&mut engine, records, None);
        let names = Names {
            settings: Arc::new(Settings {
                rolling: Rolling::All,
                ..(*FIXTURE.settings).clone()
            }),
            registry,
            topics: ["search.log", "search.feedback"].map(String::from).to_vec(),
        };
        Self { engine, names }
    }

    fn exposition(&self, snapshot: &Snapshot) -> String {
        let mut sink = Text::with_capacity(256 * 1024);
        collect(snapshot, &self.names, wall(), &mut sink);
        sink.into_string()
    }
}

/// Engine with the demo's five variants.
static SMALL: LazyLock<Loaded> = LazyLock::new(|| Loaded::with(&BACKLOG));

/// Engine with about 250,000 series.
static LARGE: LazyLock<Loaded> = LazyLock::new(|| {
    let mut records = placed(RECORDS);
    for (number, record) in records.iter_mut().enumerate() {
        let text = String::from_utf8_lossy(&record.payload);
        let copy = format!("\"variant\":\"copy {}, ", number % VARIANT_COPIES);
        record.payload = text.replace("\"variant\":\"", &copy).into_bytes();
    }
    Loaded::with(&records)
});

/// Snapshot that a worker publishes after the demo's traffic.
#[divan::bench]
fn snapshot_small(bencher: Bencher<'_, '_>) {
    let loaded = &*SMALL;
    bencher.bench_local(|| loaded.engine.snapshot());
}

/// Snapshot that a worker publishes with hundreds of thousands of series.
#[divan::bench]
fn snapshot_large(bencher: Bencher<'_, '_>) {
    let loaded = &*LARGE;
    bencher.bench_local(|| loaded.engine.snapshot());
}

/// Merge of two such snapshots, the first step of a scrape of two workers.
#[divan::bench]
fn merge_large(bencher: Bencher<'_, '_>) {
    let snapshot = LARGE.engine.snapshot();
    bencher.bench_local(|| {
        let mut merged = Snapshot::default();
        merged.merge(&snapshot);
        merged.merge(&snapshot);
        merged
    });
}

/// Text exposition of the same number of series; items are series.
#[divan::bench]
fn scrape_large(bencher: Bencher<'_, '_>) {
    let snapshot = LARGE.engine.snapshot();
    let text = LARGE.exposition(&snapshot);
    let series = text.lines().filter(|line| !line.starts_with('#')).count();
    bencher
        .counter(ItemsCount::new(series))
        .counter(BytesCount::of_str(&text))
        .bench_local(|| LARGE.exposition(&snapshot));
}
