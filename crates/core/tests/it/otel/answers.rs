//! Answers of traces: the output of a selected span belongs to the last search of its trace.

use std::collections::BTreeMap;

use rankgauge_core::decode::Format;
use rankgauge_core::decode::otlp::{FeedbackAction, Mapping};
use rankgauge_core::event::{Action, Feedback, Rejection};
use serde_json::{Value, json};

use super::fixtures::bytes;
use super::messages::{record, span};
use super::{ACCEPTANCE, each_feedback, each_search};

const OTHER_TRACE: &str = "11111111111111111111111111111111";

fn mapping() -> Mapping {
    Mapping {
        answers: vec!["*.chat".to_owned()],
        ..Mapping::default()
    }
}

fn with(mut span: Value, members: &[(&str, Value)]) -> Value {
    for (member, value) in members {
        span[*member] = value.clone();
    }
    span
}

/// Retriever whose span ends at a second.
fn retriever(id: &str, second: u32) -> Value {
    let attributes = [
        ("openinference.span.kind", json!("RETRIEVER")),
        ("input.value", json!("건폐율")),
        ("retrieval.documents.0.document.id", json!("c0")),
    ];
    let end = json!(format!("{}000000000", 1_763_337_600 + second));
    with(
        span(&attributes),
        &[("spanId", json!(id)), ("endTimeUnixNano", end)],
    )
}

/// Span of a chain that ends at a second.
fn chain(second: u32, attributes: &[(&str, Value)]) -> Value {
    let end = json!(format!("{}000000000", 1_763_337_600 + second));
    with(
        span(attributes),
        &[
            ("spanId", json!("00000000000000ff")),
            ("name", json!("Engine.chat")),
            ("endTimeUnixNano", end),
        ],
    )
}

/// Answers of the searches of a record in JSON, by their text and model, and the answers without a search.
fn answers(spans: &[Value], mapping: &Mapping) -> (Vec<Option<[String; 2]>>, u64) {
    let mut found = Vec::new();
    let text = record(spans).to_string();
    let of = (&ACCEPTANCE, mapping);
    let counts = each_search(Format::OtlpJson, text.as_bytes(), of, |search| {
        let search = search.expect("a valid search");
        found.push(search.answer.as_ref().map(|it| {
            [it.text.as_deref(), it.model.as_deref()]
                .map(|text| text.unwrap_or_default().to_owned())
        }));
    });
    (found, counts.expect("a record").answers_without_search)
}

fn one(attributes: &[(&str, Value)]) -> Option<String> {
    let spans = [retriever("0000000000000001", 1), chain(5, attributes)];
    let (found, _) = answers(&spans, &mapping());
    let [found] = &found[..] else {
        panic!("one search: {found:?}");
    };
    found.as_ref().map(|it| it[0].clone())
}

#[test]
fn the_output_of_a_chain_is_the_answer_of_the_last_search_of_its_trace() {
    let output = [
        ("output.value", json!("제17조에 따라 허가가 필요합니다.")),
        ("llm.model_name", json!("m-1")),
    ];
    let answer = || {
        Some([
            "제17조에 따라 허가가 필요합니다.".to_owned(),
            "m-1".to_owned(),
        ])
    };
    // The order of the spans does not matter, and a search after the answer has none.
    let spans = [
        chain(5, &output),
        retriever("0000000000000001", 1),
        retriever("0000000000000002", 3),
        retriever("0000000000000003", 9),
    ];
    assert_eq!(answers(&spans, &mapping()), (vec![None, answer(), None], 0));
    // Without a selected name, nothing is read.
    let (found, alone) = answers(&spans, &Mapping::default());
    assert_eq!((found, alone), (vec![None, None, None], 0));
}

#[test]
fn the_outermost_answer_of_a_trace_counts() {
    let spans = [
        chain(4, &[("output.value", json!("a step"))]),
        chain(6, &[("output.value", json!("the answer"))]),
        retriever("0000000000000001", 1),
    ];
    let (found, _) = answers(&spans, &mapping());
    assert_eq!(found, [Some(["the answer".to_owned(), String::new()])]);
}

#[test]
fn an_answer_whose_search_is_in_another_record_is_counted() {
    let output = [("output.value", json!("an answer"))];
    let alone = with(chain(5, &output), &[("traceId", json!(OTHER_TRACE))]);
    let spans = [retriever("0000000000000001", 1), alone];
    assert_eq!(answers(&spans, &mapping()), (vec![None], 1));
}

