//! Measures of ranked lists with the numbers of the documents that `docs/scope.md` lists, by section.
//! Where a document's number contradicts its own formula, a comment states so and the formula counts.

use super::{assert_close, judgements, score, score_graded};

/// List of `length` results with `found` of `all` relevant documents at its top.
struct Counts {
    found: usize,
    length: usize,
    all: usize,
}

#[track_caller]
fn assert_counts(counts: &Counts, expected: &[(&str, f64)]) {
    let mut list = vec![1.0; counts.found];
    list.resize(counts.length, 0.0);
    let missing = vec![1.0; counts.all - counts.found];
    for (measure, value) in expected {
        assert_close(score_graded(measure, &list, &missing), *value);
    }
}

#[test]
fn precision_recall_and_f1_follow_from_counts() {
    for (found, length, all, expected) in [
        // Methodology 2.1. Ten is more than the number of results: the formula divides by K all the same.
        (
            3,
            5,
            3,
            &[("P@1", 1.0), ("P@3", 1.0), ("P@5", 0.6), ("P@10", 0.3)][..],
        ),
        // Methodology 2.2.
        (3, 5, 8, &[("R@5", 0.375)]),
        (8, 20, 8, &[("R@20", 1.0)]),
        // Methodology 2.3: exact match, semantic search with a low threshold, hybrid search.
        (3, 3, 10, &[("P@3", 1.0), ("R@3", 0.3), ("F1@3", 0.4615)]),
        (
            171,
            380,
            180,
            &[("P@380", 0.45), ("R@380", 0.95), ("F1@380", 0.6107)],
        ),
        (
            12,
            16,
            15,
            &[("P@16", 0.75), ("R@16", 0.8), ("F1@16", 0.7742)],
        ),
        (0, 5, 3, &[("F1@5", 0.0)]),
        // Plan 2.4.1: P@5 of .80 is 4 of 5, .60 is 3 of 5, and below .40 fewer than 2.
        (4, 10, 4, &[("P@5", 0.8), ("P@10", 0.4)]),
        (3, 10, 4, &[("P@5", 0.6), ("P@10", 0.3)]),
        (1, 10, 4, &[("P@5", 0.2), ("P@10", 0.1)]),
        // Plan 2.4.2.
        (14, 20, 20, &[("R@5", 0.25), ("R@10", 0.5), ("R@20", 0.7)]),
    ] {
        assert_counts(&Counts { found, length, all }, expected);
    }
}

#[test]
fn scores_follow_from_the_grades_in_their_order() {
    let log3 = 3.0_f64.log2();
    for (section, measure, list, missing, expected) in [
        (
            "methodology 2.4",
            "AP",
            &[1.0, 0.0, 1.0, 1.0, 0.0][..],
            &[][..],
            0.8056,
        ),
        // AP divides by all relevant documents, not by those found.
        (
            "methodology 2.4",
            "AP",
            &[1.0, 0.0, 1.0, 1.0, 0.0],
            &[1.0],
            0.6042,
        ),
        ("methodology 2.4", "AP", &[1.0, 0.0, 1.0], &[], 5.0 / 6.0),
        // DCG 5.853, ideal 6.3235. The section rounds intermediate values, to 5.85 / 6.33 = .92.
        (
            "methodology 2.5",
            "nDCG@5",
            &[3.0, 2.0, 0.0, 1.0, 3.0],
            &[],
            0.9256,
        ),
        // The ideal ranking contains all judged documents:
        // (3 + 1 / log2 3) / (3 + 3 / log2 3 + 2 / 2 + 1 / log2 5 + 1 / log2 6)
        (
            "methodology 2.5",
            "nDCG@5",
            &[3.0, 1.0],
            &[3.0, 2.0, 1.0],
            0.5411,
        ),
        ("methodology 2.6", "RR", &[1.0, 1.0], &[], 1.0),
        ("methodology 2.6", "RR", &[0.0, 1.0, 1.0], &[], 0.5),
        ("methodology 2.6", "RR", &[0.0, 0.0, 0.0, 1.0], &[], 0.25),
        // The sample result of phase 3 has precision@3 .67, recall@3 .5 and f1@3 .57.
        ("rag 3.1", "P@3", &[1.0, 0.0, 1.0], &[1.0, 1.0], 2.0 / 3.0),
        ("rag 3.1", "P@10", &[1.0, 0.0, 1.0], &[1.0, 1.0], 0.2),
        ("rag 3.1", "R@1", &[1.0, 0.0, 1.0], &[1.0, 1.0], 0.25),
        ("rag 3.1", "R@10", &[1.0, 0.0, 1.0], &[1.0, 1.0], 0.5),
        ("rag 3.1", "F1@1", &[1.0, 0.0, 1.0], &[1.0, 1.0], 0.4),
        ("rag 3.1", "F1@3", &[1.0, 0.0, 1.0], &[1.0, 1.0], 4.0 / 7.0),
        (
            "rag 3.1",
            "AP",
            &[1.0, 0.0, 1.0],
            &[1.0, 1.0],
            (1.0 + 2.0 / 3.0) / 4.0,
        ),
        (
            "rag 3.1.6",
            "nDCG@3",
            &[1.0, 0.0, 2.0],
            &[],
            2.0 / (2.0 + 1.0 / log3),
        ),
        ("plan 2.4.3", "nDCG@10", &[3.0, 2.0, 1.0, 0.0], &[], 1.0),
        // (1 + 2 / log2 3 + 3 / log2 5) / (3 + 2 / log2 3 + 1 / 2)
        ("plan 2.4.3", "nDCG@10", &[1.0, 2.0, 0.0, 3.0], &[], 0.7463),
        ("plan 2.4.4", "RR", &[0.0, 0.0, 0.0, 0.0, 1.0], &[], 0.2),
    ] {
        let found = score_graded(measure, list, missing);
        let is_close = (found - expected).abs() < super::TOLERANCE;
        assert!(is_close, "{section}: {measure} is {found}, not {expected}");
    }
}

