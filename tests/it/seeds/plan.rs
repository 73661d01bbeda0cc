//! The evaluation plan of the multi-agent system.

mod components;
mod experiments;
mod variants;

use rankgauge_core::gold::{self, Options};
use serde_json::{Value, json};

use super::data;

#[test]
fn plan_2_3_3_ground_truth_output_format() {
    // The example states 12 relevant documents and lists the first 3 of them.
    let example = std::fs::read_to_string(data("plan-2-3-3.json")).expect("a file of the seeds");
    let text = format!("[{example}]");
    let set = gold::parse("ground_truth.json", text.as_bytes(), &Options::default());
    let set = set.expect("the document's example is valid");
    let query = &set.queries()[0];
    assert_eq!(
        (query.key.as_str(), query.text.as_deref()),
        ("1", Some("17조"))
    );
    assert_eq!(query.labels["category"], "article_number");
    let judged = [
        "국토계획법_17조_1항",
        "국토계획법_17조_2항",
        "국토계획법시행령_15조",
    ]
    .map(|id| {
        let (position, grade) = query.judgements.find(id).expect("judged");
        (grade.get(), query.details[position].notes.clone())
    });
    let reasons = ["exact_match", "child_ho", "related_enforcement_decree"];
    let reasons = reasons.map(|reason| Some(reason.to_owned()));
    let [exact, child, decree] = reasons;
    assert_eq!(judged, [(3.0, exact), (2.0, child), (2.0, decree)]);
}

/// Ids with a running number.
fn numbered(name: &str, count: usize) -> Vec<String> {
    (1..=count)
        .map(|number| format!("{name}_{number}조"))
        .collect()
}

/// Grades of 1 for these documents, with the members of `more` for each.
fn judged_as(ids: &[String], more: &Value) -> Value {
    let pair = |id: &String| {
        let judgement = super::merged(json!({"relevance": 1}), more.clone());
        (id.clone(), judgement)
    };
    ids.iter()
        .map(pair)
        .collect::<serde_json::Map<_, _>>()
        .into()
}
