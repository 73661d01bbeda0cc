//! Rejections: an example of every reason, with the field that each one names.

use rankgauge_core::decode::native::{feedback, search};
use rankgauge_core::event::Limits;
use rankgauge_core::event::Reason;
use serde_json::json;

use super::{FULL_SEARCH, LIMITS, assert_refused, event, search_with};

#[test]
fn unusable_records_are_rejected_before_parsing() {
    let small = Limits {
        record_bytes: 10,
        ..LIMITS
    };
    assert_refused(search(b"", &LIMITS), Reason::Empty, "no payload");
    assert_refused(
        search(b"{          }", &small),
        Reason::TooLarge,
        "limits.record_bytes is 10",
    );
    assert_refused(
        search(b"{\"query\": \"\xff\"}", &LIMITS),
        Reason::NotUtf8,
        "utf-8",
    );
    for text in [
        "{",
        "nonsense",
        "{\"query_id\": \"q\",}",
        "\u{feff}{}",
        "{\"ts\": 01}",
    ] {
        assert_refused(search(text.as_bytes(), &LIMITS), Reason::NotJson, "");
    }
    let twice = format!("{FULL_SEARCH} {FULL_SEARCH}");
    assert_refused(
        search(twice.as_bytes(), &LIMITS),
        Reason::NotJson,
        "after the end",
    );
}

