//! Properties that hold for any numbers.

use crate::detection::baseline::MAX_QUERIES;
use crate::detection::drop_series::QueryScores;
use crate::detection::{
    ArmDifference, Baselines, BlockTests, BucketArm, Comparison, DropSeries, NormalMixture,
    QueryBaseline, ScoreTest, Season, SeriesRules, SplitTest, Unit, log_threshold, summed,
};
use proptest::prelude::*;

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

fn dropping(steps: &[Option<f64>], mean: f64, ceiling: f64) -> ScoreTest {
    let mut test = ScoreTest::drop(ceiling);
    for step in steps {
        match step {
            Some(score) => test.add(*score, mean),
            None => test.tick(),
        }
    }
    test
}

/// Test of blocks, five minutes each. The last block stays open.
fn tests_of(blocks: &[Vec<f64>]) -> BlockTests {
    let mut tests = BlockTests::default();
    for (number, scores) in (0..).zip(blocks) {
        for score in scores {
            tests.add(number * 300_000, *score, 300_000, 0.5);
        }
    }
    if let Some(after) = i64::try_from(blocks.len()).ok().filter(|after| *after > 0) {
        tests.add(after * 300_000, 0.5, 300_000, 0.5);
    }
    tests
}

fn baselines_of(scores: &[(u32, f64, i64)]) -> Baselines<u32> {
    let mut baselines = Baselines::default();
    for (query, score, minute) in scores {
        baselines.add(query, |query| *query, (*score, *minute), 1);
    }
    baselines
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_mixture_has_the_same_bound_as_interval_and_as_evidence(
        variance in 0.0..1e6_f64, mixture in 1e-3..1e6_f64, alpha in 1e-6..1.0_f64,
    ) {
        let sum = NormalMixture::new(variance, mixture);
        let width = sum.half_width(alpha);
        let evidence = sum.log_evidence(width).expect("a mixture");
        prop_assert!((evidence - log_threshold(alpha)).abs() < 1e-6, "{evidence}");
        prop_assert!(sum.log_evidence(-width).expect("a mixture") <= 0.0);
        prop_assert_eq!(NormalMixture::new(variance, 0.0).log_evidence(width), None);
    }

    #[test]
    fn evidence_of_a_mixture_is_a_number(
        variance in any_number(), mixture in any_number(), shortfall in any_number(),
    ) {
        let evidence = NormalMixture::new(variance, mixture).log_evidence(shortfall);
        prop_assert!(evidence.is_none_or(|it| !it.is_nan()));
    }

    #[test]
    fn evidence_is_finite_for_any_number(
        m in any_number(),
        epsilon in any_number(),
        steps in prop::collection::vec((any_number(), any_number(), any::<bool>()), 0..60),
        ceiling in any_number(),
    ) {
        for mean in [m, ScoreTest::mean_after_drop(epsilon)] {
            let mut target = ScoreTest::target();
            let mut drop = ScoreTest::drop(f64::INFINITY);
            let mut limited = ScoreTest::drop(ceiling);
            for (score, baseline, tick) in &steps {
                let difference = ScoreTest::against_baseline(*score, *baseline);
                for test in [&mut target, &mut drop, &mut limited] {
                    test.add(*score, mean);
                    test.add(difference, mean);
                    if *tick {
                        test.tick();
                    }
                }
                prop_assert!(target.log_evidence().is_finite());
                prop_assert!(drop.log_evidence().is_finite());
                prop_assert!(!limited.log_evidence().is_nan());
            }
        }
    }

    #[test]
    fn bounds_and_evidence_of_blocks_are_finite_for_any_number(
        scores in prop::collection::vec((any::<i64>(), any_number()), 0..200),
        length in any::<i64>(),
        pivot in any_number(),
        m in any_number(),
        threshold in any_number(),
    ) {
        let mut tests = BlockTests::default();
        for (ts, score) in &scores {
            tests.add(*ts, *score, length, pivot);
        }
        prop_assert!(tests.log_mean(m, 3).is_finite());
        if let Some(bounds) = tests.bounds(threshold) {
            for bound in bounds {
                prop_assert!((0.0..=1.0).contains(&bound), "{bounds:?}");
            }
        }
    }

    #[test]
    fn baselines_are_means_for_any_number(
        scores in prop::collection::vec((0..4_u32, any_number(), any::<i64>()), 0..200),
        window in 0..3_i64,
    ) {
        let mut baselines: Baselines<u32> = Baselines::default();
        for (query, score, minute) in &scores {
            if let Some(it) = baselines.add(query, |query| *query, (*score, *minute), window) {
                let baseline = it.comparison.baseline.mean;
                prop_assert!((0.0..=1.0).contains(&baseline), "{baseline}");
            }
        }
        if let Some(mean) = baselines.mean() {
            prop_assert!((0.0..=1.0).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn differences_and_splits_are_never_nan(
        values in prop::collection::vec(any_number(), 0..300),
        counts in prop::collection::vec(0..2_000_000_u64, 0..5),
        shares in prop::collection::vec(any_number(), 0..5),
        alpha in any_number(),
    ) {
        let mut arm = BucketArm::default();
        for (number, value) in values.iter().enumerate() {
            arm.add(Unit::of(&number.to_string()), *value);
        }
        if let Some(found) = ArmDifference::of(&arm, &arm.clone()) {
            #[allow(clippy::manual_clamp, reason = "no number becomes the lowest level")]
            let level = alpha.max(1e-9).min(0.5);
            let [low, high] = found.interval(level);
            prop_assert!(low.is_finite() && high.is_finite() && low <= high, "{found:?}");
            prop_assert!(!found.log_evidence().is_nan());
        }
        if let Some(evidence) = SplitTest::log_evidence_of(&counts, &shares) {
            prop_assert!(!evidence.is_nan());
        }
    }

    #[test]
    fn a_tick_adds_one_and_the_ceiling_limits_evidence(
        steps in prop::collection::vec(step(), 0..60),
        mean in score(),
        ceiling in 0.0..20.0_f64,
    ) {
        let before = dropping(&steps, mean, f64::INFINITY);
        let mut after = before.clone();
        after.tick();
        prop_assert!(near(after.log_evidence(), summed(&[before.log_evidence(), 0.0])));
        let limited = dropping(&steps, mean, ceiling);
        prop_assert!(limited.log_evidence() <= ceiling + 1e-12);
    }

    #[test]
    fn bounds_contain_the_observed_mean_and_widen_with_confidence(
        blocks in prop::collection::vec(prop::collection::vec(score(), 30..60), 1..20),
    ) {
        let tests = tests_of(&blocks);
        let scores: Vec<f64> = blocks.concat();
        let count = f64::from(u32::try_from(scores.len()).expect("few"));
        let mean = scores.iter().sum::<f64>() / count;
        let bounds = |alpha| tests.bounds(log_threshold(alpha)).expect("closed blocks");
        let ([lower, upper], [lowest, highest]) = (bounds(0.05), bounds(0.001));
        prop_assert!(lower <= mean + 1e-9 && mean <= upper + 1e-9, "{lower} {mean} {upper}");
        prop_assert!(lowest <= lower + 1e-12 && upper <= highest + 1e-12);
        // A bound is the mean at which the test rejects.
        if upper < 1.0 {
            let threshold = log_threshold(0.05);
            prop_assert!((tests.log_sum(upper) - threshold).abs() < 1e-6);
        }
    }

    #[test]
    fn evidence_of_a_target_is_the_mean_e_value_of_the_workers(
        one in prop::collection::vec(prop::collection::vec(score(), 30..40), 0..8),
        other in prop::collection::vec(prop::collection::vec(score(), 30..40), 0..8),
        m in score(),
        idle in 0..3_u64,
    ) {
        let (one, other) = (tests_of(&one), tests_of(&other));
        let mut merged = one.clone();
        merged.merge(&other);
        let parts = one.parts() + other.parts();
        let workers = u64::try_from(parts).expect("few") + idle;
        let e_value = |tests: &BlockTests| {
            if tests.parts() == 0 { 0.0 } else { tests.log_sum(m).exp() }
        };
        let sum = e_value(&one) + e_value(&other) + f64::from(u32::try_from(idle).expect("few"));
        let expected = if workers == 0 { 0.0 } else { (sum / f64::from(u32::try_from(workers).expect("few"))).ln() };
        prop_assert!(near(merged.log_mean(m, workers), expected), "{} {expected}", merged.log_mean(m, workers));
    }

    #[test]
    fn tests_of_blocks_merge_in_any_order(
        parts in prop::collection::vec(prop::collection::vec(prop::collection::vec(score(), 30..35), 0..4), 3),
    ) {
        let parts: Vec<BlockTests> = parts.iter().map(|blocks| tests_of(blocks)).collect();
        let merged = |order: [usize; 3]| {
            let mut all = BlockTests::default();
            for place in order {
                all.merge(&parts[place]);
            }
            all
        };
        let first = merged([0, 1, 2]);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            prop_assert_eq!(&merged(order), &first);
        }
        let mut last_two = parts[1].clone();
        last_two.merge(&parts[2]);
        let mut grouped = parts[0].clone();
        grouped.merge(&last_two);
        prop_assert_eq!(&grouped, &first);
    }

    #[test]
    fn baselines_merge_in_any_order(
        parts in prop::collection::vec(prop::collection::vec((0..5_u32, score(), 0..50_i64), 0..40), 3),
    ) {
        let parts: Vec<Baselines<u32>> = parts.iter().map(|scores| baselines_of(scores)).collect();
        let merged = |order: [usize; 3]| {
            let mut all = Baselines::default();
            for place in order {
                all.merge(&parts[place]);
            }
            all
        };
        let first = merged([0, 1, 2]);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            prop_assert_eq!(&merged(order), &first);
        }
        let scores: u64 = parts.iter().map(Baselines::scores).sum();
        prop_assert_eq!(first.scores(), scores);
        prop_assert_eq!(first.number(), u64::try_from(first.len()).expect("few queries"));
    }

    #[test]
    fn states_round_trip_through_a_checkpoint(
        scores in prop::collection::vec(score(), 0..40),
    ) {
        fn again<T: serde::Serialize + serde::de::DeserializeOwned>(state: &T) -> T {
            let bytes = postcard::to_stdvec(state).expect("a state can be written");
            postcard::from_bytes(&bytes).expect("a state can be read")
        }
        let mut tests = BlockTests::default();
        let mut drop = DropSeries::default();
        let rules = rules();
        let mut baselines: Baselines<Box<str>> = Baselines::default();
        for (minute, score) in (0..).zip(&scores) {
            tests.add(minute * 60_000, *score, 300_000, 0.5);
            let key = |query: &str| query.into();
            drop.advance(minute, &rules);
            if let Some(mut compared) = baselines.add("질의", key, (*score, minute), 1) {
                let Comparison { baseline, own, .. } = compared.comparison;
                drop.compare(*score, Some(baseline), &rules);
                if let Some(own) = own {
                    drop.compare_locally(*score, own, compared.bets(), &rules);
                }
            }
        }
        prop_assert_eq!(&again(&tests), &tests);
        prop_assert_eq!(&again(&drop), &drop);
        prop_assert_eq!(&again(&baselines), &baselines);
        let mut arm = BucketArm::default();
        for (number, score) in scores.iter().enumerate() {
            arm.add(Unit::of(&number.to_string()), *score);
        }
        prop_assert_eq!(again(&arm), arm.clone());
    }
}

#[test]
fn the_number_of_baselines_is_limited_and_the_oldest_are_removed() {
    // The documented memory of a query is based on this size.
    assert_eq!(size_of::<QueryBaseline>(), 96);
    let mut baselines: Baselines<u32> = Baselines::default();
    let queries = u32::try_from(MAX_QUERIES).expect("a small number") + 1;
    for query in 0..queries {
        let minute = (0.5, i64::from(query));
        assert!(baselines.add(&query, |it| *it, minute, 1).is_none());
    }
    let kept = u64::try_from(MAX_QUERIES - MAX_QUERIES / 4 + 1).expect("a number");
    assert_eq!((baselines.number(), baselines.scores()), (kept, kept));
    assert_eq!(baselines.mean(), Some(0.5));
    let later = (0.25, 1_000_000);
    let removed = baselines.add(&0, |it| *it, later, 1);
    assert!(removed.is_none());
    let newest = queries - 1;
    let compared = baselines.add(&newest, |it| *it, later, 1);
    assert_eq!(compared.map(|it| it.comparison.baseline.mean), Some(0.5));
}

/// Rules of a drop test.
fn rules() -> SeriesRules {
    SeriesRules {
        threshold: 17.0,
        tolerance: 0.01,
        warm_up_tolerance: 0.02,
        repeat_window: 1,
        has_local: true,
        is_seasonal: false,
        alarmed: None,
    }
}

/// Highest evidence of a seasonal test over a number of days: a session every minute, of which every second one has
/// a gold query. Sessions succeed with the probability `success`, by the day.
fn evidence_of_sessions(days: i64, success: impl Fn(i64) -> u64) -> f64 {
    let rules = SeriesRules {
        is_seasonal: true,
        ..rules()
    };
    let mut queries = [QueryScores::default(); 40];
    let mut test = DropSeries::default();
    let mut random = 1_u64;
    let mut highest = f64::NEG_INFINITY;
    for minute in 0..days * 1_440 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let [place, chance] =
            [random >> 40, random >> 50].map(|it| usize::try_from(it).expect("small"));
        let is_success = chance % 100 < usize::try_from(success(minute / 1_440)).expect("small");
        let query = if minute % 2 == 0 {
            queries.get_mut(place % 40)
        } else {
            None
        };
        test.add(
            minute * 60_000,
            query,
            f64::from(u8::from(is_success)),
            &rules,
        );
        highest = highest.max(test.log_evidence());
    }
    highest
}

