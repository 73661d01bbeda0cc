//! `compare` of runs judged against a gold set.

use std::path::Path;

use serde_json::Value;

use super::{rankgauge, written};
use crate::harness::command::{json, stderr};

/// Folder with a gold set and two of its runs.
fn law_library(folder: &Path) -> [String; 3] {
    let gold = r#"{"version":"v1","queries":[
        {"query_id":"q1","query":"전세 보증금","query_type":"keyword","ground_truth":{"민법::제3조":3, "민법::제4조":1, "상법::제1조":0}},
        {"query_id":"q2","query":"임대차","query_type":"complex","ground_truth":{"민법::제9조":2}},
        {"query_id":"q3","query":"계약 해지","query_type":"complex","ground_truth":{"민법::제5조":2, "민법::제6조":2}}]}"#;
    let before = "q1 Q0 상법::제1조 1 9 x\nq1 Q0 민법::제3조 2 8 x\nq2 Q0 민법::제9조 1 9 x\n\
                  q3 Q0 민법::제7조 1 9 x\nq3 Q0 민법::제8조 2 8 x\nq3 Q0 민법::제6조 3 7 x\n";
    let after = "q1 Q0 민법::제3조 1 9 x\nq1 Q0 민법::제4조 2 8 x\nq2 Q0 민법::제9조 1 9 x\n\
                 q3 Q0 민법::제7조 1 9 x\nq3 Q0 민법::제5조 2 8 x\nq3 Q0 민법::제6조 3 7 x\n";
    let files = [
        ("gold.json", gold),
        ("before.run", before),
        ("after.run", after),
    ];
    written(folder, files)
}

#[test]
fn runs_are_judged_against_a_gold_set_and_their_errors_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let [gold, before, after] = law_library(folder.path());
    let found = json(&rankgauge(&format!(
        "--gold {gold} --run {before} --run {after} --measures P@2,RR --by query_type --worst 1 --format json"
    )));
    assert_eq!(found["gold"]["version"], "v1");
    assert_eq!(found["runs"], serde_json::json!(["before", "after"]));
    let of = &found["measures"]["P@2"];
    // 1/2, 1/2, 0 against 1, 1/2, 1/2.
    for (key, expected) in [
        ("a", 1.0 / 3.0),
        ("b", 2.0 / 3.0),
        ("difference", 1.0 / 3.0),
    ] {
        let found = of[key].as_f64().expect("a number");
        assert!((found - expected).abs() < 1e-12, "{key}: {found}");
    }
    let slices: Vec<(&Value, &Value, &Value)> = found["best"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| (&it["slice"], &it["value"], &it["measures"]["P@2"]["best"]))
        .collect();
    let after_only = serde_json::json!(["after"]);
    let expected: [(&Value, &Value, &Value); 3] = [
        (&"all".into(), &"".into(), &after_only),
        (&"query_type".into(), &"complex".into(), &after_only),
        (&"query_type".into(), &"keyword".into(), &after_only),
    ];
    assert_eq!(slices, expected);
    // q2 and q3 tie; the lower id comes first.
    let errors = &found["errors"];
    assert_eq!(
        (&errors["run"], &errors["cutoff"]),
        (&"after".into(), &2.into())
    );
    assert_eq!(errors["queries"][0]["query"], "q2");
    assert_eq!(errors["queries"][0]["text"], "임대차");
    assert_eq!(errors["queries"][0]["missed"], serde_json::json!([]));

    let found = json(&rankgauge(&format!(
        "--gold {gold} --run {after} --run {before} --measures P@2 --worst 1 --format json"
    )));
    let worst = &found["errors"]["queries"][0];
    assert_eq!(worst["query"], "q3");
    let false_positives = serde_json::json!([
        {"rank": 1, "document": "민법::제7조", "grade": null},
        {"rank": 2, "document": "민법::제8조", "grade": null},
    ]);
    assert_eq!(worst["false_positives"], false_positives);
    let missed = serde_json::json!([
        {"document": "민법::제5조", "grade": 2.0, "rank": null, "expected_rank": 1},
        {"document": "민법::제6조", "grade": 2.0, "rank": 3, "expected_rank": 1},
    ]);
    assert_eq!(worst["missed"], missed);
}

#[test]
fn wrong_arguments_with_a_gold_set_are_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let [gold, before, after] = law_library(folder.path());
    let pair = ["--gold", gold.as_str(), "--run", &before, "--run", &after];
    let cases: [(&[&str], &str); 3] = [
        (&["--measures", "P@0"], "P@"),
        (
            &["--measures", "P@2", "--by", "tone"],
            "no query has the label `tone`",
        ),
        (&["--measures", "P@2", "--run", "/nowhere/x"], "/nowhere/x"),
    ];
    for (more, expected) in cases {
        let output = rankgauge(&[&pair[..], more].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {said}");
        assert!(said.contains(expected), "{more:?}: {said}");
        assert!(output.stdout.is_empty(), "{more:?}");
    }
}
