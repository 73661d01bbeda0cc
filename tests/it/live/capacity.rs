//! Clients that never read, that send nothing, or that are too many: other clients are served, and
//! probes always.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;

use super::http::ask_as_written;
use super::{SOON, start};
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::{free_port, wait_until};

/// Time limit of a probe in the shipped deployment.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Sidecar whose broker never exists.
fn alone() -> Sidecar {
    start(&json!({
        "kafka": {"brokers": format!("127.0.0.1:{}", free_port())},
        "publish_interval": "200ms",
    }))
}

fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let answer = ask_as_written(address, "GET", path, "Host: localhost\r\n");
    let body = String::from_utf8(answer.body).expect("UTF-8");
    (answer.status, body)
}

/// Checks that the probes of both listeners answer as fast as the shipped deployment requires. On a busy machine,
/// an answer may be late; a container is restarted after six late answers in a row.
fn assert_probes_answer(sidecar: &Sidecar) {
    const ATTEMPTS: usize = 6;
    for address in [sidecar.address(), sidecar.admin_address()] {
        for path in ["/healthz", "/-/healthy", "/readyz", "/-/ready"] {
            let is_prompt = (0..ATTEMPTS).any(|_| {
                let started = Instant::now();
                let (status, body) = get(address, path);
                let expected = if path.contains("health") { 200 } else { 503 };
                assert_eq!(status, expected, "{path}: {body}");
                started.elapsed() < PROBE_TIMEOUT
            });
            assert!(is_prompt, "{path}");
        }
    }
}

/// Connection with many requests for a path whose responses are never read.
fn never_reads(address: SocketAddr, path: &str) -> TcpStream {
    let mut connection = TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    connection
        .set_write_timeout(Some(SOON))
        .expect("a limit can be set");
    connection
        .write_all(request.repeat(2_000).as_bytes())
        .expect("the requests are sent");
    connection
}

#[test]
fn probes_answer_while_clients_never_read_and_others_send_nothing() {
    let sidecar = alone();
    let address = sidecar.address();
    let silent: Vec<TcpStream> = (0..300)
        .map(|_| TcpStream::connect(address).expect("it listens"))
        .collect();
    let greedy: Vec<TcpStream> = (0..64).map(|_| never_reads(address, "/metrics")).collect();
    assert_probes_answer(&sidecar);
    let (status, body) = wait_until(SOON, "the capacity is used up", || {
        let (status, body) = get(address, "/metrics");
        assert_probes_answer(&sidecar);
        (status == 503).then_some((status, body))
    });
    assert_eq!(status, 503);
    assert_eq!(
        body,
        "16 requests are in progress, the maximum of this listener; retry later\n"
    );
    drop(greedy);
    drop(silent);
    let exposition = wait_until(SOON, "scrapes are served again", || {
        let (status, body) = get(address, "/metrics");
        (status == 200).then(|| Exposition::parse(&body).expect("the text format"))
    });
    let listener = ("listener", "metrics");
    let rejected = exposition.value(
        "rankgauge_http_rejected_requests_total",
        &[listener, ("reason", "capacity")],
    );
    assert!(rejected.is_some_and(|count| count >= 1.0), "{rejected:?}");
    let closed = |reason| {
        let labels = [listener, ("reason", reason)];
        exposition.value("rankgauge_http_closed_connections_total", &labels)
    };
    // The silent connections alone exceed the maximum of 256.
    let replaced = closed("capacity");
    assert!(replaced.is_some_and(|count| count >= 44.0), "{replaced:?}");
    assert!(closed("slow_request").is_some());
    assert!(closed("slow_response").is_some());
}

#[test]
fn admin_requests_beyond_the_capacity_are_rejected_as_json() {
    let sidecar = alone();
    let address = sidecar.admin_address();
    let greedy: Vec<TcpStream> = (0..32)
        .map(|_| never_reads(address, "/api/v1/snapshot"))
        .collect();
    let body = wait_until(SOON, "the capacity is used up", || {
        let (status, body) = get(address, "/api/v1/status");
        assert_probes_answer(&sidecar);
        (status == 503).then_some(body)
    });
    let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let error = body["detail"].as_str().expect("a sentence");
    assert!(error.contains("the maximum of this listener"), "{error}");
    drop(greedy);
}

#[test]
fn incomplete_requests_are_closed_after_ten_seconds() {
    let sidecar = alone();
    let started = Instant::now();
    let connections = [
        (sidecar.address(), ""),
        (sidecar.address(), "GET /metrics HTT"),
        (sidecar.admin_address(), "GET /api/v1/status HTTP/1.1\r\n"),
    ]
    .map(|(address, beginning)| {
        let mut connection = TcpStream::connect(address).expect("it listens");
        connection
            .write_all(beginning.as_bytes())
            .expect("the beginning is sent");
        (connection, beginning)
    });
    for (mut connection, beginning) in connections {
        connection
            .set_read_timeout(Some(SOON))
            .expect("a limit can be set");
        let read = connection.read(&mut [0; 1]);
        assert!(matches!(read, Ok(0)), "{beginning:?}: {read:?}");
    }
    let elapsed = started.elapsed();
    assert!(elapsed >= Duration::from_secs(9), "{elapsed:?}");
    let closed = sidecar.metrics().value(
        "rankgauge_http_closed_connections_total",
        &[("listener", "metrics"), ("reason", "slow_request")],
    );
    assert_eq!(closed, Some(2.0));
}

#[test]
fn concurrent_scrapes_share_expositions() {
    const SCRAPES: usize = 12;
    let sidecar = alone();
    // On a busy machine, the sidecar may read a request only after it has answered the one before.
    let expositions = (0..10).map(|_| scrape_at_once(&sidecar, SCRAPES));
    // The first request may be alone in its exposition.
    let shared = expositions.take_while(|it| *it > SCRAPES / 3);
    assert!(shared.count() < 10, "no scrapes share an exposition");
}

/// Scrapes with `scrapes` requests that all wait when the sidecar begins to read them. Returns the
/// number of different expositions.
fn scrape_at_once(sidecar: &Sidecar, scrapes: usize) -> usize {
    // All requests have arrived when the sidecar goes on.
    sidecar.pause();
    let mut connections: Vec<TcpStream> = (0..scrapes)
        .map(|_| {
            let mut connection = TcpStream::connect(sidecar.address()).expect("it listens");
            connection
                .write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                .expect("the request is sent");
            connection
                .set_read_timeout(Some(SOON))
                .expect("a limit can be set");
            connection
        })
        .collect();
    sidecar.resume();
    let bodies: BTreeSet<String> = connections
        .iter_mut()
        .map(|connection| {
            let mut response = String::new();
            connection
                .read_to_string(&mut response)
                .expect("a response");
            let (head, body) = response.split_once("\r\n\r\n").expect("a head");
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            Exposition::parse(body).expect("a complete exposition");
            body.to_owned()
        })
        .collect();
    bodies.len()
}
