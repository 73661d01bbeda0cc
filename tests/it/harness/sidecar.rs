//! Built binary as its users run it, and its exposition.
//!
//! The sidecar starts with a configuration file, stops with signals, and is observed only over HTTP
//! and through its log. This module must not use the library.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitStatus, Output};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::{Program, http_get, scratch_folder, wait_until};

const START_TIMEOUT: Duration = Duration::from_secs(90);

/// Running `rankgauge run`; dropping it kills the process.
pub(crate) struct Sidecar {
    /// Declared before the folder: dropped first.
    program: Program,
    _folder: TempDir,
    address: SocketAddr,
}

impl Sidecar {
    /// Starts the sidecar on a free port with a configuration (YAML) and environment variables
    /// (`RANKGAUGE__WORKERS`, `2`). Waits until it serves its metrics.
    ///
    /// # Panics
    /// If it ends or does not serve in time, with the end of its log.
    pub(crate) fn start(configuration: &str, environment: &[(&str, &str)]) -> Self {
        Self::start_command("run", configuration, environment)
    }

    /// Starts `rankgauge gateway` in the same way.
    ///
    /// # Panics
    /// As [`Sidecar::start`].
    pub(crate) fn gateway(configuration: &str) -> Self {
        let address = [("RANKGAUGE__GATEWAY__LISTEN", "127.0.0.1:0")];
        Self::start_command("gateway", configuration, &address)
    }

    fn start_command(name: &str, configuration: &str, environment: &[(&str, &str)]) -> Self {
        let folder = scratch_folder("sidecar");
        let mut command = command(name, folder.path(), configuration);
        command.envs(environment.iter().copied());
        let mut program = Program::start(
            "rankgauge",
            &mut command,
            folder.path(),
            folder.path().join("rankgauge.log"),
            "build it with cargo build",
        );
        let address = wait_until(
            START_TIMEOUT,
            "rankgauge logs the address of its metrics",
            || {
                let address = served(&program.log(), "serving metrics", "/metrics");
                if address.is_none() {
                    program.assert_running();
                }
                address
            },
        );
        Self {
            program,
            _folder: folder,
            address,
        }
    }

    /// Runs the sidecar to its end with a configuration that it must reject. Returns its output.
    ///
    /// # Panics
    /// If it cannot be started.
    pub(crate) fn refused(configuration: &str) -> Output {
        let folder = scratch_folder("sidecar");
        let output = command("run", folder.path(), configuration).output();
        output.unwrap_or_else(|error| panic!("cannot start rankgauge: {error}"))
    }

    /// Address of `/metrics`.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Address of the API.
    pub(crate) fn admin_address(&self) -> SocketAddr {
        wait_until(
            START_TIMEOUT,
            "rankgauge logs the address of its API",
            || served(&self.log(), "serving API", "/api/v1/status"),
        )
    }

    pub(crate) fn gateway_address(&self) -> SocketAddr {
        wait_until(
            START_TIMEOUT,
            "rankgauge logs the address of its gateway",
            || served(&self.log(), "serving gateway", "/v1/searches"),
        )
    }

    /// Kills the process at once.
    pub(crate) fn kill(&mut self) {
        self.program.signal("KILL");
        wait_until(START_TIMEOUT, "the killed process ends", || {
            self.program.exit_status()
        });
    }

    /// Requests a path. Returns the status and the body.
    ///
    /// # Panics
    /// If there is no response.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        http_get(&format!("http://{}{path}", self.address))
            .unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    /// Requests a path of the API or of the page. Returns the status and the body.
    ///
    /// # Panics
    /// If there is no response.
    pub(crate) fn ask_admin(&self, path: &str) -> (u16, String) {
        http_get(&format!("http://{}{path}", self.admin_address()))
            .unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    /// Body of a screen of the page.
    ///
    /// # Panics
    /// If it is not served.
    pub(crate) fn page(&self, path: &str) -> String {
        let (status, body) = self.ask_admin(path);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Response of the API.
    ///
    /// # Panics
    /// If it is not served, or is not JSON.
    pub(crate) fn api(&self, path: &str) -> Value {
        let body = self.page(path);
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }

    /// Current exposition.
    ///
    /// # Panics
    /// If the response is not in the text format.
    pub(crate) fn metrics(&self) -> Exposition {
        let (status, body) = self.get("/metrics");
        assert_eq!(status, 200, "/metrics: {body}");
        Exposition::parse(&body).unwrap_or_else(|problem| panic!("/metrics: {problem}"))
    }

    /// Log of the sidecar so far.
    pub(crate) fn log(&self) -> String {
        self.program.log()
    }

    /// User and system time of the process in seconds, as Linux counts it: in steps of 10 ms.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let path = format!("/proc/{}/stat", self.program.id());
        let stat = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        // "1 (name) S …": fields 14 and 15 of the line are the 12th and 13th after the name.
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        let ticks = fields.split(' ').skip(11).take(2);
        let ticks = ticks.map(|it| it.parse::<f64>().expect("a number of ticks"));
        ticks.sum::<f64>() / 100.0
    }

    /// Highest resident memory of the process so far in bytes, as Linux counts it.
    pub(crate) fn peak_memory(&self) -> f64 {
        let path = format!("/proc/{}/status", self.program.id());
        let status =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = peak.and_then(|it| it.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        kibibytes.expect("a number of kibibytes") * 1024.0
    }

    /// Pauses the sidecar: it sends no responses and no heartbeats.
    pub(crate) fn pause(&self) {
        self.program.pause();
    }

    /// Resumes the sidecar after [`Sidecar::pause`].
    pub(crate) fn resume(&self) {
        self.program.resume();
    }

    /// Sends SIGHUP, which reloads the gold set.
    pub(crate) fn hang_up(&self) {
        self.program.signal("HUP");
    }

    /// Sends SIGTERM and waits up to `limit` for the end. Returns the exit status.
    ///
    /// # Panics
    /// If it has not ended by then, with the end of its log.
    pub(crate) fn terminate(&mut self, limit: Duration) -> ExitStatus {
        self.program.terminate(limit)
    }
}

/// Returns the command `name` on a free port. The configuration is written to `folder`.
fn command(name: &str, folder: &Path, configuration: &str) -> Command {
    let settings = folder.join("rankgauge.yaml");
    fs::write(&settings, configuration)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", settings.display()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankgauge"));
    // Settings in the environment of the developer must not affect the test.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RANKGAUGE__") {
            command.env_remove(name);
        }
    }
    command
        .args([name, "--config"])
        .arg(&settings)
        .env("NO_COLOR", "1")
        .env("RANKGAUGE__METRICS__LISTEN", "127.0.0.1:0")
        .env("RANKGAUGE__ADMIN__LISTEN", "127.0.0.1:0");
    command
}

