//! Searches that must not be judged: `gold.judge_when` and its defaults, in the commands that read files.

use std::fs;

use serde_json::{Value, json};

use crate::harness::command::{json, printed, rankgauge};

const GOLD: &str = "q1 0 a 2\nq2 0 b 1\n";

/// Searches with further pages, filters, another order and another application.
fn searches() -> Vec<Value> {
    let search = |id: &str, key: &str, document: &str| {
        json!({"query_id": id, "query_key": key, "ts": 1_763_337_600_000_i64, "application": "shop",
               "latency_ms": 5, "results": [{"id": document}]})
    };
    let with = |mut search: Value, name: &str, value: Value| {
        search[name] = value;
        search
    };
    vec![
        search("s1", "q1", "a"),
        with(search("s2", "q1", "x"), "page", json!(2)),
        with(search("s3", "q2", "x"), "filters", json!({"brand": "y"})),
        with(search("s4", "q2", "x"), "sort", json!("price")),
        with(
            search("s5", "q2", "x"),
            "results",
            json!([{"id": "x", "rank": 11}]),
        ),
        with(search("s6", "q2", "x"), "application", json!("blog")),
        search("s7", "q2", "b"),
        // The text belongs to a gold query, the key does not.
        with(search("s8", "unknown", "x"), "query", json!("q1")),
    ]
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let lines: Vec<String> = searches().iter().map(Value::to_string).collect();
    let config =
        "gold: {paths: gold.qrels, judge_when: {application: [shop, app]}}\nmeasures: [RR]\n";
    for (name, text) in [
        ("gold.qrels", GOLD),
        ("search.jsonl", &lines.join("\n")),
        ("rankgauge.yaml", config),
    ] {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

#[test]
fn evaluation_leaves_them_out() {
    let folder = folder();
    let evaluate = "evaluate --config rankgauge.yaml --run search.jsonl";
    let report = json(&rankgauge(
        folder.path(),
        &format!("{evaluate} --format json"),
    ));
    let run = &report["runs"][0];
    assert_eq!(run["means"]["RR"], json!(1.0), "{run}");
    assert_eq!(run["not_eligible"], json!(5));
    assert_eq!(run["unknown"], json!(["unknown"]));
    let text = printed(&rankgauge(folder.path(), evaluate));
    assert!(text.contains("Not judged in search: 5 searches"), "{text}");
}

#[test]
fn replay_counts_them_by_reason() {
    let folder = folder();
    let replay = "replay --config rankgauge.yaml --search search.jsonl";
    let found = json(&rankgauge(folder.path(), replay));
    let value = |name: &str, label: &str, of_label: &str| {
        let metrics = found["metrics"].as_array().expect("metrics");
        let is_it = |it: &&Value| {
            it["name"] == format!("rankgauge_{name}") && it["labels"][label] == of_label
        };
        metrics.iter().find(is_it).map(|it| it["value"].clone())
    };
    for reason in ["page", "filters", "sort", "rank", "configured"] {
        let count = value("searches_not_eligible_total", "reason", reason);
        assert_eq!(count, Some(json!(1)), "{reason}: {found}");
    }
    for (name, label, of_label, expected) in [
        ("events_total", "outcome", "not_eligible", 5),
        ("score_count_total", "measure", "RR", 2),
        ("score_sum_total", "measure", "RR", 2),
        ("search_latency_seconds_count", "stage", "all", 8),
    ] {
        assert_eq!(
            value(name, label, of_label),
            Some(json!(expected)),
            "{name}: {found}"
        );
    }
}

#[test]
fn tail_names_the_reason() {
    let folder = folder();
    let tail = "tail --config rankgauge.yaml --search search.jsonl --format json";
    let lines = printed(&rankgauge(folder.path(), tail));
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let found: Vec<String> = lines
        .map(|line: Value| {
            let reason = line["reason"].as_str().unwrap_or_default();
            format!("{} {reason}", line["outcome"].as_str().unwrap_or_default())
        })
        .collect();
    let expected = [
        "judged ",
        "not_eligible page",
        "not_eligible filters",
        "not_eligible sort",
        "not_eligible rank",
        "not_eligible configured",
        "judged ",
        "unjudged ",
    ];
    assert_eq!(found, expected);
}
