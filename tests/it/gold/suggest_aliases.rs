//! `gold suggest-aliases`: rewordings of gold queries in recorded traffic.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use crate::harness::command::{printed, rankgauge};

#[test]
fn rewordings_are_suggested_and_other_queries_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let gold = json!({"queries": [
        {"query_id": "a", "query_text": "용도지역 변경", "ground_truth": {"d1": 3, "d2": 1}},
        {"query_id": "b", "query_text": "건축법 제17조", "ground_truth": {"d7": 3}},
    ]});
    fs::write(folder.path().join("gold.json"), gold.to_string()).unwrap();
    // Text, results, clicked result, searches.
    let traffic: [(&str, &[&str], Option<&str>, usize); 7] = [
        ("용도지역 변경", &["d1", "d2", "d3"], Some("d1"), 5),
        // The same letters.
        ("용도지역변경!", &["x1"], None, 4),
        // Common words and the same results.
        ("용도지역 변경 절차", &["d1", "d2", "d9"], Some("d2"), 6),
        // Other words, the same results and clicks.
        ("토지 이용 전환", &["d1", "d2", "d3"], Some("d1"), 3),
        // Another article of the same law, with the same results.
        ("건축법 제18조", &["d7"], Some("d7"), 9),
        // Common words, other results and clicks.
        ("용도지역 지도", &["y1", "y2"], Some("y1"), 9),
        // Too rare.
        ("용도 지역 변경", &["d1"], Some("d1"), 2),
    ];
    let (mut searches, mut feedback, mut number) = (String::new(), String::new(), 0);
    for (text, results, clicked, count) in traffic {
        for _ in 0..count {
            number += 1;
            let results: Vec<Value> = results.iter().map(|id| json!({"id": id})).collect();
            let search = json!({"query_id": number.to_string(), "ts": 1_760_000_000_000_u64, "query": text, "results": results});
            writeln!(searches, "{search}").unwrap();
            if let Some(id) = clicked {
                let click = json!({
                    "event_id": format!("c{number}"), "ts": 1_760_000_001_000_u64, "type": "click",
                    "query_id": number.to_string(), "object_id": id,
                });
                writeln!(feedback, "{click}").unwrap();
            }
        }
    }
    fs::write(folder.path().join("search.jsonl"), searches).unwrap();
    fs::write(folder.path().join("feedback.jsonl"), feedback).unwrap();
    let run = |format: &str| {
        let arguments = format!(
            "gold suggest-aliases --gold gold.json --search search.jsonl --feedback feedback.jsonl \
             --format {format}"
        );
        printed(&rankgauge(folder.path(), &arguments))
    };
    let report: Value = serde_json::from_str(&run("json")).expect("JSON");
    let aliases = report["aliases"].as_array().unwrap();
    let found: Vec<_> = aliases
        .iter()
        .map(|it| {
            (
                it["query_id"].as_str().unwrap(),
                it["alias"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("a", "용도지역 변경 절차"),
            ("a", "용도지역변경!"),
            ("a", "토지 이용 전환"),
        ]
    );
    assert_eq!(aliases[0]["searches"], 6);
    assert_eq!(aliases[0]["results"].as_f64(), Some(2.0 / 3.0));
    assert_eq!(aliases[0]["clicks"], 1.0);
    assert_eq!(aliases[1]["same_letters"], true);
    assert_eq!(aliases[1]["clicks"], Value::Null);
    let text = run("text");
    assert!(
        text.contains("용도지역 변경 절차") && text.contains("Nothing was changed"),
        "{text}"
    );
}
