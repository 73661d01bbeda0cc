//! Mapping of every member that native events have.

use std::collections::BTreeSet;

use rankgauge_core::decode::EventRef;
use rankgauge_core::event::{Acceptance, Kind, Rejection};
use serde_json::{Value, json};

use super::mapped::{JSON, LIMITS, formats};

/// Record of a search in names and shapes of its own.
fn own_search() -> Value {
    json!({
        "head": {
            "no": "01JCW2Z6Q4", "at": 1_763_337_600_120_i64, "trace": "4bf9", "app": "law",
            "probe": "false", "who": {"session": 81, "client": "web-3", "user": 4711},
            "test": {"name": "rne-rollout", "arm": "V4"},
        },
        "in": {
            "text": "zoning", "gold": "Q001", "page": "1", "size": 10, "order": "relevance",
            "facets": ["brand"],
        },
        "out": {
            "ms": 418.5, "matched": 126, "failure": "timeout",
            "hits": [{
                "doc": {"no": 17, "parent": "law-17", "body": "plan", "kind": "law"}, "place": 0,
                "points": 0.93, "found_by": [{"step": "exact"}, {"step": "vector"}], "team": "A",
                "far": 1, "deep": 2, "edges": [{"source": "a", "target": 17}],
            }],
            "domains": [{"name": "planning", "p": 0.9}, {"name": "zones", "p": 0.1}],
            "domain": "planning", "candidates": [{"id": 17}, {"id": "b"}, {"id": 17}],
            "used": ["a", 17],
        },
        "steps": [{"step": "vector", "ms": 38.2, "n": 20, "failure": "slow"}],
        "parts": {"rne": true, "a2a": "false"},
        "calls": [{
            "op": "chat", "by": "openai", "name": "gpt-4o", "in": 900, "out": 120, "cached": 256,
            "thought": 10, "price": 0.00345, "unit": "EUR",
        }],
        "price": {"sum": "0.0036", "unit": "USD"},
        "rag": {
            "no": 4, "text": "see 17", "sources": [{"doc": {"no": 17}}, {"doc": {"no": "b"}}],
            "declined": false, "by": "gpt-4o",
        },
        "tags": {"device": "mobile", "ui": "2025.11"},
    })
}

fn search_mapping() -> Value {
    json!({"search": {
        "position_base": 0,
        "fields": {
            "query_id": "/head/no", "ts": "/head/at", "query": "/in/text", "query_key": "/in/gold",
            "synthetic": "/head/probe", "latency_ms": "/out/ms",
            "routing": {"list": "/out/domains", "id": "/name"}, "domain": "/out/domain",
            "merged_from": {"list": "/out/candidates", "id": "/id"}, "context": "/out/used",
            "experiment": "/head/test/name", "variant": "/head/test/arm",
            "session_id": "/head/who/session", "client_id": "/head/who/client",
            "user_id": "/head/who/user", "trace_id": "/head/trace", "application": "/head/app",
            "total_hits": "/out/matched", "page": "/in/page", "page_size": "/in/size",
            "filters": "/in/facets", "sort": "/in/order", "error_type": "/out/failure",
        },
        "hits": {
            "list": "/out/hits", "id": "/doc/no", "rank": "/place", "score": "/points",
            "group": "/doc/parent", "stages": {"list": "/found_by", "id": "/step"},
            "text": "/doc/body", "team": "/team", "hops": "/far", "depth": "/deep",
            "path": {"list": "/edges", "from": "/source", "to": "/target"},
            "attributes": {"law_type": "/doc/kind"},
        },
        "stages": {
            "list": "/steps", "name": "/step", "latency_ms": "/ms", "hits": "/n", "error": "/failure",
        },
        "usage": {
            "list": "/calls", "operation": "/op", "provider": "/by", "model": "/name",
            "input_tokens": "/in", "output_tokens": "/out", "cache_read_input_tokens": "/cached",
            "reasoning_output_tokens": "/thought", "cost": "/price", "currency": "/unit",
        },
        "cost": {"amount": "/price/sum", "currency": "/price/unit"},
        "answer": {
            "id": "/rag/no", "text": "/rag/text",
            "citations": {"list": "/rag/sources", "id": "/doc/no"}, "refused": "/rag/declined",
            "model": "/rag/by",
        },
        "fired": {"rne": "/parts/rne", "a2a": "/parts/a2a"},
        "labels": {"device": "/tags/device"},
        "attrs": {"ui": "/tags/ui"},
    }})
}

