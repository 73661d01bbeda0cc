//! The committed Grafana dashboards: complete, made by the code beside them, and asking only for
//! what a sidecar exposes and our rules record. What their queries answer is tried against a real Prometheus elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

pub(crate) mod promql;

use crate::rules::exposed_and_recorded;

/// One query of one panel, with every variable replaced, ready for Prometheus.
#[derive(Clone, Debug)]
pub(crate) struct PanelQuery {
    /// The dashboard's uid.
    pub(crate) dashboard: String,
    /// The panel's title, variables and all.
    pub(crate) panel: String,
    /// How series are named: Grafana's `{{label}}` template.
    pub(crate) legend: String,
    /// PromQL.
    pub(crate) expr: String,
}

/// A template variable that lists the values of a label: `label_values(series, label)`.
#[derive(Clone, Debug)]
pub(crate) struct VariableQuery {
    /// The variable's name, without `$`.
    pub(crate) variable: String,
    /// The selector whose series are looked at.
    pub(crate) series: String,
    /// The label whose values are offered.
    pub(crate) label: String,
}

/// Every query of every panel. Variables take what the dashboard starts with: all variants, jobs
/// and instances, `nDCG@10`, `query_type`, `5m`, the tier `good`.
pub(crate) fn panel_queries() -> Vec<PanelQuery> {
    dashboards().iter().flat_map(Dashboard::queries).collect()
}

/// Every variable that is filled by a query.
pub(crate) fn variable_queries() -> Vec<VariableQuery> {
    dashboards().iter().flat_map(Dashboard::variables).collect()
}

/// A folder of the repository.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Runs a tool in `folder` and returns what it says.
///
/// # Errors
/// What it said when it failed; where it is missing, how to install it.
pub(crate) fn run(
    tool: &str,
    args: &[&str],
    folder: &Path,
    install: &str,
) -> Result<String, String> {
    let output = Command::new(tool)
        .args(args)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("{tool} cannot be run ({error}); install it with `{install}`"))?;
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if output.status.success() {
        Ok(said)
    } else {
        Err(format!("{tool} {} failed:\n{said}", args.join(" ")))
    }
}

struct Dashboard {
    uid: String,
    json: Value,
}

fn dashboards() -> Vec<Dashboard> {
    let files = fs::read_dir(folder("grafana/dashboards")).expect("grafana/dashboards exists");
    let mut paths: Vec<PathBuf> = files
        .map(|file| file.expect("the folder can be listed").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| Dashboard::read(path)).collect()
}

impl Dashboard {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a dashboard is UTF-8 text");
        let json: Value = serde_json::from_str(&text).expect("a dashboard is JSON");
        let uid = text_of(&json, "uid").to_owned();
        Self { uid, json }
    }

    /// Panels that show something, in reading order; not the rows between them.
    fn panels(&self) -> impl Iterator<Item = &Value> {
        list(&self.json["panels"])
            .iter()
            .filter(|panel| text_of(panel, "type") != "row")
    }

    /// What each variable stands for at first: all values, or the one chosen.
    fn values(&self) -> BTreeMap<&str, &str> {
        list(&self.json["templating"]["list"])
            .iter()
            .filter(|variable| text_of(variable, "type") == "query")
            .map(|variable| {
                let all = variable["allValue"].as_str();
                let value = all.unwrap_or_else(|| text_of(&variable["current"], "value"));
                (text_of(variable, "name"), value)
            })
            .collect()
    }

    /// `text` with every variable replaced, Grafana's own included.
    fn substitute(&self, text: &str) -> String {
        let text = text
            // Longer than a test takes on a busy machine.
            .replace("$__rate_interval", "10m")
            .replace("$__range", "1h");
        self.values().into_iter().fold(text, |text, (name, value)| {
            text.replace(&format!("\"${name}\""), &format!("\"{value}\""))
        })
    }

    fn queries(&self) -> Vec<PanelQuery> {
        self.panels()
            .flat_map(|panel| {
                list(&panel["targets"])
                    .iter()
                    .map(move |target| (panel, target))
            })
            .map(|(panel, target)| PanelQuery {
                dashboard: self.uid.clone(),
                panel: text_of(panel, "title").to_owned(),
                legend: text_of(target, "legendFormat").to_owned(),
                expr: self.substitute(text_of(target, "expr")),
            })
            .collect()
    }

    fn variables(&self) -> Vec<VariableQuery> {
        list(&self.json["templating"]["list"])
            .iter()
            .filter(|variable| text_of(variable, "type") == "query")
            .map(|variable| {
                let query = text_of(&variable["query"], "query");
                let (series, label) = query
                    .strip_prefix("label_values(")
                    .and_then(|rest| rest.strip_suffix(')'))
                    .and_then(|arguments| arguments.rsplit_once(", "))
                    .unwrap_or_else(|| panic!("{query} is not label_values(series, label)"));
                VariableQuery {
                    variable: text_of(variable, "name").to_owned(),
                    series: self.substitute(series),
                    label: label.to_owned(),
                }
            })
            .collect()
    }

    fn annotations(&self) -> Vec<String> {
        list(&self.json["annotations"]["list"])
            .iter()
            .map(|annotation| self.substitute(text_of(&annotation["target"], "expr")))
            .collect()
    }
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no text {key:?} in {value}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The labels that a legend names: `{{variant}} ({{instance}})`.
fn legend_labels(legend: &str) -> impl Iterator<Item = &str> {
    legend
        .split("{{")
        .skip(1)
        .map(|rest| rest.split("}}").next().unwrap_or(rest))
}

