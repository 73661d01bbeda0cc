//! Replicas that join and leave: another replica continues their partitions, and the sum of their
//! counters equals the counters of a single replica.

use rankgauge_core::time::Millis;

use super::stream::Stream;
use super::{
    CONSUMED, SHUTDOWN, SOON, added, assert_same, counters, finished, received, replayed,
    scrape_when_received, settings, start, wait_until_counted,
};
use crate::harness::kafka::broker;
use crate::harness::wait_until;
use rankgauge_core::event::Kind;

#[test]
fn replica_joining_and_leaving_mid_stream_is_exactly_once() {
    let mut stream = Stream::on_new_topics(broker(), 8, 100.0, Millis(400_000));
    let settings = settings(broker(), &stream);
    let first = start(&settings);
    stream.produce(broker(), 10_000);

    // The second replica joins while records arrive.
    let mut second = start(&settings);
    wait_until(SOON, "the second replica shares the partitions", || {
        stream.produce(broker(), 500);
        let exposition = second.metrics();
        (exposition.value("rankgauge_assigned_partitions", &[]) == Some(4.0)).then_some(())
    });
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
    assert_same(
        &added([&counters(&exposition), &parting]),
        &added([&replayed(&settings, &stream, &exposition)]),
    );
}
