//! A real Prometheus that scrapes what a test names, and promtool.
//!
//! Both come from the machine's packages (`tests/setup.sh`). Nothing here knows a metric of ours.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::{Program, free_port, http, scratch_folder, wait_until};

const START: Duration = Duration::from_secs(30);
const NOT_INSTALLED: &str = "run tests/setup.sh, which installs Prometheus";
/// Where the links of alerts say that Grafana is.
pub(crate) const GRAFANA: &str = "http://grafana.invalid:3000";

/// A Prometheus with an empty storage of its own; dropping it ends it.
pub(crate) struct Prometheus {
    /// Ahead of the folder, so that it has ended when that goes.
    _program: Program,
    _folder: TempDir,
    address: SocketAddr,
    targets: usize,
    scrape_interval: Duration,
}

/// One element of an instant vector. A scalar is a sample without labels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Labels, `__name__` among them where the expression kept it.
    pub(crate) labels: BTreeMap<String, String>,
    /// The value; NaN and the infinities are possible.
    pub(crate) value: f64,
}

impl Prometheus {
    /// Starts it. It scrapes `/metrics` of every target under the job `rankgauge`, and evaluates
    /// the rule files as often as it scrapes.
    ///
    /// # Panics
    /// When it is not installed or refuses its configuration, with the end of its log.
    pub(crate) fn start(
        targets: &[SocketAddr],
        scrape_interval: Duration,
        rules: &[&Path],
    ) -> Self {
        Self::start_alerting(targets, scrape_interval, rules, None)
    }

    /// The same; what its rules alert goes to an Alertmanager.
    pub(crate) fn start_alerting(
        targets: &[SocketAddr],
        scrape_interval: Duration,
        rules: &[&Path],
        alertmanager: Option<SocketAddr>,
    ) -> Self {
        let folder = scratch_folder("prometheus");
        let settings = folder.path().join("prometheus.yaml");
        let mut text = configuration(targets, scrape_interval, rules);
        if let Some(address) = alertmanager {
            text.push_str(&alerting(address));
        }
        fs::write(&settings, text)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", settings.display()));
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut program = Program::start(
            "prometheus",
            Command::new("prometheus")
                .arg(format!("--config.file={}", settings.display()))
                .arg(format!(
                    "--storage.tsdb.path={}",
                    folder.path().join("data").display()
                ))
                .arg(format!("--web.listen-address={address}"))
                // Links in alerts name it as it can be reached.
                .arg(format!("--web.external-url=http://{address}")),
            folder.path(),
            folder.path().join("prometheus.log"),
            NOT_INSTALLED,
        );
        program.await_ready(address, START);
        Self {
            _program: program,
            _folder: folder,
            address,
            targets: targets.len(),
            scrape_interval,
        }
    }

    /// Where it serves its API, and its own `/metrics`.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Evaluates an expression now.
    ///
    /// # Panics
    /// When Prometheus refuses the expression, with its reason.
    pub(crate) fn query(&self, expr: &str) -> Vec<Sample> {
        self.evaluate(expr, None)
            .unwrap_or_else(|reason| panic!("{expr}: {reason}"))
    }

    /// Evaluates an expression at a time, in seconds since the epoch.
    ///
    /// # Panics
    /// When Prometheus refuses the expression, with its reason.
    pub(crate) fn query_at(&self, expr: &str, time: f64) -> Vec<Sample> {
        self.evaluate(expr, Some(time))
            .unwrap_or_else(|reason| panic!("{expr}: {reason}"))
    }

    /// Evaluates an expression, now or at a time; a refusal is its reason. For a test that wants
    /// to name all expressions that fail, not the first.
    pub(crate) fn evaluate(&self, expr: &str, time: Option<f64>) -> Result<Vec<Sample>, String> {
        let mut form = vec![("query", expr.to_owned())];
        form.extend(time.map(|time| ("time", time.to_string())));
        let answer = http()
            .post(format!("http://{}/api/v1/query", self.address))
            .send_form(form)
            .and_then(|mut response| response.body_mut().read_to_string())
            .map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        if answer["status"] != "success" {
            return Err(answer["error"]
                .as_str()
                .unwrap_or("no reason given")
                .to_owned());
        }
        samples(&answer["data"]).ok_or_else(|| format!("an answer of an unknown form: {answer}"))
    }

