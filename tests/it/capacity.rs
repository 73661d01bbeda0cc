//! The prediction of `check` holds for traffic of the predicted shape.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rankgauge::capacity::{self, Load, Prediction};
use rankgauge::config::{self, Config};
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::position::Join;
use rankgauge_core::engine::settings::{Rolling, Settings};
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::records;
use rankgauge_core::time::WallTime;
use serde_json::json;

use crate::harness::command::{printed, rankgauge};

const START: i64 = 1_750_000_000_000;

fn config() -> Config {
    let settings = [
        ("engine.feedback_window", "60s"),
        ("engine.out_of_orderness", "5s"),
        ("windows", "1m,5m"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    config::load(&[], std::iter::empty(), &settings).expect("a valid configuration")
}

fn predict(load: &Load) -> Prediction {
    let settings = Settings {
        rolling: Rolling::All,
        ..config().engine
    };
    capacity::predict(&settings, load)
}

/// Bytes that the join holds after several feedback windows of `load`.
fn measured(load: &Load) -> f64 {
    let settings = Arc::new(config().engine);
    let registry = Arc::new(Engine::registry(&settings));
    let mut engine = Engine::new(settings, registry, WallTime(START));
    let results: Vec<_> = (0..load.results)
        .map(|rank| json!({"id": format!("d{rank}")}))
        .collect();
    let step = 1_000.0 / load.searches_per_second;
    let mut number = 0;
    let mut at = 0.0;
    while at < 200_000.0 {
        #[allow(clippy::cast_possible_truncation, reason = "minutes in milliseconds")]
        let ts = START + at as i64;
        if number % 50 == 0 {
            engine.apply(Input::Tick {
                wall: WallTime(ts),
                others: None,
            });
        }
        let id = format!("query-{number}");
        let search = json!({"query_id": id, "ts": ts, "query": "?", "results": results,
                            "session_id": format!("session-{}", number / 3), "latency_ms": 20});
        let click = json!({"event_id": format!("click-{number}"), "query_id": id, "ts": ts,
                           "type": "click", "position": 1});
        for (kind, event) in [(Kind::Search, search), (Kind::Feedback, click)] {
            let at = Position {
                partition: 0,
                offset: number,
            };
            let payload = event.to_string();
            let record = (kind, at, payload.as_bytes());
            let rejected = records::apply(&mut engine, &Formats::NATIVE, [record], |_, _, _| ());
            assert_eq!(rejected, []);
        }
        number += 1;
        at += step;
    }
    let bytes = u32::try_from(engine.snapshot().memory.joins).expect("small");
    f64::from(bytes)
}

#[test]
fn predicted_memory_of_the_join_is_what_such_traffic_holds() {
    for results in [10, 100] {
        let load = Load {
            searches_per_second: 50.0,
            results,
            variants: 1,
            slice_values: 1,
        };
        let (predicted, measured) = (predict(&load).join_bytes, measured(&load));
        let ratio = predicted / measured;
        assert!(
            (0.8..1.25).contains(&ratio),
            "{results} results: {predicted} and {measured}"
        );
    }
}

#[test]
fn more_variants_and_values_need_more_series() {
    let load = |variants, slice_values| Load {
        searches_per_second: 1.0,
        results: 10,
        variants,
        slice_values,
    };
    let [small, large] = [load(1, 1), load(5, 8)].map(|load| predict(&load));
    assert!(large.series > 3 * small.series, "{small:?} {large:?}");
    assert!(large.scrape_bytes > 3 * small.scrape_bytes);
    assert!(large.totals_bytes > small.totals_bytes);
}

#[test]
fn check_predicts_and_warns_of_a_load_that_does_not_fit() {
    let check = |rate: &str| {
        let check = format!("check --searches-per-second {rate} --set engine.memory=64MiB");
        printed(&rankgauge(Path::new("."), &check))
    };
    let fitting = check("20");
    assert!(fitting.contains("\nmemory "), "{fitting}");
    assert!(fitting.contains("\nseries "), "{fitting}");
    assert!(!fitting.contains("does not fit"), "{fitting}");
    let too_much = check("100000");
    assert!(
        too_much.contains("warning: the load does not fit into engine.memory"),
        "{too_much}"
    );
}

#[test]
fn a_container_with_less_memory_than_the_workers_need_is_reported() {
    let config = config();
    let warning = capacity::warning(&config, 300 << 20).expect("256 MiB and the process");
    assert!(
        warning.contains("256MiB") && warning.contains("300 MiB"),
        "{warning}"
    );
    assert_eq!(capacity::warning(&config, 400 << 20), None);
}

#[test]
fn forwarders_need_memory_beside_their_workers() {
    let mut config = config();
    config.kafka.join = Join::Repartition;
    config.workers = 2;
    assert_eq!(
        capacity::process_bytes(&config),
        (2 * (256 + 128) + 100) << 20
    );
    let text = capacity::describe_process(&config);
    let stated = "2 workers with engine.memory 256MiB and 128 MiB of a forwarder each";
    assert!(text.contains(stated), "{text}");
    // Batches are fetched by the forwarder, and again by the worker.
    assert!(text.contains("up to 465 MiB more"), "{text}");
}

#[test]
fn searches_that_wait_for_conversions_are_predicted() {
    let load = Load {
        searches_per_second: 10.0,
        results: 5,
        variants: 1,
        slice_values: 1,
    };
    let without = predict(&load);
    assert!(without.conversion_bytes < 1.0);
    let settings = Settings {
        rolling: Rolling::All,
        conversion_window: Some(Duration::from_hours(24)),
        ..config().engine
    };
    let with = capacity::predict(&settings, &load);
    let searches = 10.0 * 86_400.0;
    let each = with.conversion_bytes / searches;
    assert!((16.0..64.0).contains(&each), "{each} bytes of a search");
    let others = (with.join_bytes - without.join_bytes).abs();
    assert!(others < without.join_bytes / 10.0, "{others} bytes");
}
