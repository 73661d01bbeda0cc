//! The harness itself: its observations must be correct before a test may rely on them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::message::Message as _;

use crate::harness::kafka::{Broker, broker, unique_name};
use crate::harness::prometheus::{Prometheus, promtool, promtool_check_metrics};
use crate::harness::sidecar::Exposition;
use crate::harness::{free_port, wait_until};

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn produced_records_are_read_back_by_partition_and_in_order() {
    let (topic, _) = broker().unique_topics("read-back", 4);
    let records: Vec<_> = (0..1000)
        .map(|number| {
            (
                format!("key-{number}"),
                format!("질의 {number}"),
                Some(number % 4),
            )
        })
        .collect();

    assert_eq!(broker().produce(&topic, records.iter().cloned()), 1000);

    assert_eq!(broker().end_offsets(&topic), [250; 4]);
    let stored = broker().consume(&topic);
    assert_eq!(stored.len(), 1000);
    for (partition, number, record) in stored.iter().map(|record| {
        (
            record.partition,
            i64::from(record.partition) + 4 * record.offset,
            record,
        )
    }) {
        assert_eq!(
            record.key,
            format!("key-{number}").into_bytes(),
            "partition {partition}"
        );
        assert_eq!(record.payload, format!("질의 {number}").into_bytes());
    }
}

#[test]
fn equal_keys_map_to_the_same_partition_of_both_topics() {
    let (search, feedback) = broker().unique_topics("co-partitioned", 8);
    let records = || (0..200).map(|number| (format!("q{number}"), "", None));
    broker().produce(&search, records());
    broker().produce(&feedback, records());
    let places = |topic: &str| -> BTreeSet<_> {
        let stored = broker().consume(topic);
        stored
            .into_iter()
            .map(|record| (record.key, record.partition))
            .collect()
    };
    assert_eq!(places(&search), places(&feedback));
    assert_eq!(places(&search).len(), 200);
}

#[test]
fn a_private_broker_keeps_its_records_and_address_across_a_restart() {
    let mut broker = Broker::private();
    let address = broker.bootstrap().to_owned();
    broker.create_topic("kept", 1);
    broker.produce("kept", [("key", "before", None)]);

    broker.stop();
    TcpListener::bind(&address).expect("nobody listens on a stopped broker's address");
    broker.restart();

    assert_eq!(broker.bootstrap(), address);
    broker.produce("kept", [("key", "after", None)]);
    let payloads: Vec<_> = broker
        .consume("kept")
        .into_iter()
        .map(|record| record.payload)
        .collect();
    assert_eq!(payloads, [b"before".to_vec(), b"after".to_vec()]);
}

#[test]
fn a_prepared_broker_does_not_respond_before_start_or_while_paused() {
    let answers = |client: &BaseConsumer| {
        client
            .fetch_metadata(None, Duration::from_millis(500))
            .is_ok()
    };
    let mut broker = Broker::prepared();
    let client: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", broker.bootstrap())
        .set("reconnect.backoff.max.ms", "200")
        .create()
        .expect("a client");
    assert!(!answers(&client));

    broker.restart();
    wait_until(LIMIT, "the started broker answers", || {
        answers(&client).then_some(())
    });

    broker.pause();
    assert!(!answers(&client));
    broker.resume();
    wait_until(LIMIT, "the resumed broker answers", || {
        answers(&client).then_some(())
    });
}

