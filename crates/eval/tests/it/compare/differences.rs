//! Difference between two runs.

use proptest::prelude::*;
use rankgauge_eval::compare::{RunScores, Verdict, compare};

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
