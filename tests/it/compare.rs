//! `rankgauge compare` as people call it, and the comparison behind it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use proptest::prelude::*;
use rankgauge::compare::{
    CompareError, Comparison, ErrorAnalysis, FalsePositive, Labels, Missed, Options, QueryErrors,
    RunScores, ScoreFileProblem, Verdict, compare,
};
use rankgauge::evaluate::GoldFacts;
use rankgauge::report::compare::{Format, write};
use rankgauge::statistics::Settings;
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/compare")
        .join(name)
}

/// Runs `rankgauge compare`.
fn rankgauge(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .arg("compare")
        .args(arguments)
        .output()
        .expect("the binary starts")
}

/// Runs it on the four files, with more arguments.
fn four(arguments: &[&str]) -> Output {
    let files = ["V1", "V2", "V3", "V4"].map(|name| data(&format!("{name}.eval")));
    let mut all: Vec<&str> = Vec::new();
    for file in &files {
        all.extend(["--scores", file.to_str().expect("a path of ASCII")]);
    }
    all.extend(["--interaction", "V1,V2,V3,V4"]);
    all.extend(arguments);
    rankgauge(&all)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&printed(output)).expect("JSON")
}

fn quick() -> Options {
    Options {
        statistics: Settings {
            seed: 1,
            permutations: 200,
            bootstraps: 200,
        },
        ..Options::default()
    }
}

/// A run of the scores of its queries, a measure for each column.
fn run(name: &str, measures: &[&str], queries: &[(&str, &[f64])]) -> RunScores {
    let scores = |scores: &[f64]| scores.iter().copied().map(Some).collect();
    RunScores {
        name: name.to_owned(),
        measures: measures.iter().map(|&name| name.to_owned()).collect(),
        queries: queries
            .iter()
            .map(|(query, of)| ((*query).to_owned(), scores(of)))
            .collect(),
    }
}

/// Everything in which two JSON values differ by more than rounding.
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
fn the_text_is_the_expected_one() {
    let expected = fs::read_to_string(data("expected.txt")).expect("expected.txt");
    assert_eq!(printed(&four(&["--format", "text"])), expected);
}

#[test]
fn the_markdown_is_the_expected_one() {
    let expected = fs::read_to_string(data("expected.md")).expect("expected.md");
    assert_eq!(printed(&four(&["--format", "markdown"])), expected);
}

