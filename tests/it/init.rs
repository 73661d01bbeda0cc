//! `rankgauge init`: its files are accepted by `check`, and fit a sample.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn rankgauge(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks the files in `files`, from the folder and from below it.
fn check(folder: &Path, files: &str) -> String {
    let settings = format!("{files}/rankgauge.yaml");
    let from_outside = rankgauge(folder, &["check", "--config", &settings]);
    assert!(
        from_outside.status.success(),
        "{}",
        text(&from_outside.stderr)
    );
    let inside = rankgauge(
        &folder.join(files),
        &["check", "--config", "rankgauge.yaml"],
    );
    assert!(inside.status.success(), "{}", text(&inside.stderr));
    text(&inside.stdout)
}

#[test]
fn the_starter_files_are_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = rankgauge(folder.path(), &["init", "quality"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("rankgauge check --config quality/rankgauge.yaml"));
    let summary = check(folder.path(), "quality");
    assert!(summary.contains("3 queries"), "{summary}");
    let gold = fs::read_to_string(folder.path().join("quality/gold.json")).expect("a file");
    let gold: Value = serde_json::from_str(&gold).expect("JSON");
    assert_eq!(gold["queries"].as_array().map(Vec::len), Some(3));
    let settings =
        fs::read_to_string(folder.path().join("quality/rankgauge.yaml")).expect("a file");
    assert!(
        settings.lines().filter(|line| line.contains('#')).count() > 15,
        "{settings}"
    );
}

#[test]
fn existing_files_are_not_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("gold.json"), "mine").expect("a file");
    let output = rankgauge(folder.path(), &["init"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("gold.json exists"),
        "{}",
        text(&output.stderr)
    );
    assert!(!folder.path().join("rankgauge.yaml").exists());
    assert_eq!(
        fs::read_to_string(folder.path().join("gold.json")).expect("a file"),
        "mine"
    );
}

#[test]
fn a_sample_determines_slices_measures_limits_and_queries() {
    let folder = tempfile::tempdir().expect("a folder");
    let searches: Vec<String> = (0..60)
        .map(|number| {
            let results: Vec<Value> = (0..4)
                .map(|rank| json!({"id": format!("d{rank}::c"), "group_id": format!("d{rank}")}))
                .collect();
            let at = usize::try_from(number).expect("a small number");
            let queries = ["용도지역", "용도지역 ", "건폐율", "a: \"b\" #c", "rare"];
            let devices = ["mobile", "desktop"];
            let event = json!({
                "query_id": format!("s{number}"), "ts": 1_763_337_600_000_u64 + number,
                "query": queries[at % 5],
                "results": results, "session_id": "s", "variant": format!("V{}", number % 2),
                "labels": {"device": devices[at % 2],
                    "user": format!("u{number}"), "constant": "x", "1bad": number % 2},
            });
            format!("{event}\n")
        })
        .collect();
    fs::write(
        folder.path().join("searches.jsonl"),
        searches.concat() + "not JSON\n",
    )
    .expect("a file");
    let output = rankgauge(folder.path(), &["init", "--from", "searches.jsonl", "out"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(
        said.contains("Proposed from 60 searches: at most 4 results"),
        "{said}"
    );
    assert!(
        said.contains("1 lines are not search events; the first is line 61"),
        "{said}"
    );
    let summary = check(folder.path(), "out");
    assert!(summary.contains("3 queries"), "{summary}");
    let settings = fs::read_to_string(folder.path().join("out/rankgauge.yaml")).expect("a file");
    for line in [
        "slices: [device]",
        "  judge_by: group_id",
        "  results_per_search: 100",
        "  search_format: native",
    ] {
        assert!(settings.lines().any(|it| it == line), "{line}: {settings}");
    }
    assert!(
        settings.contains("nDCG@3") && settings.contains("SessionSuccess"),
        "{settings}"
    );
    let gold = fs::read_to_string(folder.path().join("out/gold.json")).expect("a file");
    let gold: Value = serde_json::from_str(&gold).expect("JSON");
    assert_eq!(gold["queries"][0]["query_text"], "a: \"b\" #c");
}

#[test]
fn a_sample_of_user_behavior_insights_is_recognised() {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/connect/ubi_queries.jsonl");
    let examples = examples.display().to_string();
    let output = rankgauge(folder.path(), &["init", "--from", &examples, "out"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary = check(folder.path(), "out");
    assert!(summary.contains("searches ubi"), "{summary}");
}

#[test]
fn a_sample_without_searches_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("x.jsonl"), "{\"ts\": 1}\n").expect("a file");
    let output = rankgauge(folder.path(), &["init", "--from", "x.jsonl"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("x.jsonl: no search event among 1 lines"),
        "{said}"
    );
    let output = rankgauge(folder.path(), &["init", "--from", "none.jsonl"]);
    assert_eq!(output.status.code(), Some(2));
}
