//! Leniency of the UBI decoder: ignored fields, rejections by field name, and no panic on garbage.

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::decode::ubi::{Dialect, Meaning};
use rankgauge_core::event::Reason;
use rankgauge_core::event::{Action, Search};
use rankgauge_core::event::{Limits, Rejection};

use super::super::{LIMITS, TOKENS, assert_refused};
use super::{dialect, event, feedback_of, search_of, search_with};

const FULL_QUERY: &str = r#"{"query_id": "q", "client_id": "c", "session_id": "s", "user_id": 7,
    "application": "portal", "user_query": "건폐율 \"이란\"", "timestamp": "2025-11-17T09:00:00.120+09:00",
    "object_id_field": "asin", "query": "{}", "query_response_id": "r",
    "query_response_hit_ids": ["법_77::chunk 0", 15, null],
    "query_attributes": {"variant": "V5", "query_key": "Q2", "latency_ms": "418.5", "device": "mobile",
        "page": 2, "beta": true, "weight": 0.5, "experiment": {"id": 42, "variant": "treatment"}, "deep": [[{}]]}}"#;

const FULL_EVENT: &str = r#"{"query_id": "q", "client_id": "c", "session_id": "s", "user_id": "",
    "timestamp": "2025-11-17T00:00:00.120Z", "action_name": "item_click", "message_type": "INFO", "message": null,
    "event_attributes": {"object": {"object_id": "법_77", "object_id_field": "asin", "object_detail": {"a": [1]}},
        "position": {"ordinal": 3, "x": -1, "trail": ["a"]}, "dwell_time": 40.5, "value": 4, "min": 1, "max": 5}}"#;

#[test]
fn every_used_field_of_a_query_is_read() {
    let found = search_of(FULL_QUERY);
    assert_eq!(&*found.query_id, "q");
    assert_eq!(found.ts.0, 1_763_337_600_120);
    assert_eq!(found.query.as_deref(), Some("건폐율 \"이란\""));
    assert_eq!(found.query_key.as_deref(), Some("Q2"));
    let ids: Vec<&str> = found.results.iter().map(|hit| &*hit.id).collect();
    assert_eq!(ids, ["법_77::chunk 0", "15", ""]);
    assert_eq!(found.latency_ms, Some(418.5));
    assert_eq!(found.variant.as_deref(), Some("V5"));
    assert_eq!(found.variant(), "treatment", "the arm wins");
    let experiment = found.experiment.as_ref().expect("an experiment");
    assert_eq!(experiment.id.as_deref(), Some("42"));
    assert_eq!(found.session_id.as_deref(), Some("c"), "the client is it");
    assert_eq!(found.client_id.as_deref(), Some("c"));
    assert_eq!(found.user_id.as_deref(), Some("7"));
    assert_eq!(found.application.as_deref(), Some("portal"));
    let labels = found.labels.as_ref().expect("labels");
    for (name, value) in [
        ("device", Some("mobile")),
        ("page", Some("2")),
        ("beta", Some("true")),
        ("weight", Some("0.5")),
        ("experiment", None),
        ("deep", None),
    ] {
        assert_eq!(labels.label(name).as_deref(), value, "{name}");
    }
}

