//! Shipped Prometheus rules: valid, tested firing and silent, documented in a runbook, linked to a
//! panel, routed by Alertmanager, and limited to exposed metrics.

mod arrivals;
mod causes;
mod derived;
mod promtool_tests;
mod year;

use std::fs;
use std::thread;
use std::time::Duration;

use marked_yaml::types::MarkedMappingNode;
use marked_yaml::{Node, parse_yaml};
use serde_json::json;

use crate::dashboards::promql::Series;
use crate::dashboards::{dashboards, folder, run};
use crate::harness::alertmanager::{Alert as Found, Alertmanager};
use crate::harness::wait_until;
use promtool_tests::Kept;

const RUNBOOKS: &str = "https://github.com/rankgauge/rankgauge/blob/main/docs/runbooks.md#";
/// Start of the links of alerts, before the uid of a dashboard. The label is set in `prometheus.yaml`.
const DASHBOARD: &str = "{{ $externalLabels.grafana_url }}/d/";

/// Panels that alerts link to. Panel ids are assigned in the order of the rows: a new panel between others needs an id of
/// its own (`numbered` in grafana/src/dashboards.ts), or the links must be updated.
const PANELS: [(&str, &[&str]); 40] = [
    ("RankgaugeCountersFell", &["Age of the published snapshot"]),
    ("RankgaugeAllDown", &["Assigned partitions"]),
    ("RankgaugeTopicUndecodable", &["Invalid events"]),
    ("RankgaugeFeedbackOrphaned", &["Events by outcome"]),
    ("RankgaugeAbsent", &["Events by outcome"]),
    (
        "RankgaugeCheckpointFailing",
        &["Age of the published snapshot"],
    ),
    (
        "RankgaugeStateNotShared",
        &["Age of the published snapshot"],
    ),
    ("RankgaugeDown", &["Assigned partitions"]),
    (
        "RankgaugeEvaluatorDrifted",
        &["Evidence that the bias of an evaluator changed"],
    ),
    ("RankgaugeEventsInvalid", &["Invalid events"]),
    ("RankgaugeSpansTruncated", &["Invalid events"]),
    ("RankgaugeSpansWithoutIds", &["Invalid events"]),
    ("RankgaugeSpansWithoutSearches", &["Invalid events"]),
    ("RankgaugeRecordsTooLarge", &["Invalid events"]),
    (
        "RankgaugeExperimentArmWorse",
        &["All measures against the control"],
    ),
    ("RankgaugeGoldCoverageHalved", &["Coverage ($window)"]),
    (
        "RankgaugeGoldReloadFailing",
        &["Time since the last reload"],
    ),
    ("RankgaugeKafkaDisconnected", &["Kafka connection"]),
    (
        "RankgaugeLabelledQualityDropped",
        &["Evidence of a drop of the quality of all traffic"],
    ),
    ("RankgaugeLagHigh", &["Consumer lag"]),
    (
        "RankgaugeMeanAboveTarget",
        &["Latency by stage (p95)", "Cost per search"],
    ),
    ("RankgaugeNoEvents", &["Events by outcome"]),
    ("RankgaugeNoFeedback", &["Feedback by type"]),
    (
        "RankgaugeObjectiveBurningFast",
        &["Searches without results", "Search latency by variant"],
    ),
    (
        "RankgaugeObjectiveBurningSlowly",
        &["Searches without results", "Search latency by variant"],
    ),
    (
        "RankgaugeQualityBelowTarget",
        &["Evidence that $measure misses its target"],
    ),
    (
        "RankgaugeQualityDropped",
        &["Evidence of a drop of $measure"],
    ),
    (
        "RankgaugeRankingPreferred",
        &["Evidence of a preferred ranking"],
    ),
    ("RankgaugePartitionStalled", &["Consumer lag"]),
    ("RankgaugePartitionsUnassigned", &["Assigned partitions"]),
    ("RankgaugeRecordsLost", &["Data loss and limits"]),
    (
        "RankgaugeSampleRatioMismatch",
        &["Evidence of a sample ratio mismatch"],
    ),
    ("RankgaugeSeriesOverflow", &["Data loss and limits"]),
    (
        "RankgaugeSeriesVanished",
        &["$measure by variant", "Searches per second"],
    ),
    ("RankgaugeSuccessBurningFast", &["$measure by variant"]),
    ("RankgaugeSuccessBurningSlowly", &["$measure by variant"]),
    ("RankgaugeThroughputBelowTarget", &["Searches per second"]),
    ("RankgaugeTrafficShareOutOfBounds", &["Searches per second"]),
    ("RankgaugeWatermarkStalled", &["Watermark delay"]),
    ("RankgaugeWorkerStuck", &["Age of the published snapshot"]),
];

