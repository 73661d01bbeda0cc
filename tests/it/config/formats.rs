//! Record formats: the formats of both topics, and the settings that UBI leaves open.

use rankgauge_core::decode::otlp::{
    DocumentSource, FeedbackAction, Mapping, Session, Source, SpanKind,
};
use rankgauge_core::decode::ubi::{Dialect, Meaning};
use rankgauge_core::decode::{Format, Formats};

use super::{Config, assert_problem, load, problems};

#[test]
fn records_are_native_events_by_default() {
    let formats = Config::default().formats;
    let Formats {
        search,
        feedback,
        ubi,
        otlp,
        mapped,
        is_shared,
    } = formats;
    assert_eq!(mapped, [None, None]);
    assert!(!is_shared);
    assert_eq!((search, feedback), (Format::Native, Format::Native));
    assert_eq!(ubi, Dialect::default());
    assert_eq!(ubi.ordinal_base, 1);
    assert_eq!(otlp, Mapping::default());
    assert!(!Config::default().summary().contains("formats"));
}

#[test]
fn versions_come_from_labels_and_sources_but_not_from_those_of_the_variant() {
    let text = "kafka: {search_format: otlp_proto}\notlp: {labels: [span.name]}\ndeployments: \
                {from: [labels.build, resource.k8s.version, span.name]}";
    let config = load(&[text], &[], &[]).expect("valid");
    let labels = ["build", "resource.k8s.version", "span.name"];
    assert_eq!(config.engine.version_labels, labels);
    let known: Vec<&str> = config.formats.otlp.labels.iter().map(|it| &*it.0).collect();
    assert_eq!(known, ["span.name", "resource.k8s.version"]);
    for (text, expected) in [
        (
            "kafka: {search_format: otlp_json}\ndeployments: {from: [resource.service.version]}",
            "\"resource.service.version\" is a source of the variant",
        ),
        (
            "deployments: {from: [build]}",
            "\"build\" is no source; labels.NAME is expected",
        ),
        (
            "deployments: {from: [labels.]}",
            "lacks the name of a label",
        ),
    ] {
        let found = problems(text);
        let [problem] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(
            problem.contains("deployments.from") && problem.contains(expected),
            "{problem}"
        );
    }
}

#[test]
fn each_topic_has_its_own_format() {
    let config = load(
        &["kafka: {search_format: ubi}\nubi: {ordinal_base: 0}"],
        &[],
        &[],
    );
    let config = config.expect("valid");
    assert_eq!(config.formats.search, Format::Ubi);
    assert_eq!(config.formats.feedback, Format::Native);
    assert_eq!(config.formats.ubi.ordinal_base, 0);
    let summary = config.summary();
    let line = "formats     searches ubi, feedback native, ordinals from 0\n";
    assert!(summary.contains(line), "{summary}");
    let feedback = load(
        &[],
        &[("RANKGAUGE__KAFKA__FEEDBACK_FORMAT", "ubi")],
        &[("ubi.ordinal_base", "0")],
    );
    let formats = feedback.expect("valid").formats;
    assert_eq!(formats.feedback, Format::Ubi);
    assert_eq!(formats.ubi.ordinal_base, 0);
}

#[test]
fn configured_actions_extend_or_replace_the_default_ones() {
    let file = "ubi:\n  actions: {cite: conversion, view: custom, page.exit: dwell, up: thumbs_up}";
    let variable = ("RANKGAUGE__UBI__ACTIONS__OPEN_DOCUMENT", "click");
    let ubi = load(&[file], &[variable], &[]).expect("valid").formats.ubi;
    for (action, meaning) in [
        ("cite", "conversion"),
        ("view", "custom"),
        ("page.exit", "dwell"),
        ("up", "thumbs_up"),
        ("open_document", "click"),
        ("click", "click"),
        ("purchase", "conversion"),
        ("unheard_of", "custom"),
    ] {
        let mut known = Meaning::names();
        let meaning = known.find(|(name, _)| *name == meaning).map(|(_, it)| it);
        assert_eq!(Some(ubi.meaning(action)), meaning, "{action}");
    }
}

