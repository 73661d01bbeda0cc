//! The Prometheus rules we ship: valid, tested both ways, explained in a runbook, and asking only
//! for what a sidecar exposes.

use std::fs;

use marked_yaml::types::MarkedMappingNode;
use marked_yaml::{Node, parse_yaml};

use crate::dashboards::promql::Series;
use crate::dashboards::{folder, run};

const RULES: &str = "rules/rankgauge.rules.yaml";
const RUNBOOKS: &str = "https://github.com/rankgauge/rankgauge/blob/main/docs/runbooks.md#";

/// `promtool`, in `deploy/prometheus`.
fn promtool(args: &[&str]) -> Result<String, String> {
    run(
        "promtool",
        args,
        &folder("deploy/prometheus"),
        "apt-get install prometheus",
    )
}

/// The files with promtool's tests, by path from `deploy/prometheus`.
fn test_files() -> Vec<String> {
    let files = fs::read_dir(folder("deploy/prometheus/tests")).expect("the tests' folder exists");
    let mut paths: Vec<String> = files
        .map(|file| file.expect("the folder can be listed").file_name())
        .map(|name| format!("tests/{}", name.to_string_lossy()))
        .collect();
    paths.sort();
    paths
}

fn read(path: &str) -> Node {
    let text =
        fs::read_to_string(folder("deploy/prometheus").join(path)).expect("the file is UTF-8 text");
    parse_yaml(0, text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn text_of<'a>(node: &'a MarkedMappingNode, key: &str) -> &'a str {
    let found = node.get_scalar(key);
    found
        .unwrap_or_else(|| panic!("no text {key:?} in {node:?}"))
        .as_str()
}

fn mappings<'a>(node: &'a MarkedMappingNode, key: &str) -> Vec<&'a MarkedMappingNode> {
    let members = node
        .get_sequence(key)
        .into_iter()
        .flat_map(|sequence| sequence.iter());
    members.filter_map(Node::as_mapping).collect()
}

/// A rule with an expression: the name it records, or the alert.
struct Rule {
    recorded: Option<String>,
    alert: Option<Alert>,
    expr: String,
}

struct Alert {
    name: String,
    severity: String,
    summary: String,
    description: String,
    runbook_url: String,
}

fn rules() -> Vec<Rule> {
    let file = read(RULES);
    let groups = mappings(
        file.as_mapping().expect("a rules file is a mapping"),
        "groups",
    );
    let rules = groups
        .into_iter()
        .flat_map(|group| mappings(group, "rules"));
    rules.map(rule).collect()
}

fn rule(node: &MarkedMappingNode) -> Rule {
    let alert = node.get_scalar("alert").map(|name| {
        let part = |key| {
            node.get_mapping(key)
                .unwrap_or_else(|| panic!("{name:?} has no {key}"))
        };
        Alert {
            name: name.as_str().to_owned(),
            severity: text_of(part("labels"), "severity").to_owned(),
            summary: text_of(part("annotations"), "summary").to_owned(),
            description: text_of(part("annotations"), "description").to_owned(),
            runbook_url: text_of(part("annotations"), "runbook_url").to_owned(),
        }
    });
    Rule {
        recorded: node
            .get_scalar("record")
            .map(|name| name.as_str().to_owned()),
        alert,
        expr: text_of(node, "expr").to_owned(),
    }
}

fn alerts() -> Vec<Alert> {
    rules().into_iter().filter_map(|rule| rule.alert).collect()
}

/// The labels that an annotation names: `{{ $labels.variant }}`.
fn template_labels(text: &str) -> impl Iterator<Item = &str> {
    text.split("$labels.").skip(1).map(|rest| {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        &rest[..end]
    })
}

#[test]
fn promtool_finds_nothing_in_rules_and_configuration() {
    promtool(&["check", "rules", "--lint=all", "--lint-fatal", RULES])
        .expect("the rules are valid");
    promtool(&["check", "config", "prometheus.yaml"]).expect("the example configuration is valid");
}

#[test]
fn rules_fire_and_stay_silent_as_their_tests_say() {
    let files = test_files();
    let mut args = vec!["test", "rules"];
    args.extend(files.iter().map(String::as_str));
    promtool(&args).expect("promtool's tests pass");
}

#[test]
fn every_alert_is_tested_firing_and_silent() {
    let mut tested = Vec::new();
    for path in test_files() {
        let file = read(&path);
        for test in mappings(
            file.as_mapping().expect("a test file is a mapping"),
            "tests",
        ) {
            for case in mappings(test, "alert_rule_test") {
                let fires = !mappings(case, "exp_alerts").is_empty();
                tested.push((text_of(case, "alertname").to_owned(), fires));
            }
        }
    }
    for alert in alerts() {
        for (fires, how) in [(true, "firing"), (false, "silent")] {
            assert!(
                tested.contains(&(alert.name.clone(), fires)),
                "no test in deploy/prometheus/tests shows {} {how}",
                alert.name
            );
        }
    }
}

#[test]
fn every_alert_says_what_happened_and_leads_to_its_runbook() {
    let runbooks = fs::read_to_string(folder("docs/runbooks.md")).expect("docs/runbooks.md exists");
    let alerts = alerts();
    for alert in &alerts {
        let name = &alert.name;
        assert!(
            ["warning", "critical"].contains(&alert.severity.as_str()),
            "{name}: {}",
            alert.severity
        );
        assert!(alert.summary.len() < 160, "{name}: the summary is one line");
        assert!(
            alert.description.len() > alert.summary.len(),
            "{name}: the description says more"
        );
        assert_eq!(
            alert.runbook_url,
            format!("{RUNBOOKS}{}", name.to_lowercase())
        );
        let (_, section) = runbooks
            .split_once(&format!("\n## {name}\n"))
            .unwrap_or_else(|| panic!("docs/runbooks.md has no section {name}"));
        let section = section.split("\n## ").next().unwrap_or(section);
        for part in [
            "**Means.**",
            "**Look first.**",
            "**Usual causes.**",
            "**Silence honestly.**",
        ] {
            assert!(section.contains(part), "the runbook of {name} lacks {part}");
        }
    }
    let sections = runbooks
        .lines()
        .filter(|line| line.starts_with("## Rankgauge"))
        .count();
    assert_eq!(
        sections,
        alerts.len(),
        "docs/runbooks.md explains an alert that does not exist"
    );
}

#[test]
fn rules_and_alert_texts_name_only_what_is_exposed() {
    let mut series = Series::exposed();
    let mut problems = Vec::new();
    for rule in rules() {
        let known = match series.labels_of(&rule.expr) {
            Ok(known) => known,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        if let Some(alert) = &rule.alert {
            for text in [&alert.summary, &alert.description] {
                let unknown = template_labels(text).filter(|label| !known.contains(*label));
                problems.extend(
                    unknown.map(|label| format!("{} names {label:?}, has {known:?}", alert.name)),
                );
            }
        }
        if let Some(name) = &rule.recorded {
            series.add(name, known);
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn an_alert_on_quality_names_measure_and_variant() {
    let alert = alerts()
        .into_iter()
        .find(|alert| alert.name == "RankgaugeTargetMissed");
    let alert = alert.expect("the alert exists");
    for text in [&alert.summary, &alert.description] {
        let named: Vec<&str> = template_labels(text).collect();
        assert!(
            named.contains(&"measure") && named.contains(&"variant"),
            "{text}"
        );
    }
}