/// Severity of an alert that has the one of its incident, as a label of its expression.
const OF_THE_INCIDENT: &str = "{{ $labels.severity }}";

/// `promtool`, in `deploy/prometheus`.
fn promtool(args: &[&str]) -> Result<String, String> {
    run(
        "promtool",
        args,
        &folder("deploy/prometheus"),
        "apt-get install prometheus",
    )
}

/// YAML files of a folder, as paths relative to `deploy/prometheus`.
fn files(of: &str) -> Vec<String> {
    let files = fs::read_dir(folder("deploy/prometheus").join(of)).expect("the folder exists");
    let mut paths: Vec<String> = files
        .map(|file| file.expect("the folder can be listed").file_name())
        .map(|name| format!("{of}/{}", name.to_string_lossy()))
        .filter(|path| path.rsplit('.').next() == Some("yaml"))
        .collect();
    paths.sort();
    paths
}

fn rule_files() -> Vec<String> {
    files("rules")
}

fn test_files() -> Vec<String> {
    files("rules/tests")
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

fn scalar(node: &MarkedMappingNode, key: &str) -> Option<String> {
    node.get_scalar(key).map(|value| value.as_str().to_owned())
}

fn mappings<'a>(node: &'a MarkedMappingNode, key: &str) -> Vec<&'a MarkedMappingNode> {
    let members = node
        .get_sequence(key)
        .into_iter()
        .flat_map(|sequence| sequence.iter());
    members.filter_map(Node::as_mapping).collect()
}

/// Rule with an expression: a recording rule with the recorded name, or an alert.
struct Rule {
    recorded: Option<String>,
    /// Names of the labels that a recording rule adds.
    adds: Vec<String>,
    alert: Option<Alert>,
    expr: String,
}

struct Alert {
    name: String,
    severity: String,
    concern: String,
    waits_for: Option<String>,
    keeps_firing_for: Option<String>,
    summary: String,
    description: String,
    runbook_url: String,
    dashboard_url: String,
}

/// Rules of all files. Recording rules precede alerts, and those that other files use precede these: `labels_of`
/// accepts a recorded name only after its rule.
fn rules() -> Vec<Rule> {
    let mut paths = rule_files();
    paths.sort_by_key(|path| !path.ends_with("recorded.rules.yaml"));
    let files: Vec<Node> = paths.iter().map(|path| read(path)).collect();
    let groups = files.iter().flat_map(|file| {
        mappings(
            file.as_mapping().expect("a rules file is a mapping"),
            "groups",
        )
    });
    let mut rules: Vec<Rule> = groups
        .flat_map(|group| mappings(group, "rules"))
        .map(rule)
        .collect();
    rules.sort_by_key(|rule| rule.alert.is_some());
    rules
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
            concern: text_of(part("labels"), "concern").to_owned(),
            waits_for: scalar(node, "for"),
            keeps_firing_for: scalar(node, "keep_firing_for"),
            summary: text_of(part("annotations"), "summary").to_owned(),
            description: text_of(part("annotations"), "description").to_owned(),
            runbook_url: text_of(part("annotations"), "runbook_url").to_owned(),
            dashboard_url: text_of(part("annotations"), "dashboard_url").to_owned(),
        }
    });
    Rule {
        recorded: scalar(node, "record"),
        adds: node
            .get_mapping("labels")
            .into_iter()
            .flat_map(|labels| labels.keys())
            .map(|name| name.as_str().to_owned())
            .collect(),
        alert,
        expr: text_of(node, "expr").to_owned(),
    }
}

