//! Equality with the reference implementation on dependent traffic, `tests/detection/traffic_sim.py`.
//! `tests/detection/golden.py` runs it and writes the numbers.

use std::path::Path;

use rankgauge_core::detection::{
    BaselineRules, Baselines, BlockTest, DropTest, Hypothesis, against_baseline, minute_of,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::backtest;

/// Stream of searches with the numbers of the reference.
#[derive(Deserialize)]
struct Golden {
    name: String,
    /// Differences of the event times in milliseconds.
    ms: Vec<i64>,
    queries: Vec<u32>,
    /// Scores in units of 0.0001.
    scores: Vec<u32>,
    targets: Vec<GoldenTarget>,
    drops: Vec<GoldenDrop>,
}

#[derive(Deserialize)]
struct GoldenTarget {
    m: f64,
    block_seconds: i64,
    /// Places of the searches that closed a block.
    closed_by: Vec<usize>,
    /// Evidence after each of them.
    log_evidence: Vec<f64>,
    alarm: Option<u64>,
}

#[derive(Deserialize)]
struct GoldenDrop {
    window: i64,
    /// Numbers of searches after which the evidence is known.
    after: Vec<usize>,
    log_evidence: Vec<f64>,
    alarm: Option<u64>,
}

struct Search {
    ts: i64,
    query: u32,
    score: f64,
}

impl Golden {
    fn searches(&self) -> Vec<Search> {
        let mut ts = 0;
        let both = self.ms.iter().zip(&self.queries).zip(&self.scores);
        both.map(|((passed, query), units)| {
            ts += passed;
            Search {
                ts,
                query: *query,
                score: f64::from(*units) / 10_000.0,
            }
        })
        .collect()
    }
}

fn golden() -> Vec<Golden> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/detection/golden.json");
    let text = std::fs::read_to_string(path).expect("the golden file");
    serde_json::from_str(&text).expect("the form of the golden file")
}

#[track_caller]
fn assert_close(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() <= 1e-9,
        "{what}: {found} is not {expected}"
    );
}

#[test]
fn the_target_test_matches_the_reference() {
    for golden in golden() {
        let searches = golden.searches();
        for expected in &golden.targets {
            let name = format!("{}, m {}", golden.name, expected.m);
            // The evidence for a mean follows from the sums around any other.
            for (pivot, precision) in [(expected.m, 1e-9), (0.5, 1e-7)] {
                let mut test = BlockTest::new(pivot);
                let mut closed = Vec::new();
                for (place, search) in searches.iter().enumerate() {
                    if test.add(search.ts, search.score, expected.block_seconds * 1000) {
                        closed.push((place, test.log_evidence(expected.m)));
                    }
                }
                let places: Vec<usize> = closed.iter().map(|(place, _)| *place).collect();
                assert_eq!(places, expected.closed_by, "{name}");
                for ((place, found), expected) in closed.iter().zip(&expected.log_evidence) {
                    assert!(
                        (found - expected).abs() <= precision,
                        "{name}, pivot {pivot}, search {place}: {found} is not {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_drop_test_matches_the_reference() {
    let tolerance = Hypothesis::dropped_at_most(0.01).expect("a tolerance");
    let ceiling = (90.0 * 1440.0 * 200.0_f64).ln() + 3.0;
    for golden in golden() {
        for expected in &golden.drops {
            let rules = BaselineRules {
                repeat_window: expected.window,
                max_scores: 100,
            };
            let mut baselines: Baselines<u32> = Baselines::default();
            let mut test = DropTest::default();
            let mut after = Vec::new();
            for (number, search) in (1..).zip(golden.searches()) {
                let minute = minute_of(search.ts);
                let score = (search.score, minute);
                let baseline = baselines.add(&search.query, |query| *query, score, rules);
                let difference = baseline.map(|it| against_baseline(search.score, it));
                test.add(minute, difference, tolerance, ceiling);
                if expected.after.contains(&number) {
                    after.push(test.log_evidence());
                }
            }
            assert_eq!(after.len(), expected.log_evidence.len());
            for ((number, found), expected) in
                expected.after.iter().zip(after).zip(&expected.log_evidence)
            {
                assert_close(found, *expected, &format!("{}, {number}", golden.name));
            }
        }
    }
}

/// Output of `backtest` for the searches of a stream: evidence after each, and the summary.
fn backtested(flags: &[&str], searches: &[Search]) -> (Vec<f64>, Value) {
    let lines: Vec<String> = searches
        .iter()
        .map(|it| {
            json!({"ts": it.ts, "query": it.query.to_string(), "score": it.score}).to_string()
        })
        .collect();
    let output = backtest(flags, &lines.join("\n"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{flags:?}: {said}");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let mut lines: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let summary = lines.pop().expect("a summary")["summary"].clone();
    let evidence = lines
        .iter()
        .map(|line| line["log_evidence"].as_f64().expect("a number"));
    (evidence.collect(), summary)
}

#[test]
fn backtest_runs_both_tests_as_the_reference_does() {
    for golden in golden() {
        let searches = golden.searches();
        for expected in &golden.targets {
            let burst = format!("{}s", expected.block_seconds / 5);
            let m = expected.m.to_string();
            let flags = ["--test", "target", "--m", &m, "--burst", &burst];
            let (evidence, summary) = backtested(&flags, &searches);
            let name = format!("{} {flags:?}", golden.name);
            for (place, expected) in expected.closed_by.iter().zip(&expected.log_evidence) {
                assert_close(evidence[*place], *expected, &name);
            }
            let number = expected.alarm.map(|place| place + 1);
            assert_eq!(summary["crossed_at"].as_u64(), number, "{name}");
            assert_eq!(summary["scores"], searches.len(), "{name}");
        }
        for expected in &golden.drops {
            let burst = format!("{}m", expected.window);
            let (evidence, summary) = backtested(&["--burst", &burst], &searches);
            let name = format!("{} --burst {burst}", golden.name);
            for (number, expected) in expected.after.iter().zip(&expected.log_evidence) {
                assert_close(evidence[number - 1], *expected, &name);
            }
            let number = expected.alarm.map(|place| place + 1);
            assert_eq!(summary["crossed_at"].as_u64(), number, "{name}");
            let last = searches.last().expect("searches").ts;
            let first = searches.first().expect("searches").ts;
            let minutes = last.div_euclid(60_000) - first.div_euclid(60_000);
            assert_eq!(summary["ticks"], minutes, "{name}");
        }
    }
}
