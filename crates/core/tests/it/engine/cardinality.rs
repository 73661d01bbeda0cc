//! Bounded cardinality: for any values in hostile events, every family stays within its limit,
//! every sample is counted somewhere, and samples moved to `__other__` are reported.

use std::collections::BTreeMap;

use rankgauge_core::engine::Engine;
use rankgauge_core::engine::series::Dimension;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::state::State;
use serde_json::json;

use super::{START, Samples, World, assign, drain, read_feedback, read_search, settings, tick};

const SEARCHES: usize = 3_000;

/// Families whose number of series depends on labels of events.
const LIMIT: usize = 400;

fn narrow() -> Settings {
    let mut settings = settings();
    settings.series_per_family = LIMIT;
    settings.values_per_label = 60;
    settings
}

/// Search whose labels are all new.
fn hostile(number: usize) -> String {
    let odd = ["\"", "\\", "\n", "💥", "한글", "__other__", "all", ""][number % 8];
    json!({
        "query_id": number,
        "ts": START,
        "query_key": format!("g{}", number % 3),
        "results": [{"id": "d0"}],
        "variant": format!("variant {number} {odd}"),
        "labels": {"device": format!("device {number} {odd}")},
        "latency_ms": 200,
        "stages": [{"name": format!("stage {number} {odd}"), "latency_ms": 100}],
        "error_type": format!("error {number} {odd}"),
        "usage": [
            {"model": format!("model {number} {odd}"), "operation": format!("operation {number}"),
             "input_tokens": 7, "cost": {"amount": 0.5, "currency": currency(number)}},
            {"model": format!("unpriced {number}"), "output_tokens": 3},
            {"operation": "rerank", "cost": {"amount": 0.25, "currency": currency(number)}}
        ],
    })
    .to_string()
}

/// One of 17,576 codes.
fn currency(number: usize) -> String {
    let letter =
        |place: u32| char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number / 26_usize.pow(place) % 26]);
    [letter(2), letter(1), letter(0)].iter().collect()
}

fn after_hostile_traffic(settings: Settings) -> Samples {
    let world = World::new(settings);
    let mut engine = world.engine();
    assign(&mut engine, 0);
    for (number, offset) in (0..SEARCHES).zip(0..) {
        read_search(&mut engine, 0, offset, &hostile(number));
        let click = json!({"event_id": number, "query_id": number, "ts": START, "type": "click", "position": 1});
        read_feedback(&mut engine, 0, offset, &click.to_string());
    }
    drain(&mut [&mut engine], 1, START);
    world.samples(&engine.snapshot())
}

/// Number of exposed series by family.
fn series_by_family(samples: &Samples) -> BTreeMap<&str, usize> {
    let mut families = BTreeMap::new();
    for name in samples.keys() {
        let family = name.split('{').next().unwrap_or(name);
        *families.entry(family).or_default() += 1;
    }
    families
}

/// Sum of the counters of a family, in nano-units, over series with `label`.
fn sum(samples: &Samples, family: &str, label: &str) -> i64 {
    let values = samples.iter().filter(|(name, _)| {
        name.strip_prefix(family)
            .is_some_and(|rest| rest.starts_with('{'))
            && name.contains(label)
    });
    values
        .map(|(_, value)| {
            let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
            let nanos = format!("{whole}{fraction:0<9}");
            nanos.parse::<i64>().expect("a decimal")
        })
        .sum()
}

#[test]
fn no_family_exceeds_its_limit() {
    let samples = after_hostile_traffic(narrow());
    let mut families = series_by_family(&samples);
    // A histogram is one family.
    let parts: usize = ["_bucket", "_sum", "_count"]
        .iter()
        .filter_map(|part| families.remove(format!("search_latency_seconds{part}").as_str()))
        .sum();
    families.insert("search_latency_seconds", parts);
    for (family, series) in families {
        assert!(series <= LIMIT, "{family} has {series} series");
    }
}

#[test]
fn rolling_families_do_not_exceed_their_limits() {
    let world = World::new(narrow());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    for (number, offset) in (0..SEARCHES).zip(0..) {
        // The call without a price is removed, so that its search has a known cost.
        let search = hostile(number).replace("\"output_tokens\":3", "\"output_tokens\":0");
        read_search(&mut engine, 0, offset, &search);
    }
    let later = START + 6_000;
    let plain = |kind: &str| json!({kind: "later", "query_id": "later", "query": "q", "ts": later, "results": [], "type": "comment"});
    let offset = i64::try_from(SEARCHES).expect("few");
    read_search(&mut engine, 0, offset, &plain("query_id").to_string());
    read_feedback(&mut engine, 0, 0, &plain("event_id").to_string());
    super::tick(&mut engine, later);
    let samples = world.samples(&engine.snapshot());
    let families = series_by_family(&samples);
    for rolling in [
        "score",
        "search_latency_quantile_seconds",
        "cost_per_query_mean",
        "cost_per_query_quantile",
        "gold_coverage",
        "searches_per_second",
    ] {
        let series = families.get(rolling).copied().unwrap_or(0);
        assert!(
            (1..=LIMIT).contains(&series),
            "{rolling} has {series} series"
        );
    }
}

