//! The values that the engine counts from a stream equal those computed from the complete log:
//! every user behaviour measure, and all counters related to it, for random logs with disorder,
//! duplicates and late events.

mod traffic;
mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use rankgauge_core::engine::Engine;
use rankgauge_core::engine::settings::{Assignment, Experiment, Settings};
use rankgauge_core::event::Kind;
use rankgauge_core::gold;
use rankgauge_core::measure::Measure;

use self::traffic::{Case, PARTITIONS};
use self::truth::{Lateness, Totals};
use super::{START, World, assign, drain, millis, read, tick, window};

/// Gold set with two slices of queries, one of them with a value for a single query. Grades from 2
/// on are relevant.
const GOLD: &str = r#"{"version": "1", "relevance_level": 2, "queries": [
    {"query_id": "g0", "query_text": "용도지역 변경", "query_type": "keyword",
     "ground_truth": {"d0": 3, "d1": 1, "d2": 0, "d3": 2}},
    {"query_id": "g1", "query_text": "건폐율", "query_type": "question",
     "ground_truth": {"d3": 2, "d1": 1, "d4": 1}},
    {"query_id": "g2", "query_text": "하천구역", "aliases": ["far limit"],
     "ground_truth": {"d5": 2, "d1": 1.5}}
]}"#;

/// Inverse propensity of positions 1, 2 and the rest.
const PROPENSITY_WEIGHTS: [f64; 3] = [1.0, 2.0, 4.0];

/// Expected clicks at positions 1 and 2.
const EXPECTED_CLICKS: [f64; 2] = [0.3, 0.1];

/// Declared experiment.
const EXPERIMENT: &str = "split";

/// The only window, which contains all records.
const DAY_IN_ONE_WINDOW: &str = "1d";

/// Wall time of all reads, later than every record.
const WALL: i64 = START + 4_000_000;

/// Families that are compared, with all their samples.
const FAMILIES: [&str; 20] = [
    "score_sum_total",
    "score_count_total",
    "score",
    "score_samples",
    "searches_total",
    "events_total",
    "feedback_total",
    "clicks_total",
    "unserved_clicks_total",
    "expected_clicks_total",
    "time_to_first_click_seconds_sum",
    "time_to_first_click_seconds_count",
    "time_to_first_click_seconds_bucket",
    "interleaving_wins_total",
    "interleaving_delta",
    "interleaving_pair_sessions_total",
    "production_judgements_total",
    "evaluator_kappa",
    "satisfaction_correlation",
    "satisfaction_correlation_samples",
];

fn settings(case: &Case) -> Settings {
    let measures = "P@1 R@5 nDCG@5 RR CTR CTR@1 CTR@3 ClickRR MeanClickRR IPWClicks Abandoned \
                    ZeroResult SAT SAT(dwell=2) Converted Reformulated Reformulated(within=5) \
                    ThumbsUp Satisfied Rating SessionSuccess";
    Settings {
        measures: Measure::parse_list(measures).expect("known measures"),
        slices: vec![
            "query_type".into(),
            "device".into(),
            Experiment::SLICE.into(),
        ],
        windows: vec![window(DAY_IN_ONE_WINDOW, 86_400)],
        feedback_window: millis(case.window),
        click_weights: PROPENSITY_WEIGHTS.to_vec(),
        expected_clicks: EXPECTED_CLICKS.to_vec(),
        min_samples: case.min_samples,
        experiments: vec![Experiment {
            id: EXPERIMENT.into(),
            control: "V1".into(),
            assignment: Assignment::Session,
            split: vec![("V1".into(), 0.5), ("V2".into(), 0.5)],
            guardrails: Vec::new(),
        }],
        ..super::settings()
    }
}

/// Samples that the engine exposes after it has read the log and time has advanced.
fn streamed(case: &Case) -> Totals {
    let settings = settings(case);
    let gold = gold::parse("gold.json", GOLD.as_bytes(), &gold::Options::default());
    let world = World {
        registry: Arc::new(Engine::registry(&settings)),
        settings: Arc::new(settings),
        gold: Arc::new(gold.expect("a valid gold set")),
    };
    let mut engine = world.engine();
    tick(&mut engine, WALL);
    for partition in 0..PARTITIONS {
        assign(&mut engine, partition);
    }
    let mut next: BTreeMap<(i32, Kind), i64> = BTreeMap::new();
    for record in &case.records {
        let offset = next.entry((record.partition, record.kind)).or_default();
        let (kind, partition) = (record.kind, record.partition);
        read(&mut engine, kind, partition, *offset, &record.payload);
        *offset += 1;
    }
    // Time enough for the partition that is furthest behind to pass all records of the other one.
    let mut wall = WALL;
    for _ in 0..5 {
        wall = drain(&mut [&mut engine], PARTITIONS, wall);
    }
    let snapshot = engine.snapshot();
    assert_eq!(snapshot.pending, [0, 0], "something waits for ever");
    world
        .samples(&snapshot)
        .into_iter()
        .filter(|(name, _)| FAMILIES.contains(&family(name)))
        .map(|(name, value)| (name, value.parse().expect("a number")))
        .collect()
}

fn family(sample: &str) -> &str {
    sample.split('{').next().unwrap_or(sample)
}

/// True for a count of 0, which need not be exposed. Any other missing value is a difference.
fn is_nothing(name: &str, value: f64) -> bool {
    let is_count = ["_total", "_bucket"]
        .iter()
        .any(|it| family(name).ends_with(it));
    is_count && value.abs() < f64::EPSILON
}

/// Samples in which the streamed values differ from the expected values.
fn differences(found: &Totals, expected: &Totals) -> Vec<String> {
    let names: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    let value = |totals: &Totals, name: &String| {
        let value = totals.get(name).copied();
        value.filter(|value| !is_nothing(name, *value))
    };
    let is_same = |name: &String| match (value(found, name), value(expected, name)) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-6,
        (found, expected) => found.is_none() && expected.is_none(),
    };
    let differing = names.into_iter().filter(|name| !is_same(name));
    differing
        .map(|name| {
            let (found, expected) = (found.get(name), expected.get(name));
            format!("{name}: {found:?}, expected {expected:?}")
        })
        .collect()
}

fn assert_true(case: &Case, lateness: Lateness) -> Result<(), TestCaseError> {
    let differences = differences(&streamed(case), &truth::totals(case, lateness));
    let log: Vec<String> = case
        .records
        .iter()
        .map(|it| format!("{}/{} {}", it.kind.name(), it.partition, it.payload))
        .collect();
    prop_assert!(
        differences.is_empty(),
        "window {}: {differences:#?}\n{}",
        case.window,
        log.join("\n")
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn streamed_counts_match_the_complete_log(case in traffic::in_order()) {
        assert_true(&case, Lateness::Never)?;
    }

    #[test]
    fn late_events_are_excluded_and_counted(case in traffic::with_late_records()) {
        assert_true(&case, Lateness::ByWatermark)?;
    }
}
