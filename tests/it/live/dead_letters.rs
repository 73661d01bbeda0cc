//! Dead-letter records: the unchanged payload of undecodable records, with the reason.

use std::collections::BTreeMap;

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::json;

use super::stream::Stream;
use super::{SOON, scrape_when_received, settings, start};
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

fn exposed(number: usize) -> Option<f64> {
    u32::try_from(number).ok().map(f64::from)
}