/// The same search as a native event.
fn native_search() -> Value {
    json!({
        "query_id": "01JCW2Z6Q4", "ts": 1_763_337_600_120_i64, "query": "zoning", "query_key": "Q001",
        "synthetic": false,
        "results": [{
            "id": "17", "rank": 1, "score": 0.93, "group_id": "law-17", "stages": ["exact", "vector"],
            "team": "A", "text": "plan", "hops": 1, "depth": 2, "path": [{"from": "a", "to": "17"}],
            "attrs": {"law_type": "law"},
        }],
        "latency_ms": 418.5,
        "stages": [{"name": "vector", "latency_ms": 38.2, "hits": 20, "error": "slow"}],
        "usage": [{
            "operation": "chat", "provider": "openai", "model": "gpt-4o", "input_tokens": 900,
            "output_tokens": 120, "cache_read_input_tokens": 256, "reasoning_output_tokens": 10,
            "cost": {"amount": 0.00345, "currency": "EUR"},
        }],
        "cost": {"amount": 0.0036, "currency": "USD"},
        "routing": ["planning", "zones"], "domain": "planning",
        "fired": {"rne": true, "a2a": false},
        "merged_from": ["17", "b", "17"], "context": ["a", "17"],
        "answer": {
            "id": "4", "text": "see 17", "citations": ["17", "b"], "refused": false, "model": "gpt-4o",
        },
        "experiment": {"id": "rne-rollout", "variant": "V4"}, "variant": "V4",
        "session_id": "81", "client_id": "web-3", "user_id": "4711", "trace_id": "4bf9",
        "application": "law", "total_hits": 126, "page": 1, "page_size": 10, "filters": true,
        "sort": "relevance", "error_type": "timeout",
        "labels": {"device": "mobile"}, "attrs": {"ui": "2025.11"},
    })
}

/// Record of a judgment in names and shapes of its own.
fn own_judgment() -> Value {
    json!({
        "no": 9, "at": "2025-11-17T00:00:00.120Z", "what": "graded", "search": 7, "who": "s-81",
        "doc": "a", "index": 0, "points": "4", "from": 1, "up_to": 5, "about": "answer",
        "property": "faithfulness", "judge": {"name": "judge", "v": 2, "sort": "model", "price": 0.5, "unit": "EUR"},
        "note": "good", "asked": "token", "device": 3, "user": "u", "trace": "t", "app": "law", "lang": "ko",
    })
}

fn feedback_mapping() -> Value {
    json!({"feedback": {
        "time": "rfc3339",
        "position_base": 0,
        "actions": {"graded": "judgment"},
        "fields": {
            "event_id": "/no", "ts": "/at", "type": "/what", "query_id": "/search",
            "session_id": "/who", "object_id": "/doc", "position": "/index", "value": "/points",
            "min": "/from", "max": "/up_to", "dwell_ms": "/dwell", "amount": "/price",
            "currency": "/unit", "name": "/property", "target": "/about", "request": "/asked", "comment": "/note",
            "client_id": "/device", "user_id": "/user", "trace_id": "/trace", "application": "/app",
        },
        "evaluator": {"id": "/judge/name", "version": "/judge/v", "kind": "/judge/sort"},
        "cost": {"amount": "/judge/price", "currency": "/judge/unit"},
        "labels": {"language": "/lang"},
        "attrs": {"language": "/lang"},
    }})
}

/// Native event of a record.
fn native(kind: Kind, mapping: &Value, record: &Value) -> Result<Value, Rejection> {
    let acceptance = Acceptance {
        limits: LIMITS,
        has_gold_texts: true,
    };
    let record = record.to_string();
    let mut found = Err(Rejection::new(
        rankgauge_core::event::Reason::Empty,
        "no event",
    ));
    let formats = formats(JSON, mapping);
    formats.events(kind, record.as_bytes(), &acceptance, &mut |event| {
        found = event.map(|event| match event {
            EventRef::Search(search) => serde_json::to_value(search).expect("JSON"),
            EventRef::Feedback(feedback) => serde_json::to_value(feedback).expect("JSON"),
        });
    })?;
    found
}

#[test]
fn every_member_of_a_search_is_mapped() {
    let found = native(Kind::Search, &search_mapping(), &own_search()).expect("valid");
    assert_eq!(found, native_search());
}

/// Removes a member, and objects that it leaves empty.
fn removed(value: &Value, pointer: &str) -> Value {
    let mut changed = value.clone();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let parent = changed.pointer_mut(parent).expect("a parent");
    let members = parent.as_object_mut().expect("an object");
    assert!(members.remove(name).is_some(), "{pointer}");
    changed
}

