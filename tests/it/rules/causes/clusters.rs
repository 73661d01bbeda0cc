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

/// Test of `promtool` in which the alert fires for two values of an external label.
fn test(cause: &Cause, waits_for: f64, label: &str, others: &str) -> String {
    let end = cause.start + waits_for + SLACK;
    let mut text = format!(
        "  - name: {} by {label}\n    interval: 1m\n    input_series:\n",
        cause.alert
    );
    for value in ["east", "west"] {
        for series in &cause.series {
            let mut samples = String::new();
            for minute in (0..).map(f64::from).take_while(|minute| *minute <= end) {
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
    writeln!(
        text,
        "    promql_expr_test:\n      - expr: count by ({label}) (max_over_time(ALERTS{{alertname=\"{}\", \
         alertstate=\"firing\"}}[{SLACK}m])) > bool 0\n        eval_time: {}s\n        exp_samples:\n          \
         - {{labels: '{{{label}=\"east\"}}', value: 1}}\n          \
         - {{labels: '{{{label}=\"west\"}}', value: 1}}",
        cause.alert,
        (end * 60.0).round(),
    )
    .expect("invariant: a string");
    text
}

/// Runs the tests of all alerts with the rules of a folder. Returns the failure.
fn failure(rules: &Path, label: &str, others: &str) -> Option<String> {
    let files: Vec<_> = test_files().iter().map(|path| read(path)).collect();
    let tests = files
        .iter()
        .flat_map(|file| mappings(file.as_mapping().expect("a mapping"), "tests"));
    let tests: Vec<&MarkedMappingNode> = tests.collect();
    let mut text = format!(
        "rule_files: {:?}\nevaluation_interval: 1m\ntests:\n",
        rule_files()
    );
    for alert in alerts().iter().filter(|alert| alert.name != ABSENT) {
        let waits_for = alert.waits_for.as_deref().map_or(0.0, minutes);
        let cause = Cause::of(alert, &tests);
        if cause.start <= MAX_MINUTES {
            text.push_str(&test(&cause, waits_for, label, others));
        }
    }
    promtool_tests::failure(&text, rules, Kept::OfTheAlert)
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
