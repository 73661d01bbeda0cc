//! Searches per second of one worker with OpenTelemetry records and with native JSON of the same
//! documents, side by side in one process: `cargo bench --bench otlp`.
//!
//! Both engines run on one thread with the law-search profile. Rounds alternate, and a ratio is that
//! of two neighbouring rounds. `docs/performance.md` explains the numbers.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads clocks and prints its results"
)]

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
// Linking it replaces `malloc`, as in the product.
use mimalloc as _;
use prost::Message as _;
use rankgauge_core::decode::otlp::{DocumentSource, Mapping};
use rankgauge_core::decode::{Format, Formats};
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::records;
use rankgauge_lab::traffic::{Record, Traffic, TrafficSettings};
use serde_json::{Value, json};

#[path = "rounds/feed.rs"]
#[allow(dead_code, reason = "this benchmark has its own records")]
mod feed;
#[path = "rounds/goal.rs"]
mod goal;
#[path = "rounds/law_search.rs"]
#[allow(dead_code, reason = "this benchmark sets the rate of its records")]
mod law_search;
#[path = "../crates/core/tests/it/otel/messages.rs"]
#[allow(dead_code, clippy::panic, reason = "this benchmark only encodes")]
mod messages;
#[path = "rounds/spread.rs"]
#[allow(dead_code, reason = "this benchmark prints no noise")]
mod spread;

use goal::Goal;
use messages::{Any, KeyValue, Span, Traces};
use spread::Spread;

const SEARCHES: usize = 40_000;
/// Spans of one record.
const SPANS: usize = 100;
const ROUNDS: usize = 9;
/// Lowest ratio of the rates that is accepted.
const TARGET: f64 = 1.0;
const PARTITIONS: i64 = 4;

fn main() -> anyhow::Result<()> {
    let corpus = law_search::corpus();
    let gold = feed::gold(&corpus.gold_json())?;
    let settings = TrafficSettings {
        searches_per_second: 50.0,
        ..TrafficSettings::default()
    };
    let searches = Traffic::new(Arc::clone(&corpus), settings)
        .filter(|record| record.kind == Kind::Search)
        .enumerate()
        .map(|(number, record)| search(number, &record))
        // A span without documents is no search.
        .filter(|search| !search.as_ref().is_ok_and(has_no_results))
        .take(SEARCHES)
        .collect::<anyhow::Result<Vec<Value>>>()?;
    let native: Vec<Vec<u8>> = searches
        .iter()
        .map(|search| search.to_string().into_bytes())
        .collect();
    let service = [text("service.name", "law-search")];
    let spans = searches
        .iter()
        .map(span)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let otlp: Vec<Vec<u8>> = spans
        .chunks(SPANS)
        .map(|spans| Traces::of(&service, spans.to_vec()).encode_to_vec())
        .collect();
    let size = |records: &[Vec<u8>]| records.iter().map(Vec::len).sum::<usize>() / SEARCHES;
    println!(
        "{SEARCHES} searches; a search has {} bytes as native JSON and {} as otlp_proto, of which a \
         record holds {SPANS}",
        size(&native),
        size(&otlp)
    );
    let mut mapping = Mapping {
        group_id: vec![DocumentSource::Metadata("group_id".into())],
        ..Mapping::default()
    };
    mapping.variant = mapping.source("metadata.variant").into_iter().collect();
    let formats = Formats {
        search: Format::OtlpProto,
        otlp: mapping,
        ..Formats::NATIVE
    };
    let mut rates = [Vec::new(), Vec::new()];
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let native = rate(&Formats::NATIVE, &native, &gold)?;
        let otlp = rate(&formats, &otlp, &gold)?;
        rates[0].push(native);
        rates[1].push(otlp);
        ratios.push(otlp / native);
    }
    for (name, rates) in ["native", "otlp_proto"].into_iter().zip(rates) {
        let Spread { median, min, max } = Spread::of(rates);
        println!("{name:<12} {median:>9.0} searches/s (minimum {min:.0}, maximum {max:.0})");
    }
    let Spread { median, min, max } = Spread::of(ratios);
    println!("otlp_proto / native: {median:.2} (minimum {min:.2}, maximum {max:.2})");
    Goal::AtLeast(TARGET).print("otlp_proto against native", median, "×");
    Ok(())
}

