//! HTTP tests of the metrics listener at the level of bytes, and replacement of the gold set at run
//! time. Neither needs a broker.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use rankgauge_lab::corpus::Corpus;
use serde_json::json;
use tempfile::TempDir;

use super::{SOON, count, start};
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::{free_port, wait_until};

/// Time limit for a response while other clients are slow, which are disconnected after ten seconds.
const PROMPT: Duration = Duration::from_secs(9);

/// Response as received.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Header lines, in lower case.
    headers: Vec<String>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Sends a request and reads the response to its end. Each header in `headers` ends with a line
/// break.
fn ask(address: SocketAddr, method: &str, path: &str, headers: &str) -> Answer {
    let headers = format!("Host: sidecar\r\n{headers}");
    ask_as_written(address, method, path, &headers)
}

/// Like [`ask`], but sends only `headers` and the header that closes the connection.
pub(super) fn ask_as_written(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
) -> Answer {
    ask_with_body(address, method, path, headers, "")
}

/// Like [`ask_as_written`], with a body whose length is among the headers.
pub(super) fn ask_with_body(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Answer {
    let mut connection = TcpStream::connect(address).expect("the sidecar listens");
    connection
        .set_read_timeout(Some(SOON))
        .expect("a limit can be set");
    write!(
        connection,
        "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n{body}"
    )
    .expect("the request is sent");
    let mut bytes = Vec::new();
    connection
        .read_to_end(&mut bytes)
        .unwrap_or_else(|error| panic!("{method} {path}: {error}"));
    let end = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("a head ends with an empty line");
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let mut lines = head.lines().map(str::to_owned);
    let status = lines.next().expect("a head has a first line");
    Answer {
        status: status[9..12].parse().expect("a status is a number"),
        headers: lines.collect(),
        body: bytes[end + 4..].to_vec(),
    }
}

/// Sidecar whose broker never exists, with these gold files.
fn alone(gold: &[&Path]) -> Sidecar {
    start(&json!({
        "kafka": {"brokers": format!("127.0.0.1:{}", free_port())},
        "publish_interval": "200ms",
        "gold": {"paths": gold, "reload_interval": "50ms"},
    }))
}

#[test]
fn metrics_use_the_text_format_and_gzip_only_on_request() {
    let sidecar = alone(&[]);
    // Fewer series are exposed before the first snapshot of the worker is published.
    wait_until(SOON, "the worker shows what it has", || {
        let labels = [("worker", "0")];
        sidecar
            .metrics()
            .value("rankgauge_snapshot_age_seconds", &labels)
    });
    let plain = ask(sidecar.address(), "GET", "/metrics", "");
    assert_eq!(plain.status, 200);
    assert_eq!(
        plain.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(plain.header("vary"), Some("accept-encoding"));
    let plain = String::from_utf8(plain.body).expect("the exposition is UTF-8");

    let packed = ask(
        sidecar.address(),
        "GET",
        "/metrics",
        "Accept-Encoding: br, gzip;q=0.5\r\n",
    );
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() < plain.len() / 2);
    let mut unpacked = String::new();
    GzDecoder::new(packed.body.as_slice())
        .read_to_string(&mut unpacked)
        .expect("the body is gzip");
    let [plain, unpacked] =
        [plain, unpacked].map(|text| Exposition::parse(&text).expect("the text format"));
    assert_eq!(unpacked.helps, plain.helps);
    assert_eq!(unpacked.kinds, plain.kinds);

    for refusal in [
        "identity",
        "gzip;q=0",
        "gzip; q=0.000",
        "GZIP ; Q=0.0",
        "gzip;q=0, *",
        "identity, gzip;q=0",
        "br",
    ] {
        let header = format!("Accept-Encoding: {refusal}\r\n");
        let answer = ask(sidecar.address(), "GET", "/metrics", &header);
        assert_eq!(answer.header("content-encoding"), None, "{refusal}");
    }
}

#[test]
fn pages_accept_only_get_and_head() {
    let sidecar = alone(&[]);
    let address = sidecar.address();
    for (path, status) in [
        ("/", 200),
        ("/metrics", 200),
        ("/metrics?name=up", 200),
        ("/healthz", 200),
        ("/readyz", 503),
        ("/metric", 404),
        ("/metrics/", 404),
    ] {
        let page = ask(address, "GET", path, "");
        assert_eq!(page.status, status, "GET {path}");
        assert!(!page.body.is_empty(), "GET {path}");
        let head = ask(address, "HEAD", path, "");
        assert_eq!(head.status, status, "HEAD {path}");
        assert!(head.body.is_empty(), "HEAD {path}");
        assert_eq!(head.header("content-type"), page.header("content-type"));
        for method in ["POST", "PUT", "DELETE", "BREW"] {
            let refused = ask(address, method, path, "");
            assert_eq!(refused.status, 405, "{method} {path}");
            assert_eq!(refused.header("allow"), Some("get, head"));
        }
    }
}

#[test]
fn slow_clients_do_not_delay_other_requests() {
    let sidecar = alone(&[]);
    let dawdlers: Vec<TcpStream> = (0..20)
        .map(|number| {
            let mut connection = TcpStream::connect(sidecar.address()).expect("it listens");
            let request: &[u8] = if number % 2 == 0 {
                // Incomplete request, followed by nothing.
                b"GET /metrics HTT"
            } else {
                // Complete request whose response is never read.
                b"GET /metrics HTTP/1.1\r\nHost: sidecar\r\n\r\n"
            };
            connection.write_all(request).expect("the request is sent");
            connection
        })
        .collect();
    for path in ["/metrics", "/healthz"] {
        let started = Instant::now();
        assert_eq!(ask(sidecar.address(), "GET", path, "").status, 200);
        let took = started.elapsed();
        assert!(took < PROMPT, "{path}: {took:?}");
    }
    drop(dawdlers);
}

/// Folder with the layout of a mounted ConfigMap in Kubernetes: the file is a symbolic link through
/// `..data`, which is swapped from the folder of one version to the folder of the next.
fn mount(folder: &Path, version: &str, gold: &str) {
    let data = folder.join(format!("..{version}"));
    fs::create_dir(&data).expect("a folder can be made");
    fs::write(data.join("gold.json"), gold).expect("a file can be written");
    let link = folder.join("..data_tmp");
    symlink(&data, &link).expect("a link can be made");
    fs::rename(&link, folder.join("..data")).expect("a link can be swapped");
    let file = folder.join("gold.json");
    if !file.exists() {
        symlink("..data/gold.json", &file).expect("a link can be made");
    }
}

/// Version and hash of the gold set in use.
fn gold_info(exposition: &Exposition) -> Vec<(String, String)> {
    exposition
        .matching("rankgauge_gold_info", &[])
        .map(|sample| {
            (
                sample.labels["version"].clone(),
                sample.labels["sha256"].clone(),
            )
        })
        .collect()
}

fn reloads(exposition: &Exposition, result: &str) -> u64 {
    count(
        exposition,
        "rankgauge_gold_reloads_total",
        &[("result", result)],
    )
}

fn wait_for_version(sidecar: &Sidecar, version: &str) -> Exposition {
    wait_until(SOON, &format!("gold set {version} is in use"), || {
        let exposition = sidecar.metrics();
        let in_use = gold_info(&exposition);
        // The listener answers before the first gold set is loaded.
        let is_newest = in_use.first().is_some_and(|(it, _)| it == version);
        is_newest.then_some(exposition)
    })
}

#[test]
fn replaced_gold_set_takes_effect_and_an_invalid_one_is_ignored() {
    let [first, second] = [1, 2].map(|seed| Corpus::generate(seed, 30).gold_json());
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    let file = folder.path().join("gold.json");
    fs::write(&file, &first).expect("a file can be written");
    let sidecar = alone(&[&file]);
    let before = wait_for_version(&sidecar, "demo-1");
    assert_eq!(gold_info(&before).len(), 1);
    assert_eq!(
        (reloads(&before, "success"), reloads(&before, "failure")),
        (1, 0)
    );

    fs::write(&file, "{\"version\": \"demo-2\", \"queries\": [").expect("a file can be written");
    let broken = wait_until(SOON, "the failure is counted", || {
        let exposition = sidecar.metrics();
        (reloads(&exposition, "failure") > 0).then_some(exposition)
    });
    assert_eq!(gold_info(&broken), gold_info(&before));
    assert_eq!(
        broken.value("rankgauge_gold_queries", &[]),
        before.value("rankgauge_gold_queries", &[])
    );
    assert_eq!(reloads(&broken, "success"), 1);
    wait_until(SOON, "the log says what is wrong", || {
        sidecar
            .log()
            .contains("gold set reload failed; the previous set stays in use")
            .then_some(())
    });

    fs::write(&file, &second).expect("a file can be written");
    let after = wait_for_version(&sidecar, "demo-2");
    assert_eq!(gold_info(&after).len(), 1);
    assert_ne!(gold_info(&after)[0].1, gold_info(&before)[0].1);
    assert_eq!(reloads(&after, "success"), 2);
}

#[test]
fn gold_set_is_reloaded_when_kubernetes_swaps_the_configmap() {
    let [first, second] = [1, 2].map(|seed| Corpus::generate(seed, 30).gold_json());
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    mount(folder.path(), "2026_01", &first);
    let sidecar = alone(&[folder.path()]);
    wait_for_version(&sidecar, "demo-1");

    mount(folder.path(), "2026_02", &second);

    let swapped = wait_for_version(&sidecar, "demo-2");
    assert_eq!(reloads(&swapped, "success"), 2);
    assert_eq!(reloads(&swapped, "failure"), 0);
}
