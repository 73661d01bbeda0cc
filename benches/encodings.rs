//! CPU time of one worker per search: native JSON, the same JSON under a mapping, and its twins in Avro and
//! Protocol Buffers: `cargo bench --bench encodings`.
//!
//! All engines run on one thread with the law-search profile, read equal searches, and have to count the same.
//! Rounds alternate, and a ratio is that of two neighbouring rounds. `docs/performance.md` explains the numbers.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads clocks and prints its results"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
// Linking it replaces `malloc`, as in the product.
use mimalloc as _;
use prost::Message as _;
use rankgauge_core::decode::framing::{Compression, Framing};
use rankgauge_core::decode::mapped::{Encoding, Form, Mapped, Term};
use rankgauge_core::decode::schema::{Schema, Schemas, Source};
use rankgauge_core::decode::{Format, Formats};
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::records;
use rankgauge_lab::traffic::{Traffic, TrafficSettings};
use serde_json::{Value, json};

#[path = "../crates/core/tests/it/decoding/avro_writer.rs"]
#[allow(clippy::panic, reason = "this benchmark only encodes")]
mod avro_writer;
#[path = "rounds/feed.rs"]
#[allow(dead_code, reason = "this benchmark has its own records")]
mod feed;
#[path = "rounds/law_search.rs"]
#[allow(dead_code, reason = "this benchmark sets the rate of its records")]
mod law_search;
#[path = "rounds/spread.rs"]
#[allow(dead_code, reason = "this benchmark prints no noise")]
mod spread;

use spread::Spread;

const SEARCHES: usize = 40_000;
const ROUNDS: usize = 9;
const PARTITIONS: i64 = 4;

const AVRO: &str = r#"{"type": "record", "name": "Search", "fields": [
    {"name": "query_id", "type": "string"},
    {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "query", "type": ["null", "string"]},
    {"name": "session_id", "type": ["null", "string"]},
    {"name": "variant", "type": "string"},
    {"name": "latency_ms", "type": "double"},
    {"name": "results", "type": {"type": "array", "items": {"type": "record", "name": "Hit", "fields": [
        {"name": "id", "type": "string"}, {"name": "score", "type": "double"},
        {"name": "group_id", "type": "string"},
        {"name": "attrs", "type": {"type": "map", "values": "string"}}]}}}]}"#;

const PROTOBUF: &str = r#"syntax = "proto3";
    message Search {
        string query_id = 1; int64 ts = 2; string query = 3; string session_id = 4; string variant = 5;
        double latency_ms = 6; repeated Hit results = 7;
    }
    message Hit { string id = 1; double score = 2; string group_id = 3; map<string, string> attrs = 4; }"#;

#[derive(Clone, PartialEq, prost::Message)]
struct Search {
    #[prost(string, tag = "1")]
    query_id: String,
    #[prost(int64, tag = "2")]
    ts: i64,
    #[prost(string, tag = "3")]
    query: String,
    #[prost(string, tag = "4")]
    session_id: String,
    #[prost(string, tag = "5")]
    variant: String,
    #[prost(double, tag = "6")]
    latency_ms: f64,
    #[prost(message, repeated, tag = "7")]
    results: Vec<Hit>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Hit {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(double, tag = "2")]
    score: f64,
    #[prost(string, tag = "3")]
    group_id: String,
    #[prost(btree_map = "string, string", tag = "4")]
    attrs: BTreeMap<String, String>,
}

/// Records of an encoding, and the highest accepted ratio of its time to that of native JSON.
struct Case {
    name: &'static str,
    formats: Formats,
    records: Vec<Vec<u8>>,
    target: Option<f64>,
}