#[test]
fn sessions_with_and_without_a_gold_query_are_expected_to_differ() {
    let healthy = evidence_of_sessions(20, |_| 60);
    assert!(healthy < rules().threshold, "{healthy}");
    let dropped = evidence_of_sessions(20, |day| if day < 16 { 60 } else { 40 });
    assert!(dropped >= rules().threshold, "{dropped}");
}

#[test]
fn a_season_learns_one_week_of_an_incident_at_most() {
    let rules = SeriesRules {
        is_seasonal: true,
        ..rules()
    };
    let day = 1_440;
    let mut test = DropSeries::default();
    let mut expected_after = |days: std::ops::Range<i64>, score: f64, alarmed: Option<i64>| {
        let rules = SeriesRules { alarmed, ..rules };
        for minute in days.start * day..days.end * day {
            test.add(minute * 60_000, None, score, &rules);
        }
        let season = test.season().expect("a season");
        season.expected_score(days.end * day, 0.0, false)
    };
    let alarmed = Some(14 * day);
    let after_one_week = (0.75 * 2.0 + 0.25) / 3.0;
    assert!((expected_after(0..14, 0.75, None) - 0.75).abs() < 1e-9);
    assert!((expected_after(14..21, 0.25, alarmed) - after_one_week).abs() < 1e-9);
    assert!((expected_after(21..35, 0.25, alarmed) - after_one_week).abs() < 1e-9);
    // A season that began with a reset during the incident learns.
    assert!(expected_after(35..42, 0.25, Some(0)) < after_one_week - 0.05);
}