#[test]
fn no_sample_is_lost_beyond_the_limits() {
    let samples = after_hostile_traffic(narrow());
    let searches = i64::try_from(SEARCHES).expect("few") * 1_000_000_000;
    let expected = [
        ("search_errors_total", "", searches),
        ("search_latency_seconds_count", "", 2 * searches),
        ("search_latency_seconds_sum", "", searches / 10 * 3),
        ("tokens_total", "", 10 * searches),
        ("llm_calls_total", "", 3 * searches),
        ("unpriced_usage_total", "", searches),
        ("cost_total", "", searches / 4 * 3),
        ("feedback_total", "", searches),
        ("searches_total", "slice=\"all\"", searches),
        (
            "score_count_total",
            "measure=\"P@1\",slice=\"all\"",
            searches,
        ),
        ("score_sum_total", "measure=\"CTR\",slice=\"all\"", searches),
        (
            "score_count_total",
            "measure=\"P@1\",slice=\"device\"",
            searches,
        ),
    ];
    for (family, labels, total) in expected {
        assert_eq!(sum(&samples, family, labels), total, "{family} {labels}");
    }
}

#[test]
fn samples_moved_to_other_are_counted_by_family() {
    let samples = after_hostile_traffic(Settings {
        // No label reaches its limit before its family does.
        values_per_label: 1_000_000,
        ..narrow()
    });
    for family in [
        "score",
        "search_errors_total",
        "search_latency_seconds",
        "tokens_total",
        "llm_calls_total",
        "cost_total",
        "cost_per_query_mean",
        "unpriced_usage_total",
        "feedback_total",
    ] {
        let dropped = sum(
            &samples,
            "overflow_samples_total",
            &format!("family={family:?}"),
        );
        // cost_per_query_mean excludes every search: a part of each has no price.
        assert_eq!(
            dropped > 0,
            family != "cost_per_query_mean",
            "{family}: {dropped}"
        );
    }
}

#[test]
fn a_variant_named_other_does_not_expose_a_sample_twice() {
    let world = World::new(narrow());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    let search = |number: i64, variant: &str| {
        let labels = json!({"device": format!("device {number}")});
        json!({"query_id": number, "ts": START, "query": "q", "results": [], "variant": variant, "labels": labels})
            .to_string()
    };
    for number in 0..100 {
        let variant = match number {
            0..40 => "V1".to_owned(),
            40 => "__other__".to_owned(),
            _ => format!("V{number}"),
        };
        read_search(&mut engine, 0, number, &search(number, &variant));
    }
    let samples = world.samples(&engine.snapshot());
    assert_eq!(
        sum(&samples, "searches_total", "slice=\"all\""),
        100_000_000_000
    );
}

#[test]
fn no_sample_is_moved_to_other_below_the_limits() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    for (number, offset) in (0..20).zip(0..) {
        read_search(&mut engine, 0, offset, &hostile(number));
    }
    let samples = world.samples(&engine.snapshot());
    assert_eq!(sum(&samples, "overflow_samples_total", ""), 0);
    let other = samples
        .keys()
        .filter(|name| name.contains("=\"__other__\""));
    assert_eq!(other.count(), 0);
}

#[test]
fn an_oversized_label_value_becomes_other() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    let search = json!({"query_id": 1, "ts": START, "query": "q", "results": [], "variant": "v".repeat(500_000)});
    read_search(&mut engine, 0, 0, &search.to_string());
    let samples = world.samples(&engine.snapshot());
    assert_eq!(
        samples[r#"searches_total{slice="all",value="",variant="__other__"}"#],
        "1"
    );
    assert!(samples.keys().all(|name| name.len() < 1_000));
}

/// Reads a search of each variant at `time`, in milliseconds after the start, and lets time pass.
fn search_of(engine: &mut Engine, partition: i32, offset: &mut i64, variants: &[&str], time: i64) {
    tick(engine, START + time);
    for variant in variants {
        let event = json!({"query_id": format!("{variant} {offset}"), "ts": START + time,
                           "query_key": "g0", "variant": variant, "results": [{"id": "d0"}],
                           "latency_ms": 5});
        read_search(engine, partition, *offset, &event.to_string());
        let click = json!({"event_id": offset, "query_id": format!("{variant} {offset}"),
                           "ts": START + time, "type": "click", "position": 1});
        read_feedback(engine, partition, *offset, &click.to_string());
        *offset += 1;
    }
}

