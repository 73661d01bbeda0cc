//! Graceful shutdown: in time, with everything committed, so the next run continues at the same
//! place.

use std::thread;
use std::time::Duration;

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::json;

use super::stream::Stream;
use super::{
    CONSUMED, SHUTDOWN, added, assert_same, count, counted, counters, finished, received, replayed,
    scrape_when_received, settings, start, wait_until_counted, without_sessions,
};
use crate::harness::kafka::broker;
use crate::harness::wait_until;

const PARTITIONS: u16 = 4;

#[test]
fn counters_before_and_after_a_restart_add_up_to_one_run() {
    let mut stream = Stream::on_new_topics(broker(), PARTITIONS, 50.0, Millis(500_000));
    let settings = settings(broker(), &stream);
    let mut first = start(&settings);
    stream.produce(broker(), 12_000);
    let parting = scrape_when_received(&first, stream.produced());
    let status = first.terminate(SHUTDOWN);
    assert!(status.success(), "{status}");

    stream.produce(broker(), 8_000);
    let second = start(&settings);
    wait_until_counted(broker(), &settings, &stream);

    let [searches, feedback] = stream.produced();
    let done = Kind::ALL.map(|kind| finished(&parting, kind));
    let exposition = scrape_when_received(&second, [searches - done[0], feedback - done[1]]);
    let mut before = counters(&parting);
    // Records pending at the end of the first run are pending in the second.
    before.retain(|series, _| !series.starts_with("rankgauge_events_pending"));
    let found = [counters(&exposition), before].map(without_sessions);
    let expected = without_sessions(replayed(&settings, &stream, &exposition));
    assert_same(&added(&found), &added([&expected]));
}

#[test]
fn sigterm_under_load_commits_counted_records_and_leaves_the_group_in_time() {
    let mut stream = Stream::on_new_topics(broker(), PARTITIONS, 200.0, Millis(3_000_000));
    stream.produce(broker(), 10_000);
    let mut settings = settings(broker(), &stream);
    settings["shutdown_timeout"] = json!("30s");
    let group = settings["kafka"]["group_id"].as_str().expect("a name");
    let mut first = start(&settings);
    // However fast the process is, records arrive until it has ended, and once more afterwards.
    let status = thread::scope(|scope| {
        let first = &mut first;
        let ending = scope.spawn(move || {
            wait_until(CONSUMED, "some records of both kinds are received", || {
                let received = received(&first.metrics());
                received.iter().all(|count| *count > 500).then_some(())
            });
            first.terminate(Duration::from_secs(40))
        });
        loop {
            let ended = ending.is_finished();
            stream.produce(broker(), 1_000);
            if ended {
                break;
            }
        }
        ending.join().expect("the process ends in time")
    });

    assert!(status.success(), "{status}");
    let log = first.log();
    let received = "signal received; stopping signal=\"SIGTERM\"";
    assert!(log.contains(received), "{log}");
    assert!(log.trim_end().ends_with("stopped"), "{log}");
    assert_eq!(broker().group_members(group), 0);
    let counted = counted(broker(), &settings, &stream);
    let produced = stream.produced();
    for kind in Kind::ALL {
        let index = kind.index();
        assert!(counted[index] > 0, "nothing of {kind:?} was committed");
        assert!(counted[index] < produced[index], "{kind:?}");
    }

    // The next run counts exactly the searches that the first run did not count.
    let second = start(&settings);
    wait_until_counted(broker(), &settings, &stream);
    let left = produced[0] - counted[0];
    let searches = wait_until(CONSUMED, "the rest of the searches is counted", || {
        let exposition = second.metrics();
        let searches = count(&exposition, "rankgauge_searches_total", &[("slice", "all")]);
        (searches >= left).then_some(searches)
    });
    assert_eq!(searches, left);
}
