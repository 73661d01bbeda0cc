//! The decoder accepts what the schemas accept, on generated and mutated events.

use proptest::prelude::*;
use proptest::sample::select;
use rankgauge_core::decode::native;
use rankgauge_core::event::Reason;
use serde_json::{Map, Value, json};

use super::{LIMITS, accepted, schema};

/// Complete valid events: every field of both kinds, and every type of feedback.
fn seeds(kind: &str) -> Vec<Value> {
    if kind == "search" {
        return vec![json!({
            "query_id": "q", "ts": 1_763_337_600_000_i64, "query": "용도지역", "query_key": 7,
            "results": [
                {"id": "a", "rank": 1, "score": 0.5, "group_id": 1, "stages": ["exact"],
                 "team": "A", "text": "t", "hops": 1, "depth": 0,
                 "path": [{"from": "a", "to": 2}], "attrs": {"year": 2024, "list": [1]}},
                {"id": 2}
            ],
            "latency_ms": 4.5, "stages": [{"name": "vector", "latency_ms": 1, "hits": 2, "error": "e"}],
            "usage": [{"operation": "chat", "provider": "p", "model": "m", "input_tokens": 1,
                "output_tokens": 1, "cache_read_input_tokens": 0, "reasoning_output_tokens": 0,
                "cost": {"amount": 0.5, "currency": "EUR"}}],
            "cost": {"amount": 1}, "routing": ["a", "b"], "domain": "a",
            "fired": {"a2a": true, "rne": false}, "merged_from": ["a", 3], "context": ["b", 4],
            "answer": {"id": 1, "text": "t", "citations": ["a", 2, {"id": "b", "span": [0, 2]}],
                "refused": false, "model": "m"},
            "experiment": {"id": 1, "variant": "x"}, "variant": "V5", "session_id": "s",
            "client_id": "c", "user_id": 1, "trace_id": "t", "application": "web",
            "total_hits": 9, "page": 1, "error_type": "timeout",
            "labels": {"channel": "web", "depth": 1, "is_new": true}, "attrs": {"a": {"b": null}}
        })];
    }
    let base = json!({
        "event_id": "e", "ts": "2025-11-17T09:00:00.120+09:00", "query_id": "q", "session_id": "s",
        "client_id": "c", "user_id": 1, "trace_id": "t", "application": "web", "object_id": "d",
        "position": 1, "dwell_ms": 10.5, "value": 1, "min": 0, "max": 5, "name": "n",
        "target": "result", "request": "r", "evaluator": {"id": "judge", "version": 2, "kind": "model"},
        "cost": {"amount": 0.5, "currency": "EUR"}, "comment": "text", "labels": {"a": [1]}, "attrs": {"b": null}
    });
    let types = [
        "impression",
        "click",
        "dwell",
        "conversion",
        "thumbs",
        "rating",
        "judgment",
        "reformulation",
        "comment",
        "custom",
    ];
    let with_type = |name: &str| {
        let mut event = base.clone();
        event["type"] = json!(name);
        event
    };
    types.map(with_type).into()
}