#[test]
fn invalid_formats_ordinal_bases_and_meanings_are_rejected() {
    assert_problem(
        "kafka:\n  search_format: avro",
        "0.yaml:2: kafka.search_format: \"avro\" is none of native, ubi, otlp_proto, otlp_json",
    );
    assert_problem(
        "ubi:\n  ordinal_base: 2",
        "0.yaml:2: ubi.ordinal_base: \"2\" is none of 0, 1",
    );
    assert_problem(
        "ubi:\n  actions:\n    cite: converted",
        "0.yaml:3: ubi.actions.cite: \"converted\" is none of impression, click, dwell, conversion, \
         thumbs, rating, judgment, reformulation, comment, custom, thumbs_up, thumbs_down",
    );
    assert_problem(
        "ubi:\n  actions: [click]",
        "0.yaml:2: ubi.actions: a section of keys with values is expected",
    );
    assert_problem("ubi:\n  base: 0", "0.yaml:2: ubi.base: unknown key");
}

#[test]
fn spans_are_mapped_as_configured() {
    let file = "kafka: {search_format: otlp_proto}\n\
                otlp:\n  search_spans: [reranker, retriever]\n  names: [Law*]\n  ignore_names: []\n  \
                query_fields: [q]\n  query_key: [app.key]\n  \
                document_id: [document.id, metadata.doc_id]\n  group_id: [metadata.file_name]\n  \
                variant: [span.kind, resource.service.version]\n  session: session.id\n  \
                labels: [metadata.tenant]\n  feedback: {user_feedback: thumbs, stars: 'rating 1..5'}";
    let config = load(&[file], &[], &[]).expect("valid");
    let mapping = &config.formats.otlp;
    assert_eq!(config.formats.search, Format::OtlpProto);
    assert_eq!(
        mapping.search_spans,
        [SpanKind::Retriever, SpanKind::Reranker]
    );
    assert_eq!(mapping.names, ["Law*"]);
    assert!(mapping.ignore_names.is_empty());
    assert_eq!(mapping.query_fields, ["q"]);
    assert_eq!(mapping.query_key, [Source::Attribute(0)]);
    let metadata = |key: &str| DocumentSource::Metadata(key.to_owned());
    assert_eq!(
        mapping.document_id,
        [DocumentSource::Id, metadata("doc_id")]
    );
    assert_eq!(mapping.group_id, [metadata("file_name")]);
    assert_eq!(mapping.variant, [Source::SpanKind, Source::Resource(0)]);
    assert_eq!(mapping.session, Session::SessionId);
    let stars = FeedbackAction::Rating { min: 1.0, max: 5.0 };
    assert_eq!(mapping.feedback["user_feedback"], FeedbackAction::Thumbs);
    assert_eq!(mapping.feedback["stars"], stars);
    let tenant = Source::Metadata("tenant".to_owned(), 1);
    assert_eq!(mapping.labels, [("metadata.tenant".to_owned(), tenant)]);
    assert_eq!(
        mapping.span_attributes,
        ["app.key", "langfuse.observation.metadata.tenant"]
    );
    assert_eq!(mapping.resource_attributes, ["service.version"]);
    let summary = config.summary();
    let line = "spans       searches otlp_proto, feedback native, a search for each retriever and \
                reranker span\n";
    assert!(summary.contains(line), "{summary}");
}

