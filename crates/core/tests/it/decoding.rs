//! Decoding of bytes to events: every field is read, every rejection names the wrong field, and no
//! input makes the decoder panic.

mod avro_writer;
mod encodings;
mod evaluations;
mod files;
mod hostile;
mod mapped;
mod members;
mod parser;
mod refusals;
mod shared;
mod ubi;
mod written;

use rankgauge_core::decode::native::{feedback, search};
use rankgauge_core::event::Reason;
use rankgauge_core::event::{Action, Amount, Attributes, Feedback, Search, Value};
use rankgauge_core::event::{Limits, Rejection};
use rankgauge_core::time::EventTime;

const LIMITS: Limits = Limits {
    record_bytes: 1 << 20,
    results_per_search: 100,
};

/// JSON tokens, and a few tokens that are not JSON.
const TOKENS: [&str; 18] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    "null",
    "true",
    "-",
    "1e999",
    "0.1",
    "\"query_id\"",
    "\"\\ud800\"",
    "\u{0}",
    "한",
    " ",
];

const FULL_SEARCH: &str = r#"{
    "query_id": "01JCW2Z6Q4", "ts": "2025-11-17T09:00:00.120+09:00",
    "query": "국토계획법 \"제17조\"", "query_key": "Q001",
    "results": [
        {"id": "법_제17조::chunk 0", "rank": 1, "score": 0.93, "group_id": "법_제17조",
         "stages": ["exact", "vector"], "team": "A", "text": "도시ㆍ군관리계획", "hops": 2, "depth": 3,
         "path": [{"from": "법_제17조", "to": 15}], "attrs": {"law_type": "법률", "year": 2024}}
    ],
    "latency_ms": 418.5,
    "stages": [{"name": "vector", "latency_ms": 38.2, "hits": 20, "error": "timeout"}],
    "usage": [{"operation": "chat", "provider": "anthropic", "model": "m", "input_tokens": 1000,
               "output_tokens": 500, "cache_read_input_tokens": 400, "reasoning_output_tokens": 200,
               "cost": {"amount": 0.0125, "currency": "EUR"}}],
    "cost": {"amount": 12.5, "currency": "KRW"},
    "routing": ["도시계획", "환경"], "domain": "도시계획", "fired": {"a2a": true, "rne": false},
    "merged_from": ["a", 7], "context": ["b"],
    "experiment": {"id": 42, "variant": "treatment"}, "variant": "V5",
    "session_id": "s", "client_id": "c", "user_id": 9007199254740993, "trace_id": "t",
    "application": "portal", "total_hits": 1234, "page": 2, "error_type": "partial",
    "labels": {"device": "mobile", "beta": false, "weight": 0.5},
    "attrs": {"free": {"as": "air"}}, "unknown": {"deep": [1, 2, {"er": null}]}
}"#;

fn search_of(text: &str) -> Search<'_> {
    *search(text.as_bytes(), &LIMITS).expect("a valid search")
}

fn feedback_of(text: &str) -> Feedback<'_> {
    feedback(text.as_bytes(), &LIMITS).expect("a valid event")
}

