//! Topics that are not co-partitioned: one replica owns all partitions of both, and joins by id.

use std::collections::BTreeSet;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::{Value, json};

use super::recovery::{assert_not_less, durable};
use super::stream::Stream;
use super::{
    CONSUMED, Counters, SOON, added, assert_same, count, counters, finished, received, replayed,
    scrape_when_received, settings, start, wait_until_counted,
};
use crate::harness::kafka::broker;
use crate::harness::wait_until;

/// Number of feedback events of a stream whose search is in it.
fn pairs(stream: &Stream) -> u64 {
    let records = |kind| {
        let texts = stream
            .files(kind)
            .into_iter()
            .map(|path| std::fs::read_to_string(path).expect("a file of the stream"));
        let texts: Vec<String> = texts.collect();
        let lines = texts.iter().flat_map(|text| text.lines());
        let events: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).expect("a JSON event"))
            .collect();
        events
    };
    let id = |event: &Value| event["query_id"].as_str().map(str::to_owned);
    let searches: BTreeSet<_> = records(Kind::Search)
        .into_iter()
        .map(|event| id(&event))
        .collect();
    let feedback = records(Kind::Feedback);
    let known = feedback
        .iter()
        .filter(|event| searches.contains(&id(event)));
    u64::try_from(known.count()).expect("few")
}

#[test]
fn topics_with_other_partitions_and_keys_are_joined_by_id_through_kills() {
    let mut stream = Stream::apart(broker(), [6, 12], 100.0, Millis(3_600_000));
    let mut settings = settings(broker(), &stream);
    settings["kafka"]["join"] = json!("owner");
    durable(&mut settings, &stream.folder().join("checkpoints"));
    let mut chance = ChaCha8Rng::seed_from_u64(9);
    let mut seen = Counters::new();
    for _ in 0..5 {
        stream.produce(broker(), 4_000);
        let sidecar = start(&settings);
        let scrapes = chance.random_range(1..15);
        for _ in 0..scrapes {
            let exposition = sidecar.metrics();
            let now = counters(&exposition);
            assert_not_less(&now, &seen);
            seen = now;
        }
        // `kill -9`
        drop(sidecar);
    }
    stream.produce(broker(), 4_000);
    let sidecar = start(&settings);
    wait_until_counted(broker(), &settings, &stream);
    let exposition = scrape_when_received(&sidecar, stream.produced());
    let assigned = exposition.sum("rankgauge_assigned_partitions", &[]);
    assert!((assigned - 12.0).abs() < 0.5, "{assigned}");
    let of_topics = exposition.sum("rankgauge_topic_partitions", &[]);
    assert!((of_topics - 12.0).abs() < 0.5, "{of_topics}");
    assert_same(
        &added([&counters(&exposition)]),
        &added([&replayed(&settings, &stream, &exposition)]),
    );
    // The join is by id, wherever a record lies: of repeated feedback, once.
    let joined = count(
        &exposition,
        "rankgauge_events_total",
        &[("outcome", "joined")],
    );
    let pairs = pairs(&stream);
    assert!(joined * 10 > pairs * 9, "{joined} of {pairs}");
    assert!(finished(&exposition, Kind::Search) > 0);
}

#[test]
fn a_standby_takes_over_and_new_partitions_are_read() {
    let mut stream = Stream::apart(broker(), [2, 3], 100.0, Millis(400_000));
    let mut settings = settings(broker(), &stream);
    settings["kafka"]["join"] = json!("owner");
    settings["kafka"]["group_protocol"] = json!("consumer");
    let first = start(&settings);
    stream.produce(broker(), 500);
    wait_until_counted(broker(), &settings, &stream);
    let second = start(&settings);
    wait_until(SOON, "the second replica is ready", || {
        (second.get("/readyz").0 == 200).then_some(())
    });
    // The group may give the partition of the owner to the new member.
    let (is_first, last) = wait_until(CONSUMED, "one replica has counted the rest", || {
        let both = [first.metrics(), second.metrics()];
        let owns = both
            .each_ref()
            .map(|it| it.sum("rankgauge_assigned_partitions", &[]) > 0.5);
        let [left, right] = both.each_ref().map(received);
        let all = [left[0] + right[0], left[1] + right[1]];
        let is_settled = owns[0] != owns[1] && all == stream.produced();
        let [of_first, of_second] = both;
        is_settled.then_some((owns[0], if owns[0] { of_first } else { of_second }))
    });
    let (mut first, second) = if is_first {
        (first, second)
    } else {
        (second, first)
    };
    let ended = first.terminate(super::SHUTDOWN);
    assert!(ended.success(), "{}", first.log());
    stream.produce(broker(), 500);
    wait_until_counted(broker(), &settings, &stream);
    // What was pending in the first is pending in the second.
    let done = Kind::ALL.map(|kind| finished(&last, kind));
    let produced = stream.produced();
    let rest = [produced[0] - done[0], produced[1] - done[1]];
    let exposition = scrape_when_received(&second, rest);
    let mut parting = counters(&last);
    parting.retain(|series, _| !series.starts_with("rankgauge_events_pending"));
    assert_same(
        &added([&counters(&exposition), &parting]),
        &added([&replayed(&settings, &stream, &exposition)]),
    );
    // The group does not assign the partitions of the topics: the owner looks for new ones.
    broker().grow_topic(stream.topic(Kind::Search), 4);
    wait_until(CONSUMED, "new partitions are read", || {
        let assigned = second.metrics().sum("rankgauge_assigned_partitions", &[]);
        (assigned > 3.5).then_some(())
    });
    let log = second.log();
    assert!(log.contains("partitions added to a topic"), "{log}");
}
