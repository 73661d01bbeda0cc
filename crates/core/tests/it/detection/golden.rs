//! Equality with the reference implementation on dependent traffic, `tests/detection/traffic_sim.py`.
//! `tests/detection/golden.py` runs it and writes the numbers.

use rankgauge_core::detection::{
    BaselineRules, Baselines, BlockTest, DropTest, Hypothesis, against_baseline, minute_of,
};

use super::reference_streams::golden;

#[track_caller]
fn assert_close(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() <= 1e-9,
        "{what}: {found} is not {expected}"
    );
}

#[test]
fn the_target_test_matches_the_reference() {
    for golden in golden() {
        let searches = golden.searches();
        for expected in &golden.targets {
            let name = format!("{}, m {}", golden.name, expected.m);
            // The evidence for a mean follows from the sums around any other.
            for (pivot, precision) in [(expected.m, 1e-9), (0.5, 1e-7)] {
                let mut test = BlockTest::new(pivot);
                let mut closed = Vec::new();
                for (place, search) in searches.iter().enumerate() {
                    if test.add(search.ts, search.score, expected.block_seconds * 1000) {
                        closed.push((place, test.log_evidence(expected.m)));
                    }
                }
                let places: Vec<usize> = closed.iter().map(|(place, _)| *place).collect();
                assert_eq!(places, expected.closed_by, "{name}");
                for ((place, found), expected) in closed.iter().zip(&expected.log_evidence) {
                    assert!(
                        (found - expected).abs() <= precision,
                        "{name}, pivot {pivot}, search {place}: {found} is not {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_drop_test_matches_the_reference() {
    let tolerance = Hypothesis::dropped_at_most(0.01).expect("a tolerance");
    let ceiling = (90.0 * 1440.0 * 200.0_f64).ln() + 3.0;
    for golden in golden() {
        for expected in &golden.drops {
            let rules = BaselineRules {
                repeat_window: expected.window,
                max_scores: 100,
            };
            let mut baselines: Baselines<u32> = Baselines::default();
            let mut test = DropTest::default();
            let mut after = Vec::new();
            for (number, search) in (1..).zip(golden.searches()) {
                let minute = minute_of(search.ts);
                let score = (search.score, minute);
                let baseline = baselines.add(&search.query, |query| *query, score, rules);
                let difference = baseline.map(|it| against_baseline(search.score, it));
                test.add(minute, difference, tolerance, ceiling);
                if expected.after.contains(&number) {
                    after.push(test.log_evidence());
                }
            }
            assert_eq!(after.len(), expected.log_evidence.len());
            for ((number, found), expected) in
                expected.after.iter().zip(after).zip(&expected.log_evidence)
            {
                assert_close(found, *expected, &format!("{}, {number}", golden.name));
            }
        }
    }
}