fn variants_of(world: &World, engines: &[&Engine]) -> Vec<(String, String)> {
    let mut merged = engines[0].snapshot();
    engines[1..]
        .iter()
        .for_each(|engine| merged.merge(&engine.snapshot()));
    let samples = world.samples(&merged);
    let prefix = "searches_total{slice=\"all\",value=\"\",variant=\"";
    let of_whole = samples
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix(prefix)?, value)));
    of_whole
        .map(|(rest, value)| (rest.trim_end_matches("\"}").to_owned(), value.clone()))
        .collect()
}

/// Milliseconds in an hour.
const HOUR: i64 = 3_600_000;

#[test]
fn idle_variants_make_room_for_new_ones() {
    let mut settings = settings();
    settings.values_per_label = 3;
    let world = World::new(settings);
    let mut engines = [world.engine(), world.engine()];
    let mut offsets = [0, 0];
    for (engine, partition) in engines.iter_mut().zip(0..) {
        assign(engine, partition);
    }
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let mut search = |engines: &mut [Engine; 2], variants: &[&str], time: i64| {
        for ((engine, partition), offset) in engines.iter_mut().zip(0..).zip(&mut offsets) {
            search_of(engine, partition, offset, variants, time);
        }
    };
    search(&mut engines, &["A", "B", "C", "D"], 0);
    let [first, second] = &engines;
    assert_eq!(
        variants_of(&world, &[first, second]),
        [
            pair("A", "2"),
            pair("B", "2"),
            pair("C", "2"),
            pair("__other__", "2")
        ]
    );
    // C stays in use. A and B are idle for longer than a day.
    for hour in 1..26 {
        search(&mut engines, &["C"], hour * HOUR);
    }
    // Their successors take new numbers, and those of A and B after the quarantine.
    search(&mut engines, &["E"], 26 * HOUR);
    for minute in 1..20 {
        search(&mut engines, &["C", "E"], 26 * HOUR + minute * 60_000);
    }
    search(&mut engines, &["F"], 27 * HOUR);
    let [first, second] = &engines;
    assert_eq!(
        variants_of(&world, &[first, second]),
        [
            pair("C", "90"),
            pair("E", "40"),
            pair("F", "2"),
            pair("__other__", "2")
        ]
    );
    // What a checkpoint holds of the retired variants is gone too.
    let restored = World::new(world.settings.as_ref().clone());
    let mut engine = restored.engine();
    engine.restore(&engines[0].state());
    assert_eq!(
        variants_of(&restored, &[&engine]),
        [
            pair("C", "45"),
            pair("E", "20"),
            pair("F", "1"),
            pair("__other__", "1")
        ]
    );
}

#[test]
fn numbers_that_nobody_reuses_stay_retired_for_days() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    let mut offset = 0;
    search_of(&mut engine, 0, &mut offset, &["A", "B", ""], 0);
    for hour in 1..=120 {
        search_of(&mut engine, 0, &mut offset, &[""], hour * HOUR);
    }
    search_of(&mut engine, 0, &mut offset, &["X", "Y", "Z"], 121 * HOUR);
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        variants_of(&world, &[&engine]),
        [
            pair("", "121"),
            pair("X", "1"),
            pair("Y", "1"),
            pair("Z", "1")
        ]
    );
}

#[test]
fn variant_with_the_name_of_the_overflow_series_has_a_series_of_its_own() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    for (offset, variant) in ["__other__", "___other__", "V1", "_other__"]
        .iter()
        .enumerate()
    {
        let search = json!({
            "query_id": offset, "ts": START, "query_key": "g0", "results": [{"id": "d0"}],
            "variant": variant,
        });
        let offset = i64::try_from(offset).expect("a small number");
        read_search(&mut engine, 0, offset, &search.to_string());
    }
    let names = ["___other__", "____other__", "V1", "_other__"];
    let values = world.registry.values(Dimension::Variant);
    for name in names {
        assert!(values.iter().any(|it| &**it == name), "{name}: {values:?}");
    }
    // A restart changes no name.
    let restored = World::new(world.settings.as_ref().clone());
    restored.engine().restore(&engine.state());
    assert_eq!(restored.registry.values(Dimension::Variant), values);
}

#[test]
fn settings_for_inspection_have_room_for_the_saved_values_and_not_for_any_number() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    let names: Vec<String> = (0..20).map(|number| format!("V{number}")).collect();
    let variants: Vec<&str> = names.iter().map(String::as_str).collect();
    search_of(&mut engine, 0, &mut 0, &variants, 0);
    let state = engine.state();
    let inspection = State::inspection_settings([&state, &state].into_iter(), narrow());
    let room = inspection.values_per_label;
    assert!((20..1_000).contains(&room), "{room}");
    let restored = World::new(inspection);
    restored.engine().restore(&state);
    let values = |world: &World| world.registry.values(Dimension::Variant);
    assert_eq!(values(&restored), values(&world));
}