#[test]
fn committed_dashboards_match_the_generated_ones() {
    let grafana = folder("grafana");
    let install = "apt-get install nodejs npm (Node.js 20 or later)";
    if !grafana.join("node_modules").exists() {
        run("npm", &["ci", "--no-audit", "--no-fund"], &grafana, install)
            .expect("dependencies install");
    }
    run("npm", &["run", "--silent", "check"], &grafana, install).expect("nothing changes");
}

#[test]
fn dashboard_uids_are_stable() {
    let uids: Vec<String> = dashboards()
        .into_iter()
        .map(|dashboard| dashboard.uid)
        .collect();
    assert_eq!(uids, ["rankgauge-search-quality"]);
}

#[test]
fn every_panel_has_description_unit_unique_id_and_the_selected_data_source() {
    for dashboard in dashboards() {
        let mut ids = BTreeSet::new();
        for panel in dashboard.panels() {
            let title = text_of(panel, "title");
            assert!(
                text_of(panel, "description").len() > 20,
                "{title}: describe what it shows"
            );
            assert!(
                panel["fieldConfig"]["defaults"]["unit"].is_string(),
                "{title}: no unit"
            );
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
            assert!(
                ids.insert(panel["id"].as_u64()),
                "{title}: the id is not its own"
            );
            assert!(!list(&panel["targets"]).is_empty(), "{title}: no query");
            for target in list(&panel["targets"]) {
                assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
            }
        }
    }
}

#[test]
fn panels_of_a_row_fill_its_width_and_do_not_overlap() {
    for dashboard in dashboards() {
        let mut taken = BTreeSet::new();
        for panel in list(&dashboard.json["panels"]) {
            let side = |key: &str| panel["gridPos"][key].as_u64().expect("a panel has a place");
            for x in side("x")..side("x") + side("w") {
                for y in side("y")..side("y") + side("h") {
                    assert!(x < 24, "{} leaves the grid", panel["title"]);
                    assert!(
                        taken.insert((x, y)),
                        "{} overlaps another panel",
                        panel["title"]
                    );
                }
            }
        }
        let bottom = taken.iter().map(|(_, y)| y + 1).max().unwrap_or(0);
        assert_eq!(
            u64::try_from(taken.len()),
            Ok(24 * bottom),
            "the grid has holes"
        );
    }
}

#[test]
fn every_variable_is_defined_and_replaced() {
    for query in panel_queries() {
        let rest = query.expr.replace("\"$1\"", "");
        assert!(!rest.contains('$'), "{}: {}", query.panel, query.expr);
    }
}

#[test]
fn queries_variables_and_legends_use_only_exposed_or_recorded_series() {
    let series = exposed_and_recorded();
    let mut problems = Vec::new();
    for query in panel_queries() {
        let at = format!("{}/{}", query.dashboard, query.panel);
        match series.labels_of(&query.expr) {
            Err(problem) => problems.push(format!("{at}: {problem}")),
            Ok(known) => problems.extend(
                legend_labels(&query.legend)
                    .filter(|label| !known.contains(*label))
                    .map(|label| {
                        format!("{at}: the legend names {label:?}, the answer has only {known:?}")
                    }),
            ),
        }
    }
    for query in variable_queries() {
        match series.labels_of(&query.series) {
            Ok(known) if known.contains(&query.label) => {}
            other => problems.push(format!("${}: {} of {other:?}", query.variable, query.label)),
        }
    }
    for expr in dashboards().iter().flat_map(Dashboard::annotations) {
        problems.extend(series.labels_of(&expr).err());
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn rates_use_the_range_variables_of_grafana() {
    for dashboard in dashboards() {
        for panel in dashboard.panels() {
            for target in list(&panel["targets"]) {
                let expr = text_of(target, "expr");
                let fixed = expr
                    .split('[')
                    .skip(1)
                    .find(|range| !range.starts_with("$__"));
                assert_eq!(fixed, None, "{}: {expr}", panel["title"]);
            }
        }
    }
}