/// Returns the address in a log line like `… metrics on http://127.0.0.1:9468/metrics …`.
fn served(log: &str, message: &str, path: &str) -> Option<SocketAddr> {
    let (_, after) = log.split_once(&format!("{message} url=\""))?;
    let (url, _) = after.split_once(path)?;
    let (_scheme, address) = url.split_once("://")?;
    address.parse().ok()
}

/// Parsed exposition in the text format of Prometheus (version 0.0.4).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exposition {
    /// Types (`# TYPE`), by metric family.
    pub(crate) kinds: BTreeMap<String, String>,
    /// Help texts (`# HELP`), by metric family, as written.
    pub(crate) helps: BTreeMap<String, String>,
    /// All samples, in order.
    pub(crate) samples: Vec<Exposed>,
}

/// Sample: one line of an exposition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exposed {
    /// Name of the sample, with `_bucket`, `_sum` or `_count` for a histogram.
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// Value exactly as written: sums are decimals with more digits than a float holds.
    pub(crate) text: String,
    /// Value as Prometheus parses it.
    pub(crate) value: f64,
}

impl Exposition {
    /// Parses a text. `Err` names the invalid line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut exposition = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let word = |rest: &str| {
                let (name, tail) = rest.split_once(' ').unwrap_or((rest, ""));
                (name.to_owned(), tail.to_owned())
            };
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                exposition.kinds.extend([word(rest)]);
            } else if let Some(rest) = line.strip_prefix("# HELP ") {
                exposition.helps.extend([word(rest)]);
            } else if !line.is_empty() && !line.starts_with('#') {
                let sample =
                    sample(line).ok_or_else(|| format!("line {number} is not a sample: {line}"))?;
                exposition.samples.push(sample);
            }
        }
        let mut series = BTreeSet::new();
        for sample in &exposition.samples {
            if !series.insert((&sample.name, &sample.labels)) {
                return Err(format!("a series has two samples: {sample:?}"));
            }
        }
        Ok(exposition)
    }

    /// Returns the samples of a name that have at least these labels.
    pub(crate) fn matching<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = &'a Exposed> {
        self.samples.iter().filter(move |sample| {
            sample.name == name
                && labels.iter().all(|(label, value)| {
                    sample
                        .labels
                        .get(*label)
                        .is_some_and(|found| found == value)
                })
        })
    }

    /// Returns the only sample that has exactly these labels.
    pub(crate) fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<&Exposed> {
        self.samples.iter().find(|sample| {
            sample.name == name
                && sample.labels.len() == labels.len()
                && labels.iter().all(|(label, value)| {
                    sample
                        .labels
                        .get(*label)
                        .is_some_and(|found| found == value)
                })
        })
    }

    /// Returns the value of the only sample that has exactly these labels.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        Some(self.get(name, labels)?.value)
    }

    /// Returns the sum over the samples that have at least these labels; 0 if there are none.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.matching(name, labels).map(|sample| sample.value).sum()
    }
}

/// `name{label="value",…} value [timestamp]`
fn sample(line: &str) -> Option<Exposed> {
    let name_end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(name_end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (BTreeMap::new(), rest),
    };
    let text = rest.split_whitespace().next()?;
    Some(Exposed {
        name: name.to_owned(),
        labels,
        text: text.to_owned(),
        value: text.parse().ok()?,
    })
}

/// Returns the labels up to the closing brace, and the rest of the line.
fn labels(mut rest: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, quoted) = rest.split_once("=\"")?;
        let (value, after) = label_value(quoted)?;
        // Prometheus rejects an exposition with a duplicate label.
        if labels.insert(name.to_owned(), value).is_some() {
            return None;
        }
        rest = after.strip_prefix(',').unwrap_or(after);
    }
}

/// Returns the unescaped value of a label, and the text after the closing quote.
fn label_value(quoted: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                plain @ ('\\' | '"') => plain,
                _ => return None,
            }),
            plain => value.push(plain),
        }
    }
    None
}
