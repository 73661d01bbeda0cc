//! Distributions of latency and cost.

use rankgauge_eval::operations::Distribution;

#[test]
fn quantiles_are_of_the_nearest_rank() {
    let of = |values: &[f64]| Distribution::of(values.to_vec()).expect("values");
    let one = of(&[7.0]);
    assert_eq!(
        [one.p50, one.p95, one.p99, one.max].map(f64::to_bits),
        [7.0_f64.to_bits(); 4]
    );
    let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
    let hundred = of(&hundred);
    let found = [hundred.p50, hundred.p95, hundred.p99];
    assert_eq!(
        found.map(f64::to_bits),
        [50.0_f64, 95.0, 99.0].map(f64::to_bits)
    );
    assert_eq!(Distribution::of(Vec::new()), None);
    assert_eq!(Distribution::of(vec![f64::NAN]), None);
}
