//! Objectives of latency, errors, cost and traffic: searches, failures and evidence.

use rankgauge_core::detection::{Burst, log_threshold};
use rankgauge_core::engine::settings::{Detection, MeanQuantity, Objective, Quantity, Settings};
use rankgauge_core::engine::{Engine, Input};

use super::recovery::{restored, write};
use super::{START, Samples, World, assign, drain, read_search, settings, tick};

fn objective(name: &str, quantity: Quantity, target: f64) -> Objective {
    Objective {
        name: name.to_owned(),
        quantity,
        tiers: vec![("good".to_owned(), target)],
    }
}

/// Settings with the tests of shares.
fn sharing() -> Settings {
    let quantile = Quantity::LatencyQuantile {
        stage: "all".to_owned(),
        quantile: 0.9,
    };
    let share = Quantity::TrafficShare {
        variant: "V5".to_owned(),
        min: Some(0.1),
        max: Some(0.3),
    };
    let objectives = vec![
        objective("latency all p90", quantile, 0.5),
        objective("error_rate", Quantity::ErrorRate, 0.05),
        objective("zero_result_rate", Quantity::ZeroResultRate, 0.05),
        objective("traffic_share V5", share, 0.0),
    ];
    let base = watching();
    Settings {
        detection: Detection {
            means: objectives.iter().flat_map(Objective::tests).collect(),
            ..base.detection
        },
        objectives,
        ..base
    }
}

/// Reads a search every 10 minutes, as 150 a day are. A property of a search by its number: slow, failed,
/// without results, of V5.
fn shared(number: i64, of: impl Fn(i64) -> [bool; 4]) -> (World, Engine) {
    let world = World::new(sharing());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    for search in 0..number {
        let [slow, failed, empty, is_v5] = of(search);
        let results = if empty { "" } else { r#"{"id": "d0"}"# };
        let error = if failed {
            r#", "error_type": "timeout""#
        } else {
            ""
        };
        let payload = format!(
            r#"{{"query_id": "q{search}", "ts": {}, "query_key": "g0", "variant": "{}",
                "latency_ms": {}, "results": [{results}]{error}}}"#,
            START + search * 576_000,
            if is_v5 { "V5" } else { "V1" },
            if slow { 600 } else { 500 },
        );
        tick(&mut engine, START + search * 576_000);
        read_search(&mut engine, 0, search, &payload);
    }
    drain(&mut [&mut engine], 1, START + (number + 100) * 576_000);
    (world, engine)
}

/// A number from 0 to 99 that looks random.
fn percent(search: i64, salt: i64) -> i64 {
    let mixed = (search * 4 + salt).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed());
    (mixed ^ (mixed >> 29))
        .wrapping_mul(0x1CE4_E5B9)
        .rotate_left(31)
        .rem_euclid(100)
}

/// Objectives with their evidence after 30 days, of which these percentages of the searches are slow,
/// failed, without results, of V5.
fn evidence_of([slow, failed, empty, of_v5]: [i64; 4]) -> Vec<(&'static str, f64)> {
    let (world, engine) = shared(4_500, |it| {
        [
            percent(it, 0) < slow,
            percent(it, 1) < failed,
            percent(it, 2) < empty,
            percent(it, 3) < of_v5,
        ]
    });
    let samples = world.samples(&engine.snapshot());
    let objectives = [
        "latency all p90",
        "error_rate",
        "zero_result_rate",
        "traffic_share V5",
    ];
    let of = |objective| value(&samples, "objective_log_evidence", objective);
    objectives.map(|it| (it, of(it))).to_vec()
}

#[test]
fn shares_within_their_objective_have_no_evidence_in_a_month() {
    // 8 % of 10 %, 4 % of 5 %, 4 % of 5 %, 20 % of 10 to 30 %.
    for (objective, log) in evidence_of([8, 4, 4, 20]) {
        assert!(log < log_threshold(0.001), "{objective}: {log}");
    }
}

#[test]
fn shares_that_miss_their_objective_have_evidence() {
    for (objective, log) in evidence_of([20, 10, 10, 5]) {
        assert!(log > log_threshold(0.001), "{objective}: {log}");
    }
}

