//! Best run of each slice.

use std::collections::BTreeMap;

use rankgauge_eval::compare::{CompareError, Labels, Options, compare};
use rankgauge_eval::report::Format;
use rankgauge_eval::report::compare::write;

use super::{quick, run};

#[test]
fn the_best_run_of_a_slice_is_named_with_tied_runs() {
    let labels: Labels = [
        ("1", "쉬움"),
        ("2", "쉬움"),
        ("3", "어려움"),
        ("4", "어려움"),
    ]
    .into_iter()
    .map(|(query, value)| {
        let labels = BTreeMap::from([("difficulty".to_owned(), value.to_owned())]);
        (query.to_owned(), labels)
    })
    .collect();
    let of = |name, scores: [f64; 5]| {
        let [one, two, three, four, five] = scores;
        let queries: [(&str, &[f64]); 5] = [
            ("1", &[one]),
            ("2", &[two]),
            ("3", &[three]),
            ("4", &[four]),
            ("5", &[five]),
        ];
        run(name, &["P@5"], &queries)
    };
    let runs = vec![
        of("A", [0.1, 0.2, 0.8, 0.8, 0.0]),
        of("B", [0.2, 0.1, 0.2, 0.2, 0.0]),
        of("C", [0.0, 0.0, 0.4, 0.4, 0.0]),
    ];
    let options = Options {
        by: vec!["difficulty".to_owned()],
        labels,
        ..quick()
    };
    let found = compare(runs.clone(), &options).expect("a comparison");
    let named: Vec<(&str, &str, usize, &[usize])> = found
        .best
        .iter()
        .map(|it| {
            (
                it.slice.as_str(),
                it.value.as_str(),
                it.n,
                it.measures[0].best.as_slice(),
            )
        })
        .collect();
    let expected: [(&str, &str, usize, &[usize]); 3] = [
        ("all", "", 5, &[0]),
        ("difficulty", "쉬움", 2, &[0, 1]),
        ("difficulty", "어려움", 2, &[0]),
    ];
    assert_eq!(named, expected);
    let text = write(&found, &[], Format::Text);
    assert!(text.contains("difficulty=쉬움"), "{text}");
    assert!(text.contains("A, B"), "{text}");

    let options = Options {
        by: vec!["type".to_owned()],
        ..options
    };
    let known = vec!["difficulty".to_owned()];
    let name = "type".to_owned();
    assert_eq!(
        compare(runs, &options),
        Err(CompareError::UnknownLabel { name, known })
    );
}
