//! Topics that change while a sidecar runs: partitions are added, or the topics are deleted and
//! recreated with the same name.

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use rankgauge_lab::traffic::Record;
use serde_json::json;

use super::stream::Stream;
use super::{
    CONSUMED, SHUTDOWN, SOON, added, assert_same, count, counters, pending, replayed,
    scrape_when_received, series, settings, start, wait_until_counted,
};
use crate::harness::kafka::broker;
use crate::harness::sidecar::Exposition;
use crate::harness::wait_until;

#[test]
fn partitions_added_to_both_topics_are_read_without_loss() {
    let mut stream = Stream::on_new_topics(broker(), 2, 100.0, Millis(600_000));
    let mut settings = settings(broker(), &stream);
    // Records written before the sidecar detects the new partitions must be counted as well.
    settings["kafka"]["start"] = json!("latest");
    settings["kafka"]["properties"]["topic.metadata.refresh.interval.ms"] = json!("500");
    let sidecar = start(&settings);
    wait_until(SOON, "partitions are assigned", || {
        let assigned = sidecar.metrics().sum("rankgauge_assigned_partitions", &[]);
        (assigned > 1.5).then_some(())
    });
    stream.produce(broker(), 1_000);
    wait_until_counted(broker(), &settings, &stream);

    broker().grow_topic(stream.topic(Kind::Search), 4);
    wait_until(SOON, "the log says that the topics differ", || {
        let log = sidecar.log();
        log.contains("topics do not match; reading is paused worker=0 error=topic")
            .then_some(())
    });
    assert_eq!(sidecar.get("/healthz").0, 200);
    broker().grow_topic(stream.topic(Kind::Feedback), 4);
    stream.grow(4);
    stream.produce(broker(), 1_000);

    wait_until_counted(broker(), &settings, &stream);
    let exposition = scrape_when_received(&sidecar, stream.produced());
    let assigned = exposition.sum("rankgauge_assigned_partitions", &[]);
    assert!((assigned - 4.0).abs() < 0.5, "{assigned}");
    assert_same(
        &counters(&exposition),
        &replayed(&settings, &stream, &exposition),
    );
}

#[test]
fn sessions_are_found_in_several_partitions_as_soon_as_there_are_several() {
    let mut stream = Stream::on_new_topics(broker(), 1, 100.0, Millis(600_000));
    let mut settings = settings(broker(), &stream);
    settings["kafka"]["properties"]["topic.metadata.refresh.interval.ms"] = json!("500");
    let sidecar = start(&settings);
    stream.produce(broker(), 100);
    wait_until_counted(broker(), &settings, &stream);
    for kind in Kind::ALL {
        broker().grow_topic(stream.topic(kind), 2);
    }
    stream.grow(2);

    let records = stream.take(1);
    let search = records
        .into_iter()
        .find(|record| record.kind == Kind::Search);
    let search = search.expect("invariant: one search was taken");
    for partition in 0..2 {
        let key = (0..).map(|number: u32| number.to_string());
        let key = key
            .into_iter()
            .find(|key| stream.partition(key) == partition);
        let record = Record {
            key: key.expect("invariant: numbers do not end"),
            ..search.clone()
        };
        stream.send(broker(), &[record]);
    }
    wait_until(SOON, "the session is in two partitions", || {
        let metrics = sidecar.metrics();
        let split = metrics.value("rankgauge_sessions_cross_partition_total", &[]);
        (split? > 0.5).then_some(())
    });
}

#[test]
fn recreated_topics_are_read_from_the_beginning_and_added_to_counters() {
    made_anew(1_500, 700);
}

#[test]
fn recreated_topics_that_outgrow_the_old_ones_are_read_from_the_beginning() {
    made_anew(500, 2_000);
}

