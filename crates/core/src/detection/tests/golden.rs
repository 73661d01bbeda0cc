//! Equality with the reference implementation on dependent traffic, `tests/detection/traffic_sim.py`
//! and `traffic_sim_3.py`.
//! `tests/detection/golden.py` runs it and writes the numbers.

use crate::detection::{Baselines, BlockTest, Comparison, DropSeries, SeriesRules, minute_of};

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
fn the_drop_test_of_the_engine_matches_the_reference() {
    for golden in golden() {
        let searches = golden.searches();
        for expected in &golden.series {
            let name = format!("{}, window {}", golden.name, expected.window);
            let rules = SeriesRules {
                threshold: (90.0 * 1440.0 * 200.0_f64).ln(),
                tolerance: 0.01,
                warm_up_tolerance: 0.02,
                repeat_window: expected.window,
                has_local: true,
                is_seasonal: false,
                alarmed: None,
            };
            let mut baselines: Baselines<u32> = Baselines::default();
            let mut test = DropSeries::default();
            let mut alarm = None;
            let mut after = expected.after.iter().zip(&expected.log_evidence).peekable();
            for (place, search) in (0..).zip(&searches) {
                let minute = minute_of(search.ts);
                test.advance(minute, &rules);
                let score = (search.score, minute);
                let compared = baselines.add(&search.query, |it| *it, score, expected.window);
                if let Some(mut compared) = compared {
                    let Comparison { baseline, own, .. } = compared.comparison;
                    test.compare(search.score, Some(baseline), &rules);
                    if let Some(own) = own {
                        test.compare_locally(search.score, own, compared.bets(), &rules);
                    }
                    if alarm.is_none() && test.log_evidence() >= rules.threshold {
                        alarm = Some(place);
                    }
                }
                let number = usize::try_from(place).expect("small") + 1;
                while let Some((_, expected)) = after.next_if(|(after, _)| **after == number) {
                    // The sums of the engine have units of 2^-44.
                    assert_close(test.log_evidence(), *expected, &name);
                }
            }
            assert_eq!(alarm, expected.alarm, "{name}");
            assert!(after.next().is_none(), "{name}");
        }
    }
}
