//! Difference between two runs.

use proptest::prelude::*;
use rankgauge_eval::compare::{RunScores, Verdict, compare};
use rankgauge_eval::gate::{self, FailOn, Outcome};
use rankgauge_eval::report::Format;
use rankgauge_eval::report::compare::write;

use super::quick;

#[test]
fn the_verdict_follows_the_direction_of_the_measure() {
    let of = |name: &str, more: f64| {
        let queries = (1..=40).map(|i| {
            let noise = f64::from(i * 7 % 11) / 100.0;
            let scores = vec![
                Some(1.0 + noise * more),
                Some(1.0 + noise * more),
                Some(noise * more),
            ];
            (i.to_string(), scores)
        });
        RunScores {
            name: name.to_owned(),
            measures: ["FP@10", "Hops(rne)", "AP"].map(str::to_owned).to_vec(),
            queries: queries.collect(),
        }
    };
    let found = compare(vec![of("A", 1.0), of("B", 3.0)], &quick()).expect("a comparison");
    let verdicts = found.comparisons[0].measures.iter().map(|of| of.verdict);
    let expected = [Verdict::Worse, Verdict::Higher, Verdict::Better];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    let best: Vec<&[usize]> = found.best[0]
        .measures
        .iter()
        .map(|of| of.best.as_slice())
        .collect();
    assert_eq!(best, [&[0][..], &[], &[1]]);
}

/// Six queries that each lose 0.5: 2 of 64 assignments of signs are as extreme, and the t-test is not
/// defined.
#[test]
fn the_permutation_test_decides_where_all_differences_are_equal() {
    let of = |name: &str, score: f64| {
        let queries = (0..6).map(|query| (query.to_string(), vec![Some(score)]));
        RunScores {
            name: name.to_owned(),
            measures: vec!["P@2".to_owned()],
            queries: queries.collect(),
        }
    };
    let tested = |alpha: f64| {
        let options = rankgauge_eval::compare::Options { alpha, ..quick() };
        let found = compare(vec![of("A", 1.0), of("B", 0.5)], &options).expect("a comparison");
        assert!(
            found
                .warnings
                .iter()
                .any(|it| it.contains("differ by the same amount in `P@2`")),
            "{:?}",
            found.warnings
        );
        let measure = found.comparisons[0].measures[0].clone();
        assert_eq!((measure.paired.p, measure.p_holm), (None, Some(2.0 / 64.0)));
        let outcome = gate::of_comparison(&found, FailOn::Worse)[0].outcome;
        (measure.verdict, measure.simultaneous, outcome)
    };
    assert_eq!(
        tested(0.05),
        (Verdict::Worse, Some([-0.5, -0.5]), Outcome::Failed)
    );
    assert_eq!(tested(0.001), (Verdict::NotTested, None, Outcome::Failed));
}

/// Scores of the same queries in several measures; each query has the scores of the run.
fn constant(name: &str, queries: usize, scores: &[f64]) -> RunScores {
    let of_query: Vec<Option<f64>> = scores.iter().copied().map(Some).collect();
    let measures = ["nDCG@10", "P@5", "RR", "AP"].iter().take(scores.len());
    RunScores {
        name: name.to_owned(),
        measures: measures.map(|it| (*it).to_owned()).collect(),
        queries: (0..queries)
            .map(|query| (query.to_string(), of_query.clone()))
            .collect(),
    }
}

/// The smallest p of six queries is 2 of 64: with two measures, Holm's correction makes it 0.0625.
#[test]
fn a_gate_fails_on_a_loss_that_so_few_queries_cannot_show() {
    let checks = |queries: usize, a: &[f64], b: &[f64]| {
        let runs = vec![constant("A", queries, a), constant("B", queries, b)];
        let found = compare(runs, &quick()).expect("a comparison");
        let verdicts = found.comparisons[0].measures.iter().map(|of| of.verdict);
        let checks = gate::of_comparison(&found, FailOn::Worse);
        (verdicts.collect::<Vec<_>>(), checks, found.warnings)
    };
    let failed = |checks: &[gate::Check]| gate::count(checks, Outcome::Failed);
    let (verdicts, found, warnings) = checks(6, &[1.0, 1.0], &[0.0, 0.0]);
    assert_eq!(verdicts, [Verdict::NotTested; 2]);
    assert_eq!(failed(&found), 3, "{found:?}");
    let needed = &found[2];
    assert_eq!(needed.condition, "at least 7 queries are compared");
    assert!(
        needed
            .detail
            .contains("cannot show any difference in 2 measures"),
        "{}",
        needed.detail
    );
    let said = "with 6 queries and 2 tested measures, not even the largest difference of `A` and `B` can be shown";
    assert!(
        warnings.iter().any(|it| it.starts_with(said)),
        "{warnings:?}"
    );

    let (verdicts, found, _) = checks(7, &[1.0, 1.0], &[0.0, 0.0]);
    assert_eq!(verdicts, [Verdict::Worse; 2]);
    assert_eq!(failed(&found), 2);
    // A gain that cannot be shown is no verdict either, and an equal measure of so few queries is no evidence.
    let (_, found, _) = checks(6, &[0.0, 0.0], &[1.0, 1.0]);
    assert_eq!(failed(&found), 1, "{found:?}");
    let (_, found, _) = checks(4, &[1.0, 0.5], &[0.4, 0.5]);
    assert_eq!(failed(&found), 1, "{found:?}");
    // The same run passes.
    let (verdicts, found, _) = checks(4, &[1.0, 0.5], &[1.0, 0.5]);
    assert_eq!(verdicts, [Verdict::Identical; 2]);
    assert_eq!(failed(&found), 0, "{found:?}");
}

