//! A comparison in every format: against reviewed golden files, and read back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{data, four};
use crate::harness::command::{json, printed, rankgauge, stderr};

/// All differences between two JSON values beyond rounding.
fn differences(found: &Value, expected: &Value, at: &str) -> Vec<String> {
    match (found, expected) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().expect("f64"), other.as_f64().expect("f64"));
            let near = (one - other).abs() <= 1e-9 * (1.0 + other.abs());
            let differs = (!near).then(|| format!("{at}: {one} is not {other}"));
            differs.into_iter().collect()
        }
        (Value::Object(one), Value::Object(other)) => {
            let names: Vec<&String> = one.keys().chain(other.keys()).collect();
            let nothing = &Value::String("nothing".to_owned());
            let of = |map: &'_ serde_json::Map<String, Value>, name: &str| {
                map.get(name).cloned().unwrap_or_else(|| nothing.clone())
            };
            names
                .into_iter()
                .flat_map(|name| {
                    differences(&of(one, name), &of(other, name), &format!("{at}.{name}"))
                })
                .collect()
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => one
            .iter()
            .zip(other)
            .enumerate()
            .flat_map(|(i, (one, other))| differences(one, other, &format!("{at}[{i}]")))
            .collect(),
        (one, other) if one == other => Vec::new(),
        (one, other) => vec![format!("{at}: {one} is not {other}")],
    }
}

#[test]
fn text_and_markdown_reports_match_their_golden_files() {
    for (format, file) in [("text", "expected.txt"), ("markdown", "expected.md")] {
        let expected = fs::read_to_string(data(file)).expect("a golden file");
        assert_eq!(printed(&four(&["--format", format])), expected, "{file}");
    }
}

