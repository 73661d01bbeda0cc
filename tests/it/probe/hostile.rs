//! Endpoints that fail: time-outs, statuses, huge and malformed answers, connections that break.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::server::{Reply, Server};
use super::{events, probe, target};
use crate::harness::command::{assert_exit, stderr, stdout};
use crate::harness::wait_until;

/// Time limit of a reply: short for one that never ends, long for any other on a busy machine.
fn timeout(reply: &Reply) -> &'static str {
    if matches!(reply, Reply::Hang | Reply::Trickle) {
        "500ms"
    } else {
        "10s"
    }
}

/// Probes a server that always gives the same reply. Returns the exit code, the events, standard
/// error, the number of requests, which is at least `expected`, and the time.
fn probe_always(
    reply: &Reply,
    expected: usize,
    more: &str,
) -> (Option<i32>, Vec<Value>, String, usize, Duration) {
    let what = format!("{expected} requests with the reply {reply:?}");
    let folder = tempfile::tempdir().expect("a folder");
    let reply = reply.clone();
    let server = Server::start(move |_, _| reply.clone());
    let start = Instant::now();
    let output = probe(folder.path(), &target(&server.address, more), &[]);
    let time = start.elapsed();
    let events = events(folder.path(), "run.jsonl");
    // The server can read a request after its time limit.
    let requests = wait_until(Duration::from_mins(1), &what, || {
        let requests = server.received().len();
        (requests >= expected).then_some(requests)
    });
    (
        output.status.code(),
        events,
        stderr(&output),
        requests,
        time,
    )
}

#[test]
fn every_failure_becomes_an_event_with_its_cause() {
    let nested = "[".repeat(1_000);
    let huge = format!(r#"{{"results": [], "x": "{}"}}"#, "x".repeat(5_000));
    let malformed = [
        "not JSON at all",
        r#"{"results": "#,
        r#"{"error": "index not found"}"#,
        r#"{"results": {"id": "a"}}"#,
        r#"{"results": [{"score": 1}]}"#,
        r#"{"results": [{"id": 1.5}]}"#,
        r#"{"results": [{"id": "a", "score": "high"}]}"#,
        "\u{fffd}",
        nested.as_str(),
    ];
    let mut cases: Vec<(Reply, &str)> = malformed
        .iter()
        .map(|body| (Reply::json(*body), "answer_malformed"))
        .collect();
    let not_utf8 = Reply::Status(
        200,
        String::new(),
        b"{\"results\": [{\"id\": \"\xff\"}]}".to_vec(),
    );
    cases.push((not_utf8, "answer_malformed"));
    cases.push((Reply::json(huge), "answer_too_large"));
    cases.push((Reply::Endless, "answer_too_large"));
    cases.push((Reply::Close, "connection"));
    cases.push((Reply::Garbage, "connection"));
    cases.push((Reply::Hang, "timeout"));
    cases.push((Reply::Trickle, "timeout"));
    cases.push((Reply::status(404), "http_404"));
    cases.push((Reply::status(401), "http_401"));
    cases.push((Reply::status(204), "http_204"));
    cases.push((Reply::status(503), "http_503"));
    let moved = "location: http://127.0.0.1:1/\r\n".to_owned();
    cases.push((Reply::Status(302, moved, Vec::new()), "http_302"));
    for (reply, error_type) in cases {
        let limits = format!(
            "  max_answer: 4KiB\n  timeout: {}\n  retries: 0\n  concurrency: 3",
            timeout(&reply)
        );
        let (code, events, text, requests, _) = probe_always(&reply, 3, &limits);
        assert_eq!(code, Some(1), "{reply:?}: {text}");
        assert!(
            text.contains("too many failed searches: V5 100.0 %"),
            "{text}"
        );
        assert_eq!(requests, 3, "{reply:?}");
        assert_eq!(events.len(), 3, "{reply:?}: {text}");
        for event in events {
            assert_eq!(event["error_type"], error_type, "{reply:?}: {text}");
            assert_eq!(event["results"], Value::Array(Vec::new()));
        }
    }
}

#[test]
fn a_refused_connection_is_a_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let configuration = target("127.0.0.1:1", "  retries: 0");
    let output = probe(folder.path(), &configuration, &[]);
    assert_exit(&output, 1);
    let events = events(folder.path(), "run.jsonl");
    assert!(
        events
            .iter()
            .all(|event| event["error_type"] == "connection")
    );
    assert!(stderr(&output).contains("refused"), "{}", stderr(&output));
}

