//! Agreement of the reader with `prost` on every generated message, and of both encodings.

use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message as _;
use rankgauge_core::decode::otlp::Mapping;

use super::messages::{
    Any, AnyValue, ArrayValue, Event, KeyValue, KeyValueList, Resource, ResourceSpans, ScopeSpans,
    Span, Status, Traces, hex,
};
use super::{ACCEPTANCE, json, proto};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("__REDACTED__".to_owned()),
        Just("건폐율".to_owned()),
        Just("\"q\\u00e9\"".to_owned()),
        Just(r#"{"query": "용도지역", "variant": "B", "doc_id": 7}"#.to_owned()),
        Just(r#"[{"id": "a", "score": 1}, {"id": null, "content": "글"}]"#.to_owned()),
        Just(r#"{"documents": []}"#.to_owned()),
        Just("[]".to_owned()),
        Just("{\"cut".to_owned()),
        "[a-z\u{ac00}-\u{ac10}\\\\\"\n]{0,8}",
    ]
}

fn value() -> impl Strategy<Value = Any> {
    let leaf = prop_oneof![
        6 => text().prop_map(Any::Text),
        1 => any::<bool>().prop_map(Any::Bool),
        1 => any::<i64>().prop_map(Any::Int),
        // Few digits: the JSON parser may round the last of many.
        1 => (-8_000..8_000_i32).prop_map(|eighths| Any::Double(f64::from(eighths) / 8.0)),
        1 => Just(Any::Double(f64::NAN)),
        1 => Just(Any::Bytes(vec![0, 1, 2])),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let some = |value: Option<Any>| AnyValue { value };
        let element = prop::option::of(inner.clone()).prop_map(some);
        let name = prop_oneof![Just("id"), Just("score"), Just("content"), Just("x")];
        let member = (name, inner).prop_map(|(key, value)| KeyValue::new(key, value));
        prop_oneof![
            vec(element, 0..4).prop_map(|values| Any::Array(ArrayValue { values })),
            vec(member, 0..4).prop_map(|values| Any::Map(KeyValueList { values })),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        Just("id"),
        Just("score"),
        Just("content"),
        Just("metadata"),
        Just("other")
    ];
    let document = |list: &'static str| {
        let position = prop_oneof![8 => 0..4_u32, 1 => any::<u32>()];
        (position, field.clone())
            .prop_map(move |(position, field)| format!("{list}.{position}.document.{field}"))
    };
    prop_oneof![
        3 => document("retrieval.documents"),
        1 => document("reranker.output_documents"),
        4 => prop::sample::select(vec![
            "input.value", "input.mime_type", "output.value", "metadata", "session.id", "user.id",
            "error.type", "retrieval.documents", "gen_ai.retrieval.query.text",
            "gen_ai.retrieval.documents", "gen_ai.data_source.id", "gen_ai.conversation.id",
            "langfuse.observation.input", "langfuse.observation.output", "langfuse.version",
            "llm.token_count.prompt", "llm.cost.total", "llm.model_name", "service.name",
            "service.version",
        ]).prop_map(str::to_owned),
        1 => text(),
    ]
}

fn attribute() -> impl Strategy<Value = KeyValue> {
    let value = prop::option::of(value()).prop_map(|value| AnyValue { value });
    (key(), prop::option::weighted(0.95, value)).prop_map(|(key, value)| KeyValue { key, value })
}

/// Attribute with the kind of the span.
fn kind() -> impl Strategy<Value = Vec<KeyValue>> {
    let kinds = [
        ("openinference.span.kind", "RETRIEVER"),
        ("openinference.span.kind", "RERANKER"),
        ("openinference.span.kind", "LLM"),
        ("gen_ai.operation.name", "retrieval"),
        ("langfuse.observation.type", "retriever"),
    ];
    let one = prop::sample::select(kinds.to_vec())
        .prop_map(|(key, kind)| KeyValue::new(key, Any::Text(kind.to_owned())));
    vec(one, 0..3)
}

fn span() -> impl Strategy<Value = Span> {
    let id = |length: usize| {
        prop_oneof![
            9 => vec(1..=u8::MAX, length),
            1 => vec(any::<u8>(), 0..20),
        ]
    };
    let event = (
        prop_oneof![Just("exception"), Just("other")],
        vec(text(), 0..2),
    )
        .prop_map(|(name, types)| Event {
            time_unix_nano: 7,
            name: name.to_owned(),
            attributes: types
                .into_iter()
                .map(|text| KeyValue::new("exception.type", Any::Text(text)))
                .collect(),
        });
    let status = (text(), -1..4_i32).prop_map(|(message, code)| Status {
        message,
        code: code.max(0),
    });
    let time = prop_oneof![
        Just(0),
        1_763_337_600_000_000_000..1_763_337_700_000_000_000_u64
    ];
    let times = (time.clone(), time);
    let lost = prop_oneof![8 => Just(0), 1 => any::<u32>()];
    let name = prop_oneof![
        Just("Law.retrieve".to_owned()),
        Just("Law._retrieve".to_owned()),
        text()
    ];
    (
        (id(16), id(8), name, times, lost),
        (
            vec(attribute(), 0..12),
            kind(),
            vec(event, 0..3),
            prop::option::of(status),
        ),
    )
        .prop_map(
            |(
                (trace_id, span_id, name, (start, end), lost),
                (mut attributes, kind, events, status),
            )| {
                attributes.extend(kind);
                Span {
                    trace_id,
                    span_id,
                    name,
                    kind: 3,
                    start_time_unix_nano: start,
                    end_time_unix_nano: end,
                    attributes,
                    dropped_attributes_count: lost,
                    events,
                    status,
                    flags: 256,
                    ..Span::default()
                }
            },
        )
}

fn traces() -> impl Strategy<Value = Traces> {
    let scope = vec(span(), 0..3).prop_map(|spans| ScopeSpans { scope: None, spans });
    let resource = vec(attribute(), 0..3).prop_map(|attributes| Resource {
        attributes,
        ..Resource::default()
    });
    let resource_spans =
        (prop::option::of(resource), vec(scope, 0..3)).prop_map(|(resource, scope_spans)| {
            ResourceSpans {
                resource,
                scope_spans,
                schema_url: "https://opentelemetry.io/schemas/1.29.0".into(),
            }
        });
    vec(resource_spans, 1..3).prop_map(|resource_spans| Traces { resource_spans })
}

/// Mapping that selects every kind and reads configured attributes.
fn mapping() -> Mapping {
    use rankgauge_core::decode::otlp::{DocumentSource, SpanKind};
    let mut mapping = Mapping {
        search_spans: vec![SpanKind::Retriever, SpanKind::Reranker],
        document_id: vec![
            DocumentSource::Id,
            DocumentSource::Metadata("doc_id".into()),
        ],
        ..Mapping::default()
    };
    let source = mapping.source("metadata.x").expect("a source");
    mapping.labels = vec![("metadata.x".into(), source)];
    mapping
}

fn spans(traces: &Traces) -> impl Iterator<Item = &Span> {
    let scopes = traces.resource_spans.iter().flat_map(|it| &it.scope_spans);
    scopes.flat_map(|scope| &scope.spans)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// `prost` encodes the message, and what it decodes from the bytes is written as JSON: the
    /// reader of the wire format and the reader of JSON must give the same searches, rejections and
    /// counts.
    #[test]
    fn the_reader_agrees_with_prost_on_every_message(traces in traces()) {
        let bytes = traces.encode_to_vec();
        let decoded = Traces::decode(&*bytes).expect("prost decodes its own bytes");
        let mapping = mapping();
        let from_proto = proto(&bytes, &ACCEPTANCE, &mapping).expect("a message");
        let from_json = json(decoded.json().to_string().as_bytes(), &ACCEPTANCE, &mapping);
        let mut from_json = from_json.expect("JSON");
        for (proto, json) in from_proto.searches.iter().zip(&mut from_json.searches) {
            // Messages of the JSON parser and of the wire reader differ, reasons do not.
            if let (Err(proto), Err(json)) = (proto, json) {
                prop_assert_eq!(proto.reason, json.reason);
                json.detail.clone_from(&proto.detail);
            }
        }
        prop_assert_eq!(&from_proto, &from_json);
        prop_assert_eq!(
            from_proto.counts.spans(),
            u64::try_from(spans(&decoded).count()).expect("few")
        );
        // Against the message itself: ids and times of the searches, in their order.
        let mut known = spans(&decoded).map(|span| {
            let id = format!("{}/{}", hex(&span.trace_id), hex(&span.span_id));
            (id, span.end_time_unix_nano / 1_000_000)
        });
        for search in from_proto.searches.iter().flatten() {
            let id = search["query_id"].as_str().expect("an id").to_owned();
            let ts = search["ts"].as_u64().expect("a time");
            prop_assert!(known.any(|span| span == (id.clone(), ts)));
        }
    }

    /// A message that `prost` decodes after a change of one byte, or of its end, is decoded; the reader may
    /// accept more, because it does not read values that it does not need.
    #[test]
    fn damaged_messages_are_rejected_or_read_as_prost_reads_them(
        traces in traces(),
        position in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = traces.encode_to_vec();
        let position = position.index(bytes.len());
        if cut {
            bytes.truncate(position);
        } else {
            bytes[position] = byte;
        }
        let found = proto(&bytes, &ACCEPTANCE, &mapping());
        if let (false, Ok(decoded)) = (bytes.is_empty(), Traces::decode(&*bytes)) {
            let found = found.expect("prost decodes it");
            let spans = u64::try_from(spans(&decoded).count()).expect("few");
            prop_assert_eq!(found.counts.spans(), spans);
        } else if cut {
            prop_assert!(found.is_err());
        }
    }
}
