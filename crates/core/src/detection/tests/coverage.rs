//! Error probabilities of the tests: exact where all cases can be enumerated, else by simulation.

use crate::detection::{
    ArmDifference, BlockTests, BucketArm, ScoreTest, SplitTest, Unit, log_threshold,
};

use super::Numbers;

/// Every stream of `length` zeros and ones, with its probability if ones have the probability `m`.
fn every_stream(length: u32, m: f64) -> impl Iterator<Item = (Vec<f64>, f64)> {
    (0..1_u32 << length).map(move |bits| {
        let scores: Vec<f64> = (0..length)
            .map(|place| f64::from(bits >> place & 1))
            .collect();
        let chances = scores
            .iter()
            .map(|score| if *score > 0.5 { m } else { 1.0 - m });
        let probability = chances.product();
        (scores, probability)
    })
}

#[test]
fn evidence_against_a_target_that_is_just_met_has_expectation_1() {
    for m in [0.2, 0.5, 0.8, 0.99] {
        let expected: f64 = every_stream(12, m)
            .map(|(scores, probability)| {
                let mut test = ScoreTest::target();
                for score in &scores {
                    test.add(*score, m);
                }
                probability * test.log_evidence().exp()
            })
            .sum();
        assert!((expected - 1.0).abs() < 1e-9, "m {m}: {expected}");
    }
}

#[test]
fn a_test_for_a_drop_has_the_expectation_of_its_ticks_without_a_drop() {
    for m in [0.2, 0.5, 0.8, 0.99] {
        let expected: f64 = every_stream(12, m)
            .map(|(scores, probability)| {
                let mut detector = ScoreTest::drop(f64::INFINITY);
                for score in scores {
                    detector.add(score, m);
                    detector.tick();
                }
                probability * detector.log_evidence().exp()
            })
            .sum();
        // The evidence starts at 1.
        assert!((expected - 13.0).abs() < 1e-8, "m {m}: {expected}");
    }
}

/// Milliseconds of a block.
const BLOCK: i64 = 300_000;

/// Adds the scores of a block in bursts of five equal scores, with the mean 0.7.
fn add_block(tests: &mut BlockTests, number: i64, chance: &mut Numbers) {
    for burst in 0..12 {
        let hits = (0..10).filter(|_| chance.next() < 0.7).count();
        let score = f64::from(u32::try_from(hits).expect("at most ten")) / 10.0;
        for place in 0..5 {
            tests.add(number * BLOCK + burst * 1000 + place, score, BLOCK, 0.5);
        }
    }
}

#[test]
fn bounds_contain_the_mean_at_every_check_and_become_narrow() {
    const ALPHA: f64 = 0.05;
    let mut missed = 0;
    let mut widths = 0.0;
    for seed in 0..300 {
        let mut chance = Numbers(seed * 7919 + 1);
        let mut tests = BlockTests::default();
        let mut outside = false;
        for number in 0..200 {
            add_block(&mut tests, number, &mut chance);
            let Some([lower, upper]) = tests.bounds(log_threshold(ALPHA)) else {
                assert_eq!(number, 0);
                continue;
            };
            outside |= lower > 0.7 || upper < 0.7;
        }
        missed += u32::from(outside);
        let [lower, upper] = tests.bounds(log_threshold(ALPHA)).expect("closed blocks");
        widths += upper - lower;
    }
    // Two bounds, each of which may miss in 5 % of all streams.
    assert!(missed <= 30, "{missed} of 300 streams were out of bounds");
    let width = widths / 300.0;
    assert!(
        width < 0.05,
        "after 200 blocks the bounds are {width} apart"
    );
}

#[test]
fn bounds_of_four_workers_hold_together() {
    const ALPHA: f64 = 0.05;
    let mut missed = 0;
    for seed in 0..100 {
        let mut chance = Numbers(seed * 6_700_417 + 5);
        let mut workers = vec![BlockTests::default(); 4];
        let mut outside = false;
        for number in 0..60 {
            // Each worker has a part of the traffic of its own size.
            for (place, worker) in workers.iter_mut().enumerate() {
                for _ in 0..=place {
                    add_block(worker, number, &mut chance);
                }
            }
            let mut merged = BlockTests::default();
            for worker in &workers {
                merged.merge(worker);
            }
            if let Some([lower, upper]) = merged.bounds(log_threshold(ALPHA / 4.0)) {
                outside |= lower > 0.7 || upper < 0.7;
            }
        }
        missed += u32::from(outside);
    }
    assert!(missed <= 10, "{missed} of 100 streams were out of bounds");
}

#[test]
fn equal_arms_rarely_differ_under_continuous_checking() {
    let mut found = [0, 0];
    for (wrong, below) in found.iter_mut().zip([1.0, 0.85]) {
        for seed in 0..200 {
            let mut chance = Numbers(seed * 104_729 + 3);
            let (mut variant, mut control) = (BucketArm::default(), BucketArm::default());
            let mut lower = false;
            for number in 1..=3000_u32 {
                let [of_variant, of_control] =
                    ["a", "b"].map(|arm| Unit::of(&format!("{seed} {arm} {}", number / 3)));
                variant.add(of_variant, chance.next() * below);
                control.add(of_control, chance.next());
                if number >= 1000 && number % 100 == 0 {
                    let it = ArmDifference::of(&variant, &control).expect("enough buckets");
                    lower |= it.log_evidence_worse(false) >= log_threshold(0.05);
                    let [low, high] = it.interval(0.05);
                    assert!(low < it.difference && it.difference < high, "{it:?}");
                }
            }
            *wrong += u32::from(lower);
        }
    }
    let [wrong, right] = found;
    assert!(
        wrong <= 10,
        "{wrong} of 200 equal pairs were found to differ"
    );
    assert_eq!(right, 200, "a difference of 0.075 is found");
}

#[test]
fn only_a_split_that_differs_from_the_declared_one_raises_an_alarm() {
    let alarm = SplitTest::threshold();
    let crossed = |seed: u64, share: f64| {
        let mut chance = Numbers(seed * 6_700_417 + 11);
        let mut counts = [0, 0];
        (1..=20_000_u32).find(|_| {
            counts[usize::from(chance.next() < share)] += 1;
            SplitTest::log_evidence_of(&counts, &[0.5, 0.5]).expect("a split") >= alarm
        })
    };
    let healthy = (0..40).filter(|seed| crossed(*seed, 0.5).is_some());
    assert_eq!(healthy.count(), 0);
    for seed in 0..10 {
        let found = crossed(seed, 0.55).expect("55 to 45 is found");
        assert!(found < 10_000, "found after {found}");
    }
}
