//! Statistics of a comparison against the numbers of scipy and against properties that hold for any
//! scores.
//!
//! The constants are the output of scipy 1.17.1, from the code in the comment above each test; `a`
//! and `b` are the scores given here.

use proptest::prelude::*;
use rankgauge_core::number::{real, real_length};
use rankgauge_core::statistics::{
    AllPairs, ListChange, Lists, Paired, Sample, Settings, Shrunken, holm, kappa,
};

/// Tolerance for another implementation of the same formula.
const PRECISION: f64 = 1e-9;

fn close(found: Option<f64>, expected: f64, precision: f64) {
    let found = found.expect("a defined number");
    assert!(
        (found - expected).abs() <= precision,
        "{found} is not {expected}"
    );
}

fn close_ends(found: Option<[f64; 2]>, expected: [f64; 2], precision: f64) {
    let found = found.expect("a defined interval");
    close(Some(found[0]), expected[0], precision);
    close(Some(found[1]), expected[1], precision);
}

fn few(permutations: u32, bootstraps: u32) -> Settings {
    Settings {
        seed: 1,
        permutations,
        bootstraps,
    }
}

fn negated(interval: Option<[f64; 2]>) -> Option<[f64; 2]> {
    interval.map(|[low, high]| [-high, -low])
}

fn twelve() -> Vec<(f64, f64)> {
    let a = [
        0.42, 0.31, 0.77, 0.05, 0.6, 0.58, 0.91, 0.24, 0.36, 0.5, 0.13, 0.68,
    ];
    let b = [
        0.47, 0.29, 0.84, 0.21, 0.63, 0.55, 0.93, 0.4, 0.35, 0.61, 0.13, 0.79,
    ];
    a.into_iter().zip(b).collect()
}

/// `i = np.arange(1, n + 1); a = ((i*37)%101)/101; b = ((i*53)%97)/97*0.5 + a*0.5 + 0.02`
fn formula(n: u32) -> Vec<(f64, f64)> {
    let pair = |i: u32| {
        let a = f64::from((i * 37) % 101) / 101.0;
        (a, f64::from((i * 53) % 97) / 97.0 * 0.5 + a * 0.5 + 0.02)
    };
    (1..=n).map(pair).collect()
}

// d = b - a; r = scipy.stats.ttest_rel(b, a); r.confidence_interval(0.95)
// d.mean()/d.std(ddof=1); d.mean()/((a.std(ddof=1)+b.std(ddof=1))/2)
// scipy.stats.permutation_test((b, a), lambda x, y, axis: np.mean(x-y, axis=axis),
//     permutation_type='samples', vectorized=True, n_resamples=np.inf)
// scipy.stats.bootstrap((d,), np.mean, method='BCa', n_resamples=1_000_000,
//     rng=np.random.default_rng(1))
#[test]
fn statistics_of_twelve_queries_match_scipy() {
    let found = Paired::of(&twelve(), &few(1000, 1_000_000));
    assert_eq!(found.n, 12);
    close(found.a, 0.462_499_999_999_999_97, PRECISION);
    close(found.b, 0.516_666_666_666_666_7, PRECISION);
    close(found.difference, 0.054_166_666_666_666_67, PRECISION);
    close(found.t, 2.775_051_594_197_065_7, PRECISION);
    close(found.p, 0.018_063_065_097_598_87, PRECISION);
    let ci95 = [0.011_205_292_631_579_968, 0.097_128_040_701_753_38];
    close_ends(found.ci95, ci95, PRECISION);
    close(found.d_z, 0.801_088_392_462_388, PRECISION);
    close(found.d_av, 0.210_761_548_479_017_3, PRECISION);
    close(found.p_permutation, 92.0 / 4096.0, 1e-12);
    // The random draws differ from scipy's; a million resamples leave an error of that order.
    let bca95 = [0.020_833_333_333_333_325, 0.093_333_333_333_333_34];
    close_ends(found.bca95, bca95, 5e-4);
}

