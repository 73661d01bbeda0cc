//! Rolling windows compared with a brute-force computation, and windows that become empty.

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::Kind;
use rankgauge_core::time::WallTime;
use serde_json::json;

use super::log::{Draft, write_feedback};
use super::{
    OUT_OF_ORDERNESS, START, Samples, World, assign, difference, drain, lag, millis, read_feedback,
    read_search, settings, tick, window,
};

/// Windows with panes of 1 s, 1.5 s, 2 s and 1016 ms, and their numbers of panes.
const WINDOWS: [(&str, u64, i64, i64); 4] = [
    ("10s", 10, 1_000, 10),
    ("61s", 61, 1_016, 60),
    ("90s", 90, 1_500, 60),
    ("2m", 120, 2_000, 60),
];

/// Settings without late records: the feedback window is longer than any test.
fn patient() -> Settings {
    Settings {
        feedback_window: millis(10_000_000),
        windows: WINDOWS
            .iter()
            .map(|(name, seconds, ..)| window(name, *seconds))
            .collect(),
        ..settings()
    }
}

/// Search whose reciprocal rank is 1/`rank`.
fn search(id: usize, time: i64, rank: usize) -> String {
    let misses = (1..rank).map(|number| json!({"id": format!("miss{number}")}));
    let results: Vec<_> = misses.chain([json!({"id": "d0"})]).collect();
    json!({"query_id": id, "ts": START + time, "query_key": "g0", "results": results}).to_string()
}

/// 1/`rank` in units of 10⁻⁹, rounded to the nearest.
fn nanos(rank: usize) -> i128 {
    let rank = i128::try_from(rank).expect("a small rank");
    (1_000_000_000 + rank / 2) / rank
}

