//! Records in Avro and Protocol Buffers under a mapping: the same events as those of their twins in JSON,
//! and bounds against hostile records and schemas.

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use prost::Message as _;
use rankgauge_core::decode::framing::{Compression, Framing};
use rankgauge_core::decode::mapped::{Encoding, Form, Mapped};
use rankgauge_core::decode::schema::{Schema, SchemaCache, Schemas, Source};
use rankgauge_core::decode::{EventRef, Format, Formats};
use rankgauge_core::event::{Acceptance, Kind, Reason, Rejection};
use serde_json::{Value, json};

use super::avro_writer::{long, write};
use super::mapped::{LIMITS, term};

const ACCEPTANCE: Acceptance = Acceptance {
    limits: LIMITS,
    has_gold_texts: false,
};

const AVSC: &str = include_str!("../../data/encodings/search.avsc");
const PROTO: &str = include_str!("../../data/encodings/search.proto");

/// Mapping of the searches of all encodings.
fn mapping() -> Value {
    json!({
        "search": {
            "when": {"/meta/type": "EXECUTED"},
            "time": "micros",
            "position_base": 0,
            "fields": {
                "query_id": "/meta/event_id", "ts": "/meta/ts", "query": "/request/text",
                "session_id": ["/meta/session", "/meta/client"], "latency_ms": "/response/took_ms",
                "page": "/request/page", "filters": "/request/filters", "routing": "/request/routing",
                "synthetic": "/meta/is_test", "total_hits": "/response/total",
            },
            "labels": {"shop": "/labels/shop", "device": "/labels/device"},
            "hits": {
                "list": "/response/hits", "id": "/doc/id", "score": "/score", "rank": "/rank",
                "attributes": {"kind": "/doc/kind"},
            },
        },
    })
}

fn form(encoding: Encoding, framing: Framing) -> Form {
    Form {
        encoding,
        framing,
        compression: Compression::None,
    }
}

fn formats(form: Form, schemas: Schemas, mapping: &Value) -> Formats {
    let mapped = Mapped::compile("shop", form, term(mapping)).expect("a valid mapping");
    let mapped = Some(Arc::new(mapped.with_schemas(schemas)));
    Formats {
        search: Format::Mapped,
        feedback: Format::Mapped,
        mapped: [mapped.clone(), mapped],
        ..Formats::NATIVE
    }
}

fn of_file(schema: Schema, message: Option<&str>) -> Schemas {
    Schemas {
        source: Source::File(Arc::new(schema)),
        message: message.map(str::to_owned),
    }
}

fn avro(schema: &str) -> Formats {
    let schema = Schema::avro(schema, &[], None).expect("a valid schema");
    formats(
        form(Encoding::Avro, Framing::None),
        of_file(schema, None),
        &mapping(),
    )
}

fn protobuf() -> Formats {
    let schema = Schema::protobuf(PROTO.as_bytes(), &[]).expect("a valid schema");
    let schemas = of_file(schema, Some("shop.Search"));
    formats(form(Encoding::Protobuf, Framing::None), schemas, &mapping())
}

fn json_lines() -> Formats {
    let form = form(Encoding::Json, Framing::None);
    formats(form, Schemas::default(), &mapping())
}

/// Descriptions of the events of a record, and the number of ignored ones.
fn decoded(formats: &Formats, record: &[u8]) -> Result<(String, u64), Rejection> {
    let mut events = String::new();
    let counts = formats.events(
        Kind::Search,
        record,
        &ACCEPTANCE,
        &mut |event| match event {
            Ok(EventRef::Search(it)) => {
                let mut it = it.clone();
                // A list that is absent in one encoding is empty in another.
                it.routing = it.routing.filter(|routing| !routing.is_empty());
                writeln!(events, "{it:?}").expect("a string");
            }
            Ok(EventRef::Feedback(event)) => writeln!(events, "{event:?}").expect("a string"),
            Err(rejection) => writeln!(events, "{rejection}").expect("a string"),
        },
    )?;
    Ok((events, counts.ignored))
}

fn avro_record(value: &Value, has_sizes: bool) -> Vec<u8> {
    let schema = serde_json::from_str(AVSC).expect("a schema");
    let mut bytes = Vec::new();
    write(&mut bytes, &schema, value, has_sizes);
    bytes
}

