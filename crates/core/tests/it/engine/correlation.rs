//! The correlation of measures with user satisfaction does not depend on when its searches are added
//! to the window.

use rankgauge_core::engine::settings::Settings;
use serde_json::json;

use super::{START, Samples, World, assign, drain, read_feedback, read_search, settings, window};

/// Samples of the correlation after `searches` with two levels of satisfaction, in two hours. A snapshot
/// is taken after every `interval` searches.
fn exposed(searches: i64, interval: i64) -> Samples {
    let world = World::new(Settings {
        windows: vec![window("10m", 600)],
        ..settings()
    });
    let mut engine = world.engine();
    assign(&mut engine, 0);
    // No event is from the future.
    let hour = START - START.rem_euclid(3_600_000);
    for number in 0..searches {
        let ts = hour + (number - searches / 2) * 3;
        let first = if number % 3 == 0 { "d0" } else { "d9" };
        let search = json!({
            "query_id": format!("q{number}"),
            "ts": ts,
            "query_key": "g0",
            "results": [{"id": first}, {"id": "d1"}],
        });
        read_search(&mut engine, 0, number, &search.to_string());
        let thumbs = json!({
            "event_id": format!("e{number}"),
            "ts": ts + 1,
            "type": "thumbs",
            "value": number % 2 == 0,
            "query_id": format!("q{number}"),
        });
        read_feedback(&mut engine, 0, number, &thumbs.to_string());
        if (number + 1) % interval == 0 {
            // Taking a snapshot changes nothing.
            drop(engine.snapshot());
        }
    }
    drain(&mut [&mut engine], 1, START);
    let samples = world.samples(&engine.snapshot());
    let of_correlation = |name: &String| name.starts_with("satisfaction_correlation");
    let samples = samples.into_iter().filter(|(name, _)| of_correlation(name));
    samples.collect()
}

/// More searches than are added to the window at once.
#[test]
fn searches_beyond_those_added_at_once_are_counted_once() {
    let searches = 5_000;

    let samples = exposed(searches, searches);

    let counted = samples.iter().filter(|(name, _)| name.contains("_samples"));
    let counted: Vec<_> = counted.collect();
    assert!(!counted.is_empty(), "{samples:?}");
    for (name, count) in counted {
        assert_eq!(count, &searches.to_string(), "{name}");
    }
    assert_eq!(samples, exposed(searches, 7));
}
