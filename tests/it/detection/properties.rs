//! Properties that hold for any numbers.

use proptest::prelude::*;
use rankgauge_core::detection::{
    Arm, DropDetector, Histogram, Hypothesis, TargetTest, against_baseline, difference,
    split_log_evidence, summed,
};

/// Any number: valid ones, invalid ones and NaN.
fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        0.0..=1.0_f64,
        any::<f64>(),
        Just(0.0),
        Just(1.0),
        Just(-0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
    ]
}

fn score() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..=1.0_f64, Just(0.0), Just(1.0)]
}

/// Score, or minute.
fn step() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![4 => score().prop_map(Some), 1 => Just(None)]
}

fn hypothesis() -> impl Strategy<Value = Hypothesis> {
    score().prop_map(|m| Hypothesis::at_least(m).expect("a number from 0 to 1"))
}

fn target(scores: &[f64], hypothesis: Hypothesis) -> TargetTest {
    let mut test = TargetTest::default();
    for score in scores {
        test.add(*score, hypothesis);
    }
    test
}

fn detector(steps: &[Option<f64>], hypothesis: Hypothesis) -> DropDetector {
    let mut detector = DropDetector::default();
    for step in steps {
        match step {
            Some(score) => detector.add(*score, hypothesis),
            None => detector.tick(),
        }
    }
    detector
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn evidence_is_finite_for_any_number(
        m in any_number(),
        epsilon in any_number(),
        steps in prop::collection::vec((any_number(), any_number(), any::<bool>()), 0..60),
        ceiling in any_number(),
    ) {
        for hypothesis in [Hypothesis::at_least(m), Hypothesis::dropped_at_most(epsilon)].into_iter().flatten() {
            let mut test = TargetTest::default();
            let mut detector = DropDetector::default();
            for (score, baseline, tick) in &steps {
                test.add(*score, hypothesis);
                test.add(against_baseline(*score, *baseline), hypothesis);
                detector.add(*score, hypothesis);
                detector.add(against_baseline(*score, *baseline), hypothesis);
                if *tick {
                    detector.tick();
                }
                prop_assert!(test.log_evidence().is_finite());
                prop_assert!(detector.log_evidence().is_finite());
            }
            detector.limit(ceiling);
            detector.tick();
            detector.merge(&detector.clone());
            prop_assert!(!detector.log_evidence().is_nan());
        }
    }

    #[test]
    fn bounds_stay_in_the_score_range_for_any_number(
        scores in prop::collection::vec(any_number(), 0..60),
        alpha in any_number(),
    ) {
        let mut histogram = Histogram::default();
        for score in &scores {
 histogram.add(*score);
}
        let bounds = histogram.bounds(alpha);
        for bound in [bounds.lower, bounds.upper] {
            prop_assert!((0.0..=1.0).contains(&bound), "{bounds:?}");
        }
    }

    #[test]
    fn differences_and_splits_are_never_nan(
        values in prop::collection::vec(any_number(), 0..300),
        counts in prop::collection::vec(0..2_000_000_u64, 0..5),
        shares in prop::collection::vec(any_number(), 0..5),
        alpha in any_number(),
    ) {
        let mut arm = Arm::default();
        for value in &values {
 arm.add(*value);
}
        let other = Arm { count: 1000, sum: 500.0, squares: 400.0 };
        if let Some(found) = difference(&arm, &other, alpha) {
            let [low, high] = found.interval();
            prop_assert!(low.is_finite() && high.is_finite() && low <= high);
        }
        if let Some(evidence) = split_log_evidence(&counts, &shares) {
            prop_assert!(!evidence.is_nan());
        }
    }

    #[test]
    fn merged_target_tests_equal_the_test_of_all_scores(
        scores in prop::collection::vec(score(), 0..80),
        cut in any::<prop::sample::Index>(),
        hypothesis in hypothesis(),
    ) {
        let (one, other) = scores.split_at(cut.index(scores.len() + 1));
        let mut merged = target(one, hypothesis);
        merged.merge(&target(other, hypothesis));
        prop_assert!(near(merged.log_evidence(), target(&scores, hypothesis).log_evidence()));
    }

    #[test]
    fn evidence_of_merged_detectors_is_the_sum(
        one in prop::collection::vec(step(), 0..60),
        other in prop::collection::vec(step(), 0..60),
        hypothesis in hypothesis(),
    ) {
        let (one, other) = (detector(&one, hypothesis), detector(&other, hypothesis));
        let mut merged = one.clone();
        merged.merge(&other);
        let exposed = summed(&[one.log_evidence(), other.log_evidence()]);
        prop_assert!(near(merged.log_evidence(), exposed));
        prop_assert!(merged.log_evidence() >= one.log_evidence().max(other.log_evidence()) - 1e-12);
    }

    #[test]
    fn a_tick_adds_one_and_the_ceiling_limits_evidence(
        steps in prop::collection::vec(step(), 0..60),
        hypothesis in hypothesis(),
        ceiling in 0.0..20.0_f64,
    ) {
        let before = detector(&steps, hypothesis);
        let mut after = before.clone();
        after.tick();
        prop_assert!(near(after.log_evidence(), summed(&[before.log_evidence(), 0.0])));
        after.limit(ceiling);
        prop_assert!(after.log_evidence() <= ceiling + 1e-12);
    }

    #[test]
    fn bounds_contain_the_observed_mean_and_widen_with_confidence(
        scores in prop::collection::vec(score(), 1..200),
    ) {
        let mut histogram = Histogram::default();
        for score in &scores {
 histogram.add(*score);
}
        let count = f64::from(u32::try_from(scores.len()).expect("few"));
        let mean = scores.iter().sum::<f64>() / count;
        let (sure, surer) = (histogram.bounds(0.05), histogram.bounds(0.001));
        prop_assert!(sure.lower <= mean + 1e-9 && mean <= sure.upper + 1e-9, "{sure:?} {mean}");
        prop_assert!(surer.lower <= sure.lower && sure.upper <= surer.upper);
    }

    #[test]
    fn histograms_merge_in_any_order(
        one in prop::collection::vec(any_number(), 0..50),
        other in prop::collection::vec(any_number(), 0..50),
    ) {
        let of = |scores: &[f64]| {
            let mut histogram = Histogram::default();
            for score in scores {
 histogram.add(*score);
}
            histogram
        };
        let (mut there, mut back) = (of(&one), of(&other));
        there.merge(&of(&other));
        back.merge(&of(&one));
        prop_assert_eq!(&there, &back);
        prop_assert_eq!(&there, &of(&[one, other].concat()));
    }

    #[test]
    fn states_round_trip_through_a_checkpoint(
        steps in prop::collection::vec(step(), 0..40),
        hypothesis in hypothesis(),
    ) {
        fn again<T: serde::Serialize + serde::de::DeserializeOwned>(state: &T) -> T {
            let bytes = postcard::to_stdvec(state).expect("a state can be written");
            postcard::from_bytes(&bytes).expect("a state can be read")
        }
        let scores: Vec<f64> = steps.iter().copied().flatten().collect();
        let test = target(&scores, hypothesis);
        prop_assert_eq!(&again(&test), &test);
        let detector = detector(&steps, hypothesis);
        prop_assert_eq!(&again(&detector), &detector);
        let mut histogram = Histogram::default();
        for score in &scores {
 histogram.add(*score);
}
        prop_assert_eq!(&again(&histogram), &histogram);
        prop_assert_eq!(again(&hypothesis), hypothesis);
        let mut arm = Arm::default();
        for score in &scores {
 arm.add(*score);
}
        prop_assert_eq!(again(&arm), arm);
    }
}

