//! Kafka over TLS and SCRAM, on a broker with an authorizer, with certificates that change at run
//! time.

use std::fs;
use std::path::Path;
use std::thread;

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::{Value, json};

use super::check::check;
use super::secure::Authority;
use super::state_topic::{baselines, post};
use super::stream::Stream;
use super::{
    CONSUMED, SOON, added, assert_same, count, counters, replayed, scrape_when_received, settings,
    start, wait_until_counted,
};
use crate::harness::kafka::security::{Operation, Resource, SecureBroker};
use crate::harness::kafka::unique_name;
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

const PASSWORD: &str = "geheim-und-lang";

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file can be written");
    path.display().to_string()
}

/// Adds TLS and SCRAM to the settings.
fn secure(settings: &Value, broker: &SecureBroker, user: &str, password: &str, ca: &str) -> Value {
    let mut settings = settings.clone();
    settings["kafka"]["brokers"] = json!(broker.bootstrap());
    let properties = &mut settings["kafka"]["properties"];
    properties["security.protocol"] = json!("sasl_ssl");
    properties["sasl.mechanism"] = json!("SCRAM-SHA-512");
    properties["sasl.username"] = json!(user);
    properties["sasl.password"] = json!(password);
    properties["ssl.ca.location"] = json!(ca);
    settings
}

#[test]
fn records_over_tls_and_scram_are_counted_while_certificates_change() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue();
    let users = [("rankgauge", PASSWORD), ("stranger", "other-password")];
    let mut broker = SecureBroker::start(&users, &certificate, &key);
    let mut stream = Stream::on_new_topics(broker.plain(), 2, 50.0, Millis(100_000));
    let folder = stream.folder().to_owned();
    let ca = write(&folder, "ca.crt", authority.certificate());
    let plain = settings(broker.plain(), &stream);
    let good = secure(&plain, &broker, "rankgauge", PASSWORD, &ca);

    let sidecar = start(&good);
    stream.produce(broker.plain(), 500);
    scrape_when_received(&sidecar, stream.produced());

    // A wrong password, a user without permissions, another authority and a listener that expects
    // TLS: each is found with its remedy, and no message contains the password.
    let other = write(&folder, "other.crt", Authority::new().certificate());
    let mut without_tls = plain.clone();
    without_tls["kafka"]["brokers"] = json!(broker.bootstrap());
    let forbidden = Kind::ALL.map(|kind| {
        let topic = stream.topic(kind);
        format!("permissions: no permission to read topic {topic}")
    });
    let faults: [(Value, Vec<&str>); 4] = [
        (
            secure(&plain, &broker, "rankgauge", "wrong-password", &ca),
            vec![
                "connection: authentication failed",
                "check security.protocol, sasl.mechanism",
            ],
        ),
        (
            secure(&plain, &broker, "rankgauge", PASSWORD, &other),
            vec!["connection: TLS handshake failed", "ssl.ca.location"],
        ),
        (
            without_tls,
            vec!["connection: no broker answers", "security.protocol"],
        ),
        (
            secure(&plain, &broker, "stranger", "other-password", &ca),
            vec![
                &forbidden[0],
                &forbidden[1],
                "allow Describe and Read on the topic",
                "2 errors",
            ],
        ),
    ];
    // The checks wait for time-outs, all at the same time.
    let found = thread::scope(|scope| {
        let checks = faults
            .each_ref()
            .map(|(faulty, _)| scope.spawn(move || check(faulty, &[])));
        checks.map(|it| it.join().expect("a check"))
    });
    for ((_, expected), (text, code)) in faults.into_iter().zip(found) {
        assert_eq!(code, 1, "{text}");
        for part in expected {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(
            !text.contains(PASSWORD) && !text.contains("wrong-password"),
            "{text}"
        );
    }
    let (text, code) = check(&good, &[]);
    assert_eq!(code, 0, "{text}");

    // The sidecar keeps running with the certificate of a new key.
    let (certificate, key) = authority.issue();
    broker.rotate(&certificate, &key);
    stream.produce(broker.plain(), 500);
    let exposition = scrape_when_received(&sidecar, stream.produced());
    let expected = replayed(&plain, &stream, &exposition);
    assert_same(&added([&counters(&exposition)]), &added([&expected]));
    assert!(!sidecar.log().contains(PASSWORD), "{}", sidecar.log());

    // A certificate of another authority is not accepted, until it is replaced again.
    let (unknown, unknown_key) = Authority::new().issue();
    broker.rotate(&unknown, &unknown_key);
    wait_until(SOON, "the rejected certificate is logged", || {
        sidecar
            .log()
            .contains("reason=\"TLS handshake failed\"")
            .then_some(())
    });
    broker.rotate(&certificate, &key);
    stream.produce(broker.plain(), 100);
    scrape_when_received(&sidecar, stream.produced());
}