/// Expected mean of every window, from the list of all records that were read.
fn brute_force(read: &[(i64, usize)], ends: &[Option<i64>]) -> Samples {
    let mut expected = Samples::new();
    for ((name, _, pane, panes), end) in WINDOWS.into_iter().zip(ends) {
        let Some(end) = *end else { continue };
        let covered: Vec<i128> = read
            .iter()
            .filter(|(time, _)| {
                let number = (START + time).div_euclid(pane);
                number > end - panes && number <= end
            })
            .map(|(_, rank)| nanos(*rank))
            .collect();
        if covered.is_empty() {
            continue;
        }
        let sum: i128 = covered.iter().sum();
        let sum: f64 = sum.to_string().parse().expect("a number");
        let count = f64::from(u32::try_from(covered.len()).expect("few"));
        let name =
            format!(r#"score{{measure="RR",slice="all",value="",variant="",window="{name}"}}"#);
        expected.insert(name, (sum / 1e9 / count).to_string());
    }
    expected
}

fn rolling(samples: &Samples) -> Samples {
    let is_rolling =
        |name: &str| name.starts_with(r#"score{measure="RR""#) && name.contains(r#"slice="all""#);
    samples
        .iter()
        .filter(|(name, _)| is_rolling(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_rolling_mean_is_the_mean_of_the_records_in_its_window(
        steps in vec((0..400_000_i64, 1..9_usize, prop::bool::weighted(0.2)), 1..80),
    ) {
        let world = World::new(patient());
        let mut engine = world.engine();
        let mut wall = START + 400_000;
        assign(&mut engine, 0);
        // The feedback topic is idle throughout and does not hold back the watermark.
        lag(&mut engine, Kind::Feedback, 0, 0);
        let mut read_so_far = Vec::new();
        let mut ends = [None; WINDOWS.len()];
        let mut newest = None;
        tick(&mut engine, wall);
        for (number, (time, rank, ticks)) in steps.into_iter().enumerate() {
            let offset = i64::try_from(number).expect("few");
            read_search(&mut engine, 0, offset, &search(number, time, rank));
            read_so_far.push((time, rank));
            newest = newest.max(Some(time));
            for ((_, _, pane, panes), end) in WINDOWS.into_iter().zip(&mut ends) {
                *end = (*end).max(Some((START + time).div_euclid(pane) - panes));
            }
            if ticks {
                wall += 12_000;
                lag(&mut engine, Kind::Feedback, 0, 0);
                tick(&mut engine, wall);
                for ((_, _, pane, _), end) in WINDOWS.into_iter().zip(&mut ends) {
                    let watermark = newest.map(|newest| START + newest - OUT_OF_ORDERNESS);
                    *end = (*end).max(watermark.map(|watermark| watermark.div_euclid(pane)));
                }
            }
            let found = rolling(&world.samples(&engine.snapshot()));
            let differences = difference(&found, &brute_force(&read_so_far, &ends));
            prop_assert!(differences.is_empty(), "{differences:#?}");
        }
    }
}

/// Samples of rolling windows of any family.
fn rolling_families(samples: &Samples) -> Vec<&String> {
    samples
        .keys()
        .filter(|name| name.contains("window=\""))
        .collect()
}

const DRAFT: Draft = Draft {
    query: 0,
    results: [0, 1, 2],
    served: 3,
    variant: 1,
    device: 1,
    latency: 300,
    session: 0,
};

#[test]
fn windows_drain_when_all_topics_are_idle() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    read_search(&mut engine, 0, 0, &DRAFT.write("q", 0));
    read_feedback(&mut engine, 0, 0, &write_feedback("e", "q", 5_000, 0));
    read_search(&mut engine, 0, 1, &DRAFT.write("r", 10_000));
    read_feedback(&mut engine, 0, 1, &write_feedback("f", "r", 10_000, 0));
    tick(&mut engine, START + 10_000);
    let before = world.samples(&engine.snapshot());
    for family in [
        "score{",
        "searches_per_second",
        "gold_coverage",
        "cost_per_query_mean",
        "cost_per_query_quantile",
        "search_latency_quantile",
    ] {
        assert!(
            rolling_families(&before)
                .iter()
                .any(|name| name.starts_with(family)),
            "{family} is exposed while the window holds something"
        );
    }
    drain(&mut [&mut engine], 1, START + 10_000);
    let after = world.samples(&engine.snapshot());
    assert_eq!(rolling_families(&after).first(), None);
    assert_eq!(after["events_pending{kind=\"search\"}"], "0");
    let judged = "events_total{kind=\"search\",outcome=\"judged\"}";
    assert_eq!(after[judged], "2", "draining finalises what was pending");
}

#[test]
fn windows_stall_while_the_broker_does_not_confirm_that_no_records_are_left() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    read_search(&mut engine, 0, 0, &DRAFT.write("q", 0));
    read_feedback(&mut engine, 0, 0, &write_feedback("e", "q", 0, 0));
    for kind in Kind::ALL {
        lag(&mut engine, kind, 0, 0);
    }
    for seconds in 1..600 {
        tick(&mut engine, START + seconds * 1_000);
    }
    let samples = world.samples(&engine.snapshot());
    assert!(!rolling_families(&samples).is_empty());
    assert_eq!(samples["events_pending{kind=\"search\"}"], "1");
}

/// Families of the window of ten seconds.
fn last_ten_seconds(samples: &Samples) -> Vec<&String> {
    let all = rolling_families(samples).into_iter();
    all.filter(|name| name.contains("window=\"10s\"")).collect()
}

/// Reads a search in each of 21 seconds from `time` on. The watermark is then behind the last ones.
fn read_searches(engine: &mut Engine, partition: i32, time: i64) {
    for second in 0..21 {
        let id = usize::try_from(second).expect("small");
        let search = search(id, time + second * 1_000, 1);
        read_search(engine, partition, second, &search);
    }
}

#[test]
fn windows_end_at_the_watermark_when_feedback_is_newer() {
    let world = World::new(patient());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    tick(&mut engine, START + 300_000);
    read_searches(&mut engine, 0, 0);
    // Feedback five minutes ahead of the searches, as after a restart with a backlog.
    let feedback = write_feedback("e", "1", 300_000, 0);
    read_feedback(&mut engine, 0, 0, &feedback);
    tick(&mut engine, START + 300_000);
    let samples = world.samples(&engine.snapshot());
    assert!(!last_ten_seconds(&samples).is_empty(), "{samples:#?}");
}

#[test]
fn windows_of_all_workers_end_alike() {
    let world = World::new(patient());
    let mut engines = [world.engine(), world.engine()];
    for (partition, (engine, time)) in (0..).zip(engines.iter_mut().zip([0, 300_000])) {
        assign(engine, partition);
        tick(engine, START + 320_000);
        lag(engine, Kind::Feedback, partition, 0);
        read_searches(engine, partition, time);
        tick(engine, START + 320_000);
    }
    let progress = engines.each_ref().map(Engine::progress);
    // Each alone: both windows have searches.
    for engine in &engines {
        let samples = world.samples(&engine.snapshot());
        assert!(!last_ten_seconds(&samples).is_empty(), "{samples:#?}");
    }
    // The second worker is five minutes ahead. Its records are a whole window ahead of the common
    // watermark, so both windows follow them, and the first one is empty.
    for (engine, others) in engines.iter_mut().zip([progress[1], progress[0]]) {
        let wall = WallTime(START + 320_000);
        engine.apply(Input::Tick { wall, others });
    }
    let [first, second] = engines
        .each_ref()
        .map(|engine| last_ten_seconds(&world.samples(&engine.snapshot())).len());
    assert_eq!(
        first, 0,
        "the window of the first worker follows the second"
    );
    assert!(second > 0);
}

#[test]
fn windows_drain_after_the_partitions_are_revoked() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    read_search(&mut engine, 0, 0, &DRAFT.write("q", 0));
    read_search(&mut engine, 0, 1, &DRAFT.write("r", 8_000));
    read_feedback(&mut engine, 0, 0, &write_feedback("e", "r", 8_000, 0));
    tick(&mut engine, START + 8_000);
    assert!(!rolling_families(&world.samples(&engine.snapshot())).is_empty());
    engine.apply(Input::Revoked { partition: 0 });
    for minutes in 1..60 {
        tick(&mut engine, START + minutes * 60_000);
    }
    let samples = world.samples(&engine.snapshot());
    assert_eq!(rolling_families(&samples).first(), None);
}

#[test]
fn user_behaviour_counts_in_the_window_in_which_it_becomes_known() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    tick(&mut engine, START + 30_000);
    read_search(&mut engine, 0, 0, &DRAFT.write("q", 0));
    read_feedback(&mut engine, 0, 0, &write_feedback("e", "q", 1_000, 0));
    read_search(&mut engine, 0, 1, &DRAFT.write("later", 26_000));
    read_feedback(&mut engine, 0, 1, &write_feedback("f", "later", 26_000, 2));
    tick(&mut engine, START + 30_000);
    // The watermark is at 21 s: the search of 0 s has left the window, its feedback has not.
    let samples = world.samples(&engine.snapshot());
    let score = |measure: &str| {
        let labels =
            format!(r#"measure="{measure}",slice="all",value="",variant="V1",window="10s""#);
        samples
            .get(&format!("score{{{labels}}}"))
            .map(String::as_str)
    };
    assert_eq!(score("CTR"), Some("1"));
    assert_eq!(score("RR"), None);
}