/// Deletes topics with `before` searches, and recreates them with `after` searches.
fn made_anew(before: usize, after: usize) {
    let mut first = Stream::on_new_topics(broker(), 2, 100.0, Millis(600_000));
    let mut settings = settings(broker(), &first);
    settings["checkpoint"] = json!({"folder": first.folder().join("checkpoints")});
    settings["kafka"]["properties"]["topic.metadata.refresh.interval.ms"] = json!("500");
    let sidecar = start(&settings);
    first.produce(broker(), before);
    wait_until_counted(broker(), &settings, &first);
    let parting = scrape_when_received(&sidecar, first.produced());

    let topics = first.topics();
    for topic in &topics {
        broker().delete_topic(topic);
    }
    for topic in &topics {
        wait_until(SOON, "the topic can be made anew", || {
            broker().try_create_topic(topic, 2).then_some(())
        });
    }
    let mut second = Stream::new(topics, 2, 100.0, Millis(300_000));
    second.produce(broker(), after);

    let [searches, feedback] = second.produced();
    let [before_searches, before_feedback] = first.produced();
    let all = [before_searches + searches, before_feedback + feedback];
    let exposition = scrape_when_received(&sidecar, all);
    assert_eq!(
        lost(&exposition),
        Kind::ALL.map(|kind| pending(&parting, kind))
    );
    let mut of_first = counters(&parting);
    // Records of the deleted topic are no longer pending, they are lost.
    of_first.retain(|series, _| !series.starts_with("rankgauge_events_pending"));
    for kind in Kind::ALL {
        let labels = [("kind", kind.name()), ("outcome", "lost")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let series = series("rankgauge_events_total", &labels.into());
        of_first.insert(series, pending(&parting, kind).to_string());
    }
    assert_same(
        &added([&counters(&exposition)]),
        &added([&of_first, &replayed(&settings, &second, &exposition)]),
    );
    let log = sidecar.log();
    assert!(log.contains("topic was recreated"), "{log}");
    assert_eq!(sidecar.get("/healthz").0, 200);
    wait_until(CONSUMED, "what is new is committed", || {
        (super::counted(broker(), &settings, &second) == second.produced()).then_some(())
    });
}

/// Events of each kind with the outcome `lost`.
fn lost(exposition: &Exposition) -> [u64; 2] {
    Kind::ALL.map(|kind| {
        let labels = [("kind", kind.name()), ("outcome", "lost")];
        count(exposition, "rankgauge_events_total", &labels)
    })
}

#[test]
fn one_recreated_topic_is_read_from_the_beginning_while_running() {
    for kind in Kind::ALL {
        one_recreated(kind, true);
    }
}

#[test]
fn topic_recreated_while_stopped_is_read_from_the_beginning() {
    for kind in Kind::ALL {
        one_recreated(kind, false);
    }
}

/// Recreates only the topic of `kind`, with as many records as before, while the sidecar runs or is
/// stopped.
fn one_recreated(kind: Kind, is_running: bool) {
    let mut first = Stream::on_new_topics(broker(), 1, 100.0, Millis(600_000));
    let mut settings = settings(broker(), &first);
    settings["checkpoint"] = json!({"folder": first.folder().join("checkpoints")});
    let mut sidecar = start(&settings);
    first.produce(broker(), 500);
    wait_until_counted(broker(), &settings, &first);
    let parting = scrape_when_received(&sidecar, first.produced());
    if !is_running {
        assert!(sidecar.terminate(SHUTDOWN).success());
    }

    let topic = first.topic(kind);
    broker().delete_topic(topic);
    wait_until(SOON, "the topic can be created", || {
        broker().try_create_topic(topic, 1).then_some(())
    });
    if is_running {
        // A topic that grew beyond the position before it is read again cannot be told from the old one.
        wait_until(CONSUMED, "the recreation is noticed", || {
            sidecar.log().contains("topic was recreated").then_some(())
        });
    }
    let mut second = Stream::new(first.topics(), 1, 100.0, Millis(300_000));
    let records = second.take(700);
    second.send(broker(), &records);
    if !is_running {
        sidecar = start(&settings);
    }

    let received = [0, 1].map(|kind| first.produced()[kind] + second.produced()[kind]);
    let exposition = scrape_when_received(&sidecar, received);
    // Events of the past are lost with the topic, or because their search or feedback is.
    assert_eq!(
        lost(&exposition),
        Kind::ALL.map(|kind| pending(&parting, kind))
    );
    let log = sidecar.log();
    let recreated =
        format!("topic was recreated; starting at the beginning worker=0 topic=\"{topic}\"");
    assert!(log.contains(&recreated), "{log}");
    assert!(log.contains("the events are counted as lost"), "{log}");
    assert_eq!(log.matches("topic was recreated").count(), 1, "{log}");
    // Nothing is counted again after another start.
    assert!(sidecar.terminate(SHUTDOWN).success());
    let again = start(&settings);
    let exposition = scrape_when_received(&again, received);
    assert_eq!(
        lost(&exposition),
        Kind::ALL.map(|kind| pending(&parting, kind))
    );
}