#[test]
fn a_checkpoint_with_an_invalid_mean_is_rejected() {
    let bytes = postcard::to_stdvec(&1.5_f64).expect("a number can be written");
    assert!(postcard::from_bytes::<Hypothesis>(&bytes).is_err());
}

#[test]
fn arms_with_few_values_have_no_difference() {
    let arm = |count: u32| {
        let mut arm = Arm::default();
        for number in 0..count {
            arm.add(f64::from(number % 2));
        }
        arm
    };
    assert!(difference(&arm(100), &arm(99), 0.05).is_none());
    assert!(difference(&arm(100), &arm(100), 0.05).is_some());
    let (mut merged, other) = (arm(100), arm(300));
    merged.merge(&other);
    assert_eq!(merged, arm(400));
}

#[test]
fn an_invalid_split_has_no_evidence() {
    for shares in [
        &[0.5][..],
        &[0.5, f64::NAN],
        &[0.5, -0.5],
        &[0.0, 0.0],
        &[1.0, f64::INFINITY],
    ] {
        assert_eq!(split_log_evidence(&[3, 4], shares), None, "{shares:?}");
    }
    assert_eq!(
        split_log_evidence(&[3, 4], &[1.0, 0.0]),
        Some(f64::INFINITY)
    );
    assert_eq!(split_log_evidence(&[3, 0], &[1.0, 0.0]), Some(0.0));
}
