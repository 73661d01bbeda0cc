//! Equality of the command with the reference implementation, `tests/detection/traffic_sim.py`
//! and `traffic_sim_3.py`.

use serde_json::{Value, json};

use super::printed;
use super::reference_streams::{Search, golden};

#[track_caller]
fn assert_close(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() <= 1e-9,
        "{what}: {found} is not {expected}"
    );
}

/// Time before the first search: whole weeks and blocks of every length after 1970. Small numbers
/// would be times in seconds.
const BEGINNING: i64 = 1_814_400_000_000;

/// Output of `backtest` for the searches of a stream: evidence after each, and the summary.
fn backtested(flags: &[&str], searches: &[Search]) -> (Vec<f64>, Value) {
    let lines: Vec<String> = searches
        .iter()
        .map(|it| {
            json!({"ts": BEGINNING + it.ts, "query": it.query.to_string(), "score": it.score})
                .to_string()
        })
        .collect();
    let mut lines = printed(flags, &lines.join("\n"));
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
        for expected in &golden.series {
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
