//! Dead-letter records: the unchanged payload of undecodable records, with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{SOON, counted, scrape_when_received, settings, start};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::wait_until;

/// Invalid payloads, with the reason of their rejection.
const BAD: [(&str, &[u8]); 4] = [
    ("malformed", b"{"),
    ("malformed", b"\xff\xfe"),
    ("missing_field", b"{\"query\": \"no id\", \"ts\": 5}"),
    ("malformed", b""),
];

#[test]
fn undecodable_records_are_dead_lettered_with_reason_and_offset() {
    let mut stream = Stream::on_new_topics(broker(), 2, 50.0, Millis(120_000));
    let letters = unique_name("letters");
    broker().create_topic(&letters, 1);
    let mut settings = settings(broker(), &stream);
    settings["kafka"]["dead_letter_topic"] = json!(letters);
    stream.produce(broker(), 100);
    for kind in Kind::ALL {
        let records = BAD.iter().map(|(_, payload)| ("key", payload, Some(1)));
        broker().produce(stream.topic(kind), records);
    }
    stream.produce(broker(), 100);
    let sidecar = start(&settings);
    let [searches, feedback] = stream.produced();
    let bad = u64::try_from(BAD.len()).expect("a few");
    let exposition = scrape_when_received(&sidecar, [searches + bad, feedback + bad]);

    let found = wait_until(SOON, "every letter has arrived", || {
        let found = broker().consume(&letters);
        (found.len() == 2 * BAD.len()).then_some(found)
    });
    for kind in Kind::ALL {
        let topic = stream.topic(kind);
        let stored: BTreeMap<i64, Vec<u8>> = broker()
            .consume(topic)
            .into_iter()
            .filter(|record| record.partition == 1)
            .map(|record| (record.offset, record.payload))
            .collect();
        let of_topic: Vec<_> = found
            .iter()
            .filter(|letter| letter.headers["topic"] == topic)
            .collect();
        assert_eq!(of_topic.len(), BAD.len());
        for (letter, (_, payload)) in of_topic.iter().zip(BAD) {
            assert_eq!(letter.payload, payload);
            assert_eq!(letter.key, b"key");
            assert_eq!(letter.headers["partition"], "1");
            let offset: i64 = letter.headers["offset"].parse().expect("an offset");
            assert_eq!(stored[&offset], payload);
            assert!(!letter.headers["detail"].is_empty());
        }
        wait_until(SOON, "the letters are counted", || {
            let labels = [("topic", topic)];
            let exposition = sidecar.metrics();
            let sent = exposition.value("rankgauge_dead_letters_total", &labels);
            let failed = exposition.value("rankgauge_dead_letter_failures_total", &labels);
            (sent == exposed(BAD.len()) && failed == Some(0.0)).then_some(())
        });
        // The reasons are the same as those of the invalid-events counter.
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for letter in &of_topic {
            *reasons.entry(&letter.headers["reason"]).or_default() += 1;
        }
        for (reason, number) in reasons {
            let labels = [("kind", kind.name()), ("reason", reason)];
            let counted = exposition.value("rankgauge_invalid_events_total", &labels);
            assert_eq!(counted, exposed(number), "{reason}");
        }
    }
}

/// Dead-letter records of a topic, by original topic and offset.
fn letters_of(topic: &str) -> BTreeSet<(String, i64)> {
    let records = broker().consume(topic).into_iter();
    let origins = records.map(|letter| {
        let offset = letter.headers["offset"].parse().expect("an offset");
        (letter.headers["topic"].clone(), offset)
    });
    origins.collect()
}

/// Stream of one partition with `bad` records without a meaning in both topics, after some searches,
/// and a dead-letter topic that accepts no records yet. Returns the topic and the settings of a
/// sidecar with a checkpoint folder.
fn undeliverable(bad: usize) -> (Stream, String, Value) {
    let mut stream = Stream::on_new_topics(broker(), 1, 50.0, Millis(120_000));
    let letters = unique_name("letters");
    broker().create_topic_without_replicas(&letters);
    stream.produce(broker(), 100);
    for kind in Kind::ALL {
        let records = (0..bad).map(|_| ("key", "no event", Some(0)));
        broker().produce(stream.topic(kind), records);
    }
    let mut settings = settings(broker(), &stream);
    settings["kafka"]["dead_letter_topic"] = json!(letters);
    settings["checkpoint"] = json!({"folder": stream.folder().join("checkpoints")});
    (stream, letters, settings)
}