/// Series that a sidecar exposes, and series that the rules record.
pub(crate) fn exposed_and_recorded() -> Series {
    let mut series = Series::exposed();
    for rule in rules() {
        // A separate test reports rules with unknown names.
        if let (Some(name), Ok(mut known)) = (&rule.recorded, series.labels_of(&rule.expr)) {
            known.extend(rule.adds);
            series.add(name, known);
        }
    }
    series
}

fn alerts() -> Vec<Alert> {
    rules().into_iter().filter_map(|rule| rule.alert).collect()
}

/// Labels in an annotation: `{{ $labels.variant }}`.
fn template_labels(text: &str) -> impl Iterator<Item = &str> {
    text.split("$labels.").skip(1).map(|rest| {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        &rest[..end]
    })
}

#[test]
fn promtool_accepts_rules_and_configuration() {
    let files = rule_files();
    let mut args = vec!["check", "rules", "--lint=all", "--lint-fatal"];
    args.extend(files.iter().map(String::as_str));
    promtool(&args).expect("the rules are valid");
    promtool(&["check", "config", "prometheus.yaml"]).expect("the example configuration is valid");
}

#[test]
fn amtool_accepts_the_alertmanager_example() {
    let said = run(
        "amtool",
        &["check-config", "alertmanager.yaml"],
        &folder("deploy/alertmanager"),
        "apt-get install prometheus-alertmanager",
    );
    said.expect("the example configuration is valid");
}

/// Files of tests that last for hours and days. With all rules, they take most of the time of the tests. Errors of
/// rules that they do not assert are found by the other files.
const LONG: [&str; 2] = ["arrivals.test.yaml", "hours.test.yaml"];

/// Failures of a shipped test file.
fn failure_of(path: &str) -> Option<String> {
    let path = folder("deploy/prometheus").join(path);
    let tests = fs::read_to_string(&path).expect("a test file");
    let folder = path.parent().expect("invariant: a file in a folder");
    let kept = if LONG.iter().any(|name| path.ends_with(name)) {
        Kept::Asserted
    } else {
        Kept::WithResults
    };
    promtool_tests::failure(&tests, folder, kept)
        .map(|failure| format!("{}: {failure}", path.display()))
}

#[test]
fn rules_pass_their_promtool_tests() {
    // One thread per file: promtool itself uses one processor.
    let failures: Vec<String> = thread::scope(|scope| {
        let runs: Vec<_> = test_files()
            .into_iter()
            .map(|path| scope.spawn(move || failure_of(&path)))
            .collect();
        runs.into_iter()
            .filter_map(|run| run.join().expect("promtool can be run"))
            .collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
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
                "no test in deploy/prometheus/rules/tests shows {} {how}",
                alert.name
            );
        }
    }
}

