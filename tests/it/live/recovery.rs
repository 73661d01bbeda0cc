//! Sidecars that are killed: all scraped values are on disk, and the final counters equal those of
//! a run without a kill.

use std::path::Path;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rankgauge_core::time::Millis;
use rankgauge_serve::clock::wall_now;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{
    Counters, OF_THE_PROCESS, assert_same, counters, exact, replayed, scrape_when_received, series,
    settings, start, wait_until_counted, yaml,
};
use crate::harness::free_port;
use crate::harness::kafka::{broker, unique_name};
use crate::harness::prometheus::{Prometheus, Sample};
use crate::harness::sidecar::Sidecar;

/// Number of kills in the test. `make chaos` increases it.
const KILLS: u32 = 20;

/// Adds a checkpoint folder, and a static group membership that is resumed at once after a restart.
pub(super) fn durable(settings: &mut Value, folder: &Path) {
    settings["checkpoint"] = json!({"folder": folder});
    settings["kafka"]["properties"]["group.instance.id"] = json!(unique_name("replica"));
    settings["publish_interval"] = json!("20ms");
    settings["commit_interval"] = json!("50ms");
}

/// Asserts that no counter decreased.
#[track_caller]
pub(super) fn assert_not_less(now: &Counters, before: &Counters) {
    for (series, before) in before {
        if series.starts_with("rankgauge_events_pending") {
            continue;
        }
        let now = now.get(series).map_or("absent", String::as_str);
        assert!(
            now != "absent" && exact(now) >= exact(before),
            "{series} was {before} and is {now}"
        );
    }
}

#[test]
fn kills_at_random_instants_leave_the_counters_of_an_uninterrupted_run() {
    let kills = std::env::var("RANKGAUGE_KILLS").map_or(KILLS, |kills| {
        kills.parse().expect("RANKGAUGE_KILLS is a number")
    });
    let mut stream = Stream::on_new_topics(broker(), 4, 100.0, Millis(3_600_000));
    let mut settings = settings(broker(), &stream);
    durable(&mut settings, &stream.folder().join("checkpoints"));
    let mut chance = ChaCha8Rng::seed_from_u64(5);
    let mut seen = Counters::new();
    for _ in 0..kills {
        stream.produce(broker(), 1_000);
        let sidecar = start(&settings);
        let scrapes = chance.random_range(1..60);
        for _ in 0..scrapes {
            let found = counters(&sidecar.metrics());
            assert_not_less(&found, &seen);
            seen = found;
        }
        drop(sidecar);
    }
    let sidecar = start(&settings);
    wait_until_counted(broker(), &settings, &stream);
    let exposition = scrape_when_received(&sidecar, stream.produced());
    let found = counters(&exposition);
    assert_not_less(&found, &seen);
    assert_same(&found, &replayed(&settings, &stream, &exposition));
    let [searches, feedback] = stream.produced();
    assert!(searches >= u64::from(kills) * 1_000);
    eprintln!(
        "one replica: {kills} kills, {} records, {} series: equal to replay",
        searches + feedback,
        found.len()
    );
}

#[test]
fn kill_causes_no_counter_reset_and_increase_equals_replay() {
    const SCRAPE_INTERVAL: Duration = Duration::from_millis(100);
    const FAMILY: &str = "rankgauge_events_total";
    let mut stream = Stream::on_new_topics(broker(), 2, 100.0, Millis(3_600_000));
    let mut settings = settings(broker(), &stream);
    durable(&mut settings, &stream.folder().join("checkpoints"));
    // Prometheus identifies the target by its address, so the address stays the same.
    let listen = format!("127.0.0.1:{}", free_port());
    let environment = [("RANKGAUGE__METRICS__LISTEN", listen.as_str())];
    let start = || Sidecar::start(&yaml(&settings), &environment);
    let mut sidecar = start();
    let prometheus = Prometheus::start(&[sidecar.address()], SCRAPE_INTERVAL, &[]);
    prometheus.wait_for_scrapes(2);
    // The first value of a series is not part of an increase, so a value exists before the
    // measurement.
    stream.produce(broker(), 500);
    wait_until_counted(broker(), &settings, &stream);
    prometheus.wait_for_scrapes(2);
    let before = counters(&sidecar.metrics());
    let since = wall_now();

    for _ in 0..4 {
        stream.produce(broker(), 1_000);
        prometheus.wait_for_scrapes(1);
        drop(sidecar);
        sidecar = start();
    }
    wait_until_counted(broker(), &settings, &stream);
    let exposition = scrape_when_received(&sidecar, stream.produced());
    prometheus.wait_for_scrapes(2);
    let truth = replayed(&settings, &stream, &exposition);
    assert_same(&counters(&exposition), &truth);
    let is_of_records =
        |name: &&String| name.starts_with("rankgauge_") && !OF_THE_PROCESS.contains(&name.as_str());
    for family in exposition.kinds.keys().filter(is_of_records) {
        let sample = match exposition.kinds[family].as_str() {
            "counter" => family.clone(),
            "histogram" => format!("{family}_bucket"),
            _ => continue,
        };
        let resets = prometheus.query(&format!("resets({sample}[1h]) > 0"));
        assert!(resets.is_empty(), "{resets:?}");
    }

    // Range from the last scrape before the kills to the last scrape: `increase()` extrapolates the
    // difference to its range.
    let seconds = (wall_now().0 - since.0).max(1_000) / 1_000 + 1;
    // The last scrape may have timed out.
    let now = prometheus.query(&format!("last_over_time({FAMILY}[1h])"));
    let stretched = prometheus.query(&format!("increase({FAMILY}[{seconds}s])"));
    let mut compared = 0;
    for sample in now {
        let mut labels = sample.labels.clone();
        let of_it = |found: &&Sample| {
            let mut found = found.labels.clone();
            found.remove("__name__");
            let mut wanted = sample.labels.clone();
            wanted.remove("__name__");
            found == wanted
        };
        for name in ["__name__", "job", "instance"] {
            labels.remove(name);
        }
        let key = series(FAMILY, &labels);
        let value = |counters: &Counters| -> f64 {
            let text = counters.get(&key).map_or("0", String::as_str);
            text.parse().expect("a number")
        };
        let increase = sample.value - value(&before);
        assert!(
            (increase - (value(&truth) - value(&before))).abs() < 1e-9,
            "{key}: {increase}"
        );
        if value(&before) > 0.0 && increase > 500.0 {
            let stretched = stretched.iter().find(of_it).expect("it has an increase");
            // The range starts within one scrape interval of the first value, and ends as close to
            // the last.
            assert!(
                (stretched.value / increase - 1.0).abs() < 0.2,
                "{key}: increase() says {}, and it is {increase}",
                stretched.value
            );
            compared += 1;
        }
    }
    assert!(compared > 0, "no series was counted often enough");
}
