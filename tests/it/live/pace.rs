//! Periodic work at low record rates: the sidecar publishes at its interval while records arrive
//! with gaps that are shorter than the wait of a poll.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rankgauge_core::time::Millis;
use serde_json::json;

use super::stream::Stream;
use super::{SOON, settings, start, yaml};
use crate::harness::kafka::broker;
use crate::harness::wait_until;

/// Publications within the time of the test, for each rate.
const PUBLICATIONS: u32 = 20;

#[test]
fn checkpoints_follow_the_publish_interval_at_low_record_rates() {
    for rate in [30, 60, 120] {
        let stream = Stream::on_new_topics(broker(), 2, 50.0, Millis(1_000));
        let mut settings = settings(broker(), &stream);
        settings["checkpoint"] = json!({"folder": stream.folder().join("checkpoints")});
        let configuration = stream.folder().join("rankgauge.yaml");
        std::fs::write(&configuration, yaml(&settings)).expect("a file");
        let sidecar = start(&settings);
        let written = || {
            let labels = [("worker", "0"), ("result", "success")];
            sidecar
                .metrics()
                .sum("rankgauge_checkpoints_total", &labels)
        };
        let received = || super::received(&sidecar.metrics())[0];
        // Feedback adds to the rate.
        let mut producer = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
            .args(["produce", "--searches", "100000", "--config"])
            .arg(&configuration)
            .args(["--rate", &(rate / 2).to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let records = wait_until(SOON, "records arrive", || {
            Some(received()).filter(|count| *count > 0)
        });
        let (started, before) = (Instant::now(), written());
        let wanted = before + f64::from(PUBLICATIONS);
        wait_until(SOON, "checkpoints are written", || {
            (written() >= wanted).then_some(())
        });
        let took = started.elapsed();
        let arrived = received() - records;
        producer
            .kill()
            .and_then(|()| producer.wait())
            .expect("the producer ends");

        assert!(
            arrived > 0,
            "no records arrived at {rate} records per second"
        );
        // The configured interval is 200 ms. A batch of 256 records takes several seconds.
        let limit = Duration::from_millis(200) * PUBLICATIONS * 2;
        assert!(
            took < limit,
            "{PUBLICATIONS} checkpoints took {took:?} at {rate} records per second"
        );
    }
}