#[test]
fn the_live_check_names_what_a_forwarder_may_not_use() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue();
    let users = [("rankgauge", PASSWORD), ("forwarder", "other-password")];
    let broker = SecureBroker::start(&users, &certificate, &key);
    broker.allow("forwarder", &[(Resource::Topic, Operation::Read)]);
    let mut stream = Stream::on_new_topics(broker.plain(), 1, 10.0, Millis(300_000));
    stream.produce(broker.plain(), 10);
    let ca = write(stream.folder(), "ca.crt", authority.certificate());
    let mut settings = settings(broker.plain(), &stream);
    settings["kafka"]["join"] = json!("repartition");
    let group = settings["kafka"]["group_id"].as_str().expect("a group");
    let group = format!("{group}-repartition");
    let settings = secure(&settings, &broker, "forwarder", "other-password", &ca);
    let (text, code) = check(&settings, &[]);
    assert_eq!(code, 1, "{text}");
    for part in [
        format!("name no coordinator of consumer group {group}; mostly"),
        "allow Describe and Read on the group".to_owned(),
        format!("transaction {group}-check: "),
        "allow Describe and Write on the transactional id".to_owned(),
    ] {
        assert!(text.contains(&part), "{part:?} is missing in:\n{text}");
    }
    broker.allow(
        "forwarder",
        &[
            (Resource::Group, Operation::Read),
            (Resource::TransactionalId, Operation::Write),
        ],
    );
    wait_until(SOON, "the broker knows the permissions", || {
        let (text, _) = check(&settings, &[]);
        let parts = [
            format!("consumer group {group} of the forwarders may be described"),
            format!("transactional ids that begin with {group}- may be used"),
        ];
        parts.iter().all(|part| text.contains(part)).then_some(())
    });
}

#[test]
fn a_replica_without_permission_to_write_the_state_topic_uses_it_and_reports_that() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue();
    let users = [("rankgauge", PASSWORD), ("reader", "other-password")];
    let broker = SecureBroker::start(&users, &certificate, &key);
    let of_readers = [
        (Resource::Topic, Operation::Read),
        (Resource::Topic, Operation::DescribeConfigs),
        (Resource::Group, Operation::Read),
    ];
    broker.allow("reader", &of_readers);
    let mut stream = Stream::on_new_topics(broker.plain(), 2, 10.0, Millis(300_000));
    let folder = stream.folder().to_owned();
    let ca = write(&folder, "ca.crt", authority.certificate());
    let topic = unique_name("state");
    let mut plain = settings(broker.plain(), &stream);
    plain["measures"] = json!(["nDCG@10"]);
    plain["detection"] = json!({"measures": ["nDCG@10"]});
    plain["state"] = json!({"topic": topic, "interval": "1s"});
    plain["admin"] = json!({"listen": "127.0.0.1:0"});
    let writer = start(&secure(&plain, &broker, "rankgauge", PASSWORD, &ca));
    stream.produce(broker.plain(), 2_500);
    wait_until_counted(broker.plain(), &plain, &stream);
    let written = [("outcome", "written")];
    wait_until(CONSUMED, "the baselines are shared", || {
        let exposition = writer.metrics();
        let is_written = count(&exposition, "rankgauge_state_records_total", &written) >= 5;
        (is_written && baselines(&exposition).len() == 5).then_some(())
    });

    let without = secure(&plain, &broker, "reader", "other-password", &ca);
    let (text, code) = check(&without, &[]);
    assert_eq!(code, 0, "{text}");
    let stated = format!("{topic} exists, is compacted and can be read; Write is needed as well");
    assert!(text.contains(&stated), "{text}");

    // What the others published is used from the start.
    let replica = start(&without);
    wait_until(SOON, "the baselines of the fleet are known", || {
        (baselines(&replica.metrics()).len() == 5).then_some(())
    });
    for sidecar in [&writer, &replica] {
        wait_until(CONSUMED, "each replica has a partition", || {
            let assigned = count(&sidecar.metrics(), "rankgauge_assigned_partitions", &[]);
            (assigned == 1).then_some(())
        });
    }
    stream.produce(broker.plain(), 500);
    wait_until_counted(broker.plain(), &plain, &stream);
    let failed = [("outcome", "failed")];
    wait_until(CONSUMED, "records that are not written are counted", || {
        let exposition = replica.metrics();
        (count(&exposition, "rankgauge_state_records_total", &failed) > 0).then_some(())
    });
    wait_until(SOON, "the cause is logged with its remedy", || {
        let log = replica.log();
        let line = log
            .lines()
            .find(|it| it.contains("state topic not available; retrying"))?;
        assert!(
            line.contains(&format!("topic {topic} (state.topic): ")),
            "{line}"
        );
        assert!(
            line.contains("DescribeConfigs, Read and Write on it"),
            "{line}"
        );
        Some(())
    });

    // A command to it reaches the others as soon as it may write.
    post(
        &replica,
        "/-/deployment",
        r#"{"variant": "V5", "version": "5.1"}"#,
    );
    let version = |it: &Sidecar| it.api("/api/v1/deployments")["deployments"][0]["version"].clone();
    wait_until(CONSUMED, "the command is not written", || {
        let exposition = replica.metrics();
        let is_known = !baselines(&exposition).contains_key("V5");
        (is_known && version(&replica) == "5.1").then_some(())
    });
    assert_eq!(version(&writer), Value::Null);
    broker.allow("reader", &[(Resource::Topic, Operation::Write)]);
    wait_until(CONSUMED, "the command is on the other replica", || {
        (version(&writer) == "5.1").then_some(())
    });
    assert!(
        count(
            &replica.metrics(),
            "rankgauge_state_records_total",
            &written
        ) > 0
    );
}