#[test]
fn transient_failures_are_repeated_and_others_are_not() {
    for (reply, requests) in [
        (Reply::status(500), 9),
        (Reply::status(429), 9),
        (Reply::Hang, 9),
        (Reply::status(400), 3),
        (Reply::json("{}"), 3),
    ] {
        let limits = format!(
            "  timeout: {}\n  retries: 2\n  concurrency: 3",
            timeout(&reply)
        );
        let (_, events, text, received, time) = probe_always(&reply, requests, &limits);
        assert_eq!(received, requests, "{reply:?}: {text}");
        assert_eq!(events.len(), 3);
        // Two repetitions of three queries, all at a time. The default time limit of five seconds would take longer.
        assert!(time < Duration::from_secs(15), "{reply:?}: {time:?}");
    }
}

#[test]
fn a_repetition_that_succeeds_is_a_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, number| match number {
        0 => Reply::status(503),
        1 => Reply::Close,
        _ => Reply::json(r#"{"results": [{"id": "a"}]}"#),
    });
    let output = probe(
        folder.path(),
        &target(&server.address, "  concurrency: 1"),
        &[],
    );
    assert_exit(&output, 0);
    assert_eq!(server.received().len(), 5);
    let events = events(folder.path(), "run.jsonl");
    assert!(events.iter().all(|event| event.get("error_type").is_none()));
}

#[test]
fn retry_after_delays_all_requests_to_the_target() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = Instant::now();
    let server = Server::start(|_, number| match number {
        0 => Reply::Status(429, "retry-after: 1\r\n".to_owned(), Vec::new()),
        _ => Reply::json(r#"{"results": []}"#),
    });
    let output = probe(
        folder.path(),
        &target(&server.address, "  concurrency: 1"),
        &[],
    );
    assert_exit(&output, 0);
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.received().len(), 4);
}

#[test]
fn a_target_that_asks_for_a_long_pause_is_left_alone() {
    let reply = Reply::Status(429, "retry-after: 3600\r\n".to_owned(), Vec::new());
    let (code, events, text, requests, _) = probe_always(&reply, 1, "  concurrency: 1");
    assert_eq!(code, Some(1));
    assert_eq!((requests, events.len()), (1, 1), "{text}");
    assert!(text.contains("target asks for a long pause"), "{text}");
}

#[test]
fn a_share_of_failures_is_allowed() {
    let run = |max_failures: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(|request, _| {
            if request.body.contains("건폐율") {
                Reply::status(404)
            } else {
                Reply::json(r#"{"results": []}"#)
            }
        });
        let more = format!("  max_failures: {max_failures}");
        let output = probe(folder.path(), &target(&server.address, &more), &[]);
        assert_eq!(events(folder.path(), "run.jsonl").len(), 3);
        output.status.code()
    };
    assert_eq!(run("0.34"), Some(0));
    assert_eq!(run("0.33"), Some(1));
}

#[test]
fn a_target_that_is_down_does_not_take_the_time_of_all_its_queries() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, _| Reply::Hang);
    let row = |n: i32| serde_json::json!({"query_id": format!("q{n}"), "query_text": format!("text {n}"), "ground_truth": {"d": 1}});
    let rows: Vec<_> = (0..200).map(row).collect();
    let gold = serde_json::json!({ "queries": rows }).to_string();
    std::fs::write(folder.path().join("many.json"), gold).expect("a file");
    let more = "  timeout: 50ms\n  retries: 0";
    let arguments = ["--gold", "many.json", "--output", "run.jsonl"];
    let output = super::command(folder.path(), &target(&server.address, more), &arguments).output();
    let output = output.expect("the binary starts");
    assert_exit(&output, 1);
    let searches = events(folder.path(), "run.jsonl").len();
    assert!((20..=22).contains(&searches), "{searches} searches");
    // The time limit of a search can end before its request is sent or read.
    let requests = server.received().len();
    assert!(requests <= searches, "{requests} requests");
    assert!(
        stderr(&output).contains("target is down"),
        "{}",
        stderr(&output)
    );
    let said = stdout(&output);
    assert!(said.contains("not sent"), "{said}");
}

#[test]
fn requests_keep_to_the_rate() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, _| Reply::json(r#"{"results": []}"#));
    let configuration = format!(
        "probe:\n  rate: 4\n  concurrency: 8\n  targets:\n    - {{variant: V5, url: 'http://{}/search'}}\n",
        server.address
    );
    let start = Instant::now();
    let output = probe(folder.path(), &configuration, &[]);
    assert_exit(&output, 0);
    // The third request is sent half a second after the first.
    assert!(start.elapsed() >= Duration::from_millis(490));
}
