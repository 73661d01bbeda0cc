//! Feedback from OpenTelemetry: evaluation events in logs, and annotations on linked spans.

use std::collections::BTreeMap;

use prost::Message as _;
use rankgauge_core::decode::Format;
use rankgauge_core::decode::otlp::{FeedbackAction, Mapping, Session};
use rankgauge_core::event::{
    Action, EvaluatorKind, Feedback, JudgmentTarget, RecordCounts, Rejection,
};
use serde_json::{Value, json};

use super::messages::{KeyValue, Link, Logs, Span, Traces};
use super::{ACCEPTANCE, each_feedback};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn mapping() -> Mapping {
    let rating = FeedbackAction::parse("rating 1..5").expect("a scale");
    Mapping {
        feedback: BTreeMap::from([
            ("user_feedback".to_owned(), FeedbackAction::Thumbs),
            ("user_rating".to_owned(), rating),
        ]),
        ..Mapping::default()
    }
}

type Decoded = (Vec<Result<Value, Rejection>>, RecordCounts);

fn shown(feedback: &Feedback<'_>) -> Value {
    let action = match feedback.action {
        Action::Thumbs { up } => json!({"thumbs": up}),
        Action::Rating { value, min, max } => json!({"rating": [value, min, max]}),
        other => json!(format!("{other:?}")),
    };
    json!({
        "event_id": &*feedback.event_id, "ts": feedback.ts.0, "action": action,
        "query_id": feedback.query_id.as_deref(), "session_id": feedback.session_id.as_deref(),
    })
}

fn proto(record: &[u8], mapping: &Mapping) -> Result<Decoded, Rejection> {
    let mut found = Vec::new();
    let visit = &mut |event: Result<&Feedback<'_>, Rejection>| found.push(event.map(shown));
    let counts = each_feedback(Format::OtlpProto, record, (&ACCEPTANCE, mapping), visit)?;
    Ok((found, counts))
}

/// Decodes a record in both encodings, which must give the same events.
#[track_caller]
fn both(record: &Value, mapping: &Mapping) -> Decoded {
    let mut found = Vec::new();
    let visit = &mut |event: Result<&Feedback<'_>, Rejection>| found.push(event.map(shown));
    let text = record.to_string();
    let of = (&ACCEPTANCE, mapping);
    let counts = each_feedback(Format::OtlpJson, text.as_bytes(), of, visit);
    let from_json = (found, counts.expect("JSON"));
    let bytes = if record.get("resourceLogs").is_some() {
        Logs::parse(record).encode_to_vec()
    } else {
        Traces::parse(record).encode_to_vec()
    };
    assert_eq!(proto(&bytes, mapping).expect("a message"), from_json);
    from_json
}

fn attributes(list: &[(&str, Value)]) -> Value {
    let attribute = |(key, value): &(&str, Value)| {
        let value = match value {
            Value::String(text) => json!({"stringValue": text}),
            Value::Number(number) if number.is_i64() => json!({"intValue": number}),
            other => json!({"doubleValue": other}),
        };
        json!({"key": key, "value": value})
    };
    list.iter().map(attribute).collect()
}

/// Log record with an evaluation.
fn log(list: &[(&str, Value)]) -> Value {
    json!({
        "timeUnixNano": "1763337600500000000",
        "traceId": TRACE, "spanId": SPAN,
        "eventName": "gen_ai.evaluation.result",
        "attributes": attributes(list),
    })
}

fn logs(records: &[Value]) -> Value {
    json!({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})
}

/// Span with annotations on the spans in `links`.
fn annotating(list: &[(&str, Value)], links: usize) -> Value {
    let link = json!({"traceId": TRACE, "spanId": SPAN});
    json!({"resourceSpans": [{"scopeSpans": [{"spans": [{
        "traceId": "0000000000000000000000000000000a", "spanId": "000000000000000b",
        "name": "annotate",
        "startTimeUnixNano": "1763337600400000000", "endTimeUnixNano": "1763337600500000000",
        "attributes": attributes(list), "links": vec![link; links],
    }]}]}]})
}

