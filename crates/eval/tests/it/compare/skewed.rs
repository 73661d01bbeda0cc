//! Differences that are skewed.

use rankgauge_eval::compare::{Verdict, compare};

use super::{quick, run};

#[test]
fn the_permutation_test_decides_where_few_differences_are_skewed() {
    let keys: Vec<String> = (0..12).map(|query| format!("q{query}")).collect();
    let mut differences = [0.01; 12];
    differences[11] = 0.9;
    let base: Vec<(&str, &[f64])> = keys.iter().map(|key| (key.as_str(), &[0.05][..])).collect();
    let other: Vec<[f64; 1]> = differences.iter().map(|it| [0.05 + it]).collect();
    let other: Vec<(&str, &[f64])> = keys
        .iter()
        .map(String::as_str)
        .zip(other.iter().map(|it| &it[..]))
        .collect();
    let runs = vec![run("A", &["RR"], &base), run("B", &["RR"], &other)];
    let comparison = compare(runs, &quick()).expect("two runs");
    let of = &comparison.comparisons[0].measures[0];
    assert!(of.paired.skewness.is_some_and(|it| it > 3.0), "{of:?}");
    assert!(of.paired.p.is_some_and(|p| p > 0.05));
    // All differences have one sign: 2 of 2^12 patterns are as extreme.
    assert_eq!(of.p_holm, of.paired.p_permutation);
    assert_eq!(of.verdict, Verdict::Better);
    let warnings = comparison.warnings.join("\n");
    assert!(
        warnings.contains("the permutation test decides there"),
        "{warnings}"
    );
}
