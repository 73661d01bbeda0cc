//! The best run of each slice.

use std::collections::BTreeMap;

use rankgauge_eval::compare::{CompareError, Labels, Options, compare};
use rankgauge_eval::report::Format;
use rankgauge_eval::report::compare::write;

use super::{json, quick, rankgauge, run};

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

#[test]
fn labels_come_from_the_gold_set_or_else_from_agreeing_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let event = |query: &str, labels: &str, document: &str| {
        format!(
            r#"{{"query_id":"s-{query}","query_key":"{query}","ts":1,"labels":{labels},"results":[{{"id":"{document}"}}]}}"#
        )
    };
    let files = [
        (
            "gold.json",
            r#"{"queries":[
                {"query_id":"q1","query_type":"keyword","ground_truth":{"a":1}},
                {"query_id":"q2","ground_truth":{"a":1}},
                {"query_id":"q3","ground_truth":{"a":1}},
                {"query_id":"q4","ground_truth":{"a":1}}]}"#
                .to_owned(),
        ),
        (
            "before.jsonl",
            [
                event("q1", r#"{"query_type":"said otherwise"}"#, "a"),
                event("q2", r#"{"query_type":"complex"}"#, "b"),
                event("q3", r#"{"query_type":"complex"}"#, "b"),
                event("q4", r#"{"query_type":"complex"}"#, "b"),
            ]
            .join("\n"),
        ),
        (
            "after.jsonl",
            [
                event("q1", "{}", "a"),
                event("q2", r#"{"query_type":"complex"}"#, "a"),
                event("q3", "{}", "a"),
                event("q4", r#"{"query_type":"keyword"}"#, "a"),
            ]
            .join("\n"),
        ),
    ];
    let [gold, before, after] = files.map(|(name, content)| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("a file");
        path.to_str().expect("a path").to_owned()
    });
    let found = json(&rankgauge(&[
        "--gold",
        &gold,
        "--run",
        &before,
        "--run",
        &after,
        "--measures",
        "P@1",
        "--by",
        "query_type",
        "--format",
        "json",
    ]));
    let slices: Vec<(&str, u64)> = found["best"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| Some((it["value"].as_str()?, it["n"].as_u64()?)))
        .collect();
    // The two runs disagree on the label of q4.
    assert_eq!(slices, [("", 4), ("complex", 2), ("keyword", 1)]);
}
