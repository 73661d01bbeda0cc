//! Brokers that are missing or become unavailable, and topics that do not match. The sidecar waits
//! where waiting helps, and reports the problem.

use std::time::{Duration, Instant};

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::json;

use super::stream::Stream;
use super::{
    SHUTDOWN, SOON, assert_same, counters, replayed, scrape_when_received, settings, start,
    wait_until_counted,
};
use crate::harness::kafka::{Broker, broker, unique_name};
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

#[test]
fn sidecar_waits_for_broker_and_topics_missing_at_startup() {
    let mut broker = Broker::prepared();
    let topics = ["late.search".to_owned(), "late.feedback".to_owned()];
    let mut stream = Stream::new(topics, 2, 50.0, Millis(100_000));
    let mut settings = settings(&broker, &stream);
    settings["workers"] = json!(2);
    let sidecar = start(&settings);

    // The sidecar is live and reports the missing broker.
    wait_for_log(
        &sidecar,
        "no connection to Kafka; retrying worker=0 reason=\"connection refused\"",
    );
    assert_eq!(sidecar.get("/healthz"), (200, "ok\n".to_owned()));
    let (status, reason) = sidecar.get("/readyz");
    assert_eq!(status, 503);
    assert!(
        reason.contains("has no assignment from its consumer group"),
        "{reason}"
    );
    assert_eq!(connected(&sidecar), [0.0, 0.0]);

    broker.restart();
    wait_for_log(
        &sidecar,
        "waiting for Kafka worker=0 error=topic late.search does not exist; create it",
    );
    assert_eq!(sidecar.get("/readyz").0, 503);

    broker.create_topic(stream.topic(Kind::Search), 2);
    broker.create_topic(stream.topic(Kind::Feedback), 2);
    stream.produce(&broker, 2_000);
    wait_until_counted(&broker, &settings, &stream);
    let exposition = scrape_when_received(&sidecar, stream.produced());
    assert_same(
        &counters(&exposition),
        &replayed(&settings, &stream, &exposition),
    );
    // One worker may have consumed everything before the other joined the group.
    wait_until(SOON, "both workers are ready and connected", || {
        (sidecar.get("/readyz") == (200, "ok\n".to_owned()) && connected(&sidecar) == [1.0, 1.0])
            .then_some(())
    });
}

#[test]
fn missing_topic_is_requested_with_backoff_and_logged_once() {
    let name = unique_name("missing");
    let topics = [format!("{name}.search"), format!("{name}.feedback")];
    let stream = Stream::new(topics, 2, 1.0, Millis(0));
    let mut settings = settings(broker(), &stream);
    // The test counts log lines of the first worker.
    settings["workers"] = json!(1);
    let mut sidecar = start(&settings);
    let missing = |topic: &str| format!("error=topic {topic} does not exist");
    wait_for_log(&sidecar, &missing(stream.topic(Kind::Search)));
    let (started, before) = (Instant::now(), cpu_seconds(&sidecar));
    wait_until(SOON, "several attempts could have been made", || {
        (started.elapsed() > Duration::from_secs(6)).then_some(())
    });
    // Requests without a wait use a whole processor.
    let used = cpu_seconds(&sidecar) - before;
    assert!(used < 1.0, "{used} s of processor time");
    let log = sidecar.log();
    let count = |text: &str| log.matches(text).count();
    assert_eq!(count(&missing(stream.topic(Kind::Search))), 1, "{log}");

    broker().create_topic(stream.topic(Kind::Search), 2);
    wait_for_log(&sidecar, &missing(stream.topic(Kind::Feedback)));
    let log = sidecar.log();
    let waiting = log.matches("waiting for Kafka").count();
    assert_eq!(waiting, 2, "one line for each reason: {log}");

    // The shutdown does not wait for the next attempt.
    let stopping = Instant::now();
    let status = sidecar.terminate(SHUTDOWN);
    assert!(status.success(), "{status}");
    // The next request would be due after 8 to 16 seconds.
    assert!(stopping.elapsed() < Duration::from_secs(7));
}

