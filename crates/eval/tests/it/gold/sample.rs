//! Samples of a gold set for a further annotator, and the error rate that the answers show.

use std::collections::{BTreeMap, BTreeSet};

use rankgauge_core::gold::adoption::FilledRow;
use rankgauge_core::gold::{self, GoldSet, Grade, Options};
use rankgauge_eval::gold::sample::{Sampled, Size, error_rate, sample};
use rankgauge_eval::gold::wilson::wilson;

/// Gold set with 40 judgements of keywords and 10 of questions.
fn set() -> GoldSet {
    let query = |key: &str, kind: &str, documents: usize| {
        let judgements: Vec<String> = (0..documents)
            .map(|at| format!("\"{key}-{at}\": {}", at % 4))
            .collect();
        format!(
            "{{\"query_id\": \"{key}\", \"query_type\": \"{kind}\", \"ground_truth\": {{{}}}}}",
            judgements.join(",")
        )
    };
    let queries = [
        query("a", "keyword", 20),
        query("b", "keyword", 20),
        query("c", "question", 10),
    ];
    let text = format!("{{\"queries\": [{}]}}", queries.join(","));
    gold::parse("gold.json", text.as_bytes(), &Options::default()).expect("a gold set")
}

fn by_stratum(sample: &[Sampled]) -> BTreeMap<&str, usize> {
    let mut strata = BTreeMap::new();
    for sampled in sample {
        *strata.entry(sampled.stratum.as_str()).or_default() += 1;
    }
    strata
}

#[test]
fn a_sample_is_stratified_and_reproducible() {
    let set = set();
    let drawn = sample(&set, Size::Share(0.2), Some("query_type"), 1);
    assert_eq!(by_stratum(&drawn), [("keyword", 8), ("question", 2)].into());
    assert_eq!(drawn, sample(&set, Size::Share(0.2), Some("query_type"), 1));
    let ids = |sample: &[Sampled]| -> BTreeSet<String> {
        sample.iter().map(|it| it.document.clone()).collect()
    };
    let other = sample(&set, Size::Share(0.2), Some("query_type"), 2);
    assert_ne!(ids(&drawn), ids(&other));
    // Every stratum has at least one judgement, and the number is as requested.
    let few = sample(&set, Size::Count(3), Some("query_type"), 1);
    assert_eq!(by_stratum(&few), [("keyword", 2), ("question", 1)].into());
    assert_eq!(sample(&set, Size::Count(7), None, 1).len(), 7);
    assert_eq!(sample(&set, Size::Count(500), None, 1).len(), 50);
    assert_eq!(sample(&set, Size::Count(0), None, 1), []);
}

#[test]
fn every_judgement_is_drawn_about_equally_often() {
    let set = set();
    let mut drawn: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..1000 {
        for sampled in sample(&set, Size::Count(10), None, seed) {
            *drawn.entry(sampled.document).or_default() += 1;
        }
    }
    // 200 expected, with a standard deviation of 12.6.
    assert_eq!(drawn.len(), 50);
    assert!(
        drawn.values().all(|count| (140..=260).contains(count)),
        "{drawn:?}"
    );
}

fn row(document: &str, grade: Option<f64>) -> FilledRow {
    FilledRow {
        line: 2,
        query_id: document.split('-').next().expect("a query").to_owned(),
        document_id: document.to_owned(),
        grade: grade.and_then(Grade::new),
        ..FilledRow::default()
    }
}

#[test]
fn the_error_rate_has_an_interval_and_lists_disagreements() {
    let set = set();
    let rows = [
        row("a-0", Some(0.0)),
        row("a-1", Some(1.0)),
        row("a-2", Some(3.0)),
        row("a-3", Some(0.0)),
        row("b-1", None),
    ];
    let found = error_rate(&set, &rows).expect("known judgements");
    assert_eq!((found.answered, found.open), (4, 1));
    assert_eq!((found.other_grade, found.other_relevance), (2, 1));
    assert_eq!(found.rate, Some(0.5));
    assert_eq!(found.disagreements[0].document, "a-3");
    // Newcombe 1998, table I: 81 of 263 gives 0.2553 to 0.3662.
    let [low, high] = wilson(81, 263);
    assert!(
        (low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5,
        "{low} {high}"
    );
    let [low, high] = wilson(0, 20);
    assert!(
        low.abs() < 1e-12 && (high - 0.1611).abs() < 5e-5,
        "{low} {high}"
    );
    let unknown = error_rate(&set, &[row("a-99", Some(1.0))]).expect_err("no such judgement");
    assert!(
        unknown
            .to_string()
            .starts_with("line 2: the gold set has no judgement of document")
    );
}
