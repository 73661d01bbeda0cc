//! Rolling histograms give the quantiles of an HDR histogram with two significant digits, from the
//! buckets with values alone.

use hdrhistogram::Histogram;
use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::engine::SparseHistogram;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::event::Kind;
use serde_json::json;

use super::{START, World, assign, drain, read, settings, window};

/// Values of every magnitude: microseconds up to a month, and amounts of money.
fn value() -> impl Strategy<Value = u64> {
    (0..60_u32, any::<u64>()).prop_map(|(shift, random)| random >> (63 - shift))
}

proptest! {
    #[test]
    fn quantiles_equal_those_of_an_hdr_histogram(
        values in vec(value(), 1..300),
        more in vec(value(), 0..300),
        quantile in 0.001..=1.0,
    ) {
        let mut reference = Histogram::<u64>::new(2).expect("two digits");
        let [mut found, mut other] = [SparseHistogram::default(), SparseHistogram::default()];
        for value in &values {
            found.record(*value);
        }
        for value in &more {
            other.record(*value);
        }
        found.merge(&other);
        for value in values.iter().chain(&more) {
            reference.record(*value).expect("the histogram grows");
        }
        for quantile in [quantile, 0.5, 0.99, 1.0] {
            prop_assert_eq!(found.quantile(quantile), Some(reference.value_at_quantile(quantile)));
        }
        let highest = values.iter().chain(&more).max().copied().unwrap_or(0);
        let shown = found.quantile(1.0).expect("it has values");
        prop_assert!(shown >= highest && shown - highest <= highest / 100);
    }
}

/// More samples than are added to the windows at once, from two panes in turns.
#[test]
fn latencies_of_many_thousand_searches_are_counted_once() {
    let world = World::new(Settings {
        windows: vec![window("10m", 600)],
        ..settings()
    });
    let mut engine = world.engine();
    assign(&mut engine, 0);
    let mut expected = SparseHistogram::default();
    for number in 0..10_000 {
        let latency = number * 7_919 % 997;
        expected.record(u64::try_from(latency * 1_000).expect("a positive number"));
        let search = json!({
            "query_id": number, "ts": START + number % 2 * 60_000, "query_key": "g0",
            "results": [], "latency_ms": latency,
        });
        read(&mut engine, Kind::Search, 0, number, &search.to_string());
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
        let micros = expected.quantile(quantile).expect("it has values");
        let micros = f64::from(u32::try_from(micros).expect("below a second"));
        assert!(
            (shown * 1e6 - micros).abs() < 0.5,
            "{name}: {shown}, {micros}"
        );
    }
}