fn watching() -> Settings {
    let mean = |name, quantity, target| objective(name, Quantity::Mean(quantity), target);
    let means = [
        mean(
            "latency all mean",
            MeanQuantity::Latency("all".to_owned()),
            0.2,
        ),
        mean(
            "cost_per_query USD",
            MeanQuantity::Cost("USD".to_owned()),
            0.01,
        ),
    ];
    let tests = means.iter().flat_map(Objective::tests).collect();
    let quantile = Quantity::LatencyQuantile {
        stage: "all".to_owned(),
        quantile: 0.9,
    };
    let others = [
        objective("latency all p90", quantile, 0.5),
        objective("error_rate", Quantity::ErrorRate, 0.01),
        objective("zero_result_rate", Quantity::ZeroResultRate, 0.05),
    ];
    Settings {
        objectives: others.into_iter().chain(means).collect(),
        detection: Detection {
            burst: Burst::default(),
            means: tests,
            workers: 1,
            replicas: 1,
            target_threshold: log_threshold(0.001),
            ..Detection::default()
        },
        ..settings()
    }
}

/// Reads searches, one every 5 seconds: latency and cost by number.
fn searches(engine: &mut Engine, number: i64, latency: impl Fn(i64) -> i64, cost: &str) {
    for search in 0..number {
        let results = if search % 10 == 0 {
            ""
        } else {
            r#"{"id": "d0"}"#
        };
        let error = if search % 25 == 0 {
            r#", "error_type": "timeout""#
        } else {
            ""
        };
        let payload = format!(
            r#"{{"query_id": "q{search}", "ts": {}, "query_key": "g0", "variant": "V1",
                "latency_ms": {}, "cost": {{"amount": {cost}, "currency": "USD"}},
                "results": [{results}]{error}}}"#,
            START + search * 5_000,
            latency(search),
        );
        tick(engine, START + search * 5_000);
        read_search(engine, 0, search, &payload);
    }
}

#[track_caller]
fn value(samples: &Samples, family: &str, objective: &str) -> f64 {
    let labelled = format!("objective=\"{objective}\"");
    let found = samples
        .iter()
        .find(|(name, _)| name.starts_with(family) && name.contains(&labelled));
    let (_, value) = found.unwrap_or_else(|| panic!("no {family} of {objective}: {samples:#?}"));
    value.parse().expect("a number")
}

#[test]
fn searches_and_failures_of_an_objective_are_counted() {
    let world = World::new(watching());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    // Every fifth search takes 700 ms, the others 500 ms, which is within the target.
    searches(
        &mut engine,
        100,
        |it| if it % 5 == 0 { 700 } else { 500 },
        "0.001",
    );
    drain(&mut [&mut engine], 1, START + 500_000);
    let samples = world.samples(&engine.snapshot());
    let counts = |objective| {
        ["objective_searches_total", "objective_failures_total"]
            .map(|family| value(&samples, family, objective).to_string())
    };
    assert_eq!(counts("latency all p90"), ["100", "20"]);
    assert_eq!(counts("error_rate"), ["100", "4"]);
    assert_eq!(counts("zero_result_rate"), ["100", "10"]);
    let budget = |objective| format!("{:.2}", value(&samples, "objective_budget", objective));
    assert_eq!(budget("latency all p90"), "0.10");
    assert_eq!(budget("error_rate"), "0.01");
    let target = value(&samples, "objective_target", "latency all p90");
    assert_eq!(target.to_string(), "0.5");
}

#[test]
fn a_mean_above_its_target_has_evidence_and_survives_a_restart() {
    let world = World::new(watching());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    // 400 ms against 200 ms; 0.002 against 0.01.
    searches(&mut engine, 1_500, |it| 300 + 2 * (it % 100), "0.002");
    let samples = world.samples(&engine.snapshot());
    let latency = value(&samples, "objective_log_evidence", "latency all mean");
    let cost = value(&samples, "objective_log_evidence", "cost_per_query USD");
    assert!(latency > log_threshold(0.001), "{latency}");
    assert!(cost < 1.0, "{cost}");
    let (other, _) = restored(&world, &write(&engine));
    let again = world.samples(&other.snapshot());
    let restored = value(&again, "objective_log_evidence", "latency all mean");
    assert!((restored - latency).abs() < 1e-9, "{restored}");
    engine.apply(Input::Deployed {
        variant: "V1",
        version: None,
        at: rankgauge_core::time::EventTime(START),
        reset: Some(rankgauge_core::time::WallTime(START)),
    });
    let samples = world.samples(&engine.snapshot());
    let is_evidence = |name: &&String| name.starts_with("objective_log_evidence");
    assert_eq!(samples.keys().filter(is_evidence).count(), 0);
}