/// Scores of the notebook's two queries with three results each.
fn notebook(measure: &str) -> [f64; 2] {
    let first = judgements(&[("doc1", 1.0), ("doc2", 1.0), ("doc5", 1.0)]);
    let second = judgements(&[("doc3", 1.0), ("doc4", 1.0)]);
    [
        score(measure, &["doc1", "doc2", "doc5"], &first),
        score(measure, &["doc6", "doc4", "doc5"], &second),
    ]
}

#[test]
fn scores_of_the_notebook_follow_from_its_two_searches() {
    for (measure, expected) in [
        ("TP@3", [3.0, 1.0]),
        ("FP@3", [0.0, 2.0]),
        ("FN@3", [0.0, 1.0]),
        ("P@3", [1.0, 1.0 / 3.0]),
        ("R@3", [1.0, 0.5]),
        ("F1@3", [1.0, 0.4]),
        // One of two relevant documents, at rank 2: (0 + 0.5) / 2.
        ("AP", [1.0, 0.25]),
        ("AP@1", [1.0 / 3.0, 0.0]),
        ("AP@2", [2.0 / 3.0, 0.25]),
        // The notebook sets k = 10 in its library, for three results.
        ("P(denominator=retrieved)@10", [1.0, 1.0 / 3.0]),
        ("P@10", [0.3, 0.1]),
        ("F1(denominator=retrieved)@10", [1.0, 0.4]),
    ] {
        for (found, expected) in notebook(measure).into_iter().zip(expected) {
            assert_close(found, expected);
        }
    }
}

#[test]
fn means_of_the_notebook_at_1_2_3_follow_from_its_two_searches() {
    for (measure, means) in [
        ("AllHit", [0.0, 0.0, 0.5]),
        ("Success", [0.5, 1.0, 1.0]),
        ("RR", [0.5, 0.75, 0.75]),
        ("AP", [0.1667, 0.4583, 0.625]),
        // DCG@k sums 2^rel - 1, which is the binary gain where grades are 0 and 1. The notebook
        // divides 0.631 by 1.631 and prints .63; it is .3869, and the means at 2 and 3 are .6934,
        // not .815.
        ("nDCG(gain=binary)", [0.5, 0.6934, 0.6934]),
        ("nDCG(gain=exp)", [0.5, 0.6934, 0.6934]),
    ] {
        for (k, mean) in (1..).zip(means) {
            let [first, second] = notebook(&format!("{measure}@{k}"));
            assert_close(f64::midpoint(first, second), mean);
        }
    }
}