#[test]
fn every_alert_has_summary_description_and_runbook() {
    let runbooks = fs::read_to_string(folder("docs/runbooks.md")).expect("docs/runbooks.md exists");
    let alerts = alerts();
    for alert in &alerts {
        let name = &alert.name;
        assert!(
            ["info", "warning", "critical", OF_THE_INCIDENT].contains(&alert.severity.as_str()),
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
            "**Meaning.**",
            "**Diagnosis.**",
            "**Causes.**",
            "**Silencing.** For at most ",
            "**Time.**",
            "**Blind spots.**",
        ] {
            assert!(section.contains(part), "the runbook of {name} lacks {part}");
        }
        let time = section.lines().find(|line| line.starts_with("**Time.**"));
        assert_eq!(
            time.is_some_and(|time| time.contains("at once")),
            ["critical", OF_THE_INCIDENT].contains(&alert.severity.as_str()),
            "{name}: a critical alert needs a person at once, a warning does not"
        );
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
fn rules_and_alert_texts_use_only_exposed_metrics_and_labels() {
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
            for text in [&alert.summary, &alert.description, &alert.dashboard_url] {
                let unknown = template_labels(text).filter(|label| !known.contains(*label));
                problems.extend(
                    unknown.map(|label| format!("{} names {label:?}, has {known:?}", alert.name)),
                );
            }
        }
        if let Some(name) = &rule.recorded {
            let mut known = known;
            known.extend(rule.adds);
            series.add(name, known);
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn quality_alerts_name_their_series_fire_at_once_and_keep_firing() {
    let alerts: Vec<Alert> = alerts()
        .into_iter()
        .filter(|alert| alert.concern == "quality")
        .collect();
    assert_eq!(alerts.len(), 8);
    for alert in alerts {
        let name = &alert.name;
        assert_eq!(alert.waits_for, None, "{name}: evidence is a decision");
        // An incident ends only when searches are shown to be back.
        let expected = if name == "RankgaugeQualityDropped" {
            "5m"
        } else {
            "15m"
        };
        assert_eq!(alert.keeps_firing_for.as_deref(), Some(expected), "{name}");
        let named: Vec<&str> = template_labels(&alert.summary).collect();
        if name == "RankgaugeSampleRatioMismatch" {
            assert_eq!(named, ["experiment"], "{name}: it is about no measure");
            continue;
        }
        if name == "RankgaugeRankingPreferred" {
            assert_eq!(named, ["team", "against", "experiment"], "{name}");
            continue;
        }
        if name == "RankgaugeExperimentArmWorse" {
            assert!(named.contains(&"variant"), "{name}: {}", alert.summary);
            assert!(named.contains(&"experiment"), "{name}: {}", alert.summary);
            continue;
        }
        for label in ["measure", "variant"] {
            assert!(named.contains(&label), "{name}: {}", alert.summary);
        }
        assert!(
            named.contains(&"slice") || alert.summary.contains("slice all"),
            "{name}: {}",
            alert.summary
        );
    }
}

#[test]
fn every_alert_links_to_its_panel() {
    let dashboards = dashboards();
    let alerts = alerts();
    assert_eq!(alerts.len(), PANELS.len());
    for alert in alerts {
        let name = &alert.name;
        assert!(
            alert
                .dashboard_url
                .contains("{{ with $labels.cluster }}var-cluster={{ urlquery . }}&{{ end }}"),
            "{name}: the link loses the cluster"
        );
        let mut titles = Vec::new();
        for link in [true, false].map(|is_present| expanded(&alert.dashboard_url, is_present)) {
            let (uid, query) = link
                .strip_prefix(DASHBOARD)
                .and_then(|rest| rest.split_once('?'))
                .unwrap_or_else(|| panic!("{name}: {link} is no panel's"));
            let dashboard = dashboards.iter().find(|it| it.uid == uid);
            let dashboard = dashboard.unwrap_or_else(|| panic!("{name}: no dashboard {uid}"));
            let variables = dashboard.variable_names();
            for parameter in query.split('&') {
                match parameter.split_once('=') {
                    Some(("viewPanel", id)) => {
                        let title = id.parse().ok().and_then(|id| dashboard.panel_title(id));
                        let title = title.unwrap_or_else(|| panic!("{name}: no panel {id}"));
                        if !titles.contains(&title) {
                            titles.push(title);
                        }
                    }
                    Some((variable, value)) => {
                        let variable = variable.strip_prefix("var-").unwrap_or_default();
                        assert!(variables.contains(variable), "{name}: {parameter}");
                        assert!(
                            value.starts_with("{{ urlquery "),
                            "{name}: {parameter}: a label may hold anything"
                        );
                    }
                    None => assert_eq!(parameter, "", "{name}"),
                }
            }
        }
        let expected = PANELS.iter().find(|(alert, _)| alert == name);
        let (_, expected) = expected.unwrap_or_else(|| panic!("{name} is not in PANELS"));
        assert_eq!(titles, *expected, "{name}");
    }
}

/// A template with all conditions true (`{{ if }}`, `{{ with }}`), or all false.
fn expanded(template: &str, is_true: bool) -> String {
    let mut text = template.to_owned();
    while let Some(start) = ["{{ if ", "{{ with "]
        .iter()
        .filter_map(|it| text.find(it))
        .min()
    {
        let end = text[start..].find("{{ end }}").expect("an end") + start;
        let body = text[start..end].find("}}").expect("a condition") + start + 2;
        let (then, otherwise) = text[body..end]
            .split_once("{{ else }}")
            .unwrap_or((&text[body..end], ""));
        let chosen = if is_true { then } else { otherwise }.to_owned();
        text.replace_range(start..end + "{{ end }}".len(), &chosen);
    }
    text
}

/// Alert on quality or service that an alert on the measurement can make wrong.
struct Target {
    alert: &'static str,
    measure: &'static str,
    /// Groups of alerts that it belongs to, as the table in docs/runbooks.md calls them.
    groups: &'static [&'static str],
}

const fn target(
    alert: &'static str,
    measure: &'static str,
    groups: &'static [&'static str],
) -> Target {
    Target {
        alert,
        measure,
        groups,
    }
}

const RANKINGS: &[&str] = &["quality", "quality of rankings"];
const USERS: &[&str] = &["quality", "quality of user measures"];
const OTHERS: &[&str] = &["quality"];
const SERVICE: &[&str] = &["service"];

/// Value of the label `evaluator` of the target that has one.
const EVALUATOR: &str = "judge";

const TARGETS: [Target; 22] = [
    target(
        "RankgaugeQualityDropped",
        "nDCG@10",
        &[
            "quality",
            "quality of rankings",
            "quality of the same variant and measure",
        ],
    ),
    target("RankgaugeQualityDropped", "CTR", USERS),
    target("RankgaugeQualityDropped", "Rating", USERS),
    target(
        "RankgaugeQualityDropped",
        "Evaluation(evaluator=judge)",
        &[
            "quality",
            "quality of user measures",
            "drops of the values of the same evaluator",
        ],
    ),
    target("RankgaugeQualityDropped", "ZeroResult", OTHERS),
    target("RankgaugeQualityBelowTarget", "nDCG@10", RANKINGS),
    target("RankgaugeQualityBelowTarget", "Abandoned", USERS),
    target(
        "RankgaugeQualityBelowTarget",
        "Evaluation(evaluator=judge)",
        USERS,
    ),
    target("RankgaugeQualityBelowTarget", "ZeroResult", OTHERS),
    target("RankgaugeLabelledQualityDropped", "nDCG@10", OTHERS),
    target("RankgaugeSuccessBurningFast", "Success@5", RANKINGS),
    target("RankgaugeSuccessBurningFast", "SAT", USERS),
    target("RankgaugeSuccessBurningSlowly", "Success@5", RANKINGS),
    target("RankgaugeSuccessBurningSlowly", "SessionSuccess", USERS),
    target("RankgaugeExperimentArmWorse", "", OTHERS),
    target("RankgaugeRankingPreferred", "", OTHERS),
    target("RankgaugeSampleRatioMismatch", "", OTHERS),
    target("RankgaugeObjectiveBurningFast", "", SERVICE),
    target("RankgaugeObjectiveBurningSlowly", "", SERVICE),
    target("RankgaugeMeanAboveTarget", "", SERVICE),
    target("RankgaugeTrafficShareOutOfBounds", "", SERVICE),
    target(
        "RankgaugeThroughputBelowTarget",
        "",
        &["service", "throughput"],
    ),
];

impl Target {
    /// Variant and experiment of its own, so that no other target inhibits it.
    fn variant(&self) -> String {
        format!("{} {}", self.alert, self.measure)
    }

    fn alert_in(&self, namespace: &str) -> serde_json::Value {
        let is_of_evaluator = self.groups.iter().any(|it| it.contains("evaluator"));
        let evaluator = if is_of_evaluator { EVALUATOR } else { "" };
        json!({"labels": {"alertname": self.alert, "concern": self.groups[0], "job": "rankgauge",
            "namespace": namespace, "measure": self.measure, "variant": self.variant(), "experiment": self.variant(),
            "evaluator": evaluator, "slice": "all", "severity": "critical"}})
    }
}

/// Variants of the targets that an alert inhibits, as the table in docs/runbooks.md says.
fn documented_inhibitions(alert: &str) -> Vec<String> {
    let runbooks = fs::read_to_string(folder("docs/runbooks.md")).expect("docs/runbooks.md exists");
    let row = runbooks.lines().find_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].strip_suffix(" without labels of a deployment");
        (name.unwrap_or(cells[0]) == format!("`{alert}`")).then(|| cells[1].to_owned())
    });
    let groups: Vec<&str> = row.iter().flat_map(|row| row.split(", ")).collect();
    for group in &groups {
        assert!(
            TARGETS.iter().any(|it| it.groups.contains(group)),
            "docs/runbooks.md: {alert} inhibits {group:?}, which no target of this test belongs to"
        );
    }
    let inhibited = TARGETS
        .iter()
        .filter(|it| it.groups.iter().any(|group| groups.contains(group)));
    inhibited.map(Target::variant).collect()
}

