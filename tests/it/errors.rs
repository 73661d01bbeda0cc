//! Error analysis of one run by `evaluate`: worst queries, failure patterns and hard slices.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::command::{printed, rankgauge};

const CONFIG: &str = "
measures: [nDCG@3]
components:
  rne: {stages: [rne_]}
";

/// Gold queries with one relevant document each, except where stated.
fn gold() -> Value {
    let query = |key: &str, more: Value| {
        let mut query = json!({"query_id": key, "query": format!("질의 {key}"),
            "primary_domain": "도시계획", "ground_truth": {format!("{key}-a"): 3}});
        let members = query.as_object_mut().expect("an object");
        members.extend(more.as_object().expect("an object").clone());
        query
    };
    json!({"version": "v1", "queries": [
        query("perfect", json!({})),
        query("unanswered", json!({})),
        query("empty", json!({})),
        query("below", json!({"ground_truth": {"below-a": 3, "below-b": 1, "below-c": 0}})),
        query("other", json!({})),
        query("hop", json!({"ground_truth": {"hop-a": 3, "hop-b": 2},
            "graph": {"edges": [["hop-a", "hop-b"]]}, "rne_needed": true,
            "needs": {"rne": true}})),
    ]})
}

fn run() -> String {
    let event = |key: &str, domain: &str, ids: &[&str], of: &str| {
        let results: Vec<Value> = ids
            .iter()
            .map(|id| json!({"id": id, "attrs": {"domain": of}}))
            .collect();
        json!({"query_id": key, "query_key": key, "ts": 1, "domain": domain, "results": results})
            .to_string()
    };
    [
        event("perfect", "도시계획", &["perfect-a"], "도시계획"),
        event("empty", "도시계획", &[], ""),
        event(
            "below",
            "도시계획",
            &["x", "below-c", "below-b", "y", "below-a"],
            "도시계획",
        ),
        event("other", "개발행위", &["x", "y"], "개발행위"),
        event("hop", "도시계획", &["hop-a", "z"], "도시계획"),
    ]
    .join("\n")
}

/// Output of `evaluate` with these flags.
fn evaluate(folder: &Path, flags: &str) -> String {
    for (name, content) in [
        ("gold.json", gold().to_string()),
        ("V1.jsonl", run()),
        ("config.yaml", CONFIG.to_owned()),
    ] {
        fs::write(folder.join(name), content).expect("a file");
    }
    let evaluate =
        format!("evaluate --gold gold.json --run V1.jsonl --config config.yaml --complete {flags}");
    printed(&rankgauge(folder, &evaluate))
}

#[test]
fn worst_queries_have_patterns_that_follow_from_the_data() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = evaluate(folder.path(), "--format json --worst 9");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let errors = &report["errors"][0];
    assert_eq!(
        (&errors["run"], &errors["measure"]),
        (&"V1".into(), &"nDCG@3".into())
    );
    assert_eq!(
        (&errors["scored"], &errors["imperfect"]),
        (&6.into(), &5.into())
    );
    let of = |key: &str| -> &Value {
        let queries = errors["queries"].as_array().expect("queries");
        queries
            .iter()
            .find(|it| it["query"] == key)
            .unwrap_or(&Value::Null)
    };
    assert_eq!(
        of("perfect"),
        &Value::Null,
        "a perfect score is not among the worst"
    );
    for (key, patterns) in [
        ("unanswered", json!(["not answered"])),
        ("empty", json!(["nothing returned"])),
        ("below", json!(["relevant document below the cutoff"])),
        (
            "other",
            json!([
                "nothing relevant returned",
                "relevant document not retrieved",
                "only results of other domains",
                "routed to another domain"
            ]),
        ),
        (
            "hop",
            json!([
                "relevant document not retrieved",
                "relevant document one hop from a result",
                "needed component did not run: rne"
            ]),
        ),
    ] {
        assert_eq!(of(key)["patterns"], patterns, "{key}");
    }
    let below = of("below");
    assert_eq!(
        below["found"],
        json!([{"rank": 3, "document": "below-b", "grade": 1.0}])
    );
    assert_eq!(
        below["missed"],
        json!([{"document": "below-a", "grade": 3.0, "rank": 5, "expected_rank": 1}])
    );
    assert_eq!(of("hop")["missed"][0]["expected_rank"], 2);
    let frequency = errors["patterns"]
        .as_array()
        .expect("patterns")
        .iter()
        .find(|it| it["pattern"] == "relevant document not retrieved")
        .expect("the pattern");
    assert_eq!(frequency["queries"], 2);
    assert_eq!(frequency["examples"], json!(["other", "hop"]));
}

#[test]
fn an_empty_answer_is_reported_as_such_in_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in ["text", "markdown", "html", "csv", "json"] {
        let report = evaluate(folder.path(), &format!("--format {format}"));
        for part in [
            "nothing returned",
            "not answered",
            "below-a",
            "one hop from a result",
        ] {
            assert!(report.contains(part), "{format} lacks {part}: {report}");
        }
    }
    let none = evaluate(folder.path(), "--worst 0");
    assert!(!none.contains("WORST QUERIES"), "{none}");
}
