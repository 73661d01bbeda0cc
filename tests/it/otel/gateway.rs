//! Spans and their feedback over the gateway: the same hundred searches over every route are the same
//! records.

use prost::Message as _;
use rankgauge_core::decode::native;
use rankgauge_core::event::Limits;
use serde_json::{Value, json};

use super::fixtures::bytes;
use super::messages::{Span, Traces, hex};
use crate::gateway::client::{Gateway, Response};
use crate::gateway::hostile::gzip;

const PROTO: (&str, &str) = ("Content-Type", "application/x-protobuf");
const JSON: (&str, &str) = ("Content-Type", "application/json");
const LIMITS: Limits = Limits {
    record_bytes: 1 << 20,
    results_per_search: 1_000,
};

/// A hundred searches, and as many spans of other kinds.
fn hundred() -> Traces {
    let mut traces = Traces::decode(&*bytes("llama_index.pb")).expect("a fixture");
    let spans = &mut traces.resource_spans[0].scope_spans[0].spans;
    let like = spans
        .iter()
        .find(|span| !span.name.ends_with("._retrieve"))
        .expect("a search")
        .clone();
    let search = |number: u8| Span {
        trace_id: vec![number; 16],
        span_id: vec![number; 8],
        ..like.clone()
    };
    let other = |number: u8| Span {
        attributes: Vec::new(),
        ..search(number)
    };
    *spans = (1..=100)
        .flat_map(|number| [search(number), other(number + 100)])
        .collect();
    traces
}

/// Expected rejections of a response to a protobuf export: none.
fn assert_complete(answer: &Response) {
    assert_eq!((answer.status, answer.body.len()), (200, 0), "{answer:?}");
    assert!(
        answer.head.contains("content-type: application/x-protobuf"),
        "{}",
        answer.head
    );
}

#[test]
fn the_same_searches_over_every_route_are_the_same_records() {
    let traces = hundred();
    let gateway = Gateway::start("");
    assert_complete(&gateway.request("POST /v1/traces", &[PROTO], &traces.encode_to_vec()));
    let expected = Gateway::records(&gateway.search);
    assert_eq!(expected.len(), 100);
    let (key, event) = expected.first().expect("a record");
    let search = native::search(event.as_bytes(), &LIMITS).expect("a native event");
    assert_eq!(*search.query_id, **key);
    assert!(!search.results.is_empty(), "{event}");
    let metrics = gateway.process.metrics();
    let ignored = [("route", "traces"), ("outcome", "ignored")];
    assert_eq!(
        metrics.value("rankgauge_gateway_events_total", &ignored),
        Some(100.0)
    );
    // A retry of the exporter repeats the same records.
    let compressed = gzip(&traces.encode_to_vec());
    let headers = [PROTO, ("Content-Encoding", "gzip")];
    assert_complete(&gateway.request("POST /v1/traces", &headers, &compressed));
    let mut twice: Vec<_> = expected.iter().chain(&expected).cloned().collect();
    twice.sort();
    assert_eq!(Gateway::records(&gateway.search), twice);

    let json_route = Gateway::start("");
    let answer = json_route.request(
        "POST /v1/traces",
        &[JSON],
        traces.json().to_string().as_bytes(),
    );
    assert_eq!((answer.status, answer.json()), (200, json!({})));
    assert_eq!(Gateway::records(&json_route.search), expected);

    let events: Vec<&str> = expected.iter().map(|(_, event)| event.as_str()).collect();
    for body in [format!("[{}]", events.join(",")), events.join("\n")] {
        let native_route = Gateway::start("");
        let answer = native_route.post("/v1/searches", &body);
        assert_eq!(answer.json(), json!({"accepted": 100, "rejected": []}));
        assert_eq!(Gateway::records(&native_route.search), expected);
    }

    let ubi = Gateway::start("");
    let documents: Vec<Value> = events.iter().map(|event| ubi_query(event)).collect();
    let answer = ubi.post("/v1/ubi/queries", &json!(documents).to_string());
    assert_eq!(answer.json(), json!({"accepted": 100, "rejected": []}));
    for ((key, written), (same_key, event)) in Gateway::records(&ubi.search).iter().zip(&expected) {
        assert_eq!(key, same_key);
        let [written, event] = [written, event]
            .map(|it| native::search(it.as_bytes(), &LIMITS).expect("a native event"));
        let judged = |search: &rankgauge_core::event::Search<'_>| {
            let results: Vec<String> = search.results.iter().map(|it| it.id.to_string()).collect();
            (
                search.query.as_deref().map(str::to_owned),
                search.ts,
                results,
            )
        };
        assert_eq!(judged(&written), judged(&event));
    }
}