    /// Waits until every target has been scraped successfully `count` times more. One scrape may
    /// have been under way already: two mean that one began after the call.
    pub(crate) fn wait_for_scrapes(&self, count: u32) {
        let before = self.scrapes();
        let limit = START + self.scrape_interval * count * 3;
        wait_until(limit, "prometheus scrapes every target", || {
            let now = self.scrapes();
            let enough = now.iter().filter(|(target, scrapes)| {
                **scrapes >= before.get(*target).copied().unwrap_or(0.0) + f64::from(count)
            });
            (enough.count() == self.targets).then_some(())
        });
    }

    /// Successful scrapes so far, by target.
    fn scrapes(&self) -> BTreeMap<String, f64> {
        self.query(r#"sum_over_time(up{job="rankgauge"}[1d])"#)
            .into_iter()
            .filter_map(|mut sample| Some((sample.labels.remove("instance")?, sample.value)))
            .collect()
    }
}

/// Runs promtool: what it wrote, as `Err` where it failed.
///
/// # Panics
/// When it is not installed.
pub(crate) fn promtool<S: AsRef<std::ffi::OsStr>>(
    args: impl IntoIterator<Item = S>,
) -> Result<String, String> {
    promtool_with(args, "")
}

/// `promtool check metrics` on an exposition: `Err` with every complaint, also those that promtool
/// itself does not fail for.
///
/// # Panics
/// When it is not installed.
pub(crate) fn promtool_check_metrics(text: &str) -> Result<(), String> {
    let said = promtool_with(["check", "metrics"], text)?;
    if said.trim().is_empty() {
        Ok(())
    } else {
        Err(said)
    }
}

fn promtool_with<S: AsRef<std::ffi::OsStr>>(
    args: impl IntoIterator<Item = S>,
    input: &str,
) -> Result<String, String> {
    let mut child = Command::new("promtool")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start promtool: {error}; {NOT_INSTALLED}"));
    // promtool reads all of its input before it says anything, so neither pipe can fill up. It
    // may also end without reading, which its exit status tells better than a broken pipe.
    let written = child
        .stdin
        .take()
        .map(|mut stdin| stdin.write_all(input.as_bytes()));
    let output = child
        .wait_with_output()
        .unwrap_or_else(|error| panic!("cannot read what promtool says: {error}"));
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    match written {
        _ if !output.status.success() => Err(format!("{}: {said}", output.status)),
        Some(Err(error)) => Err(format!("promtool did not read its input: {error}; {said}")),
        _ => Ok(said),
    }
}

fn configuration(targets: &[SocketAddr], scrape_interval: Duration, rules: &[&Path]) -> String {
    let interval = scrape_interval.as_millis();
    let mut text = format!(
        "global:\n  scrape_interval: {interval}ms\n  scrape_timeout: {interval}ms\n  \
         evaluation_interval: {interval}ms\n  external_labels:\n    grafana_url: {GRAFANA}\n\
         rule_files:\n"
    );
    for rule in rules {
        let rule = fs::canonicalize(rule)
            .unwrap_or_else(|error| panic!("no rule file {}: {error}", rule.display()));
        writeln!(text, "  - {}", Value::from(rule.display().to_string()))
            .expect("invariant: writing to a string succeeds");
    }
    let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
    // JSON is YAML: a list of strings needs no writer of its own.
    let targets = Value::from(targets);
    text.push_str("scrape_configs:\n  - job_name: rankgauge\n    static_configs:\n");
    writeln!(text, "      - targets: {targets}").expect("invariant: writing to a string succeeds");
    text
}

/// Where alerts go, without the label of `prometheus.yaml` that only their links need.
fn alerting(address: SocketAddr) -> String {
    format!(
        "alerting:\n  alert_relabel_configs:\n    - {{action: labeldrop, regex: grafana_url}}\n  \
         alertmanagers:\n    - static_configs:\n        - targets: ['{address}']\n"
    )
}

/// The samples of an instant query's `data`; `None` for a form that such a query never has.
fn samples(data: &Value) -> Option<Vec<Sample>> {
    match data["resultType"].as_str()? {
        "scalar" => Some(vec![Sample {
            labels: BTreeMap::new(),
            value: point(&data["result"])?,
        }]),
        "vector" => data["result"]
            .as_array()?
            .iter()
            .map(|element| {
                let labels = element["metric"].as_object()?;
                Some(Sample {
                    labels: labels
                        .iter()
                        .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                        .collect::<Option<_>>()?,
                    value: point(&element["value"])?,
                })
            })
            .collect(),
        _ => None,
    }
}

/// The value of `[time, "value"]`.
fn point(pair: &Value) -> Option<f64> {
    pair.get(1)?.as_str()?.parse().ok()
}
