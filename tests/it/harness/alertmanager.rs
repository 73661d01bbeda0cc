//! Real Alertmanager with the shipped configuration, and a webhook that receives its notifications.
//!
//! It comes from the packages of the machine (`tests/setup.sh`). Only the durations
//! ([`SPEED`]: a minute becomes a second) and the address of the webhooks differ from the
//! shipped configuration. This module must not know the alerts of rankgauge.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::{Program, free_port, http, http_get, scratch_folder};

const START_TIMEOUT: Duration = Duration::from_secs(90);
const NOT_INSTALLED: &str = "run tests/setup.sh, which installs Alertmanager";
/// Names of the program: in Debian, and upstream.
const NAMES: [&str; 2] = ["prometheus-alertmanager", "alertmanager"];
/// Webhook address in the shipped example.
const EXAMPLE: &str = "http://localhost:5001/";

/// Acceleration of time: a minute is a second.
pub(crate) const SPEED: u64 = 60;

/// Running Alertmanager; dropping it ends the process.
pub(crate) struct Alertmanager {
    /// Declared before the folder: dropped first.
    _program: Program,
    _folder: TempDir,
    webhook: Webhook,
    address: SocketAddr,
}

/// Notification to a receiver: the alerts of a group.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Notification {
    /// Name of the receiver.
    pub(crate) receiver: String,
    /// Alerts of the group, without inhibited or silenced ones.
    pub(crate) alerts: Vec<Notified>,
}

/// Alert in a notification.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Notified {
    /// `firing` or `resolved`.
    pub(crate) status: String,
    /// All labels, including `alertname`.
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// Link to the expression in Prometheus.
    #[serde(rename = "generatorURL")]
    pub(crate) generator_url: String,
}

/// Alert in the Alertmanager.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Alert {
    pub(crate) labels: BTreeMap<String, String>,
    /// Identifier in [`AlertStatus::inhibited_by`].
    pub(crate) fingerprint: String,
    /// Notification status.
    pub(crate) status: AlertStatus,
}

/// Notification status of an alert, with the alerts that inhibit it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AlertStatus {
    /// `unprocessed`, `active` or `suppressed`.
    pub(crate) state: String,
    /// Fingerprints of the alerts that inhibit it.
    pub(crate) inhibited_by: Vec<String>,
}

impl Alertmanager {
    /// Starts Alertmanager with the accelerated example, and with webhooks that point to this
    /// process.
    ///
    /// # Panics
    /// If it is not installed or rejects the configuration, with the end of its log; if the example
    /// no longer sends to [`EXAMPLE`].
    pub(crate) fn start(example: &Path) -> Self {
        let folder = scratch_folder("alertmanager");
        let webhook = Webhook::listen();
        let text = fs::read_to_string(example)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", example.display()));
        assert!(
            text.contains(EXAMPLE),
            "the example sends nothing to {EXAMPLE}"
        );
        let text =
            accelerated(&text, SPEED).replace(EXAMPLE, &format!("http://{}/", webhook.address));
        let settings = folder.path().join("alertmanager.yaml");
        fs::write(&settings, text)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", settings.display()));
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut program = Program::start(
            "alertmanager",
            Command::new(name())
                .arg(format!("--config.file={}", settings.display()))
                .arg(format!(
                    "--storage.path={}",
                    folder.path().join("data").display()
                ))
                .arg(format!("--web.listen-address={address}"))
                // Single node: no cluster peers.
                .arg("--cluster.listen-address="),
            folder.path(),
            folder.path().join("alertmanager.log"),
            NOT_INSTALLED,
        );
        program.await_ready(address, START_TIMEOUT);
        Self {
            _program: program,
            _folder: folder,
            webhook,
            address,
        }
    }

    /// Address of its API, which also receives alerts.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends alerts as Prometheus does: a list of `{"labels": {…}}`.
    ///
    /// # Panics
    /// If Alertmanager rejects them, with its reason.
    pub(crate) fn post(&self, alerts: &Value) {
        let answer = http()
            .post(format!("http://{}/api/v2/alerts", self.address))
            .header("Content-Type", "application/json")
            .send(alerts.to_string())
            .unwrap_or_else(|error| panic!("POST /api/v2/alerts: {error}"));
        let status = answer.status();
        let reason = answer.into_body().read_to_string();
        assert_eq!(status, 200, "{alerts}: {reason:?}");
    }

