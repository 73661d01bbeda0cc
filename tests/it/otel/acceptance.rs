//! The same hundred searches over every route of a sidecar's gateway lead to the same counters and scores,
//! with repetitions and compression.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use prost::Message as _;
use serde_json::{Value, json};

use super::messages::{Traces, hex, record, span};
use crate::gateway::client::{SOON, request, topics};
use crate::gateway::hostile::gzip;
use crate::harness::kafka::broker;
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::{scratch_folder, wait_until};

const START: u64 = 1_763_337_600_000;
const SEARCHES: u64 = 100;

const GOLD: &str = r#"{"version": "1", "queries": [
    {"query_id": "Q0", "query_text": "query 0", "ground_truth": {"d0": 2, "d3": 1}},
    {"query_id": "Q1", "query_text": "query 1", "ground_truth": {"d1": 1}},
    {"query_id": "Q2", "query_text": "query 2", "ground_truth": {"d4": 2, "d5": 2, "d6": 1}}
]}"#;

/// One of the searches, in whatever form it is sent.
struct Searched {
    trace: String,
    span: String,
    ts: u64,
    query: String,
    results: Vec<String>,
}

impl Searched {
    fn of(number: u64) -> Self {
        let documents = number % 7;
        Self {
            trace: hex(&[u8::try_from(number + 1).expect("a byte"); 16]),
            span: hex(&[u8::try_from(number + 1).expect("a byte"); 8]),
            ts: START + number * 100,
            // The fourth query is not judged.
            query: format!("query {}", number % 4),
            results: (0..documents)
                .map(|document| format!("d{}", (document + number) % 7))
                .collect(),
        }
    }

    fn query_id(&self) -> String {
        format!("{}/{}", self.trace, self.span)
    }

    fn native(&self) -> Value {
        let results: Vec<Value> = self.results.iter().map(|id| json!({"id": id})).collect();
        json!({"query_id": self.query_id(), "ts": self.ts, "query": self.query, "results": results})
    }

    fn ubi(&self) -> Value {
        json!({
            "query_id": self.query_id(), "timestamp": self.ts, "user_query": self.query,
            "query_response_hit_ids": self.results, "client_id": "c",
        })
    }

    fn span(&self) -> Value {
        let mut attributes = vec![
            ("openinference.span.kind".to_owned(), json!("RETRIEVER")),
            ("input.value".to_owned(), json!(self.query)),
            // A list without documents.
            ("output.value".to_owned(), json!("[]")),
        ];
        attributes.extend(self.results.iter().enumerate().map(|(position, id)| {
            let key = format!("retrieval.documents.{position}.document.id");
            (key, json!(id))
        }));
        let attributes: Vec<(&str, Value)> = attributes
            .iter()
            .map(|(key, value)| (key.as_str(), value.clone()))
            .collect();
        let mut span = span(&attributes);
        span["traceId"] = json!(self.trace);
        span["spanId"] = json!(self.span);
        span["endTimeUnixNano"] = json!((self.ts * 1_000_000).to_string());
        span
    }
}

/// Way in which the searches reach a gateway.
type Send<'s> = &'s dyn Fn(SocketAddr, &[Searched]);

/// Sends a body twice, as a client does that got no answer, the second time compressed.
fn send(address: SocketAddr, path: &str, content_type: &str, body: &[u8]) {
    let content = ("Content-Type", content_type);
    let head = format!("POST {path}");
    let plain = request(address, &head, &[content], body).expect("a response");
    assert_eq!(plain.status, 200, "{plain:?}");
    let compressed = [content, ("Content-Encoding", "gzip")];
    let again = request(address, &head, &compressed, &gzip(body)).expect("a response");
    assert_eq!(again.status, 200, "{again:?}");
    assert_eq!(plain.body, again.body);
}

/// Counters and scores that do not depend on what only some of the forms can say.
fn judged(metrics: &Exposition) -> BTreeMap<String, String> {
    let is_compared = |name: &str| {
        name.starts_with("rankgauge_score")
            || name.starts_with("rankgauge_click")
            || name.starts_with("rankgauge_feedback")
            || name == "rankgauge_searches_total"
            || name == "rankgauge_events_total"
    };
    let samples = metrics.samples.iter().filter(|sample| {
        // Slices by the labels of spans.
        let slice = sample.labels.get("slice").map(String::as_str);
        is_compared(&sample.name) && matches!(slice, None | Some("all"))
    });
    let samples = samples.map(|sample| {
        let name = format!("{}{:?}", sample.name, sample.labels);
        (name, sample.text.clone())
    });
    samples.collect()
}

