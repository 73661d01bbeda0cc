//! The `gold` commands, run as processes: output, written files and exit codes.
//!
//! Golden files are in tests/data/gold/commands; `RANKGAUGE_BLESS=1` regenerates them.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use super::data;
use crate::harness::command::{
    Arguments, assert_exit, assert_reports, json, json_of, printed, rankgauge, stderr, stdout,
};

/// Runs `rankgauge gold` in the folder of the test gold sets.
pub(super) fn run<A: Arguments + ?Sized>(arguments: &A) -> Output {
    let arguments = [&["gold"][..], &arguments.words()[..]].concat();
    rankgauge(&data("commands"), &arguments)
}

/// Runs a command, as text and as JSON, and compares its output with golden files.
#[track_caller]
pub(super) fn assert_golden(name: &str, arguments: &str, code: i32) {
    for (format, ending) in [("text", "txt"), ("json", "json")] {
        let output = run(&format!("{arguments} --format {format}"));
        assert_exit(&output, code);
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
    let arguments = "validate broken.json --target query_type.keyword=0.4";
    assert_golden("validate-broken", arguments, 1);
}

#[test]
fn validate_distinguishes_warnings_from_errors() {
    assert_golden("validate-v1", "validate v1.json", 0);
    let strict = run(&["validate", "v1.json", "--strict"]);
    assert_reports(&strict, 1, "--strict treats them as errors");
    let scale = run("validate v1.json --scale-max 2 --format json");
    assert_eq!(json_of(&scale, 1)["errors"][0]["kind"], "beyond_scale");
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
    let run = |arguments: &str| rankgauge(folder.path(), arguments);
    let found = "gold.json: 1 query, and nothing is judged";
    let report = json_of(&run("gold validate gold.json --format json"), 1);
    assert_eq!(report["valid"], false);
    assert_eq!(report["errors"][0]["kind"], "no_judgements");
    for arguments in [
        "check --config rankgauge.yaml",
        "evaluate --gold gold.json --run run.txt",
        "compare --gold gold.json --run run.txt --run other.txt",
    ] {
        let output = run(arguments);
        assert_reports(&output, 2, found);
        assert_eq!(stdout(&output), "", "{arguments}");
    }
    for arguments in [
        "gold adopt --gold gold.json --sheet sheet.csv --output judged.json",
        "evaluate --gold judged.json --run run.txt",
        "gold stats gold.json",
    ] {
        assert_exit(&run(arguments), 0);
    }
}

#[test]
fn stats_reports_the_counts_of_a_set() {
    assert_golden("stats", "stats v1.json", 0);
}

#[test]
fn kappa_exits_with_1_below_its_threshold() {
    assert_golden("kappa", "kappa v1.json", 1);
    let enough = run("kappa v1.json --threshold 0.3");
    assert_exit(&enough, 0);
    let none = run("kappa ../law.qrels --format json");
    assert_eq!(json_of(&none, 1)["kappa"], serde_json::Value::Null);
    assert!(stderr(&none).contains("nothing is annotated twice"));
}

#[test]
fn diff_uses_the_exit_codes_of_unix_diff() {
    assert_golden("diff", "diff v1.json v2.json", 1);
    let same = run(&["diff", "v1.json", "v1.json"]);
    assert_exit(&same, 0);
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
    let arguments = format!("expand v1.json --edges edges.jsonl --output {output}");
    let report = json(&run(&format!("{arguments} --format json")));
    assert_eq!(report["added"], 3);
    assert_eq!(report["added_by_relation"]["same_article"], 1);
    assert_eq!(report["edges_without_grade"]["cites"], 1);
    let diff = json_of(&run(&format!("diff v1.json {output} --format json")), 1);
    assert_eq!(diff["totals"]["judgements_added"], 3);
    assert_eq!(diff["totals"]["judgements_changed"], 0);
    // The output is a usable set, and is not overwritten without --force.
    assert_eq!(run(&["stats", output]).status.code(), Some(0));
    assert_eq!(run(&arguments).status.code(), Some(2));
    let text = printed(&run(&format!("{arguments} --force --grade cites=1")));
    assert!(text.starts_with("4 judgements added, from "), "{text}");
}

#[test]
fn convert_writes_complete_files_or_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let names = || -> Vec<String> {
        let entries = fs::read_dir(folder.path()).expect("a folder");
        let name = |entry: io::Result<DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> = entries.map(|it| name(it).display().to_string()).collect();
        names.sort();
        names
    };
    let convert =
        |to: &str, name: &str| run(&["convert", "v1.json", "--to", to, "--output", &path(name)]);

    let written = convert("qrels", "v1.qrels");
    assert_exit(&written, 0);
    assert!(stderr(&written).starts_with("rankgauge: qrels cannot hold:\n  the set's version\n"));
    assert_eq!(names(), ["v1.qrels", "v1.tsv"]);
    let beir = convert("beir", "test.tsv");
    assert_exit(&beir, 0);
    assert_eq!(names(), ["queries.jsonl", "test.tsv", "v1.qrels", "v1.tsv"]);
    for name in ["v1.qrels", "test.tsv"] {
        let stats = json(&run(&["stats", &path(name), "--format", "json"]));
        assert_eq!(
            (&stats["queries_without_text"], &stats["judgements"]),
            (&0.into(), &7.into())
        );
    }

    // Standard output holds one document, and nothing else.
    let native = json(&run("convert v1.json --to native --output -"));
    assert!(native["queries"].is_array());
    let two = run("convert v1.json --to qrels --output -");
    assert_reports(&two, 2, "standard output holds one");

    let again = convert("qrels", "v1.qrels");
    assert_reports(&again, 2, "--force");
    // The texts would overwrite a file, so nothing is written.
    assert_eq!(convert("qrels", "v1.other").status.code(), Some(2));
    let broken = format!("convert broken.json --to ranx --output {}", path("b.json"));
    assert_exit(&run(&broken), 2);
    for (to, name) in [
        ("rag", "rag.json"),
        ("beir", "missing/b.tsv"),
        ("nonsense", "b.json"),
    ] {
        assert_eq!(convert(to, name).status.code(), Some(2), "{to}");
    }
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
        "validate",
        "validate v1.json --target nonsense",
        "validate v1.json --from nonsense",
        "kappa v1.json --threshold NaN",
        "nonsense",
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
    assert_reports(&output, 2, "zero:1: the file is larger than 256 MiB");
}

