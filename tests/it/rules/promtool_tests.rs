//! Tests of `promtool`, each with those of its rules that its outcome depends on.
//!
//! A rule whose metrics have no samples in a test has no result, but promtool evaluates it at every time: these
//! evaluations take most of the time of a run with all rules. `make prometheus3` runs the shipped tests with all
//! rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use marked_yaml::parse_yaml;
use serde_json::{Value, json};

use super::{promtool, read};
use crate::config::json as json_of;
use crate::dashboards::promql::{Selection, selection};

/// Elements of a list, which may be missing.
fn elements<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    let text = value[key].as_str();
    text.unwrap_or_else(|| panic!("no text {key:?} in {value}"))
}

/// Rule files of a test file in `folder`.
fn rule_files(document: &Value, folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in elements(document, "rule_files") {
        let path = folder.join(path.as_str().expect("a path"));
        let name = path.file_name().and_then(|name| name.to_str());
        match name.and_then(|name| name.strip_prefix('*')) {
            None => files.push(path),
            Some(end) => {
                let parent = path.parent().expect("invariant: a file in a folder");
                let listed = fs::read_dir(parent).expect("a folder of rules");
                let listed = listed.map(|file| file.expect("a file").path());
                files.extend(listed.filter(|path| path.display().to_string().ends_with(end)));
            }
        }
    }
    files.sort();
    files
}

/// Groups of rules, and the selection of each rule.
fn groups(files: &[PathBuf]) -> Vec<(Value, Vec<Selection>)> {
    let documents = files
        .iter()
        .map(|path| json_of(&read(&path.display().to_string())));
    let groups =
        documents.flat_map(|document| elements(&document, "groups").cloned().collect::<Vec<_>>());
    let groups = groups.map(|group| {
        let selections = elements(&group, "rules").map(|rule| {
            let expr = text(rule, "expr");
            selection(expr).unwrap_or_else(|error| panic!("{expr}: {error}"))
        });
        let selections = selections.collect();
        (group, selections)
    });
    groups.collect()
}

/// Rules of a group with their selections.
fn rules(
    (group, selections): &(Value, Vec<Selection>),
) -> impl Iterator<Item = (&Value, &Selection)> {
    elements(group, "rules").zip(selections)
}

/// Rules of a test.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    /// All that can have a result with the samples of the test.
    WithResults,
    /// Of these, those that its assertions depend on.
    Asserted,
}

/// Names of the alerts and metrics in the assertions of a test.
fn asserted(test: &Value) -> BTreeSet<String> {
    let alerts = elements(test, "alert_rule_test").map(|case| text(case, "alertname").to_owned());
    let mut names: BTreeSet<String> = alerts.collect();
    for case in elements(test, "promql_expr_test") {
        let expr = text(case, "expr");
        let alerts = expr.split("alertname=\"").skip(1);
        let alerts = alerts.filter_map(|rest| rest.split('"').next());
        names.extend(alerts.map(str::to_owned));
        let selected = expr.matches("ALERTS").count();
        assert!(
            selected <= expr.matches("alertname=\"").count(),
            "{expr}: select ALERTS by alertname=\"…\": only alerts with a name here are evaluated"
        );
        let selection = selection(expr).unwrap_or_else(|error| panic!("{expr}: {error}"));
        names.extend(selection.metrics().map(str::to_owned));
    }
    names
}

/// Names of alerts and metrics with those that they depend on, directly or by recording rules.
fn depended_on(
    groups: &[(Value, Vec<Selection>)],
    mut names: BTreeSet<String>,
) -> BTreeSet<String> {
    loop {
        let count = names.len();
        let of_names = groups.iter().flat_map(rules);
        let of_names = of_names.filter(|(rule, _)| name(rule).is_some_and(|it| names.contains(it)));
        let selected: Vec<String> = of_names
            .flat_map(|(_, selection)| selection.metrics())
            .map(str::to_owned)
            .collect();
        names.extend(selected);
        if names.len() == count {
            return names;
        }
    }
}

/// Name of the alert or of the recorded metric.
fn name(rule: &Value) -> Option<&str> {
    rule["alert"].as_str().or(rule["record"].as_str())
}

/// Rules of a test, as a rules file.
fn kept_rules(groups: &[(Value, Vec<Selection>)], test: &Value, kept: Kept) -> Value {
    let mut metrics: BTreeSet<&str> = elements(test, "input_series")
        .map(|series| {
            let name = text(series, "series");
            name.split('{').next().unwrap_or(name)
        })
        .collect();
    loop {
        let count = metrics.len();
        let recorded: Vec<&str> = groups
            .iter()
            .flat_map(rules)
            .filter(|(_, selection)| selection.can_have_result(&metrics))
            .filter_map(|(rule, _)| rule["record"].as_str())
            .collect();
        metrics.extend(recorded);
        if metrics.len() == count {
            break;
        }
    }
    let wanted = match kept {
        Kept::WithResults => None,
        Kept::Asserted => Some(depended_on(groups, asserted(test))),
    };
    let is_wanted = |rule: &Value| {
        wanted
            .as_ref()
            .is_none_or(|wanted| name(rule).is_some_and(|it| wanted.contains(it)))
    };
    let kept = groups.iter().map(|it| {
        let rules = rules(it)
            .filter(|(rule, selection)| selection.can_have_result(&metrics) && is_wanted(rule));
        let rules: Vec<&Value> = rules.map(|(rule, _)| rule).collect();
        let mut group = it.0.clone();
        group["rules"] = json!(rules);
        group
    });
    json!({ "groups": kept.collect::<Vec<_>>() })
}

/// Runs a file for `promtool test rules`, whose paths are relative to `folder`, with rules for each test.
/// Returns its failures.
pub(super) fn failure(tests: &str, folder: &Path, kept: Kept) -> Option<String> {
    let tests = parse_yaml(0, tests).unwrap_or_else(|error| panic!("{error}: {tests}"));
    let document = json_of(&tests);
    let groups = groups(&rule_files(&document, folder));
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    // JSON is YAML.
    let write = |name: String, content: &Value| {
        let path = directory.path().join(name);
        fs::write(&path, content.to_string()).expect("a file");
        path.display().to_string()
    };
    let files = elements(&document, "tests")
        .enumerate()
        .map(|(number, test)| {
            let rules = write(
                format!("{number}.rules.yaml"),
                &kept_rules(&groups, test, kept),
            );
            let mut one = document.clone();
            one["rule_files"] = json!([rules]);
            one["tests"] = json!([test]);
            write(format!("{number}.test.yaml"), &one)
        });
    let files: Vec<String> = files.collect();
    assert!(!files.is_empty(), "no tests: {document}");
    let args = ["test", "rules"].into_iter();
    let args: Vec<&str> = args.chain(files.iter().map(String::as_str)).collect();
    promtool(&args).err()
}