/// Document of `ubi_queries` with the content of a native search.
fn ubi_query(event: &str) -> Value {
    let event: Value = serde_json::from_str(event).expect("JSON");
    let ids = event["results"].as_array().expect("results").iter();
    let ids: Vec<&Value> = ids.map(|hit| &hit["id"]).collect();
    json!({
        "query_id": event["query_id"], "timestamp": event["ts"], "user_query": event["query"],
        "client_id": "c", "query_response_hit_ids": ids,
    })
}

#[test]
fn rejected_spans_are_a_partial_success() {
    let mut traces = hundred();
    let spans = &mut traces.resource_spans[0].scope_spans[0].spans;
    // A search without a query.
    let first = spans.first_mut().expect("a span");
    first
        .attributes
        .retain(|attribute| !attribute.key.starts_with("input."));
    let gateway = Gateway::start("");
    let answer = gateway.request(
        "POST /v1/traces",
        &[JSON],
        traces.json().to_string().as_bytes(),
    );
    assert_eq!(answer.status, 200);
    let partial = &answer.json()["partialSuccess"];
    assert_eq!(partial["rejectedSpans"], "1", "{answer:?}");
    assert!(
        partial["errorMessage"]
            .as_str()
            .is_some_and(|text| text.starts_with("1 "))
    );
    let answer = gateway.request("POST /v1/traces", &[PROTO], &traces.encode_to_vec());
    // partial_success {rejected_spans: 1, error_message}.
    assert_eq!(
        (answer.status, &answer.body[..1], &answer.body[2..5]),
        (200, &[10_u8][..], &[8, 1, 18][..])
    );
    assert_eq!(Gateway::records(&gateway.search).len(), 2 * 99);
}

#[test]
fn messages_that_cannot_be_read_are_refused() {
    let gateway = Gateway::start("");
    let whole = hundred().encode_to_vec();
    let cut = gateway.request("POST /v1/traces", &[PROTO], &whole[..whole.len() / 2]);
    assert_eq!(cut.status, 400);
    let text = String::from_utf8_lossy(&cut.body).into_owned();
    assert!(text.contains("not an export request"), "{text}");
    // Groups of Protocol Buffers, one within the other.
    let deep = gateway.request("POST /v1/traces", &[PROTO], &vec![0x0b; 100_000]);
    assert_eq!(deep.status, 400);
    let nested = format!("{{\"resourceSpans\":{}", "[".repeat(100_000));
    let nested = gateway.request("POST /v1/logs", &[JSON], nested.as_bytes());
    assert_eq!(nested.status, 400);
    assert!(nested.json()["message"].is_string());
    let other = gateway.request("POST /v1/traces", &[("Content-Type", "text/plain")], &whole);
    assert_eq!(other.status, 415);
    let empty = gateway.request("POST /v1/traces", &[PROTO], b"");
    assert_complete(&empty);
    assert!(Gateway::records(&gateway.search).is_empty());
}

#[test]
fn evaluations_of_users_are_feedback() {
    let gateway = Gateway::start("otlp: {feedback: {user_feedback: thumbs}}");
    let trace = vec![7_u8; 16];
    let record = |name: &str| {
        let attribute = |key: &str, value: Value| json!({"key": key, "value": value});
        json!({
            "timeUnixNano": "1763337600000000000", "traceId": hex(&trace), "spanId": "0707070707070707",
            "eventName": "gen_ai.evaluation.result",
            "attributes": [
                attribute("gen_ai.evaluation.name", json!({"stringValue": name})),
                attribute("gen_ai.evaluation.score.value", json!({"doubleValue": 1.0})),
            ],
        })
    };
    let records = json!([record("user_feedback"), record("hallucination")]);
    let logs = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]});
    let answer = gateway.request("POST /v1/logs", &[JSON], logs.to_string().as_bytes());
    assert_eq!((answer.status, answer.json()), (200, json!({})));
    let records = Gateway::records(&gateway.feedback);
    let [(key, event)] = records.as_slice() else {
        panic!("{records:?}");
    };
    assert_eq!(*key, format!("{}/0707070707070707", hex(&trace)));
    let event: Value = serde_json::from_str(event).expect("JSON");
    assert_eq!(
        (&event["type"], &event["value"]),
        (&json!("thumbs"), &json!(true))
    );
}