#[test]
fn an_absent_source_leaves_its_member_out_alone() {
    let (own, expected) = (own_search(), native_search());
    for (source, member) in [
        ("/in/gold", "/query_key"),
        ("/head/probe", "/synthetic"),
        ("/out/ms", "/latency_ms"),
        ("/out/domains", "/routing"),
        ("/out/domain", "/domain"),
        ("/out/candidates", "/merged_from"),
        ("/out/used", "/context"),
        ("/head/test/name", "/experiment"),
        ("/head/who/session", "/session_id"),
        ("/head/who/client", "/client_id"),
        ("/head/who/user", "/user_id"),
        ("/head/trace", "/trace_id"),
        ("/head/app", "/application"),
        ("/out/matched", "/total_hits"),
        ("/in/page", "/page"),
        ("/in/size", "/page_size"),
        ("/in/facets", "/filters"),
        ("/in/order", "/sort"),
        ("/out/failure", "/error_type"),
        ("/out/hits/0/place", "/results/0/rank"),
        ("/out/hits/0/points", "/results/0/score"),
        ("/out/hits/0/doc/parent", "/results/0/group_id"),
        ("/out/hits/0/found_by", "/results/0/stages"),
        ("/out/hits/0/team", "/results/0/team"),
        ("/out/hits/0/doc/body", "/results/0/text"),
        ("/out/hits/0/far", "/results/0/hops"),
        ("/out/hits/0/deep", "/results/0/depth"),
        ("/out/hits/0/edges", "/results/0/path"),
        ("/out/hits/0/doc/kind", "/results/0/attrs/law_type"),
        ("/steps/0/ms", "/stages/0/latency_ms"),
        ("/steps/0/n", "/stages/0/hits"),
        ("/steps/0/failure", "/stages/0/error"),
        ("/calls/0/op", "/usage/0/operation"),
        ("/calls/0/by", "/usage/0/provider"),
        ("/calls/0/name", "/usage/0/model"),
        ("/calls/0/in", "/usage/0/input_tokens"),
        ("/calls/0/out", "/usage/0/output_tokens"),
        ("/calls/0/cached", "/usage/0/cache_read_input_tokens"),
        ("/calls/0/thought", "/usage/0/reasoning_output_tokens"),
        ("/calls/0/price", "/usage/0/cost"),
        ("/calls/0/unit", "/usage/0/cost/currency"),
        ("/price/sum", "/cost"),
        ("/price/unit", "/cost/currency"),
        ("/rag", "/answer"),
        ("/rag/no", "/answer/id"),
        ("/rag/text", "/answer/text"),
        ("/rag/sources", "/answer/citations"),
        ("/rag/declined", "/answer/refused"),
        ("/rag/by", "/answer/model"),
        ("/parts/a2a", "/fired/a2a"),
        ("/tags/device", "/labels/device"),
        ("/tags/ui", "/attrs/ui"),
    ] {
        let found = native(Kind::Search, &search_mapping(), &removed(&own, source));
        assert_eq!(found, Ok(removed(&expected, member)), "{source}");
    }
}

#[test]
fn every_member_of_feedback_is_mapped() {
    let found = native(Kind::Feedback, &feedback_mapping(), &own_judgment()).expect("valid");
    let evaluator = json!({"id": "judge", "version": "2", "kind": "model"});
    let expected = json!({
        "event_id": "9", "ts": 1_763_337_600_120_i64, "type": "judgment", "query_id": "7",
        "session_id": "s-81", "object_id": "a", "position": 1, "value": 4.0, "min": 1.0, "max": 5.0,
        "target": "answer", "name": "faithfulness", "request": "token", "evaluator": evaluator,
        "cost": {"amount": 0.5, "currency": "EUR"},
    });
    assert_eq!(found, expected);

    // A grade by a person.
    let mut record = own_judgment();
    for member in ["judge", "about", "property", "asked", "from", "up_to"] {
        record[member] = Value::Null;
    }
    let found = native(Kind::Feedback, &feedback_mapping(), &record).expect("valid");
    let expected = json!({
        "event_id": "9", "ts": 1_763_337_600_120_i64, "type": "judgment", "query_id": "7",
        "session_id": "s-81", "object_id": "a", "position": 1, "value": 4.0,
    });
    assert_eq!(found, expected);

    for (kind, extra, expected) in [
        (
            "dwell",
            json!({"dwell": 45_000}),
            json!({"dwell_ms": 45_000.0}),
        ),
        (
            "conversion",
            json!({"price": "9.5", "unit": "EUR"}),
            json!({"amount": 9.5, "currency": "EUR"}),
        ),
        ("thumbs", json!({"points": true}), json!({"value": true})),
        (
            "rating",
            json!({}),
            json!({"value": 4.0, "min": 1.0, "max": 5.0}),
        ),
        (
            "copied",
            json!({}),
            json!({"name": "custom", "type": "custom"}),
        ),
    ] {
        let mut record = own_judgment();
        record["what"] = json!(kind);
        for (name, value) in extra.as_object().expect("an object") {
            record[name] = value.clone();
        }
        let found = native(Kind::Feedback, &feedback_mapping(), &record).expect("valid");
        for (name, value) in expected.as_object().expect("an object") {
            assert_eq!(&found[name], value, "{kind}: {found}");
        }
    }
}

