//! Rolling histograms give the quantiles of an HDR histogram with two significant digits.

use hdrhistogram::Histogram;
use rankgauge_core::engine::settings::Settings;
use serde_json::json;

use super::{START, World, assign, drain, read_search, settings, window};

/// More samples than are added to the windows at once, from two panes in turns.
#[test]
fn latencies_of_many_thousand_searches_are_counted_once() {
    let world = World::new(Settings {
        windows: vec![window("10m", 600)],
        ..settings()
    });
    let mut engine = world.engine();
    assign(&mut engine, 0);
    let mut expected = Histogram::<u64>::new(2).expect("two digits");
    for number in 0..10_000 {
        let latency = number * 7_919 % 997;
        let micros = u64::try_from(latency * 1_000).expect("a positive number");
        expected.record(micros).expect("the histogram grows");
        let search = json!({
            "query_id": number, "ts": START + number % 2 * 60_000, "query_key": "g0",
            "results": [], "latency_ms": latency,
        });
        read_search(&mut engine, 0, number, &search.to_string());
    }
    drain(&mut [&mut engine], 1, START + 60_000);
    let samples = world.samples(&engine.snapshot());
    assert_eq!(
        samples[r#"search_latency_seconds_count{stage="all",variant=""}"#],
        "10000"
    );
    for (name, quantile) in [("0.5", 0.5), ("0.95", 0.95), ("0.99", 0.99)] {
        let labels = format!(r#"quantile="{name}",stage="all",variant="",window="10m""#);
        let shown = &samples[&format!("search_latency_quantile_seconds{{{labels}}}")];
        let shown: f64 = shown.parse().expect("a number");
        let micros = expected.value_at_quantile(quantile);
        let micros = f64::from(u32::try_from(micros).expect("below a second"));
        assert!(
            (shown * 1e6 - micros).abs() < 0.5,
            "{name}: {shown}, {micros}"
        );
    }
}
