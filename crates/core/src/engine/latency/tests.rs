//! Quantiles of sparse histograms equal those of an HDR histogram with two significant digits.

use hdrhistogram::Histogram;
use proptest::collection::vec;
use proptest::prelude::*;

use super::SparseHistogram;

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
