//! The `gold` commands, run as processes: output, written files and exit codes.
//!
//! Golden files are in tests/data/gold/commands; `RANKGAUGE_BLESS=1` regenerates them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::data;

/// Runs `rankgauge gold` in the folder of the test gold sets.
pub(super) fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .current_dir(data("commands"))
        .arg("gold")
        .args(arguments)
        .output()
        .expect("the binary runs")
}

pub(super) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub(super) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

pub(super) fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("JSON on the standard output")
}

/// Runs a command, as text and as JSON, and compares its output with golden files.
#[track_caller]
pub(super) fn assert_golden(name: &str, arguments: &[&str], code: i32) {
    for (format, ending) in [("text", "txt"), ("json", "json")] {
        let output = run(&[arguments, &["--format", format]].concat());
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let path = data("commands").join(format!("{name}.{ending}"));
        let found = stdout(&output);
        if std::env::var_os("RANKGAUGE_BLESS").is_some() {
            fs::write(&path, &found).expect("a golden file");
        }
        let expected = fs::read_to_string(&path).expect("a golden file");
        assert_eq!(found, expected, "{}", path.display());
        let widest = found.lines().map(|line| line.chars().count()).max();
        assert!(format == "json" || widest <= Some(80), "{found}");
    }
}

#[test]
fn validate_reports_all_problems_together() {
    assert_golden(
        "validate-broken",
        &[
            "validate",
            "broken.json",
            "--target",
            "query_type.keyword=0.4",
        ],
        1,
    );
}

#[test]
fn validate_distinguishes_warnings_from_errors() {
    assert_golden("validate-v1", &["validate", "v1.json"], 0);
    let strict = run(&["validate", "v1.json", "--strict"]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(stderr(&strict).contains("--strict treats them as errors"));
    let scale = run(&[
        "validate",
        "v1.json",
        "--scale-max",
        "2",
        "--format",
        "json",
    ]);
    assert_eq!(scale.status.code(), Some(1));
    assert_eq!(json(&scale)["errors"][0]["kind"], "beyond_scale");
}

#[test]
fn a_set_in_which_nothing_is_judged_is_accepted_only_to_be_extended() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in [
        ("gold.json", r#"{"q1": {}}"#),
        ("rankgauge.yaml", "gold:\n  paths: [gold.json]\n"),
        ("run.txt", "q2 Q0 d1 1 2 x\n"),
        ("other.txt", "q2 Q0 d2 1 2 x\n"),
        (
            "sheet.csv",
            "query_id,query_text,document_id,grade\nq2,,d1,2\n",
        ),
    ] {
        fs::write(folder.path().join(name), content).expect("a file");
    }
    let run = |arguments: &str| {
        Command::new(env!("CARGO_BIN_EXE_rankgauge"))
            .current_dir(folder.path())
            .args(arguments.split(' '))
            .output()
            .expect("the binary runs")
    };
    let found = "gold.json: 1 query, and nothing is judged";
    let validate = run("gold validate gold.json --format json");
    assert_eq!(validate.status.code(), Some(1));
    let report = json(&validate);
    assert_eq!(report["valid"], false);
    assert_eq!(report["errors"][0]["kind"], "no_judgements");
    for arguments in [
        "check --config rankgauge.yaml",
        "evaluate --gold gold.json --run run.txt",
        "compare --gold gold.json --run run.txt --run other.txt",
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(stderr(&output).contains(found), "{}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments}");
    }
    let adopt = run("gold adopt --gold gold.json --sheet sheet.csv --output judged.json");
    assert!(adopt.status.success(), "{}", stderr(&adopt));
    let evaluate = run("evaluate --gold judged.json --run run.txt");
    assert!(evaluate.status.success(), "{}", stderr(&evaluate));
    assert!(run("gold stats gold.json").status.success());
}

#[test]
fn stats_reports_the_counts_of_a_set() {
    assert_golden("stats", &["stats", "v1.json"], 0);
}

#[test]
fn kappa_exits_with_1_below_its_threshold() {
    assert_golden("kappa", &["kappa", "v1.json"], 1);
    let enough = run(&["kappa", "v1.json", "--threshold", "0.3"]);
    assert_eq!(enough.status.code(), Some(0), "{}", stderr(&enough));
    let none = run(&["kappa", "../law.qrels", "--format", "json"]);
    assert_eq!(none.status.code(), Some(1));
    assert_eq!(json(&none)["kappa"], serde_json::Value::Null);
    assert!(stderr(&none).contains("nothing is annotated twice"));
}

#[test]
fn diff_uses_the_exit_codes_of_unix_diff() {
    assert_golden("diff", &["diff", "v1.json", "v2.json"], 1);
    let same = run(&["diff", "v1.json", "v1.json"]);
    assert_eq!(same.status.code(), Some(0));
    assert!(stdout(&same).ends_with("no differences\n"));
    assert_eq!(
        run(&["diff", "v1.json", "missing.json"]).status.code(),
        Some(2)
    );
}

#[test]
fn expand_writes_a_set_with_more_judgements() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("more.json");
    let output = path.to_str().expect("UTF-8");
    let arguments = [
        "expand",
        "v1.json",
        "--edges",
        "edges.jsonl",
        "--output",
        output,
    ];
    let found = run(&[&arguments[..], &["--format", "json"]].concat());
    assert_eq!(found.status.code(), Some(0), "{}", stderr(&found));
    let report = json(&found);
    assert_eq!(report["added"], 3);
    assert_eq!(report["added_by_relation"]["same_article"], 1);
    assert_eq!(report["edges_without_grade"]["cites"], 1);
    let diff = run(&["diff", "v1.json", output, "--format", "json"]);
    assert_eq!(json(&diff)["totals"]["judgements_added"], 3);
    assert_eq!(json(&diff)["totals"]["judgements_changed"], 0);
    // The output is a usable set, and is not overwritten without --force.
    assert_eq!(run(&["stats", output]).status.code(), Some(0));
    assert_eq!(run(&arguments).status.code(), Some(2));
    let text = run(&[&arguments[..], &["--force", "--grade", "cites=1"]].concat());
    assert_eq!(text.status.code(), Some(0), "{}", stderr(&text));
    assert!(
        stdout(&text).starts_with("4 judgements added, from "),
        "{}",
        stdout(&text)
    );
}