/// Searches per second of a new engine for all records.
fn rate(formats: &Formats, records: &[Vec<u8>], gold: &Arc<GoldSet>) -> anyhow::Result<f64> {
    let settings = law_search::settings()?;
    let registry = Arc::new(Engine::registry(&settings));
    let mut engine = Engine::new(settings, registry, feed::WALL);
    engine.apply(Input::Gold(Arc::clone(gold)));
    let start = Instant::now();
    for (number, record) in (0_i64..).zip(records) {
        let at = Position {
            partition: i32::try_from(number % PARTITIONS)?,
            offset: number / PARTITIONS,
        };
        let record = (Kind::Search, at, record.as_slice());
        let rejected = records::apply(&mut engine, formats, [record], |_, _, _| ());
        anyhow::ensure!(rejected.is_empty(), "{rejected:?}");
    }
    let elapsed = start.elapsed();
    let events = engine.snapshot().totals.events;
    let received: u64 = events
        .outcomes(Kind::Search)
        .iter()
        .map(|(_, count)| count)
        .sum();
    let received = received + engine.snapshot().pending[Kind::Search.index()];
    anyhow::ensure!(
        received == u64::try_from(SEARCHES)?,
        "{received} searches were received as {}",
        formats.search.name()
    );
    Ok(f64::from(u32::try_from(received)?) / elapsed.as_secs_f64())
}

/// Search with what a span can state, from the traffic of the demo.
fn search(number: usize, record: &Record) -> anyhow::Result<Value> {
    let event: Value = serde_json::from_slice(&record.payload)?;
    let trace = format!("{:032x}", number + 1);
    // Some searches of the demo state the key of their query only.
    let query = event["query"].as_str().or(event["query_key"].as_str());
    let query = query.context("a search has a query")?;
    let results = event["results"]
        .as_array()
        .context("a search has results")?;
    let results = results.iter().map(|hit| {
        json!({
            "id": hit["id"], "score": hit["score"], "group_id": hit["group_id"],
            "text": "도시ㆍ군관리계획은 광역도시계획에 부합되어야 하며, 그 수립 기준은 대통령령으로 정한다.",
            "attrs": hit["attrs"],
        })
    });
    Ok(json!({
        "query_id": format!("{trace}/{:016x}", number + 1),
        "ts": event["ts"], "query": query, "latency_ms": event["latency_ms"],
        "trace_id": trace, "session_id": trace, "variant": event["variant"],
        "application": "law-search",
        "labels": {"span_kind": "retriever", "span_name": "LawRetriever.retrieve"},
        "results": results.collect::<Vec<_>>(),
    }))
}

fn has_no_results(search: &Value) -> bool {
    search["results"].as_array().is_some_and(Vec::is_empty)
}

fn text(key: &str, value: &str) -> KeyValue {
    KeyValue::new(key, Any::Text(value.to_owned()))
}

/// The same search as a span of OpenInference.
fn span(search: &Value) -> anyhow::Result<Span> {
    let id = |text: &Value| -> anyhow::Result<Vec<u8>> {
        let text = text.as_str().context("an id")?;
        let pairs = (0..text.len() / 2).map(|pair| u8::from_str_radix(&text[2 * pair..][..2], 16));
        Ok(pairs.collect::<Result<_, _>>()?)
    };
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let query_id = string(&search["query_id"]);
    let (_, span_id) = query_id.split_once('/').context("a span")?;
    let millis = match &search["ts"] {
        Value::Number(number) => number.as_u64().context("a time")?,
        time => {
            let time: jiff::Timestamp = time.as_str().context("a time")?.parse()?;
            u64::try_from(time.as_millisecond())?
        }
    };
    let mut attributes = vec![text("input.value", &string(&search["query"]))];
    for (number, hit) in search["results"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let key = |field: &str| format!("retrieval.documents.{number}.document.{field}");
        let mut metadata = hit["attrs"].as_object().cloned().unwrap_or_default();
        if let Some(group) = hit["group_id"].as_str() {
            metadata.insert("group_id".into(), json!(group));
        }
        attributes.push(text(&key("id"), &string(&hit["id"])));
        let score = hit["score"].as_f64().unwrap_or_default();
        attributes.push(KeyValue::new(key("score"), Any::Double(score)));
        attributes.push(text(&key("content"), &string(&hit["text"])));
        attributes.push(text(&key("metadata"), &Value::Object(metadata).to_string()));
    }
    let metadata = json!({"variant": search["variant"]});
    attributes.push(text("metadata", &metadata.to_string()));
    attributes.push(text("openinference.span.kind", "RETRIEVER"));
    Ok(Span {
        trace_id: id(&search["trace_id"])?,
        span_id: id(&json!(span_id))?,
        name: "LawRetriever.retrieve".into(),
        start_time_unix_nano: (millis - 40) * 1_000_000,
        end_time_unix_nano: millis * 1_000_000,
        attributes,
        ..Span::default()
    })
}
