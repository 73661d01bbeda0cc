//! A sidecar that is killed: what a scrape has seen is on disk, and the end is as if it had never
//! happened.

use std::path::Path;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rankgauge::event::Kind;
use rankgauge::time::Millis;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{
    Counters, assert_same, counters, exact, replayed, scrape_when_received, settings, start,
    wait_until_counted,
};
use crate::harness::kafka::{broker, unique_name};

/// Kills in the test; `make chaos` makes it many more.
const KILLS: u32 = 20;

/// Settings with a checkpoint folder, and with a membership that a restart takes up at once.
pub(super) fn durable(settings: &mut Value, folder: &Path) {
    settings["checkpoint"] = json!({"folder": folder});
    settings["kafka"]["properties"]["group.instance.id"] = json!(unique_name("replica"));
    settings["publish_interval"] = json!("20ms");
    settings["commit_interval"] = json!("50ms");
}

/// Fails unless every counter is at least what it was.
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
fn a_sidecar_killed_at_random_instants_ends_with_the_counters_of_one_that_never_was() {
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
    assert!(stream.produced()[Kind::Search.index()] >= u64::from(kills) * 1_000);
}