/// Counters of a sidecar that `send` sends the searches to.
fn counters(send: impl FnOnce(SocketAddr, &[Searched])) -> BTreeMap<String, String> {
    let (search, feedback, group) = topics();
    let folder = scratch_folder("acceptance");
    let gold = folder.path().join("gold.json");
    std::fs::write(&gold, GOLD).expect("a file");
    let settings = format!(
        "kafka: {{brokers: '{}', search_topic: {search}, feedback_topic: {feedback}, group_id: {group}, \
         start: earliest}}\npublish_interval: 100ms\ngold: {{paths: [{}]}}\n\
         engine: {{out_of_orderness: 30s, feedback_window: 1m, idle_timeout: 24h}}\n\
         measures: [nDCG@5, RR, R@5]\ngateway: {{listen: '127.0.0.1:0'}}\n",
        broker().bootstrap(),
        gold.display()
    );
    let sidecar = Sidecar::start(&settings, &[]);
    let address = sidecar.gateway_address();
    wait_until(SOON, "the gateway is ready", || {
        let ready = request(address, "GET /readyz", &[], b"").expect("a response");
        (ready.status == 200).then_some(())
    });
    let searches: Vec<Searched> = (0..SEARCHES).map(Searched::of).collect();
    send(address, &searches);
    let clicked = searches.iter().filter(|search| !search.results.is_empty());
    let clicks: Vec<String> = clicked
        .map(|search| {
            let id = search.query_id();
            let click = json!({
                "event_id": format!("e{id}"), "ts": search.ts + 1_000, "query_id": id,
                "type": "click", "object_id": search.results[0],
            });
            click.to_string()
        })
        .collect();
    self::send(
        address,
        "/v1/feedback",
        "application/x-ndjson",
        clicks.join("\n").as_bytes(),
    );
    // Later events of many keys, so that each partition gets one, close the feedback windows.
    let later: Vec<String> = (0..200)
        .map(|number| {
            let ts = START + 1_000_000;
            json!({"query_id": format!("later-{number}"), "ts": ts, "query": "-", "results": []})
                .to_string()
        })
        .collect();
    let closing = request(
        address,
        "POST /v1/searches",
        &[],
        later.join("\n").as_bytes(),
    );
    assert_eq!(closing.expect("a response").status, 200);
    let later: Vec<String> = (0..200)
        .map(|number| {
            let ts = START + 1_000_000;
            json!({"event_id": format!("l{number}"), "ts": ts, "query_id": format!("later-{number}"),
                   "type": "impression"})
            .to_string()
        })
        .collect();
    let closing = request(
        address,
        "POST /v1/feedback",
        &[],
        later.join("\n").as_bytes(),
    );
    assert_eq!(closing.expect("a response").status, 200);
    wait_until(SOON, "the windows of the searches are closed", || {
        let metrics = sidecar.metrics();
        let pending = [("kind", "search")];
        let read = [("kind", "search"), ("outcome", "duplicate")];
        // 85 clicks twice, and 200 later events.
        let feedback = metrics.sum("rankgauge_events_total", &[("kind", "feedback")]);
        let is_closed = metrics.sum("rankgauge_events_total", &read) > 99.5
            && (feedback - 370.0).abs() < 0.5
            && (metrics.sum("rankgauge_events_pending", &pending) - 200.0).abs() < 0.5;
        is_closed.then(|| judged(&metrics))
    })
}

#[test]
fn the_same_searches_over_every_route_lead_to_the_same_counters_and_scores() {
    let traces = |searches: &[Searched]| {
        let spans: Vec<Value> = searches.iter().map(Searched::span).collect();
        let mut record = record(&spans);
        // Its version would be the variant, which the other forms do not state.
        record["resourceSpans"][0]["resource"] = json!({});
        record
    };
    let json_lines = |searches: &[Searched], separator: &str| {
        let events: Vec<String> = searches.iter().map(|it| it.native().to_string()).collect();
        events.join(separator)
    };
    let expected = counters(|address, searches| {
        let body = json_lines(searches, "\n");
        send(
            address,
            "/v1/searches",
            "application/x-ndjson",
            body.as_bytes(),
        );
    });
    let value = |name: &str, labels: &[(&str, &str)]| {
        let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
        expected
            .get(&format!("{name}{labels:?}"))
            .map(String::as_str)
    };
    let outcome = |outcome| {
        value(
            "rankgauge_events_total",
            &[("kind", "search"), ("outcome", outcome)],
        )
    };
    // 75 of the queries are judged; each search and each click was sent twice.
    assert_eq!(outcome("judged"), Some("75"), "{expected:#?}");
    assert_eq!(outcome("duplicate"), Some("100"), "{expected:#?}");
    let scores = expected
        .keys()
        .filter(|key| key.starts_with("rankgauge_score_sum_total"));
    assert!(scores.count() >= 3, "{expected:#?}");
    let routes: [(&str, Send<'_>); 4] = [
        ("OTLP in Protocol Buffers", &|address, searches| {
            let body = Traces::parse(&traces(searches)).encode_to_vec();
            send(address, "/v1/traces", "application/x-protobuf", &body);
        }),
        ("OTLP in JSON", &|address, searches| {
            let body = traces(searches).to_string();
            send(address, "/v1/traces", "application/json", body.as_bytes());
        }),
        ("JSON", &|address, searches| {
            let body = format!("[{}]", json_lines(searches, ","));
            send(address, "/v1/searches", "application/json", body.as_bytes());
        }),
        ("UBI", &|address, searches| {
            let documents: Vec<Value> = searches.iter().map(Searched::ubi).collect();
            let body = json!(documents).to_string();
            send(
                address,
                "/v1/ubi/queries",
                "application/json",
                body.as_bytes(),
            );
        }),
    ];
    for (name, send) in routes {
        assert_eq!(
            counters(|address, searches| send(address, searches)),
            expected,
            "{name}"
        );
    }
}