#[test]
fn evaluation_events_with_configured_names_are_feedback() {
    let record = logs(&[
        log(&[
            ("gen_ai.evaluation.name", json!("user_feedback")),
            ("gen_ai.evaluation.score.value", json!(1)),
        ]),
        log(&[
            ("gen_ai.evaluation.name", json!("user_feedback")),
            ("gen_ai.evaluation.score.label", json!("Thumbs_Down")),
        ]),
        log(&[
            ("gen_ai.evaluation.name", json!("user_rating")),
            ("gen_ai.evaluation.score.value", json!(4.5)),
        ]),
        // A judge that is a model.
        log(&[
            ("gen_ai.evaluation.name", json!("faithfulness")),
            ("gen_ai.evaluation.score.value", json!(0.2)),
        ]),
        log(&[
            ("gen_ai.evaluation.name", json!("user_rating")),
            ("gen_ai.evaluation.score.value", json!(9)),
        ]),
        json!({"timeUnixNano": "1", "body": {"stringValue": "a line"}, "attributes": []}),
    ]);
    let (events, counts) = both(&record, &mapping());
    assert_eq!(counts.evaluations(), [3, 1, 1, 1]);
    let found: Vec<&Value> = events.iter().flatten().collect();
    let query = format!("{TRACE}/{SPAN}");
    assert!(found.iter().all(|event| event["query_id"] == query));
    assert!(
        found
            .iter()
            .all(|event| event["ts"] == 1_763_337_600_500_i64)
    );
    assert_eq!(found[0]["action"], json!({"thumbs": true}));
    assert_eq!(found[1]["action"], json!({"thumbs": false}));
    assert_eq!(found[2]["action"], json!({"rating": [4.5, 1.0, 5.0]}));
    // The same evaluation has the same id when it is sent again, and another name another id.
    assert_eq!(found[0]["event_id"], found[1]["event_id"]);
    assert_ne!(found[0]["event_id"], found[2]["event_id"]);
    let rejection = events[3]
        .as_ref()
        .expect_err("beyond the scale")
        .to_string();
    assert_eq!(
        rejection,
        "bad_value: user_rating: score: 9 is not between 1 and 5"
    );
}

#[test]
fn annotations_on_a_linked_span_are_feedback() {
    let list = [
        ("annotations.0.annotation.name", json!("user_feedback")),
        ("annotations.0.annotation.score", json!(0)),
        ("annotations.0.annotation.identifier", json!("thumb-17")),
        ("trace.evaluations.0.evaluation.name", json!("user_rating")),
        ("trace.evaluations.0.evaluation.score", json!(2)),
    ];
    let (events, counts) = both(&annotating(&list, 1), &mapping());
    assert_eq!(counts.feedback, 2, "{events:?}");
    let found: Vec<&Value> = events.iter().flatten().collect();
    assert_eq!(found[0]["event_id"], "thumb-17");
    assert_eq!(found[0]["query_id"], format!("{TRACE}/{SPAN}"));
    assert_eq!(found[0]["action"], json!({"thumbs": false}));
    // An annotation of the trace is feedback on its session.
    assert_eq!(found[1]["query_id"], Value::Null);
    assert_eq!(found[1]["session_id"], TRACE);
    for links in [0, 2] {
        let (events, counts) = both(&annotating(&list, links), &mapping());
        assert_eq!((events.len(), counts.without_evaluation), (0, 1));
    }
}

#[test]
fn annotations_of_a_session_name_it_if_sessions_are_attributes() {
    let list = [
        (
            "session.annotations.0.annotation.name",
            json!("user_feedback"),
        ),
        ("session.annotations.0.annotation.score", json!(1)),
        ("session.id", json!("s-1")),
    ];
    let session = |session| {
        let mapping = Mapping {
            session,
            ..mapping()
        };
        let (events, _) = both(&annotating(&list, 1), &mapping);
        events[0].as_ref().expect("valid")["session_id"].clone()
    };
    assert_eq!(session(Session::SessionId), "s-1");
    assert_eq!(session(Session::Trace), TRACE);
}

#[test]
fn unusable_evaluations_are_rejected_alone() {
    let named = ("gen_ai.evaluation.name", json!("user_feedback"));
    let mut without_trace = log(&[named.clone(), ("gen_ai.evaluation.score.value", json!(1))]);
    without_trace["traceId"] = json!("");
    let record = logs(&[
        without_trace,
        log(std::slice::from_ref(&named)),
        log(&[named, ("gen_ai.evaluation.score.label", json!("perhaps"))]),
    ]);
    let (events, counts) = both(&record, &mapping());
    assert_eq!(counts.invalid_evaluations, 3);
    for (event, reason) in events
        .iter()
        .zip(["missing_field", "missing_field", "bad_value"])
    {
        let rejection = event.as_ref().expect_err("unusable").to_string();
        assert!(rejection.starts_with(reason), "{rejection}");
    }
}

