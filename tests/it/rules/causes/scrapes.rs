//! Every alert fires with scrape intervals from 15 seconds to two minutes, of which every fifth scrape fails.
//!
//! A scrape that fails makes all series of the target stale, and `up` is 0.

use std::fmt::Write as _;
use std::thread;

use marked_yaml::types::MarkedMappingNode;

use super::super::promtool_tests::{self, Kept};
use super::super::{alerts, mappings, read, rule_files, test_files};
use super::{Cause, SampleSeries, minutes};
use crate::dashboards::folder;

/// Scrape intervals in seconds.
const INTERVALS: [u32; 4] = [15, 30, 60, 120];

/// Minutes within which an alert fires after the time at which it fires without lost scrapes.
pub(super) const SLACK: f64 = 20.0;

/// Alerts whose cause takes longer, in minutes, have windows of hours or days. They are tested with the longest interval.
pub(super) const MAX_MINUTES: f64 = 600.0;

/// Values of a series at each scrape, in the notation of `promtool`.
fn values(series: &SampleSeries, seconds: u32, end: f64) -> String {
    let mut values = String::new();
    let mut scrape = 0_u32;
    loop {
        let minute = f64::from(scrape * seconds) / 60.0;
        if minute > end {
            return values;
        }
        let is_lost = scrape % 5 == 3;
        match series.at(minute) {
            Some(_) if is_lost && series.name.starts_with("up{") => values.push_str("0 "),
            Some(_) if is_lost => values.push_str("stale "),
            Some(value) => write!(values, "{value} ").expect("invariant: a string"),
            None => values.push_str("_ "),
        }
        scrape += 1;
    }
}

/// Test of `promtool`: the alert fires soon after the time at which it does without lost scrapes.
fn test(cause: &Cause, waits_for: f64, seconds: u32) -> String {
    let end = cause.start + waits_for + SLACK;
    let mut text = format!(
        "  - name: {} every {seconds} s\n    interval: {seconds}s\n    input_series:\n",
        cause.alert
    );
    for series in &cause.series {
        let values = values(series, seconds, end);
        writeln!(
            text,
            "      - series: '{}'\n        values: '{values}'",
            series.name
        )
        .expect("invariant: a string");
    }
    writeln!(
        text,
        "    promql_expr_test:\n      - expr: count(max_over_time(ALERTS{{alertname=\"{}\", \
         alertstate=\"firing\"}}[{SLACK}m])) > bool 0\n        eval_time: {}s\n        exp_samples: [{{labels: '{{}}', \
         value: 1}}]",
        cause.alert,
        (end * 60.0).round(),
    )
    .expect("invariant: a string");
    text
}

#[test]
fn every_alert_fires_at_any_scrape_interval_with_lost_scrapes() {
    let files: Vec<_> = test_files().iter().map(|path| read(path)).collect();
    let tests = files
        .iter()
        .flat_map(|file| mappings(file.as_mapping().expect("a mapping"), "tests"));
    let tests: Vec<&MarkedMappingNode> = tests.collect();
    let alerts = alerts();
    let causes: Vec<(Cause, f64)> = alerts
        .iter()
        .map(|alert| {
            let waits_for = alert.waits_for.as_deref().map_or(0.0, minutes);
            (Cause::of(alert, &tests), waits_for)
        })
        .collect();
    let rules = rule_files();
    let is_short = |cause: &Cause| cause.start <= MAX_MINUTES;
    let failures: Vec<String> = thread::scope(|scope| {
        let short = INTERVALS.map(|seconds| (seconds, "1m", true));
        let longest = INTERVALS[INTERVALS.len() - 1];
        let runs = short.into_iter().chain([(longest, "5m", false)]);
        let runs = runs.map(|(seconds, evaluation, short)| {
            let mut text =
                format!("rule_files: {rules:?}\nevaluation_interval: {evaluation}\ntests:\n");
            for (cause, waits_for) in causes.iter().filter(|(cause, _)| is_short(cause) == short) {
                text.push_str(&test(cause, *waits_for, seconds));
            }
            scope.spawn(move || {
                promtool_tests::failure(&text, &folder("deploy/prometheus"), Kept::Asserted)
            })
        });
        let runs: Vec<_> = runs.collect();
        runs.into_iter()
            .filter_map(|run| run.join().expect("promtool runs"))
            .collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
