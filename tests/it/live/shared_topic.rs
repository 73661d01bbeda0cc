//! One topic with searches and feedback: replicas that are killed count what two topics would give.

use std::path::PathBuf;

use jiff::Timestamp;
use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::{Value, json};

use super::recovery::durable;
use super::stream::Stream;
use super::{
    CONSUMED, added, assert_same, count, counters, received, replayed_files, settings, start,
};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::wait_until;

/// Files of the stream with the records of both kinds, one per partition, in the order of their times.
fn mixed(stream: &Stream) -> Vec<PathBuf> {
    let time = |line: &String| {
        let event: Value = serde_json::from_str(line).expect("a JSON event");
        let ts = &event["ts"];
        ts.as_i64().unwrap_or_else(|| {
            let text = ts.as_str().expect("a time");
            let time: Timestamp = text.parse().expect("RFC 3339");
            time.as_millisecond()
        })
    };
    let pairs = stream.files(Kind::Search).into_iter();
    let pairs = pairs.zip(stream.files(Kind::Feedback));
    let files = pairs.enumerate().map(|(number, (searches, feedback))| {
        let text = |path| std::fs::read_to_string(path).expect("a file of the stream");
        let both = [text(searches), text(feedback)].concat();
        let mut lines: Vec<String> = both.lines().map(str::to_owned).collect();
        lines.sort_by_cached_key(time);
        let path = stream.folder().join(format!("both-{number}.jsonl"));
        std::fs::write(&path, lines.join("\n")).expect("the folder can be written");
        path
    });
    files.collect()
}

/// Produces 40 s of the stream: of each 10 s, the searches and then the feedback.
fn produce(stream: &mut Stream) {
    for _ in 0..4 {
        stream.produce(broker(), 1_000);
    }
}

#[test]
fn records_of_one_topic_count_as_those_of_two_through_kills() {
    let topic = unique_name("shared");
    broker().create_topic(&topic, 4);
    let topics = [topic.clone(), topic.clone()];
    let mut stream = Stream::new(topics, 4, 100.0, Millis(3_600_000));
    let mut settings = settings(broker(), &stream);
    settings["engine"] =
        json!({"out_of_orderness": "20s", "feedback_window": "1m", "idle_timeout": "24h"});
    durable(&mut settings, &stream.folder().join("checkpoints"));
    for _ in 0..3 {
        produce(&mut stream);
        let sidecar = start(&settings);
        wait_until(CONSUMED, "some records are counted", || {
            (received(&sidecar.metrics())[0] > 0).then_some(())
        });
        // `kill -9`
        drop(sidecar);
    }
    produce(&mut stream);
    let sidecar = start(&settings);
    let produced = stream.produced();
    let exposition = wait_until(CONSUMED, "every event is received", || {
        let exposition = sidecar.metrics();
        (received(&exposition) == produced).then_some(exposition)
    });
    let of_topic = [("topic", topic.as_str()), ("outcome", "used")];
    assert_eq!(
        count(&exposition, "rankgauge_records_total", &of_topic),
        produced[0] + produced[1]
    );
    // The same records in files of both kinds, without an interruption.
    let files = mixed(&stream);
    let expected = replayed_files(&settings, &stream, [&files, &[]], &exposition);
    assert_same(&added([&counters(&exposition)]), &added([&expected]));
    assert!(
        count(
            &exposition,
            "rankgauge_events_total",
            &[("outcome", "joined")]
        ) > 0
    );

    // The files of one topic have both kinds.
    let mixed = stream.folder().join("mixed.jsonl");
    let texts: Vec<String> = Kind::ALL
        .iter()
        .flat_map(|kind| stream.files(*kind))
        .map(|path| std::fs::read_to_string(path).expect("a file of the stream"))
        .collect();
    std::fs::write(&mixed, texts.concat()).expect("the folder can be written");
    let lines: usize = texts.iter().map(|text| text.lines().count()).sum();
    let configuration = stream.folder().join("mixed.yaml");
    std::fs::write(&configuration, super::yaml(&settings)).expect("the folder can be written");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .args(["tail", "--format", "json", "--config"])
        .arg(&configuration)
        .arg("--search")
        .arg(&mixed)
        .output()
        .expect("the binary runs");
    let printed = String::from_utf8(output.stdout).expect("text");
    let of_kind = |kind: &str| printed.matches(&format!(r#"{{"kind":"{kind}""#)).count();
    assert_eq!(of_kind("search") + of_kind("feedback"), lines);
    assert_eq!(u64::try_from(of_kind("feedback")), Ok(produced[1]));
    assert!(!printed.contains(r#""outcome":"invalid""#), "{printed}");
}