/// The report of an evaluation draws nothing where the t-test decides; where it does not, its p is that
/// of `compare`.
#[test]
fn differences_of_an_evaluation_have_the_p_of_a_comparison() {
    let of = |name: &str, better: bool| {
        let queries = (0..25_u32).map(|query| {
            let gain = if query == 0 {
                0.9
            } else {
                0.01 + f64::from(query) / 1e4
            };
            let score = if better { gain } else { 0.0 };
            (query.to_string(), vec![Some(0.05 + score)])
        });
        RunScores {
            name: name.to_owned(),
            measures: vec!["RR".to_owned()],
            queries: queries.collect(),
        }
    };
    let runs = vec![of("A", false), of("B", true)];
    let pairs = rankgauge_eval::compare::against_first(runs, 0.05).expect("two runs");
    let measure = &pairs[0].measures[0];
    assert!(measure.paired.is_skewed());
    assert!(measure.p_holm.is_some_and(|p| p < 1e-4), "{measure:?}");
    assert_eq!(measure.verdict, Verdict::Better);
}

/// Means that are no arithmetic means of scores are not those of an evaluation.
#[test]
fn counts_and_geometric_means_are_not_compared() {
    let measures = [
        "AP",
        "GMAP",
        "gm_bpref",
        "NumRelRet",
        "num_ret",
        "prefs_num_prefs_ful",
    ];
    let of = |name: &str, measures: &[&str]| {
        let queries = (0..8).map(|query| (query.to_string(), vec![Some(0.5); measures.len()]));
        RunScores {
            name: name.to_owned(),
            measures: measures.iter().map(|it| (*it).to_owned()).collect(),
            queries: queries.collect(),
        }
    };
    let found = compare(vec![of("A", &measures), of("B", &measures)], &quick());
    let found = found.expect("a comparison");
    assert_eq!(found.measures, ["AP"]);
    assert_eq!(
        found.warnings[..2],
        [
            "counts are not measures, and are not compared: `NumRelRet`, `num_ret`, `prefs_num_prefs_ful`",
            "geometric means are not compared, because the tests are about arithmetic means: `GMAP`, `gm_bpref`",
        ]
    );
    let only = compare(vec![of("A", &["GMAP"]), of("B", &["GMAP"])], &quick());
    let error = only.expect_err("nothing to test").to_string();
    assert_eq!(
        error,
        "no measure can be tested: geometric means are not compared, because the tests are about arithmetic means: \
         `GMAP`"
    );
}

/// With five pairs, no assignment of signs has p up to 0.05.
#[test]
fn fewer_than_six_queries_decide_nothing() {
    let of = |name: &str, count: u32, more: f64| {
        let queries =
            (0..count).map(|i| (i.to_string(), vec![Some(f64::from(i % 3) / 10.0 + more)]));
        RunScores {
            name: name.to_owned(),
            measures: vec!["P@10".to_owned()],
            queries: queries.collect(),
        }
    };
    let verdict = |count| {
        let found = compare(vec![of("A", count, 0.0), of("B", count, 0.5)], &quick());
        let found = found.expect("a comparison");
        let measure = &found.comparisons[0].measures[0];
        assert_eq!(measure.p_holm.is_none(), count < 6);
        let is_said = found
            .warnings
            .iter()
            .any(|it| it.contains("below 6 nothing is tested"));
        assert_eq!(is_said, count < 6, "{:?}", found.warnings);
        let checks = gate::of_comparison(&found, FailOn::Worse);
        let failed = checks.iter().find(|check| check.outcome == Outcome::Failed);
        assert_eq!(failed.is_some(), count < 6, "{checks:?}");
        if let Some(check) = failed {
            for format in [Format::Text, Format::Markdown] {
                let report = write(&found, &checks, format);
                let flowing = report.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(
                    flowing.contains("or leave the comparison out of the gate"),
                    "{flowing}"
                );
            }
            assert_eq!(check.condition, "at least 6 queries are compared");
            let numbers = format!(
                "no verdict: {count} queries with a score in both A and B, and 6 are needed"
            );
            assert!(check.detail.starts_with(&numbers), "{}", check.detail);
        }
        measure.verdict
    };
    assert_eq!([verdict(2), verdict(5)], [Verdict::NotTested; 2]);
    assert_eq!(verdict(6), Verdict::Better);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_order_of_queries_in_the_files_does_not_affect_the_result(
        scores in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 2..60)
            .prop_map(|scores| scores.into_iter().enumerate().collect::<Vec<_>>())
            .prop_flat_map(|lines| (Just(lines.clone()), Just(lines).prop_shuffle())),
    ) {
        let (straight, shuffled) = scores;
        let read = |name, lines: &[(usize, (f64, f64))], second: bool| {
            let lines = lines.iter().map(|(query, (a, b))| {
                format!("AP {query} {}\n", if second { b } else { a })
            });
            let lines: String = lines.collect();
            RunScores::read(name, name, lines.as_bytes()).expect("scores")
        };
        let runs = |lines: &[_]| vec![read("A", lines, false), read("B", lines, true)];
        prop_assert_eq!(
            compare(runs(&straight), &quick()),
            compare(runs(&shuffled), &quick())
        );
    }
}