    /// Current alerts, sent or not.
    ///
    /// # Panics
    /// If Alertmanager does not respond.
    pub(crate) fn alerts(&self) -> Vec<Alert> {
        let url = format!("http://{}/api/v2/alerts", self.address);
        let (_, text) = http_get(&url).unwrap_or_else(|error| panic!("GET {url}: {error}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("GET {url}: {error}: {text}"))
    }

    /// All notifications so far, to all receivers.
    pub(crate) fn notifications(&self) -> Vec<Notification> {
        let received = self.webhook.received.lock();
        received.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Alerts of this name that were sent as firing, with their receiver.
    pub(crate) fn firing(&self, alert: &str) -> Vec<(String, Notified)> {
        let of_group = |notification: Notification| {
            let receiver = notification.receiver;
            notification
                .alerts
                .into_iter()
                .map(move |alert| (receiver.clone(), alert))
        };
        self.notifications()
            .into_iter()
            .flat_map(of_group)
            .filter(|(_, sent)| sent.status == "firing" && sent.labels["alertname"] == alert)
            .collect()
    }
}

/// Returns the installed name of the program.
fn name() -> &'static str {
    let there = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    NAMES.iter().find(there).copied().unwrap_or(NAMES[0])
}

/// Returns a configuration or rules with every duration (`5m`, `1h`, `30s`) divided by `speed`.
/// Only whole words are replaced: durations within names stay unchanged.
fn accelerated(text: &str, speed: u64) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let inside_a_word = rest[..start]
            .chars()
            .next_back()
            .or(result.chars().next_back())
            .is_some_and(|c| c.is_alphanumeric() || "_.".contains(c));
        let (before, word) = rest.split_at(start);
        let end = word
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        result.push_str(before);
        match duration(word) {
            Some(milliseconds) if !inside_a_word => {
                result.push_str(&(milliseconds / speed).to_string());
                result.push_str("ms");
            }
            _ => result.push_str(word),
        }
        rest = after;
    }
    result.push_str(rest);
    result
}

/// Returns the milliseconds of a Prometheus duration with one unit.
fn duration(word: &str) -> Option<u64> {
    let unit = word.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = word.split_at(unit);
    let milliseconds = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()? * milliseconds)
}

/// Writes the shipped rules, accelerated by `speed`, to `folder`. Returns the files.
///
/// # Panics
/// If they cannot be read or written.
pub(crate) fn accelerated_rules(rules: &Path, folder: &Path, speed: u64) -> Vec<PathBuf> {
    let files = fs::read_dir(rules)
        .unwrap_or_else(|error| panic!("cannot list {}: {error}", rules.display()));
    files
        .flatten()
        .filter(|file| file.file_name().to_string_lossy().ends_with(".yaml"))
        .map(|file| {
            let text = fs::read_to_string(file.path())
                .unwrap_or_else(|error| panic!("cannot read {}: {error}", file.path().display()));
            let path = folder.join(file.file_name());
            fs::write(&path, accelerated(&text, speed))
                .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
            path
        })
        .collect()
}

/// Server that parses every POST as a notification; dropping it ends the server.
struct Webhook {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Notification>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Webhook {
    fn listen() -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .unwrap_or_else(|error| panic!("no port for the webhook: {error}"));
        let address = listener
            .local_addr()
            .unwrap_or_else(|error| panic!("no address of the webhook: {error}"));
        let received = Arc::new(Mutex::new(Vec::new()));
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&received);
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap_or_else(|error| panic!("no runtime for the webhook: {error}"));
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener, shared) => {}
                    // Dropped or sent: the test has ended in both cases.
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            received,
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Its panic was printed; a destructor cannot do more.
            drop(thread.join());
        }
    }
}

async fn serve(listener: std::net::TcpListener, received: Arc<Mutex<Vec<Notification>>>) {
    let listener = TcpListener::from_std(listener)
        .unwrap_or_else(|error| panic!("the webhook cannot listen: {error}"));
    while let Ok((stream, _)) = listener.accept().await {
        let received = Arc::clone(&received);
        tokio::spawn(async move {
            let service = service_fn(|request| take(request, &received));
            // The sender retries after a broken connection.
            drop(
                http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await,
            );
        });
    }
}

async fn take(
    request: Request<Incoming>,
    received: &Mutex<Vec<Notification>>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    let body = body
        .unwrap_or_else(|error| panic!("incomplete notification: {error}"))
        .to_bytes();
    let notification = serde_json::from_slice(&body)
        .unwrap_or_else(|error| panic!("invalid notification: {error}: {body:?}"));
    let mut all = received.lock().unwrap_or_else(PoisonError::into_inner);
    all.push(notification);
    Ok(Response::new(Empty::new()))
}

#[test]
fn durations_are_accelerated_and_names_that_end_like_one_are_not() {
    let rule = "for: 5m\nexpr: a:rate1h[1d:30s] offset 1h > 0.5 - 120 * b:p95_rate5m";
    let faster =
        "for: 5000ms\nexpr: a:rate1h[1440000ms:500ms] offset 60000ms > 0.5 - 120 * b:p95_rate5m";
    assert_eq!(accelerated(rule, 60), faster);
}
