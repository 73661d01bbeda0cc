//! The evaluation plan of the multi-agent system.

mod components;
mod experiments;
mod variants;

use rankgauge_core::gold::{self, Options};
use serde_json::{Value, json};

use super::{Run, data, evaluated, gold as query, listed, relevant, search};

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

/// List with `found` of `all` relevant documents at the top; the other results are not relevant.
#[track_caller]
fn found_first(found: usize, length: usize, all: usize, measures: &str) -> Run {
    let ids: Vec<String> = (1..=all + length)
        .map(|number| format!("{number}조"))
        .collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let results: Vec<&str> = ids[..found]
        .iter()
        .chain(&ids[all..all + length - found])
        .copied()
        .collect();
    let query = query("21조", relevant(&ids[..all]), json!({}));
    evaluated(
        &[query],
        &[search("21조", listed(&results), json!({}))],
        measures,
    )
}

#[test]
fn plan_2_4_1_precision_at_k() {
    // P@5 of .80 is 4 of 5, .60 is 3 of 5, and below .40 fewer than 2.
    for (found, precision) in [(4, 0.8), (3, 0.6), (1, 0.2)] {
        let run = found_first(found, 10, 4, "P@5 P@10");
        run.scores("21조", &[("P@5", precision), ("P@10", precision / 2.0)]);
    }
}

#[test]
fn plan_2_4_2_recall_at_k() {
    let run = found_first(14, 20, 20, "R@5 R@10 R@20");
    run.scores("21조", &[("R@5", 0.25), ("R@10", 0.5), ("R@20", 0.7)]);
}

#[test]
fn plan_2_4_3_ndcg_at_10_of_grades_0_to_3() {
    let grades =
        json!({"국토계획법_21조": 3, "시행령_15조": 2, "국토계획법_22조": 1, "국토계획법_99조": 0});
    let judged = |results: &[&str]| {
        let query = query("21조", grades.clone(), json!({}));
        evaluated(
            &[query],
            &[search("21조", listed(results), json!({}))],
            "nDCG@10",
        )
    };
    let ideal = [
        "국토계획법_21조",
        "시행령_15조",
        "국토계획법_22조",
        "국토계획법_99조",
    ];
    judged(&ideal).scores("21조", &[("nDCG@10", 1.0)]);
    // (1 + 2 / log2 3 + 3 / log2 5) / (3 + 2 / log2 3 + 1 / 2)
    let reversed = [
        "국토계획법_22조",
        "시행령_15조",
        "국토계획법_99조",
        "국토계획법_21조",
    ];
    judged(&reversed).scores("21조", &[("nDCG@10", 0.7463)]);
}

#[test]
fn plan_2_4_4_mean_reciprocal_rank() {
    let queries =
        ["17조", "용도지역", "건축제한"].map(|key| query(key, relevant(&["가"]), json!({})));
    let searches = [
        search("17조", listed(&["가"]), json!({})),
        search(
            "용도지역",
            listed(&["나", "다", "라", "마", "가"]),
            json!({}),
        ),
        search("건축제한", listed(&["나"]), json!({})),
    ];
    evaluated(&queries, &searches, "RR").means(&[("RR", (1.0 + 0.2 + 0.0) / 3.0)]);
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