#[test]
fn a_season_before_a_drop_contains_no_search_of_it() {
    let rules = SeriesRules {
        is_seasonal: true,
        ..rules()
    };
    let day = 1_440;
    let add = |test: &mut DropSeries, days: std::ops::Range<i64>, score: f64| {
        for minute in days.start * day..days.end * day {
            test.add(minute * 60_000, None, score, &rules);
        }
    };
    let mut test = DropSeries::default();
    add(&mut test, 0..14, 0.75);
    test.clear_recent();
    let known = test.season().cloned().expect("a season");
    add(&mut test, 14..17, 0.25);
    let season = test.season().expect("a season");
    assert_eq!(season.before(14 * day), known);
    // With a later beginning, the first day is learned.
    let expected = |season: &Season| season.expected_score(21 * day, 0.0, false);
    let learned = (0.75 * 2.0 + 0.25) / 3.0;
    assert!((expected(&known) - 0.75).abs() < 1e-9);
    assert!((expected(&season.before(15 * day)) - learned).abs() < 1e-9);
    // The hours of a week are kept at most.
    add(&mut test, 17..35, 0.25);
    let season = test.season().expect("a season");
    assert!(season.bytes() < 5 * known.bytes());
    assert!(expected(&season.before(14 * day)) < 0.75 - 0.05);
}

