//! `rankgauge evaluate` from the command line: files of every format, run names and result order.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::harness::command::{Arguments, assert_exit, assert_reports, json, rankgauge, stderr};

const GOLD: &str = "q1 0 민법::제3조 2\nq1 0 민법::제4조 1\nq2 0 상법::제1조 1\n";

/// Runs the command in `folder`, which has the gold set `gold.qrels`.
fn evaluate<A: Arguments + ?Sized>(folder: &Path, arguments: &A) -> Output {
    fs::write(folder.join("gold.qrels"), GOLD).expect("a file");
    let evaluate = ["evaluate", "--gold", "gold.qrels"];
    rankgauge(folder, &[&evaluate[..], &arguments.words()[..]].concat())
}

/// Reported values of each run, as JSON.
fn runs<A: Arguments + ?Sized>(folder: &Path, arguments: &A) -> Vec<Value> {
    let arguments = [&arguments.words()[..], &["--format", "json"]].concat();
    let report = json(&evaluate(folder, &arguments));
    report["runs"].as_array().expect("a list").clone()
}

fn write(folder: &Path, name: &str, content: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, content).expect("a file");
}

#[test]
fn results_are_judged_in_the_requested_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    // As listed the relevant result is third, by score second, by rank first.
    let lines = "q1 Q0 a 2 9 x\nq1 Q0 b 3 7 x\nq1 Q0 민법::제3조 1 8 x\n";
    write(folder, "a.run", lines);
    let hit = |id: &str, rank: u32, score: u32| json!({"id": id, "rank": rank, "score": score});
    let event = json!({"query_id": "s1", "query_key": "q1", "ts": 1, "results": [
        hit("a", 2, 9), hit("b", 3, 7), hit("민법::제3조", 1, 8),
    ]});
    write(folder, "b.jsonl", &event.to_string());
    let found = |run: &str, order: &[&str]| {
        let arguments = [&["--run", run, "--measures", "RR"], order].concat();
        runs(folder, &arguments)[0]["means"]["RR"].as_f64()
    };
    for (order, of_lines, of_events) in [
        (&[][..], 1.0 / 2.0, 1.0),
        (&["--order", "score"], 1.0 / 2.0, 1.0 / 2.0),
        (&["--order", "rank"], 1.0, 1.0),
        // Events in which all results have a rank were served in rank order.
        (&["--order", "served"], 1.0 / 3.0, 1.0),
    ] {
        assert_eq!(found("a.run", order), Some(of_lines), "{order:?}");
        assert_eq!(found("b.jsonl", order), Some(of_events), "{order:?}");
    }
}

#[test]
fn the_last_search_of_each_query_is_judged_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let search = |id: &str, key: &str, ts: u64, document: &str| {
        let results = json!([{"id": document}]);
        json!({"query_id": id, "query_key": key, "ts": ts, "results": results}).to_string()
    };
    // The last search by its time is neither the first nor the last of the file. One was sent twice.
    let events = [
        search("s1", "q1", 1, "x"),
        search("s3", "q1", 3, "민법::제3조"),
        search("s3", "q1", 3, "민법::제3조"),
        search("s2", "q1", 2, "y"),
        search("s4", "q2", 4, "상법::제1조"),
        search("s5", "unknown", 5, "x"),
        search("s6", "unknown", 6, "x"),
    ];
    write(folder, "log.jsonl", &events.join("\n"));
    let arguments = ["--run", "log.jsonl", "--measures", "RR"];
    let refused = evaluate(folder, &arguments);
    assert_reports(&refused, 2, "--last-search");

    let last = [&arguments[..], &["--last-search"]].concat();
    let found = runs(folder, &last);
    assert_eq!(found[0]["means"]["RR"], 1.0);
    assert_eq!(found[0]["queries"], 2);
    assert_reports(&evaluate(folder, &last), 0, "4 searches are not judged");

    // The same file in the format of User Behavior Insights, of which the first answer is judged otherwise.
    let query = |id: &str, ts: &str, document: &str| {
        json!({"query_id": id, "timestamp": ts, "user_query": "q1", "query_response_hit_ids": [document]})
            .to_string()
    };
    let events = [
        query("s1", "2026-01-05T10:00:01Z", "x"),
        query("s2", "2026-01-05T10:00:02Z", "민법::제3조"),
    ];
    write(folder, "ubi.jsonl", &events.join("\n"));
    for (more, expected) in [(&[][..], 0.0), (&["--last-search"], 1.0)] {
        let arguments = [&["--run", "ubi.jsonl", "--measures", "RR"], more].concat();
        assert_eq!(runs(folder, &arguments)[0]["means"]["RR"], expected);
    }
}

