//! Dead-letter records: the unchanged payload of undecodable records, with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{SHUTDOWN, SOON, counted, scrape_when_received, settings, start};
use crate::harness::gate::Gate;
use crate::harness::kafka::{Broker, broker, unique_name};
use crate::harness::sidecar::Sidecar;
use crate::harness::{free_port, wait_until};

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

/// Client id of the producer of dead-letter records.
const PRODUCER: &str = "rankgauge-dead-letters";

/// Broker that sidecars reach through a gate, which can hold their dead-letter records.
struct SlowBroker {
    broker: Broker,
    gate: Gate,
    port: u16,
}

/// Stream with invalid records, and a sidecar's settings for it.
struct Rejections {
    topics: [String; 2],
    letters: String,
    settings: Value,
    stream: Stream,
    /// Number of all records of each kind.
    all: [u64; 2],
}

impl SlowBroker {
    fn start() -> Self {
        let port = free_port();
        let mut broker = Broker::prepared_behind(Some(port));
        broker.restart();
        let gate = Gate::open(port, broker.behind_gate());
        Self { broker, gate, port }
    }

    /// Produces `bad` invalid records to new topics of one partition, after some searches.
    fn reject(&self, bad: usize) -> Rejections {
        let mut stream = Stream::on_new_topics(&self.broker, 1, 50.0, Millis(120_000));
        let letters = unique_name("letters");
        self.broker.create_topic(&letters, 1);
        stream.produce(&self.broker, 100);
        let topics = stream.topics();
        for topic in &topics {
            let records = (0..bad).map(|_| ("key", "no event", Some(0)));
            self.broker.produce(topic, records);
        }
        let mut settings = settings(&self.broker, &stream);
        settings["kafka"]["brokers"] = json!(format!("127.0.0.1:{}", self.port));
        settings["kafka"]["dead_letter_topic"] = json!(letters);
        settings["checkpoint"] = json!({"folder": stream.folder().join("checkpoints")});
        // A sidecar after one that was killed does not wait for the end of its session.
        settings["kafka"]["properties"]["group.instance.id"] = json!(unique_name("replica"));
        let bad = u64::try_from(bad).expect("a small number");
        let all = stream.produced().map(|count| count + bad);
        Rejections {
            topics,
            letters,
            settings,
            stream,
            all,
        }
    }

    /// Offsets of the records in the dead-letter topic, by original topic.
    fn letters(&self, of: &Rejections) -> BTreeSet<(String, i64)> {
        let records = self.broker.consume(&of.letters).into_iter();
        let origins = records.map(|letter| {
            let offset = letter.headers["offset"].parse().expect("an offset");
            (letter.headers["topic"].clone(), offset)
        });
        origins.collect()
    }

    /// Asserts that some rejected records of each topic are not committed.
    fn assert_uncommitted(&self, of: &Rejections) {
        let committed = counted(&self.broker, &of.settings, &of.stream);
        for (committed, all) in committed.iter().zip(of.all) {
            assert!(*committed < all, "{committed} of {all} are committed");
        }
    }
}

/// Asserts that no dead-letter record is counted as failed.
fn assert_no_failures(sidecar: &Sidecar, of: &Rejections) {
    let exposition = sidecar.metrics();
    for topic in &of.topics {
        let labels = [("topic", &**topic)];
        let failed = exposition.value("rankgauge_dead_letter_failures_total", &labels);
        assert_eq!(failed, Some(0.0));
    }
}

/// Waits for a time in which the sidecar could have done something.
fn wait_for_a_while(what: &str) {
    let started = Instant::now();
    wait_until(SOON, what, || {
        (started.elapsed() > Duration::from_secs(3)).then_some(())
    });
}

#[test]
fn rejected_records_are_committed_only_after_the_delivery_of_their_dead_letter_records() {
    let slow = SlowBroker::start();
    killed_before_the_delivery(&slow);
    stopped_before_and_during_the_delivery(&slow);
    too_many_for_the_memory(&slow);
}

fn killed_before_the_delivery(slow: &SlowBroker) {
    let mut rejected = slow.reject(20);
    // A member without an id, as by default: its successor waits for the end of its session.
    let properties = &mut rejected.settings["kafka"]["properties"];
    properties["session.timeout.ms"] = json!("6000");
    let properties = properties.as_object_mut().expect("properties");
    properties.remove("group.instance.id").expect("an id");
    slow.gate.hold(PRODUCER);
    let sidecar = start(&rejected.settings);
    // Counters are published although the dead-letter records are not delivered.
    scrape_when_received(&sidecar, rejected.all);
    wait_for_a_while("several commits could have been made");
    slow.assert_uncommitted(&rejected);
    assert_no_failures(&sidecar, &rejected);
    // This kills it.
    drop(sidecar);
    assert_eq!(slow.letters(&rejected).len(), 0);

    slow.gate.release();

    let sidecar = start(&rejected.settings);
    scrape_when_received(&sidecar, rejected.all);
    wait_until(SOON, "every dead-letter record arrives", || {
        (slow.letters(&rejected).len() == 40).then_some(())
    });
    wait_until(SOON, "the rejected records are committed", || {
        let committed = counted(&slow.broker, &rejected.settings, &rejected.stream);
        (committed == rejected.all).then_some(())
    });
}

fn stopped_before_and_during_the_delivery(slow: &SlowBroker) {
    let rejected = slow.reject(5);
    let mut impatient = rejected.settings.clone();
    impatient["shutdown_timeout"] = json!("6s");
    slow.gate.hold(PRODUCER);
    let mut sidecar = start(&impatient);
    scrape_when_received(&sidecar, rejected.all);
    let status = sidecar.terminate(SHUTDOWN);
    assert!(status.success(), "{status}");
    let log = sidecar.log();
    assert!(
        log.contains("dead-letter records not delivered in time"),
        "{log}"
    );
    slow.assert_uncommitted(&rejected);

    // The next shutdown waits for the records that the broker accepts meanwhile.
    let mut sidecar = start(&rejected.settings);
    scrape_when_received(&sidecar, rejected.all);
    slow.gate.release();
    let status = sidecar.terminate(SHUTDOWN);
    assert!(status.success(), "{status}");
    assert_eq!(slow.letters(&rejected).len(), 10);
    let committed = counted(&slow.broker, &rejected.settings, &rejected.stream);
    assert_eq!(committed, rejected.all);
}

fn too_many_for_the_memory(slow: &SlowBroker) {
    let rejected = slow.reject(12_000);
    slow.gate.hold(PRODUCER);
    let sidecar = start(&rejected.settings);
    let invalid = || {
        let exposition = sidecar.metrics();
        exposition.sum("rankgauge_invalid_events_total", &[])
    };
    wait_until(SOON, "reading reaches the limit", || {
        (invalid() >= 5_000.0).then_some(())
    });
    wait_for_a_while("more records could have been read");
    assert!(invalid() < 5_500.0, "{}", invalid());
    assert_eq!(sidecar.get("/healthz").0, 200);

    slow.gate.release();

    scrape_when_received(&sidecar, rejected.all);
    assert_no_failures(&sidecar, &rejected);
    wait_until(SOON, "every dead-letter record arrives", || {
        (slow.letters(&rejected).len() == 24_000).then_some(())
    });
}

fn exposed(number: usize) -> Option<f64> {
    u32::try_from(number).ok().map(f64::from)
}
