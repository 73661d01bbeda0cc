//! Mapping of spans to searches, convention by convention.

use rankgauge_core::decode::otlp::{DocumentSource, Mapping, Session, Source, SpanKind};
use rankgauge_core::event::Acceptance;
use serde_json::{Value, json};

use super::messages::{record, span};
use super::{ACCEPTANCE, Decoded, both};

/// Decodes one span in both encodings with the default mapping.
#[track_caller]
fn one(attributes: &[(&str, Value)]) -> Decoded {
    of_span(span(attributes))
}

#[track_caller]
fn of_span(span: Value) -> Decoded {
    both(&record(&[span]), &ACCEPTANCE, &Mapping::default())
}

fn metadata_source(key: &str) -> DocumentSource {
    DocumentSource::Metadata(key.to_owned())
}

/// OpenInference retriever with these attributes beside its kind and its query.
fn retriever(attributes: &[(&'static str, Value)]) -> Value {
    let mut all = vec![
        ("openinference.span.kind", json!("RETRIEVER")),
        ("input.value", json!("건폐율")),
    ];
    all.extend(attributes.iter().cloned());
    span(&all)
}

fn with(mut span: Value, member: &str, value: Value) -> Value {
    span[member] = value;
    span
}

const DOCUMENTS: &str = r#"[{"id": "c0", "score": 0.5, "content": "글", "lang": "ko"}, {"id": 7}]"#;

#[test]
fn the_documented_span_becomes_the_documented_search() {
    let mapping = Mapping {
        group_id: vec![metadata_source("doc_id")],
        ..Mapping::default()
    };
    let span = span(&[
        ("openinference.span.kind", json!("RETRIEVER")),
        ("input.value", json!("국토계획법 제17조")),
        ("retrieval.documents.0.document.id", json!("c0")),
        ("retrieval.documents.0.document.score", json!(0.93)),
        (
            "retrieval.documents.0.document.metadata",
            json!("{\"doc_id\":\"국토계획법_제17조\"}"),
        ),
    ]);
    let span = with(span, "name", json!("VectorIndexRetriever.retrieve"));
    let decoded = both(&record(&[span]), &ACCEPTANCE, &mapping);
    assert_eq!(
        *decoded.search(),
        json!({
            "query_id": "4bf92f3577b34da6a3ce929d0e0e4736/00f067aa0ba902b7",
            "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
            "session_id": "4bf92f3577b34da6a3ce929d0e0e4736",
            "ts": 1_763_337_600_120_i64,
            "latency_ms": 120.0,
            "query": "국토계획법 제17조",
            "application": "law-search",
            "variant": "V4",
            "results": [{
                "id": "c0", "score": 0.93, "group_id": "국토계획법_제17조",
                "attrs": {"doc_id": "국토계획법_제17조"},
            }],
            "labels": {"span_kind": "retriever", "span_name": "VectorIndexRetriever.retrieve"},
        })
    );
    assert_eq!(decoded.outcomes(), [1, 0, 0, 0, 0]);
}

#[test]
fn documents_are_served_in_the_order_of_their_numbers() {
    let list: Vec<(String, Value)> = [10, 0, 3, 1, 2, 4, 9, 8, 7, 6, 5]
        .into_iter()
        .map(|number| {
            let key = format!("retrieval.documents.{number}.document.id");
            (key, json!(format!("d{number}")))
        })
        .collect();
    let mut attributes = vec![
        ("openinference.span.kind", json!("RETRIEVER")),
        ("input.value", json!("q")),
    ];
    attributes.extend(
        list.iter()
            .map(|(key, value)| (key.as_str(), value.clone())),
    );
    let decoded = one(&attributes);
    let ids: Vec<&str> = decoded.search()["results"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|hit| hit["id"].as_str())
        .collect();
    let expected = [
        "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10",
    ];
    assert_eq!(ids, expected);
}

#[test]
fn genai_documents_are_json_or_structured() {
    let texts = json!({"arrayValue": {"values": [
        {"stringValue": r#"{"id": "c0", "score": 0.5, "content": "글", "lang": "ko"}"#},
        {"stringValue": r#"{"id": 7}"#},
    ]}});
    let structured = json!({"arrayValue": {"values": [
        {"kvlistValue": {"values": [
            {"key": "id", "value": {"stringValue": "c0"}},
            {"key": "score", "value": {"doubleValue": 0.5}},
            {"key": "content", "value": {"stringValue": "글"}},
            {"key": "lang", "value": {"stringValue": "ko"}},
            {"key": "nested", "value": {"kvlistValue": {}}},
        ]}},
        {"kvlistValue": {"values": [{"key": "id", "value": {"intValue": "7"}}]}},
    ]}});
    for documents in [json!(DOCUMENTS), texts, structured] {
        let decoded = one(&[
            ("gen_ai.operation.name", json!("retrieval")),
            ("gen_ai.data_source.id", json!("statutes")),
            ("gen_ai.retrieval.query.text", json!("건폐율")),
            ("gen_ai.retrieval.documents", documents),
        ]);
        let search = decoded.search();
        assert_eq!(search["query"], "건폐율");
        assert_eq!(search["labels"]["gen_ai.data_source.id"], "statutes");
        assert_eq!(
            search["results"],
            json!([{"id": "c0", "score": 0.5, "text": "글", "attrs": {"lang": "ko"}}, {"id": "7"}])
        );
    }
}

#[test]
fn whole_documents_have_the_names_of_flattened_ones_or_are_nested() {
    let map = |members: Value| json!({"kvlistValue": {"values": members}});
    let member = |key: &str, value: Value| json!({"key": key, "value": value});
    let text = |text: &str| json!({"stringValue": text});
    let dotted = map(json!([
        member("document.id", text("a")),
        member("document.score", json!({"doubleValue": 0.5})),
        member("document.content", text("글")),
        member("document.metadata", text(r#"{"lang": "ko"}"#)),
    ]));
    let nested = map(json!([member(
        "document",
        map(json!([
            member("id", text("a")),
            member("score", json!({"doubleValue": 0.5})),
            member("content", text("글")),
            member("metadata", map(json!([member("lang", text("ko"))]))),
        ]))
    )]));
    for documents in [
        json!(
            r#"[{"document.id": "a", "document.score": 0.5, "document.content": "글",
                 "document.metadata": {"lang": "ko"}}]"#
        ),
        json!(
            r#"[{"document": {"id": "a", "score": 0.5, "content": "글", "metadata": {"lang": "ko"}}}]"#
        ),
        json!({"arrayValue": {"values": [dotted]}}),
        json!({"arrayValue": {"values": [nested]}}),
    ] {
        let decoded = of_span(retriever(&[("retrieval.documents", documents)]));
        assert_eq!(
            decoded.search()["results"],
            json!([{"id": "a", "score": 0.5, "text": "글", "attrs": {"lang": "ko"}}])
        );
    }
}

#[test]
fn names_of_status_codes_and_ids_in_base64_are_read_in_json() {
    let read = |span: Value| {
        let record = super::messages::record(&[span]).to_string();
        let decoded = super::json(record.as_bytes(), &ACCEPTANCE, &Mapping::default());
        decoded.expect("valid")
    };
    let good = || retriever(&[("retrieval.documents.0.document.id", json!("a"))]);
    let base64 = with(
        with(good(), "traceId", json!("S/kvNXezTaajzpKdDg5HNg==")),
        "spanId",
        json!("APBnqgupArc="),
    );
    for (span, fails) in [
        (
            with(good(), "status", json!({"code": "STATUS_CODE_OK"})),
            false,
        ),
        (
            with(good(), "status", json!({"code": "STATUS_CODE_UNSET"})),
            false,
        ),
        (
            with(good(), "status", json!({"code": "STATUS_CODE_ERROR"})),
            true,
        ),
        (with(good(), "status", json!({"code": "2"})), true),
        (base64, false),
    ] {
        let decoded = read(span);
        let search = decoded.search();
        assert_eq!(
            search["query_id"],
            "4bf92f3577b34da6a3ce929d0e0e4736/00f067aa0ba902b7"
        );
        assert_eq!(search.get("error_type").is_some(), fails, "{search}");
    }
    // The last one has 11 bytes in hexadecimal: as many digits as base64 of 16 bytes without its padding.
    for wrong in [
        "S/kvNXezTaajzpKdDg5H",
        "S/kvNXezTaajzpKdDg5H!!==",
        "é",
        "4bf92f3577b34da6a3ce92",
    ] {
        let rejection = read(with(good(), "traceId", json!(wrong))).rejection();
        assert!(rejection.starts_with("bad_value"), "{rejection}");
    }
}

#[test]
fn langfuse_observations_state_input_and_output_as_json() {
    let output = r#"[{"id": "c0", "metadata": {"page": 3, "tags": []}, "page_content": "글",
                      "type": "Document"}]"#;
    for (input, query) in [
        ("\"건폐율\"", "건폐율"),
        ("건폐율", "건폐율"),
        (r#"{"top_k": 3, "query": "건폐율"}"#, "건폐율"),
        ("{not json", "{not json"),
    ] {
        let decoded = one(&[
            ("langfuse.observation.type", json!("retriever")),
            ("langfuse.observation.input", json!(input)),
            ("langfuse.observation.output", json!(output)),
            ("langfuse.observation.metadata.query_key", json!("Q1")),
            (
                "langfuse.observation.usage_details",
                json!(r#"{"input": 7}"#),
            ),
            (
                "langfuse.observation.cost_details",
                json!(r#"{"total": 0.25}"#),
            ),
            ("langfuse.version", json!("2025-11")),
        ]);
        let search = decoded.search();
        assert_eq!(search["query"], query);
        assert_eq!(search["query_key"], "Q1");
        assert_eq!(search["variant"], "2025-11");
        assert_eq!(search["cost"], 0.25);
        assert_eq!(search["usage"][0]["input_tokens"], 7);
        let hit = json!([{"id": "c0", "text": "글", "attrs": {"page": "3"}}]);
        assert_eq!(search["results"], hit);
    }
}

#[test]
fn openinference_precedes_genai_and_langfuse_for_each_field() {
    let all = [
        ("openinference.span.kind", json!("RETRIEVER")),
        ("gen_ai.operation.name", json!("chat")),
        ("input.value", json!("one")),
        ("gen_ai.retrieval.query.text", json!("two")),
        ("langfuse.observation.input", json!("three")),
        ("retrieval.documents.0.document.id", json!("a")),
        ("gen_ai.retrieval.documents", json!(r#"[{"id": "b"}]"#)),
        ("langfuse.observation.output", json!(r#"[{"id": "c"}]"#)),
    ];
    let found = |attributes: &[(&str, Value)]| {
        let decoded = one(attributes);
        let search = decoded.search();
        [search["query"].clone(), search["results"][0]["id"].clone()]
    };
    let without = |names: &[&str]| {
        let kept = all.iter().filter(|(name, _)| !names.contains(name));
        kept.cloned().collect::<Vec<_>>()
    };
    assert_eq!(found(&all), [json!("one"), json!("a")]);
    assert_eq!(
        found(&without(&[
            "input.value",
            "retrieval.documents.0.document.id"
        ])),
        [json!("two"), json!("b")]
    );
    // The first query and the first documents win independently.
    assert_eq!(
        found(&without(&["input.value"])),
        [json!("two"), json!("a")]
    );
    let last = without(&[
        "input.value",
        "retrieval.documents.0.document.id",
        "gen_ai.retrieval.query.text",
        "gen_ai.retrieval.documents",
    ]);
    assert_eq!(found(&last), [json!("three"), json!("c")]);
}

#[test]
fn the_kind_comes_from_the_first_convention_that_states_it() {
    let kinds = |attributes: &[(&str, Value)]| {
        let mut all = vec![
            ("input.value", json!("q")),
            ("retrieval.documents.0.document.id", json!("a")),
        ];
        all.extend(attributes.iter().cloned());
        one(&all).outcomes()
    };
    let [search, other] = [[1, 0, 0, 0, 0], [0, 0, 0, 0, 1]];
    assert_eq!(
        kinds(&[("openinference.span.kind", json!("RETRIEVER"))]),
        search
    );
    assert_eq!(
        kinds(&[("gen_ai.operation.name", json!("retrieval"))]),
        search
    );
    assert_eq!(
        kinds(&[("langfuse.observation.type", json!("retriever"))]),
        search
    );
    assert_eq!(kinds(&[("gen_ai.operation.name", json!("chat"))]), other);
    assert_eq!(kinds(&[]), other);
    assert_eq!(
        kinds(&[
            ("openinference.span.kind", json!("CHAIN")),
            ("gen_ai.operation.name", json!("retrieval")),
        ]),
        other
    );
}

#[test]
fn rerankers_are_searches_of_their_own_if_selected() {
    let reranker = span(&[
        ("openinference.span.kind", json!("RERANKER")),
        ("input.value", json!("{\"query\": \"from the input\"}")),
        ("input.mime_type", json!("application/json")),
        ("reranker.query", json!("건폐율")),
        ("reranker.model_name", json!("bge")),
        ("reranker.input_documents.0.document.id", json!("a")),
        ("reranker.input_documents.1.document.id", json!("b")),
        ("reranker.output_documents.0.document.id", json!("b")),
        ("reranker.output_documents.1.document.id", json!("a")),
        ("llm.token_count.prompt", json!(12)),
    ]);
    assert_eq!(of_span(reranker.clone()).outcomes(), [0, 0, 0, 0, 1]);
    let mapping = Mapping {
        search_spans: vec![SpanKind::Retriever, SpanKind::Reranker],
        variant: vec![Source::SpanKind],
        ..Mapping::default()
    };
    let decoded = both(&record(&[reranker]), &ACCEPTANCE, &mapping);
    let search = decoded.search();
    assert_eq!(search["query"], "건폐율");
    assert_eq!(search["variant"], "reranker");
    assert_eq!(search["results"], json!([{"id": "b"}, {"id": "a"}]));
    let usage = &search["usage"][0];
    assert_eq!(
        [&usage["operation"], &usage["model"], &usage["input_tokens"]],
        [&json!("rerank"), &json!("bge"), &json!(12)]
    );
}

#[test]
fn an_input_in_json_states_the_query_in_one_of_its_members() {
    let query = |input: &str, media_type: &str| {
        one(&[
            ("openinference.span.kind", json!("RETRIEVER")),
            ("input.value", json!(input)),
            ("input.mime_type", json!(media_type)),
            ("retrieval.documents.0.document.id", json!("a")),
        ])
    };
    let json = "application/json";
    for input in [
        r#"{"top_k": 3, "query": "건폐율"}"#,
        r#"{"query_str": "건폐율", "input": "no"}"#,
        r#"{"question": "건폐율"}"#,
        r#"{"input": "건폐율"}"#,
        "\"건폐율\"",
    ] {
        assert_eq!(query(input, json).search()["query"], "건폐율", "{input}");
    }
    assert_eq!(query("건폐율", "text/plain").search()["query"], "건폐율");
    let embedding = query(r#"{"query_embedding": [0.1, 0.2]}"#, json);
    assert!(
        embedding.rejection().contains("no query: one of"),
        "{embedding:?}"
    );
    let truncated = query(r#"{"query": "건폐"#, json).rejection();
    assert!(
        truncated.contains("input.value: not JSON, or truncated JSON"),
        "{truncated}"
    );
    let key = one(&[
        ("openinference.span.kind", json!("RETRIEVER")),
        ("metadata", json!(r#"{"query_key": "Q9"}"#)),
        ("retrieval.documents.0.document.id", json!("a")),
    ]);
    assert_eq!(key.search()["query_key"], "Q9");
}

#[test]
fn a_search_without_results_is_distinguished_from_one_that_was_not_recorded() {
    let empty = json!({"arrayValue": {}});
    let zero: &[&[(&str, Value)]] = &[
        &[("retrieval.documents", empty.clone())],
        &[("retrieval.documents", json!("[]"))],
        &[("gen_ai.retrieval.documents", empty.clone())],
        &[("gen_ai.retrieval.documents", json!("[]"))],
        &[("output.value", json!("[]"))],
        &[("output.value", json!("{\"documents\": []}"))],
    ];
    for attributes in zero {
        let decoded = of_span(retriever_of(attributes));
        assert_eq!(decoded.search()["results"], json!([]), "{attributes:?}");
    }
    let unknown: &[&[(&str, Value)]] = &[
        &[],
        &[("output.value", json!("an answer"))],
        &[(
            "output.value",
            json!("{\"documents\": [\"Document(id=1)\"]}"),
        )],
        &[("output.value", json!("__REDACTED__"))],
        &[("gen_ai.retrieval.documents", json!("__REDACTED__"))],
    ];
    for attributes in unknown {
        let decoded = of_span(retriever_of(attributes));
        assert_eq!(decoded.outcomes(), [0, 0, 1, 0, 0], "{attributes:?}");
        assert!(decoded.searches.is_empty());
    }
    let failed = with(
        retriever(&[]),
        "status",
        json!({"code": 2, "message": "a stack trace"}),
    );
    let failed = with(
        failed,
        "events",
        json!([{"name": "exception", "timeUnixNano": "1", "attributes": [
            {"key": "exception.message", "value": {"stringValue": "m"}},
            {"key": "exception.type", "value": {"stringValue": "RuntimeError"}},
        ]}]),
    );
    let decoded = of_span(failed);
    assert_eq!(decoded.search()["results"], json!([]));
    assert_eq!(decoded.search()["error_type"], "RuntimeError");
    let stated = with(
        retriever(&[("error.type", json!("timeout"))]),
        "status",
        json!({"code": 2}),
    );
    assert_eq!(of_span(stated).search()["error_type"], "timeout");
    let bare = with(retriever(&[]), "status", json!({"code": 2}));
    assert_eq!(of_span(bare).search()["error_type"], "error");
}

/// [`retriever`] for attributes that are not static.
fn retriever_of(attributes: &[(&str, Value)]) -> Value {
    let mut all = vec![
        ("openinference.span.kind", json!("RETRIEVER")),
        ("input.value", json!("건폐율")),
    ];
    all.extend(attributes.iter().cloned());
    span(&all)
}

#[test]
fn ids_are_looked_up_in_the_document_its_metadata_and_the_output() {
    let documents = |documents: [Value; 3]| {
        let [id, metadata, output] = documents;
        retriever_of(&[
            ("retrieval.documents.0.document.content", json!("글")),
            ("retrieval.documents.0.document.id", id),
            ("retrieval.documents.0.document.metadata", metadata),
            ("output.value", output),
        ])
    };
    let all = || {
        [
            json!("from the id"),
            json!(r#"{"doc_id": "from the metadata"}"#),
            json!(r#"{"documents": [{"id": "from the output", "page_content": "글"}]}"#),
        ]
    };
    let id = |span: Value, sources: Vec<DocumentSource>| {
        let mapping = Mapping {
            document_id: sources,
            ..Mapping::default()
        };
        let decoded = both(&record(&[span]), &ACCEPTANCE, &mapping);
        decoded.search()["results"][0]["id"].clone()
    };
    let sources = || vec![DocumentSource::Id, metadata_source("doc_id")];
    assert_eq!(id(documents(all()), sources()), "from the id");
    let mut reversed = sources();
    reversed.reverse();
    assert_eq!(id(documents(all()), reversed), "from the metadata");
    let [_, metadata, output] = all();
    let without_id = [json!(""), metadata, output];
    assert_eq!(
        id(documents(without_id.clone()), sources()),
        "from the metadata"
    );
    // The output is the last source, whether configured or not.
    let only = vec![DocumentSource::Id];
    assert_eq!(id(documents(without_id), only), "from the output");
    let number = documents([json!(42), json!("{}"), json!("")]);
    assert_eq!(id(number, sources()), "42");
}

#[test]
fn documents_without_ids_are_rejected_unless_the_gold_set_has_texts() {
    let span = retriever(&[
        ("retrieval.documents.0.document.content", json!("글")),
        ("retrieval.documents.1.document.content", json!("다른 글")),
        ("retrieval.documents.1.document.id", json!("d1")),
        // Another length: the positions do not correspond.
        ("output.value", json!(r#"{"documents": [{"id": "a"}]}"#)),
    ]);
    let decoded = of_span(span.clone());
    assert_eq!(decoded.counts.documents_without_id, 1);
    let rejection = decoded.rejection();
    assert!(
        rejection.starts_with(
            "missing_field: span 4bf92f3577b34da6a3ce929d0e0e4736/00f067aa0ba902b7 \
             LawRetriever.retrieve: document 0 has no id; set otlp.document_id"
        ),
        "{rejection}"
    );
    let acceptance = Acceptance {
        has_gold_texts: true,
        ..ACCEPTANCE
    };
    let decoded = both(&record(&[span]), &acceptance, &Mapping::default());
    assert_eq!(
        decoded.search()["results"],
        json!([{"id": "", "text": "글"}, {"id": "d1", "text": "다른 글"}])
    );
    assert_eq!(decoded.counts.documents_without_id, 1);
}

#[test]
fn a_truncated_list_is_never_judged_as_a_short_one() {
    let gap = retriever(&[
        ("retrieval.documents.0.document.id", json!("a")),
        ("retrieval.documents.2.document.id", json!("c")),
    ]);
    let rejection = of_span(gap).rejection();
    assert!(
        rejection.contains("bad_value") && rejection.contains("retrieval.documents.1: "),
        "{rejection}"
    );
    // Without a gap, only the count of dropped attributes shows the loss: of any convention.
    let lists: [&[(&str, Value)]; 3] = [
        &[("retrieval.documents.0.document.id", json!("a"))],
        &[("gen_ai.retrieval.documents", json!(DOCUMENTS))],
        &[("langfuse.observation.output", json!(DOCUMENTS))],
    ];
    for list in lists {
        let span = with(retriever_of(list), "droppedAttributesCount", json!(3));
        let decoded = of_span(span);
        let rejection = decoded.rejection();
        assert!(rejection.contains("bad_value"), "{rejection}");
        assert!(rejection.contains("dropped 3 attributes"), "{rejection}");
        assert_eq!(decoded.counts.dropped_attributes, 3);
        assert_eq!(decoded.outcomes(), [0, 1, 0, 0, 0]);
    }
    // The query and the ids are gone as well, and this reason goes first.
    let cut = span(&[
        ("retrieval.documents.8.document.metadata", json!("{}")),
        ("retrieval.documents.9.document.id", json!("j")),
        ("openinference.span.kind", json!("RETRIEVER")),
    ]);
    let cut = with(cut, "droppedAttributesCount", json!(37));
    assert!(of_span(cut).rejection().starts_with("bad_value"));
    for (name, value) in [
        ("retrieval.documents.0.document.metadata", "{\"page\": "),
        ("gen_ai.retrieval.documents", "[{\"id\": \"a\"}, {\"id\""),
        ("metadata", "{\"variant\": \"V"),
    ] {
        let mut attributes = vec![(name, json!(value))];
        if name == "metadata" {
            attributes.push(("retrieval.documents.0.document.id", json!("a")));
        }
        let rejection = of_span(retriever_of(&attributes)).rejection();
        assert!(rejection.starts_with("bad_value"), "{rejection}");
        assert!(rejection.contains("truncated"), "{rejection}");
    }
}

#[test]
fn a_span_that_lost_its_kind_is_rejected_where_retrievers_are_selected() {
    let lost = with(
        span(&[("retrieval.documents.9.document.id", json!("j"))]),
        "droppedAttributesCount",
        json!(40),
    );
    let decoded = of_span(lost.clone());
    assert!(decoded.rejection().starts_with("bad_value"));
    let rerankers = Mapping {
        search_spans: vec![SpanKind::Reranker],
        ..Mapping::default()
    };
    let decoded = both(&record(&[lost]), &ACCEPTANCE, &rerankers);
    assert_eq!(decoded.outcomes(), [0, 0, 0, 0, 1]);
    let chain = with(
        span(&[
            ("retrieval.documents.9.document.id", json!("j")),
            ("openinference.span.kind", json!("CHAIN")),
        ]),
        "droppedAttributesCount",
        json!(40),
    );
    assert_eq!(of_span(chain).outcomes(), [0, 0, 0, 0, 1]);
}

#[test]
fn names_select_among_nested_retrievers() {
    let named = |name: &str| {
        let span = retriever(&[("retrieval.documents.0.document.id", json!("a"))]);
        with(span, "name", json!(name))
    };
    let spans = [
        named("VectorIndexRetriever.retrieve"),
        named("VectorIndexRetriever._retrieve"),
        named("VectorIndexRetriever._aretrieve"),
        named("EnsembleRetriever"),
    ];
    let decoded = both(&record(&spans), &ACCEPTANCE, &Mapping::default());
    assert_eq!(decoded.outcomes(), [2, 0, 0, 2, 0]);
    let mapping = Mapping {
        names: vec!["Ensemble*".into(), "V*r._retrieve".into()],
        ignore_names: Vec::new(),
        ..Mapping::default()
    };
    let decoded = both(&record(&spans), &ACCEPTANCE, &mapping);
    assert_eq!(decoded.outcomes(), [2, 0, 0, 2, 0]);
    let exact = Mapping {
        names: vec!["EnsembleRetriever".into(), "*y*".into()],
        ..Mapping::default()
    };
    let decoded = both(&record(&spans), &ACCEPTANCE, &exact);
    assert_eq!(decoded.outcomes(), [1, 0, 0, 3, 0]);
}

#[test]
fn resources_and_scopes_select_spans() {
    let span = retriever(&[("retrieval.documents.0.document.id", json!("a"))]);
    let scope = |name: &str| json!({"scope": {"name": name}, "spans": [span.clone()]});
    let service = |name: &str, scopes: &[Value]| {
        let attributes = json!([
            {"key": "service.name", "value": {"stringValue": name}},
            {"key": "shard", "value": {"intValue": "7"}},
        ]);
        json!({"resource": {"attributes": attributes}, "scopeSpans": scopes})
    };
    let all = json!({"resourceSpans": [
        service("shop", &[scope("openinference.instrumentation.llama_index"), scope("http")]),
        service("search-a", &[scope("openinference.instrumentation.haystack")]),
        service("billing", &[scope("openinference.instrumentation.haystack")]),
        {"scopeSpans": [{"spans": [span.clone()]}]},
    ]});
    let selected = |scopes: &[&str], resources: &[(&str, &[&str])]| {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let mut mapping = Mapping {
            scopes: owned(scopes),
            ..Mapping::default()
        };
        for (name, patterns) in resources {
            mapping.require_resource(name, owned(patterns));
        }
        both(&all, &ACCEPTANCE, &mapping).outcomes()
    };
    assert_eq!(selected(&[], &[]), [5, 0, 0, 0, 0]);
    assert_eq!(selected(&["openinference.*"], &[]), [3, 0, 0, 2, 0]);
    let services: &[&str] = &["shop", "search-*"];
    assert_eq!(
        selected(&[], &[("service.name", services)]),
        [3, 0, 0, 2, 0]
    );
    let both_keys: [(&str, &[&str]); 2] = [("service.name", services), ("shard", &["7"])];
    assert_eq!(selected(&["*llama*"], &both_keys), [1, 0, 0, 4, 0]);
    assert_eq!(selected(&[], &[("shard", &["8"])]), [0, 0, 0, 5, 0]);
    assert_eq!(selected(&[], &[("absent", &["*"])]), [0, 0, 0, 5, 0]);
}

#[test]
fn redacted_content_counts_as_absent() {
    let decoded = one(&[
        ("openinference.span.kind", json!("RETRIEVER")),
        ("input.value", json!("__REDACTED__")),
        ("gen_ai.retrieval.query.text", json!("건폐율")),
        ("retrieval.documents.0.document.id", json!("a")),
        (
            "retrieval.documents.0.document.content",
            json!("__REDACTED__"),
        ),
        (
            "retrieval.documents.0.document.metadata",
            json!("__REDACTED__"),
        ),
    ]);
    assert_eq!(decoded.search()["query"], "건폐율");
    assert_eq!(decoded.search()["results"], json!([{"id": "a"}]));
    let hidden = one(&[
        ("openinference.span.kind", json!("RETRIEVER")),
        ("input.value", json!("__REDACTED__")),
        ("retrieval.documents.0.document.id", json!("a")),
    ]);
    assert!(hidden.rejection().starts_with("missing_field"));
}

#[test]
fn variant_session_and_labels_have_configured_sources() {
    let mut mapping = Mapping {
        session: Session::SessionId,
        ..Mapping::default()
    };
    mapping.variant = [
        "app.version",
        "metadata.release",
        "resource.service.version",
    ]
    .iter()
    .filter_map(|text| mapping.source(text))
    .collect();
    mapping.labels = ["metadata.tenant", "span.kind", "top_k"]
        .iter()
        .filter_map(|text| Some(((*text).to_owned(), mapping.source(text)?)))
        .collect();
    let decoded = |attributes: &[(&str, Value)]| {
        let mut all = vec![("retrieval.documents.0.document.id", json!("a"))];
        all.extend(attributes.iter().cloned());
        let decoded = both(&record(&[retriever_of(&all)]), &ACCEPTANCE, &mapping);
        decoded.search().clone()
    };
    let search = decoded(&[
        ("app.version", json!("A")),
        (
            "metadata",
            json!(r#"{"tenant": "t1", "release": "B", "deep": {"x": 1}}"#),
        ),
        ("session.id", json!("s-1")),
        ("user.id", json!("u-1")),
        ("top_k", json!(5)),
    ]);
    assert_eq!(search["variant"], "A");
    assert_eq!(search["session_id"], "s-1");
    assert_eq!(search["user_id"], "u-1");
    assert_eq!(
        search["labels"],
        json!({"span_kind": "retriever", "span_name": "LawRetriever.retrieve",
               "metadata.tenant": "t1", "span.kind": "retriever", "top_k": "5"})
    );
    let search = decoded(&[("metadata", json!(r#"{"release": "B"}"#))]);
    assert_eq!(search["variant"], "B");
    assert_eq!(search.get("session_id"), None);
    let search = decoded(&[("gen_ai.conversation.id", json!("c-1"))]);
    assert_eq!(search["variant"], "V4");
    assert_eq!(search["session_id"], "c-1");
}

#[test]
fn absent_members_null_and_empty_values_are_defaults_in_json() {
    let text = r#"{"resourceSpans": [
        {"resource": null, "scopeSpans": null},
        {"resource": {}, "scopeSpans": [{"scope": {}, "spans": [
            {"attributes": null, "status": {}, "events": [], "startTimeUnixNano": ""},
            {"traceId": "4BF92F3577B34DA6A3CE929D0E0E4736", "spanId": "00F067AA0BA902B7",
             "startTimeUnixNano": {}, "endTimeUnixNano": 1763337600120000000, "status": null,
             "droppedAttributesCount": "", "flags": 256, "traceState": "x=1",
             "attributes": [
                {"key": "openinference.span.kind", "value": {"stringValue": "RETRIEVER"}},
                {"key": "input.value", "value": {"newValue": {"deep": [1]}, "stringValue": "q"}},
                {"key": "session.id"}, {"key": "user.id", "value": ""}, {"value": {}},
                {"key": "retrieval.documents.0.document.id", "value": {"intValue": 7}}]}]}]}]}"#;
    let decoded = super::json(text.as_bytes(), &ACCEPTANCE, &Mapping::default());
    let decoded = decoded.expect("valid");
    assert_eq!(decoded.outcomes(), [1, 0, 0, 0, 1]);
    let search = decoded.searches[0].as_ref().expect("a search");
    assert_eq!(
        search["query_id"],
        "4bf92f3577b34da6a3ce929d0e0e4736/00f067aa0ba902b7"
    );
    assert_eq!(search["results"], json!([{"id": "7"}]));
    assert_eq!(search["ts"], 1_763_337_600_120_i64);
    assert_eq!(search.get("user_id"), None);
}

#[test]
fn unusable_spans_are_rejected_with_their_field() {
    let good = || retriever(&[("retrieval.documents.0.document.id", json!("a"))]);
    for (span, reason) in [
        (
            with(good(), "traceId", json!("")),
            "bad_value: span LawRetriever.retrieve: traceId",
        ),
        (
            with(good(), "spanId", json!("0000000000000000")),
            "bad_value: span LawRetriever.retrieve: traceId, spanId",
        ),
        (with(good(), "endTimeUnixNano", json!("0")), "missing_field"),
        (
            retriever(&[("gen_ai.retrieval.documents", json!("[1]"))]),
            "wrong_type",
        ),
    ] {
        let rejection = of_span(span).rejection();
        assert!(rejection.starts_with(reason), "{rejection}");
    }
    let many: Vec<(String, Value)> = (0..101)
        .map(|number| {
            (
                format!("retrieval.documents.{number}.document.id"),
                json!("d"),
            )
        })
        .collect();
    let many: Vec<(&str, Value)> = many
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()))
        .collect();
    let rejection = of_span(retriever_of(&many)).rejection();
    assert!(rejection.starts_with("too_many_results"), "{rejection}");
    // A clock that was set back costs the latency, not the search.
    let back = with(good(), "startTimeUnixNano", json!("1763337600200000000"));
    assert_eq!(of_span(back).search().get("latency_ms"), None);
}