#[test]
fn convert_writes_complete_files_or_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let names = || -> Vec<String> {
        let entries = fs::read_dir(folder.path()).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    };
    let convert =
        |to: &str, name: &str| run(&["convert", "v1.json", "--to", to, "--output", &path(name)]);

    let written = convert("qrels", "v1.qrels");
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    assert!(stderr(&written).starts_with("rankgauge: qrels cannot hold:\n  the set's version\n"));
    assert_eq!(names(), ["v1.qrels", "v1.tsv"]);
    let beir = convert("beir", "test.tsv");
    assert_eq!(beir.status.code(), Some(0), "{}", stderr(&beir));
    assert_eq!(names(), ["queries.jsonl", "test.tsv", "v1.qrels", "v1.tsv"]);
    for name in ["v1.qrels", "test.tsv"] {
        let stats = json(&run(&["stats", &path(name), "--format", "json"]));
        assert_eq!(
            (&stats["queries_without_text"], &stats["judgements"]),
            (&0.into(), &7.into())
        );
    }

    // Standard output holds one document, and nothing else.
    let printed = run(&["convert", "v1.json", "--to", "native", "--output", "-"]);
    assert_eq!(printed.status.code(), Some(0), "{}", stderr(&printed));
    assert!(json(&printed)["queries"].is_array());
    let two = run(&["convert", "v1.json", "--to", "qrels", "--output", "-"]);
    assert_eq!(two.status.code(), Some(2));
    assert!(
        stderr(&two).contains("standard output holds one"),
        "{}",
        stderr(&two)
    );

    let again = convert("qrels", "v1.qrels");
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
    // The texts would overwrite a file, so nothing is written.
    assert_eq!(convert("qrels", "v1.other").status.code(), Some(2));
    let broken = run(&[
        "convert",
        "broken.json",
        "--to",
        "ranx",
        "--output",
        &path("b.json"),
    ]);
    assert_eq!(broken.status.code(), Some(2));
    assert_eq!(convert("rag", "rag.json").status.code(), Some(2));
    assert_eq!(convert("beir", "missing/b.tsv").status.code(), Some(2));
    assert_eq!(convert("nonsense", "b.json").status.code(), Some(2));
    assert_eq!(names(), ["queries.jsonl", "test.tsv", "v1.qrels", "v1.tsv"]);
}

#[test]
fn unreadable_files_and_wrong_arguments_are_usage_errors() {
    for command in ["validate", "stats", "kappa"] {
        let output = run(&[command, "missing.json"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(stderr(&output).contains("missing.json: cannot be read"));
        assert_eq!(stdout(&output), "");
    }
    for arguments in [
        &["validate"][..],
        &["validate", "v1.json", "--target", "nonsense"],
        &["validate", "v1.json", "--from", "nonsense"],
        &["kappa", "v1.json", "--threshold", "NaN"],
        &["nonsense"],
    ] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_endless_file_is_rejected_at_the_size_limit() {
    assert!(
        Path::new("/dev/zero").exists(),
        "a system without /dev/zero"
    );
    let output = run(&["stats", "/dev/zero"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("zero:1: the file is larger than 256 MiB"),
        "{}",
        stderr(&output)
    );
}
