//! Records published by other projects, see `tests/data/ubi/README.md`.

use std::fs;

use rankgauge_core::decode::ubi::Dialect;
use rankgauge_core::event::{Action, Feedback, Rejection, Search};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::LIMITS;
use super::dialect;

/// Line of a sample file: a record, and its expected event.
#[derive(Deserialize)]
struct Sample {
    from: String,
    record: Box<RawValue>,
    #[serde(alias = "search", alias = "feedback")]
    becomes: Map<String, Value>,
}

fn samples(name: &str) -> Vec<Sample> {
    let path = crate::repository("tests/data/ubi").join(name);
    let text = fs::read_to_string(path).expect("samples");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a sample"))
        .collect()
}

fn described<T>(found: Result<T, Rejection>, describe: impl Fn(&T) -> Value) -> Value {
    match found {
        Ok(event) => describe(&event),
        Err(rejection) => json!({"refused": rejection.reason.name(), "names": rejection.detail}),
    }
}

fn of_search(search: &Search<'_>) -> Value {
    let ids: Vec<&str> = search.results.iter().map(|hit| &*hit.id).collect();
    let names = search.labels.iter().flat_map(|labels| &labels.0);
    let labels: Map<String, Value> = names
        .map(|(name, _)| {
            let value = search.labels.as_ref().and_then(|labels| labels.label(name));
            (name.to_string(), json!(value))
        })
        .collect();
    let experiment = search.experiment.as_ref();
    json!({
        "query_id": &*search.query_id,
        "ts": search.ts.0,
        "query": search.query.as_deref(),
        "ids": ids,
        "session_id": search.session_id.as_deref(),
        "labels": labels,
        "experiment": experiment.and_then(|experiment| experiment.id.as_deref()),
    })
}

fn of_feedback(feedback: &Feedback<'_>) -> Value {
    json!({
        "type": Action::NAMES[feedback.action.index()],
        "ts": feedback.ts.0,
        "query_id": feedback.query_id.as_deref(),
        "session_id": feedback.session_id.as_deref(),
        "object_id": feedback.object_id.as_deref(),
        "position": feedback.position,
    })
}

/// Checks that `found` is as the sample states. Fields that it does not state must be null.
fn check(sample: &Sample, found: &Value, problems: &mut Vec<String>) {
    for (field, value) in found.as_object().into_iter().flatten() {
        let wanted = sample.becomes.get(field).unwrap_or(&Value::Null);
        let same = match (field.as_str(), value, wanted) {
            ("names", Value::String(detail), Value::String(name)) => detail.contains(name),
            ("labels", Value::Object(labels), Value::Null) => labels.is_empty(),
            _ => value == wanted,
        };
        if !same {
            let from = &sample.from;
            problems.push(format!("{from}: {field} is {value}, expected {wanted}"));
        }
    }
    for field in sample.becomes.keys() {
        if found.get(field).is_none() {
            problems.push(format!("{}: there is no {field}: {found}", sample.from));
        }
    }
}

#[test]
fn every_published_query_decodes_to_its_expected_search() {
    let mut problems = Vec::new();
    let samples = samples("queries.jsonl");
    assert!(samples.len() >= 10);
    for sample in &samples {
        let record = sample.record.get().as_bytes();
        let found = described(Dialect::search(record, &LIMITS), |search| of_search(search));
        check(sample, &found, &mut problems);
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn every_published_event_decodes_to_its_expected_feedback() {
    let mut problems = Vec::new();
    let samples = samples("events.jsonl");
    assert!(samples.len() >= 20);
    for sample in &samples {
        let record = sample.record.get().as_bytes();
        let found = described(dialect(1).feedback(record, &LIMITS), of_feedback);
        check(sample, &found, &mut problems);
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn published_events_have_distinct_ids() {
    let samples = samples("events.jsonl");
    let dialect = dialect(1);
    let valid = samples.iter().filter_map(|sample| {
        dialect
            .feedback(sample.record.get().as_bytes(), &LIMITS)
            .ok()
    });
    let mut ids: Vec<String> = valid.map(|event| event.event_id.to_string()).collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}
