//! Real Prometheus that scrapes the targets of a test, and promtool.
//!
//! Both come from the packages of the machine (`tests/setup.sh`). This module must not know the
//! metrics of rankgauge.

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

const START_TIMEOUT: Duration = Duration::from_secs(90);
/// Garbage collection of programs in Go: the default of 100 takes a third of the time of Prometheus and its tools.
pub(crate) const GOGC: &str = "800";
const NOT_INSTALLED: &str = "run tests/setup.sh, which installs Prometheus";
/// Address of Grafana in the links of alerts.
pub(crate) const GRAFANA: &str = "http://grafana.invalid:3000";
/// Address of the live page in the links of alerts.
pub(crate) const PAGE: &str = "http://rankgauge.invalid:9469";

/// Prometheus with an empty storage; dropping it ends the process.
pub(crate) struct Prometheus {
    /// Declared before the folder: dropped first.
    _program: Program,
    _folder: TempDir,
    address: SocketAddr,
    targets: usize,
    scrape_interval: Duration,
}

/// Element of an instant vector. A scalar is a sample without labels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Labels, including `__name__` if the expression keeps it.
    pub(crate) labels: BTreeMap<String, String>,
    /// Value; NaN and the infinities are possible.
    pub(crate) value: f64,
}

impl Prometheus {
    /// Starts Prometheus. It scrapes `/metrics` of every target under the job `rankgauge`, and
    /// evaluates the rule files at the scrape interval.
    ///
    /// # Panics
    /// If it is not installed or rejects its configuration, with the end of its log.
    pub(crate) fn start(
        targets: &[SocketAddr],
        scrape_interval: Duration,
        rules: &[&Path],
    ) -> Self {
        Self::start_alerting(targets, scrape_interval, rules, None)
    }

    /// Starts Prometheus with an Alertmanager for its alerts.
    pub(crate) fn start_alerting(
        targets: &[SocketAddr],
        scrape_interval: Duration,
        rules: &[&Path],
        alertmanager: Option<SocketAddr>,
    ) -> Self {
        let mut text = configuration(targets, scrape_interval, rules);
        if let Some(address) = alertmanager {
            text.push_str(&alerting(address));
        }
        let folder = scratch_folder("prometheus");
        let storage = folder.path().join("data");
        let (program, address) = launch(folder.path(), &storage, &text, &[]);
        Self {
            _program: program,
            _folder: folder,
            address,
            targets: targets.len(),
            scrape_interval,
        }
    }

    /// Starts Prometheus with samples of the past (OpenMetrics) in its storage, and with the values that
    /// the recording rules of the file `recorded` have for them, one each `interval`. It then scrapes
    /// `target`, whose samples have the labels of their own scrape, and sends alerts to `alertmanager`.
    pub(crate) fn start_after(
        past: &str,
        (recorded, rules): (&Path, &[&Path]),
        interval: Duration,
        target: SocketAddr,
        alertmanager: SocketAddr,
    ) -> Self {
        let folder = scratch_folder("prometheus");
        let storage = folder.path().join("data");
        backfill(folder.path(), &storage, past, recorded, interval);
        let text = configuration(&[target], interval, rules).replace(
            "job_name: rankgauge\n",
            "job_name: samples\n    honor_labels: true\n",
        ) + &alerting(alertmanager);
        // Alerts that fire before Prometheus has discovered the Alertmanager are sent again soon.
        let options = ["--rules.alert.resend-delay=1s"];
        let (program, address) = launch(folder.path(), &storage, &text, &options);
        Self {
            _program: program,
            _folder: folder,
            address,
            targets: 1,
            scrape_interval: interval,
        }
    }

    /// Address of its API and its `/metrics`.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Evaluates an expression now.
    ///
    /// # Panics
    /// If Prometheus rejects the expression, with its reason.
    pub(crate) fn query(&self, expr: &str) -> Vec<Sample> {
        self.evaluate(expr, None)
            .unwrap_or_else(|reason| panic!("{expr}: {reason}"))
    }

    /// Evaluates an expression at a time, in seconds since the epoch.
    ///
    /// # Panics
    /// If Prometheus rejects the expression, with its reason.
    pub(crate) fn query_at(&self, expr: &str, time: f64) -> Vec<Sample> {
        self.evaluate(expr, Some(time))
            .unwrap_or_else(|reason| panic!("{expr}: {reason}"))
    }

    /// Evaluates an expression, now or at a time. Returns the reason of a rejection, for tests that
    /// report all failed expressions instead of the first.
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

    /// Waits for `count` more successful scrapes of every target. One scrape may be in progress
    /// already: two guarantee that one started after the call.
    pub(crate) fn wait_for_scrapes(&self, count: u32) {
        let before = self.scrapes();
        let limit = START_TIMEOUT + self.scrape_interval * count * 3;
        wait_until(limit, "prometheus scrapes every target", || {
            let now = self.scrapes();
            let enough = now.iter().filter(|(target, scrapes)| {
                **scrapes >= before.get(*target).copied().unwrap_or(0.0) + f64::from(count)
            });
            (enough.count() == self.targets).then_some(())
        });
    }

