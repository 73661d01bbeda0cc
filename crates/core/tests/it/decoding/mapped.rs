//! Records under a mapping.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use rankgauge_core::decode::framing::{Compression, Framing};
use rankgauge_core::decode::mapped::{Encoding, Form, Mapped, Problem, Term};
use rankgauge_core::decode::{Encoded, Envelope, EventRef, Format, Formats};
use rankgauge_core::event::{Acceptance, Action, Kind, Limits, Reason, Rejection};
use rankgauge_core::time::EventTime;
use serde_json::{Value, json};

pub(super) const JSON: Form = Form {
    encoding: Encoding::Json,
    framing: Framing::None,
    compression: Compression::None,
};

pub(super) const LIMITS: Limits = Limits {
    record_bytes: 100_000,
    results_per_search: 100,
};

pub(super) fn term(value: &Value) -> Term {
    match value {
        Value::Null => Term::Nothing,
        Value::Array(values) => Term::List(values.iter().map(term).collect()),
        Value::Object(values) => {
            let keys = values.iter().map(|(key, value)| (key.clone(), term(value)));
            Term::Section(keys.collect())
        }
        Value::String(text) => Term::Text(text.clone()),
        other => Term::Text(other.to_string()),
    }
}

pub(super) fn formats(form: Form, mapping: &Value) -> Formats {
    let mapped = Mapped::compile("shop", form, term(mapping)).expect("a valid mapping");
    let mapped = Some(Arc::new(mapped));
    Formats {
        search: Format::Mapped,
        feedback: Format::Mapped,
        mapped: [mapped.clone(), mapped],
        ..Formats::NATIVE
    }
}

/// Descriptions of the events of a record, and the number of ignored ones.
fn decoded<'a>(
    formats: &Formats,
    kind: Kind,
    record: impl Into<Encoded<'a>>,
) -> Result<(Vec<String>, u64), Rejection> {
    let acceptance = Acceptance {
        limits: LIMITS,
        has_gold_texts: false,
    };
    let mut events = Vec::new();
    let counts = formats.events(kind, record, &acceptance, &mut |event| {
        events.push(match event {
            Ok(EventRef::Search(search)) => {
                let mut text = format!(
                    "{} {} {:?} {:?}",
                    &*search.query_id,
                    search.ts.0,
                    search.query.as_deref(),
                    search.session_id.as_deref()
                );
                for hit in &search.results {
                    write!(text, " {}", &*hit.id).expect("a string");
                    if let Some(score) = hit.score {
                        write!(text, "={}", score.get()).expect("a string");
                    }
                }
                text
            }
            Ok(EventRef::Feedback(event)) => format!(
                "{:?} {} {:?} {:?} {:?}",
                event.query_id.as_deref(),
                event.ts.0,
                event.action,
                event.object_id.as_deref(),
                event.position
            ),
            Err(rejection) => rejection.to_string(),
        });
    })?;
    Ok((events, counts.ignored))
}

fn shop() -> Value {
    json!({
        "search": {
            "when": {"/meta/type": "search.executed"},
            "time": "micros",
            "fields": {
                "query_id": "/meta/id", "ts": "/meta/ts", "query": "/q",
                "session_id": ["/session", "key"],
            },
            "hits": {"list": "/response/hits", "id": "/doc/id", "score": "/score"},
        },
        "feedback": {
            "position_base": 0,
            "actions": {"opened": "click"},
            "fields": {
                "ts": "/ts", "type": "/type", "query_id": "/search", "object_id": "/doc",
                "position": "/index",
            },
        },
    })
}

fn search() -> Value {
    json!({
        "other": {"a": [1, {"b": null}]},
        "meta": {"type": "search.executed", "id": 7, "ts": 1_763_337_600_120_000_i64},
        "q": "zoning \u{ac80}\u{c0c9} \"x\"",
        "response": {"took": 3, "hits": [
            {"doc": {"id": "a", "kind": 1}, "score": 2.5}, {"score": "1", "doc": {"id": 12}},
        ]},
    })
}