#[test]
fn the_json_is_the_expected_one() {
    let expected = fs::read_to_string(data("expected.json")).expect("expected.json");
    let expected: Value = serde_json::from_str(&expected).expect("JSON");
    let found = json(&four(&["--format", "json"]));
    let differences = differences(&found, &expected, "");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_csv_reads_back_with_the_numbers_of_the_json() {
    let json = json(&four(&["--format", "json"]));
    let csv = printed(&four(&["--format", "csv"]));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().collect::<Result<_, _>>().expect("CSV");
    assert_eq!(rows.len(), (3 + 3 + 1) * 3);
    for (kind, pairs) in [("first", "comparisons"), ("step", "ablation")] {
        for pair in json[pairs].as_array().expect("a list") {
            for (measure, of) in pair["measures"].as_object().expect("an object") {
                let row = rows.iter().find(|row| {
                    row["comparison"] == kind
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
    // The documents of people hold the same rows.
    let expected = fs::read_to_string(data("expected.csv")).expect("expected.csv");
    assert_eq!(csv.lines().next(), expected.lines().next());
    assert_eq!(csv.lines().count(), expected.lines().count());
}

#[test]
fn measures_have_exactly_the_keys_of_the_contract() {
    let (a, b) = (data("V1.eval"), data("V4.eval"));
    let (a, b) = (a.to_str().expect("a path"), b.to_str().expect("a path"));
    let found = json(&rankgauge(&[
        "--scores", a, "--scores", b, "--format", "json",
    ]));
    assert_eq!(found["gold"], Value::Null);
    assert_eq!(found["runs"], serde_json::json!(["V1", "V4"]));
    assert_eq!(found["measures"], found["comparisons"][0]["measures"]);
    let mut keys: Vec<&str> = found["measures"]["map"]
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    let mut expected = [
        "a",
        "b",
        "difference",
        "t",
        "p",
        "p_permutation",
        "p_holm",
        "d_z",
        "d_av",
        "ci95",
        "bca95",
        "n",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
}

#[test]
fn differences_are_second_minus_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    fs::write(&a, "P_5 1 0.2\nP_5 2 0.4\nP_5 all 0.9\n").expect("a file");
    fs::write(&b, "P_5\t2\t0.6\r\nP_5\t1\t0.6\r\nP_5\t3\t1.0\r\n").expect("a file");
    let (a, b) = (a.to_str().expect("a path"), b.to_str().expect("a path"));
    let found = json(&rankgauge(&[
        "--scores", a, "--scores", b, "--format", "json",
    ]));
    let of = &found["measures"]["P_5"];
    let near = |key: &str, expected: f64| {
        let found = of[key].as_f64().expect("a number");
        assert!((found - expected).abs() < 1e-12, "{key}: {found}");
    };
    near("a", 0.3);
    near("b", 0.6);
    near("difference", 0.3);
    near("t", 3.0);
    assert_eq!(of["n"], 2);
    let queries = serde_json::json!({"common": 2, "only_a": 0, "only_b": 1});
    assert_eq!(found["comparisons"][0]["queries"], queries);
}

#[test]
fn a_run_against_itself_is_identical_and_says_so() {
    let file = data("V2.eval");
    let file = file.to_str().expect("a path");
    let twice = ["--scores", file, "--scores", file];
    let said = printed(&rankgauge(&twice));
    assert!(said.contains("V2 (A) against V2 (2) (B)"), "{said}");
    assert!(said.contains("The runs are identical"), "{said}");
    let found = json(&rankgauge(&[&twice[..], &["--format", "json"]].concat()));
    for of in found["measures"].as_object().expect("an object").values() {
        for (key, expected) in [("difference", 0.0), ("t", 0.0), ("d_z", 0.0), ("d_av", 0.0)] {
            assert_eq!(of[key].as_f64(), Some(expected), "{key}");
        }
        for key in ["p", "p_permutation", "p_holm"] {
            assert_eq!(of[key].as_f64(), Some(1.0), "{key}");
        }
        assert_eq!(of["ci95"], serde_json::json!([0.0, 0.0]));
        assert_eq!(of["bca95"], serde_json::json!([0.0, 0.0]));
    }
}

#[test]
fn what_is_undefined_is_null() {
    let folder = tempfile::tempdir().expect("a folder");
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    fs::write(&a, "P_5 1 0.25\nP_5 2 0.5\nmap 1 0\nrbp 1 0\n").expect("a file");
    fs::write(&b, "P_5 1 0.5\nP_5 2 0.75\nmap 1 1\nrbp 2 1\n").expect("a file");
    let (a, b) = (a.to_str().expect("a path"), b.to_str().expect("a path"));
    let found = json(&rankgauge(&[
        "--scores", a, "--scores", b, "--format", "json",
    ]));
    let constant = &found["measures"]["P_5"];
    assert_eq!(
        (&constant["t"], &constant["d_z"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(constant["p"], 0.0);
    assert_eq!(constant["ci95"], serde_json::json!([0.25, 0.25]));
    let single = &found["measures"]["map"];
    assert_eq!(single["difference"], 1.0);
    assert_eq!(
        (&single["p"], &single["p_holm"]),
        (&Value::Null, &Value::Null)
    );
    let none = &found["measures"]["rbp"];
    assert_eq!((&none["n"], &none["a"]), (&Value::from(0), &Value::Null));
    // They are said in words.
    let said = printed(&rankgauge(&["--scores", a, "--scores", b]));
    assert!(said.contains("not tested"), "{said}");
    assert!(said.contains("share only 2 queries"), "{said}");
}

#[test]
fn the_seed_and_the_resamples_are_obeyed() {
    let bca = |arguments: &[&str]| {
        let found = json(&four(&[&["--format", "json"], arguments].concat()));
        found["comparisons"][0]["measures"]["map"]["bca95"].clone()
    };
    assert_eq!(bca(&["--resamples", "500"]), bca(&["--resamples", "500"]));
    assert_ne!(
        bca(&["--resamples", "500"]),
        bca(&["--resamples", "500", "--seed", "2"])
    );
    assert_ne!(bca(&["--resamples", "500"]), bca(&["--resamples", "501"]));
}

/// Calls with a wrong first file, and expects one message on stderr that says all of `expected`.
fn refused(content: &[u8], expected: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let (wrong, right) = (
        folder.path().join("wrong.txt"),
        folder.path().join("right.txt"),
    );
    let report = folder.path().join("report.json");
    fs::write(&wrong, content).expect("a file");
    fs::write(&right, "P_5 1 0.5\nP_5 2 0.5\n").expect("a file");
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    let arguments = [
        "--scores",
        &path(&wrong),
        "--scores",
        &path(&right),
        "--format",
        "json",
        "--output",
        &path(&report),
    ];
    let output = rankgauge(&arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in expected {
        assert!(said.contains(part), "{said} lacks {part}");
    }
    assert!(output.stdout.is_empty());
    let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(left.len(), 2, "nothing but the inputs is left: {left:?}");
}

#[test]
fn wrong_files_are_refused_by_line_and_leave_no_report() {
    refused(b"P_5 1 0.5\nP_5 2\n", &["wrong.txt:2: 2 columns"]);
    refused(b"P_5 1 0.5\n\nP_5 2 0.5 x\n", &["wrong.txt:3: 4 columns"]);
    refused(
        b"P_5 1 0.5\nP_5 2 high\n",
        &["wrong.txt:2: the score `high` is not a finite number"],
    );
    for number in ["nan", "-inf", "1e400", "0,5", "0x1p3"] {
        let line = format!("P_5 1 {number}\n");
        refused(line.as_bytes(), &["wrong.txt:1: the score", number]);
    }
    refused(
        "P_5 질의 0.5\nmap 질의 1\nP_5 질의 0.5\n".as_bytes(),
        &["wrong.txt:3: `P_5` of query `질의` already stands on line 1"],
    );
    refused(b"", &["wrong.txt: the file is empty"]);
    refused(b"\n \t\n", &["wrong.txt: the file is empty"]);
    refused(
        b"runid all x\nP_5 all 0.5\n",
        &["wrong.txt: there are only `all` lines"],
    );
    refused(
        b"P_5 1 0.5\nP_5 \xff\xfe 0.5\n",
        &["wrong.txt:2: not UTF-8"],
    );
    refused(&[0, 159, 146, 150], &["wrong.txt:1: not UTF-8"]);
    refused(
        &vec![b'x'; 1 << 20],
        &["wrong.txt:1: the line is longer than"],
    );
    refused(&vec![0; 1 << 20], &["wrong.txt:1: the line is longer than"]);
    refused(
        b"map 1 0.5\n",
        &[
            "`wrong` and `right` have no measure in common",
            "`map`",
            "`P_5`",
        ],
    );
    refused(
        b"P_5 7 0.5\n",
        &["`wrong` and `right` have no query in common", "`7`", "`1`"],
    );
}

#[test]
fn wrong_arguments_are_refused_with_what_to_do() {
    let file = data("V1.eval");
    let file = file.to_str().expect("a path");
    let pair = ["--scores", file, "--scores", file];
    let cases: [(&[&str], &str); 13] = [
        (&[], "--gold GOLD --run A --run B, or --scores A --scores B"),
        (&["--scores", file], "two or more runs are needed, 1 given"),
        (
            &["--scores", file, "--scores", "/nowhere/x"],
            "/nowhere/x: cannot be read",
        ),
        (&["--scores", file, "--scores", "/"], "/: cannot be read"),
        (
            &[&pair[..], &["--measures", "P@5"]].concat(),
            "cannot be used with",
        ),
        (
            &["--gold", file, "--run", file],
            "two or more runs are needed, 1 given",
        ),
        (
            &[&pair[..], &["--interaction", "V1,V2"]].concat(),
            "four runs are expected",
        ),
        (
            &[&pair[..], &["--interaction", "V1,V2,V3,V9"]].concat(),
            "names `V2`",
        ),
        (
            &[&pair[..], &["--interaction", "V1,V1,V1,V1"]].concat(),
            "names `V1` twice",
        ),
        (&[&pair[..], &["--alpha", "5"]].concat(), "between 0 and 1"),
        (
            &[&pair[..], &["--resamples", "1"]].concat(),
            "100..=1000000",
        ),
        (
            &[&pair[..], &["--by", "difficulty"]].concat(),
            "cannot be used with",
        ),
        (
            &[&pair[..], &["--output", "/nowhere/x/y"]].concat(),
            "its folder does not exist",
        ),
    ];
    for (arguments, expected) in cases {
        let output = rankgauge(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_report_replaces_the_old_one_as_a_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.md");
    fs::write(&report, "old").expect("a file");
    let path = report.to_str().expect("a path");
    let output = four(&["--format", "markdown", "--output", path]);
    assert!(printed(&output).is_empty());
    // Who writes to a file reads what to keep in mind all the same.
    assert!(text(&output.stderr).contains("rankgauge: warning: measures of `V2`"));
    let expected = fs::read_to_string(data("expected.md")).expect("expected.md");
    assert_eq!(fs::read_to_string(&report).expect("the report"), expected);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    let output = four(&["--format", "csv", "--output", "/dev/stdout"]);
    assert!(printed(&output).starts_with("comparison,a,b,measure"));
}

#[test]
fn lines_are_read_as_trec_eval_prints_them() {
    let lines = "\u{feff}runid                 \tall\tbm25\nmap                   \tq:1\t0.1234\r\n\n\
                 num_q                 \tall\t2\nrunid q:1 bm25\nmap\tq:2\t-1.5e-1\nP_5 q:2 1";
    let run = RunScores::read("bm25", "bm25.eval", lines.as_bytes()).expect("scores");
    assert_eq!(run.measures, ["map", "P_5"]);
    let expected = BTreeMap::from([
        ("q:1".to_owned(), vec![Some(0.1234), None]),
        ("q:2".to_owned(), vec![Some(-0.15), Some(1.0)]),
    ]);
    assert_eq!(run.queries, expected);
}

#[test]
fn an_endless_line_is_refused_without_being_kept() {
    let endless = std::io::BufReader::new(std::io::repeat(b'x'));
    let wrong = RunScores::read("x", "x", endless).expect_err("a line without an end");
    assert!(matches!(wrong.problem, ScoreFileProblem::LongLine));
    assert_eq!(wrong.line, Some(1));
}

#[test]
fn every_run_is_compared_with_the_first_and_with_the_one_before() {
    let runs = ["V1", "V2", "V3"].map(|name| run(name, &["P@5"], &[("1", &[0.1]), ("2", &[0.3])]));
    let found = compare(runs.to_vec(), &quick()).expect("a comparison");
    let names = |pairs: &[rankgauge::compare::Pair]| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|pair| (pair.a.clone(), pair.b.clone()))
            .collect()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        names(&found.comparisons),
        [pair("V1", "V2"), pair("V1", "V3")]
    );
    assert_eq!(names(&found.ablation), [pair("V1", "V2"), pair("V2", "V3")]);
    assert_eq!(found.ablation[0], found.comparisons[0]);
}

#[test]
fn two_runs_have_no_ablation() {
    let runs = ["A", "B"].map(|name| run(name, &["P@5"], &[("1", &[0.1])]));
    let found = compare(runs.to_vec(), &quick()).expect("a comparison");
    assert_eq!(found.ablation, Vec::new());
}

fn with_interaction() -> Options {
    Options {
        interaction: Some(["base", "a", "b", "both"].map(str::to_owned)),
        ..quick()
    }
}

#[test]
fn the_interaction_is_the_combined_effect_against_the_sum_of_the_single_ones() {
    let of = |name: &str, scores: [f64; 3]| {
        let [one, two, three] = scores;
        run(
            name,
            &["AP"],
            &[("1", &[one]), ("2", &[two]), ("3", &[three])],
        )
    };
    let runs = vec![
        of("base", [0.2, 0.3, 0.1]),
        of("a", [0.3, 0.3, 0.2]),
        of("b", [0.25, 0.4, 0.1]),
        of("both", [0.5, 0.5, 0.3]),
    ];
    let found = compare(runs, &with_interaction()).expect("a comparison");
    let interaction = found.interaction.expect("an interaction");
    assert_eq!(interaction.common, 3);
    let of = &interaction.measures[0];
    let near = |found: Option<f64>, expected: f64| {
        let found = found.expect("a number");
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    };
    near(of.effect_a, 0.2 / 3.0);
    near(of.effect_b, 0.05);
    near(of.sum, 0.35 / 3.0);
    near(of.combined, 0.7 / 3.0);
    // Per query: 0.3 - 0.15, 0.2 - 0.1, 0.2 - 0.1.
    near(of.test.paired.difference, 0.35 / 3.0);
    near(of.test.paired.t, 7.0);
}

#[test]
fn effects_that_add_up_have_no_interaction() {
    let of = |name: &str, more: f64| {
        let queries: Vec<(String, Vec<Option<f64>>)> = (1..=30)
            .map(|i| (i.to_string(), vec![Some(f64::from(i) / 70.0 + more)]))
            .collect();
        RunScores {
            name: name.to_owned(),
            measures: vec!["AP".to_owned()],
            queries: queries.into_iter().collect(),
        }
    };
    let runs = vec![
        of("base", 0.0),
        of("a", 0.1),
        of("b", 0.2),
        of("both", 0.1 + 0.2),
    ];
    let found = compare(runs, &with_interaction()).expect("a comparison");
    let interaction = found.interaction.as_ref().expect("an interaction");
    assert_eq!(interaction.measures[0].test.verdict, Verdict::Identical);
    assert!(write(&found, Format::Text).contains("equals the sum"));
}

#[test]
fn what_is_less_when_better_is_judged_so() {
    let of = |name: &str, more: f64| {
        let queries = (1..=40).map(|i| {
            let noise = f64::from(i * 7 % 11) / 100.0;
            let scores = vec![
                Some(1.0 + noise * more),
                Some(1.0 + noise * more),
                Some(noise * more),
            ];
            (i.to_string(), scores)
        });
        RunScores {
            name: name.to_owned(),
            measures: ["FP@10", "Hops(rne)", "AP"].map(str::to_owned).to_vec(),
            queries: queries.collect(),
        }
    };
    let found = compare(vec![of("A", 1.0), of("B", 3.0)], &quick()).expect("a comparison");
    let verdicts = found.comparisons[0].measures.iter().map(|of| of.verdict);
    let expected = [Verdict::Worse, Verdict::Higher, Verdict::Better];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    let best: Vec<&[usize]> = found.best[0]
        .measures
        .iter()
        .map(|of| of.best.as_slice())
        .collect();
    assert_eq!(best, [&[0][..], &[], &[1]]);
}

#[test]
fn the_best_run_of_a_slice_is_named_with_whoever_ties() {
    let labels: Labels = [
        ("1", "쉬움"),
        ("2", "쉬움"),
        ("3", "어려움"),
        ("4", "어려움"),
    ]
    .into_iter()
    .map(|(query, value)| {
        let labels = BTreeMap::from([("difficulty".to_owned(), value.to_owned())]);
        (query.to_owned(), labels)
    })
    .collect();
    let of = |name, scores: [f64; 5]| {
        let [one, two, three, four, five] = scores;
        let queries: [(&str, &[f64]); 5] = [
            ("1", &[one]),
            ("2", &[two]),
            ("3", &[three]),
            ("4", &[four]),
            ("5", &[five]),
        ];
        run(name, &["P@5"], &queries)
    };
    let runs = vec![
        of("A", [0.1, 0.2, 0.8, 0.8, 0.0]),
        of("B", [0.2, 0.1, 0.2, 0.2, 0.0]),
        of("C", [0.0, 0.0, 0.4, 0.4, 0.0]),
    ];
    let options = Options {
        by: vec!["difficulty".to_owned()],
        labels,
        ..quick()
    };
    let found = compare(runs.clone(), &options).expect("a comparison");
    let named: Vec<(&str, &str, usize, &[usize])> = found
        .best
        .iter()
        .map(|it| {
            (
                it.slice.as_str(),
                it.value.as_str(),
                it.n,
                it.measures[0].best.as_slice(),
            )
        })
        .collect();
    let expected: [(&str, &str, usize, &[usize]); 3] = [
        ("all", "", 5, &[0]),
        ("difficulty", "쉬움", 2, &[0, 1]),
        ("difficulty", "어려움", 2, &[0]),
    ];
    assert_eq!(named, expected);
    let text = write(&found, Format::Text);
    assert!(text.contains("difficulty=쉬움"), "{text}");
    assert!(text.contains("A, B"), "{text}");

    let options = Options {
        by: vec!["type".to_owned()],
        ..options
    };
    let known = vec!["difficulty".to_owned()];
    let name = "type".to_owned();
    assert_eq!(
        compare(runs, &options),
        Err(CompareError::UnknownLabel { name, known })
    );
}

/// A comparison with everything that only a gold set makes possible.
fn with_errors() -> Comparison {
    let of = |name: &str, more: f64| {
        run(
            name,
            &["P@5"],
            &[
                ("q1", &[0.2 + more]),
                ("q2", &[0.6]),
                ("q3", &[0.2]),
                ("q4", &[0.0]),
            ],
        )
    };
    let runs = vec![of("A", 0.0), of("B", 0.2)];
    let errors = ErrorAnalysis::of(&runs[1], "P@5", 5, 2, |query| QueryErrors {
        text: (query == "q4").then(|| "전세 | <b>보증금</b>\u{1b}[2J".to_owned()),
        false_positives: vec![
            FalsePositive {
                rank: 1,
                document: "민법::제3조".to_owned(),
                grade: Some(0.0),
            },
            FalsePositive {
                rank: 3,
                document: "상법::제9조".to_owned(),
                grade: None,
            },
        ],
        missed: (1..=12)
            .map(|i| Missed {
                document: format!("doc-{i}"),
                grade: 2.0,
                rank: (i == 1).then_some(17),
            })
            .collect(),
    });
    let mut found = compare(runs, &quick()).expect("a comparison");
    found.gold = Some(GoldFacts {
        version: "v1".to_owned(),
        sha256: "00ff".to_owned(),
        queries: 4,
        judgements: 40,
    });
    found.errors = errors;
    found
}

#[test]
fn the_worst_queries_show_what_they_got_wrong() {
    let text = write(&with_errors(), Format::Text);
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "Worst queries of B by P@5 ------------------------- Of the first 5 results: \
                    which are not relevant, and which relevant documents are not among them. \
                    q4 \"전세 | <b>보증금</b>\u{fffd}[2J\": P@5 0.0000 \
                    - not relevant: 1. 민법::제3조 (grade 0), 3. 상법::제9조 (not judged) \
                    - missed: doc-1 (grade 2, rank 17), doc-2 (grade 2, not found), ";
    assert!(flowing.contains(expected), "{text}");
    let cut = "doc-10 (grade 2, not found) and 2 more";
    assert!(flowing.contains(cut), "{text}");
    assert!(text.contains("q3: P@5 0.2000"), "{text}");
    assert!(!text.contains("q2"), "{text}");
}

#[test]
fn errors_and_gold_stand_in_the_json() {
    let found: Value = serde_json::from_str(&write(&with_errors(), Format::Json)).expect("JSON");
    assert_eq!(found["gold"]["version"], "v1");
    let worst = &found["errors"]["queries"][0];
    assert_eq!(
        (&worst["query"], &worst["score"]),
        (&"q4".into(), &0.0.into())
    );
    assert_eq!(worst["false_positives"][1]["grade"], Value::Null);
    assert_eq!(worst["missed"].as_array().map(Vec::len), Some(12));
    assert_eq!(worst["missed"][0]["rank"], 17);
}

#[test]
fn markdown_takes_no_markup_from_data() {
    let text = write(&with_errors(), Format::Markdown);
    assert!(
        text.contains("전세 \\| \\<b\\>보증금\\</b\\>\u{fffd}\\[2J"),
        "{text}"
    );
    // Every row of a table has as many cells as its header.
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut width = None;
    for line in text.lines() {
        if line.starts_with('|') {
            assert_eq!(bars(line), *width.get_or_insert(bars(line)), "{line}");
        } else {
            width = None;
        }
    }
}

/// A gold set and two runs of it in a folder.
fn law_library(folder: &Path) -> [String; 3] {
    let gold = r#"{"version":"v1","queries":[
        {"query_id":"q1","query":"전세 보증금","query_type":"keyword","ground_truth":{"민법::제3조":3, "민법::제4조":1, "상법::제1조":0}},
        {"query_id":"q2","query":"임대차","query_type":"complex","ground_truth":{"민법::제9조":2}},
        {"query_id":"q3","query":"계약 해지","query_type":"complex","ground_truth":{"민법::제5조":2, "민법::제6조":2}}]}"#;
    let before = "q1 Q0 상법::제1조 1 9 x\nq1 Q0 민법::제3조 2 8 x\nq2 Q0 민법::제9조 1 9 x\n\
                  q3 Q0 민법::제7조 1 9 x\nq3 Q0 민법::제8조 2 8 x\nq3 Q0 민법::제6조 3 7 x\n";
    let after = "q1 Q0 민법::제3조 1 9 x\nq1 Q0 민법::제4조 2 8 x\nq2 Q0 민법::제9조 1 9 x\n\
                 q3 Q0 민법::제7조 1 9 x\nq3 Q0 민법::제5조 2 8 x\nq3 Q0 민법::제6조 3 7 x\n";
    [
        ("gold.json", gold),
        ("before.run", before),
        ("after.run", after),
    ]
    .map(|(name, content)| {
        let path = folder.join(name);
        fs::write(&path, content).expect("a file");
        path.to_str().expect("a path").to_owned()
    })
}

#[test]
fn runs_are_judged_against_a_gold_set_and_their_mistakes_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let [gold, before, after] = law_library(folder.path());
    let found = json(&rankgauge(&[
        "--gold",
        &gold,
        "--run",
        &before,
        "--run",
        &after,
        "--measures",
        "P@2 RR",
        "--by",
        "query_type",
        "--worst",
        "1",
        "--format",
        "json",
    ]));
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

    let found = json(&rankgauge(&[
        "--gold",
        &gold,
        "--run",
        &after,
        "--run",
        &before,
        "--measures",
        "P@2",
        "--worst",
        "1",
        "--format",
        "json",
    ]));
    let worst = &found["errors"]["queries"][0];
    assert_eq!(worst["query"], "q3");
    let false_positives = serde_json::json!([
        {"rank": 1, "document": "민법::제7조", "grade": null},
        {"rank": 2, "document": "민법::제8조", "grade": null},
    ]);
    assert_eq!(worst["false_positives"], false_positives);
    let missed = serde_json::json!([
        {"document": "민법::제5조", "grade": 2.0, "rank": null},
        {"document": "민법::제6조", "grade": 2.0, "rank": 3},
    ]);
    assert_eq!(worst["missed"], missed);
}

#[test]
fn the_gold_set_and_the_runs_are_read_with_the_same_care() {
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
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {said}");
        assert!(said.contains(expected), "{more:?}: {said}");
        assert!(output.stdout.is_empty(), "{more:?}");
    }
}

#[test]
fn the_depth_of_the_error_analysis_is_the_measures() {
    assert_eq!(ErrorAnalysis::cutoff_of("P@5"), 5);
    assert_eq!(ErrorAnalysis::cutoff_of("nDCG(gain=exp)@20"), 20);
    assert_eq!(ErrorAnalysis::cutoff_of("AP"), 10);
    assert_eq!(ErrorAnalysis::cutoff_of("IPrec@0.1"), 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_order_of_queries_in_the_files_changes_nothing(
        scores in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 2..60)
            .prop_map(|scores| scores.into_iter().enumerate().collect::<Vec<_>>())
            .prop_flat_map(|lines| (Just(lines.clone()), Just(lines).prop_shuffle())),
    ) {
        let (straight, shuffled) = scores;
        let read = |name, lines: &[(usize, (f64, f64))], second: bool| {
            let lines = lines.iter().map(|(query, (a, b))| {
                format!("AP {query} {}\n", if second { b } else { a })
            });
            let lines: String = lines.collect();
            RunScores::read(name, name, lines.as_bytes()).expect("scores")
        };
        let runs = |lines: &[_]| vec![read("A", lines, false), read("B", lines, true)];
        prop_assert_eq!(
            compare(runs(&straight), &quick()),
            compare(runs(&shuffled), &quick())
        );
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let read = RunScores::read("x", "x", bytes.as_slice());
        prop_assert!(read.is_ok() || !read.expect_err("an error").to_string().is_empty());
    }
}