#[test]
fn known_members_are_checked_as_in_native_events() {
    let changed = |pointer: &str, value: Value| {
        let (kind, mapping, mut record) =
            if pointer.starts_with("/out") || pointer.starts_with("/rag") {
                (Kind::Search, search_mapping(), own_search())
            } else {
                (Kind::Feedback, feedback_mapping(), own_judgment())
            };
        *record.pointer_mut(pointer).expect("a member") = value;
        native(kind, &mapping, &record)
            .expect_err("invalid")
            .to_string()
    };
    for (pointer, value, expected) in [
        (
            "/out/hits/0/edges/0/target",
            Value::Null,
            "missing_field: /out/hits/0: /edges/0: /target is missing",
        ),
        (
            "/out/hits/0/edges",
            json!("a"),
            "wrong_type: /out/hits/0: /edges: a list is expected",
        ),
        (
            "/rag/sources/1/doc/no",
            Value::Null,
            "missing_field: /rag/sources/1: /doc/no is missing",
        ),
        (
            "/out/used",
            json!(["a", {"id": 1}]),
            "wrong_type: /out/used: a list of ids is expected, element 1 is an object",
        ),
        (
            "/judge/sort",
            json!("oracle"),
            "bad_value: evaluator.kind: human, model or rule is expected (evaluator.kind is mapped to \
             /judge/sort)",
        ),
        (
            "/about",
            json!("page"),
            "bad_value: target: result, answer or search is expected (target is mapped to /about)",
        ),
        (
            "/note",
            json!([]),
            "wrong_type: /note: text is expected, it is a list",
        ),
    ] {
        assert_eq!(changed(pointer, value), expected, "{pointer}");
    }
}

/// Names of all members of the objects in a schema, with those of their parts.
fn names_of_schema(kind: &str) -> BTreeSet<String> {
    fn collect(schema: &Value, names: &mut BTreeSet<String>) {
        match schema {
            Value::Object(members) => {
                for (name, member) in members {
                    if let ("properties", Some(properties)) = (name.as_str(), member.as_object()) {
                        names.extend(properties.keys().cloned());
                    }
                    collect(member, names);
                }
            }
            Value::Array(members) => members.iter().for_each(|it| collect(it, names)),
            _ => {}
        }
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas");
    let text = std::fs::read_to_string(format!("{root}/{kind}.schema.json")).expect("a schema");
    let mut names = BTreeSet::new();
    collect(&serde_json::from_str(&text).expect("JSON"), &mut names);
    names
}

#[test]
fn no_member_of_the_schemas_is_left_out() {
    fn names(value: &Value, into: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    into.insert(name.clone());
                    names(member, into);
                }
            }
            Value::Array(members) => members.iter().for_each(|it| names(it, into)),
            _ => {}
        }
    }
    let mut search = BTreeSet::new();
    names(&native_search(), &mut search);
    // The span of a citation, which no measure reads.
    search.insert("span".to_owned());
    let schema = names_of_schema("search");
    assert_eq!(
        schema.difference(&search).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );

    let mut feedback = BTreeSet::new();
    names(&feedback_mapping(), &mut feedback);
    let schema = names_of_schema("feedback");
    assert_eq!(
        schema.difference(&feedback).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}

#[test]
fn a_path_of_native_edges_needs_one_pointer() {
    let mut mapping = search_mapping();
    mapping["search"]["hits"]["path"] = json!("/edges");
    let mut record = own_search();
    record["out"]["hits"][0]["edges"] = json!([{"from": "a", "to": 1}, {"from": 1, "to": "b"}]);
    let found = native(Kind::Search, &mapping, &record).expect("valid");
    let expected = json!([{"from": "a", "to": "1"}, {"from": "1", "to": "b"}]);
    assert_eq!(found["results"][0]["path"], expected);
}