// The same code as above.
#[test]
fn statistics_of_forty_queries_match_scipy() {
    let found = Paired::of(&formula(40), &few(100_000, 1_000_000));
    close(found.t, 0.100_475_169_077_086_27, PRECISION);
    close(found.p, 0.920_481_845_422_812_2, PRECISION);
    let ci95 = [-0.058_636_690_920_028_08, 0.064_766_628_656_069_72];
    close_ends(found.ci95, ci95, PRECISION);
    close(found.d_z, 0.015_886_519_128_705_53, PRECISION);
    close(found.d_av, 0.012_322_285_505_234_471, PRECISION);
    let bca95 = [-0.056_180_208_227_008_27, 0.061_790_854_343_166_265];
    close_ends(found.bca95, bca95, 5e-4);
    // The permutation test approaches the t-test as queries grow.
    close(found.p_permutation, 0.920_481_845_422_812_2, 0.01);
}

// r = scipy.stats.ttest_rel([0.3, 0.9], [0.2, 0.5]); r.confidence_interval(0.95)
// i = np.arange(1, 1001); a = ((i*37)%101)/101; b = a + ((i*53)%97)/97 - 0.47
#[test]
fn statistics_with_1_and_999_degrees_of_freedom_match_scipy() {
    let found = Paired::of(&[(0.2, 0.3), (0.5, 0.9)], &few(100, 100));
    close(found.t, 1.666_666_666_666_666_5, PRECISION);
    close(found.p, 0.344_041_739_245_261_44, PRECISION);
    let ci95 = [-1.655_930_710_426_204_4, 2.155_930_710_426_204_7];
    close_ends(found.ci95, ci95, PRECISION);

    let pair = |i: u32| {
        let a = f64::from((i * 37) % 101) / 101.0;
        (a, a + f64::from((i * 53) % 97) / 97.0 - 0.47)
    };
    let found = Paired::of(&(1..=1000).map(pair).collect::<Vec<_>>(), &few(100, 100));
    close(found.t, 2.638_371_546_296_51, PRECISION);
    close(found.p, 0.008_460_092_629_413_52, PRECISION);
    let ci95 = [0.006_168_012_137_261_532_5, 0.041_976_317_759_645_72];
    close_ends(found.ci95, ci95, PRECISION);
}

// sklearn.metrics.cohen_kappa_score([0]*20+[0]*5+[1]*10+[1]*15, [0]*20+[1]*5+[0]*10+[1]*15)
#[test]
fn kappa_of_two_by_two_is_scikit_learns() {
    let items = [
        (false, false, 20),
        (false, true, 5),
        (true, false, 10),
        (true, true, 15),
    ];
    close(kappa(items), 0.4, PRECISION);
    // A pair of ratings may come in parts.
    let parts = items.into_iter().chain([(true, true, 0)]);
    assert_eq!(kappa(parts), kappa(items));
}

#[test]
fn kappa_needs_items_and_two_ratings() {
    assert_eq!(kappa([] as [(u8, u8, u64); 0]), None);
    assert_eq!(kappa([(1, 2, 0)]), None);
    assert_eq!(kappa([(2, 2, 7)]), None);
    close(kappa([(1, 2, 7)]), 0.0, PRECISION);
}

/// Adjusted p-values of tests at the level 0.05.
fn adjusted(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let corrected = holm(p, 0.05).into_iter();
    corrected.map(|it| it.map(|(p, _)| p)).collect()
}

#[test]
fn holm_correction_steps_down_and_is_monotone() {
    let adjusted = adjusted(&[Some(0.01), Some(0.04), Some(0.03), Some(0.005)]);
    let expected = [0.03, 0.06, 0.06, 0.02];
    for (found, expected) in adjusted.into_iter().zip(expected) {
        close(found, expected, 1e-15);
    }
}

#[test]
fn holm_correction_ignores_undefined_p_values() {
    let adjusted = adjusted(&[None, Some(0.03), None, Some(0.6)]);
    assert_eq!(adjusted[0], None);
    close(adjusted[1], 0.06, 1e-15);
    close(adjusted[3], 0.6, 1e-15);
    assert_eq!(holm(&[], 0.05), []);
}

