//! `rankgauge tail`: one line for each event of the topics or of files.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::command::{assert_reports, command, printed, rankgauge, stderr, stdout};
use crate::harness::free_port;
use crate::harness::kafka::{broker, unique_name};

const GOLD: &str =
    r#"{"queries": [{"query_id": "Q1", "query_text": "용도지역", "ground_truth": {"a": 2}}]}"#;

const SEARCHES: &str = r#"{"query_id": "s1", "ts": 1763337600000, "query": " 용도지역 ", "variant": "V4", "results": [{"id": "x"}, {"id": "a"}], "latency_ms": 12.5}
{"query_id": "s2", "ts": 1763337601000, "query": "없는 질의", "variant": "V5", "results": [], "synthetic": true, "error_type": "timeout"}
{"query_id": "s1", "ts": 1763337600000, "query": "용도지역", "results": []}
{"query_id": "s3", "ts": 1763337602000, "query": "용도지역", "results": "none", "variant": "V5"}
not JSON
{"query_id": "s4", "ts": 4102444800000, "query": "용도지역", "results": []}
"#;

const FEEDBACK: &str = r#"{"event_id": "f1", "ts": 1763337603000, "query_id": "s1", "type": "click", "position": 2}
{"event_id": "f2", "ts": 1763337603000, "query_id": "unknown", "type": "click", "object_id": "a b"}
{"event_id": "f1", "ts": 1763337603000, "query_id": "s1", "type": "click", "position": 2}
{"event_id": "f3", "ts": 1763337603000, "query_id": "s1", "type": "click"}
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("gold.json", GOLD),
        ("search.jsonl", SEARCHES),
        ("feedback.jsonl", FEEDBACK),
    ] {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

fn tail(folder: &Path, arguments: &[&str]) -> Output {
    let tail = "tail --set gold.paths=gold.json --set measures=RR,P@1,CTR";
    let output = command(folder, tail)
        .args(arguments)
        .env("NO_COLOR", "1")
        .output();
    output.expect("the binary starts")
}

const FILES: [&str; 4] = ["--search", "search.jsonl", "--feedback", "feedback.jsonl"];

fn lines(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let text = printed(&tail(folder, arguments));
    text.lines().map(str::to_owned).collect()
}

fn events(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let lines = lines(folder, &[arguments, &["--format", "json"]].concat());
    lines
        .iter()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn each_event_has_its_outcome_scores_and_reason() {
    let folder = folder();
    let events = events(folder.path(), &FILES);
    let outcomes = events.iter().filter_map(|it| it["outcome"].as_str());
    let outcomes: Vec<&str> = outcomes.collect();
    let of_searches = "judged unjudged duplicate invalid invalid invalid";
    let of_feedback = "joined waiting duplicate invalid";
    assert_eq!(outcomes.join(" "), format!("{of_searches} {of_feedback}"));
    assert_eq!(
        events[0],
        json!({
            "kind": "search", "outcome": "judged", "source": "search.jsonl", "offset": 1,
            "ts": "2025-11-17T00:00:00Z", "query_id": "s1", "variant": "V4", "query": " 용도지역 ",
            "gold": "Q1", "results": 2, "scores": {"P@1": 0.0, "RR": 0.5}, "latency_ms": 12.5,
        })
    );
    assert_eq!(events[1]["synthetic"], true);
    assert_eq!(events[1]["error_type"], "timeout");
    let reasons: Vec<&Value> = [3, 4, 5, 9]
        .iter()
        .map(|at| &events[*at]["reason"])
        .collect();
    assert_eq!(
        reasons,
        ["wrong_type", "not_json", "future_time", "missing_field"]
    );
    // The ids of a rejected event are shown if they can be read.
    assert_eq!(events[3]["query_id"], "s3");
    assert!(
        events[3]["detail"]
            .as_str()
            .expect("a detail")
            .contains("results")
    );
    assert_eq!(events[6]["variant"], "V4");
    assert_eq!(events[6]["position"], 2);
}

#[test]
fn lines_are_filtered() {
    let folder = folder();
    let with = |more: &[&str]| lines(folder.path(), &[&FILES, more].concat());
    assert_eq!(with(&["--query-id", "s1"]).len(), 5);
    assert_eq!(with(&["--variant", "V5"]).len(), 2);
    assert_eq!(with(&["--variant", "V4"]).len(), 3);
    assert_eq!(with(&["--reason", "any"]).len(), 4);
    assert_eq!(with(&["--reason", "not_json"]).len(), 1);
    assert_eq!(with(&["--reason", "any", "--variant", "V5"]).len(), 1);
    assert_eq!(with(&["--count", "2"]).len(), 2);
    let wrong = tail(
        folder.path(),
        &[&FILES[..], &["--reason", "wrong"]].concat(),
    );
    assert_reports(&wrong, 2, "too_many_results");
}

#[test]
fn a_line_of_text_quotes_what_has_blanks() {
    let folder = folder();
    let lines = lines(folder.path(), &FILES);
    assert_eq!(
        lines[0],
        "search   judged    query_id=s1 variant=V4 query=\" 용도지역 \" gold=Q1 results=2 P@1=0.0000 \
         RR=0.5000 latency_ms=12.5 ts=2025-11-17T00:00:00Z at=search.jsonl:1"
    );
    assert_eq!(
        lines[7],
        "feedback waiting   query_id=unknown type=click object_id=\"a b\" event_id=f2 \
         ts=2025-11-17T00:00:03Z at=feedback.jsonl:2"
    );
    assert!(
        lines[4].starts_with("search   invalid   reason=not_json detail="),
        "{}",
        lines[4]
    );
}

#[test]
fn the_topics_are_read_without_a_group() {
    let folder = folder();
    let (search, feedback) = broker().unique_topics("tail", 2);
    for (topic, text) in [(&search, SEARCHES), (&feedback, FEEDBACK)] {
        let records = text.lines().map(|line| ("key", line, Some(1)));
        broker().produce(topic, records);
    }
    let group = unique_name("tail");
    let settings = [
        format!("kafka.brokers={}", broker().bootstrap()),
        format!("kafka.search_topic={search}"),
        format!("kafka.feedback_topic={feedback}"),
        format!("kafka.group_id={group}"),
    ];
    let mut arguments = vec!["--from", "earliest", "--until-end"];
    for setting in &settings {
        arguments.extend(["--set", setting]);
    }
    let events = events(folder.path(), &arguments);
    assert_eq!(events.len(), 10);
    assert!(events.iter().all(|event| event["partition"] == 1));
    let judged = events.iter().find(|event| event["outcome"] == "judged");
    assert_eq!(judged.expect("a judged search")["source"], search);
    assert_eq!(broker().committed_offsets(&group, &search).len(), 0);
    assert_eq!(broker().group_members(&group), 0);
    // From the end, there is nothing to print.
    arguments[1] = "latest";
    assert_eq!(lines(folder.path(), &arguments).len(), 0);
}

/// An aborted record and the marker after it are never delivered.
#[test]
fn the_end_of_a_topic_after_a_transaction_is_found() {
    let folder = folder();
    let (search, feedback) = broker().unique_topics("tail", 1);
    let records = |text: &'static str| text.lines().map(|line| ("key", line, Some(0)));
    broker().produce(&search, records(SEARCHES));
    broker().produce(&feedback, records(FEEDBACK));
    broker().open_transaction(&search, 0).abort();
    let settings = [
        format!("kafka.brokers={}", broker().bootstrap()),
        format!("kafka.search_topic={search}"),
        format!("kafka.feedback_topic={feedback}"),
    ];
    let mut arguments = vec!["--from", "earliest", "--until-end"];
    for setting in &settings {
        arguments.extend(["--set", setting]);
    }
    assert_eq!(events(folder.path(), &arguments).len(), 10);
}

#[test]
fn a_topic_that_does_not_exist_is_reported() {
    let folder = folder();
    let brokers = format!("kafka.brokers={}", broker().bootstrap());
    let topic = "kafka.search_topic=no-such-topic";
    let output = tail(folder.path(), &["--set", &brokers, "--set", topic]);
    assert_reports(&output, 1, "topic no-such-topic does not exist");
}

#[test]
fn an_interrupt_without_a_broker_ends_it_at_once() {
    let folder = folder();
    let brokers = format!("kafka.brokers=127.0.0.1:{}", free_port());
    let mut process = command(
        folder.path(),
        &["tail", "--set", "gold.paths=gold.json", "--set", &brokers],
    )
    .stderr(Stdio::piped())
    .spawn()
    .expect("the binary starts");
    let mut errors = BufReader::new(process.stderr.take().expect("a pipe"));
    let mut first = String::new();
    errors.read_line(&mut first).expect("a line");
    assert!(first.contains("connection refused"), "{first}");
    let pid = Pid::from_child(&process);
    kill_process(pid, Signal::INT).expect("the process runs");
    let interrupted = Instant::now();
    let status = process.wait().expect("a status");
    assert!(status.success(), "{status}");
    // Without the interrupt, it waits for the broker for ten seconds.
    let ended = interrupted.elapsed();
    assert!(ended < Duration::from_secs(8), "{ended:?}");
}

#[test]
fn no_command_prints_the_value_of_a_secret_property() {
    let folder = folder();
    let marker = "planted-marker-5f3a";
    for name in [
        "sasl.oauthbearer.client.secret",
        "ssl.key.passphrase",
        "ssl.key.pem",
    ] {
        let property = format!("kafka.properties.{name}={marker}");
        for command in ["run", "tail", "probe", "produce", "check"] {
            let arguments = format!(
                "{command} --set kafka.properties.security.protocol=ssl --set gold.paths=gold.json --set {property}"
            );
            let output = rankgauge(folder.path(), &arguments);
            let text = stdout(&output) + &stderr(&output);
            assert!(!output.status.success(), "{command} accepts {name}: {text}");
            assert!(!text.contains(marker), "{command} prints {name}: {text}");
        }
    }
}

#[test]
fn feedback_outside_the_window_of_its_search_is_orphaned() {
    let folder = folder();
    let feedback = |id: &str, minutes: i64, kind: &str| {
        let ts = 1_763_337_600_000 + minutes * 60_000;
        format!(
            "{}\n",
            json!({"event_id": id, "ts": ts, "query_id": "s1", "type": kind, "position": 1})
        )
    };
    let text = [
        feedback("f1", 10, "click"),
        feedback("f2", 20, "conversion"),
        feedback("f3", -20, "click"),
        feedback("f4", 70, "conversion"),
    ];
    fs::write(folder.path().join("feedback.jsonl"), text.concat()).expect("a file");
    let outcomes = |settings: &[&str]| -> Vec<Value> {
        let events = events(folder.path(), &[&FILES[..], settings].concat());
        let feedback = events.iter().filter(|event| event["kind"] == "feedback");
        feedback
            .map(|event| json!([event["outcome"], event["detail"]]))
            .collect()
    };
    let window = "--set=engine.feedback_window=10m";
    let orphaned = |side: &str, window: &str| {
        json!([
            "orphaned",
            format!("{side} its search, outside the feedback window of {window})")
        ])
    };
    let late = orphaned("1200 s after", "600 s (engine.feedback_window");
    let early = orphaned("1200 s before", "600 s (engine.feedback_window");
    assert_eq!(
        outcomes(&[window]),
        [
            json!(["joined", null]),
            late,
            early.clone(),
            orphaned("4200 s after", "600 s (engine.feedback_window"),
        ]
    );
    // Conversions can have a longer window.
    assert_eq!(
        outcomes(&[window, "--set=engine.feedback_windows.conversion=1h"]),
        [
            json!(["joined", null]),
            json!(["joined", null]),
            early,
            orphaned("4200 s after", "3600 s (engine.feedback_windows"),
        ]
    );
}

#[test]
fn feedback_on_a_session_joins_its_last_search() {
    let folder = folder();
    let start = 1_763_337_600_000_i64;
    let search = |id: &str, minutes: i64, session: &str| {
        json!({"query_id": id, "ts": start + minutes * 60_000, "query": "a", "results": [],
            "session_id": session, "variant": id})
    };
    let rating = |id: &str, minutes: i64, session: &str| {
        json!({"event_id": id, "ts": start + minutes * 60_000, "session_id": session, "type": "thumbs",
            "value": true})
    };
    let write = |name: &str, events: &[Value]| {
        let lines: Vec<String> = events.iter().map(|event| format!("{event}\n")).collect();
        fs::write(folder.path().join(name), lines.concat()).expect("a file");
    };
    write(
        "search.jsonl",
        &[
            search("v1", 0, "visit"),
            search("v2", 5, "visit"),
            search("v3", 40, "visit"),
            search("w1", 5, "other visit"),
        ],
    );
    write(
        "feedback.jsonl",
        &[
            rating("f1", 4, "visit"),
            rating("f2", 5, "visit"),
            rating("f3", 30, "visit"),
            rating("f4", -1, "visit"),
            rating("f5", 6, "visits"),
        ],
    );
    let events = events(
        folder.path(),
        &[&FILES[..], &["--set=engine.feedback_window=10m"]].concat(),
    );
    let feedback = events.iter().filter(|event| event["kind"] == "feedback");
    let found: Vec<Value> = feedback
        .map(|event| json!([event["outcome"], event["variant"]]))
        .collect();
    assert_eq!(
        found,
        [
            json!(["joined", "v1"]),
            json!(["joined", "v2"]),
            json!(["orphaned", "v2"]),
            json!(["waiting", null]),
            json!(["waiting", null]),
        ]
    );
    let late = events.iter().find(|event| event["event_id"] == "f3");
    let detail = late.and_then(|event| event["detail"].as_str());
    assert!(
        detail.is_some_and(|it| it.starts_with("1500 s after the last search of its session")),
        "{detail:?}"
    );
}
