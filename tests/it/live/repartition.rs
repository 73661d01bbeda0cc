//! Topics that are not co-partitioned, copied to internal topics and joined there.

use std::collections::BTreeMap;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::json;

use super::recovery::{assert_not_less, durable};
use super::stream::Stream;
use super::{
    Counters, added, assert_same, counters, finished, internal_topics, replayed,
    scrape_when_received, settings, start, wait_until_counted,
};
use crate::harness::kafka::broker;

/// Without the offsets of markers and aborted records, which a replay of files does not have.
fn of_records(mut counters: Counters) -> Counters {
    counters.retain(|series, _| !series.starts_with("rankgauge_offsets_without_records"));
    counters
}

#[test]
fn topics_with_other_partitions_and_keys_are_counted_once_through_kills() {
    let mut stream = Stream::apart(broker(), [6, 12], 100.0, Millis(3_600_000));
    let mut settings = settings(broker(), &stream);
    settings["kafka"]["join"] = json!("repartition");
    settings["kafka"]["repartition_key"] = json!("session_id");
    settings["workers"] = json!(2);
    durable(&mut settings, &stream.folder().join("checkpoints"));
    let mut chance = ChaCha8Rng::seed_from_u64(10);
    let mut seen = Counters::new();
    for _ in 0..4 {
        stream.produce(broker(), 3_000);
        let sidecar = start(&settings);
        let scrapes = chance.random_range(1..15);
        for _ in 0..scrapes {
            let now = counters(&sidecar.metrics());
            assert_not_less(&now, &seen);
            seen = now;
        }
        // `kill -9`
        drop(sidecar);
    }
    stream.produce(broker(), 3_000);
    let sidecar = start(&settings);
    wait_until_counted(broker(), &settings, &stream);
    let exposition = scrape_when_received(&sidecar, stream.produced());
    let expected = of_records(replayed(&settings, &stream, &exposition));
    assert_same(
        &added([&of_records(counters(&exposition))]),
        &added([&expected]),
    );
    assert!(finished(&exposition, Kind::Search) > 0);
    // Each internal topic has as many partitions as the larger source, and more than one has records.
    for topic in internal_topics(&settings) {
        let ends: BTreeMap<i32, i64> = broker().ends(&topic);
        assert_eq!(ends.len(), 12, "{topic}");
        assert!(ends.values().all(|end| *end > 0), "{topic}: {ends:?}");
    }
}