#[test]
fn nested_records_become_events() {
    let formats = formats(JSON, &shop());
    let record = search().to_string();
    let (events, _) = decoded(&formats, Kind::Search, record.as_bytes()).expect("valid");
    let expected = "7 1763337600120 Some(\"zoning \u{ac80}\u{c0c9} \\\"x\\\"\") None a=2.5 12=1";
    assert_eq!(events, [expected]);

    let click = json!({"ts": "2025-11-17T00:00:00Z", "type": "opened", "search": 7, "doc": "a", "index": 0});
    let click = click.to_string();
    let (events, _) = decoded(&formats, Kind::Feedback, click.as_bytes()).expect("valid");
    let action = Action::Click;
    let expected = format!("Some(\"7\") 1763337600000 {action:?} Some(\"a\") Some(1)");
    assert_eq!(events, [expected]);
}

#[test]
fn records_that_the_mapping_does_not_select_are_ignored() {
    let formats = formats(JSON, &shop());
    for record in [
        json!({"meta": {"type": "other", "ts": "x"}}),
        json!({"q": 1}),
    ] {
        let record = record.to_string();
        let (events, ignored) = decoded(&formats, Kind::Search, record.as_bytes()).expect("valid");
        assert_eq!((events.len(), ignored), (0, 1), "{record}");
    }
}

#[test]
fn rejections_name_the_pointer() {
    let formats = formats(JSON, &shop());
    let changed = |pointer: &str, value: Value| {
        let mut record = search();
        *record.pointer_mut(pointer).expect("a member") = value;
        let record = record.to_string();
        let rejection = decoded(&formats, Kind::Search, record.as_bytes());
        rejection.expect_err("invalid").to_string()
    };
    for (pointer, value, expected) in [
        (
            "/meta/id",
            json!(null),
            "missing_field: /meta/id is missing",
        ),
        (
            "/meta/id",
            json!(""),
            "bad_value: query_id: 1 to 256 bytes are expected, it has 0 (query_id is mapped to /meta/id)",
        ),
        (
            "/meta/ts",
            json!([1]),
            "wrong_type: /meta/ts: a whole number is expected, it is a list",
        ),
        (
            "/meta/ts",
            json!(1_763_337_600),
            "bad_value: /meta/ts: a time of 1970; set `time` in the mapping to the unit of the records",
        ),
        (
            "/q",
            json!({}),
            "wrong_type: /q: text is expected, it is an empty object",
        ),
        (
            "/response/hits",
            json!("a"),
            "wrong_type: /response/hits: a list is expected",
        ),
        (
            "/response/hits",
            json!(null),
            "missing_field: /response/hits is missing; a search without results has an empty list",
        ),
        (
            "/response/hits/1/score",
            json!("high"),
            "wrong_type: /response/hits/1: /score: a number is expected, it is text",
        ),
        (
            "/response/hits/1/doc",
            json!(null),
            "missing_field: /response/hits/1: /doc/id is missing",
        ),
        (
            "/response/hits",
            json!(vec![json!({"doc": {"id": 1}}); 101]),
            "too_many_results: /response/hits: more than 100 elements, limits.results_per_search is 100",
        ),
    ] {
        assert_eq!(changed(pointer, value), expected);
    }
    for (record, reason) in [("{\"meta\": ", Reason::NotJson), ("", Reason::Empty)] {
        let rejection = decoded(&formats, Kind::Search, record.as_bytes()).expect_err("invalid");
        assert_eq!(rejection.reason, reason, "{rejection}");
    }
}

