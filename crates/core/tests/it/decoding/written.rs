//! Events written as native JSON are read as the same events.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use rankgauge_core::decode::native::{feedback, search};
use rankgauge_core::event::Kind;
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::traffic::{Traffic, TrafficSettings};
use serde_json::{Map, Value, json};

use super::{FULL_SEARCH, LIMITS};

fn assert_search(record: &str) {
    let read = search(record.as_bytes(), &LIMITS).expect("a valid search");
    let written = serde_json::to_string(&read).expect("an event is JSON");
    let again = search(written.as_bytes(), &LIMITS).expect("a written search is valid");
    assert_eq!(format!("{again:?}"), format!("{read:?}"), "{written}");
}

fn assert_feedback(record: &str) {
    let read = feedback(record.as_bytes(), &LIMITS).expect("valid feedback");
    let written = serde_json::to_string(&read).expect("an event is JSON");
    let again = feedback(written.as_bytes(), &LIMITS).expect("written feedback is valid");
    assert_eq!(format!("{again:?}"), format!("{read:?}"), "{written}");
}

#[test]
fn every_field_of_a_search_is_written() {
    let read = search(FULL_SEARCH.as_bytes(), &LIMITS).expect("a valid search");
    let written = serde_json::to_value(&read).expect("an event is JSON");
    let Value::Object(mut written) = written else {
        panic!("{written} is no object");
    };
    let given: Map<String, Value> = serde_json::from_str(FULL_SEARCH).expect("an object");
    for (name, value) in &given {
        let found = written.remove(name);
        // Times and ids have a second form; all other values keep theirs.
        match name.as_str() {
            "ts" => assert_eq!(found, Some(json!(1_763_337_600_120_i64))),
            "query" | "results" | "stages" | "usage" | "cost" | "fired" | "routing" | "labels" => {
                assert!(found.is_some(), "{name} is missing");
            }
            _ if value.is_string() => assert_eq!(found.as_ref(), Some(value), "{name}"),
            _ => {}
        }
    }
    assert!(written.is_empty(), "{written:?} was not in the search");
    assert_search(FULL_SEARCH);
}

#[test]
fn traffic_stays_the_same_when_it_is_written() {
    let corpus = Arc::new(Corpus::generate(1, 50));
    let mut counts = [0; 2];
    for record in Traffic::new(corpus, TrafficSettings::default()).take(2_000) {
        counts[record.kind.index()] += 1;
        let text = std::str::from_utf8(&record.payload).expect("JSON");
        match record.kind {
            Kind::Search => assert_search(text),
            Kind::Feedback => assert_feedback(text),
        }
    }
    assert!(counts[0] > 500 && counts[1] > 500, "{counts:?}");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{1,12}", "[\u{0}-\u{20}\"\\\\/한]{1,8}"]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e12..1e12_f64).prop_map(Value::from),
        select(vec![
            json!(5.0),
            json!(null),
            json!([1]),
            json!({"a": {}}),
            json!(0.1)
        ]),
    ]
}

/// Search with some of the fields of [`FULL_SEARCH`], and any values in its open fields.
fn any_search() -> impl Strategy<Value = String> {
    let full: Map<String, Value> = serde_json::from_str(FULL_SEARCH).expect("an object");
    let optional: Vec<String> = full
        .keys()
        .filter(|name| !["query_id", "ts", "query", "results"].contains(&name.as_str()))
        .cloned()
        .collect();
    let count = optional.len();
    let kept = subsequence(optional, 0..=count);
    let scores = prop::collection::vec(-1e9..1e9_f64, 0..4);
    let attributes = prop::collection::vec((text(), value()), 0..4);
    (kept, text(), scores, attributes).prop_map(move |(kept, query, scores, attributes)| {
        let required = ["query_id", "ts", "results"];
        let names = kept.iter().map(String::as_str).chain(required);
        let mut search: Map<String, Value> = names
            .filter_map(|name| Some((name.to_owned(), full.get(name)?.clone())))
            .collect();
        search.insert("query".to_owned(), query.into());
        let hits = scores.iter().enumerate();
        let hits = hits.map(|(rank, score)| json!({"id": rank, "score": score}));
        search.insert("results".to_owned(), hits.collect());
        search.insert(
            "attrs".to_owned(),
            Value::Object(attributes.into_iter().collect()),
        );
        Value::Object(search).to_string()
    })
}

/// Feedback of every type.
fn any_feedback() -> impl Strategy<Value = String> {
    let types = select(vec![
        json!({"type": "impression"}),
        json!({"type": "click", "position": 3}),
        json!({"type": "dwell", "dwell_ms": 1234.5}),
        json!({"type": "conversion"}),
        json!({"type": "thumbs", "value": -1}),
        json!({"type": "thumbs", "value": true}),
        json!({"type": "rating", "value": 3.5}),
        json!({"type": "rating", "value": 70, "min": 0, "max": 100}),
        json!({"type": "judgment", "value": 2}),
        json!({"type": "reformulation"}),
        json!({"type": "comment", "comment": "good"}),
        json!({"type": "custom", "name": "share"}),
    ]);
    (types, text(), text(), any::<bool>()).prop_map(|(mut event, id, object, has_query)| {
        event["event_id"] = id.into();
        event["ts"] = "2025-11-17T09:00:00.120+09:00".into();
        event["object_id"] = object.into();
        event[if has_query { "query_id" } else { "session_id" }] = json!(42);
        event.to_string()
    })
}

proptest! {
    #[test]
    fn any_search_stays_the_same_when_it_is_written(record in any_search()) {
        assert_search(&record);
    }

    #[test]
    fn any_feedback_stays_the_same_when_it_is_written(record in any_feedback()) {
        assert_feedback(&record);
    }
}