fn with_bad(produced: [u64; 2], bad: usize) -> [u64; 2] {
    produced.map(|count| count + u64::try_from(bad).expect("a small number"))
}

#[test]
fn rejected_records_are_committed_only_after_their_delivery() {
    const BAD_RECORDS: usize = 20;
    let (stream, letters, settings) = undeliverable(BAD_RECORDS);
    let all = with_bad(stream.produced(), BAD_RECORDS);
    let sidecar = start(&settings);
    // Counters are published although the dead-letter records are not delivered.
    let exposition = scrape_when_received(&sidecar, all);
    for kind in Kind::ALL {
        let labels = [("topic", stream.topic(kind))];
        let failed = exposition.value("rankgauge_dead_letter_failures_total", &labels);
        assert_eq!(failed, Some(0.0));
    }
    let started = Instant::now();
    wait_until(SOON, "several commits could have been made", || {
        (started.elapsed() > Duration::from_secs(3)).then_some(())
    });
    let counted_before = counted(broker(), &settings, &stream);
    assert!(
        counted_before
            .iter()
            .zip(all)
            .all(|(counted, all)| *counted < all),
        "{counted_before:?}"
    );
    // Kill it.
    drop(sidecar);
    assert!(letters_of(&letters).is_empty());

    broker().accept_records(&letters);
    let sidecar = start(&settings);
    scrape_when_received(&sidecar, all);
    let expected = wait_until(SOON, "every dead-letter record arrives", || {
        let found = letters_of(&letters);
        (found.len() >= 2 * BAD_RECORDS).then_some(found)
    });
    assert_eq!(expected.len(), 2 * BAD_RECORDS);
    wait_until(SOON, "the rejected records are committed", || {
        (counted(broker(), &settings, &stream) == all).then_some(())
    });
}

#[test]
fn stop_waits_for_dead_letter_records_only_within_the_shutdown_time() {
    const BAD_RECORDS: usize = 5;
    let (stream, letters, mut settings) = undeliverable(BAD_RECORDS);
    settings["shutdown_timeout"] = json!("6s");
    let all = with_bad(stream.produced(), BAD_RECORDS);
    let mut sidecar = start(&settings);
    scrape_when_received(&sidecar, all);
    let status = sidecar.terminate(Duration::from_secs(12));
    assert!(status.success(), "{status}");
    let log = sidecar.log();
    assert!(
        log.contains("dead-letter records not delivered in time"),
        "{log}"
    );
    let committed = counted(broker(), &settings, &stream);
    assert!(
        committed
            .iter()
            .zip(all)
            .all(|(counted, all)| *counted < all),
        "{committed:?}"
    );

    // Records that can be delivered are delivered before the end.
    let mut sidecar = start(&settings);
    scrape_when_received(&sidecar, all);
    broker().accept_records(&letters);
    let status = sidecar.terminate(Duration::from_secs(12));
    assert!(status.success(), "{status}");
    assert_eq!(letters_of(&letters).len(), 2 * BAD_RECORDS);
    assert_eq!(counted(broker(), &settings, &stream), all);
}

#[test]
fn reading_pauses_while_too_many_dead_letter_records_are_outstanding() {
    const BAD_RECORDS: usize = 12_000;
    let (stream, letters, settings) = undeliverable(BAD_RECORDS);
    let all = with_bad(stream.produced(), BAD_RECORDS);
    let sidecar = start(&settings);
    let invalid = || {
        let exposition = sidecar.metrics();
        exposition.sum("rankgauge_invalid_events_total", &[])
    };
    wait_until(SOON, "the limit is reached", || {
        (invalid() >= 5_000.0).then_some(())
    });
    let started = Instant::now();
    wait_until(SOON, "more records could have been read", || {
        (started.elapsed() > Duration::from_secs(3)).then_some(())
    });
    // A batch may end after the limit.
    assert!(invalid() < 6_000.0, "{}", invalid());
    assert_eq!(sidecar.get("/healthz").0, 200);

    broker().accept_records(&letters);
    let exposition = scrape_when_received(&sidecar, all);
    for kind in Kind::ALL {
        let labels = [("topic", stream.topic(kind))];
        let failed = exposition.value("rankgauge_dead_letter_failures_total", &labels);
        assert_eq!(failed, Some(0.0));
    }
    wait_until(SOON, "every dead-letter record arrives", || {
        (letters_of(&letters).len() == 2 * BAD_RECORDS).then_some(())
    });
}

fn exposed(number: usize) -> Option<f64> {
    u32::try_from(number).ok().map(f64::from)
}