#[test]
fn times_have_the_unit_of_the_mapping() {
    let times: [(&str, Value, i64); 6] = [
        ("seconds", json!(1_763_337_600), 1_763_337_600_000),
        ("seconds", json!(1_763_337_600.25), 1_763_337_600_250),
        ("millis", json!("1763337600120"), 1_763_337_600_120),
        (
            "nanos",
            json!(1_763_337_600_120_999_999_i64),
            1_763_337_600_120,
        ),
        (
            "rfc3339",
            json!("2025-11-17T09:00:00.120+09:00"),
            1_763_337_600_120,
        ),
        (
            "rfc3339",
            json!("2025-11-17 09:00:00,120+0900"),
            1_763_337_600_120,
        ),
    ];
    for (unit, ts, expected) in times {
        let mut mapping = shop();
        mapping["search"]["time"] = json!(unit);
        let mut record = search();
        record["meta"]["ts"] = ts;
        let record = record.to_string();
        let events = decoded(&formats(JSON, &mapping), Kind::Search, record.as_bytes());
        let (events, _) = events.expect("valid");
        assert!(
            events[0].starts_with(&format!("7 {expected} ")),
            "{events:?}"
        );
    }
}

#[derive(Debug)]
struct Parts;

impl Envelope for Parts {
    fn key(&self) -> Option<&[u8]> {
        Some(b"{\"user\": {\"id\": 5}}")
    }

    fn timestamp(&self) -> Option<EventTime> {
        Some(EventTime(1_763_337_600_120))
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        (name == "ce_id").then_some(b"h1")
    }

    fn for_each_header(&self, _: &mut dyn FnMut(&str, &[u8])) {}
}

#[test]
fn the_parts_around_a_payload_are_sources() {
    let mapping = json!({"search": {
        "when": {"header:ce_id": "h1"},
        "fields": {
            "query_id": "header:ce_id", "ts": "timestamp", "query": ["/absent", "=text"],
            "session_id": ["/session", "key/user/id"],
        },
        "hits": {"list": "/skus"},
    }});
    let record = Encoded {
        payload: br#"{"skus": ["a", 5]}"#,
        envelope: Some(&Parts),
    };
    let (events, _) = decoded(&formats(JSON, &mapping), Kind::Search, record).expect("valid");
    assert_eq!(events, ["h1 1763337600120 Some(\"text\") Some(\"5\") a 5"]);
}

#[test]
fn a_record_can_hold_a_list_of_events() {
    let mapping = json!({"feedback": {
        "each": "/events",
        "when": {"/name": ["click", "buy"]},
        "actions": {"buy": "conversion"},
        "fields": {
            "ts": ["/at", "^/at"], "type": "/name", "query_id": "/q", "session_id": "^/user/id",
            "object_id": "/ids/0",
        },
    }});
    let record = json!({
        "events": [
            {"name": "click", "q": "s1", "ids": ["a", "b"]},
            {"name": "scroll"},
            {"name": "buy", "q": "s1", "ids": ["c"], "at": "2025-11-17T00:00:01Z"},
            {"name": "click", "q": "s1", "ids": 3},
        ],
        "at": "2025-11-17T00:00:00Z",
        "user": {"id": "u"},
    });
    let record = record.to_string();
    let formats = formats(JSON, &mapping);
    let (events, ignored) = decoded(&formats, Kind::Feedback, record.as_bytes()).expect("valid");
    assert_eq!(ignored, 1);
    let expected = [
        "Some(\"s1\") 1763337600000 Click Some(\"a\") None",
        "Some(\"s1\") 1763337601000 Conversion { amount: None } Some(\"c\") None",
        "missing_field: /events/3: a click needs `object_id` or `position` (object_id is mapped to \
         /ids/0)",
    ];
    assert_eq!(events, expected);
}

#[test]
fn pages_filters_and_sorting_are_mapped() {
    let mut mapping = shop();
    let fields = &mut mapping["search"]["fields"];
    fields["page"] = json!("/page");
    fields["filters"] = json!("/filters");
    fields["sort"] = json!("/sort");
    let formats = formats(JSON, &mapping);
    let acceptance = Acceptance {
        limits: LIMITS,
        has_gold_texts: false,
    };
    for (filters, is_filtered) in [
        (json!(null), false),
        (json!(false), false),
        (json!([]), false),
        (json!({}), false),
        (json!(""), false),
        (json!(["a"]), true),
        (json!({"brand": "x"}), true),
        (json!("brand:x"), true),
    ] {
        let mut record = search();
        record["page"] = json!(2);
        record["filters"] = filters;
        record["sort"] = json!("price");
        let record = record.to_string();
        let mut seen = 0;
        let counts = formats.events(Kind::Search, record.as_bytes(), &acceptance, &mut |event| {
            let Ok(EventRef::Search(search)) = event else {
                panic!("{event:?}");
            };
            seen += 1;
            assert_eq!(search.is_filtered, is_filtered, "{record}");
            assert_eq!(
                (search.page, search.sort.as_deref()),
                (Some(2), Some("price"))
            );
        });
        assert_eq!((counts.is_ok(), seen), (true, 1));
    }
}