#[test]
fn every_known_name_of_the_results_field_is_read() {
    for field in [
        "query_response_hit_ids",
        "query_response_objects_ids",
        "query_response_object_ids",
    ] {
        let text = search_with(&format!(r#""{field}": ["a", "b"]"#));
        assert_eq!(search_of(&text).results.len(), 2, "{field}");
    }
    let both =
        search_with(r#""query_response_hit_ids": ["a"], "query_response_objects_ids": ["b", "c"]"#);
    assert_eq!(&*search_of(&both).results[0].id, "a", "the specification's");
    let filled =
        search_with(r#""query_response_hit_ids": [], "query_response_objects_ids": ["b", "c"]"#);
    assert_eq!(search_of(&filled).results.len(), 2);
    let nothing =
        search_with(r#""query_response_hit_ids": [], "query_response_objects_ids": null"#);
    assert!(search_of(&nothing).results.is_empty());
}

#[test]
fn times_are_read_in_every_accepted_notation() {
    let times = [
        (r#""2018-11-13T20:20:39+00:00""#, 1_542_140_439_000),
        (r#""2018-11-13T20:20:39Z""#, 1_542_140_439_000),
        (r#""2018-11-13T20:20:39""#, 1_542_140_439_000),
        (r#""2018-11-13 20:20:39.5""#, 1_542_140_439_500),
        (r#""2018-11-13 20:20:39,5""#, 1_542_140_439_500),
        (r#""2018-11-14T05:20:39.001+0900""#, 1_542_140_439_001),
        (r#""2018-11-14 05:20:39 +0900""#, 1_542_140_439_000),
        (r#""2018-11-13""#, 1_542_067_200_000),
        ("1542140439000", 1_542_140_439_000),
        ("1542140439000.0", 1_542_140_439_000),
        (r#""1542140439000""#, 1_542_140_439_000),
    ];
    for (written, millis) in times {
        let text =
            format!(r#"{{"query_id": "q", "timestamp": {written}, "query_response_hit_ids": []}}"#);
        assert_eq!(search_of(&text).ts.0, millis, "{written}");
        let text = format!(r#"{{"query_id": "q", "timestamp": {written}, "action_name": "a"}}"#);
        assert_eq!(feedback_of(&text).ts.0, millis, "{written}");
    }
    for (written, reason) in [
        (r#""yesterday""#, Reason::BadValue),
        (r#""2018-13-13T20:20:39""#, Reason::BadValue),
        ("1.5", Reason::BadValue),
        ("18446744073709551615", Reason::BadValue),
        ("-1", Reason::BadValue),
        ("true", Reason::WrongType),
        ("[1]", Reason::WrongType),
        ("null", Reason::MissingField),
    ] {
        let text = format!(r#"{{"query_id": "q", "timestamp": {written}, "action_name": "a"}}"#);
        let found = dialect(1).feedback(text.as_bytes(), &LIMITS);
        assert_refused(found, reason, "timestamp");
    }
}

#[test]
fn missing_fields_are_reported_by_name() {
    fn found(text: &str) -> Result<Box<Search<'_>>, Rejection> {
        Dialect::search(text.as_bytes(), &LIMITS)
    }
    let query = |text| assert_refused(found(text), Reason::MissingField, "query_id");
    query(r#"{"timestamp": 1, "query_response_hit_ids": []}"#);
    query(r#"{"query_id": null, "timestamp": 1, "query_response_hit_ids": []}"#);
    query(r#"{"query_id": "", "timestamp": 1, "query_response_hit_ids": []}"#);
    assert_refused(
        found(r#"{"query_id": "q", "query_response_hit_ids": []}"#),
        Reason::MissingField,
        "timestamp",
    );
    assert_refused(
        found(r#"{"query_id": "q", "timestamp": 1, "query_response_hit_ids": null}"#),
        Reason::MissingField,
        "query_response_hit_ids",
    );
    let found = |text: &str| dialect(1).feedback(text.as_bytes(), &LIMITS).err();
    for (text, name) in [
        (r#"{"query_id": "q", "timestamp": 1}"#, "action_name"),
        (r#"{"query_id": "q", "action_name": "a"}"#, "timestamp"),
        (
            r#"{"timestamp": 1, "action_name": "a", "query_id": ""}"#,
            "query_id",
        ),
        (&event("click", ""), "event_attributes.object.object_id"),
        (&event("dwell", ""), "event_attributes.dwell_time"),
    ] {
        let rejection = found(text).expect("something is missing");
        assert_eq!(rejection.reason, Reason::MissingField, "{text}");
        assert!(rejection.detail.contains(name), "{rejection}");
    }
}

#[test]
fn invalid_fields_are_reported_by_name() {
    for (field, value, reason) in [
        ("query_id", "[1]", Reason::WrongType),
        ("query_id", "1.5", Reason::WrongType),
        ("client_id", "{}", Reason::WrongType),
        ("user_query", "[]", Reason::WrongType),
        ("query_response_hit_ids", r#""a""#, Reason::WrongType),
        ("query_response_hit_ids", "[[]]", Reason::WrongType),
        ("query_response_objects_ids", "[0.5]", Reason::WrongType),
        (
            "query_id",
            &format!("\"{}\"", "x".repeat(257)),
            Reason::BadValue,
        ),
        (
            "client_id",
            &format!("\"{}\"", "x".repeat(257)),
            Reason::BadValue,
        ),
    ] {
        let mut fields = vec![
            ("query_id", r#""q""#),
            ("timestamp", "1"),
            ("query_response_hit_ids", "[]"),
        ];
        fields.retain(|(name, _)| *name != field);
        fields.push((field, value));
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("\"{name}\": {value}"))
            .collect();
        let text = format!("{{{}}}", fields.join(", "));
        assert_refused(Dialect::search(text.as_bytes(), &LIMITS), reason, field);
    }
    let text = event("click", r#""object": {"object_id": [1]}"#);
    let found = dialect(1).feedback(text.as_bytes(), &LIMITS);
    assert_refused(
        found,
        Reason::WrongType,
        "event_attributes.object.object_id",
    );
    let few = Limits {
        results_per_search: 1,
        ..LIMITS
    };
    let text = search_with(r#""query_response_hit_ids": ["a", "b"]"#);
    let found = Dialect::search(text.as_bytes(), &few);
    assert_refused(found, Reason::TooManyResults, "limits.results_per_search");
    assert_refused(Dialect::search(b"", &LIMITS), Reason::Empty, "no payload");
    assert_refused(Dialect::search(b"[]", &LIMITS), Reason::WrongType, "array");
    assert_refused(
        Dialect::search(b"[{}, {}]", &LIMITS),
        Reason::NotJson,
        "after the end",
    );
}

#[test]
fn documents_are_read_as_exports_of_an_index_write_them() {
    let exported = |index: &str, document: &str| {
        format!(
            r#"{{"_index": "{index}", "_type": "_doc", "_id": "1", "_score": 1, "_source": {document}}}"#
        )
    };
    let query = exported("ubi_queries", FULL_QUERY);
    let (found, expected) = (search_of(&query), search_of(FULL_QUERY));
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    let event = exported("ubi_events", FULL_EVENT);
    let (found, expected) = (feedback_of(&event), feedback_of(FULL_EVENT));
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    let facets = search_with(r#""query": "{\"size\":0}", "query_response_hit_ids": []"#);
    assert_refused(
        Dialect::search(exported("ubi_queries", &facets).as_bytes(), &LIMITS),
        Reason::BadValue,
        "`size` is 0",
    );
    for (wrong, reason, detail) in [
        (
            r#"{"_index": "i", "_id": "1"}"#,
            Reason::MissingField,
            "query_id",
        ),
        (
            r#"{"_index": "i", "_source": 7}"#,
            Reason::WrongType,
            "integer `7`",
        ),
        (r#"{"_index": "i", "_source": {"#, Reason::NotJson, ""),
    ] {
        assert_refused(Dialect::search(wrong.as_bytes(), &LIMITS), reason, detail);
    }
}

#[test]
fn unusable_attributes_are_ignored() {
    for attributes in [
        "null",
        "7",
        r#""text""#,
        "[1, [2]]",
        r#"{"variant": {}, "query_key": [], "latency_ms": "soon", "experiment": [1]}"#,
        r#"{"variant": null, "query_key": "", "latency_ms": -1, "experiment": ""}"#,
    ] {
        let text = search_with(&format!(
            r#""query_response_hit_ids": [], "query_attributes": {attributes}"#
        ));
        let found = search_of(&text);
        assert_eq!(found.variant(), "", "{attributes}");
        assert!(found.query_key.is_none() && found.latency_ms.is_none());
    }
    for attributes in [
        r#""object": null, "position": null"#,
        r#""object": "x", "position": 7, "session_id": []"#,
        r#""position": {"ordinal": null, "xy": {"x": 1, "y": 2}}"#,
        r#""position": {"ordinal": "third"}"#,
        r#""position": {"ordinal": 1.5}"#,
    ] {
        let text = event("anything", attributes);
        let found = feedback_of(&text);
        assert_eq!((found.position, found.action), (None, Action::Custom));
        assert!(found.object_id.is_none());
    }
    let text =
        r#"{"query_id": "q", "timestamp": 1, "action_name": "view", "event_attributes": null}"#;
    assert_eq!(feedback_of(text).action, Action::Impression);
}

#[test]
fn ordinals_start_at_the_configured_base_and_invalid_ones_are_ignored() {
    for (base, ordinal, position) in [
        (1, "1", Some(1)),
        (1, "3", Some(3)),
        (1, "\"3\"", Some(3)),
        (1, "3.0", Some(3)),
        (1, "0", None),
        (1, "-1", None),
        (0, "0", Some(1)),
        (0, "2", Some(3)),
        (0, "-1", None),
        (0, "4294967295", None),
        (1, "4294967295", Some(u32::MAX)),
        (1, "-9223372036854775808", None),
        (0, "9223372036854775807", None),
        (1, "1e300", None),
    ] {
        let text = event("click", &format!(r#""position": {{"ordinal": {ordinal}}}"#));
        let found = dialect(base).feedback(text.as_bytes(), &LIMITS);
        if ordinal == "1e300" {
            let rejection = found.expect_err("nothing says what was clicked");
            assert_eq!(rejection.reason, Reason::MissingField);
            continue;
        }
        let found = found.expect("a click");
        assert_eq!(found.position, position, "{ordinal} from {base}");
    }
}

#[test]
fn actions_have_the_configured_meaning_and_default_to_custom() {
    let meanings: Vec<(&str, Meaning)> = Meaning::names().collect();
    let configured = Dialect {
        ordinal_base: 1,
        actions: meanings
            .iter()
            .map(|(name, meaning)| (format!("my {name}"), *meaning))
            .collect(),
    };
    let attributes =
        r#""object": {"object_id": "d"}, "dwell_time": 1.5, "value": 1, "min": 0, "max": 1"#;
    for (name, _) in &meanings {
        let text = event(&format!("my {name}"), attributes);
        let found = configured
            .feedback(text.as_bytes(), &LIMITS)
            .expect("valid");
        let wanted = if name.starts_with("thumbs") {
            "thumbs"
        } else {
            name
        };
        assert_eq!(Action::NAMES[found.action.index()], wanted);
        match found.action {
            Action::Dwell { dwell_ms } => assert_eq!(dwell_ms.to_string(), "1500"),
            Action::Thumbs { up } => assert_eq!(up, *name != "thumbs_down"),
            Action::Rating { value, min, max } => {
                assert_eq!([value, min, max].map(|it| it.to_string()), ["1", "0", "1"]);
            }
            _ => {}
        }
        let text = event(name, attributes);
        let found = configured
            .feedback(text.as_bytes(), &LIMITS)
            .expect("valid");
        assert_eq!(found.action, Action::Custom, "{name} was not configured");
    }
    let text = event("my rating", r#""value": 7"#);
    let found = configured.feedback(text.as_bytes(), &LIMITS);
    assert_refused(found, Reason::BadValue, "event_attributes: value");
}

#[test]
fn the_client_id_takes_precedence_over_the_session_id() {
    let found = |fields: &str| {
        let text = format!(r#"{{"timestamp": 1, "action_name": "a", {fields}}}"#);
        let event = dialect(1)
            .feedback(text.as_bytes(), &LIMITS)
            .expect("valid");
        event.session_id.map(|id| id.to_string())
    };
    let within = r#""event_attributes": {"session_id": "old"}"#;
    for (fields, session) in [
        (r#""client_id": "c", "session_id": "s""#, "c"),
        (r#""client_id": null, "session_id": "s""#, "s"),
        (r#""client_id": "", "session_id": 7"#, "7"),
        (within, "old"),
        (&format!(r#""session_id": "s", {within}"#), "s"),
    ] {
        assert_eq!(found(fields).as_deref(), Some(session), "{fields}");
    }
    let text =
        search_with(r#""query_response_hit_ids": [], "query_attributes": {"session_id": "s"}"#);
    assert_eq!(search_of(&text).session_id.as_deref(), Some("s"));
}

#[test]
fn resent_events_have_equal_ids_and_different_events_do_not() {
    let id = |text: &str| feedback_of(text).event_id.to_string();
    assert_eq!(id(FULL_EVENT), id(&FULL_EVENT.replace("INFO", "WARN")));
    let others = [
        FULL_EVENT.replace("\"client_id\": \"c\"", "\"client_id\": \"d\""),
        FULL_EVENT.replace("\"query_id\": \"q\"", "\"query_id\": \"r\""),
        FULL_EVENT.replace("item_click", "click"),
        FULL_EVENT.replace(".120Z", ".121Z"),
        FULL_EVENT.replace("법_77", "법_78"),
        FULL_EVENT.replace("\"ordinal\": 3", "\"ordinal\": 4"),
        FULL_EVENT.replace("\"ordinal\": 3", "\"ordinal\": null"),
    ];
    for other in &others {
        assert_ne!(id(FULL_EVENT), id(other), "{other}");
    }
    // SHA-256 of the parts, each preceded by its length in 64 bits, from another implementation.
    assert_eq!(id(FULL_EVENT), "7c976f2b52dd9d997eea35ab810d9992");
    let own = FULL_EVENT.replace("\"message\": null", "\"event_id\": \"mine\"");
    assert_eq!(id(&own), "mine");
}

#[test]
fn a_request_for_facets_only_is_rejected() {
    for query in [
        r#""{\"size\":0,\"aggregations\":{}}""#,
        r#""{\"size\":\"0\"}""#,
        r#"{"size": 0}"#,
    ] {
        let text = search_with(&format!(
            r#""query_response_hit_ids": [], "query": {query}"#
        ));
        assert_refused(
            Dialect::search(text.as_bytes(), &LIMITS),
            Reason::BadValue,
            "size",
        );
        let text = text.replace("[]", r#"["a"]"#);
        assert_eq!(search_of(&text).results.len(), 1, "it had results");
    }
    for query in [
        "7",
        "null",
        "[]",
        r#""ram OR memory""#,
        r#"{"size": 20}"#,
        r#""{}""#,
    ] {
        let text = search_with(&format!(
            r#""query_response_hit_ids": [], "query": {query}"#
        ));
        assert!(search_of(&text).results.is_empty(), "{query}");
    }
}

/// Decodes `payload` as both kinds; any result is fine, a panic is not.
fn survives(payload: &[u8]) -> Result<(), TestCaseError> {
    let rejections = [
        Dialect::search(payload, &LIMITS).err(),
        dialect(0).feedback(payload, &LIMITS).err(),
    ];
    for rejection in rejections.into_iter().flatten() {
        prop_assert!((1..=300).contains(&rejection.detail.len()), "{rejection}");
    }
    Ok(())
}

/// JSON tokens, and field names of User Behavior Insights records.
fn fragment() -> impl Strategy<Value = &'static str> {
    let names = [
        "\"timestamp\"",
        "\"action_name\"",
        "\"event_attributes\"",
        "\"object\"",
        "\"position\"",
        "\"ordinal\"",
        "\"query_response_hit_ids\"",
        "\"query_attributes\"",
        "\"experiment\"",
        "\"query\"",
    ];
    prop::sample::select([&TOKENS[..], &names].concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(payload in vec(any::<u8>(), 0..300)) {
        survives(&payload)?;
    }

    #[test]
    fn arbitrary_json_like_text_never_panics(fragments in vec(fragment(), 0..60)) {
        survives(fragments.concat().as_bytes())?;
    }

    #[test]
    fn a_record_with_flipped_bytes_never_panics(
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        of_search in any::<bool>(),
        in_array in any::<bool>(),
    ) {
        let text = if of_search { FULL_QUERY } else { FULL_EVENT };
        let text = if in_array { format!("[{text}]") } else { text.to_owned() };
        let mut payload = text.into_bytes();
        survives(&payload[..cut.index(payload.len())])?;
        for (place, byte) in flips {
            let place = place.index(payload.len());
            payload[place] = byte;
        }
        survives(&payload)?;
    }
}

#[test]
fn deep_nesting_is_ignored_or_rejected() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let middle = if open == "[" { "" } else { "1" };
        let nested = format!("{}{middle}{}", open.repeat(100_000), close.repeat(100_000));
        for field in [
            "query_attributes",
            "query_response_hit_ids",
            "query",
            "unknown",
        ] {
            let text = search_with(&format!(
                r#""query_response_hit_ids": [], "{field}": {nested}"#
            ));
            // Either is fine; a stack overflow is not.
            drop(Dialect::search(text.as_bytes(), &LIMITS));
        }
        for field in ["object", "position", "value", "unknown"] {
            let text = event("click", &format!(r#""{field}": {nested}"#));
            drop(dialect(1).feedback(text.as_bytes(), &LIMITS));
        }
        drop(Dialect::search(nested.as_bytes(), &LIMITS));
        // The request is text inside the record, nested equally deep.
        let text = search_with(&format!(
            r#""query_response_hit_ids": [], "query": {}"#,
            serde_json::Value::from(nested)
        ));
        drop(Dialect::search(text.as_bytes(), &LIMITS));
    }
}