#[derive(Clone, PartialEq, prost::Message)]
struct Search {
    #[prost(message, tag = "1")]
    meta: Option<Meta>,
    #[prost(message, tag = "2")]
    request: Option<Request>,
    #[prost(message, tag = "3")]
    response: Option<Response>,
    #[prost(btree_map = "string, string", tag = "20")]
    labels: std::collections::BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Meta {
    #[prost(string, tag = "1")]
    event_id: String,
    #[prost(enumeration = "What", tag = "2")]
    r#type: i32,
    #[prost(message, tag = "3")]
    ts: Option<Timestamp>,
    #[prost(string, tag = "4")]
    session: String,
    #[prost(string, tag = "5")]
    client: String,
    #[prost(bool, tag = "6")]
    is_test: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
enum What {
    Unspecified = 0,
    Executed = 1,
    Heartbeat = 2,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
struct Timestamp {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Request {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(uint32, tag = "2")]
    page: u32,
    #[prost(string, repeated, tag = "3")]
    filters: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    routing: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Response {
    #[prost(double, tag = "1")]
    took_ms: f64,
    #[prost(message, repeated, tag = "2")]
    hits: Vec<Hit>,
    #[prost(sint64, optional, tag = "3")]
    total: Option<i64>,
    #[prost(fixed64, repeated, tag = "4")]
    unmapped: Vec<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Hit {
    #[prost(message, tag = "1")]
    doc: Option<Doc>,
    #[prost(double, tag = "2")]
    score: f64,
    #[prost(int32, tag = "3")]
    rank: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Doc {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, optional, tag = "2")]
    kind: Option<String>,
}

fn protobuf_message(value: &Value) -> Search {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect();
    let micros = value["meta"]["ts"].as_i64().expect("a time");
    let hits = value["response"]["hits"].as_array().expect("hits").iter();
    let labels = value["labels"].as_object().expect("labels").iter();
    Search {
        meta: Some(Meta {
            event_id: text(&value["meta"]["event_id"]),
            r#type: match value["meta"]["type"].as_str() {
                Some("EXECUTED") => What::Executed.into(),
                _ => What::Heartbeat.into(),
            },
            ts: Some(Timestamp {
                seconds: micros.div_euclid(1_000_000),
                nanos: i32::try_from(micros.rem_euclid(1_000_000) * 1_000).expect("nanoseconds"),
            }),
            session: text(&value["meta"]["session"]),
            client: text(&value["meta"]["client"]),
            is_test: value["meta"]["is_test"].as_bool().unwrap_or(false),
        }),
        request: Some(Request {
            text: text(&value["request"]["text"]),
            page: u32::try_from(value["request"]["page"].as_u64().unwrap_or(0)).expect("a page"),
            filters: texts(&value["request"]["filters"]),
            routing: texts(&value["request"]["routing"]),
        }),
        response: Some(Response {
            took_ms: value["response"]["took_ms"].as_f64().expect("a latency"),
            total: value["response"]["total"].as_i64(),
            unmapped: vec![1, u64::MAX],
            hits: hits
                .map(|hit| Hit {
                    doc: Some(Doc {
                        id: text(&hit["doc"]["id"]),
                        kind: hit["doc"]["kind"].as_str().map(str::to_owned),
                    }),
                    score: hit["score"].as_f64().expect("a score"),
                    rank: i32::try_from(hit["rank"].as_i64().expect("a rank")).expect("a rank"),
                })
                .collect(),
        }),
        labels: labels
            .map(|(name, value)| (name.clone(), text(value)))
            .collect(),
    }
}

fn search() -> Value {
    serde_json::from_str(include_str!("../../data/encodings/search.json")).expect("a search")
}

prop_compose! {
    fn searches()(
        event_id in "[a-z가-힣]{1,20}",
        is_executed in prop::bool::weighted(0.9),
        micros in 100_000_000_000_000_i64..4_000_000_000_000_000,
        session in prop::option::of("[a-z]{1,5}"),
        is_test in any::<bool>(),
        text in "\\PC{1,20}",
        page in prop::option::of(1..5),
        lists in prop::array::uniform2(prop::collection::vec("[a-z]{1,4}", 0..4)),
        took_ms in 0.0..1000.0,
        total in prop::option::of(0..1_000_000_i64),
        hits in prop::collection::vec(("[a-z0-9]{1,8}", prop::option::of("[a-z]{1,3}"), -5.0..5.0), 0..20),
        shop in prop::option::of("[a-z]{1,4}"),
    ) -> Value {
        let hits = hits.iter().enumerate().map(|(rank, (id, kind, score))| {
            json!({"doc": {"id": id, "kind": kind}, "score": score, "rank": rank})
        });
        let mut labels = json!({"other": "한"});
        if let Some(shop) = shop {
            labels["shop"] = json!(shop);
        }
        json!({
            "meta": {
                "event_id": event_id, "type": if is_executed { "EXECUTED" } else { "HEARTBEAT" },
                "ts": micros, "session": session, "client": "c", "is_test": is_test,
            },
            "request": {"text": text, "page": page, "filters": lists[0], "routing": lists[1]},
            "response": {"took_ms": took_ms, "total": total, "hits": hits.collect::<Vec<_>>()},
            "labels": labels,
        })
    }
}

/// Allocations of the second of two equal records: the first one can fill caches of a format.
fn allocations(formats: &Formats, record: &[u8]) -> u64 {
    let read = || {
        let mut events = 0;
        let counts = formats.events(Kind::Search, record, &ACCEPTANCE, &mut |event| {
            assert!(event.is_ok(), "{event:?}");
            events += 1;
        });
        assert!(counts.is_ok(), "{counts:?}");
        assert_eq!(events, 1);
    };
    read();
    allocation_counter::measure(read).count_total
}

#[test]
fn no_encoding_allocates_more_than_native_json() {
    for has_list in [false, true] {
        let mut search = search();
        if !has_list {
            search["request"]["routing"] = json!([]);
        }
        let text = search.to_string();
        let mut native = String::new();
        let counts =
            json_lines().events(Kind::Search, text.as_bytes(), &ACCEPTANCE, &mut |event| {
                if let Ok(EventRef::Search(search)) = event {
                    native = serde_json::to_string(search).expect("JSON");
                }
            });
        assert!(counts.is_ok(), "{counts:?}");
        let of_native = allocations(&Formats::NATIVE, native.as_bytes());
        assert!(of_native > 0);
        // A list of texts is first read as a list of values of any type.
        let most = of_native + if has_list { 2 } else { 0 };
        let records = [
            ("JSON", json_lines(), text.into_bytes()),
            ("Avro", avro(AVSC), avro_record(&search, false)),
            (
                "Protobuf",
                protobuf(),
                protobuf_message(&search).encode_to_vec(),
            ),
        ];
        for (encoding, formats, record) in records {
            let found = allocations(&formats, &record);
            assert!(
                found <= most,
                "{encoding}: {found} allocations, native JSON: {of_native}"
            );
        }
    }
}

/// A positive number in a fixed number of tests per run keeps the tests short.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig::with_cases(cases)
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn all_encodings_of_a_search_are_the_same_event(search in searches()) {
        let expected = decoded(&json_lines(), search.to_string().as_bytes());
        let formats = avro(AVSC);
        for has_sizes in [false, true] {
            prop_assert_eq!(&decoded(&formats, &avro_record(&search, has_sizes)), &expected);
        }
        let message = protobuf_message(&search).encode_to_vec();
        prop_assert_eq!(&decoded(&protobuf(), &message), &expected);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        search in searches(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
    ) {
        let records = [
            (avro(AVSC), avro_record(&search, false)),
            (protobuf(), protobuf_message(&search).encode_to_vec()),
        ];
        for (formats, mut record) in records {
            for (place, byte) in &changes {
                let place = place.index(record.len());
                record[place] = *byte;
            }
            record.truncate(cut.index(record.len() + 1));
            if let Err(rejection) = decoded(&formats, &record) {
                prop_assert!(!rejection.detail.is_empty());
            }
        }
    }
}

#[track_caller]
fn assert_rejected(formats: &Formats, record: &[u8], reason: Reason, detail: &str) {
    let rejection = decoded(formats, record).expect_err("a rejection");
    assert_eq!(rejection.reason, reason, "{rejection}");
    assert!(rejection.detail.contains(detail), "{rejection}");
}

#[test]
fn a_record_of_2_to_the_60_values_without_bytes_is_rejected() {
    let schema = r#"{"type": "record", "name": "a", "fields": [
        {"name": "nulls", "type": {"type": "array", "items": "null"}}]}"#;
    let mut record = Vec::new();
    long(&mut record, 1 << 60);
    let start = std::time::Instant::now();
    assert_rejected(&avro(schema), &record, Reason::NotAvro, "too many values");
    // The same at a pointer of the mapping, and as results.
    for (field, path) in [("request", "routing"), ("response", "hits")] {
        let schema = format!(
            r#"{{"type": "record", "name": "a", "fields": [{{"name": "{field}", "type": {{"type": "record",
            "name": "b", "fields": [{{"name": "{path}", "type": {{"type": "array", "items": "null"}}}}]}}}}]}}"#
        );
        decoded(&avro(&schema), &record).expect_err("too many values");
    }
    assert!(start.elapsed().as_secs() < 5);
}

