//! Partitions that a batch stalls: reported with their offset, read with a larger buffer, or skipped.

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::json;

use super::stream::Stream;
use super::{CONSUMED, SHUTDOWN, SOON, count, received, settings, start};
use crate::harness::kafka::{Broker, broker};
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

#[test]
fn zstd_batch_beyond_the_buffer_of_the_client_is_read() {
    let stream = Stream::on_new_topics(broker(), 1, 2.0, Millis(1_000_000));
    let topic = stream.topic(Kind::Search);
    // A few kB compressed, and 60 MB decompressed.
    let blanks = vec![vec![b' '; 1_000_000]; 60];
    broker().produce_batch(topic, "zstd", &blanks);
    broker().produce(topic, [("", "{}", Some(0))]);
    let sidecar = start(&settings(broker(), &stream));

    wait_until(CONSUMED, "all records are read", || {
        (received(&sidecar.metrics())[0] == 61).then_some(())
    });
    wait_until(SOON, "the partition is no longer stalled", || {
        (sidecar.get("/readyz").0 == 200).then_some(())
    });
    let log = sidecar.log();
    assert!(
        log.contains("stalled partition read with a larger buffer"),
        "{log}"
    );
    let exposition = sidecar.metrics();
    assert_eq!(
        count(&exposition, "rankgauge_offset_gap_records_total", &[]),
        0
    );
    let stalled = "rankgauge_partition_stalled_seconds";
    assert!(
        exposition
            .matching(stalled, &[])
            .all(|sample| sample.text == "0")
    );
}

/// Broker with a topic whose batch of the offsets 5 to 8 is damaged, before three more records.
fn with_damaged_batch() -> (Broker, Stream) {
    let mut broker = Broker::private();
    let stream = Stream::on_new_topics(&broker, 1, 2.0, Millis(1_000_000));
    let topic = stream.topic(Kind::Search);
    broker.produce(topic, (0..5).map(|_| ("", "{}", Some(0))));
    broker.produce_batch(topic, "zstd", &vec![vec![b' '; 100]; 4]);
    broker.stop();
    broker.damage_last_batch(topic);
    broker.restart();
    broker.produce(topic, (0..3).map(|_| ("", "{}", Some(0))));
    (broker, stream)
}

/// Asserts that the four records of the damaged batch are lost, and that reading goes on.
fn assert_skipped(sidecar: &Sidecar, topic: &str) {
    let lost = [("topic", topic), ("reason", "unreadable")];
    let lost = count(
        &sidecar.metrics(),
        "rankgauge_offset_gap_records_total",
        &lost,
    );
    assert_eq!(lost, 4);
    wait_until(SOON, "the partition is no longer stalled", || {
        (sidecar.get("/readyz").0 == 200).then_some(())
    });
}

#[test]
fn damaged_batch_of_a_forwarder_is_reported_with_its_offset_or_skipped_as_lost() {
    let (broker, stream) = with_damaged_batch();
    let topic = stream.topic(Kind::Search);
    let mut settings = settings(&broker, &stream);
    settings["admin"] = json!({"listen": "127.0.0.1:0"});
    settings["kafka"]["join"] = json!("repartition");
    settings["kafka"]["commit_undecodable"] = json!(true);
    let mut waiting = start(&settings);
    let place = format!("partition 0 of {topic} is stalled at offset 5");
    wait_until(SOON, "the sidecar is not ready", || {
        let (status, body) = waiting.get("/readyz");
        (status == 503 && body.starts_with(&place)).then_some(())
    });
    let labels = [("topic", topic), ("partition", "0")];
    wait_until(SOON, "the lag of the forwarder", || {
        let exposition = waiting.metrics();
        let stalled = exposition.value("rankgauge_partition_stalled_seconds", &labels);
        assert!(stalled.is_some_and(|seconds| seconds > 1.0), "{stalled:?}");
        let lag = exposition.value("rankgauge_forwarder_lag_records", &labels);
        (received(&exposition)[0] == 5 && lag == Some(7.0)).then_some(())
    });
    let status = waiting.api("/api/v1/status");
    let sources = status["sources"].as_array().expect("a list");
    let source = sources.iter().find(|it| it["topic"] == *topic);
    let source = source.expect("the source partition");
    assert_eq!(source["lag"], 7, "{source}");
    assert_eq!(source["stalled"]["offset"], 5, "{source}");
    let page = waiting.page("/pipeline");
    assert!(page.contains("stalled at offset 5 for "), "{page}");
    assert!(waiting.terminate(SHUTDOWN).success());

    settings["kafka"]["stalled_partition"] = json!("skip");
    let skipping = start(&settings);
    wait_until(CONSUMED, "the records after the batch are copied", || {
        let exposition = skipping.metrics();
        let lag = exposition.value("rankgauge_forwarder_lag_records", &labels);
        (received(&exposition)[0] == 3 && lag == Some(0.0)).then_some(())
    });
    assert_skipped(&skipping, topic);
}

#[test]
fn damaged_batch_is_reported_with_its_offset_or_skipped_as_lost() {
    let (broker, stream) = with_damaged_batch();
    let topic = stream.topic(Kind::Search);
    let mut settings = settings(&broker, &stream);
    settings["checkpoint"] = json!({"folder": stream.folder().join("checkpoints")});
    let mut waiting = start(&settings);
    let problem = wait_until(SOON, "the sidecar is not ready", || {
        let (status, body) = waiting.get("/readyz");
        (status == 503 && body.contains("stalled")).then_some(body)
    });
    let place = format!("partition 0 of {topic} is stalled at offset 5");
    assert!(problem.starts_with(&place), "{problem}");
    assert!(
        problem.contains("kafka.stalled_partition: skip"),
        "{problem}"
    );
    assert_eq!(waiting.get("/healthz").0, 200);
    let exposition = waiting.metrics();
    let labels = [("topic", topic), ("partition", "0")];
    let stalled = exposition.value("rankgauge_partition_stalled_seconds", &labels);
    assert!(stalled.is_some_and(|seconds| seconds > 1.0), "{stalled:?}");
    assert_eq!(received(&exposition)[0], 5);
    let log = waiting.log();
    let said = format!("partition stalled worker=0 topic=\"{topic}\" partition=0 offset=5");
    assert!(log.contains(&said), "{log}");
    assert!(waiting.terminate(SHUTDOWN).success());

    settings["kafka"]["stalled_partition"] = json!("skip");
    let skipping = start(&settings);
    wait_until(CONSUMED, "the records after the batch are read", || {
        (received(&skipping.metrics())[0] == 8).then_some(())
    });
    assert_skipped(&skipping, topic);
    let log = skipping.log();
    assert!(log.contains("unreadable batch skipped"), "{log}");
}