/// Values that a mutation puts in place of another.
fn replacements() -> Vec<Value> {
    let mut values = vec![
        json!(null),
        json!(true),
        json!(false),
        json!(""),
        json!("text"),
        json!("x".repeat(256)),
        json!("x".repeat(257)),
        json!("EUR"),
        json!("eur"),
        json!("click"),
        json!([]),
        json!({}),
        json!([1]),
        json!(["a"]),
        json!([null]),
        json!([[]]),
        json!([{}]),
        json!({"a": 1}),
        json!({"a": true}),
        json!({"a": null}),
        json!({"a": [1]}),
        json!({"a": "b"}),
        json!([{"id": 1}, {"id": "b", "rank": 1}]),
        json!([{"name": "n"}]),
        json!([{"from": 1, "to": "b"}]),
        json!([{"from": 1}]),
        json!({"amount": 1, "currency": "KRW"}),
        json!({"amount": -1}),
    ];
    for number in [
        -1_i64,
        0,
        1,
        2,
        5,
        6,
        1_000,
        1_001,
        99_999_999,
        100_000_000,
        1_763_337_600,
        9_999_999_999,
        10_000_000_000,
        2_592_000_000,
        2_592_000_001,
        1_000_000_000,
        1_000_000_001,
        4_294_967_295,
        4_294_967_296,
        1_763_337_600_000,
    ] {
        values.push(json!(number));
    }
    for number in [-0.5, 0.5, 1.5, 1_763_337_600.5, -1e-300] {
        values.push(json!(number));
    }
    for time in [
        "2025-11-17T09:00:00Z",
        "2025-11-17 09:00:00+09:00",
        "2025-11-17t09:00:00.123456789z",
        "2025-11-17T09:00:00",
        "2025-11-17T09:00Z",
        "2025-11-17",
        "20251117T090000Z",
        "2025-11-17T09:00:00+09",
        "2025-11-17T09:00:00+0900",
        "2025-11-17T09:00:00.Z",
        "2025-11-17T09:00:00.1234567890Z",
        "2025-11-17T09:00:00Z[Asia/Seoul]",
        "2025-11-17T09:00:00,5Z",
        "2025-11-17 09:00:00,123 +0900",
        "2025-11-17 09:00:00,123",
        "2025-11-17 09:00:00 UTC",
        "2025-11-17T09:00+09:00[Asia/Seoul]",
        "2025-11-17T09:00+09:00[]",
        "2025-11-17T09:00[Asia/Seoul]",
        "2025-11-17T09:00,5Z",
        "2025-11-17T09:00:00,5,5Z",
        "2025-11-17T09Z",
        "2025-11-17T09:00:00+9:00",
        "2025-11-17T09:00:00+09:00:00",
        "2025-11-17T09:00:00  Z",
        "2025-11-17T09:00:00U",
        "20251117T0900+09",
        "20251117T090000,5Z",
        "20251117T0900.5Z",
        "20251117T09:00:00Z",
        "2025-11-17T090000Z",
        "2025-11-17T09:00:00\u{ff0b}09:00",
        " 2025-11-17T09:00:00Z",
        "1763337600000",
        "+002025-11-17T09:00:00Z",
    ] {
        values.push(json!(time));
    }
    values
}

/// JSON pointers of all values in `value` except the whole.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let mut visit = |name: &str, inner: &Value| {
        let place = format!("{at}/{name}");
        places(inner, &place, found);
        found.push(place);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, it)| visit(name, it)),
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                visit(&index.to_string(), inner);
            }
        }
        _ => {}
    }
}

#[derive(Clone, Debug)]
enum Mutation {
    Replace(usize, Value),
    Remove(usize),
    Keep(Vec<usize>),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        6 => (any::<usize>(), select(replacements())).prop_map(|(at, to)| Mutation::Replace(at, to)),
        2 => any::<usize>().prop_map(Mutation::Remove),
        1 => prop::collection::vec(any::<usize>(), 1..12).prop_map(Mutation::Keep),
    ]
}

fn mutate(event: &mut Value, mutation: &Mutation) {
    let mut all = Vec::new();
    places(event, "", &mut all);
    let len = all.len();
    if len == 0 {
        return;
    }
    match mutation {
        Mutation::Replace(at, to) => {
            if let Some(place) = event.pointer_mut(&all[at % len]) {
                *place = to.clone();
            }
        }
        Mutation::Remove(at) => {
            let (parent, name) = all[at % len].rsplit_once('/').expect("a pointer");
            match event.pointer_mut(parent) {
                Some(Value::Object(fields)) => drop(fields.remove(name)),
                Some(Value::Array(list)) => drop(list.remove(name.parse().expect("an index"))),
                _ => {}
            }
        }
        // Few optional fields, so that required ones matter.
        Mutation::Keep(kept) => {
            let Value::Object(fields) = event else { return };
            let names: Vec<String> = fields.keys().cloned().collect();
            let kept: Map<String, Value> = kept
                .iter()
                .map(|at| &names[at % names.len()])
                .map(|name| (name.clone(), fields[name].clone()))
                .collect();
            let required = ["query_id", "ts", "results", "event_id", "type"];
            fields.retain(|name, _| kept.contains_key(name) || required.contains(&&**name));
        }
    }
}

