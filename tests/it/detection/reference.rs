//! Equality with the numbers that `tests/detection/reference.py` computes from the formulas.

use std::process::Command;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rankgauge_core::detection::{FalseAlarms, SplitTest, log_threshold};
use serde_json::{Value, json};

use super::printed;
use crate::harness::command::fed;

/// Answers of the reference to each request.
fn reference(requests: &[Value]) -> Vec<Value> {
    let script = crate::repository("tests/detection/reference.py");
    let mut command = Command::new("python3");
    command.arg(script);
    let request = serde_json::to_string(requests).expect("JSON");
    let output = fed(command, &request);
    assert!(
        output.status.success(),
        "python3 (tests/setup.sh peers installs it) failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).expect("a list of answers");
    assert_eq!(answers.len(), requests.len());
    answers
}

fn numbers(answer: &Value) -> Vec<f64> {
    let list = answer.as_array().expect("a list");
    let numbers = list.iter().map(|number| number.as_f64().expect("a number"));
    numbers.collect()
}

/// Asserts equality within 1e-9, or within a relative 1e-12 for large numbers: floats have no more
/// digits.
#[track_caller]
fn assert_close(found: f64, expected: f64, what: &str) {
    let precision = 1e-9_f64.max(1e-12 * expected.abs());
    assert!(
        (found - expected).abs() <= precision,
        "{what}: {found} is not {expected}"
    );
}

/// Score of a stream, by its position.
type Score = fn(u32, &mut ChaCha8Rng) -> f64;

const LENGTH: u32 = 3000;

/// Streams of every kind, by name.
const STREAMS: [(&str, Score); 8] = [
    ("zeros", |_, _| 0.0),
    ("ones", |_, _| 1.0),
    ("halves", |_, _| 0.5),
    ("alternating", |place, _| f64::from(place % 2)),
    ("drifting", |place, _| {
        1.0 - f64::from(place) / f64::from(LENGTH)
    }),
    ("any", |_, chance| chance.random::<f64>()),
    // P@10: mostly high, some in the middle, some 0.
    ("precision", |_, chance| match chance.random::<f64>() {
        kind if kind < 0.1 => 0.0,
        kind if kind < 0.4 => (chance.random::<f64>() * 10.0).floor() / 10.0,
        _ => 1.0 - (chance.random::<f64>() * 4.0).floor() / 10.0,
    }),
    // RR that gets worse half way.
    ("reciprocal", |place, chance| {
        let worst = if place < LENGTH / 2 { 3.0 } else { 12.0 };
        1.0 / (1.0 + (chance.random::<f64>() * worst).floor())
    }),
];

/// Lines of a stream: with minutes in between, and with baselines for every line, some or none.
fn lines(score: Score, seed: u64, with_baseline: impl Fn(u32) -> bool) -> Vec<Value> {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut lines = Vec::new();
    for place in 0..LENGTH {
        let score = score(place, &mut chance);
        let baseline = 0.6 + 0.4 * chance.random::<f64>();
        lines.push(if with_baseline(place) {
            json!({"score": score, "baseline": baseline})
        } else {
            json!({"score": score})
        });
        if chance.random::<f64>() < 0.05 {
            lines.push(json!({"tick": true}));
        }
    }
    lines
}

/// Evidence of `backtest` after each score, and its last line.
fn backtested(flags: &[&str], lines: &[Value]) -> (Vec<f64>, Value) {
    let input: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let mut steps = Vec::new();
    let mut last = Value::Null;
    for (number, line) in (1_u64..).zip(printed(flags, &input.join("\n"))) {
        match line["log_evidence"].as_f64() {
            Some(log_evidence) => {
                assert_eq!(line["n"], number);
                steps.push(log_evidence);
            }
            None => last = line["summary"].clone(),
        }
    }
    (steps, last)
}

/// Asserts that both implementations agree on the same requests: (test, flags of the command,
/// arguments of the reference).
fn compare(cases: &[(&str, &[&str], Value)], with_baseline: impl Fn(u32) -> bool) {
    let mut runs = Vec::new();
    let mut requests = Vec::new();
    for (seed, (name, score)) in (1..).zip(STREAMS) {
        let lines = lines(score, seed, &with_baseline);
        for (test, flags, arguments) in cases {
            let mut request = json!({"kind": "stream", "test": test, "lines": lines});
            let request_fields = request.as_object_mut().expect("an object");
            request_fields.extend(arguments.as_object().expect("an object").clone());
            requests.push(request);
            let flags = [&["--test", *test], *flags].concat();
            runs.push((format!("{name} {flags:?}"), backtested(&flags, &lines)));
        }
    }
    for (answer, (name, (found, summary))) in reference(&requests).iter().zip(&runs) {
        let expected = numbers(answer);
        assert_eq!(found.len(), expected.len(), "{name}");
        for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_close(*found, *expected, &format!("{name}, score {}", place + 1));
        }
        let highest = expected.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let maximum = summary["maximum"]["log_evidence"]
            .as_f64()
            .expect("a maximum");
        assert_close(maximum, highest, name);
        let threshold = summary["threshold"].as_f64().expect("a threshold");
        let crossed = expected.iter().position(|evidence| *evidence >= threshold);
        assert_eq!(
            summary["crossed_at"].as_u64(),
            crossed.map(|at| at as u64 + 1),
            "{name}"
        );
        assert_eq!(summary["scores"], LENGTH, "{name}");
    }
}

