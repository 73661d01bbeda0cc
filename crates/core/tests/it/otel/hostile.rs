//! Hostile and malformed records: rejected or counted, with bounded work, and never a panic.

use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message as _;
use rankgauge_core::decode::Format;
use rankgauge_core::decode::otlp::Mapping;
use rankgauge_core::event::Reason;
use serde_json::json;

use super::messages::{Any, AnyValue, ArrayValue, KeyValue, Span, Traces, record, span};
use super::{ACCEPTANCE, both, each_feedback, json as read_json, proto};

fn attribute(key: &str, text: &str) -> KeyValue {
    KeyValue::new(key, Any::Text(text.to_owned()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// No bytes make a decoder panic, on either topic.
    #[test]
    fn no_record_makes_a_decoder_panic(
        bytes in vec(any::<u8>(), 0..200),
        // Tags and lengths of nested messages.
        nested in vec(prop::sample::select(vec![10_u8, 18, 74, 1, 2, 8, 57, 65, 97, 107, 122]), 0..60),
    ) {
        let mapping = Mapping::default();
        let of = (&ACCEPTANCE, &mapping);
        for record in [&bytes, &nested] {
            drop(proto(record, &ACCEPTANCE, &mapping));
            drop(read_json(record, &ACCEPTANCE, &mapping));
            let feedback = each_feedback(Format::OtlpProto, record, of, |_| ());
            let counts = feedback.map(|counts| counts.feedback);
            prop_assert!(counts.unwrap_or_default() == 0);
            let feedback = each_feedback(Format::OtlpJson, record, of, |_| ());
            prop_assert!(feedback.is_err());
        }
    }
}

/// Span that is a search.
fn search(number: u64) -> Span {
    let mut trace_id = vec![7; 8];
    trace_id.extend(number.to_be_bytes());
    Span {
        trace_id,
        span_id: vec![1; 8],
        name: "Law.retrieve".into(),
        start_time_unix_nano: 1_763_337_600_000_000_000,
        end_time_unix_nano: 1_763_337_600_100_000_000 + number,
        attributes: vec![
            attribute("openinference.span.kind", "RETRIEVER"),
            attribute("input.value", "q"),
            attribute("retrieval.documents.0.document.id", "a"),
        ],
        ..Span::default()
    }
}

#[test]
fn a_record_cut_at_any_byte_gives_no_search() {
    let bytes = Traces::of(&[], vec![search(1), search(2)]).encode_to_vec();
    let mapping = Mapping::default();
    let whole = proto(&bytes, &ACCEPTANCE, &mapping).expect("whole");
    assert_eq!(whole.outcomes(), [2, 0, 0, 0, 0]);
    for end in 1..bytes.len() {
        let rejection = proto(&bytes[..end], &ACCEPTANCE, &mapping).expect_err("cut");
        assert_eq!(rejection.reason, Reason::NotProtobuf, "{end}: {rejection}");
    }
    let text = Traces::of(&[], vec![search(1)]).json().to_string();
    for end in 1..text.len() {
        let rejection = read_json(&text.as_bytes()[..end], &ACCEPTANCE, &mapping);
        assert_eq!(rejection.expect_err("cut").reason, Reason::NotJson);
    }
}

#[test]
fn malformed_records_are_rejected_with_their_reason() {
    let mapping = Mapping::default();
    let too_large = vec![0x0a; ACCEPTANCE.limits.record_bytes + 1];
    let open_groups = [0x0b; 200];
    let records: [(&[u8], Reason, &str); 9] = [
        (b"", Reason::Empty, "no payload"),
        (&too_large, Reason::TooLarge, "limits.record_bytes"),
        (
            b"{\"resourceSpans\": []}",
            Reason::NotProtobuf,
            "ExportTraceServiceRequest",
        ),
        (
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
            Reason::NotProtobuf,
            "truncated",
        ),
        (&[0x0a], Reason::NotProtobuf, "truncated"),
        (
            &[0x08, 0x01],
            Reason::NotProtobuf,
            "field 1 has another type",
        ),
        (&[0x00, 0x01], Reason::NotProtobuf, "an invalid field key"),
        (
            &[
                0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
            ],
            Reason::NotProtobuf,
            "64 bits",
        ),
        (&open_groups, Reason::NotProtobuf, "a group without its end"),
    ];
    for (record, reason, detail) in records {
        let rejection = proto(record, &ACCEPTANCE, &mapping).expect_err("malformed");
        assert_eq!(rejection.reason, reason, "{rejection}");
        assert!(rejection.detail.contains(detail), "{rejection}");
    }
    for (record, reason) in [
        (&b""[..], Reason::Empty),
        (&[0x0a, 0x80, 0xff], Reason::NotUtf8),
        (b"[]", Reason::WrongType),
        (b"{\"resourceSpans\": {}}", Reason::WrongType),
        (
            b"{\"resourceSpans\": [{\"scopeSpans\": [{\"spans\": [7]}]}]}",
            Reason::WrongType,
        ),
    ] {
        let rejection = read_json(record, &ACCEPTANCE, &mapping).expect_err("malformed");
        assert_eq!(rejection.reason, reason, "{rejection}");
    }
    // An unknown field that is a group is skipped, as prost does.
    let mut group = Traces::of(&[], vec![search(1)]).encode_to_vec();
    group.extend([0x4b, 0x08, 0x01, 0x53, 0x54, 0x4c]);
    let decoded = proto(&group, &ACCEPTANCE, &mapping).expect("a group is skipped");
    assert_eq!(decoded.outcomes(), [1, 0, 0, 0, 0]);
    assert!(Traces::decode(&*group).is_ok());
}

#[test]
fn text_that_is_not_utf8_rejects_its_span_alone() {
    let mut bytes = Traces::of(&[], vec![search(1), search(2)]).encode_to_vec();
    let query = b"input.value\x12\x03\x0a\x01q";
    let place = bytes
        .windows(query.len())
        .position(|it| it == query)
        .expect("a query");
    bytes[place + query.len() - 1] = 0xff;
    let decoded = proto(&bytes, &ACCEPTANCE, &Mapping::default()).expect("the rest is whole");
    assert_eq!(decoded.outcomes(), [1, 1, 0, 0, 0]);
    let rejection = decoded.searches[0].as_ref().expect_err("not UTF-8");
    assert_eq!(rejection.reason, Reason::NotUtf8, "{rejection}");
}

#[test]
fn values_are_nested_to_a_limited_depth() {
    let nested = |depth: usize| {
        let mut value = Any::Text("x".into());
        for _ in 0..depth {
            let values = vec![AnyValue::of(value)];
            value = Any::Array(ArrayValue { values });
        }
        value
    };
    for (depth, is_accepted) in [(16, true), (17, false), (60, false)] {
        let mut span = search(1);
        span.attributes
            .push(KeyValue::new("metadata", nested(depth)));
        // An attribute that the mapping does not read has any depth.
        span.attributes.push(KeyValue::new("unknown", nested(60)));
        let traces = Traces::of(&[], vec![span]);
        let json = traces.json().to_string();
        for decoded in [
            proto(&traces.encode_to_vec(), &ACCEPTANCE, &Mapping::default()),
            read_json(json.as_bytes(), &ACCEPTANCE, &Mapping::default()),
        ] {
            let outcomes = decoded.expect("whole").outcomes();
            let expected = if is_accepted {
                [1, 0, 0, 0, 0]
            } else {
                [0, 1, 0, 0, 0]
            };
            assert_eq!(outcomes, expected, "{depth}");
        }
    }
}

#[test]
fn large_document_numbers_cost_no_memory() {
    for number in ["1", "999999999", "4294967296", "99999999999999999999"] {
        let key = format!("retrieval.documents.{number}.document.id");
        let decoded = both(
            &record(&[span(&[
                ("openinference.span.kind", json!("RETRIEVER")),
                ("input.value", json!("q")),
                (&key, json!("a")),
            ])]),
            &ACCEPTANCE,
            &Mapping::default(),
        );
        // A number that no document can have is no document.
        let expected = if number.len() <= 9 {
            [0, 1, 0, 0, 0]
        } else {
            [0, 0, 1, 0, 0]
        };
        assert_eq!(decoded.outcomes(), expected, "{number}");
    }
}

#[test]
fn ten_thousand_spans_in_a_record_are_ten_thousand_searches() {
    let spans: Vec<Span> = (0..10_000).map(search).collect();
    let bytes = Traces::of(&[], spans).encode_to_vec();
    let mut acceptance = ACCEPTANCE;
    acceptance.limits.record_bytes = bytes.len();
    let started = Instant::now();
    let decoded = proto(&bytes, &acceptance, &Mapping::default()).expect("whole");
    assert_eq!(decoded.outcomes(), [10_000, 0, 0, 0, 0]);
    // A build without optimisations needs about a second.
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn records_with_more_spans_than_the_limit_are_rejected() {
    let mut acceptance = ACCEPTANCE;
    acceptance.limits.record_bytes = 16 << 20;
    let record = |spans: usize| Traces::of(&[], vec![Span::default(); spans]).encode_to_vec();
    let decoded = proto(
        &record(Mapping::MAX_SPANS),
        &acceptance,
        &Mapping::default(),
    );
    assert_eq!(
        decoded.expect("at the limit").outcomes(),
        [0, 0, 0, 0, 100_000]
    );
    let rejection = proto(
        &record(Mapping::MAX_SPANS + 1),
        &acceptance,
        &Mapping::default(),
    );
    let rejection = rejection.expect_err("beyond the limit");
    assert_eq!(rejection.reason, Reason::TooLarge);
    assert!(rejection.detail.contains("100001 spans"), "{rejection}");
}

/// An array has two bytes a value: without a limit, a body of 16 MiB would take half a gigabyte.
#[test]
fn an_attribute_has_a_limited_number_of_values() {
    let documents = |value: Any| {
        let mut span = search(1);
        span.attributes.truncate(2);
        let value = AnyValue { value: Some(value) };
        let key = "retrieval.documents".into();
        span.attributes.push(KeyValue {
            key,
            value: Some(value),
        });
        Traces::of(&[], vec![span])
    };
    let empty = AnyValue { value: None };
    let array = ArrayValue {
        values: vec![empty; 100_001],
    };
    let objects = format!("[{}1]", "1,".repeat(100_001));
    for traces in [documents(Any::Array(array)), documents(Any::Text(objects))] {
        let mapping = Mapping::default();
        let binary = proto(&traces.encode_to_vec(), &ACCEPTANCE, &mapping);
        let text = read_json(traces.json().to_string().as_bytes(), &ACCEPTANCE, &mapping);
        for decoded in [binary, text] {
            let rejection = decoded.expect("a record of spans").rejection();
            assert!(
                rejection.contains("more than 100000 values in one attribute"),
                "{rejection}"
            );
        }
    }
}

/// The shortest member has five bytes and takes more than ten times as much: a list of documents has a
/// limited number of them.
#[test]
fn the_metadata_of_a_list_has_a_limited_number_of_members() {
    let members = |count: usize| format!("{{{}\"a\":1}}", "\"\":0,".repeat(count));
    let flattened = |documents: usize, members: &str| {
        let mut span = search(1);
        span.attributes.truncate(2);
        for number in 0..documents {
            let key = |field: &str| format!("retrieval.documents.{number}.document.{field}");
            span.attributes.push(attribute(&key("id"), "a"));
            span.attributes.push(attribute(&key("metadata"), members));
        }
        Traces::of(&[], vec![span])
    };
    let whole = |documents: usize, members: &str| {
        let mut span = search(1);
        span.attributes.truncate(2);
        let object = format!("{{\"id\":\"a\",\"metadata\":{members}}}");
        let value = Any::Array(ArrayValue {
            values: (0..documents)
                .map(|_| AnyValue {
                    value: Some(Any::Text(object.clone())),
                })
                .collect(),
        });
        span.attributes
            .push(KeyValue::new("retrieval.documents", value));
        Traces::of(&[], vec![span])
    };
    let mut acceptance = ACCEPTANCE;
    acceptance.limits.record_bytes = 16 << 20;
    let mapping = Mapping::default();
    let (one, many) = ("more than 100000 values", "more than 100000 members");
    for (traces, expected) in [
        (flattened(1, &members(100_001)), Some(one)),
        (flattened(3, &members(40_000)), Some(many)),
        (whole(1, &members(100_001)), Some(one)),
        (whole(3, &members(40_000)), Some(many)),
        (flattened(2, &members(40_000)), None),
        (whole(2, &members(40_000)), None),
    ] {
        let binary = proto(&traces.encode_to_vec(), &acceptance, &mapping);
        let text = read_json(traces.json().to_string().as_bytes(), &acceptance, &mapping);
        for decoded in [binary, text] {
            let decoded = decoded.expect("a record of spans");
            match expected {
                Some(expected) => {
                    let rejection = decoded.rejection();
                    assert!(rejection.contains(expected), "{rejection}");
                }
                None => assert_eq!(decoded.outcomes(), [1, 0, 0, 0, 0]),
            }
        }
    }
}
