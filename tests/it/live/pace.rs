//! Periodic work at every record rate: the sidecar publishes at its interval, also while records
//! arrive with gaps that are shorter than the wait of a poll.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rankgauge_core::time::Millis;
use serde_json::json;

use super::stream::Stream;
use super::{SOON, received, settings, start, yaml};
use crate::harness::kafka::broker;
use crate::harness::wait_until;

/// Searches per second.
const RATES: [u32; 7] = [15, 30, 60, 120, 250, 500, 1_000];

/// Publications at each rate.
const PUBLICATIONS: u32 = 10;

/// Running `rankgauge produce`. Dropping it ends the process.
struct Production(Child);

impl Drop for Production {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn checkpoints_follow_the_publish_interval_at_every_record_rate() {
    for rate in RATES {
        let stream = Stream::on_new_topics(broker(), 2, 50.0, Millis(1_000));
        let mut settings = settings(broker(), &stream);
        settings["checkpoint"] = json!({"folder": stream.folder().join("checkpoints")});
        let configuration = stream.folder().join("rankgauge.yaml");
        std::fs::write(&configuration, yaml(&settings)).expect("a file");
        let sidecar = start(&settings);
        let written = || {
            let labels = [("worker", "0"), ("result", "success")];
            let metrics = sidecar.metrics();
            metrics.sum("rankgauge_checkpoints_total", &labels)
        };
        let arrived = || received(&sidecar.metrics()).iter().sum::<u64>();
        let production = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
            .args(["produce", "--searches", "1000000", "--config"])
            .arg(&configuration)
            .args(["--rate", &rate.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let _production = Production(production.expect("the binary runs"));
        wait_until(SOON, "records arrive", || (arrived() > 0).then_some(()));
        let (records, before, started) = (arrived(), written(), Instant::now());
        let wanted = before + f64::from(PUBLICATIONS);
        wait_until(SOON, "checkpoints are written", || {
            (written() >= wanted).then_some(())
        });
        let took = started.elapsed();
        let records = arrived() - records;

        eprintln!(
            "{rate} searches per second: {records} records and {PUBLICATIONS} checkpoints in {took:?}"
        );
        assert!(records > 0, "no records arrived");
        // The configured interval is 200 ms. With one checkpoint per 256 records, ten of them took
        // 85 s at 30 records a second. On a busy machine checkpoints are late, but at a low rate, far fewer
        // records arrive until then.
        if rate <= 60 {
            let limit = 200 * u64::from(PUBLICATIONS);
            assert!(records < limit, "{rate} searches per second: {records}");
        }
    }
}