/// Returns true for the limits that a schema cannot state: a rating or judgment outside its scale, and values
/// of actions beyond 32 bits.
fn is_beyond_schemas(event: &Value) -> bool {
    let number = |name: &str, default: f64| match &event[name] {
        Value::Number(number) => number.as_f64().unwrap_or(default),
        _ => default,
    };
    let (value, min, max) = (number("value", 0.0), number("min", 1.0), number("max", 5.0));
    let is_rating = event["type"] == "rating";
    let is_large = event["value"].is_i64() && value.abs() > f64::from(i32::MAX);
    let is_judgment = event["type"] == "judgment";
    let is_within = |min: f64, max: f64| min < max && (min..=max).contains(&value);
    is_large
        || is_rating && !is_within(min, max)
        || is_judgment && !is_within(number("min", 0.0), number("max", 1.0))
}

fn check(kind: &str, event: &Value) {
    thread_local! {
        static SCHEMAS: [jsonschema::Validator; 2] = [schema("search"), schema("feedback")];
    }
    let is_valid = SCHEMAS.with(|[search, feedback]| {
        let schema = if kind == "search" { search } else { feedback };
        schema.is_valid(event)
    });
    let decoded = accepted(kind, event.to_string().as_bytes());
    if is_valid && !(kind == "feedback" && is_beyond_schemas(event)) {
        assert_eq!(decoded, Ok(()), "the schema accepts {event}");
    }
    if !is_valid {
        assert!(decoded.is_err(), "the schema refuses {event}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn schema_and_decoder_accept_the_same_searches(
        mutations in prop::collection::vec(mutation(), 0..4),
    ) {
        for mut event in seeds("search") {
            for mutation in &mutations {
                mutate(&mut event, mutation);
            }
            check("search", &event);
        }
    }

    #[test]
    fn schema_and_decoder_accept_the_same_feedback(
        mutations in prop::collection::vec(mutation(), 0..4),
        seed in 0..10_usize,
    ) {
        let mut event = seeds("feedback").swap_remove(seed);
        for mutation in &mutations {
            mutate(&mut event, mutation);
        }
        check("feedback", &event);
    }
}

#[test]
fn every_single_replacement_is_judged_alike() {
    for kind in ["search", "feedback"] {
        for seed in seeds(kind) {
            check(kind, &seed);
            let mut all = Vec::new();
            places(&seed, "", &mut all);
            for place in all {
                for value in replacements() {
                    let mut event = seed.clone();
                    *event.pointer_mut(&place).expect("it exists") = value;
                    check(kind, &event);
                }
            }
        }
    }
}

#[test]
fn times_in_seconds_have_a_reason_of_their_own() {
    let search = |ts: &str| {
        let text = format!(r#"{{"query_id": 1, "ts": {ts}, "query": "a", "results": []}}"#);
        native::search(text.as_bytes(), &LIMITS)
            .map(|_| ())
            .map_err(|error| (error.reason, error.detail))
    };
    for ts in ["1763337600", "1763337600.5", "100000000", "9999999999"] {
        let (reason, detail) = search(ts).expect_err("refused");
        assert_eq!(reason, Reason::TimeInSeconds, "{ts}");
        assert!(
            detail.contains("ts: a time in seconds; send milliseconds"),
            "{detail}"
        );
    }
    for ts in ["99999999", "10000000000", "\"1970-02-01T00:00:00Z\""] {
        assert_eq!(search(ts), Ok(()), "{ts}");
    }
    assert_eq!(
        search("1763337600000.5").expect_err("refused").0,
        Reason::WrongType
    );
}