fn main() -> anyhow::Result<()> {
    let corpus = law_search::corpus();
    let gold = feed::gold(&corpus.gold_json())?;
    let settings = TrafficSettings {
        searches_per_second: 50.0,
        ..TrafficSettings::default()
    };
    let searches = Traffic::new(Arc::clone(&corpus), settings)
        .filter(|record| record.kind == Kind::Search)
        .map(|record| search(&record.payload))
        .take(SEARCHES)
        .collect::<anyhow::Result<Vec<Value>>>()?;
    let cases = cases(&searches)?;
    let mut expected = None;
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); cases.len()];
    let mut ratios = times.clone();
    for _ in 0..ROUNDS {
        let mut native = 0.0;
        for (number, case) in cases.iter().enumerate() {
            let (time, snapshot) = time(case, &gold)?;
            let expected = expected.get_or_insert_with(|| snapshot.totals.clone());
            anyhow::ensure!(
                snapshot.totals == *expected,
                "{} counts otherwise than native JSON",
                case.name
            );
            if number == 0 {
                native = time;
            }
            times[number].push(time);
            ratios[number].push(time / native);
        }
    }
    for ((case, times), ratios) in cases.iter().zip(times).zip(ratios) {
        let bytes = case.records.iter().map(Vec::len).sum::<usize>() / SEARCHES;
        let Spread { median, min, max } = Spread::of(times);
        let ratio = Spread::of(ratios).median;
        println!(
            "{:<14} {bytes:>5} bytes, {median:.2} µs a search (minimum {min:.2}, maximum {max:.2}), {ratio:.2} \
             of native JSON",
            case.name
        );
        if let Some(target) = case.target {
            let verdict = if ratio <= target { "met" } else { "MISSED" };
            println!(
                "target: {} at {target} of native JSON or less: {verdict}",
                case.name
            );
        }
    }
    Ok(())
}

/// Search with what all encodings state, from the traffic of the demo.
fn search(payload: &[u8]) -> anyhow::Result<Value> {
    let event: Value = serde_json::from_slice(payload)?;
    let millis = match &event["ts"] {
        Value::String(time) => time.parse::<jiff::Timestamp>()?.as_millisecond(),
        number => number.as_i64().context("a time")?,
    };
    let results = event["results"].as_array().context("results")?.iter();
    let results = results.map(|hit| {
        json!({"id": hit["id"], "score": hit["score"], "group_id": hit["group_id"], "attrs": hit["attrs"]})
    });
    Ok(json!({
        "query_id": event["query_id"], "ts": millis,
        "query": event["query"].as_str().or(event["query_key"].as_str()).context("a query")?,
        "session_id": event["session_id"], "variant": event["experiment"]["variant"],
        "latency_ms": event["latency_ms"], "results": results.collect::<Vec<_>>(),
    }))
}

fn cases(searches: &[Value]) -> anyhow::Result<Vec<Case>> {
    let native: Vec<Vec<u8>> = searches
        .iter()
        .map(|it| it.to_string().into_bytes())
        .collect();
    let problem = |problem: String| anyhow::anyhow!("the schema {problem}");
    let avro = Schema::avro(AVRO, &[], None).map_err(problem)?;
    let protobuf = Schema::protobuf(PROTOBUF.as_bytes(), &[]).map_err(problem)?;
    let file = |schema, message: Option<&str>| Schemas {
        source: Source::File(Arc::new(schema)),
        message: message.map(str::to_owned),
    };
    let schema: Value = serde_json::from_str(AVRO)?;
    let in_avro = searches.iter().map(|search| {
        let mut record = Vec::new();
        avro_writer::write(&mut record, &schema, search, false);
        record
    });
    let in_avro = in_avro.collect();
    let in_protobuf = searches
        .iter()
        .map(|it| message(it).encode_to_vec())
        .collect();
    Ok(vec![
        Case {
            name: "native JSON",
            formats: Formats::NATIVE,
            records: native.clone(),
            target: None,
        },
        Case {
            name: "mapped JSON",
            formats: mapped(Encoding::Json, Schemas::default())?,
            records: native,
            target: Some(1.3),
        },
        Case {
            name: "Avro",
            formats: mapped(Encoding::Avro, file(avro, None))?,
            records: in_avro,
            target: Some(1.0),
        },
        Case {
            name: "Protobuf",
            formats: mapped(Encoding::Protobuf, file(protobuf, Some("Search")))?,
            records: in_protobuf,
            target: Some(1.0),
        },
    ])
}

