//! The built binary as its users run it, and what it exposes.
//!
//! Started with a configuration file, stopped with signals, observed over HTTP and through its
//! log only: nothing here reaches into the library.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitStatus, Output};
use std::time::Duration;

use tempfile::TempDir;

use super::{Program, http_get, scratch_folder, wait_until};

const START: Duration = Duration::from_secs(30);

/// A running `rankgauge run`; dropping it kills it.
pub(crate) struct Sidecar {
    /// Ahead of the folder, so that it has ended when that goes.
    program: Program,
    _folder: TempDir,
    address: SocketAddr,
}

impl Sidecar {
    /// Starts it with a configuration (YAML) and settings of the environment
    /// (`RANKGAUGE__WORKERS`, `2`), and waits until it serves its metrics, on a free port.
    ///
    /// # Panics
    /// When it ends or serves nothing in time, with the end of its log.
    pub(crate) fn start(configuration: &str, environment: &[(&str, &str)]) -> Self {
        let folder = scratch_folder("sidecar");
        let mut command = command(folder.path(), configuration);
        command.envs(environment.iter().copied());
        let mut program = Program::start(
            "rankgauge",
            &mut command,
            folder.path(),
            folder.path().join("rankgauge.log"),
            "run cargo build, which makes it",
        );
        let address = wait_until(START, "rankgauge says where its metrics are", || {
            let address = served(&program.log(), "serving metrics", "/metrics");
            if address.is_none() {
                program.assert_running();
            }
            address
        });
        Self {
            program,
            _folder: folder,
            address,
        }
    }

    /// Runs it to its end with a configuration that it is to refuse; how that ended.
    ///
    /// # Panics
    /// When it cannot be started.
    pub(crate) fn refused(configuration: &str) -> Output {
        let folder = scratch_folder("sidecar");
        let output = command(folder.path(), configuration).output();
        output.unwrap_or_else(|error| panic!("cannot start rankgauge: {error}"))
    }

    /// Where it serves `/metrics`.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it serves its API.
    pub(crate) fn admin_address(&self) -> SocketAddr {
        wait_until(START, "rankgauge says where its API is", || {
            served(&self.log(), "serving API", "/api/v1/status")
        })
    }

    /// A page: status and body.
    ///
    /// # Panics
    /// When no answer comes.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        http_get(&format!("http://{}{path}", self.address))
            .unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    /// What it exposes now.
    ///
    /// # Panics
    /// When it exposes nothing, or what is not the text format.
    pub(crate) fn metrics(&self) -> Exposition {
        let (status, body) = self.get("/metrics");
        assert_eq!(status, 200, "/metrics: {body}");
        Exposition::parse(&body).unwrap_or_else(|problem| panic!("/metrics: {problem}"))
    }

    /// All that it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.program.log()
    }

    /// Freezes it: it answers nothing, and nobody hears of it.
    pub(crate) fn pause(&self) {
        self.program.pause();
    }

    /// Lets it go on after [`Sidecar::pause`].
    pub(crate) fn resume(&self) {
        self.program.resume();
    }

    /// Sends SIGTERM and gives it `limit` to end; how it ended.
    ///
    /// # Panics
    /// When it has not ended by then, with the end of its log.
    pub(crate) fn terminate(&mut self, limit: Duration) -> ExitStatus {
        self.program.terminate(limit)
    }
}

/// `rankgauge run` with this configuration, which is written to `folder`, on a free port.
fn command(folder: &Path, configuration: &str) -> Command {
    let settings = folder.join("rankgauge.yaml");
    fs::write(&settings, configuration)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", settings.display()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankgauge"));
    // What the developer has set for sidecars of their own is not the test's.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RANKGAUGE__") {
            command.env_remove(name);
        }
    }
    command
        .args(["run", "--config"])
        .arg(&settings)
        .env("NO_COLOR", "1")
        .env("RANKGAUGE__METRICS__LISTEN", "127.0.0.1:0")
        .env("RANKGAUGE__ADMIN__LISTEN", "127.0.0.1:0");
    command
}

/// The address in a log line like `… serving metrics url="http://127.0.0.1:9468/metrics"`.
fn served(log: &str, message: &str, path: &str) -> Option<SocketAddr> {
    let (_, after) = log.split_once(&format!("{message} url=\"http://"))?;
    let (address, _) = after.split_once(path)?;
    address.parse().ok()
}

/// Prometheus' text format (version 0.0.4), taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exposition {
    /// What `# TYPE` says, by family.
    pub(crate) kinds: BTreeMap<String, String>,
    /// What `# HELP` says, by family, as written.
    pub(crate) helps: BTreeMap<String, String>,
    /// All samples in their order.
    pub(crate) samples: Vec<Exposed>,
}

/// One line of an exposition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exposed {
    /// The sample's name, with `_bucket`, `_sum` or `_count` for a histogram's.
    pub(crate) name: String,
    /// Its labels.
    pub(crate) labels: BTreeMap<String, String>,
    /// The value exactly as written: sums are decimals with more digits than a float holds.
    pub(crate) text: String,
    /// The value as Prometheus reads it.
    pub(crate) value: f64,
}

impl Exposition {
    /// Takes a text apart; `Err` names the line that is not of the format.
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
                    sample(line).ok_or_else(|| format!("line {number} is no sample: {line}"))?;
                exposition.samples.push(sample);
            }
        }
        Ok(exposition)
    }

    /// The samples of a name that have at least these labels.
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

    /// The one sample that has exactly these labels.
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

    /// The value of the one sample that has exactly these labels.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        Some(self.get(name, labels)?.value)
    }

    /// The sum over the samples that have at least these labels; 0 where there are none.
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

/// The labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, quoted) = rest.split_once("=\"")?;
        let (value, after) = label_value(quoted)?;
        // A label given twice is an exposition that Prometheus refuses.
        if labels.insert(name.to_owned(), value).is_some() {
            return None;
        }
        rest = after.strip_prefix(',').unwrap_or(after);
    }
}

/// A label's value with its escapes undone, and what follows the closing quote.
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
