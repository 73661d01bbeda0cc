//! Every alert fires for each of two clusters with the same namespace, job and instances, in a Prometheus above
//! them: one that federates, Thanos or Mimir. The clusters differ by an external label.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::thread;

use marked_yaml::types::MarkedMappingNode;

use super::super::promtool_tests::{self, Kept};
use super::super::{alerts, mappings, read, rule_files, test_files};
use super::scrapes::{MAX_MINUTES, SLACK};
use super::{ABSENT, Cause, minutes};
use crate::dashboards::folder;

/// Labels that a federation adds to those of the Prometheus operator. Thanos and Mimir remove them.
const FEDERATED: &str = "prometheus=\"monitoring/k8s\",prometheus_replica=\"prometheus-0\",";
/// Labels beside that of the cluster in Thanos and Mimir.
const DEDUPLICATED: &str = "";

/// Minutes between two samples, and between two evaluations: of causes that take hours, and of those that take days.
const INTERVALS: [(f64, f64); 2] = [(1.0, 1.0), (2.0, 5.0)];

/// Test of `promtool` in which the alert fires for two values of an external label.
fn test(cause: &Cause, waits_for: f64, interval: f64, label: &str, others: &str) -> String {
    let end = cause.start + waits_for + SLACK;
    let mut text = format!(
        "  - name: {} by {label}\n    interval: {interval}m\n    input_series:\n",
        cause.alert
    );
    for value in ["east", "west"] {
        for series in &cause.series {
            let mut samples = String::new();
            let minutes = (0..).map(|sample| f64::from(sample) * interval);
            for minute in minutes.take_while(|minute| *minute <= end) {
                match series.at(minute) {
                    Some(value) => write!(samples, "{value} "),
                    None => write!(samples, "_ "),
                }
                .expect("invariant: a string");
            }
            let name = series
                .name
                .replacen('{', &format!("{{{label}=\"{value}\",{others}"), 1);
            writeln!(
                text,
                "      - series: '{name}'\n        values: '{samples}'"
            )
            .expect("invariant: a string");
        }
    }
    text + &expected(&cause.alert, label, end)
}

/// Targets of two of three clusters are gone: without any, one alert has no labels.
fn absence(label: &str, others: &str) -> String {
    let end = 11.0 + SLACK;
    let mut text = format!("  - name: {ABSENT} by {label}\n    interval: 1m\n    input_series:\n");
    for (value, samples) in [
        ("east", "1x1 stale"),
        ("west", "1x1 stale"),
        ("north", "1x40"),
    ] {
        writeln!(
            text,
            "      - series: 'up{{{label}=\"{value}\",{others}job=\"rankgauge\",instance=\"a\"}}'\n        values: \
             '{samples}'"
        )
        .expect("invariant: a string");
    }
    text + &expected(ABSENT, label, end)
}

/// The alert has fired for both values of the label.
fn expected(alert: &str, label: &str, end: f64) -> String {
    let mut text = String::new();
    writeln!(
        text,
        "    promql_expr_test:\n      - expr: count by ({label}) (max_over_time(ALERTS{{alertname=\"{alert}\", \
         alertstate=\"firing\"}}[{SLACK}m])) > bool 0\n        eval_time: {}s\n        exp_samples:\n          \
         - {{labels: '{{{label}=\"east\"}}', value: 1}}\n          \
         - {{labels: '{{{label}=\"west\"}}', value: 1}}",
        (end * 60.0).round(),
    )
    .expect("invariant: a string");
    text
}

/// Runs the tests of all alerts with the rules of a folder. Returns the failures.
fn failure(rules: &Path, label: &str, others: &str) -> Option<String> {
    let files: Vec<_> = test_files().iter().map(|path| read(path)).collect();
    let tests = files
        .iter()
        .flat_map(|file| mappings(file.as_mapping().expect("a mapping"), "tests"));
    let tests: Vec<&MarkedMappingNode> = tests.collect();
    let mut written = INTERVALS.map(|(_, evaluation)| {
        format!(
            "rule_files: {:?}\nevaluation_interval: {evaluation}m\ntests:\n",
            rule_files()
        )
    });
    written[0].push_str(&absence(label, others));
    for alert in alerts().iter().filter(|alert| alert.name != ABSENT) {
        let waits_for = alert.waits_for.as_deref().map_or(0.0, minutes);
        let cause = Cause::of(alert, &tests);
        let place = usize::from(cause.start > MAX_MINUTES);
        written[place].push_str(&test(&cause, waits_for, INTERVALS[place].0, label, others));
    }
    let failures = written.map(|text| promtool_tests::failure(&text, rules, Kept::Asserted));
    let failures: Vec<String> = failures.into_iter().flatten().collect();
    (!failures.is_empty()).then(|| failures.join("\n"))
}

#[test]
fn every_alert_fires_for_each_of_two_clusters_and_names_it() {
    let shipped = folder("deploy/prometheus");
    // docs/operations.md: rules for another external label.
    let changed = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    fs::create_dir(changed.path().join("rules")).expect("a folder");
    for file in rule_files() {
        let text = fs::read_to_string(shipped.join(&file)).expect("rules");
        let text = text.replace("cluster, namespace, job", "region, cluster, namespace, job");
        fs::write(changed.path().join(&file), text).expect("a file");
    }
    let failures: Vec<String> = thread::scope(|scope| {
        let runs = [
            (shipped.as_path(), "cluster", FEDERATED),
            (changed.path(), "region", DEDUPLICATED),
        ];
        let runs =
            runs.map(|(rules, label, others)| scope.spawn(move || failure(rules, label, others)));
        runs.into_iter()
            .filter_map(|run| run.join().expect("promtool runs"))
            .collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