#[test]
fn group_members_and_offsets_are_visible_and_a_group_can_be_deleted() {
    let (topic, _) = broker().unique_topics("groups", 2);
    let group = unique_name("members");
    broker().produce(&topic, (0..10).map(|number| ("", "", Some(number % 2))));
    assert_eq!(broker().group_members(&group), 0);

    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", broker().bootstrap())
        .set("group.id", &group)
        .set("enable.auto.commit", "false")
        .set("auto.offset.reset", "earliest")
        .create()
        .expect("a consumer");
    consumer.subscribe(&[&topic]).expect("a subscription");
    let first = wait_until(LIMIT, "the group's first record", || {
        consumer.poll(Duration::from_millis(100))
    })
    .expect("a record");
    assert_eq!(broker().group_members(&group), 1);
    consumer
        .commit_message(&first, CommitMode::Sync)
        .expect("a commit");
    let committed = BTreeMap::from([(first.partition(), 1)]);
    drop(first);
    drop(consumer);

    assert_eq!(broker().committed_offsets(&group, &topic), committed);
    broker().delete_group(&group);
    assert_eq!(broker().committed_offsets(&group, &topic), BTreeMap::new());
}

#[test]
fn prometheus_scrapes_targets_and_answers_queries() {
    // Prometheus scrapes itself: the only exporter available without a sidecar.
    let first = Prometheus::start(&[], Duration::from_secs(1), &[]);
    let target = first.address();
    let second = Prometheus::start(&[target], Duration::from_millis(200), &[]);

    second.wait_for_scrapes(2);

    let samples = second.query(r#"last_over_time((up{job="rankgauge"} == 1)[1h:]) + 1"#);
    assert_eq!(samples.len(), 1);
    assert_eq!(samples[0].labels["instance"], target.to_string());
    assert!((samples[0].value - 2.0).abs() < f64::EPSILON);
    assert_eq!(
        second.query_at("time()", 1.5)[0].value.to_bits(),
        1.5f64.to_bits()
    );
    let refusal = second
        .evaluate("sum(", None)
        .expect_err("half an expression is refused");
    assert!(refusal.contains("parse error"), "{refusal}");
}

#[test]
fn promtool_reports_errors_of_an_exposition() {
    let good = "# HELP a_total Things.\n# TYPE a_total counter\na_total 1\n";
    assert_eq!(promtool_check_metrics(good), Ok(()));
    let without_help = promtool_check_metrics("# TYPE b_total counter\nb_total 1\n");
    assert!(without_help.is_err_and(|said| said.contains("no help text")));
    assert!(promtool(["--version"]).is_ok_and(|said| said.contains("promtool")));
}

#[test]
fn an_exposition_is_parsed_exactly() {
    let exposition = Exposition::parse(
        "# HELP x_total Sum, exact.\n# TYPE x_total counter\n\
         x_total{slice=\"all\",value=\"\"} 12345678901234567890.123456789\n\
         x_total{slice=\"type\",value=\"a\\\"}, \\\\ 법\\n\"} 2 1700000000000\nup 1\n",
    )
    .expect("a valid exposition");

    assert_eq!(exposition.kinds["x_total"], "counter");
    assert_eq!(exposition.helps["x_total"], "Sum, exact.");
    let whole = exposition
        .get("x_total", &[("slice", "all"), ("value", "")])
        .expect("a sample");
    assert_eq!(whole.text, "12345678901234567890.123456789");
    assert_eq!(exposition.value("up", &[]), Some(1.0));
    assert_eq!(exposition.value("x_total", &[("slice", "all")]), None);
    let odd = exposition
        .matching("x_total", &[("slice", "type")])
        .next()
        .expect("a sample");
    assert_eq!(odd.labels["value"], "a\"}, \\ 법\n");
    assert!((exposition.sum("x_total", &[("slice", "type")]) - 2.0).abs() < f64::EPSILON);
    for broken in ["x{a=\"1\" 2", "x{a=\"1\",a=\"2\"} 3", "x one", "x"] {
        assert!(Exposition::parse(broken).is_err(), "{broken}");
    }
}

#[test]
fn free_ports_are_never_assigned_twice() {
    let ports: BTreeSet<u16> = (0..100).map(|_| free_port()).collect();
    assert_eq!(ports.len(), 100);
}

#[test]
#[should_panic(expected = "timed out after 1ms: a miracle")]
fn a_wait_timeout_names_the_condition() {
    wait_until(Duration::from_millis(1), "a miracle", || None::<()>);
}