#[test]
fn cut_records_give_no_feedback() {
    let record = logs(&[log(&[
        ("gen_ai.evaluation.name", json!("user_feedback")),
        ("gen_ai.evaluation.score.value", json!(1)),
    ])]);
    let bytes = Logs::parse(&record).encode_to_vec();
    assert!(proto(&bytes, &mapping()).is_ok());
    for end in 0..bytes.len() {
        assert!(proto(&bytes[..end], &mapping()).is_err(), "{end}");
    }
    let span = Span {
        attributes: vec![KeyValue::default()],
        links: vec![Link::default()],
        ..Span::default()
    };
    let spans = Traces::of(&[], vec![span]).encode_to_vec();
    let (_, counts) = proto(&spans, &mapping()).expect("spans are read as well");
    assert_eq!(counts.without_evaluation, 1);
}

#[test]
fn evaluations_of_models_are_judgments_of_their_scope() {
    let judgment = |text: &str| FeedbackAction::parse(text).expect("a judgment");
    let mapping = Mapping {
        feedback: BTreeMap::from([
            ("faithfulness".to_owned(), judgment("judgment")),
            ("clarity".to_owned(), judgment("judgment search rule 1..5")),
        ]),
        ..Mapping::default()
    };
    let log_of = |name: &str, member: &str, value: Value| {
        let member = format!("gen_ai.evaluation.score.{member}");
        log(&[("gen_ai.evaluation.name", json!(name)), (&*member, value)])
    };
    let scope = json!({"name": "my.judge", "version": "2"});
    let records = [
        log_of("faithfulness", "value", json!(0.25)),
        log_of("faithfulness", "label", json!("pass")),
        log_of("clarity", "value", json!(4)),
        log_of("clarity", "value", json!(0)),
    ];
    let record =
        json!({"resourceLogs": [{"scopeLogs": [{"scope": scope, "logRecords": records}]}]});
    let annotation = annotating(
        &[
            ("annotations.0.annotation.name", json!("faithfulness")),
            ("annotations.0.annotation.score", json!(0.75)),
            ("annotations.0.annotation.annotator_kind", json!("HUMAN")),
        ],
        1,
    );
    let mut found = Vec::new();
    for record in [&record, &annotation] {
        both(record, &mapping);
        let visit = &mut |event: Result<&Feedback<'_>, Rejection>| {
            found.push(event.map(|event| {
                let judgment = event.evaluation.clone().expect("a judgment");
                let Action::Judgment { grade } = event.action else {
                    panic!("{:?}", event.action);
                };
                let by = format!(
                    "{} {} {}",
                    &*judgment.name, &*judgment.evaluator, &*judgment.version
                );
                let of_search = event.query_id.is_some();
                (
                    by,
                    judgment.kind,
                    judgment.target,
                    judgment.rescaled(grade),
                    of_search,
                )
            }));
        };
        let text = record.to_string();
        let of = (&ACCEPTANCE, &mapping);
        each_feedback(Format::OtlpJson, text.as_bytes(), of, visit).expect("JSON");
    }
    let by = |name: &str| format!("{name} my.judge 2");
    let answer = JudgmentTarget::Answer;
    assert_eq!(
        found[0],
        Ok((
            by("faithfulness"),
            EvaluatorKind::Model,
            answer,
            0.25,
            false
        ))
    );
    assert_eq!(
        found[1],
        Ok((by("faithfulness"), EvaluatorKind::Model, answer, 1.0, false))
    );
    let clarity = (
        by("clarity"),
        EvaluatorKind::Rule,
        JudgmentTarget::Search,
        0.75,
        true,
    );
    assert_eq!(found[2], Ok(clarity));
    let beyond = found[3].as_ref().expect_err("a score beyond the scale");
    assert!(
        beyond.to_string().contains("0 is not between 1 and 5"),
        "{beyond}"
    );
    let human = (
        "faithfulness unnamed ".to_owned(),
        EvaluatorKind::Human,
        answer,
        0.75,
        false,
    );
    assert_eq!(found[4], Ok(human));
    assert_eq!(found.len(), 5);
}

#[test]
fn scales_of_ratings_are_checked() {
    assert_eq!(
        FeedbackAction::parse("thumbs"),
        Some(FeedbackAction::Thumbs)
    );
    let scale = FeedbackAction::Rating {
        min: -1.0,
        max: 0.5,
    };
    assert_eq!(FeedbackAction::parse("rating -1..0.5"), Some(scale));
    for text in [
        "",
        "rating",
        "rating 5..1",
        "rating 1..inf",
        "rating a..b",
        "rating 1..5 6..7",
        "stars",
        "judgment result",
        "judgment answer search",
        "judgment 1..0",
    ] {
        assert_eq!(FeedbackAction::parse(text), None, "{text}");
    }
}
