//! Reported difference between two runs.

use std::fs;

use serde_json::Value;

use super::{data, four, rankgauge, written};
use crate::harness::command::{json, printed};

#[test]
fn differences_are_second_minus_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [
        ("a", "P_5 1 0.2\nP_5 2 0.4\nP_5 all 0.9\n"),
        ("b", "P_5\t2\t0.6\r\nP_5\t1\t0.6\r\nP_5\t3\t1.0\r\n"),
    ];
    let [a, b] = written(folder.path(), files);
    let found = json(&rankgauge(&format!(
        "--scores {a} --scores {b} --format json"
    )));
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
fn a_run_compared_with_itself_is_reported_as_identical() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("V2.eval");
    fs::copy(data("V2.eval"), &copy).expect("a copy");
    let (file, copy) = (data("V2.eval"), copy.to_str().expect("a path").to_owned());
    let file = file.to_str().expect("a path");
    let twice = ["--scores", file, "--scores", &copy];
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
fn undefined_statistics_are_null() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [
        ("a", "P_5 1 0.25\nP_5 2 0.5\nmap 1 0\nrbp 1 0\n"),
        ("b", "P_5 1 0.5\nP_5 2 0.75\nmap 1 1\nrbp 2 1\n"),
    ];
    let [a, b] = written(folder.path(), files);
    let found = json(&rankgauge(&format!(
        "--scores {a} --scores {b} --format json"
    )));
    let constant = &found["measures"]["P_5"];
    for key in ["t", "p", "d_z"] {
        assert_eq!(constant[key], Value::Null, "{key}");
    }
    assert_eq!(constant["p_permutation"], 0.5);
    assert_eq!(constant["ci95"], serde_json::json!([0.25, 0.25]));
    let single = &found["measures"]["map"];
    assert_eq!(single["difference"], 1.0);
    assert_eq!(
        (&single["p"], &single["p_holm"]),
        (&Value::Null, &Value::Null)
    );
    let none = &found["measures"]["rbp"];
    assert_eq!((&none["n"], &none["a"]), (&Value::from(0), &Value::Null));
    // The text report states them in words.
    let said = printed(&rankgauge(&format!("--scores {a} --scores {b}")));
    assert!(said.contains("not tested"), "{said}");
    assert!(said.contains("share only 2 queries"), "{said}");
}

#[test]
fn the_seed_and_the_number_of_resamples_take_effect() {
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