#[test]
fn invalid_mappings_of_spans_are_rejected() {
    for (text, problem) in [
        (
            "kafka:\n  search_format: jaeger_proto",
            "0.yaml:2: kafka.search_format: \"jaeger_proto\" is none of native, ubi, otlp_proto, \
             otlp_json; set traces.encoding of the Kafka exporter to otlp_proto or otlp_json",
        ),
        (
            "otlp:\n  search_spans: [chain]",
            "0.yaml:2: otlp.search_spans[0]: \"chain\" is none of retriever, reranker",
        ),
        (
            "otlp:\n  search_spans: []",
            "0.yaml:2: otlp.search_spans: is empty; no span would be a search",
        ),
        (
            "otlp:\n  search_spans: [retriever, reranker]",
            "0.yaml:2: otlp.search_spans: retriever and reranker spans would be searches of the \
             same variant; add span.kind to otlp.variant",
        ),
        (
            "otlp:\n  document_id: [doc_id]",
            "0.yaml:2: otlp.document_id[0]: \"doc_id\" is neither document.id nor metadata.KEY",
        ),
        (
            "otlp:\n  document_id: []",
            "0.yaml:2: otlp.document_id: is empty; document.id is the default",
        ),
        (
            "otlp:\n  variant: [metadata.]",
            "0.yaml:2: otlp.variant[0]: \"metadata.\" is no source; span.kind, span.name, \
             metadata.KEY, resource.KEY or the name of an attribute is expected",
        ),
        (
            "otlp:\n  feedback:\n    stars: rating 5..1",
            "0.yaml:3: otlp.feedback.stars: \"rating 5..1\" is neither thumbs, rating MIN..MAX nor judgment [answer|search] [human|model|rule] [MIN..MAX]",
        ),
        (
            "otlp:\n  session: user",
            "0.yaml:2: otlp.session: \"user\" is none of trace, session.id",
        ),
    ] {
        assert_problem(text, problem);
    }
}

#[test]
fn the_opentelemetry_example_is_a_valid_configuration() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples/opentelemetry/rankgauge.yaml");
    let text = std::fs::read_to_string(path).expect("the example exists");
    let config = load(&[&text], &[], &[]).expect("valid");
    assert_eq!(config.formats.search, Format::OtlpProto);
    let metadata = DocumentSource::Metadata("doc_id".to_owned());
    assert_eq!(
        config.formats.otlp.document_id,
        [DocumentSource::Id, metadata]
    );
}

#[test]
fn a_feedback_topic_is_optional_and_measures_that_need_it_go_with_it() {
    let config = load(&["kafka: {feedback_topic: none}"], &[], &[]).expect("valid");
    assert!(!config.kafka.has_feedback());
    let measures = config.engine.measures.iter().map(ToString::to_string);
    let measures: Vec<String> = measures.collect();
    assert!(
        measures.contains(&"Reformulated".to_owned()),
        "{measures:?}"
    );
    assert!(measures.contains(&"ZeroResult".to_owned()), "{measures:?}");
    assert!(!measures.contains(&"CTR".to_owned()), "{measures:?}");
    let summary = config.summary();
    assert!(
        summary.contains("topic search.log without feedback"),
        "{summary}"
    );
    assert_problem(
        "kafka: {feedback_topic: none}\nmeasures: [RR, CTR]",
        "0.yaml:2: measures: CTR needs feedback, and kafka.feedback_topic is none; remove it",
    );
}

#[test]
fn topic_of_both_kinds_has_one_format_that_tells_them_apart() {
    let topics = "kafka: {search_topic: t, feedback_topic: t}\n";
    let config = load(&[topics], &[], &[]).expect("valid");
    assert!(config.formats.is_shared);
    let ubi = "kafka: {search_topic: t, feedback_topic: t, search_format: ubi}\n";
    let config = load(&[ubi], &[], &[]).expect("valid");
    assert_eq!(
        (config.formats.search, config.formats.feedback),
        (Format::Ubi, Format::Ubi)
    );
    assert_problem(
        "kafka:\n  search_topic: t\n  feedback_topic: t\n  search_format: ubi\n  feedback_format: native\n",
        "0.yaml:5: kafka.feedback_format: the topic of both kinds has one format; remove \
         kafka.feedback_format",
    );
    let mapped = |search: &str, feedback: &str| {
        format!(
            "kafka:\n  search_topic: t\n  feedback_topic: t\n  search_format: shop\nformats:\n  shop:\n    \
             mapping:\n      search: {{{search}fields: {{query_id: /id, ts: /at, query: /q}}, hits: {{list: /ids}}}}\n\
             {feedback}"
        )
    };
    let feedback = "      feedback: {fields: {event_id: /id, query_id: /of, ts: /at, type: \"=click\", object_id: /d}}\n";
    assert_problem(
        &mapped("", feedback),
        "0.yaml:4: kafka.search_format: \"shop\" takes every record for a search, and the topic has both \
         kinds; add formats.shop.mapping.search.when",
    );
    assert_problem(
        &mapped("when: {/e: s}, ", ""),
        "0.yaml:4: kafka.search_format: \"shop\" maps no feedback events, and the topic has both kinds; add \
         formats.shop.mapping.feedback",
    );
    assert!(load(&[&mapped("when: {/e: s}, ", feedback)], &[], &[]).is_ok());
}

