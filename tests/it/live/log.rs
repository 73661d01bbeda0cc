//! Data missing in Kafka after a restart of the sidecar: offsets of the group, or records deleted
//! by retention. The sidecar reports all of it.

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{
    SHUTDOWN, SOON, assert_same, count, counters, received, replayed, scrape_when_received,
    settings, start, wait_until_counted,
};
use crate::harness::kafka::broker;
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

fn group(settings: &Value) -> &str {
    let group = &settings["kafka"]["group_id"];
    group.as_str().expect("invariant: a name")
}

fn stop(mut sidecar: Sidecar) {
    let status = sidecar.terminate(SHUTDOWN);
    assert!(status.success(), "{status}");
}

#[test]
fn deleted_group_offsets_lose_nothing_with_a_checkpoint() {
    let mut stream = Stream::on_new_topics(broker(), 2, 100.0, Millis(600_000));
    let mut settings = settings(broker(), &stream);
    settings["checkpoint"] = json!({"folder": stream.folder().join("checkpoints")});
    // Neither the start nor the end of the log would be the correct position.
    settings["kafka"]["start"] = json!("earliest");
    let first = start(&settings);
    stream.produce(broker(), 1_000);
    wait_until_counted(broker(), &settings, &stream);
    stop(first);

    broker().delete_group(group(&settings));
    settings["kafka"]["start"] = json!("latest");
    stream.produce(broker(), 500);
    let second = start(&settings);

    wait_until_counted(broker(), &settings, &stream);
    let exposition = scrape_when_received(&second, stream.produced());
    assert_same(
        &counters(&exposition),
        &replayed(&settings, &stream, &exposition),
    );
}

#[test]
fn deleted_group_offsets_without_a_checkpoint_apply_kafka_start_and_are_logged() {
    let mut stream = Stream::on_new_topics(broker(), 2, 100.0, Millis(600_000));
    let settings = settings(broker(), &stream);
    let first = start(&settings);
    stream.produce(broker(), 1_000);
    wait_until_counted(broker(), &settings, &stream);
    stop(first);

    broker().delete_group(group(&settings));
    let second = start(&settings);

    // The sidecar starts at the beginning, as configured, and its counters start at 0.
    wait_until_counted(broker(), &settings, &stream);
    let exposition = scrape_when_received(&second, stream.produced());
    assert_same(
        &counters(&exposition),
        &replayed(&settings, &stream, &exposition),
    );
    for kind in Kind::ALL {
        let topic = stream.topic(kind);
        let said = format!(
            "no committed offset; kafka.start applies worker=0 topic=\"{topic}\" partition=0 \
             offset=0"
        );
        assert!(second.log().contains(&said), "{}", second.log());
    }
}

#[test]
fn records_deleted_by_retention_are_counted_as_an_offset_gap_and_logged() {
    let mut stream = Stream::on_new_topics(broker(), 2, 100.0, Millis(600_000));
    let mut settings = settings(broker(), &stream);
    settings["checkpoint"] = json!({"folder": stream.folder().join("checkpoints")});
    let first = start(&settings);
    stream.produce(broker(), 1_000);
    wait_until_counted(broker(), &settings, &stream);
    stop(first);
    let counted: Vec<i64> = broker().end_offsets(stream.topic(Kind::Search));

    stream.produce(broker(), 1_000);
    let removed = 37;
    broker().delete_records(stream.topic(Kind::Search), 0, counted[0] + removed);
    let second = start(&settings);

    wait_until_counted(broker(), &settings, &stream);
    let gap = u64::try_from(removed).expect("a small count");
    let exposition = second.metrics();
    // Every search was judged on arrival. The searches deleted from the log are the gap.
    let judged = count(&exposition, "rankgauge_searches_total", &[("slice", "all")]);
    assert_eq!(judged, stream.produced()[0] - gap);
    let gaps = |kind: Kind| {
        let labels = [("topic", stream.topic(kind)), ("reason", "deleted")];
        count(&exposition, "rankgauge_offset_gap_records_total", &labels)
    };
    assert_eq!(Kind::ALL.map(gaps), [gap, 0]);
    let said = format!(
        "records deleted before they were read; counted as an offset gap worker=0 topic=\"{}\" \
         partition=0 offset={} log_start={}",
        stream.topic(Kind::Search),
        counted[0],
        counted[0] + removed
    );
    assert!(second.log().contains(&said), "{}", second.log());
    // Records of pending events are deleted too: the events are lost.
    let said =
        "records of pending events are gone; the events are counted as lost worker=0 partition=0";
    assert!(second.log().contains(said), "{}", second.log());
    let [searches, feedback] = stream.produced();
    assert_eq!(received(&exposition), [searches - gap, feedback]);
    let log = second.log();
    let mut deletions = log.lines().filter(|line| line.contains("log_start="));
    assert!(deletions.all(|line| !line.contains("partition=1")), "{log}");
}

#[test]
fn committed_offsets_moved_forward_while_stopped_are_counted_and_logged() {
    let mut stream = Stream::on_new_topics(broker(), 1, 100.0, Millis(600_000));
    let mut settings = settings(broker(), &stream);
    settings["checkpoint"] = json!({"folder": stream.folder().join("checkpoints")});
    let first = start(&settings);
    stream.produce(broker(), 200);
    wait_until_counted(broker(), &settings, &stream);
    stop(first);
    let topic = stream.topic(Kind::Search).to_owned();
    let counted = broker().end_offsets(&topic)[0];

    stream.produce(broker(), 200);
    let skipped = 80;
    broker().commit_offset(group(&settings), &topic, 0, counted + skipped);
    let second = start(&settings);

    let gap = |sidecar: &Sidecar, reason| {
        let labels = [("topic", topic.as_str()), ("reason", reason)];
        count(
            &sidecar.metrics(),
            "rankgauge_offset_gap_records_total",
            &labels,
        )
    };
    let skipped = u64::try_from(skipped).expect("a small count");
    wait_until(SOON, "the move is counted", || {
        (gap(&second, "moved") == skipped).then_some(())
    });
    // Every search is judged on arrival.
    wait_until(SOON, "the other searches are read", || {
        let labels = [("slice", "all")];
        let judged = count(&second.metrics(), "rankgauge_searches_total", &labels);
        (judged == stream.produced()[0] - skipped).then_some(())
    });
    assert_eq!(gap(&second, "deleted"), 0);
    // Events that were pending before the move are lost, and stay accounted for.
    let [searches, feedback] = stream.produced();
    let all = [searches - skipped, feedback];
    wait_until(SOON, "all events are accounted for", || {
        (received(&second.metrics()) == all).then_some(())
    });
    let labels = [("kind", "search"), ("outcome", "lost")];
    assert_eq!(
        count(&second.metrics(), "rankgauge_events_total", &labels),
        200
    );
    let said = format!(
        "committed offset moved forward; skipped records counted as an offset gap worker=0 \
         topic=\"{topic}\" partition=0 offset={counted} committed={}",
        counted + 80
    );
    assert!(second.log().contains(&said), "{}", second.log());
    // The move is counted once.
    stop(second);
    let third = start(&settings);
    wait_until(SOON, "partitions are assigned", || {
        (third.get("/readyz").0 == 200).then_some(())
    });
    assert_eq!(gap(&third, "moved"), skipped);
}
