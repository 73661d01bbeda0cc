//! Three or more runs.

use std::collections::BTreeMap;

use rankgauge_eval::compare::compare;
use rankgauge_eval::report::Format;
use rankgauge_eval::report::compare::write;

use super::{quick, run};

const SCORES: [[f64; 3]; 8] = [
    [0.20, 0.25, 0.60],
    [0.40, 0.42, 0.75],
    [0.10, 0.18, 0.55],
    [0.50, 0.46, 0.90],
    [0.30, 0.35, 0.62],
    [0.60, 0.58, 0.95],
    [0.25, 0.33, 0.70],
    [0.45, 0.44, 0.80],
];

#[test]
fn all_pairs_of_three_runs_are_tested_together() {
    let keys: Vec<String> = (0..SCORES.len()).map(|query| format!("q{query}")).collect();
    let of = |system: usize| -> Vec<(&str, Vec<f64>)> {
        let rows = keys.iter().zip(SCORES);
        rows.map(|(key, row)| (key.as_str(), vec![row[system]]))
            .collect()
    };
    let runs = ["A", "B", "C"].iter().zip(0..).map(|(name, system)| {
        let rows = of(system);
        let rows: Vec<(&str, &[f64])> = rows.iter().map(|(key, row)| (*key, &**row)).collect();
        run(name, &["AP"], &rows)
    });
    let comparison = compare(runs.collect(), &quick()).expect("three runs");
    let [several] = comparison.several.as_slice() else {
        panic!("one measure: {:?}", comparison.several)
    };
    assert_eq!((several.measure.as_str(), several.n), ("AP", 8));
    let pairs = &several.tested.pairs;
    assert_eq!(pairs.len(), 3);
    // The values of scipy and numpy: q = |difference| / sqrt(MSE / n), studentized_range.sf(q, 3, 14).
    let expected = [
        (0, 1, 0.026_25, 0.292_914_184),
        (0, 2, 0.383_75, 0.0),
        (1, 2, 0.357_5, 0.0),
    ];
    for (pair, (a, b, difference, p)) in pairs.iter().zip(expected) {
        assert_eq!((pair.a, pair.b), (a, b));
        assert!((pair.difference - difference).abs() < 1e-9, "{pair:?}");
        let tukey = pair.p_tukey.expect("the scores vary");
        assert!((tukey - p).abs() < 1e-6, "{pair:?}");
        assert_eq!(tukey < 0.05, pair.p_randomised < 0.05, "{pair:?}");
    }
    let json = write(&comparison, &[], Format::Json);
    assert!(json.contains("\"p_tukey_hsd\"") && json.contains("\"p_randomised_tukey_hsd\""));
    let text = write(&comparison, &[], Format::Text);
    assert!(text.contains("All pairs"), "{text}");
    let csv = write(&comparison, &[], Format::Csv);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().collect::<Result<_, _>>().expect("CSV");
    let of_pairs: Vec<_> = rows.iter().filter(|row| row["table"] == "pair").collect();
    assert_eq!(of_pairs.len(), pairs.len());
    for (row, pair) in of_pairs.iter().zip(pairs) {
        let number = |column: &str| row[column].parse::<f64>().ok();
        assert_eq!(number("difference"), Some(pair.difference));
        assert_eq!(number("p_tukey_hsd"), pair.p_tukey);
        assert_eq!(number("p_randomised_tukey_hsd"), Some(pair.p_randomised));
        assert_eq!((row["n"].as_str(), row["measure"].as_str()), ("8", "AP"));
    }
    assert_eq!(
        (of_pairs[2]["a"].as_str(), of_pairs[2]["b"].as_str()),
        ("B", "C")
    );
}

#[test]
fn all_pairs_of_too_few_queries_are_not_tested() {
    let several = |queries: usize| {
        let keys: Vec<String> = (0..queries).map(|query| format!("q{query}")).collect();
        let runs = (0..3).map(|system: usize| {
            let rows = keys.iter().zip(&SCORES);
            let rows: Vec<(&str, &[f64])> = rows
                .map(|(key, row)| (key.as_str(), &row[system..=system]))
                .collect();
            run(["A", "B", "C"][system], &["AP"], &rows)
        });
        let comparison = compare(runs.collect(), &quick()).expect("three runs");
        let is_said = comparison
            .warnings
            .iter()
            .any(|it| it.contains("below 6 nothing is tested"));
        (comparison.several.len(), is_said)
    };
    assert_eq!(several(5), (0, true));
    assert_eq!(several(6), (1, false));
}