#[test]
fn a_missing_field_is_reported_by_name() {
    for (text, named) in [
        (r#"{"ts": 1, "query": "q", "results": []}"#, "query_id"),
        (r#"{"query_id": 1, "query": "q", "results": []}"#, "ts"),
        (r#"{"query_id": 1, "ts": 1, "query": "q"}"#, "results"),
        (r#"{"query_id": 1, "ts": 1, "results": []}"#, "query_key"),
        (
            r#"{"query_id": 1, "ts": 1, "query": "q", "results": [{"id": 1}, {"rank": 1}]}"#,
            "results[1]",
        ),
        (
            r#"{"query_id": 1, "ts": 1, "query": "q", "results": [], "stages": [{"hits": 1}]}"#,
            "stages[0]",
        ),
        (
            r#"{"query_id": 1, "ts": 1, "query": "q", "results": [], "cost": {}}"#,
            "amount",
        ),
    ] {
        assert_refused(
            search(text.as_bytes(), &LIMITS),
            Reason::MissingField,
            named,
        );
    }
    for (text, named) in [
        (
            r#"{"ts": 1, "type": "click", "query_id": 1, "position": 1}"#.to_owned(),
            "event_id",
        ),
        (
            r#"{"event_id": 1, "type": "comment", "query_id": 1}"#.to_owned(),
            "ts",
        ),
        (
            r#"{"event_id": 1, "ts": 1, "query_id": 1}"#.to_owned(),
            "type",
        ),
        (
            r#"{"event_id": 1, "ts": 1, "type": "comment"}"#.to_owned(),
            "query_id",
        ),
        (event("click", ""), "object_id"),
        (event("dwell", ""), "dwell_ms"),
        (event("thumbs", ""), "value"),
        (event("rating", ""), "value"),
        (event("judgment", r#""value": 1"#), "object_id"),
        (event("judgment", r#""object_id": 1"#), "value"),
        (event("custom", ""), "name"),
    ] {
        assert_refused(
            feedback(text.as_bytes(), &LIMITS),
            Reason::MissingField,
            named,
        );
    }
}

#[test]
fn a_wrong_type_is_reported_with_its_path() {
    for (field, named) in [
        (r#""query_id": 1.5"#, "query_id"),
        (r#""query_id": true"#, "query_id"),
        (r#""query": 5"#, "query"),
        (r#""results": null"#, "results"),
        (r#""results": {}"#, "results"),
        (r#""results": ["d1"]"#, "results[0]"),
        (r#""results": [{"id": null}]"#, "results[0].id"),
        (r#""results": [{"id": 1, "rank": "1"}]"#, "results[0].rank"),
        (r#""results": [{"id": 1, "rank": 1.5}]"#, "results[0].rank"),
        (
            r#""results": [{"id": 1}, {"id": 2, "stages": [1]}]"#,
            "results[1].stages[0]",
        ),
        (r#""latency_ms": "5""#, "latency_ms"),
        (
            r#""usage": [{"input_tokens": "many"}]"#,
            "usage[0].input_tokens",
        ),
        (r#""cost": 5"#, "cost"),
        (r#""fired": ["a2a"]"#, "fired"),
        (r#""labels": "mobile""#, "labels"),
    ] {
        let text = search_with(field);
        assert_refused(search(text.as_bytes(), &LIMITS), Reason::WrongType, named);
    }
    for text in ["5", "\"text\"", "null"] {
        assert_refused(search(text.as_bytes(), &LIMITS), Reason::WrongType, "");
    }
    for (text, named) in [
        (event("click", r#""position": "1""#), "position"),
        (event("rating", r#""value": true"#), "value"),
        (event("thumbs", r#""value": "up""#), "value"),
        (event("comment", r#""comment": 5"#), "comment"),
        (event("comment", r#""labels": 5"#), "labels"),
    ] {
        assert_refused(feedback(text.as_bytes(), &LIMITS), Reason::WrongType, named);
    }
}

#[test]
fn an_array_in_place_of_an_object_is_a_wrong_type() {
    for (field, named) in [
        (r#""cost": [5]"#, "cost"),
        (r#""results": [["d1"]]"#, "results[0]"),
        (r#""experiment": ["e", "arm"]"#, "experiment"),
    ] {
        let text = search_with(field);
        assert_refused(search(text.as_bytes(), &LIMITS), Reason::WrongType, named);
    }
    assert_refused(search(b"[]", &LIMITS), Reason::WrongType, "");
}

#[test]
fn a_non_string_feedback_type_is_a_wrong_type() {
    for written in ["5", "null", "true", "[]", r#"{"click": null}"#] {
        let text = format!(
            r#"{{"event_id": 1, "query_id": 1, "ts": 1, "position": 1, "type": {written}}}"#
        );
        assert_refused(
            feedback(text.as_bytes(), &LIMITS),
            Reason::WrongType,
            "type",
        );
    }
}

#[test]
fn a_value_out_of_range_is_reported_by_name() {
    for (field, named) in [
        (r#""query_id": """#.to_owned(), "query_id"),
        (format!(r#""query_id": "{}""#, "x".repeat(257)), "query_id"),
        (
            r#""results": [{"id": 1, "rank": 0}]"#.to_owned(),
            "results[].rank",
        ),
        (
            r#""results": [{"id": 1, "rank": -1}]"#.to_owned(),
            "results[0].rank",
        ),
        (r#""latency_ms": -0.1"#.to_owned(), "latency_ms"),
        (r#""latency_ms": 1e300"#.to_owned(), "latency_ms"),
        (
            r#""stages": [{"name": "s", "latency_ms": -1}]"#.to_owned(),
            "stages[].latency_ms",
        ),
        (r#""cost": {"amount": -1}"#.to_owned(), "cost"),
        (
            r#""cost": {"amount": 1, "currency": "won"}"#.to_owned(),
            "cost",
        ),
        (
            r#""usage": [{"cost": {"amount": 1e10}}]"#.to_owned(),
            "usage[].cost",
        ),
        (
            r#""usage": [{"output_tokens": 1000000001}]"#.to_owned(),
            "usage[].output_tokens",
        ),
        (
            r#""usage": [{"input_tokens": -1}]"#.to_owned(),
            "usage[0].input_tokens",
        ),
        (r#""ts": 1, "ts": 2"#.to_owned(), "ts"),
    ] {
        let text = search_with(&field);
        assert_refused(search(text.as_bytes(), &LIMITS), Reason::BadValue, named);
    }
    for (text, named) in [
        (event("tap", ""), "type"),
        (event("click", r#""position": 0"#), "position"),
        (event("dwell", r#""dwell_ms": -1"#), "dwell_ms"),
        (event("thumbs", r#""value": 0.5"#), "value"),
        (event("rating", r#""value": 6"#), "value"),
        (
            event("rating", r#""value": 1, "min": 1, "max": 1"#),
            "value",
        ),
        (
            event("comment", r#""query_id": """#).replace(r#""query_id": "q", "#, ""),
            "query_id",
        ),
    ] {
        assert_refused(feedback(text.as_bytes(), &LIMITS), Reason::BadValue, named);
    }
}

#[test]
fn too_many_results_are_rejected_with_count_and_limit() {
    let results: Vec<_> = (0..101).map(|number| json!({"id": number})).collect();
    let text = search_with(&format!(r#""results": {}"#, json!(results)));
    let refused = search(text.as_bytes(), &LIMITS);
    assert_refused(
        refused.clone().map(drop),
        Reason::TooManyResults,
        "101 results",
    );
    assert_refused(
        refused,
        Reason::TooManyResults,
        "limits.results_per_search is 100",
    );
}