/// Page of a search whose record has `members`, under further `fields` and `keys` of its mapping.
fn page_of(fields: &Value, base: Option<u32>, members: &Value) -> Result<Option<u32>, String> {
    let mut mapping = shop();
    let merge = |into: &mut Value, from: &Value| {
        let from = from.as_object().expect("an object").clone();
        into.as_object_mut().expect("an object").extend(from);
    };
    merge(&mut mapping["search"]["fields"], fields);
    if let Some(base) = base {
        mapping["search"]["page_base"] = base.into();
    }
    let formats = formats(JSON, &mapping);
    let mut record = search();
    merge(&mut record, members);
    let record = record.to_string();
    let mut page = None;
    let visit = &mut |event: Result<EventRef<'_>, Rejection>| match event {
        Ok(EventRef::Search(search)) => page = search.page,
        other => panic!("{other:?}"),
    };
    let acceptance = Acceptance {
        limits: LIMITS,
        has_gold_texts: false,
    };
    let decoded = formats.events(Kind::Search, record.as_bytes(), &acceptance, visit);
    decoded.map_err(|rejection| rejection.to_string())?;
    Ok(page)
}

#[test]
fn pages_count_from_the_base_of_the_mapping() {
    let page = json!({"page": "/page"});
    for (base, stated, expected) in [
        (Some(0), json!(0), Some(1)),
        (Some(0), json!(1), Some(2)),
        (Some(0), json!(null), None),
        (Some(1), json!(1), Some(1)),
        (None, json!(2), Some(2)),
    ] {
        let decoded = page_of(&page, base, &json!({"page": stated}));
        assert_eq!(decoded, Ok(expected), "{base:?} {stated}");
    }
    for base in [None, Some(1)] {
        let rejection = page_of(&page, base, &json!({"page": 0})).expect_err("invalid");
        assert!(
            rejection.contains("page: pages are counted from 1"),
            "{rejection}"
        );
    }
}

#[test]
fn an_offset_states_the_page_of_a_search_without_one() {
    let fields = json!({"offset": "/start", "page_size": "/rows", "page": "/page"});
    for (members, expected) in [
        (json!({}), None),
        (json!({"start": 0, "rows": 10}), Some(1)),
        (json!({"start": 10, "rows": 10}), Some(2)),
        (json!({"start": 20, "rows": 10}), Some(3)),
        // The record has two results.
        (json!({"start": 4}), Some(3)),
        (json!({"start": 1, "rows": 10}), Some(2)),
        (json!({"start": 20, "rows": 10, "page": 1}), Some(1)),
    ] {
        assert_eq!(page_of(&fields, None, &members), Ok(expected), "{members}");
    }
}

#[test]
fn problems_of_a_mapping_have_a_path() {
    let mapping = json!({
        "search": {
            "tme": "millis", "time": "hours",
            "fields": {"query_id": "meta/id", "ts": ["/ts", "^/ts"], "nothing": "/x"},
            "hits": {"id": "/id", "rank": "key", "path": {"list": "/edges", "from": "/a"}},
            "labels": {"x": {"list": "/tags"}},
            "stages": {"list": "/steps", "name": "/a"},
            "usage": {"list": "/steps", "model": "/b"},
            "when": {"/a": []},
        },
        "clicks": {},
    });
    let problems = Mapped::compile("shop", JSON, term(&mapping)).expect_err("problems");
    let paths: Vec<&str> = problems
        .iter()
        .map(|it: &Problem| it.path.as_str())
        .collect();
    for path in [
        ".search.labels.x",
        ".search.hits.path.to",
        ".search.stages",
        ".clicks",
        ".search.tme",
        ".search.time",
        ".search.fields.query_id",
        ".search.fields.ts[1]",
        ".search.fields.nothing",
        ".search.hits.rank",
        ".search.hits.list",
        ".search.when./a",
    ] {
        assert!(paths.contains(&path), "{path}: {problems:?}");
    }
}