#[test]
fn identical_scores_are_reported_as_identical() {
    for n in [1_usize, 2, 20, 21, 300] {
        let scores: Vec<(f64, f64)> = vec![(0.3, 0.3); n];
        let found = Paired::of(&scores, &few(1000, 1000));
        let expected = Paired {
            n,
            a: found.a,
            b: found.a,
            difference: Some(0.0),
            t: Some(0.0),
            p: Some(1.0),
            p_permutation: Some(1.0),
            d_z: Some(0.0),
            d_av: Some(0.0),
            ci95: Some([0.0, 0.0]),
            bca95: Some([0.0, 0.0]),
            skewness: None,
        };
        assert_eq!(found, expected);
        assert!(found.identical());
        close(found.a, 0.3, 1e-12);
    }
}

#[test]
fn statistics_are_undefined_without_queries() {
    let found = Paired::of(&[], &Settings::default());
    assert_eq!(found, Paired::default());
    assert!(!found.identical());
}

#[test]
fn one_query_has_a_difference_and_no_test() {
    let found = Paired::of(&[(0.25, 0.75)], &few(1000, 1000));
    close(found.difference, 0.5, 0.0);
    close(found.p_permutation, 1.0, 0.0);
    let undefined = [found.t, found.p, found.d_z, found.d_av];
    assert_eq!(undefined, [None; 4]);
    assert_eq!((found.ci95, found.bca95), (None, None));
}

#[test]
fn a_constant_difference_has_no_t_test_and_the_exact_permutation_test_decides() {
    // Differences of 0.1, each with its own rounding error.
    let scores = [(0.1, 0.2), (0.2, 0.3), (0.3, 0.4), (0.7, 0.8)];
    let found = Paired::of(&scores, &few(1000, 1000));
    assert_eq!((found.t, found.p, found.d_z), (None, None, None));
    close(found.p_permutation, 2.0 / 16.0, 1e-12);
    assert_eq!(found.deciding_p(), found.p_permutation);
    close(found.d_av, 0.1 / 0.262_995_563_967_658_33, PRECISION);
    close_ends(found.ci95, [0.1, 0.1], 1e-12);
    close_ends(found.bca95, [0.1, 0.1], 1e-12);
}

#[test]
fn the_permutation_test_of_a_constant_difference_is_exact_for_any_number_of_queries() {
    let p = |n: usize| Paired::of(&vec![(0.25, 0.75); n], &few(1, 1)).deciding_p();
    close(p(6), 2.0 / 64.0, 1e-15);
    close(p(40), 2.0 * 0.5_f64.powi(40), 1e-20);
    assert!(p(5000).is_some_and(|p| p > 0.0 && p < 1e-300));
}

#[test]
fn pairs_of_systems_that_differ_by_rounding_only_have_no_variance() {
    let scores: Vec<Vec<f64>> = (1..=8_u32)
        .map(|query| {
            let score = f64::from(query) / 10.0;
            vec![score, score + 0.1, score + 0.3]
        })
        .collect();
    let found = AllPairs::of(&scores, &few(100, 1)).expect("three systems");
    assert!(
        found.pairs.iter().all(|pair| pair.p_tukey.is_none()),
        "{found:?}"
    );
}

#[test]
fn permutation_sums_equal_up_to_rounding_count_as_extreme() {
    // 0.1 + 0.2 - 0.3 is not 0 in binary; of the 8 patterns, all are at least as far from 0.
    let scores = [(0.0, 0.1), (0.0, 0.2), (0.3, 0.0)];
    close(Paired::of(&scores, &few(100, 100)).p_permutation, 1.0, 0.0);
    // One sign per query and its reverse, in any order of summation.
    let scores: Vec<(f64, f64)> = (1..=12).map(|i| (0.0, f64::from(i) / 10.0)).collect();
    close(
        Paired::of(&scores, &few(100, 100)).p_permutation,
        2.0 / 4096.0,
        1e-15,
    );
}

#[test]
fn queries_without_a_difference_leave_the_permutation_test_exact() {
    let mut scores = twelve();
    let alone = Paired::of(&scores, &few(1000, 100)).p_permutation;
    scores.extend(vec![(0.5, 0.5); 500]);
    let found = Paired::of(&scores, &few(1000, 100)).p_permutation;
    assert_eq!(found, alone);
}