#[test]
fn every_convention_states_its_answer() {
    let text = || Some("답".to_owned());
    assert_eq!(one(&[("output.value", json!("답"))]), text());
    assert_eq!(
        one(&[("output.value", json!(r#"{"input": "x", "answer": "답"}"#))]),
        text()
    );
    assert_eq!(
        one(&[("llm.output_messages.0.message.content", json!("답"))]),
        text()
    );
    let messages = r#"[{"role": "assistant", "parts": [
        {"type": "reasoning", "content": "hm"}, {"type": "text", "content": "답"}]}]"#;
    assert_eq!(one(&[("gen_ai.output.messages", json!(messages))]), text());
    assert_eq!(
        one(&[(
            "langfuse.observation.output",
            json!(r#"{"response": "답"}"#)
        )]),
        text()
    );
    // Hidden, empty and other outputs are none.
    assert_eq!(one(&[("output.value", json!("__REDACTED__"))]), None);
    assert_eq!(one(&[("output.value", json!("  "))]), None);
    assert_eq!(
        one(&[("output.value", json!(r#"{"documents": []}"#))]),
        None
    );
}

#[test]
fn both_encodings_have_the_same_answers() {
    let spans = [
        retriever("0000000000000001", 1),
        chain(5, &[("output.value", json!("답"))]),
    ];
    let decoded = super::both(&record(&spans), &ACCEPTANCE, &mapping());
    assert_eq!(decoded.outcomes(), [1, 0, 0, 0, 1]);
    assert_eq!(decoded.search()["answer"]["text"], "답");
}

/// Texts of the answers, by the queries of `tests/otel/generate.py`.
const ANSWERS: [&str; 5] = [
    "제17조에 따라 광역도시계획에 부합되어야 한다",
    "제17조와 제99조에 따라 변경한다",
    "제77조와 제84조에 따른다",
    // Without a document, LlamaIndex asks no model.
    "Empty Response",
    "There is no article about it.",
];

#[test]
fn a_query_engine_of_llama_index_has_the_answers_of_its_searches() {
    let mapping = Mapping {
        answers: vec!["RetrieverQueryEngine.query".to_owned()],
        ..Mapping::default()
    };
    let json = super::json(&bytes("llama_index_answers.json"), &ACCEPTANCE, &mapping);
    let proto = super::proto(&bytes("llama_index_answers.pb"), &ACCEPTANCE, &mapping);
    let decoded = json.expect("JSON");
    assert_eq!(decoded, proto.expect("a message"));
    let searches: Vec<&Value> = decoded.searches.iter().flatten().collect();
    let texts: Vec<&str> = searches
        .iter()
        .filter_map(|search| search["answer"]["text"].as_str())
        .collect();
    assert_eq!(texts, ANSWERS);

    // An evaluation of each answer belongs to the trace of its search.
    let mut found = Vec::new();
    let mapping = Mapping {
        feedback: BTreeMap::from([(
            "faithfulness".to_owned(),
            FeedbackAction::parse("judgment").expect("a judgment"),
        )]),
        ..Mapping::default()
    };
    for (name, is_json) in [("evaluations.json", true), ("evaluations.pb", false)] {
        let mut judged = Vec::new();
        let visit = &mut |event: Result<&Feedback<'_>, Rejection>| {
            let event = event.expect("a judgment");
            let judgment = event.evaluation.clone().expect("an evaluator");
            let Action::Judgment { grade } = event.action else {
                panic!("{:?}", event.action);
            };
            let evaluator = format!("{} {}", &*judgment.evaluator, &*judgment.version);
            judged.push((
                event.session_id.as_deref().map(str::to_owned),
                evaluator,
                grade,
            ));
        };
        let format = if is_json {
            Format::OtlpJson
        } else {
            Format::OtlpProto
        };
        each_feedback(format, &bytes(name), (&ACCEPTANCE, &mapping), visit).expect("a record");
        found.push(judged);
    }
    assert_eq!(found[0], found[1]);
    for (number, (search, judged)) in (0_u8..).zip(searches.iter().zip(&found[0])) {
        let trace = search["trace_id"].as_str().map(str::to_owned);
        let value = f64::from(number) / 4.0;
        assert_eq!(*judged, (trace, "law.judge 2".to_owned(), value));
    }
    assert_eq!(found[0].len(), searches.len());
}
