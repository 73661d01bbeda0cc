//! Replicas that join and leave: another replica continues their partitions, and the sum of their
//! counters equals the counters of a single replica.

use std::time::Duration;

use rankgauge_core::time::Millis;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use serde_json::json;

use super::stream::Stream;
use super::{
    CONSUMED, SHUTDOWN, SOON, added, assert_same, count, counters, finished, received, replayed,
    scrape_when_received, settings, start, wait_until_counted, without_sessions,
};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;
use rankgauge_core::event::Kind;

#[test]
fn replica_joining_and_leaving_mid_stream_is_exactly_once() {
    join_and_leave("classic");
}

#[test]
fn replica_joining_and_leaving_is_exactly_once_with_an_assignment_by_the_brokers() {
    join_and_leave("consumer");
}

fn join_and_leave(protocol: &str) {
    let mut stream = Stream::on_new_topics(broker(), 8, 100.0, Millis(400_000));
    let mut settings = settings(broker(), &stream);
    settings["kafka"]["group_protocol"] = json!(protocol);
    let first = start(&settings);
    stream.produce(broker(), 10_000);

    // The second replica joins while records arrive.
    let mut second = start(&settings);
    wait_until(SOON, "the second replica shares the partitions", || {
        stream.produce(broker(), 500);
        let exposition = second.metrics();
        (exposition.value("rankgauge_assigned_partitions", &[]) == Some(4.0)).then_some(())
    });
    let of_topics = |it: &Sidecar| it.metrics().value("rankgauge_topic_partitions", &[]);
    assert_eq!([&first, &second].map(of_topics), [Some(8.0); 2]);
    stream.produce(broker(), 5_000);

    wait_until_counted(broker(), &settings, &stream);
    // The counters of a replica are no longer scraped after it has left, so its last scrape is
    // taken when everything is received.
    let last = wait_until(CONSUMED, "the two together receive every record", || {
        let (first, second) = (first.metrics(), second.metrics());
        let (ours, theirs) = (received(&first), received(&second));
        let sums = [ours[0] + theirs[0], ours[1] + theirs[1]];
        (sums == stream.produced()).then_some(second)
    });
    assert!(Kind::ALL.iter().all(|kind| finished(&last, *kind) > 0));
    let status = second.terminate(SHUTDOWN);
    assert!(status.success(), "{status}");
    stream.produce(broker(), 10_000);
    wait_until_counted(broker(), &settings, &stream);

    let [searches, feedback] = stream.produced();
    let left_with = Kind::ALL.map(|kind| finished(&last, kind));
    let rest = [searches - left_with[0], feedback - left_with[1]];
    let exposition = scrape_when_received(&first, rest);
    let mut parting = counters(&last);
    // Records pending in the replica that left are now pending in the other one.
    parting.retain(|series, _| !series.starts_with("rankgauge_events_pending"));
    let found = [counters(&exposition), parting].map(without_sessions);
    let expected = without_sessions(replayed(&settings, &stream, &exposition));
    assert_same(&added(&found), &added([&expected]));
}

#[test]
fn releases_with_other_topics_and_the_same_instance_id_do_not_fence_each_other() {
    let instance = unique_name("replica");
    let mut first = Stream::on_new_topics(broker(), 2, 100.0, Millis(400_000));
    let mut second = Stream::on_new_topics(broker(), 2, 100.0, Millis(400_000));
    let mut of_first = settings(broker(), &first);
    of_first["kafka"]["properties"]["group.instance.id"] = json!(instance);
    let mut of_second = settings(broker(), &second);
    of_second["kafka"]["group_id"] = of_first["kafka"]["group_id"].clone();
    of_second["kafka"]["properties"]["group.instance.id"] = json!(instance);
    let one = start(&of_first);
    first.produce(broker(), 500);
    wait_until_counted(broker(), &of_first, &first);
    let two = start(&of_second);
    second.produce(broker(), 500);
    wait_until_counted(broker(), &of_second, &second);
    first.produce(broker(), 500);
    wait_until_counted(broker(), &of_first, &first);
    for sidecar in [&one, &two] {
        assert_eq!(sidecar.get("/readyz").0, 200);
        let log = sidecar.log();
        assert!(!log.contains("FENCED"), "{log}");
    }
}

#[test]
fn a_client_of_other_topics_with_the_same_instance_id_is_waited_for() {
    let mut stream = Stream::on_new_topics(broker(), 2, 100.0, Millis(400_000));
    let foreign = unique_name("foreign");
    broker().create_topic(&foreign, 2);
    let mut settings = settings(broker(), &stream);
    settings["kafka"]["properties"]["group.instance.id"] = json!("replica");
    let topics = stream.topics();
    let subscribed = [topics[0].as_str(), topics[1].as_str()];
    let group = settings["kafka"]["group_id"].as_str().expect("a group");
    // Another client with the same instance id has partitions of another topic.
    let other: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", broker().bootstrap())
        .set("group.id", group)
        .set("group.instance.id", static_id("replica", &subscribed))
        .set("partition.assignment.strategy", "range")
        // Closing a static member does not end its session.
        .set("session.timeout.ms", "6000")
        .create()
        .expect("a client");
    other.subscribe(&[&foreign]).expect("a subscription");
    wait_until(SOON, "the other client has its partitions", || {
        other.poll(Duration::from_millis(100));
        (other.assignment().ok()?.count() == 2).then_some(())
    });
    let sidecar = start(&settings);
    wait_until(SOON, "the log names the other client", || {
        sidecar
            .log()
            .contains("this process is client ")
            .then_some(())
    });
    drop(other);
    // It rejoins with its own topics.
    stream.produce(broker(), 300);
    wait_until_counted(broker(), &settings, &stream);
    let unexpected = count(
        &sidecar.metrics(),
        "rankgauge_records_total",
        &[("outcome", "invalid")],
    );
    assert_eq!(unexpected, 0);
}

/// Id of the static member of worker 0 with these topics.
fn static_id(instance: &str, topics: &[&str]) -> String {
    let bytes = topics.iter().flat_map(|topic| topic.bytes().chain([0]));
    let hash = bytes.fold(0x811C_9DC5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("{instance}-{hash:08x}-0")
}