#[test]
fn a_late_score_does_not_reopen_a_block_or_a_minute() {
    let mut tests = BlockTests::default();
    let add = |tests: &mut BlockTests, ts| tests.add(ts, 0.5, 300_000, 0.5);
    for place in 0..30 {
        assert!(!add(&mut tests, place));
    }
    assert!(add(&mut tests, 300_000));
    // Late: they count in the open block, which then has enough searches.
    for place in 0..29 {
        assert!(!add(&mut tests, place));
    }
    assert!(add(&mut tests, 600_000));

    let minute = |minute: i64| minute * 60_000;
    let rules = rules();
    let mut test = DropSeries::default();
    let [mut query, mut other] = [QueryScores::default(); 2];
    assert!(!test.add(minute(0), Some(&mut query), 0.5, &rules));
    assert!(test.add(minute(10), Some(&mut query), 0.5, &rules));
    let before = test.log_evidence();
    // Late: a repeat, and a first search. Neither is compared.
    assert!(!test.add(minute(3), Some(&mut query), 0.0, &rules));
    assert!(!test.add(minute(3), Some(&mut other), 0.0, &rules));
    assert!(near(test.log_evidence(), before));
}

#[test]
fn arms_with_few_buckets_have_no_difference() {
    let arm = |from: u32, to: u32| {
        let mut arm = BucketArm::default();
        for number in from..to {
            arm.add(Unit::of(&number.to_string()), f64::from(number % 2));
        }
        arm
    };
    assert!(ArmDifference::of(&arm(0, 90), &arm(0, 1000)).is_none());
    assert!(ArmDifference::of(&arm(0, 300), &arm(0, 1000)).is_some());
    let (mut merged, other) = (arm(0, 100), arm(100, 400));
    merged.merge(&other);
    assert_eq!(merged, arm(0, 400));
}

#[test]
fn the_factor_of_searches_to_decide_is_the_one_that_excludes_0() {
    let found = ArmDifference {
        difference: 0.01,
        variance: 1e-4,
    };
    let factor = found.factor_to_decide(0.001).expect("not decided");
    let with = |factor: f64| ArmDifference {
        variance: found.variance / factor,
        ..found
    };
    assert!(with(factor * 1.01).interval(0.001)[0] > 0.0);
    assert!(with(factor * 0.99).interval(0.001)[0] < 0.0);
    assert_eq!(with(factor * 1.01).factor_to_decide(0.001), None);
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
        assert_eq!(
            SplitTest::log_evidence_of(&[3, 4], shares),
            None,
            "{shares:?}"
        );
    }
    assert_eq!(
        SplitTest::log_evidence_of(&[3, 4], &[1.0, 0.0]),
        Some(f64::INFINITY)
    );
    assert_eq!(SplitTest::log_evidence_of(&[3, 0], &[1.0, 0.0]), Some(0.0));
}