/// A reader of a terminal or of a comment in a review sees the verdict first, without scrolling sideways.
#[test]
fn text_and_markdown_begin_with_the_same_verdict_within_80_columns() {
    let first = |format: &str| {
        let report = printed(&four(&["--format", format]));
        let is_lead = |line: &&str| !line.contains("All runs against");
        let lead: Vec<&str> = report.lines().take_while(is_lead).collect();
        for line in &lead {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let words = lead.join(" ").replace(['*', '#', '\\'], "");
        let words: Vec<&str> = words.split_whitespace().collect();
        words.join(" ")
    };
    let verdict = first("text");
    assert!(
        verdict.starts_with(
            "Comparison of V1, V2, V3, V4 V2 (B) against V1 (A): V2 is better by map, ndcg_cut_10."
        ),
        "{verdict}"
    );
    assert_eq!(verdict, first("markdown"));
}

#[test]
fn json_report_matches_the_golden_file() {
    let expected = fs::read_to_string(data("expected.json")).expect("expected.json");
    let expected: Value = serde_json::from_str(&expected).expect("JSON");
    let found = json(&four(&["--format", "json"]));
    let differences = differences(&found, &expected, "");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn csv_reads_back_with_the_numbers_of_the_json() {
    let json = json(&four(&["--format", "json"]));
    let csv = printed(&four(&["--format", "csv"]));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().collect::<Result<_, _>>().expect("CSV");
    // Comparisons, steps and the interaction by measure; the mean of each run by measure.
    let of = |tables: &[&str]| {
        let rows = rows.iter().map(|row| row["table"].as_str());
        rows.filter(|table| tables.contains(table)).count()
    };
    assert_eq!(of(&["first", "step", "interaction"]), (3 + 3 + 1) * 3);
    assert_eq!(of(&["best"]), 4 * 3);
    assert_eq!(of(&["pair"]), 6 * 3);
    // Counts of each pair, settings, and the warnings of the JSON.
    assert_eq!(of(&["queries"]), (3 + 3) * 3);
    assert_eq!(of(&["setting"]), 4);
    let warnings = json["warnings"].as_array().map(Vec::len);
    assert_eq!(Some(of(&["warning"])), warnings);
    for (kind, pairs) in [("first", "comparisons"), ("step", "ablation")] {
        for pair in json[pairs].as_array().expect("a list") {
            for (measure, of) in pair["measures"].as_object().expect("an object") {
                let row = rows.iter().find(|row| {
                    row["table"] == kind
                        && pair["a"] == *row["a"]
                        && pair["b"] == *row["b"]
                        && row["measure"] == *measure
                });
                let row = row.expect("a row for each pair and measure");
                let columns = [
                    ("mean_a", &of["a"]),
                    ("difference", &of["difference"]),
                    ("p_holm", &of["p_holm"]),
                    ("ci95_low", &of["ci95"][0]),
                    ("bca95_high", &of["bca95"][1]),
                    ("n", &of["n"]),
                ];
                for (column, expected) in columns {
                    let found: f64 = row[column].parse().expect("a number");
                    assert_eq!(Some(found), expected.as_f64(), "{column}");
                }
            }
        }
    }
    for of in json["best"][0]["measures"].as_object().expect("an object") {
        for (run, mean) in of.1["means"].as_object().expect("an object") {
            let row = rows.iter().find(|row| {
                row["table"] == "best" && row["measure"] == *of.0 && row["run"] == *run
            });
            let row = row.expect("a row for each slice, measure and run");
            assert_eq!(row["score"].parse().ok(), mean.as_f64());
            assert_eq!(row["verdict"] == "best", of.1["best"][0] == **run);
        }
    }
    let of = &json["interaction"]["measures"]["map"];
    let row = rows.iter().find(|row| row["table"] == "interaction");
    let row = row.expect("the interaction");
    for effect in ["effect_a", "effect_b", "sum", "combined"] {
        assert_eq!(row[effect].parse().ok(), of[effect].as_f64(), "{effect}");
    }
    // The table as the documentation shows it.
    let expected = fs::read_to_string(data("expected.csv")).expect("expected.csv");
    assert_eq!(csv.lines().next(), expected.lines().next());
    assert_eq!(csv.lines().count(), expected.lines().count());
}

#[test]
fn measures_have_exactly_the_keys_of_the_contract() {
    let arguments = "compare --scores V1.eval --scores V4.eval --format json";
    let found = json(&rankgauge(&data(""), arguments));
    assert_eq!(found["gold"], Value::Null);
    assert_eq!(found["runs"], serde_json::json!(["V1", "V4"]));
    assert_eq!(found["measures"], found["comparisons"][0]["measures"]);
    let measure = found["measures"]["map"].as_object().expect("an object");
    let keys: BTreeSet<&str> = measure.keys().map(String::as_str).collect();
    let expected = "a b difference relative t p p_permutation p_holm d_z d_av ci95 bca95 n";
    let expected: BTreeSet<&str> = expected.split(' ').collect();
    assert_eq!(keys, expected);
}

#[test]
fn a_report_replaces_the_previous_file_completely() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.md");
    fs::write(&report, "old").expect("a file");
    let path = report.to_str().expect("a path");
    let output = four(&["--format", "markdown", "--output", path]);
    assert!(printed(&output).is_empty());
    // The warning goes to standard error also when the report goes to a file.
    assert!(stderr(&output).contains("rankgauge: warning: measures of `V2`"));
    let expected = fs::read_to_string(data("expected.md")).expect("expected.md");
    assert_eq!(fs::read_to_string(&report).expect("the report"), expected);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn a_dash_is_standard_output() {
    let written = printed(&four(&["--format", "csv", "--output", "-"]));
    assert_eq!(written, printed(&four(&["--format", "csv"])));
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    let to_device = ["--format", "csv", "--output", "/dev/stdout"];
    let written = printed(&four(&to_device));
    assert!(written.starts_with("table,a,b,measure"));
    // If it is redirected to a file, the device is that file, with what it had before.
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    fs::write(&log, "before\n").expect("a file");
    let appended = fs::OpenOptions::new().append(true).open(&log);
    let status = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .args(["compare", "--scores"])
        .arg(data("V1.eval"))
        .arg("--scores")
        .arg(data("V4.eval"))
        .args(to_device)
        .stdout(appended.expect("the file"))
        .status();
    assert!(status.expect("the binary runs").success());
    let text = fs::read_to_string(&log).expect("the file");
    assert!(text.starts_with("before\ntable,a,b,measure"), "{text}");
}
