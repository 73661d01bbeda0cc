//! Records of other forms: UBI, and mappings of the configuration.

use rankgauge_core::decode::native;
use rankgauge_core::event::Limits;
use serde_json::{Value, json};

use super::client::Gateway;

#[test]
fn a_mapping_reads_records_of_the_application() {
    let gateway = Gateway::start(
        "formats:
  shop:
    encoding: json
    mapping:
      search:
        time: millis
        fields: {query_id: /rid, ts: /at, query: /q}
        hits: {list: /hits, id: /sku}
",
    );
    let record = |id: &str| json!({"rid": id, "at": 1_763_337_600_000_i64, "q": "x", "hits": [{"sku": "a"}]});
    let body = format!(
        "{}\n{}\n{}",
        record("q1"),
        json!({"rid": "q2"}),
        record("q3")
    );
    let answer = gateway.post("/v1/searches?format=shop", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["accepted"], 2);
    assert_eq!(answer.json()["rejected"][0]["index"], 1);
    let records = Gateway::records(&gateway.search);
    let [(first, event), (second, _)] = records.as_slice() else {
        panic!("{records:?}");
    };
    assert_eq!((first.as_str(), second.as_str()), ("q1", "q3"));
    let event: Value = serde_json::from_str(event).expect("JSON");
    assert_eq!(event["results"], json!([{"id": "a"}]));
    for (path, reason) in [
        ("/v1/feedback?format=shop", "does not map"),
        ("/v1/searches?format=unknown", "names no format"),
    ] {
        let refused = gateway.post(path, &record("q4").to_string());
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(
            refused.json()["error"]
                .as_str()
                .is_some_and(|text| text.contains(reason))
        );
    }
}

#[test]
fn records_that_the_mapping_does_not_select_are_ignored() {
    let gateway = Gateway::start(
        "formats:
  shop:
    encoding: json
    mapping:
      search:
        when: {/meta/type: search}
        time: micros
        fields: {query_id: /rid, ts: /meta/ts, query: /q}
        hits: {list: /hits, id: /sku}
",
    );
    let record = |kind: &str, micros: i64| json!({"meta": {"type": kind, "ts": micros}, "rid": "q1", "q": "x", "hits": [{"sku": "a"}]});
    let post = |records: &[Value]| {
        let answer = gateway.post("/v1/searches?format=shop", &json!(records).to_string());
        (answer.status, answer.json())
    };
    let search = record("search", 1_763_337_600_000_000);
    let heartbeat = record("heartbeat", 1);
    let wrong = record("search", 1_763_337_600_000);
    assert_eq!(
        post(&[heartbeat.clone(), heartbeat.clone()]),
        (200, json!({"accepted": 0, "ignored": 2, "rejected": []}))
    );
    assert_eq!(
        post(&[heartbeat.clone(), search]),
        (200, json!({"accepted": 1, "ignored": 1, "rejected": []}))
    );
    let rejected = json!([{"index": 1, "reason": "bad_value", "field": "/meta/ts"}]);
    assert_eq!(
        post(&[heartbeat, wrong]),
        (
            400,
            json!({"accepted": 0, "ignored": 1, "rejected": rejected})
        )
    );
}

#[test]
fn ubi_events_are_feedback() {
    let gateway = Gateway::start("");
    let event = json!({
        "action_name": "click", "query_id": "q1", "client_id": "c", "timestamp": 1_763_337_600_000_i64,
        "event_attributes": {"object": {"object_id": "a"}, "position": {"ordinal": 1}},
    });
    let answer = gateway.post("/v1/ubi/events", &event.to_string());
    assert_eq!(answer.json(), json!({"accepted": 1, "rejected": []}));
    let records = Gateway::records(&gateway.feedback);
    let (key, written) = records.first().expect("a record");
    let written: Value = serde_json::from_str(written).expect("JSON");
    assert_eq!((key.as_str(), &written["type"]), ("q1", &json!("click")));
    assert_eq!(
        (&written["object_id"], &written["position"]),
        (&json!("a"), &json!(1))
    );
}

#[test]
fn a_ubi_search_without_a_text_is_a_search_that_the_sidecar_reads() {
    let gateway = Gateway::start("");
    let search = json!({
        "query_id": "q1", "client_id": "c", "timestamp": 1_763_337_600_000_i64,
        "query_response_hit_ids": ["a"],
    });
    let answer = gateway.post("/v1/ubi/queries", &search.to_string());
    assert_eq!(answer.json(), json!({"accepted": 1, "rejected": []}));
    let records = Gateway::records(&gateway.search);
    let (_, written) = records.first().expect("a record");
    let limits = Limits {
        record_bytes: 1 << 16,
        results_per_search: 10,
    };
    let read = native::search(written.as_bytes(), &limits).expect("a native search");
    assert_eq!(read.query.as_deref(), Some(""));
}