#[test]
fn a_link_is_followed_and_a_pipe_is_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("gold.qrels"), "old").expect("a file");
    symlink("gold.qrels", at("link")).expect("a link");
    let made = Command::new("mkfifo").arg(at("pipe")).status();
    assert!(made.expect("mkfifo starts").success());
    let convert = |name: &str| {
        let output = at(name).display().to_string();
        run(&[
            "convert", "v1.json", "--to", "qrels", "--force", "--output", &output,
        ])
    };
    assert_exit(&convert("link"), 0);
    assert!(at("link").is_symlink());
    let text = fs::read_to_string(at("gold.qrels")).expect("the judgements");
    assert!(text.contains(" 0 "), "{text}");
    assert_reports(
        &convert("pipe"),
        2,
        "pipe: is a pipe or a device, not a file",
    );
    let kind = fs::metadata(at("pipe")).expect("the pipe").file_type();
    assert!(kind.is_fifo());
    let printed = printed(&run("convert v1.json --to ranx --output /dev/stdout"));
    assert!(printed.starts_with('{'), "{printed}");

    // A link to a file that does not exist yet, and the mode of one that does.
    symlink("later.qrels", at("early")).expect("a link");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(at("gold.qrels"), private).expect("a mode");
    assert_exit(&convert("early"), 0);
    assert!(at("early").is_symlink() && at("later.qrels").is_file());
    assert_exit(&convert("link"), 0);
    let kept = fs::metadata(at("gold.qrels"))
        .expect("a file")
        .permissions();
    assert_eq!(kept.mode() & 0o777, 0o600);
}
