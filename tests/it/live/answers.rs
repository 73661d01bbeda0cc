//! Answers and their evaluators in a running sidecar: API, page and metrics.

use std::fs;

use serde_json::{Value, json};

use super::{SOON, start};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::wait_until;

const START: i64 = 1_763_337_600_000;

/// Text of the answers, which no page shows.
const TEXT: &str = "a secret sentence";

/// Search `number`, which cites a relevant document, an irrelevant one and an invention.
fn search(number: u32) -> Value {
    json!({
        "query_id": format!("s{number}"), "ts": START + i64::from(number) * 1_000, "query_key": "Q1",
        "variant": "V1", "results": [{"id": "a"}, {"id": "b"}],
        "answer": {"text": TEXT, "citations": ["a", "b", "z"]},
    })
}

/// Value of an evaluator for the answer of search `number`.
fn judgment(number: u32, evaluator: &Value, value: f64) -> Value {
    let id = evaluator["id"].as_str().expect("an id");
    json!({
        "event_id": format!("{id}-{number}"), "ts": START + i64::from(number) * 1_000 + 500,
        "query_id": format!("s{number}"), "type": "judgment", "target": "answer", "name": "faithfulness",
        "evaluator": evaluator, "value": value, "cost": {"amount": 0.25, "currency": "EUR"},
    })
}

#[test]
fn evaluators_and_citations_are_shown_by_api_page_and_metrics() {
    let (searches, feedback) = broker().unique_topics("answers", 1);
    let folder = tempfile::tempdir().expect("a folder");
    let gold = folder.path().join("gold.json");
    let truth = json!({"queries": [{"query_id": "Q1", "ground_truth": {"a": 3, "b": 0}}]});
    fs::write(&gold, truth.to_string()).expect("a file");
    let judge = json!({"id": "judge", "version": "2", "kind": "model"});
    let person = json!({"id": "expert", "kind": "human"});
    // The model is too high by 0.25 in every second search.
    let judgments = (0..40).flat_map(|number| {
        let value = f64::from(number % 2);
        let of_model = f64::max(value, 0.5);
        [
            judgment(number, &judge, of_model),
            judgment(number, &person, value),
        ]
    });
    let record = |event: Value| {
        let key = event["query_id"].as_str().expect("an id").to_owned();
        (key, event.to_string(), None)
    };
    let closing =
        json!({"query_id": "closing", "query": "nothing", "ts": START + 1_000_000, "results": []});
    let all = (0..40).map(search).chain([closing]);
    broker().produce(&searches, all.map(record).collect::<Vec<_>>());
    let closing = json!({
        "event_id": "closing", "query_id": "nobody", "ts": START + 1_000_000, "type": "comment"
    });
    let all = judgments.chain([closing]);
    broker().produce(&feedback, all.map(record).collect::<Vec<_>>());
    let sidecar = start(&json!({
        "kafka": {
            "brokers": broker().bootstrap(), "group_id": unique_name("answers"),
            "search_topic": searches, "feedback_topic": feedback, "start": "earliest",
        },
        "publish_interval": "200ms",
        "gold": {"paths": [gold]},
        "measures": ["P@1", "CitationF1", "Evaluation(evaluator=judge,name=faithfulness)"],
        "engine": {"out_of_orderness": "1s", "feedback_window": "100s", "idle_timeout": "24h"},
        "feedback": {"min_samples": 10},
    }));

    let of_judge = wait_until(SOON, "the judgments are counted", || {
        let found = sidecar.api("/api/v1/evaluators");
        let mut evaluators = found["evaluators"].as_array()?.iter();
        let judge = evaluators.find(|it| it["evaluator"] == "judge")?;
        (judge["pairs"] == 40).then(|| judge.clone())
    });
    assert_eq!(of_judge["version"], "2", "{of_judge}");
    let close = |value: &Value, expected: f64| {
        let value = value.as_f64().expect("a number");
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    };
    // Half of the scale is high: the model says so in all searches.
    close(&of_judge["variants"][0]["error"], 0.25);
    close(&of_judge["values"][0]["mean"], 0.75);
    close(&of_judge["values"][0]["corrected"], 0.5);
    close(&of_judge["cost"][0]["amount"], 10.0);
    assert_eq!(of_judge["cost"][0]["currency"], "EUR");
    assert_ne!(of_judge["drift"]["has_alarm"], true, "{of_judge}");
    let metrics = sidecar.metrics();
    let labels = [("evaluator", "judge"), ("version", "2"), ("variant", "V1")];
    let error = metrics.value("rankgauge_evaluator_error", &labels);
    assert!(
        error.is_some_and(|it| (it - 0.25).abs() < 1e-9),
        "{error:?}"
    );

    let page = sidecar.page("/gold");
    for text in [
        "<h2 id=\"evaluators\">Evaluators</h2>",
        "judge version 2",
        "10.00 EUR",
    ] {
        assert!(page.contains(text), "{text} is not in {page}");
    }
    let query = sidecar.api("/api/v1/queries/Q1");
    let expected = json!({"refused": false, "cited": 3, "citations": [
        {"id": "a", "grade": 3, "served": true},
        {"id": "b", "grade": 0, "served": true},
        {"id": "z", "grade": null, "served": false},
    ]});
    let ranking = &query["variants"][0]["rankings"][0];
    assert_eq!(ranking["answer"], expected, "{query}");
    let page = sidecar.page("/queries/Q1");
    for shown in ["The answer cites", "✗ was not retrieved"] {
        assert!(page.contains(shown), "{shown} is not in {page}");
    }
    for part in [query.to_string(), page] {
        assert!(!part.contains(TEXT), "the text of an answer: {part}");
    }
}