#[test]
fn wrong_security_protocol_is_logged_with_cause_and_remedy() {
    let stream = Stream::on_new_topics(broker(), 1, 1.0, Millis(0));
    for (protocol, reason, remedy) in [
        ("ssl", "TLS handshake failed", "check security.protocol"),
        (
            "sasl_plaintext",
            "authentication failed",
            "check security.protocol, sasl.mechanism",
        ),
    ] {
        let mut settings = settings(broker(), &stream);
        let properties = &mut settings["kafka"]["properties"];
        properties["security.protocol"] = json!(protocol);
        properties["sasl.mechanism"] = json!("PLAIN");
        properties["sasl.username"] = json!("user");
        properties["sasl.password"] = json!("password");
        let sidecar = start(&settings);
        let line = format!("no connection to Kafka; retrying worker=0 reason=\"{reason}\"");
        wait_for_log(&sidecar, &line);
        assert!(sidecar.log().contains(remedy), "{}", sidecar.log());
    }
}

#[test]
fn broker_restart_mid_stream_loses_nothing() {
    let mut broker = Broker::private();
    let mut stream = Stream::on_new_topics(&broker, 4, 50.0, Millis(200_000));
    let mut settings = settings(&broker, &stream);
    // A replica removed from its group counts uncommitted records again (docs/guarantees.md).
    settings["kafka"]["properties"]["session.timeout.ms"] = json!("300000");
    let sidecar = start(&settings);
    stream.produce(&broker, 4_000);
    wait_until(SOON, "the sidecar is connected", || {
        (connected(&sidecar) == [1.0]).then_some(())
    });

    broker.stop();

    wait_until(SOON, "the sidecar notices that the broker is away", || {
        (connected(&sidecar) == [0.0]).then_some(())
    });
    let log = sidecar.log();
    let lines = log
        .lines()
        .filter(|line| line.contains("WARN") || line.contains("ERROR"));
    let lines: Vec<&str> = lines.collect();
    // One line for each cause: the broker closes the connections, then it refuses new ones.
    assert!((1..=4).contains(&lines.len()), "{log}");
    assert!(
        lines[0].contains("no connection to Kafka; retrying"),
        "{log}"
    );
    // The sidecar stays live and ready without its broker: the metrics are still correct.
    assert_eq!(sidecar.get("/healthz").0, 200);
    assert_eq!(sidecar.get("/readyz").0, 200);

    broker.restart();
    stream.produce(&broker, 4_000);
    let exposition = scrape_when_received(&sidecar, stream.produced());
    assert_same(
        &counters(&exposition),
        &replayed(&settings, &stream, &exposition),
    );
    wait_until(SOON, "the sidecar is connected again", || {
        (connected(&sidecar) == [1.0]).then_some(())
    });
}

#[test]
fn unequal_partition_counts_are_a_startup_error() {
    let name = unique_name("unequal");
    let topics = [format!("{name}.search"), format!("{name}.feedback")];
    broker().create_topic(&topics[0], 2);
    broker().create_topic(&topics[1], 3);
    let stream = Stream::new(topics, 2, 1.0, Millis(0));
    let mut sidecar = start(&settings(broker(), &stream));

    wait_for_log(&sidecar, "both need the same number");
    // The sidecar exits on its own. The signal is sent only after that.
    let status = sidecar.terminate(SHUTDOWN);

    assert_eq!(status.code(), Some(1), "{status}");
    let log = sidecar.log();
    assert!(
        log.contains(&format!(
            "topic {name}.search has 2 partitions and topic {name}.feedback has 3"
        )),
        "{log}"
    );
}

/// Value of `kafka_connected` of each worker.
fn connected(sidecar: &Sidecar) -> Vec<f64> {
    sidecar
        .metrics()
        .matching("rankgauge_kafka_connected", &[])
        .map(|sample| sample.value)
        .collect()
}

/// Processor time of the sidecar so far.
fn cpu_seconds(sidecar: &Sidecar) -> f64 {
    let metrics = sidecar.metrics();
    let used = metrics.value("process_cpu_seconds_total", &[]);
    used.expect("the process is measured")
}

fn wait_for_log(sidecar: &Sidecar, text: &str) {
    wait_until(SOON, &format!("the log says \"{text}\""), || {
        sidecar.log().contains(text).then_some(())
    });
}