#[test]
fn a_recursive_record_is_rejected_at_the_maximum_depth() {
    let endless =
        r#"{"type": "record", "name": "meta", "fields": [{"name": "meta", "type": "meta"}]}"#;
    assert_rejected(&avro(endless), b"x", Reason::NotAvro, "nested too deeply");
    let wide = r#"{"type": "record", "name": "a", "fields": [{"name": "b", "type": "a"}, {"name": "c", "type": "a"}]}"#;
    assert_rejected(&avro(wide), b"x", Reason::NotAvro, "nested too deeply");
    // A list of linked messages: the depth is in the bytes.
    let text = "syntax = 'proto3'; message Search { Search meta = 1; }";
    let schema = Schema::protobuf(text.as_bytes(), &[]).expect("a valid schema");
    let mut mapping = mapping();
    let deep = "/meta".repeat(30);
    mapping["search"]["when"] = json!({});
    mapping["search"]["fields"]["query_id"] = json!(deep);
    let form = form(Encoding::Protobuf, Framing::None);
    let formats = formats(form, of_file(schema, None), &mapping);
    let mut message = Vec::new();
    for _ in 0..100 {
        let mut outer = vec![0x0a];
        prost::encoding::encode_varint(u64::try_from(message.len()).expect("a length"), &mut outer);
        outer.extend_from_slice(&message);
        message = outer;
    }
    decoded(&formats, &message).expect_err("no search");
}