#[test]
fn sampled_permutations_agree_with_exact_ones() {
    // Twenty differences are enumerated exactly; with a 21st too small to matter they are sampled.
    let mut scores = formula(20);
    for (a, b) in &mut scores {
        *b += 0.04;
        *a -= 0.04;
    }
    let exact = Paired::of(&scores, &few(100, 100))
        .p_permutation
        .expect("a p");
    scores.push((0.5, 0.5 + 1e-9));
    let drawn = Paired::of(&scores, &few(1_000_000, 100));
    // Three standard errors of a million random permutations.
    close(drawn.p_permutation, exact, 0.0015);
}

#[test]
fn sampled_permutations_never_give_a_p_value_of_zero() {
    let scores: Vec<(f64, f64)> = (0..100).map(|i| (0.0, 1.0 + f64::from(i))).collect();
    let found = Paired::of(&scores, &few(999, 100));
    close(found.p_permutation, 1.0 / 1000.0, 1e-15);
}

#[test]
fn the_seed_determines_the_random_samples() {
    let with = |seed| {
        Paired::of(
            &formula(60),
            &Settings {
                seed,
                permutations: 1000,
                bootstraps: 1000,
            },
        )
    };
    assert_eq!(with(1), with(1));
    assert_ne!(with(1).bca95, with(2).bca95);
    assert_ne!(with(1).p_permutation, with(2).p_permutation);
}

#[test]
fn extreme_scores_give_finite_statistics() {
    let huge = f64::MAX;
    let tiny = f64::MIN_POSITIVE;
    let awkward: [&[(f64, f64)]; 6] = [
        &[(huge, -huge), (-huge, huge), (huge, 0.0)],
        &[(0.0, huge), (0.0, huge)],
        &[(0.0, tiny), (tiny, 0.0), (0.0, 2.0 * tiny)],
        &[(0.0, huge), (0.0, tiny), (0.0, 1.0)],
        &[(1e200, 3e200), (1e200, 2e200), (0.0, 5e199)],
        &[(0.0, 0.0), (0.0, 1e-300)],
    ];
    for scores in awkward {
        let found = Paired::of(scores, &few(100, 100));
        let numbers = [
            found.a,
            found.b,
            found.difference,
            found.t,
            found.p,
            found.p_permutation,
            found.d_z,
            found.d_av,
        ];
        let ends = [found.ci95, found.bca95].into_iter().flatten().flatten();
        for number in numbers.into_iter().flatten().chain(ends) {
            assert!(number.is_finite(), "{scores:?}: {found:?}");
        }
    }
}

fn scores() -> impl Strategy<Value = Vec<(f64, f64)>> {
    // Scores as measures give them: few values, so that ties are frequent, or any.
    let coarse = (0_u32..=5, 0_u32..=5).prop_map(|(a, b)| (f64::from(a) / 5.0, f64::from(b) / 5.0));
    let fine = (0.0..1.0_f64, 0.0..1.0_f64);
    prop_oneof![
        prop::collection::vec(coarse, 2..40),
        prop::collection::vec(fine, 2..40)
    ]
}

fn near(one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * (1.0 + one.abs()),
        (one, other) => one.is_none() && other.is_none(),
    }
}

