//! Events on the topic: judged by a sidecar, and never user searches.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rankgauge_kafka::producer::Producer;
use serde_json::{Value, json};

use super::server::{Reply, Server};
use crate::harness::command::{assert_exit, stderr};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::{http_get, wait_until};

const SOON: Duration = Duration::from_mins(1);

/// Server whose ranking is changed under `/after`: the relevant document of each query is third.
fn service() -> Server {
    Server::start(|request, _| {
        let body: Value = serde_json::from_str(&request.body).expect("JSON");
        let gold: Value = serde_json::from_str(super::GOLD).expect("JSON");
        let queries = gold["queries"].as_array().expect("a list");
        let query = queries.iter().find(|it| it["query_text"] == body["query"]);
        let key = query.expect("a gold query")["query_id"]
            .as_str()
            .expect("a key");
        let mut ids = [format!("doc-{key}"), "a".to_owned(), "b".to_owned()];
        if request.line.contains("/after") {
            ids.rotate_left(1);
        }
        let hits: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        Reply::json(json!({ "results": hits }).to_string())
    })
}

/// Settings of a sidecar and a probe that share topics.
fn settings(server: &Server, gold: &Path) -> String {
    let (search, feedback) = broker().unique_topics("probe", 2);
    let settings = json!({
        "kafka": {"brokers": broker().bootstrap(), "group_id": unique_name("probe"),
            "search_topic": search, "feedback_topic": feedback, "start": "earliest"},
        "publish_interval": "100ms",
        "gold": {"paths": [gold]},
        "measures": ["RR", "Abandoned"],
        "probe": {"rate": 1000, "targets": [
            {"variant": "before", "url": format!("http://{}/before", server.address)},
            {"variant": "after", "url": format!("http://{}/after", server.address)},
        ]},
    });
    let sections = settings.as_object().expect("an object").iter();
    let lines = sections.map(|(key, value)| format!("{key}: {value}\n"));
    lines.collect()
}

#[test]
fn a_planted_change_of_the_ranking_shows_in_the_metrics() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = service();
    let settings = settings(&server, &folder.path().join("gold.json"));
    let output = super::command(folder.path(), &settings, &[]).output();
    let output = output.expect("the binary starts");
    assert_exit(&output, 0);
    let sidecar = Sidecar::start(&settings, &[]);
    let mean = |variant: &str, slice: [(&str, &str); 2]| {
        let labels = [("measure", "RR"), ("variant", variant), slice[0], slice[1]];
        wait_until(SOON, "the events of the probe are judged", || {
            let metrics = sidecar.metrics();
            let count = metrics.value("rankgauge_score_count_total", &labels)?;
            (count > 2.5).then(|| metrics.sum("rankgauge_score_sum_total", &labels) / count)
        })
    };
    for slice in [
        [("slice", "all"), ("value", "")],
        [("slice", "synthetic"), ("value", "true")],
    ] {
        assert!((mean("before", slice) - 1.0).abs() < 1e-9);
        assert!((mean("after", slice) - 1.0 / 3.0).abs() < 1e-6);
    }
    let metrics = sidecar.metrics();
    let timed = [("stage", "synthetic"), ("variant", "before")];
    assert_eq!(
        metrics.value("rankgauge_search_latency_seconds_count", &timed),
        Some(3.0)
    );
    assert!(metrics.sum("rankgauge_score_count_total", &[("measure", "Abandoned")]) < 0.5);
}

#[test]
fn rounds_are_repeated_until_a_signal() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = service();
    let settings = settings(&server, &folder.path().join("gold.json"));
    let log = folder.path().join("log");
    let listen = ["--every", "50ms", "--set", "probe.listen=127.0.0.1:0"];
    let mut child = super::command(folder.path(), &settings, &listen)
        .stderr(fs::File::create(&log).expect("a file"))
        .spawn()
        .expect("the binary starts");
    // Three rounds of three queries to two targets.
    wait_until(SOON, "three rounds are sent", || {
        (server.received().len() >= 18).then_some(())
    });
    let url = wait_until(SOON, "the log states the address", || {
        let log = fs::read_to_string(&log).expect("a log");
        let url = log.split("url=").nth(1)?.split_whitespace().next()?;
        Some(url.trim_matches('"').to_owned())
    });
    let metrics = wait_until(SOON, "two rounds are counted", || {
        let (status, text) = http_get(&url).expect("a response");
        assert_eq!(status, 200, "{text}");
        let metrics = Exposition::parse(&text).expect("metrics");
        let answered = [("variant", "before"), ("outcome", "answered")];
        let answered = metrics.value("rankgauge_probe_searches_total", &answered)?;
        (answered > 5.5).then_some(metrics)
    });
    for variant in ["before", "after"] {
        let labels = [("variant", variant)];
        let count = metrics.value("rankgauge_probe_request_duration_seconds_count", &labels);
        let answered = [("variant", variant), ("outcome", "answered")];
        let answered = metrics.value("rankgauge_probe_searches_total", &answered);
        assert_eq!(count, answered);
        let quantile = [("variant", variant), ("quantile", "0.99")];
        let p99 = metrics.value("rankgauge_probe_request_duration_seconds", &quantile);
        assert!(p99.is_some_and(|p99| p99 > 0.0 && p99 < 60.0), "{p99:?}");
        let skipped = [("variant", variant), ("outcome", "skipped")];
        let skipped = metrics.value("rankgauge_probe_searches_total", &skipped);
        assert_eq!(skipped, Some(0.0));
    }
    let killed = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(killed.expect("kill").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_topic_that_does_not_exist_is_a_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = service();
    let settings = settings(&server, &folder.path().join("gold.json"));
    let arguments = ["--set", "kafka.search_topic=no-such-topic"];
    let output = super::command(folder.path(), &settings, &arguments).output();
    let output = output.expect("the binary starts");
    assert_exit(&output, 1);
    assert!(server.received().is_empty());
    let text = stderr(&output);
    assert!(
        text.contains("topic no-such-topic does not exist"),
        "{text}"
    );
}

/// librdkafka loses records of such batches if the producer does not wait for the topic.
#[test]
fn records_sent_at_once_to_a_topic_just_created_arrive() {
    let mut settings = rankgauge::config::load(&[], std::iter::empty(), &[])
        .expect("the defaults are valid")
        .kafka;
    broker().bootstrap().clone_into(&mut settings.brokers);
    let properties = [
        ("enable.idempotence", "true"),
        ("batch.num.messages", "100"),
    ];
    for _ in 0..5 {
        let topic = unique_name("created");
        broker().create_topic(&topic, 3);
        let connected = Producer::connect(&settings, &properties, [&topic]);
        let (mut producer, partitions) = connected.expect("the topic exists");
        assert_eq!(partitions, [3]);
        for number in 0..3_000 {
            producer.send(&topic, None, &number.to_string(), b"record");
        }
        producer.finish().expect("all records are delivered");
        assert_eq!(broker().end_offsets(&topic).iter().sum::<i64>(), 3_000);
    }
}