#[test]
fn repartition_has_records_of_one_event_and_its_own_key() {
    let config = load(&["kafka: {join: repartition, group_id: g}"], &[], &[]).expect("valid");
    let summary = config.summary();
    assert!(
        summary.contains("copies by query_id in g-repartition-search and g-repartition-feedback"),
        "{summary}"
    );
    let worker = config.kafka.of_worker();
    assert_eq!(
        worker.names(),
        ["g-repartition-search", "g-repartition-feedback"]
    );
    assert_eq!(worker.consumer_group(), "g");
    assert_eq!(config.kafka.consumer_group(), "g-repartition");
    assert_problem(
        "kafka:\n  join: repartition\n  search_format: otlp_json\n",
        "0.yaml:2: kafka.join: a record can hold several events, and repartition copies each record to one \
         partition; use kafka.join: owner, or partition with equal keys",
    );
    let mapped = "kafka:\n  join: repartition\n  search_format: shop\nformats:\n  shop:\n    mapping:\n      \
                  search: {each: /searches, fields: {query_id: /id, ts: /at, query: /q}, hits: {list: /ids}}\n";
    assert_problem(
        mapped,
        "0.yaml:2: kafka.join: a record can hold several events, and repartition copies each record to one \
         partition; use kafka.join: owner, or partition with equal keys",
    );
    assert_problem(
        "kafka:\n  repartition_key: session_id\n",
        "0.yaml:2: kafka.repartition_key: has no effect without kafka.join: repartition; remove it",
    );
    let long = format!(
        "kafka:\n  join: repartition\n  group_id: {}\n",
        "g".repeat(240)
    );
    assert!(load(&[&long], &[], &[]).is_err());
}

#[test]
fn problems_in_files_of_schemas_have_the_file_and_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for (encoding, name, content, problem) in [
        (
            "avro",
            "broken.avsc",
            "{\"type\": \"record\",\n \"name\": oops}",
            "is no Avro schema: expected value at line 2 column 10",
        ),
        (
            "protobuf",
            "broken.proto",
            "syntax = \"proto3\";\nmessage Search {\n  string = 1;\n}\n",
            "is no Protobuf schema: line 3: ",
        ),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("a file");
        let path = path.display();
        let text = format!(
            "kafka: {{search_format: own}}\nformats:\n  own:\n    encoding: {encoding}\n    schema: {path}\n    \
             mapping:\n      search: {{fields: {{query_id: /id, ts: /at, query: /q}}, hits: {{list: /ids}}}}\n"
        );
        let problems = load(&[&text], &[], &[]).expect_err("a problem").join("\n");
        let expected = format!("0.yaml:5: formats.own.schema: {path} {problem}");
        assert!(problems.contains(&expected), "{problems}");
    }
}

#[test]
fn an_unknown_key_of_a_mapping_names_all_known_keys_of_its_section() {
    let problem = |hits: &str| {
        let text = format!(
            "kafka: {{search_format: shop}}\nformats:\n  shop:\n    mapping:\n      search:\n        \
             fields: {{query_id: /id, ts: /at, query: /q}}\n        hits: {{list: /ids, {hits}: /x}}\n"
        );
        load(&[&text], &[], &[]).expect_err("a problem").join("\n")
    };
    let known = "list, attributes, path, id, rank";
    assert!(
        problem("attribute").contains(&format!(
            "hits.attribute: unknown key; did you mean attributes? Known are {known}"
        )),
        "{}",
        problem("attribute")
    );
    assert!(
        problem("zzz").contains(&format!("hits.zzz: unknown key; known are {known}")),
        "{}",
        problem("zzz")
    );
}
