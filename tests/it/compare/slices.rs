//! The best run of each slice.

use super::{rankgauge, written};
use crate::harness::command::json;

#[test]
fn labels_come_from_the_gold_set_or_else_from_agreeing_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let event = |query: &str, labels: &str, document: &str| {
        format!(
            r#"{{"query_id":"s-{query}","query_key":"{query}","ts":1,"labels":{labels},"results":[{{"id":"{document}"}}]}}"#
        )
    };
    let files = [
        (
            "gold.json",
            r#"{"queries":[
                {"query_id":"q1","query_type":"keyword","ground_truth":{"a":1}},
                {"query_id":"q2","ground_truth":{"a":1}},
                {"query_id":"q3","ground_truth":{"a":1}},
                {"query_id":"q4","ground_truth":{"a":1}}]}"#
                .to_owned(),
        ),
        (
            "before.jsonl",
            [
                event("q1", r#"{"query_type":"said otherwise"}"#, "a"),
                event("q2", r#"{"query_type":"complex"}"#, "b"),
                event("q3", r#"{"query_type":"complex"}"#, "b"),
                event("q4", r#"{"query_type":"complex"}"#, "b"),
            ]
            .join("\n"),
        ),
        (
            "after.jsonl",
            [
                event("q1", "{}", "a"),
                event("q2", r#"{"query_type":"complex"}"#, "a"),
                event("q3", "{}", "a"),
                event("q4", r#"{"query_type":"keyword"}"#, "a"),
            ]
            .join("\n"),
        ),
    ];
    let [gold, before, after] = written(folder.path(), files);
    let found = json(&rankgauge(&format!(
        "--gold {gold} --run {before} --run {after} --measures P@1 --by query_type --format json"
    )));
    let slices: Vec<(&str, u64)> = found["best"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| Some((it["value"].as_str()?, it["n"].as_u64()?)))
        .collect();
    // The two runs disagree on the label of q4.
    assert_eq!(slices, [("", 4), ("complex", 2), ("keyword", 1)]);
}
