//! Native events: one, an array or lines, with the rejections of single events.

use serde_json::json;

use super::client::{Gateway, SOON, click, search, topics};
use crate::harness::kafka::broker;
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

#[test]
fn events_are_records_with_their_key_however_they_are_sent() {
    let gateway = Gateway::start("");
    let one = gateway.post("/v1/searches", &search(1));
    assert_eq!(one.status, 200, "{one:?}");
    assert_eq!(one.json(), json!({"accepted": 1, "rejected": []}));
    let array = format!("[{},\n {}]", search(2), search(3));
    assert_eq!(gateway.post("/v1/searches", &array).json()["accepted"], 2);
    let lines = format!("{}\n\n{}\r\n", search(4), search(5));
    assert_eq!(gateway.post("/v1/searches", &lines).json()["accepted"], 2);
    let type_ = [("Content-Type", "application/x-ndjson; charset=utf-8")];
    let declared = gateway.request("POST /v1/searches", &type_, search(6).as_bytes());
    assert_eq!(declared.json()["accepted"], 1);
    let pretty = search(7).replace(',', ",\n  ");
    assert_eq!(gateway.post("/v1/searches", &pretty).json()["accepted"], 1);
    assert_eq!(gateway.post("/v1/feedback", &click(1)).status, 200);
    let expected: Vec<_> = (1..=7)
        .map(|number| {
            let event = search(number);
            let event = if number == 7 {
                event.replace(',', ",   ")
            } else {
                event
            };
            (format!("q{number}"), event)
        })
        .collect();
    assert_eq!(Gateway::records(&gateway.search), expected);
    assert_eq!(
        Gateway::records(&gateway.feedback),
        [("q1".to_owned(), click(1))]
    );
    let metrics = gateway.process.metrics();
    let events = |route, outcome| {
        let labels = [("route", route), ("outcome", outcome)];
        metrics.value("rankgauge_gateway_events_total", &labels)
    };
    assert_eq!(events("searches", "accepted"), Some(7.0));
    assert_eq!(events("feedback", "accepted"), Some(1.0));
    let answered = metrics.value(
        "rankgauge_gateway_request_duration_seconds_count",
        &[("route", "searches")],
    );
    assert_eq!(answered, Some(5.0));
    let slowest = metrics.value(
        "rankgauge_gateway_delivery_duration_seconds",
        &[("route", "searches"), ("quantile", "1")],
    );
    assert!(slowest.is_some_and(|seconds| seconds > 0.0), "{slowest:?}");
}

#[test]
fn an_event_that_is_not_valid_is_named_and_the_others_are_accepted() {
    let gateway = Gateway::start("");
    let wrong = r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[{"rank":1}]}"#;
    let lines = format!("{}\n{wrong}\n{{\"ts\":\n{}\n[]", search(1), search(2));
    let answer = gateway.post("/v1/searches", &lines);
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json(),
        json!({"accepted": 2, "rejected": [
            {"index": 1, "reason": "missing_field", "field": "results[0].id"},
            {"index": 2, "reason": "not_json", "field": null},
            {"index": 4, "reason": "wrong_type", "field": null},
        ]})
    );
    let none = gateway.post("/v1/searches", wrong);
    assert_eq!(
        (none.status, none.json()["accepted"].clone()),
        (400, json!(0))
    );
    for body in ["", "[]", " \n\n"] {
        let empty = gateway.post("/v1/searches", body);
        let reason =
            "the body has no event; send one JSON event, an array of events, or one event a line";
        assert_eq!(
            (empty.status, empty.json()),
            (400, json!({"error": reason})),
            "{body:?}"
        );
    }
    // A session without a search would be in the partition of another key.
    let session =
        r#"{"event_id":"e","ts":1763337600000,"session_id":"s","type":"thumbs","value":1}"#;
    assert_eq!(
        gateway.post("/v1/feedback", session).json(),
        json!({"accepted": 0, "rejected": [
            {"index": 0, "reason": "missing_field", "field": "query_id"},
        ]})
    );
    assert_eq!(Gateway::records(&gateway.search).len(), 2);
    assert!(Gateway::records(&gateway.feedback).is_empty());
}

#[test]
fn the_key_can_be_the_session() {
    let gateway = Gateway::start("gateway: {key: session_id}");
    let without = search(2).replace(r#""session_id":"s2","#, "");
    let body = format!("[{},{without}]", search(1));
    assert_eq!(gateway.post("/v1/searches", &body).json()["accepted"], 2);
    let with = click(1).replace(r#""query_id""#, r#""session_id":"s1","query_id""#);
    let answer = gateway.post("/v1/feedback", &format!("[{with},{}]", click(2)));
    assert_eq!(
        answer.json(),
        json!({"accepted": 1, "rejected": [
            {"index": 1, "reason": "missing_field", "field": "session_id"},
        ]})
    );
    let keys = |topic| -> Vec<String> {
        let records = Gateway::records(topic).into_iter();
        records.map(|(key, _)| key).collect()
    };
    assert_eq!(keys(&gateway.search), ["q2", "s1"]);
    assert_eq!(keys(&gateway.feedback), ["s1"]);
}

#[test]
fn the_sidecar_judges_the_events_of_its_own_gateway() {
    let (search_topic, feedback_topic, group) = topics();
    let settings = format!(
        "kafka:\n  brokers: {}\n  group_id: {group}\n  search_topic: {search_topic}\n  \
         feedback_topic: {feedback_topic}\n  start: earliest\npublish_interval: 100ms\n\
         gateway: {{listen: '127.0.0.1:0'}}\nengine: {{idle_timeout: 1s}}\n",
        broker().bootstrap()
    );
    let mut sidecar = Sidecar::start(&settings, &[]);
    let address = sidecar.gateway_address();
    let post = |path: &str, body: String| {
        let head = format!("POST {path}");
        wait_until(SOON, "the gateway accepts the events", || {
            let answer = super::client::request(address, &head, &[], body.as_bytes());
            (answer.ok()?.status == 200).then_some(())
        });
    };
    let all = |event: fn(usize) -> String| (0..100).map(event).collect::<Vec<_>>().join("\n");
    post("/v1/searches", all(search));
    post("/v1/feedback", all(click));
    for topic in [&search_topic, &feedback_topic] {
        wait_until(SOON, "the sidecar reads the events", || {
            let labels = [("topic", topic.as_str()), ("outcome", "used")];
            let records = sidecar.metrics().sum("rankgauge_records_total", &labels);
            ((records - 100.0).abs() < 0.5).then_some(())
        });
    }
    assert_eq!(sidecar.terminate(SOON).code(), Some(0));
}