#[test]
fn compressed_and_framed_payloads_are_read() {
    let text = search().to_string();
    let mut framed = vec![0, 0, 0, 0, 7];
    framed.extend_from_slice(text.as_bytes());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).expect("in memory");
    let gzip = gzip.finish().expect("in memory");
    let zstd = zstd::stream::encode_all(text.as_bytes(), 1).expect("in memory");
    let plain = decoded(&formats(JSON, &shop()), Kind::Search, text.as_bytes());
    let forms = [
        (framed, Framing::Confluent, Compression::None, "schema id 7"),
        (
            gzip,
            Framing::None,
            Compression::Gzip,
            "compressed with gzip",
        ),
        (
            zstd,
            Framing::None,
            Compression::Zstd,
            "compressed with zstd",
        ),
    ];
    for (payload, framing, compression, name) in forms {
        let form = Form {
            framing,
            compression,
            ..JSON
        };
        let shop = formats(form, &shop());
        assert_eq!(decoded(&shop, Kind::Search, &payload), plain);
        let text = decoded(&shop, Kind::Search, text.as_bytes());
        assert!(text.is_err(), "{text:?}");
        // Named by every other format.
        for other in [&formats(JSON, &self::shop()), &Formats::NATIVE] {
            let rejection = decoded(other, Kind::Search, &payload).expect_err("another form");
            assert!(rejection.detail.contains(name), "{rejection}");
        }
    }
}

#[test]
fn decompression_is_bounded() {
    let form = Form {
        compression: Compression::Zstd,
        ..JSON
    };
    let bomb = zstd::stream::encode_all(&vec![b' '; 10_000_000][..], 1).expect("in memory");
    let rejection = decoded(&formats(form, &shop()), Kind::Search, &bomb).expect_err("too large");
    assert_eq!(rejection.reason, Reason::TooLarge);
}

#[test]
fn an_answer_is_mapped_with_its_citations() {
    let mut mapping = shop();
    mapping["search"]["answer"] = json!({
        "id": "/rag/id", "text": "/rag/answer", "citations": "/rag/sources", "refused": "/rag/declined",
        "model": "/rag/model",
    });
    let formats = formats(JSON, &mapping);
    let answers = |record: &Value| {
        let acceptance = Acceptance {
            limits: LIMITS,
            has_gold_texts: false,
        };
        let mut answers = Vec::new();
        let record = record.to_string();
        let read = formats.events(Kind::Search, record.as_bytes(), &acceptance, &mut |event| {
            answers.push(match event {
                Ok(EventRef::Search(search)) => {
                    serde_json::to_value(search).expect("JSON")["answer"].take()
                }
                Ok(EventRef::Feedback(_)) => Value::Null,
                Err(rejection) => json!(rejection.to_string()),
            });
        });
        read.map(|_| answers)
    };
    let mut record = search();
    assert_eq!(answers(&record).expect("valid"), [Value::Null]);
    record["rag"] = json!({"id": 4, "answer": "제36조", "sources": ["a", 12], "declined": false});
    let expected = json!({"id": "4", "text": "제36조", "citations": ["a", "12"], "refused": false});
    assert_eq!(answers(&record).expect("valid"), [expected]);
    record["rag"]["sources"] = json!([{"id": "a"}]);
    let rejection = answers(&record).expect_err("no list of ids");
    assert!(rejection.detail.contains("a list of ids"), "{rejection}");
}