#[test]
fn measures_requested_by_alias_are_shown_under_their_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, "a.run", "q1 Q0 민법::제3조 1 1 x\n");
    let measures = "mrr@10,RR@10,ndcg_cut_5,recall_5";
    let found = runs(folder, &["--run", "a.run", "--measures", measures]);
    let means = found[0]["means"].as_object().expect("means");
    let names: BTreeSet<&str> = means.keys().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(["R@5", "RR@10", "nDCG@5"]));
}

#[test]
fn an_order_missing_from_the_file_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let event = json!({"query_id": "s1", "query_key": "q1", "ts": 1, "results": [{"id": "a"}]});
    write(folder, "b.jsonl", &event.to_string());
    write(folder, "c.json", r#"{"q1": {"a": 1.0}}"#);
    for (file, order) in [
        ("b.jsonl", "rank"),
        ("b.jsonl", "score"),
        ("c.json", "rank"),
    ] {
        let arguments = format!("--run {file} --measures RR --order {order}");
        let output = evaluate(folder, &arguments);
        assert_reports(&output, 2, &format!("{file}:1: a result has no {order}"));
    }
}

#[test]
fn equivalent_files_of_every_format_have_equal_scores() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    // A tie is resolved in favour of the higher id.
    write(
        folder,
        "trec.run",
        "q1 Q0 민법::제3조 1 0.5 x\nq1 Q0 민법::제4조 2 0.5 x\nq1 Q0 d 3 0.1 x\nq2 Q0 e 1 3 x\n",
    );
    write(
        folder,
        "ranx.json",
        r#"{"q1": {"민법::제3조": 0.5, "민법::제4조": 0.5, "d": 0.1}, "q2": {"e": 3}}"#,
    );
    let search = |query: &str, ids: &[&str]| {
        let results: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        json!({"query_id": format!("s-{query}"), "query_key": query, "ts": 1, "results": results})
    };
    let events = format!(
        "{}\n\n{}\n",
        search("q1", &["민법::제4조", "민법::제3조", "d"]),
        search("q2", &["e"])
    );
    write(folder, "events.jsonl", &events);
    let measures = "P@1,R@10,AP,RR,nDCG,nDCG(gain=exp)@2,Judged@10";
    let files = "--run trec.run --run ranx.json --run events.jsonl";
    let found = runs(
        folder,
        &format!("{files} --measures {measures} --per-query"),
    );
    let names: Vec<&Value> = found.iter().map(|run| &run["name"]).collect();
    assert_eq!(names, ["trec", "ranx", "events"]);
    for member in ["means", "per_query", "micro", "queries", "missing"] {
        assert_eq!(found[0][member], found[1][member], "{member}");
        assert_eq!(found[0][member], found[2][member], "{member}");
    }
    // 1 / log2(2) + 2 / log2(3) against the ideal 2 / log2(2) + 1 / log2(3).
    let log3 = 3.0_f64.log2();
    let expected = (1.0 + 2.0 / log3) / (2.0 + 1.0 / log3);
    let ndcg = found[0]["per_query"]["q1"]["nDCG"]
        .as_f64()
        .expect("a score");
    assert!((ndcg - expected).abs() < 1e-12, "{ndcg} is not {expected}");
}

#[test]
fn runs_with_equal_file_names_keep_their_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for name in ["before/bm25.run", "after/bm25.txt", "other.run"] {
        write(folder, name, "q1 Q0 민법::제3조 1 1 x\n");
    }
    let arguments = "--run before/bm25.run --run after/bm25.txt --run other.run --measures RR";
    let found = runs(folder, arguments);
    let names: Vec<&Value> = found.iter().map(|run| &run["name"]).collect();
    assert_eq!(names, ["before/bm25.run", "after/bm25.txt", "other"]);
}

#[test]
fn slices_use_the_labels_of_the_gold_set_then_of_the_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let event = json!({"query_id": "s1", "query_key": "q1", "ts": 1, "variant": "V5",
        "labels": {"tone": "공손"}, "results": [{"id": "민법::제3조"}]});
    write(folder, "b.jsonl", &event.to_string());
    let found = runs(folder, "--run b.jsonl --measures P@1 --by tone,variant");
    assert_eq!(
        found[0]["by"],
        json!({"tone": {"공손": {"P@1": 1.0}}, "variant": {"V5": {"P@1": 1.0}}})
    );
    let output = evaluate(folder, "--run b.jsonl --measures P@1 --by difficulty");
    assert_exit(&output, 2);
    let said = stderr(&output);
    assert_eq!(
        said,
        "rankgauge: no query has the label `difficulty`; there are none\n"
    );
}