#[test]
fn targets_of_inhibitions_are_all_alerts_on_quality_and_service() {
    let names: Vec<String> = alerts()
        .into_iter()
        .filter(|alert| ["quality", "service"].contains(&alert.concern.as_str()))
        .map(|alert| alert.name)
        .filter(|name| !TARGETS.iter().any(|it| it.alert == name))
        .collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn alerts_on_the_measurement_inhibit_what_the_runbooks_say() {
    let measurement: Vec<Alert> = alerts()
        .into_iter()
        .filter(|alert| alert.concern == "measurement")
        .collect();
    // RankgaugeAbsent has no labels, so that it inhibits everything.
    let (absent, others): (Vec<&Alert>, Vec<&Alert>) = measurement
        .iter()
        .partition(|alert| alert.name == "RankgaugeAbsent");
    for mut group in [others, absent] {
        group.sort_by_key(|alert| !documented_inhibitions(&alert.name).is_empty());
        let alertmanager = Alertmanager::start(&folder("deploy/alertmanager/alertmanager.yaml"));
        let mut posted = Vec::new();
        for alert in &group {
            let namespace = alert.name.to_lowercase();
            let mut source = json!({"alertname": alert.name, "concern": alert.concern});
            if alert.name != "RankgaugeAbsent" {
                source["job"] = json!("rankgauge");
                source["namespace"] = json!(namespace);
                source["severity"] = json!(alert.severity);
            }
            if alert.name == "RankgaugeEvaluatorDrifted" {
                source["evaluator"] = json!(EVALUATOR);
            }
            if alert.name == "RankgaugeSeriesVanished" {
                source["variant"] = json!(TARGETS[0].variant());
                source["measure"] = json!(TARGETS[0].measure);
            }
            posted.push(json!({"labels": source}));
            posted.extend(TARGETS.iter().map(|it| it.alert_in(&namespace)));
        }
        alertmanager.post(&posted.into());
        let inhibited_by = |alert: &Alert, found: &[Found]| -> Vec<String> {
            let of =
                |label: &str, alert: &Found| alert.labels.get(label).cloned().unwrap_or_default();
            let inhibited = TARGETS.iter().map(Target::variant).filter(|variant| {
                found.iter().any(|it| {
                    of("namespace", it) == alert.name.to_lowercase()
                        && of("alertname", it) != alert.name
                        && of("variant", it) == *variant
                        && !it.status.inhibited_by.is_empty()
                })
            });
            inhibited.collect()
        };
        // An alert inhibits others a while after it is listed. Those that inhibit none come first.
        let found = wait_until(
            Duration::from_secs(30),
            "alerts inhibit what is documented",
            || {
                let found = alertmanager.alerts();
                let inhibits = |alert: &&Alert| {
                    inhibited_by(alert, &found).len() >= documented_inhibitions(&alert.name).len()
                };
                (found.len() == group.len() * (1 + TARGETS.len()) && group.iter().all(inhibits))
                    .then_some(found)
            },
        );
        for alert in &group {
            assert_eq!(
                inhibited_by(alert, &found),
                documented_inhibitions(&alert.name),
                "{}",
                alert.name
            );
        }
    }
}

#[test]
fn an_incident_that_changes_its_severity_is_notified_once() {
    let alertmanager = Alertmanager::start(&folder("deploy/alertmanager/alertmanager.yaml"));
    let of = |variant: &str, severity: &str| {
        json!({"labels": {"alertname": "RankgaugeQualityDropped", "concern": "quality", "job": "rankgauge",
            "measure": "nDCG@10", "variant": variant, "slice": "all", "severity": severity}})
    };
    alertmanager.post(&json!([
        of("V1", "critical"),
        of("V1", "warning"),
        of("V2", "warning")
    ]));
    let told = wait_until(
        Duration::from_secs(30),
        "both variants are notified",
        || {
            let told = alertmanager.firing("RankgaugeQualityDropped");
            (told.len() >= 2).then_some(told)
        },
    );
    let mut told: Vec<[String; 2]> = told
        .into_iter()
        .map(|(receiver, alert)| [receiver, alert.labels["variant"].clone()])
        .collect();
    told.sort();
    assert_eq!(told, [["on-call", "V1"], ["search-team", "V2"]]);
}

/// The measures that need feedback are those of the inhibition rules.
#[test]
fn alertmanager_names_every_measure_that_needs_feedback() {
    let text = fs::read_to_string(folder("deploy/alertmanager/alertmanager.yaml"));
    let text = text.expect("the example exists");
    let list = |before: &str| -> Vec<&str> {
        let (_, names) = text.split_once(before).expect("a rule on measures");
        let (names, _) = names.split_once(')').expect("the end of the names");
        names.split('|').collect()
    };
    let inhibited = list("measure=~\"(");
    // Of the measures without feedback, one is none of rankings.
    let mut not_of_rankings = list("measure!~\"(");
    not_of_rankings.retain(|name| *name != "ZeroResult");
    assert_eq!(inhibited, not_of_rankings);
    let documents =
        fs::read_to_string(folder("docs/measures.md")).expect("docs/measures.md exists");
    let row = documents
        .lines()
        .find(|line| line.starts_with("| [Users](#users)"));
    let row = row.expect("a row of user measures");
    let documented = row
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| *name != "ZeroResult");
    for name in documented {
        assert!(
            inhibited.contains(&name),
            "deploy/alertmanager/alertmanager.yaml lacks {name}"
        );
    }
}

#[test]
fn alertmanager_routes_every_concern_and_names_only_existing_alerts() {
    let path = folder("deploy/alertmanager/alertmanager.yaml");
    let text = fs::read_to_string(path).expect("the example exists");
    let alerts = alerts();
    for alert in &alerts {
        assert!(
            ["quality", "service", "measurement", "upkeep"].contains(&alert.concern.as_str()),
            "{}: {}",
            alert.name,
            alert.concern
        );
    }
    let words = text.split(|c: char| !c.is_alphanumeric());
    for name in words.filter(|word| word.starts_with("Rankgauge")) {
        assert!(
            // `RankgaugeSuccessBurning.*` matches two alerts.
            alerts.iter().any(|alert| alert.name.starts_with(name)),
            "deploy/alertmanager/alertmanager.yaml names {name}"
        );
    }
}
