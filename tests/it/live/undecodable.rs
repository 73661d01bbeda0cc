//! Topics of which nothing decodes: the process is not ready, and their offsets stay.

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use rankgauge_serve::clock::wall_now;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{SHUTDOWN, SOON, scrape_when_received, settings, start};
use crate::harness::kafka::broker;
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

/// Records in the format of a schema registry.
const RECORD: &[u8] = b"\0\0\0\0\x07\x02a";

fn wait_until_not_ready(sidecar: &Sidecar, topic: &str) {
    let problem = wait_until(SOON, "the process is not ready", || {
        let (status, text) = sidecar.get("/readyz");
        (status == 503 && text.contains("decodes")).then_some(text)
    });
    for part in [topic, "[1] at offset 0", "not_json", "send JSON"] {
        assert!(problem.contains(part), "{part}: {problem}");
    }
    let log = sidecar.log();
    let error = log
        .lines()
        .filter(|line| line.contains("no record of the topic decodes"));
    let errors: Vec<&str> = error.collect();
    assert_eq!(errors.len(), 1, "{log}");
    assert!(
        errors[0].contains("not_json") && errors[0].contains("remedy"),
        "{errors:?}"
    );
}

/// Sum of the committed offsets of the search topic after the shutdown of `sidecar`.
fn committed(mut sidecar: Sidecar, settings: &Value, stream: &Stream) -> i64 {
    assert!(sidecar.terminate(SHUTDOWN).success());
    let group = settings["kafka"]["group_id"].as_str().expect("a group");
    let committed = broker().committed_offsets(group, stream.topic(Kind::Search));
    committed.values().filter(|offset| **offset > 0).sum()
}

fn produce(stream: &Stream, count: usize) {
    let records = std::iter::repeat_n(("key", RECORD, Some(1)), count);
    broker().produce(stream.topic(Kind::Search), records);
}

#[test]
fn offsets_of_a_topic_of_which_nothing_decodes_stay_until_one_record_decodes() {
    let folder = tempfile::tempdir().expect("a folder");
    for has_checkpoint in [false, true] {
        let stream = Stream::on_new_topics(broker(), 2, 50.0, Millis(120_000));
        let mut settings = settings(broker(), &stream);
        if has_checkpoint {
            settings["checkpoint"] = json!({"folder": folder.path()});
        }
        produce(&stream, 100);
        let sidecar = start(&settings);
        scrape_when_received(&sidecar, [100, 0]);
        wait_until_not_ready(&sidecar, stream.topic(Kind::Search));
        assert_eq!(committed(sidecar, &settings, &stream), 0);
        // They are read again, until a record decodes.
        let sidecar = start(&settings);
        scrape_when_received(&sidecar, [100, 0]);
        wait_until_not_ready(&sidecar, stream.topic(Kind::Search));
        let search = json!({"query_id": "s", "ts": wall_now().0, "query": "a", "results": []});
        let record = [("s", search.to_string(), Some(1))];
        broker().produce(stream.topic(Kind::Search), record);
        wait_until(SOON, "the process is ready", || {
            (sidecar.get("/readyz").0 == 200).then_some(())
        });
        assert!(committed(sidecar, &settings, &stream) >= 100);
    }
}

#[test]
fn offsets_before_the_limit_stay_too_and_commits_can_be_configured() {
    let stream = Stream::on_new_topics(broker(), 2, 50.0, Millis(120_000));
    let mut settings = settings(broker(), &stream);
    produce(&stream, 99);
    let sidecar = start(&settings);
    scrape_when_received(&sidecar, [99, 0]);
    assert_eq!(sidecar.get("/readyz").0, 200);
    assert_eq!(committed(sidecar, &settings, &stream), 0);
    produce(&stream, 1);
    settings["kafka"]["commit_undecodable"] = json!(true);
    let sidecar = start(&settings);
    scrape_when_received(&sidecar, [100, 0]);
    wait_until_not_ready(&sidecar, stream.topic(Kind::Search));
    assert_eq!(committed(sidecar, &settings, &stream), 100);
}