#[test]
fn evidence_of_scores_without_baselines_matches_the_reference() {
    let cases: [(&str, &[&str], Value); 5] = [
        ("target", &["--m", "0.8"], json!({"m": 0.8})),
        ("target", &["--m", "1"], json!({"m": 1.0})),
        ("drop", &["--m", "0.75"], json!({"m": 0.75})),
        ("drop", &["--m", "0"], json!({"m": 0.0})),
        (
            "drop",
            &["--m", "0.9", "--clamp"],
            json!({"m": 0.9, "ceiling": (90.0 * 1440.0 * 200.0_f64).ln() + 3.0}),
        ),
    ];
    compare(&cases, |_| false);
}

#[test]
fn evidence_of_differences_from_baselines_matches_the_reference() {
    let cases: [(&str, &[&str], Value); 3] = [
        ("drop", &[], json!({})),
        ("drop", &["--epsilon", "0.2"], json!({"epsilon": 0.2})),
        ("target", &["--epsilon", "0.05"], json!({"epsilon": 0.05})),
    ];
    compare(&cases, |_| true);
}

#[test]
fn evidence_of_scores_with_and_without_baselines_matches_the_reference() {
    let flags: &[&str] = &["--m", "0.7", "--epsilon", "0.03"];
    let arguments = json!({"m": 0.7, "epsilon": 0.03});
    compare(
        &[
            ("drop", flags, arguments.clone()),
            ("target", flags, arguments),
        ],
        |place| place % 3 == 0,
    );
}

#[test]
fn the_evidence_against_a_split_matches_the_reference() {
    let cases: [(&[u64], &[f64]); 5] = [
        (&[0, 0], &[0.5, 0.5]),
        (&[500, 500], &[0.5, 0.5]),
        (&[5200, 4800], &[0.5, 0.5]),
        (&[100, 1000, 30], &[0.1, 0.8, 0.1]),
        (&[7, 0, 3, 1], &[0.25, 0.25, 0.25, 0.25]),
    ];
    let requests: Vec<Value> = cases
        .iter()
        .map(|(counts, shares)| json!({"kind": "split", "counts": counts, "shares": shares}))
        .collect();
    for ((counts, shares), answer) in cases.iter().zip(reference(&requests)) {
        let found = SplitTest::log_evidence_of(counts, shares).expect("a right split");
        assert_close(found, answer.as_f64().expect("a number"), "split");
        // Percentages are normalised to their sum.
        let percent: Vec<f64> = shares.iter().map(|share| share * 100.0).collect();
        let same = SplitTest::log_evidence_of(counts, &percent).expect("a right split");
        assert_close(same, found, "split in per cent");
    }
}

#[test]
fn thresholds_follow_from_the_accepted_false_alarms() {
    let usual = FalseAlarms::default();
    assert_close(
        usual.log_threshold(),
        17.070_525_429_448_35,
        "90 x 1440 x 50 x 4",
    );
    assert_close(usual.minutes(), 25_920_000.0, "90 x 1440 x 50 x 4");
    assert_close(log_threshold(0.001), 6.907_755_278_982_137, "ln 1000");
    let other = FalseAlarms {
        per_quarter: 0.5,
        series: 7,
        replicas: 1,
    };
    let request = json!({"kind": "threshold", "false_alarms": 0.5, "series": 7, "replicas": 1});
    let answer = reference(&[request])[0].as_f64().expect("a number");
    assert_close(other.log_threshold(), answer, "another threshold");
    assert_close(other.ceiling(), answer + 3.0, "its ceiling");
}