fn ends_near(one: Option<[f64; 2]>, other: Option<[f64; 2]>) -> bool {
    (0..2).all(|end| near(one.map(|it| it[end]), other.map(|it| it[end])))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn swapping_the_runs_negates_differences_and_keeps_p(scores in scores()) {
        let swapped: Vec<(f64, f64)> = scores.iter().map(|(a, b)| (*b, *a)).collect();
        let (one, other) = (Paired::of(&scores, &few(500, 500)), Paired::of(&swapped, &few(500, 500)));
        let minus = |number: Option<f64>| number.map(|number| -number);
        prop_assert!(near(one.a, other.b) && near(one.b, other.a));
        prop_assert!(near(one.difference, minus(other.difference)));
        prop_assert!(near(one.t, minus(other.t)) && near(one.p, other.p));
        prop_assert!(near(one.d_z, minus(other.d_z)) && near(one.d_av, minus(other.d_av)));
        prop_assert_eq!(one.p_permutation, other.p_permutation);
        prop_assert!(ends_near(one.ci95, negated(other.ci95)));
        prop_assert!(ends_near(one.bca95, negated(other.bca95)), "{:?} {:?}", one, other);
    }

    #[test]
    fn exact_permutation_p_value_counts_sign_patterns(
        scores in scores().prop_map(|mut scores| { scores.truncate(14); scores }),
    ) {
        let found = Paired::of(&scores, &few(1, 100)).p_permutation.expect("a p");
        let n = u32::try_from(scores.len()).expect("a small number");
        let patterns = found * f64::from(2_u32.pow(n));
        prop_assert!((patterns - patterns.round()).abs() < 1e-9, "{patterns}");
        // The observed pattern and its reverse are among them.
        prop_assert!(patterns > 1.5);
        prop_assert!(found <= 1.0);
    }

    #[test]
    fn holm_never_lowers_or_reorders_p_values(p in prop::collection::vec(0.0..=1.0_f64, 1..30)) {
        let given: Vec<Option<f64>> = p.iter().copied().map(Some).collect();
        let adjusted: Vec<f64> = adjusted(&given).into_iter().flatten().collect();
        prop_assert_eq!(adjusted.len(), p.len());
        let mut order: Vec<usize> = (0..p.len()).collect();
        order.sort_by(|one, other| p[*one].total_cmp(&p[*other]));
        for (one, other) in p.iter().zip(&adjusted) {
            prop_assert!(one <= other && *other <= 1.0);
        }
        for neighbours in order.windows(2) {
            prop_assert!(adjusted[neighbours[0]] <= adjusted[neighbours[1]]);
        }
    }

    #[test]
    fn confidence_intervals_contain_their_estimate(scores in scores()) {
        let found = Paired::of(&scores, &few(100, 1000));
        if let (Some(difference), Some([low, high])) = (found.difference, found.ci95) {
            prop_assert!(low <= difference && difference <= high);
        }
        if let Some([low, high]) = found.bca95 {
            prop_assert!(low <= high);
        }
    }
}

/// Uniform numbers from a seed (SplitMix64).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    real((mixed ^ (mixed >> 31)) >> 11) / real(1 << 53)
}

fn sample(scores: &[f64]) -> Sample {
    let count = real_length(scores.len());
    let mean = scores.iter().sum::<f64>() / count;
    Sample {
        count: scores.len() as u64,
        mean,
        squares: scores.iter().map(|score| (score - mean).powi(2)).sum(),
    }
}

/// Scores of queries before and now. Each query has a mean of its own, and loses `loss` if its number is
/// below `regressed`.
fn queries(seed: u64, count: usize, regressed: usize, loss: f64) -> Vec<(Sample, Sample)> {
    let mut state = seed;
    let mut draw = |centre: f64, number: usize| -> Sample {
        let scores: Vec<f64> = (0..number)
            .map(|_| (centre + 0.3 * (uniform(&mut state) - 0.5)).clamp(0.0, 1.0))
            .collect();
        sample(&scores)
    };
    let of_query = |query: usize| {
        let centre = 0.5 + 0.4 * (real_length(query % 10) / 10.0);
        let now = centre - if query < regressed { loss } else { 0.0 };
        (draw(centre, 10), draw(now, 5 + query % 15))
    };
    (0..count).map(of_query).collect()
}

#[test]
fn noise_alone_shows_no_change_of_any_query() {
    for seed in 0..300 {
        for count in [20, 200] {
            let found = Shrunken::changes(&queries(seed, count, 0, 0.0));
            let shown = found.iter().flatten().filter(|it| {
                let [lower, upper] = it.interval;
                lower > 0.0 || upper < 0.0
            });
            assert_eq!(shown.count(), 0, "seed {seed}, {count} queries");
        }
    }
}

#[test]
fn a_loss_of_some_queries_is_shown_for_these_alone() {
    let (mut hits, mut false_alarms) = (0, 0);
    for seed in 0..50 {
        let found = Shrunken::changes(&queries(seed, 200, 20, 0.4));
        for (query, of) in found.iter().enumerate() {
            let of = of.expect("an estimate");
            if of.interval[1] < 0.0 {
                hits += usize::from(query < 20);
                false_alarms += usize::from(query >= 20);
            }
        }
    }
    assert!(hits >= 950, "{hits} of 1000");
    assert!(false_alarms <= 20, "{false_alarms} of 9000");
}

