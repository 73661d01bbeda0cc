//! Compressed batches pass every bound of bytes: memory stays below the limit that `check` states
//! for the batches that the topics accept.

use rankgauge_core::event::Kind;
use rankgauge_core::number::real;
use rankgauge_core::time::Millis;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{CONSUMED, check, received, settings, start};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::wait_until;

/// Batches of a producer that is not trusted, and the topic that they are sent to.
struct Bomb {
    /// Codec of the producer.
    producer: &'static str,
    /// `compression.type` and `max.message.bytes` of the topic.
    topic: [&'static str; 2],
    /// `fetch.max.bytes` of the sidecar.
    fetch: Option<&'static str>,
    /// Size of a record, and number of records in a batch.
    record: usize,
    records: usize,
}

const MIB: u64 = 1 << 20;
const BATCHES: usize = 4;

/// The number before `MiB` in the finding `memory`.
pub(super) fn stated_limit(settings: &Value) -> u64 {
    let (text, code) = check::check(settings, &[]);
    assert_eq!(code, 0, "{text}");
    let (_, after) = text
        .split_once("the process needs at most ")
        .unwrap_or_else(|| panic!("no finding about memory: {text}"));
    let (number, _) = after.split_once(" MiB").expect("a number of MiB");
    number.parse::<u64>().expect("a number of MiB") * MIB
}

/// Sends the bombs, and checks the peak of the memory of a sidecar that reads them.
fn assert_bounded(bomb: &Bomb) {
    let name = unique_name("bomb");
    let topics = ["search", "feedback"].map(|kind| format!("{name}.{kind}"));
    let [codec, bytes] = bomb.topic;
    for topic in &topics {
        let settings = [("compression.type", codec), ("max.message.bytes", bytes)];
        broker().create_topic_with(topic, 2, &settings);
    }
    let stream = Stream::new(topics, 2, 2.0, Millis(1_000_000));
    let mut settings = settings(broker(), &stream);
    settings["engine"]["memory"] = json!("16MiB");
    if let Some(fetch) = bomb.fetch {
        settings["kafka"]["properties"]["fetch.max.bytes"] = json!(fetch);
    }
    let limit = stated_limit(&settings);
    let producer = broker().batch_producer(bomb.producer, bomb.records);
    let payload = vec![b'x'; bomb.record];
    for _ in 0..BATCHES {
        for partition in 0..2 {
            let records = (0..bomb.records).map(|_| ("", &payload, Some(partition)));
            producer.produce(stream.topic(Kind::Search), records);
        }
    }
    let sidecar = start(&settings);
    let records = (2 * BATCHES * bomb.records) as u64;
    wait_until(CONSUMED, "all records are read", || {
        (received(&sidecar.metrics())[0] == records).then_some(())
    });
    let peak = sidecar.peak_memory();
    let sent = records * bomb.record as u64;
    eprintln!(
        "{} in a topic with {codec}: {records} records, {} MiB decompressed; peak {:.0} MiB, stated limit {} MiB",
        bomb.producer,
        sent / MIB,
        peak / real(MIB),
        limit / MIB
    );
    assert!(peak < real(limit), "{peak} of {limit} bytes");
}

#[test]
fn compressed_batches_of_every_codec_stay_below_the_stated_limit() {
    // Records of 1 MB; a batch fills `max.message.bytes` almost.
    for (codec, bytes, fetch, records) in [
        ("snappy", "1048588", None, 20),
        ("lz4", "524288", None, 120),
        ("gzip", "131072", None, 120),
        ("zstd", "4096", Some("4096"), 45),
    ] {
        assert_bounded(&Bomb {
            producer: codec,
            topic: [codec, bytes],
            fetch,
            record: 1_000_000,
            records,
        });
    }
}

#[test]
fn topic_with_a_codec_bounds_producers_of_another_codec() {
    assert_bounded(&Bomb {
        producer: "zstd",
        topic: ["lz4", "262144"],
        fetch: None,
        record: 1_000_000,
        records: 50,
    });
    // Empty records: librdkafka needs far more memory for a record than the broker does.
    assert_bounded(&Bomb {
        producer: "zstd",
        topic: ["uncompressed", "1048588"],
        fetch: None,
        record: 0,
        records: 100_000,
    });
}

#[test]
fn dense_lz4_feedback_stays_below_the_documented_limit_at_one_and_eight_workers() {
    const RECORDS: u64 = 20_000;
    const PARTITIONS: u16 = 16;
    let stream = Stream::on_new_topics(broker(), PARTITIONS, 2.0, Millis(1_000_000));
    let producer = broker().batch_producer("lz4", 2_000);
    for partition in 0..i32::from(PARTITIONS) {
        let records = (0..RECORDS).map(|number| {
            let click = json!({"event_id": format!("click-{partition}-{number}"), "type": "click",
                "query_id": format!("search-{number}"), "ts": 1_750_000_000_000 + number, "position": 1});
            ("", click.to_string(), Some(partition))
        });
        producer.produce(stream.topic(Kind::Feedback), records);
    }
    for workers in [1, 8] {
        let mut settings = settings(broker(), &stream);
        settings["workers"] = json!(workers);
        settings["engine"]["memory"] = json!("16MiB");
        let sidecar = start(&settings);
        wait_until(CONSUMED, "all records are read", || {
            let sent = RECORDS * u64::from(PARTITIONS);
            (received(&sidecar.metrics())[1] == sent).then_some(())
        });
        let (peak, limit) = (sidecar.peak_memory(), (workers * 16 + 100) * MIB);
        eprintln!(
            "{workers} workers: peak {:.0} MiB, limit {} MiB",
            peak / real(MIB),
            limit / MIB
        );
        assert!(
            peak < real(limit),
            "{workers} workers: {peak} of {limit} bytes"
        );
    }
}
