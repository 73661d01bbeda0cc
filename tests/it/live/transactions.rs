//! Transactions: with `isolation.level=read_committed`, the default, records after the first open
//! transaction cannot be read until it ends.

use std::time::{Duration, Instant};

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::json;

use super::stream::Stream;
use super::{
    CONSUMED, SOON, assert_same, counters, received, replayed, scrape_when_received, settings,
    start,
};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

/// Lag of a topic.
fn lag(sidecar: &Sidecar, topic: &str) -> f64 {
    let exposition = sidecar.metrics();
    exposition.sum("rankgauge_consumer_lag_records", &[("topic", topic)])
}

#[test]
fn hanging_transaction_on_one_topic_does_not_stop_the_other() {
    // The records span more time than a feedback window: a topic that is further ahead than that
    // pauses while the other topic has records left to read.
    let mut stream = Stream::on_new_topics(broker(), 1, 2.0, Millis(1_000_000));
    let mut settings = settings(broker(), &stream);
    settings["engine"]["feedback_window"] = json!("60s");
    let sidecar = start(&settings);
    stream.produce(broker(), 100);
    scrape_when_received(&sidecar, stream.produced());

    let transaction = broker().open_transaction(stream.topic(Kind::Search), 0);
    let [searches, _] = stream.produced();
    // 600 searches of five minutes, with their feedback.
    stream.produce(broker(), 600);
    let started = Instant::now();
    wait_until(SOON, "the statistics report the lag several times", || {
        (started.elapsed() > Duration::from_secs(4)).then_some(())
    });
    // With a lag of the search topic, its feedback topic is paused by now.
    stream.produce(broker(), 600);
    let [_, feedback] = stream.produced();
    let read = wait_until(CONSUMED, "all feedback is read", || {
        let read = received(&sidecar.metrics());
        (read[1] == feedback).then_some(read)
    });
    assert_eq!(
        read[0], searches,
        "searches after the transaction are not readable"
    );
    for kind in Kind::ALL {
        wait_until(SOON, "there is nothing left to read", || {
            (lag(&sidecar, stream.topic(kind)) < 0.5).then_some(())
        });
    }

    transaction.abort();

    let exposition = scrape_when_received(&sidecar, stream.produced());
    // The aborted record and its marker are no loss.
    assert!(exposition.sum("rankgauge_offsets_without_records_total", &[]) > 0.5);
    assert_eq!(
        super::count(&exposition, "rankgauge_offset_gap_records_total", &[]),
        0
    );
    let searches = |counters: &super::Counters| {
        let of_searches = counters.iter();
        let of_searches =
            of_searches.filter(|(series, _)| series.starts_with("rankgauge_searches_total"));
        of_searches
            .map(|(series, count)| (series.clone(), count.clone()))
            .collect()
    };
    let expected = replayed(&settings, &stream, &exposition);
    assert_same::<String, String>(&searches(&counters(&exposition)), &searches(&expected));
}

#[test]
fn compaction_is_no_loss() {
    let topic = unique_name("compacted");
    let feedback = unique_name("feedback");
    broker().create_compacted_topic(&topic);
    broker().create_topic(&feedback, 1);
    let stream = Stream::new([topic.clone(), feedback], 1, 2.0, Millis(1_000_000));
    let write = |count: usize| {
        let keys = ["a", "b", "c", "d"].iter().cycle().take(count);
        broker().produce(&topic, keys.map(|key| (*key, "{}", Some(0))));
    };
    write(400);
    wait_until(CONSUMED, "the topic is compacted", || {
        // A further record closes the segment of those before it.
        write(1);
        (broker().count_records(&topic) < 300).then_some(())
    });
    let sidecar = start(&settings(broker(), &stream));
    let end = broker().end_offsets(&topic)[0];
    let end = u64::try_from(end).expect("offsets are not negative");
    let without = |kind: &str| super::count(&sidecar.metrics(), kind, &[("topic", &topic)]);
    wait_until(CONSUMED, "every offset is accounted for", || {
        let read = received(&sidecar.metrics())[0];
        let all = read + without("rankgauge_offsets_without_records_total");
        (all == end).then_some(())
    });
    assert!(without("rankgauge_offsets_without_records_total") > 100);
    assert_eq!(without("rankgauge_offset_gap_records_total"), 0);
}

#[test]
fn new_group_starts_at_the_last_stable_offset() {
    let mut stream = Stream::on_new_topics(broker(), 1, 50.0, Millis(100_000));
    stream.produce(broker(), 50);
    let transaction = broker().open_transaction(stream.topic(Kind::Search), 0);
    stream.produce(broker(), 50);
    let mut settings = settings(broker(), &stream);
    settings["kafka"]["start"] = json!("latest");
    let sidecar = start(&settings);
    wait_until(SOON, "partitions are assigned", || {
        (sidecar.get("/readyz").0 == 200).then_some(())
    });
    transaction.abort();
    // Searches after the transaction become readable only now: they are new.
    wait_until(SOON, "searches after the transaction are read", || {
        (received(&sidecar.metrics())[0] == 50).then_some(())
    });
}