/// Search with `field` (`"name": value`) in place of, or beside, the required fields.
fn search_with(field: &str) -> String {
    let mut fields = vec![
        (r#""query_id""#, r#""query_id": "q""#),
        (r#""ts""#, r#""ts": 1763337600120"#),
        (r#""query""#, r#""query": "건폐율""#),
        (r#""results""#, r#""results": []"#),
    ];
    fields.retain(|(name, _)| !field.starts_with(name));
    let mut fields: Vec<&str> = fields.into_iter().map(|(_, field)| field).collect();
    fields.push(field);
    format!("{{{}}}", fields.join(", "))
}

/// Feedback event of one type with the given `fields`.
fn event(kind: &str, fields: &str) -> String {
    let fields = if fields.is_empty() {
        String::new()
    } else {
        format!(", {fields}")
    };
    format!(r#"{{"event_id": "e", "query_id": "q", "ts": 1, "type": "{kind}"{fields}}}"#)
}

#[track_caller]
fn assert_refused<T>(found: Result<T, Rejection>, reason: Reason, named: &str) {
    let Err(rejection) = found else {
        panic!("accepted, though {named} is wrong");
    };
    assert_eq!(rejection.reason, reason, "{rejection}");
    assert!(
        rejection.detail.contains(named),
        "{rejection} does not name {named}"
    );
}

#[test]
fn every_field_of_a_search_is_read() {
    let found = search_of(FULL_SEARCH);
    assert_eq!(&*found.query_id, "01JCW2Z6Q4");
    assert_eq!(found.ts, EventTime(1_763_337_600_120));
    assert_eq!(found.query.as_deref(), Some("국토계획법 \"제17조\""));
    assert_eq!(found.query_key.as_deref(), Some("Q001"));
    assert_eq!(found.latency_ms, Some(418.5));
    assert_eq!(found.routing.as_ref().map(Vec::len), Some(2));
    assert_eq!(found.domain.as_deref(), Some("도시계획"));
    let fired = found.fired.as_ref().expect("components");
    assert_eq!(fired.label("a2a").as_deref(), Some("true"));
    assert_eq!(fired.label("rne").as_deref(), Some("false"));
    let merged: Vec<&str> = found.merged_from.iter().flatten().map(|id| &**id).collect();
    assert_eq!(merged, ["a", "7"]);
    let context: Vec<&str> = found.context.iter().flatten().map(|id| &**id).collect();
    assert_eq!(context, ["b"]);
    let experiment = found.experiment.as_ref().expect("an experiment");
    assert_eq!(experiment.id.as_deref(), Some("42"));
    assert_eq!(found.variant.as_deref(), Some("V5"));
    assert_eq!(
        found.variant(),
        "treatment",
        "the arm wins over the version"
    );
    assert_eq!(found.session_id.as_deref(), Some("s"));
    assert_eq!(found.client_id.as_deref(), Some("c"));
    assert_eq!(
        found.user_id.as_deref(),
        Some("9007199254740993"),
        "beyond 2^53"
    );
    assert_eq!(found.trace_id.as_deref(), Some("t"));
    assert_eq!(found.application.as_deref(), Some("portal"));
    assert_eq!((found.total_hits, found.page), (Some(1_234), Some(2)));
    assert_eq!(found.error_type.as_deref(), Some("partial"));
    assert_eq!(
        found.attrs.as_ref().map(|Attributes(attrs)| attrs.len()),
        Some(1)
    );
}

#[test]
fn every_field_of_a_result_a_stage_and_a_call_is_read() {
    let found = search_of(FULL_SEARCH);
    let hit = &found.results[0];
    assert_eq!(&*hit.id, "법_제17조::chunk 0");
    assert_eq!(
        (hit.rank, hit.score.map(|score| score.get())),
        (Some(1), Some(0.93))
    );
    let details = hit.details();
    assert_eq!(details.group_id.as_deref(), Some("법_제17조"));
    let stages: Vec<&str> = details
        .stages
        .iter()
        .flatten()
        .map(|stage| &**stage)
        .collect();
    assert_eq!(stages, ["exact", "vector"]);
    assert_eq!(details.team.as_deref(), Some("A"));
    assert_eq!(details.text.as_deref(), Some("도시ㆍ군관리계획"));
    assert_eq!((details.hops, details.depth), (Some(2), Some(3)));
    let edge = &details.path.as_ref().expect("a path")[0];
    assert_eq!((&*edge.from, &*edge.to), ("법_제17조", "15"));
    let attrs = details.attrs.as_ref().expect("attributes");
    assert_eq!(attrs.label("law_type").as_deref(), Some("법률"));
    assert_eq!(attrs.label("year").as_deref(), Some("2024"));
    let stage = &found.stages.as_ref().expect("stages")[0];
    assert_eq!(
        (&*stage.name, stage.error.as_deref()),
        ("vector", Some("timeout"))
    );
    assert_eq!((stage.latency_ms, stage.hits), (Some(38.2), Some(20)));
    let call = &found.usage.as_ref().expect("calls")[0];
    assert_eq!(call.operation.as_deref(), Some("chat"));
    assert_eq!(call.provider.as_deref(), Some("anthropic"));
    assert_eq!(call.model.as_deref(), Some("m"));
    assert_eq!(
        (call.input_tokens, call.output_tokens),
        (Some(1_000), Some(500))
    );
    assert_eq!(call.cache_read_input_tokens, Some(400));
    assert_eq!(call.reasoning_output_tokens, Some(200));
    let cost = call.cost.as_ref().expect("a cost");
    assert_eq!(
        (cost.amount.to_string().as_str(), cost.currency()),
        ("0.0125", "EUR")
    );
    let cost = found.cost.as_ref().expect("a cost");
    assert_eq!(
        (cost.amount.to_string().as_str(), cost.currency()),
        ("12.5", "KRW")
    );
}

#[test]
fn scalar_labels_are_read_as_text_and_others_are_absent() {
    let found = search_of(FULL_SEARCH);
    let labels = found.labels.as_ref().expect("labels");
    for (name, value) in [
        ("device", Some("mobile")),
        ("beta", Some("false")),
        ("weight", Some("0.5")),
        ("absent", None),
    ] {
        assert_eq!(labels.label(name).as_deref(), value, "{name}");
    }
    let attrs = found.attrs.as_ref().expect("attributes");
    assert_eq!(attrs.0[0].1, Value::Other);
}

#[test]
fn optional_fields_of_a_search_may_be_absent_or_null() {
    let smallest = search_of(r#"{"query_id": 1, "ts": 0, "query_key": 5, "results": []}"#);
    assert_eq!(
        (&*smallest.query_id, smallest.query_key.as_deref()),
        ("1", Some("5"))
    );
    assert_eq!(smallest.variant(), "");
    let nulls = search_with(
        r#""query_key": null, "latency_ms": null, "stages": null, "usage": null, "cost": null,
           "experiment": null, "variant": null, "labels": null, "page": null, "total_hits": null"#,
    );
    let nulls = search_of(&nulls);
    assert!(nulls.query_key.is_none() && nulls.labels.is_none() && nulls.cost.is_none());
}

#[test]
fn ids_may_be_integers_of_any_sign_and_size() {
    for (written, id) in [
        ("0", "0"),
        ("-17", "-17"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        (r#""007""#, "007"),
        (r#""a b::한글""#, "a b::한글"),
    ] {
        let text = search_with(&format!(r#""query_id": {written}"#));
        assert_eq!(&*search_of(&text).query_id, id);
    }
}

#[test]
fn times_with_any_offset_equal_their_epoch_milliseconds() {
    for written in [
        "1763337600120",
        r#""2025-11-17T00:00:00.120Z""#,
        r#""2025-11-17T09:00:00.120+09:00""#,
        r#""2025-11-16T19:00:00.12-05:00""#,
        r#""2025-11-17T00:00:00.120999999z""#,
    ] {
        let text = search_with(&format!(r#""ts": {written}"#));
        assert_eq!(
            search_of(&text).ts,
            EventTime(1_763_337_600_120),
            "{written}"
        );
    }
}

#[test]
fn times_in_other_forms_with_one_meaning_are_read() {
    for (written, millis) in [
        ("2025-11-17T09:00:00.120+0900", 120),
        ("2025-11-17T09:00:00.120+09", 120),
        ("2025-11-17 00:00:00,120Z", 120),
        ("2025-11-17 09:00:00,120 +0900", 120),
        ("2025-11-17 00:00:00.120 UTC", 120),
        ("2025-11-17T00:00Z", 0),
        ("2025-11-17T09:00+09:00", 0),
        ("2025-11-17T09:00+09:00[Asia/Seoul]", 0),
        ("2025-11-16T19:00:00.12-05:00[America/New_York]", 120),
        ("20251117T000000Z", 0),
        ("20251117T0900+0900", 0),
        ("20251117T090000,120+09", 120),
    ] {
        let text = search_with(&format!(r#""ts": "{written}""#));
        let expected = EventTime(1_763_337_600_000 + millis);
        assert_eq!(search_of(&text).ts, expected, "{written}");
        assert_eq!(
            written.parse::<EventTime>().ok(),
            Some(expected),
            "{written}"
        );
    }
}

#[test]
fn a_time_without_an_offset_is_rejected_as_one() {
    for written in [
        "2025-11-17T09:00:00",
        "2025-11-17 09:00:00,123",
        "2025-11-17T09:00",
        "20251117T090000",
        "2025-11-17T09:00:00[Asia/Seoul]",
    ] {
        let text = search_with(&format!(r#""ts": "{written}""#));
        let problem = "ts: a time without an offset; write";
        assert_refused(search(text.as_bytes(), &LIMITS), Reason::BadValue, problem);
    }
}

#[test]
fn times_without_an_offset_or_in_other_units_are_rejected() {
    for (written, reason) in [
        (r#""2025-11-17T09:00:00+25:99""#, Reason::BadValue),
        (r#""2025-11-17T25:00Z""#, Reason::BadValue),
        (r#""20251117T090000""#, Reason::BadValue),
        (r#""2025-11-17T09:00:00-""#, Reason::BadValue),
        (r#""용도지역""#, Reason::BadValue),
        (r#""2025-11-17T09:00:00""#, Reason::BadValue),
        (r#""2025-11-17""#, Reason::BadValue),
        (r#""1763337600120""#, Reason::BadValue),
        (r#""""#, Reason::BadValue),
        ("1763337600", Reason::TimeInSeconds),
        ("1763337600.12", Reason::TimeInSeconds),
        ("true", Reason::WrongType),
        ("null", Reason::WrongType),
        ("-1", Reason::BadValue),
        (r#""1969-12-31T23:59:59Z""#, Reason::BadValue),
        ("18446744073709551615", Reason::BadValue),
        ("1763337600120000", Reason::BadValue),
        ("1763337600120000000", Reason::BadValue),
    ] {
        let text = search_with(&format!(r#""ts": {written}"#));
        assert_refused(search(text.as_bytes(), &LIMITS), reason, "ts");
    }
    for (written, unit) in [
        (
            "1763337600120000",
            "ts: a time in microseconds; send milliseconds",
        ),
        (
            "1763337600120000000",
            "ts: a time in nanoseconds; send milliseconds",
        ),
    ] {
        let text = search_with(&format!(r#""ts": {written}"#));
        assert_refused(search(text.as_bytes(), &LIMITS), Reason::BadValue, unit);
    }
}

#[test]
fn results_are_ordered_by_rank_only_if_every_result_has_one() {
    let order = |results: &str| {
        let text = search_with(&format!(r#""results": [{results}]"#));
        let ids: Vec<String> = search_of(&text)
            .results
            .iter()
            .map(|hit| hit.id.to_string())
            .collect();
        ids.concat()
    };
    let all = r#"{"id": "a", "rank": 3}, {"id": "b", "rank": 1}, {"id": "c", "rank": 2}"#;
    assert_eq!(order(all), "bca");
    let some = r#"{"id": "a", "rank": 3}, {"id": "b"}, {"id": "c", "rank": 1}"#;
    assert_eq!(order(some), "abc");
    let equal = r#"{"id": "a", "rank": 2}, {"id": "b", "rank": 2}, {"id": "c", "rank": 1}"#;
    assert_eq!(order(equal), "cab", "equal ranks stay as listed");
    let with_gaps = r#"{"id": "a", "rank": 4000000000}, {"id": "b", "rank": 11}"#;
    assert_eq!(order(with_gaps), "ba");
}

#[test]
fn every_type_of_feedback_is_read() {
    for (kind, fields, action) in [
        ("impression", "", Action::Impression),
        ("click", r#""position": 3"#, Action::Click),
        ("click", r#""object_id": 5"#, Action::Click),
        (
            "dwell",
            r#""dwell_ms": 30000.5"#,
            Action::Dwell { dwell_ms: 30_000.5 },
        ),
        ("conversion", "", Action::Conversion { amount: None }),
        (
            "conversion",
            r#""amount": 12.5"#,
            Action::Conversion {
                amount: Some(Amount {
                    value: 12.5,
                    currency: *b"USD",
                }),
            },
        ),
        (
            "conversion",
            r#""amount": 3, "currency": "KRW""#,
            Action::Conversion {
                amount: Some(Amount {
                    value: 3.0,
                    currency: *b"KRW",
                }),
            },
        ),
        ("thumbs", r#""value": true"#, Action::Thumbs { up: true }),
        ("thumbs", r#""value": false"#, Action::Thumbs { up: false }),
        ("thumbs", r#""value": 1"#, Action::Thumbs { up: true }),
        ("thumbs", r#""value": -1.0"#, Action::Thumbs { up: false }),
        (
            "rating",
            r#""value": 4"#,
            Action::Rating {
                value: 4.0,
                min: 1.0,
                max: 5.0,
            },
        ),
        (
            "rating",
            r#""value": 0, "min": 0, "max": 10"#,
            Action::Rating {
                value: 0.0,
                min: 0.0,
                max: 10.0,
            },
        ),
        (
            "judgment",
            r#""object_id": "d", "value": 2.5"#,
            Action::Judgment { grade: 2.5 },
        ),
        ("reformulation", "", Action::Reformulation),
        ("comment", r#""comment": "좋아요""#, Action::Comment),
        ("custom", r#""name": "print", "value": 2"#, Action::Custom),
    ] {
        let text = event(kind, fields);
        assert_eq!(feedback_of(&text).action, action, "{text}");
    }
    let text = event(
        "click",
        r#""object_id": 5, "position": 2, "session_id": "s", "unknown": []"#,
    );
    let click = feedback_of(&text);
    assert_eq!((&*click.event_id, click.ts), ("e", EventTime(1)));
    assert_eq!(click.query_id.as_deref(), Some("q"));
    assert_eq!(click.object_id.as_deref(), Some("5"));
    assert_eq!(
        (click.position, click.session_id.as_deref()),
        (Some(2), Some("s"))
    );
    let of_session = r#"{"event_id": 1, "session_id": 2, "ts": 1, "type": "rating", "value": 5}"#;
    assert!(feedback_of(of_session).query_id.is_none());
}
