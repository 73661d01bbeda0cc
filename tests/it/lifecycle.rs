//! Start, signals and end of the process, without a broker.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rankgauge::app::App;
use rankgauge::config;
use rankgauge::log::LogQueue;

use crate::harness::sidecar::Sidecar;
use crate::harness::{free_port, wait_until};

/// Time limit for everything on a busy machine.
const SOON: Duration = Duration::from_mins(1);

fn gold_queries(sidecar: &Sidecar) -> Option<f64> {
    sidecar.metrics().value("rankgauge_gold_queries", &[])
}

#[test]
fn hangup_signal_reloads_the_gold_set_and_keeps_the_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let gold = folder.path().join("gold.qrels");
    fs::write(&gold, "q1 0 d1 1\n").expect("a file");
    let settings = format!(
        "kafka: {{brokers: '127.0.0.1:1'}}\ngold: {{paths: ['{}'], reload_interval: 24h}}\n",
        gold.display()
    );
    let mut sidecar = Sidecar::start(&settings, &[]);
    // The listener answers before the gold set is loaded.
    wait_until(SOON, "the gold set is loaded", || {
        (gold_queries(&sidecar) == Some(1.0)).then_some(())
    });

    fs::write(&gold, "q1 0 d1 1\nq2 0 d1 1\n").expect("a file");
    sidecar.hang_up();
    wait_until(SOON, "the gold set is reloaded", || {
        (gold_queries(&sidecar) == Some(2.0)).then_some(())
    });

    sidecar.hang_up();
    wait_until(SOON, "an unchanged gold set is reported", || {
        sidecar.log().contains("gold set unchanged").then_some(())
    });

    fs::write(&gold, "no judgement\n").expect("a file");
    sidecar.hang_up();
    wait_until(SOON, "the failure is logged", || {
        sidecar
            .log()
            .contains("gold set reload failed")
            .then_some(())
    });
    assert_eq!(gold_queries(&sidecar), Some(2.0));
    assert_eq!(sidecar.get("/healthz").0, 200);
    let status = sidecar.terminate(SOON);
    assert!(status.success(), "{status}");
}

#[test]
fn signals_while_the_gold_set_is_read_are_handled() {
    let folder = tempfile::tempdir().expect("a folder");
    let gold = folder.path().join("gold.qrels");
    // Without a writer, opening it to read hangs.
    let made = Command::new("mkfifo").arg(&gold).status();
    assert!(made.expect("mkfifo starts").success());
    let settings = format!(
        "kafka: {{brokers: '127.0.0.1:1'}}\ngold: {{paths: ['{}'], load_timeout: 1h}}\n",
        gold.display()
    );
    let mut sidecar = Sidecar::start(&settings, &[]);
    sidecar.hang_up();
    assert_eq!(sidecar.get("/healthz").0, 200);
    let status = sidecar.terminate(SOON);
    assert!(status.success(), "{status}: {}", sidecar.log());
}

#[test]
fn hangup_signal_without_a_gold_set_has_no_effect() {
    let mut sidecar = Sidecar::start("kafka: {brokers: '127.0.0.1:1'}\n", &[]);
    sidecar.hang_up();
    wait_until(SOON, "the signal is logged", || {
        sidecar
            .log()
            .contains("no gold set is configured")
            .then_some(())
    });
    assert_eq!(sidecar.get("/healthz").0, 200);
    let status = sidecar.terminate(SOON);
    assert!(status.success(), "{status}");
}

#[test]
fn requested_end_of_the_workers_is_no_failure() {
    let settings = [
        ("kafka.brokers", "127.0.0.1:1"),
        ("metrics.listen", "127.0.0.1:0"),
        ("admin.listen", "none"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let config = config::load(&[], std::iter::empty(), &settings).expect("valid settings");
    let mut app = App::start(config, &LogQueue::default(), None).expect("a sidecar");
    let exposition = app.exposition();
    exposition.control.stop();
    let ended = app.run_until(async {
        // A worker beats in each round of its loop, about 20 times a second.
        let is_running = || {
            let views = exposition.published.views.iter();
            let beats = views.map(|view| view.heartbeat.age());
            beats.min().is_some_and(|age| age < Duration::from_secs(2))
        };
        while is_running() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    ended.expect("no failure is reported");
    app.stop().expect("the sidecar stops");
}

#[test]
fn unreachable_broker_is_logged_once_with_cause_and_remedy() {
    for (brokers, cause, remedy) in [
        (
            "127.0.0.1:1",
            "connection refused",
            "check that the broker runs",
        ),
        (
            "broker.invalid:9092",
            "unknown host name",
            "check the host names",
        ),
    ] {
        let settings = format!("kafka: {{brokers: '{brokers}'}}\n");
        let mut sidecar = Sidecar::start(&settings, &[]);
        let cause = format!("no connection to Kafka; retrying worker=0 reason=\"{cause}\"");
        wait_until(SOON, &cause, || {
            sidecar.log().contains(&cause).then_some(())
        });
        let started = Instant::now();
        wait_until(SOON, "several attempts have failed", || {
            (started.elapsed() > Duration::from_secs(3)).then_some(())
        });
        let log = sidecar.log();
        assert!(log.contains(remedy), "{log}");
        let warnings = log
            .lines()
            .filter(|line| line.contains("WARN") || line.contains("ERROR"));
        assert_eq!(warnings.count(), 1, "{log}");
        let stopping = Instant::now();
        let status = sidecar.terminate(SOON);
        assert!(status.success(), "{status}");
        assert!(stopping.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn produce_reports_an_unreachable_broker_at_once_and_fails_with_its_cause() {
    let port = free_port();
    let started = Instant::now();
    let mut process = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .args(["produce", "--searches", "10", "--set"])
        .arg(format!("kafka.brokers=127.0.0.1:{port}"))
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut errors = BufReader::new(process.stderr.take().expect("a pipe"));
    let mut first = String::new();
    errors.read_line(&mut first).expect("a line");
    let reported = started.elapsed();
    let mut rest = String::new();
    errors.read_to_string(&mut rest).expect("the other lines");
    let (status, ended) = (process.wait().expect("a status"), started.elapsed());

    assert!(first.contains("connection refused"), "{first}");
    assert!(first.contains("check that the broker runs"), "{first}");
    assert!(
        reported * 2 < ended,
        "the line is written after {reported:?} of {ended:?}"
    );
    assert_eq!(status.code(), Some(1));
    assert!(
        rest.contains(&format!(
            "no answer from 127.0.0.1:{port}: connection refused"
        )),
        "{rest}"
    );
}