    /// Number of successful scrapes so far, by target.
    fn scrapes(&self) -> BTreeMap<String, f64> {
        self.query(r#"sum_over_time(up{job="rankgauge"}[1d])"#)
            .into_iter()
            .filter_map(|mut sample| Some((sample.labels.remove("instance")?, sample.value)))
            .collect()
    }
}

/// Runs promtool. Returns its output, as `Err` if it failed.
///
/// # Panics
/// If it is not installed.
pub(crate) fn promtool<S: AsRef<std::ffi::OsStr>>(
    args: impl IntoIterator<Item = S>,
) -> Result<String, String> {
    promtool_with(args, "")
}

/// Runs `promtool check metrics` on an exposition. Returns `Err` with all problems, including those
/// for which promtool does not fail.
///
/// # Panics
/// If it is not installed.
pub(crate) fn promtool_check_metrics(text: &str) -> Result<(), String> {
    let output = promtool_with(["check", "metrics"], text)?;
    if output.trim().is_empty() {
        Ok(())
    } else {
        Err(output)
    }
}

fn promtool_with<S: AsRef<std::ffi::OsStr>>(
    args: impl IntoIterator<Item = S>,
    input: &str,
) -> Result<String, String> {
    let mut child = Command::new("promtool")
        .args(args)
        .env("GOGC", GOGC)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start promtool: {error}; {NOT_INSTALLED}"));
    // promtool reads all of its input before it writes, so neither pipe can fill up. It may also
    // end without reading; its exit status is then a better error than the broken pipe.
    let written = child
        .stdin
        .take()
        .map(|mut stdin| stdin.write_all(input.as_bytes()));
    let output = child
        .wait_with_output()
        .unwrap_or_else(|error| panic!("cannot read the output of promtool: {error}"));
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    match written {
        _ if !output.status.success() => Err(format!("{}: {text}", output.status)),
        Some(Err(error)) => Err(format!("promtool did not read its input: {error}; {text}")),
        _ => Ok(text),
    }
}

/// Starts Prometheus on `storage` and waits until it is ready. Returns its address.
fn launch(
    folder: &Path,
    storage: &Path,
    configuration: &str,
    options: &[&str],
) -> (Program, SocketAddr) {
    let settings = folder.join("prometheus.yaml");
    fs::write(&settings, configuration)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", settings.display()));
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let mut program = Program::start(
        "prometheus",
        Command::new("prometheus")
            .env("GOGC", GOGC)
            .arg(format!("--config.file={}", settings.display()))
            .arg(format!("--storage.tsdb.path={}", storage.display()))
            .arg(format!("--web.listen-address={address}"))
            // Links in alerts need its reachable address.
            .arg(format!("--web.external-url=http://{address}"))
            .args(options),
        folder,
        folder.join("prometheus.log"),
        NOT_INSTALLED,
    );
    program.await_ready(address, START_TIMEOUT);
    (program, address)
}

/// Writes samples (OpenMetrics) and the values of recording rules for them to `storage`.
///
/// # Panics
/// If promtool rejects them, with its reason.
fn backfill(folder: &Path, storage: &Path, past: &str, recorded: &Path, interval: Duration) {
    let failed = |reason: String| -> String { panic!("no blocks of the past: {reason}") };
    let samples = folder.join("past.openmetrics");
    fs::write(&samples, past)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", samples.display()));
    let create = ["tsdb", "create-blocks-from"];
    let paths = [samples.as_path(), storage, recorded];
    let [samples, blocks, recorded] = paths.map(|path| path.display().to_string());
    promtool(create.into_iter().chain(["openmetrics", &samples, &blocks])).unwrap_or_else(failed);
    let times = past
        .lines()
        .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
    let (start, end) = times.fold((f64::MAX, f64::MIN), |(start, end), time| {
        (start.min(time), end.max(time))
    });
    // promtool evaluates the rules by queries to a Prometheus.
    let reader = scratch_folder("prometheus");
    let (_program, address) = launch(reader.path(), storage, "global: {}\n", &[]);
    let options = [
        format!("--url=http://{address}"),
        format!("--start={start:.3}"),
        // Exclusive, and after the start even if there is only one time.
        format!("--end={:.3}", end + 0.001),
        format!("--eval-interval={}ms", interval.as_millis()),
        format!("--output-dir={blocks}"),
        recorded,
    ];
    let options = options.iter().map(String::as_str);
    promtool(create.into_iter().chain(["rules"]).chain(options)).unwrap_or_else(failed);
}

fn configuration(targets: &[SocketAddr], scrape_interval: Duration, rules: &[&Path]) -> String {
    let interval = scrape_interval.as_millis();
    let mut text = format!(
        "global:\n  scrape_interval: {interval}ms\n  scrape_timeout: {interval}ms\n  \
         evaluation_interval: {interval}ms\n  external_labels:\n    grafana_url: {GRAFANA}\n    \
         rankgauge_url: {PAGE}\n\
         rule_files:\n"
    );
    for rule in rules {
        let rule = fs::canonicalize(rule)
            .unwrap_or_else(|error| panic!("no rule file {}: {error}", rule.display()));
        writeln!(text, "  - {}", Value::from(rule.display().to_string()))
            .expect("invariant: writing to a string succeeds");
    }
    let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
    // JSON is YAML: a list of strings needs no YAML writer.
    let targets = Value::from(targets);
    text.push_str("scrape_configs:\n  - job_name: rankgauge\n    static_configs:\n");
    writeln!(text, "      - targets: {targets}").expect("invariant: writing to a string succeeds");
    text
}

/// Alerting configuration, without the labels of `prometheus.yaml` that only the links need.
fn alerting(address: SocketAddr) -> String {
    format!(
        "alerting:\n  alert_relabel_configs:\n    - {{action: labeldrop, regex: grafana_url|rankgauge_url}}\n  \
         alertmanagers:\n    - static_configs:\n        - targets: ['{address}']\n"
    )
}

/// Returns the samples of an instant query's `data`, or `None` for an unknown form.
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

/// Returns the value of `[time, "value"]`.
fn point(pair: &Value) -> Option<f64> {
    pair.get(1)?.as_str()?.parse().ok()
}
