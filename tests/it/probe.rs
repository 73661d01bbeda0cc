//! `rankgauge probe` from the command line: requests, files, pace and failures.

mod hostile;
mod kafka;
mod presets;
pub(crate) mod server;
mod solr;
pub(crate) mod tls;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rankgauge_core::decode::native;
use serde_json::{Value, json};

use server::{Received, Reply, Server};

use crate::harness::command::{assert_exit, assert_reports, json, rankgauge, stderr, stdout};

/// Gold set of three queries, with Korean text and characters that need escapes.
pub(crate) const GOLD: &str = r#"{"version": "1", "queries": [
    {"query_id": "q2", "query_text": "용도지역 \"변경\" & #1", "query_type": "exact", "difficulty": "easy", "primary_domain": "law", "ground_truth": {"doc-q2": 2}},
    {"query_id": "q1", "query_text": "건폐율", "query_type": "open", "difficulty": "hard", "primary_domain": "law", "ground_truth": {"doc-q1": 2}},
    {"query_id": "q3", "query_text": "용적률", "query_type": "open", "difficulty": "hard", "primary_domain": "law", "ground_truth": {"doc-q3": 2}}
]}"#;

/// `rankgauge probe` in `folder`, with `configuration` as `probe.yaml` and [`GOLD`] as `gold.json`.
pub(crate) fn command(folder: &Path, configuration: &str, arguments: &[&str]) -> Command {
    fs::write(folder.join("gold.json"), GOLD).expect("a file");
    fs::write(folder.join("probe.yaml"), configuration).expect("a file");
    let mut command = crate::harness::command::command(folder, "probe --config probe.yaml");
    command.args(arguments).env("NO_COLOR", "1");
    command
}

/// Runs the probe with `--output run.jsonl`.
pub(crate) fn probe(folder: &Path, configuration: &str, arguments: &[&str]) -> Output {
    let arguments = [&["--gold", "gold.json", "--output", "run.jsonl"], arguments].concat();
    let output = command(folder, configuration, &arguments).output();
    output.expect("the binary starts")
}

/// Events of a file. Every event is accepted by the decoder.
pub(crate) fn events(folder: &Path, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(name)).expect("the file of the probe");
    let lines = text.lines().map(|line| {
        let limits = rankgauge::config::Config::default().engine.record_limits;
        let decoded = native::search(line.as_bytes(), &limits);
        assert!(decoded.expect("a valid event").is_synthetic());
        serde_json::from_str(line).expect("JSON")
    });
    lines.collect()
}

/// Configuration of one target at `address`, of the preset `json`, without pauses.
pub(crate) fn target(address: &str, more: &str) -> String {
    format!(
        "probe:\n  rate: 1000\n{more}\n  targets:\n    - {{variant: V5, preset: json, url: 'http://{address}/search'}}\n"
    )
}

/// Answer of the preset `json`: the relevant document of the query at rank 2.
fn answer(request: &Received) -> Reply {
    let body: Value = serde_json::from_str(&request.body).expect("JSON");
    let gold: Value = serde_json::from_str(GOLD).expect("JSON");
    let queries = gold["queries"].as_array().expect("a list");
    let query = queries.iter().find(|it| it["query_text"] == body["query"]);
    let key = query.expect("the text arrives unchanged")["query_id"].as_str();
    let id = format!("doc-{}", key.expect("a key"));
    Reply::json(
        json!({"results": [{"id": "other", "score": 2.5}, {"id": id, "score": 1}]}).to_string(),
    )
}

#[test]
fn a_file_has_the_events_in_the_order_of_the_gold_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|request, _| answer(request));
    let output = probe(
        folder.path(),
        &target(&server.address, "  concurrency: 3"),
        &[],
    );
    assert_exit(&output, 0);
    let events = events(folder.path(), "run.jsonl");
    let keys: Vec<&str> = events
        .iter()
        .filter_map(|it| it["query_key"].as_str())
        .collect();
    assert_eq!(keys, ["q2", "q1", "q3"]);
    for event in &events {
        assert_eq!(event["variant"], "V5");
        assert_eq!(event["synthetic"], true);
        assert_eq!(
            event["results"][0],
            json!({"id": "other", "rank": 1, "score": 2.5})
        );
        assert!(event["latency_ms"].as_f64().expect("a number") > 0.0);
        assert!(event.get("error_type").is_none());
    }
    let said = stdout(&output);
    assert!(said.contains("V5: 3 of 3 searches answered"), "{said}");
    assert!(said.contains("run.jsonl: 3 events"), "{said}");
}