fn message(search: &Value) -> Search {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let results = search["results"].as_array().into_iter().flatten();
    Search {
        query_id: text(&search["query_id"]),
        ts: search["ts"].as_i64().unwrap_or_default(),
        query: text(&search["query"]),
        session_id: text(&search["session_id"]),
        variant: text(&search["variant"]),
        latency_ms: search["latency_ms"].as_f64().unwrap_or_default(),
        results: results
            .map(|hit| Hit {
                id: text(&hit["id"]),
                score: hit["score"].as_f64().unwrap_or_default(),
                group_id: text(&hit["group_id"]),
                attrs: hit["attrs"]
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(name, value)| (name.clone(), text(value)))
                    .collect(),
            })
            .collect(),
    }
}

fn mapped(encoding: Encoding, schemas: Schemas) -> anyhow::Result<Formats> {
    let mapping = json!({"search": {
        "fields": {
            "query_id": "/query_id", "ts": "/ts", "query": "/query", "session_id": "/session_id",
            "variant": "/variant", "latency_ms": "/latency_ms",
        },
        "hits": {
            "list": "/results", "id": "/id", "score": "/score", "group": "/group_id",
            "attributes": {"law_type": "/attrs/law_type", "doc_type": "/attrs/doc_type",
                "domain": "/attrs/domain", "source": "/attrs/source"},
        },
    }});
    let form = Form {
        encoding,
        framing: Framing::None,
        compression: Compression::None,
    };
    let mapped = Mapped::compile("bench", form, term(&mapping));
    let mapped = mapped.map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
    Ok(Formats {
        search: Format::Mapped,
        mapped: [Some(Arc::new(mapped.with_schemas(schemas))), None],
        ..Formats::NATIVE
    })
}

fn term(value: &Value) -> Term {
    match value {
        Value::Object(keys) => {
            let keys = keys.iter().map(|(key, value)| (key.clone(), term(value)));
            Term::Section(keys.collect())
        }
        other => Term::Text(other.as_str().unwrap_or_default().to_owned()),
    }
}

/// Microseconds a search of a new engine for all records, and its snapshot.
fn time(case: &Case, gold: &Arc<GoldSet>) -> anyhow::Result<(f64, Snapshot)> {
    let settings = law_search::settings()?;
    let registry = Arc::new(Engine::registry(&settings));
    let mut engine = Engine::new(settings, registry, feed::WALL);
    engine.apply(Input::Gold(Arc::clone(gold)));
    let mut numbers = 0_i64..;
    let start = Instant::now();
    for group in case.records.chunks(Engine::MAX_GROUP) {
        let group = group.iter().zip(&mut numbers).map(|(record, number)| {
            let at = Position {
                partition: i32::try_from(number % PARTITIONS).unwrap_or_default(),
                offset: number / PARTITIONS,
            };
            (Kind::Search, at, record.as_slice())
        });
        let rejected = records::apply(&mut engine, &case.formats, group, |_, _, _| ());
        anyhow::ensure!(rejected.is_empty(), "{rejected:?}");
    }
    let micros = start.elapsed().as_secs_f64() * 1e6;
    let snapshot = engine.snapshot();
    let outcomes = snapshot.totals.events.outcomes(Kind::Search);
    let received: u64 = outcomes.iter().map(|(_, count)| count).sum();
    let received = received + snapshot.pending[Kind::Search.index()];
    anyhow::ensure!(
        received == u64::try_from(SEARCHES)?,
        "{received} of {}",
        case.name
    );
    let micros = micros / f64::from(u32::try_from(SEARCHES)?);
    Ok((micros, snapshot))
}