#[test]
fn few_observations_shrink_more_and_none_have_no_estimate() {
    let exact = |count, mean| Sample {
        count,
        mean,
        squares: 0.01 * real(count),
    };
    let found = Shrunken::means(&[
        (exact(1, 0.0), exact(1, 0.0)),
        (exact(100, 0.0), exact(100, 0.0)),
        (exact(100, 1.0), exact(100, 1.0)),
        (Sample::default(), Sample::default()),
    ]);
    let of = |place: usize| found[place].expect("an estimate");
    assert!(of(0).estimate > of(1).estimate + 0.001);
    assert!(of(0).interval[1] > of(1).interval[1] + 0.1);
    assert_eq!(found[3], None);
    // Without any repeated observation, nothing is known about the noise.
    let single = (exact(1, 0.5), exact(1, 0.5));
    assert_eq!(Shrunken::means(&[single, single]), [None, None]);
}

/// Reference values: `rbo_ext` of the reference implementation of the specification.
#[test]
fn rank_biased_overlap_and_list_change_are_those_of_the_reference() {
    let list = |text: &'static str| text.as_bytes();
    for (one, other, expected) in [
        ("abcde", "bacfd", 0.750_555),
        ("abc", "abdce", 0.879_445),
        ("abdce", "abc", 0.879_445),
        ("", "", 1.0),
        ("a", "", 0.0),
        ("abc", "abc", 1.0),
        ("abc", "def", 0.0),
    ] {
        let lists = Lists {
            before: [list(one); 2],
            after: [list(other); 2],
        };
        close(Some(lists.rbo()), expected, PRECISION);
    }

    let lists = [
        (["abcde", "abced"], ["acbxe", "acbex"]),
        (["abcde", "abcde"], ["abcde", "abced"]),
        (["abcde", "abcde"], ["acbxe", "acbxe"]),
    ];
    let lists = lists.map(|(before, after)| Lists {
        before: before.map(list),
        after: after.map(list),
    });
    let change = ListChange::of(lists).expect("queries");
    close(Some(change.churn.mean), 0.120_517_5, PRECISION);
    close(
        Some(change.churn.standard_error),
        0.065_028_174_230_482_6,
        PRECISION,
    );
    assert_eq!(change.queries, 3);
    close(Some(change.changed.mean), 2.0 / 3.0, PRECISION);
    assert!(!change.is_reported(), "three queries are too few");
    assert_eq!(ListChange::of::<u8>([]), None);
}

/// The table of the specification: an index that is not deterministic reports nothing, a changed ranking
/// does, and a small change is found with more queries.
#[test]
fn noise_of_an_index_is_no_change_of_lists() {
    let mut random = Random(7);
    let mut reported = |noise: f64, change: f64, queries: usize| {
        let mut hits = 0;
        for _ in 0..20 {
            let lists: Vec<[Vec<usize>; 4]> = (0..queries)
                .map(|_| {
                    let before: Vec<f64> = (0..40).map(|_| random.normal()).collect();
                    let after: Vec<f64> = before
                        .iter()
                        .map(|it| it + change * random.normal())
                        .collect();
                    [&before, &before, &after, &after].map(|scores| {
                        let noisy: Vec<f64> = scores
                            .iter()
                            .map(|it| it + noise * random.normal())
                            .collect();
                        let mut order: Vec<usize> = (0..40).collect();
                        order.sort_by(|a, b| noisy[*b].total_cmp(&noisy[*a]));
                        order.truncate(10);
                        order
                    })
                })
                .collect();
            let change = ListChange::of(lists.iter().map(|[a, b, c, d]| Lists {
                before: [a, b],
                after: [c, d],
            }));
            hits += usize::from(change.expect("queries").is_reported());
        }
        hits
    };
    for noise in [0.0, 0.05, 0.2] {
        for queries in [50, 200] {
            assert!(reported(noise, 0.0, queries) <= 1, "noise {noise}");
        }
        assert!(reported(noise, 0.2, 200) >= 19, "noise {noise}");
    }
    assert_eq!(reported(0.0, 0.2, 50), 20);
}

/// A small generator of random numbers.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        f64::from(u32::try_from(self.0 >> 33).expect("31 bits") + 1) / f64::from(1_u32 << 31)
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