#[test]
fn the_file_is_a_run_for_evaluate() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|request, _| answer(request));
    let output = probe(folder.path(), &target(&server.address, ""), &[]);
    assert_exit(&output, 0);
    let evaluate = "evaluate --gold gold.json --run run.jsonl --measures RR --format json";
    let report = json(&rankgauge(folder.path(), evaluate));
    assert_eq!(report["runs"][0]["means"]["RR"], 0.5);
}

#[test]
fn placeholders_are_filled_and_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, _| Reply::json(r#"{"answer": [["x", 1]]}"#));
    let configuration = format!(
        "probe:
  rate: 1000
  results: 7
  targets:
    - variant: get
      url: http://{0}/s/{{{{query_key}}}}?q={{{{query}}}}&n={{{{size}}}}
      hits: /answer
      id: /0
    - variant: post
      url: http://{0}/s
      body: |
        {{\"q\": \"a {{{{query}}}}\", \"raw\": {{{{query}}}}, \"n\": {{{{size}}}}, \"type\": \"{{{{query_type}}}}\"}}
      hits: /answer
      id: /0
      score: /1
",
        server.address
    );
    let output = probe(folder.path(), &configuration, &[]);
    assert_exit(&output, 0);
    let received = server.received();
    let get = received.iter().find(|it| it.line.starts_with("GET /s/q2?"));
    assert_eq!(
        get.expect("a request").line,
        "GET /s/q2?q=%EC%9A%A9%EB%8F%84%EC%A7%80%EC%97%AD%20%22%EB%B3%80%EA%B2%BD%22%20%26%20%231&n=7"
    );
    let post = received.iter().find(|it| it.body.contains("용도지역"));
    let post = post.expect("a request");
    assert_eq!(post.line, "POST /s");
    assert_eq!(post.header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_str(&post.body).expect("JSON");
    assert_eq!(body["q"], "a 용도지역 \"변경\" & #1");
    assert_eq!(body["raw"], "용도지역 \"변경\" & #1");
    assert_eq!(body["n"], 7);
    assert_eq!(body["type"], "exact");
    let events = events(folder.path(), "run.jsonl");
    let variants: Vec<&str> = events
        .iter()
        .filter_map(|it| it["variant"].as_str())
        .collect();
    assert_eq!(variants, ["get", "get", "get", "post", "post", "post"]);
    assert_eq!(events[3]["results"][0]["score"], 1.0);
}

#[test]
fn each_variant_can_have_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|request, _| answer(request));
    let configuration = format!(
        "probe:\n  rate: 1000\n  targets:\n    - {{variant: V4, url: 'http://{0}/a'}}\n    - {{variant: V5, url: 'http://{0}/b'}}\n",
        server.address
    );
    let arguments = ["--gold", "gold.json", "--output", "run-{variant}.jsonl"];
    let output = command(folder.path(), &configuration, &arguments).output();
    let output = output.expect("the binary starts");
    assert_exit(&output, 0);
    for variant in ["V4", "V5"] {
        let events = events(folder.path(), &format!("run-{variant}.jsonl"));
        assert_eq!(events.len(), 3);
        assert!(events.iter().all(|event| event["variant"] == variant));
    }
    let one = probe(folder.path(), &configuration, &["--target", "V4"]);
    assert_exit(&one, 0);
    assert_eq!(events(folder.path(), "run.jsonl").len(), 3);
    let unknown = probe(folder.path(), &configuration, &["--target", "V6"]);
    assert_reports(&unknown, 2, "write one of V4, V5");
}

#[test]
fn secrets_come_from_the_environment_and_files_and_are_never_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|request, _| answer(request));
    fs::write(folder.path().join("token"), "s3cret-file\n").expect("a file");
    let configuration = format!(
        "probe:
  rate: 1000
  targets:
    - variant: V5
      url: http://{}/search
      headers:
        authorization: Bearer {{{{env:PROBE_TOKEN}}}}
        x-key: '{{{{file:token}}}}'
        x-plain: s3cret-plain
",
        server.address
    );
    let arguments = ["--gold", "gold.json", "--output", "run.jsonl"];
    let run = |token: Option<&str>| {
        let mut command = command(folder.path(), &configuration, &arguments);
        command.envs(token.map(|token| ("PROBE_TOKEN", token)));
        command
            .env("RANKGAUGE_LOG", "trace")
            .output()
            .expect("the binary starts")
    };
    let output = run(Some("s3cret-env"));
    assert_exit(&output, 0);
    let request = &server.received()[0];
    assert_eq!(request.header("authorization"), Some("Bearer s3cret-env"));
    assert_eq!(request.header("x-key"), Some("s3cret-file"));
    assert_eq!(request.header("x-plain"), Some("s3cret-plain"));
    assert!(!stderr(&output).contains("s3cret"), "{}", stderr(&output));
    let missing = run(None);
    assert_reports(
        &missing,
        2,
        "the environment variable PROBE_TOKEN is not set",
    );
    let shown = stdout(&rankgauge(folder.path(), "config show --config probe.yaml"));
    assert!(
        shown.contains("probe.targets[0].headers.x-plain"),
        "{shown}"
    );
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn wrong_targets_are_reported_at_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = [
        ("url: 'http://a/s'", "probe.targets[0].variant: is missing"),
        ("variant: V5", "probe.targets[0].url: is missing"),
        (
            "variant: V5, url: 'ftp://a/s'",
            "is not a URL; write http://HOST/PATH",
        ),
        ("variant: V5, url: 'http://u:p@a/s'", "contains credentials"),
        (
            "variant: V5, url: 'http://{{query}}/s'",
            "has a placeholder in its host",
        ),
        (
            "variant: V5, url: 'http://a/s?q={{query'",
            "has a placeholder that is not closed",
        ),
        (
            "variant: V5, url: 'http://a/s', body: '{\"q\": {{query}'",
            "has a placeholder that is not closed",
        ),
        (
            "variant: V5, url: 'http://a/s', body: '{\"q\": \"{{query}}\"'",
            "is not JSON",
        ),
        (
            "variant: V5, url: 'http://a/s', body: '{\"n\": 1}'",
            "does not depend on the query",
        ),
        (
            "variant: V5, url: 'http://a/s', preset: qdrant",
            "write a body with {{query}}",
        ),
        (
            "variant: V5, url: 'http://a/s', preset: lucene",
            "\"lucene\" is none of json, opensearch",
        ),
        (
            "variant: V5, url: 'http://a/s', hits: hits",
            "is not a JSON pointer",
        ),
        (
            "variant: V5, url: 'http://a/s', headers: {host: b}",
            "cannot be set",
        ),
        (
            "variant: V5, url: 'http://a/s', headers: {x: '{{secret}}'}",
            "write {{env:NAME}} or {{file:PATH}}",
        ),
        ("variant: V5, url: 'http://a/s', query: x", "unknown key"),
    ];
    for (keys, expected) in cases {
        let configuration = format!("probe:\n  targets:\n    - {{{keys}}}\n");
        let output = probe(folder.path(), &configuration, &[]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{keys}: {text}");
        assert!(text.contains(expected), "{keys}: {text}");
        assert!(
            text.contains("probe.yaml:3") || text.contains("probe.yaml:2"),
            "{keys}: {text}"
        );
    }
}

#[test]
fn a_probe_without_targets_or_with_an_unknown_placeholder_does_not_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = probe(folder.path(), "probe: {}", &[]);
    assert_reports(&output, 2, "configure probe.targets");
    let configuration = "probe:\n  targets:\n    - {variant: V5, url: 'http://127.0.0.1:1/?q={{query}}&t={{querytype}}'}\n";
    let output = probe(folder.path(), configuration, &[]);
    assert_reports(&output, 2, "{{querytype}}");
    assert_reports(&output, 2, "query_type");
}
