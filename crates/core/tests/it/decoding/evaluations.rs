//! Judgments with an evaluator: members, scales and their errors.

use rankgauge_core::decode::native;
use rankgauge_core::event::{Action, EvaluatorKind, JudgmentTarget, Limits, Reason};
use serde_json::{Value, json};

const LIMITS: Limits = Limits {
    record_bytes: 10_000,
    results_per_search: 10,
};

fn record(members: &Value) -> Vec<u8> {
    let mut event = json!({
        "event_id": "e", "ts": 1_763_337_600_000_i64, "type": "judgment", "query_id": "q"
    });
    for (name, value) in members.as_object().expect("an object") {
        event[name] = value.clone();
    }
    serde_json::to_vec(&event).expect("JSON")
}

#[test]
fn a_judgment_of_an_answer_has_an_evaluator_and_a_scale() {
    let record = record(&json!({
        "target": "answer", "name": "faithfulness", "value": 4, "min": 1, "max": 5,
        "evaluator": {"id": "judge", "version": 2, "kind": "model", "other": [1]}
    }));
    let event = native::feedback(&record, &LIMITS).expect("a valid judgment");
    assert_eq!(event.action, Action::Judgment { grade: 4.0 });
    assert!(event.is_by_machine());
    let evaluation = event.evaluation.as_deref().expect("an evaluator");
    assert_eq!(evaluation.target, JudgmentTarget::Answer);
    assert_eq!(
        (&*evaluation.name, &*evaluation.evaluator),
        ("faithfulness", "judge")
    );
    assert_eq!(
        (&*evaluation.version, evaluation.kind),
        ("2", EvaluatorKind::Model)
    );
    assert!((evaluation.rescaled(4.0) - 0.75).abs() < 1e-12);

    let written = serde_json::to_vec(&event).expect("JSON");
    let again = native::feedback(&written, &LIMITS).expect("a valid judgment");
    assert_eq!(again.evaluation, event.evaluation);
}

#[test]
fn a_plain_grade_has_no_evaluator_and_keeps_the_scale_of_the_gold_set() {
    let plain = record(&json!({"object_id": "d", "value": 3}));
    let plain = native::feedback(&plain, &LIMITS).expect("a grade");
    assert_eq!(plain.evaluation, None);
    let by_rule =
        record(&json!({"object_id": "d", "value": 3, "evaluator": {"id": "r", "kind": "rule"}}));
    let by_rule = native::feedback(&by_rule, &LIMITS).expect("a grade");
    let evaluation = by_rule.evaluation.expect("an evaluator");
    assert_eq!(evaluation.scale, None);
    assert!((evaluation.rescaled(3.0) - 3.0).abs() < 1e-12);
}

#[test]
fn a_wrong_judgment_names_its_member() {
    let judge = json!({"id": "judge", "kind": "model"});
    for (members, reason, member) in [
        (
            json!({"target": "page", "value": 1}),
            Reason::BadValue,
            "target",
        ),
        (json!({"value": 1}), Reason::MissingField, "object_id"),
        (
            json!({"target": "answer", "name": "tone"}),
            Reason::MissingField,
            "value",
        ),
        (
            json!({"target": "answer", "value": 4}),
            Reason::BadValue,
            "value",
        ),
        (
            json!({"target": "answer", "value": 1, "min": 2, "max": 2}),
            Reason::BadValue,
            "value",
        ),
        (
            json!({"target": "answer", "value": 1, "evaluator": {"id": "j"}}),
            Reason::MissingField,
            "evaluator.kind",
        ),
        (
            json!({"target": "answer", "value": 1, "evaluator": {"id": "j", "kind": "ai"}}),
            Reason::BadValue,
            "evaluator.kind",
        ),
        (
            json!({"target": "answer", "value": 1, "evaluator": {"id": "", "kind": "rule"}}),
            Reason::BadValue,
            "evaluator.id",
        ),
        (
            json!({"target": "answer", "value": 1, "cost": {"amount": 0.01}}),
            Reason::BadValue,
            "cost",
        ),
        (
            json!({"target": "answer", "value": 1, "evaluator": {"id": "j", "kind": "model"}, "cost": {"amount": -1}}),
            Reason::BadValue,
            "cost",
        ),
        (
            json!({"target": "answer", "value": 1, "evaluator": "judge"}),
            Reason::WrongType,
            "evaluator",
        ),
        (
            json!({"object_id": "d", "name": "tone", "value": 2, "evaluator": judge}),
            Reason::BadValue,
            "value",
        ),
    ] {
        let rejection = native::feedback(&record(&members), &LIMITS).expect_err("a wrong judgment");
        assert_eq!(rejection.reason, reason, "{members}: {rejection}");
        assert!(rejection.detail.contains(member), "{members}: {rejection}");
    }
}