#[test]
fn invalid_schemas_are_rejected_with_their_problem() {
    let record =
        |fields: &str| format!(r#"{{"type": "record", "name": "a", "fields": [{fields}]}}"#);
    let twice = r#"{"name": "b", "type": "int"}, {"name": "b", "type": "int"}"#;
    let defined = r#"{"name": "b", "type": {"type": "fixed", "name": "a", "size": 1}}"#;
    let deep = format!(
        "{}\"int\"{}",
        r#"{"type":"array","items":"#.repeat(500),
        "}".repeat(500)
    );
    for (schema, problem) in [
        (record(twice), "has the field b twice"),
        (record(defined), "defines a a second time"),
        (
            record(r#"{"name": "b", "type": "c"}"#),
            "a.b has the unknown type c",
        ),
        (record(r#"{"name": "b"}"#), "the field b without a type"),
        ("[".to_owned(), "is no Avro schema"),
        ("7".to_owned(), "is neither a name, a list nor an object"),
        (deep, "recursion limit"),
    ] {
        let found = Schema::avro(&schema, &[], None).expect_err("a problem");
        assert!(found.contains(problem), "{found}");
    }
    for (schema, problem) in [
        (
            "syntax = 'proto3'; message A { int32 a = 1; string b = 1; }",
            "has two fields 1 in A",
        ),
        (
            "message A { optional int32 a = 1; optional string a = 2; }",
            "has the field a of A twice",
        ),
        (
            "message A { optional B b = 1; }",
            "has no type B, which A uses",
        ),
        (
            "message A { optional int32 b = x; }",
            "line 1: a number is expected",
        ),
        ("message A {\n  int32", "line 2: "),
        ("message A { /* ", "the end of a comment"),
        (
            "service A { rpc b(C) returns (D); } option x = '",
            "the end of a string",
        ),
    ] {
        let found = Schema::protobuf(schema.as_bytes(), &[]).expect_err("a problem");
        assert!(found.contains(problem), "{schema}: {found}");
    }
    let nested = format!("{}{}", "message A {".repeat(100), "}".repeat(100));
    Schema::protobuf(nested.as_bytes(), &[]).expect_err("a depth");
    for set in [
        &b""[..],
        b"\x0a",
        b"\x0a\x02\x08\x01",
        b"syntax = 'proto3';",
        &[0xff; 20],
    ] {
        Schema::descriptor_set(set).expect_err("no descriptor set");
    }
}

/// Files of `crates/core/tests/data/encodings/generate.py`.
#[test]
fn records_of_the_serializers_of_python_are_the_same_event() {
    let expected = decoded(&json_lines(), search().to_string().as_bytes()).expect("an event");
    assert!(expected.0.contains("건폐율"), "{expected:?}");
    let schema = Schema::avro(AVSC, &[], None).expect("a valid schema");
    let of_avro = form(Encoding::Avro, Framing::SingleObject);
    let of_avro = formats(of_avro, of_file(schema, None), &mapping());
    let object = include_bytes!("../../data/encodings/search.single_object");
    assert_eq!(decoded(&of_avro, object).expect("an event"), expected);
    let message = include_bytes!("../../data/encodings/search.pb");
    assert_eq!(decoded(&protobuf(), message).expect("an event"), expected);
    let set = include_bytes!("../../data/encodings/search.binpb");
    let schema = Schema::descriptor_set(set).expect("a descriptor set");
    let names = schema.check_message(None).expect_err("several messages");
    assert!(
        names.contains("shop.Heartbeat, shop.Search, shop.Meta"),
        "{names}"
    );
    let of_set = form(Encoding::Protobuf, Framing::None);
    let of_set = formats(of_set, of_file(schema, Some("shop.Search")), &mapping());
    assert_eq!(decoded(&of_set, message).expect("an event"), expected);
}

/// Fingerprints of the reference implementations (fastavro, `CRC-64-AVRO`).
#[test]
fn a_single_object_states_the_fingerprint_of_its_schema() {
    let object = |fingerprint: u64, content: &[u8]| {
        let mut record = vec![0xc3, 0x01];
        record.extend_from_slice(&fingerprint.to_le_bytes());
        record.extend_from_slice(content);
        record
    };
    let content = avro_record(&search(), false);
    let schema = Schema::avro(AVSC, &[], None).expect("a valid schema");
    let form = form(Encoding::Avro, Framing::SingleObject);
    let formats = formats(form, of_file(schema, None), &mapping());
    let (events, _) = decoded(&formats, &object(FINGERPRINT, &content)).expect("an event");
    assert!(events.contains("건폐율"), "{events}");
    let other = object(FINGERPRINT ^ 1, &content);
    assert_rejected(
        &formats,
        &other,
        Reason::UnknownSchema,
        "the schema with fingerprint",
    );
    assert_rejected(&formats, &content, Reason::NotAvro, "set framing: none");
}

const FINGERPRINT: u64 = 0x96b1_9756_2e80_5df3;

#[test]
fn a_record_of_another_schema_is_rejected_with_the_place() {
    let mut record = avro_record(&search(), false);
    record.push(0);
    assert_rejected(
        &avro(AVSC),
        &record,
        Reason::NotAvro,
        "1 bytes follow the value",
    );
    record.truncate(10);
    assert_rejected(&avro(AVSC), &record, Reason::NotAvro, "at byte ");
    assert_rejected(&protobuf(), &record, Reason::NotProtobuf, "");
    let json = search().to_string();
    decoded(&protobuf(), json.as_bytes()).expect_err("JSON is no message");
    decoded(&avro(AVSC), json.as_bytes()).expect_err("JSON is no Avro");
}

#[test]
fn a_framed_record_is_named_where_the_format_has_no_framing() {
    let mut framed = vec![0, 0, 0, 0, 7];
    framed.extend_from_slice(&avro_record(&search(), false));
    assert_rejected(&avro(AVSC), &framed, Reason::NotAvro, "schema id 7");
    assert_rejected(&protobuf(), &framed, Reason::NotProtobuf, "schema id 7");
    let compressed = zstd::encode_all(&*protobuf_message(&search()).encode_to_vec(), 1);
    let compressed = compressed.expect("a compressed record");
    assert_rejected(
        &protobuf(),
        &compressed,
        Reason::NotProtobuf,
        "compressed with zstd",
    );
}

#[derive(Clone, PartialEq, prost::Message)]
struct Click {
    #[prost(string, tag = "1")]
    search: String,
    #[prost(int64, tag = "2")]
    ts: i64,
    #[prost(string, tag = "3")]
    doc: String,
    #[prost(int32, tag = "4")]
    place: i32,
    #[prost(double, tag = "5")]
    value: f64,
    #[prost(int32, tag = "6")]
    action: i32,
}

#[test]
fn numbers_that_a_message_leaves_out_are_0_or_absent() {
    let text = "syntax = 'proto3'; message Click { string search = 1; int64 ts = 2; string doc = 3;
        int32 place = 4; double value = 5; Action action = 6; }
        enum Action { CLICK = 0; RATED = 1; }";
    let click = Click {
        search: "s1".to_owned(),
        ts: 1_763_337_600_120,
        doc: "d".to_owned(),
        ..Click::default()
    };
    for (base, position) in [(0, Some(1)), (1, None)] {
        let mapping = json!({"feedback": {
            "position_base": base,
            "actions": {"CLICK": "click", "RATED": "rating"},
            "fields": {"query_id": "/search", "ts": "/ts", "type": "/action", "object_id": "/doc",
                "position": "/place", "value": "/value", "session_id": "/doc"},
        }});
        let schema = Schema::protobuf(text.as_bytes(), &[]).expect("a valid schema");
        let form = form(Encoding::Protobuf, Framing::None);
        let formats = formats(form, of_file(schema, None), &mapping);
        let record = click.encode_to_vec();
        let mut found = None;
        let decoded = formats.events(Kind::Feedback, &record, &ACCEPTANCE, &mut |event| {
            if let Ok(EventRef::Feedback(event)) = event {
                found = Some((event.action.index(), event.position));
            }
        });
        decoded.expect("an event");
        assert_eq!(found, Some((1, position)), "a click from {base}");
        // A time that is left out is missing, not 1970.
        let untimed = Click {
            ts: 0,
            ..click.clone()
        }
        .encode_to_vec();
        let rejection = formats.events(Kind::Feedback, &untimed, &ACCEPTANCE, &mut |_| ());
        assert_eq!(rejection.expect_err("no time").reason, Reason::MissingField);
    }
}

#[test]
fn elements_that_lie_apart_and_repeated_messages_are_read() {
    let search = search();
    let parts = protobuf_message(&search);
    // A message is merged of its parts; the elements of a list are all of them, in order.
    let mut record = Vec::new();
    for part in [0, 1] {
        let mut of_part = parts.clone();
        if let Some(response) = &mut of_part.response {
            response.hits = vec![response.hits[part].clone()];
        }
        record.extend(of_part.encode_to_vec());
    }
    let expected = decoded(&json_lines(), search.to_string().as_bytes()).expect("an event");
    let response = parts.response.clone().expect("a response");
    let mut apart = Vec::new();
    for hit in &response.hits {
        prost::encoding::message::encode(2, hit, &mut apart);
        prost::encoding::double::encode(1, &response.took_ms, &mut apart);
        prost::encoding::sint64::encode(3, &7, &mut apart);
    }
    let mut message = Vec::new();
    let without = Search {
        response: None,
        ..parts
    };
    without.encode(&mut message).expect("a message");
    prost::encoding::encode_key(3, prost::encoding::WireType::LengthDelimited, &mut message);
    prost::encoding::encode_varint(u64::try_from(apart.len()).expect("a length"), &mut message);
    message.extend_from_slice(&apart);
    assert_eq!(decoded(&protobuf(), &message).expect("an event"), expected);
}

#[test]
fn a_registry_gives_each_record_its_schema() {
    let cache = Arc::new(SchemaCache::default());
    let schemas = |message: Option<&str>| Schemas {
        source: Source::Registry(Arc::clone(&cache)),
        message: message.map(str::to_owned),
    };
    let framed = |id: u32, path: &[u8], content: &[u8]| {
        let mut record = vec![0];
        record.extend_from_slice(&id.to_be_bytes());
        record.extend_from_slice(path);
        record.extend_from_slice(content);
        record
    };
    let of = |encoding, message| {
        formats(
            form(encoding, Framing::Confluent),
            schemas(message),
            &mapping(),
        )
    };
    let in_avro = of(Encoding::Avro, None);
    let record = framed(70, &[], &avro_record(&search(), false));
    let missing =
        |formats: &Formats, record: &[u8]| formats.missing_schema(Kind::Search, record, &LIMITS);
    assert_eq!(missing(&in_avro, &record), Some(70));
    assert_rejected(
        &in_avro,
        &record,
        Reason::UnknownSchema,
        "schema 70 was not received",
    );
    cache.set_missing(70, true);
    assert_eq!(missing(&in_avro, &record), None);
    assert_rejected(
        &in_avro,
        &record,
        Reason::UnknownSchema,
        "the registry has no schema 70",
    );
    cache.set_missing(70, false);
    cache.set(70, Schema::avro(AVSC, &[], None));
    let (events, _) = decoded(&in_avro, &record).expect("an event");
    // A further version in the same topic, with another order of its fields.
    let mut newer: Value = serde_json::from_str(AVSC).expect("a schema");
    newer["fields"].as_array_mut().expect("fields").reverse();
    let mut bytes = Vec::new();
    write(&mut bytes, &newer, &search(), false);
    // The same chain of the cache.
    cache.set(70 + 64, Schema::avro(&newer.to_string(), &[], None));
    assert_eq!(
        decoded(&in_avro, &framed(134, &[], &bytes))
            .expect("an event")
            .0,
        events
    );
    cache.set(9, Schema::avro("7", &[], None));
    assert_rejected(
        &in_avro,
        &framed(9, &[], &[]),
        Reason::UnknownSchema,
        "schema 9 is no Avro schema",
    );
    assert_rejected(
        &in_avro,
        search().to_string().as_bytes(),
        Reason::NotAvro,
        "begin with",
    );
    // Messages of Protocol Buffers are named by their place in the file.
    let in_protobuf = of(Encoding::Protobuf, None);
    cache.set(3, Schema::protobuf(PROTO.as_bytes(), &[]));
    let message = protobuf_message(&search()).encode_to_vec();
    let found = decoded(&in_protobuf, &framed(3, &[0x02, 0x02], &message));
    assert_eq!(found.expect("an event").0, events);
    let nested = decoded(&in_protobuf, &framed(3, &[0x04, 0x02, 0x00], &message));
    assert_eq!(
        nested.expect("a message without fields"),
        (String::new(), 1)
    );
    assert_rejected(
        &in_protobuf,
        &framed(3, &[0x02, 0x40], &message),
        Reason::UnknownSchema,
        "no message at",
    );
    assert_rejected(
        &in_protobuf,
        &framed(3, &[0xff], &[]),
        Reason::NotProtobuf,
        "no indexes",
    );
    let selected = of(Encoding::Protobuf, Some("shop.Search"));
    let other = decoded(&selected, &framed(3, &[0], &message)).expect("another message");
    assert_eq!(other, (String::new(), 1));
    assert_rejected(
        &in_protobuf,
        &framed(70, &[0], &message),
        Reason::UnknownSchema,
        "another encoding",
    );
}

#[test]
fn named_types_of_other_schemas_are_found() {
    let hit = r#"{"type": "record", "name": "Hit", "namespace": "shop", "fields": [
        {"name": "id", "type": "string"}]}"#;
    let search = r#"{"type": "record", "name": "Search", "namespace": "shop", "fields": [
        {"name": "hits", "type": {"type": "array", "items": "Hit"}}, {"name": "best", "type": ["null", "shop.Hit"]}]}"#;
    Schema::avro(search, &[hit], None).expect("a schema with a reference");
    Schema::avro(search, &[], None).expect_err("no reference");
    let hit = "syntax = 'proto3'; package shop.types; message Hit { string id = 1; }";
    let search = "syntax = 'proto3'; package shop; import 'hit.proto'; import 'google/protobuf/timestamp.proto';
        message Search { repeated types.Hit hits = 1; google.protobuf.Timestamp ts = 2; map<string, .shop.types.Hit> all = 3; }";
    Schema::protobuf(search.as_bytes(), &[hit.as_bytes()]).expect("a schema with an import");
    Schema::protobuf(search.as_bytes(), &[]).expect_err("no import");
}
