//! Chapter 2: standard measures of ranked retrieval.

use serde_json::{Value, json};

use crate::seeds::{Run, evaluated, gold, listed, relevant, search};

const QUERY: &str = "국토계획법 21조 검색";

/// One search of `results`, judged by `grades`.
#[track_caller]
fn judged(results: &[&str], grades: Value, measures: &str) -> Run {
    let query = gold(QUERY, grades, json!({}));
    evaluated(
        &[query],
        &[search(QUERY, listed(results), json!({}))],
        measures,
    )
}

/// One search with `found` relevant documents among its first `cutoff` results, of `all` relevant
/// documents.
#[track_caller]
fn judged_counts(found: usize, cutoff: usize, all: usize, measures: &str) -> Run {
    let name = |number| format!("법률_제{number}조");
    let good: Vec<String> = (0..all).map(name).collect();
    let other: Vec<String> = (all..all + cutoff - found).map(name).collect();
    let results: Vec<&str> = good[..found]
        .iter()
        .chain(&other)
        .map(String::as_str)
        .collect();
    let good: Vec<&str> = good.iter().map(String::as_str).collect();
    judged(&results, relevant(&good), measures)
}

#[test]
fn methodology_2_1_precision_at_k() {
    let results = [
        "법률_제21조_제1항",
        "법률_제21조_제2항",
        "시행령_제21조",
        "법률_제22조_제1항",
        "법률_제20조_제1항",
    ];
    let run = judged(&results, relevant(&results[..3]), "P@1 P@3 P@5 P@10");
    // Ten is more than the number of results: the formula divides by K all the same.
    let expected = [("P@1", 1.0), ("P@3", 1.0), ("P@5", 0.6), ("P@10", 0.3)];
    run.scores(QUERY, &expected);
}

#[test]
fn methodology_2_1_precision_of_no_results_is_0() {
    judged(&[], relevant(&["시행령_제21조"]), "P@5").scores(QUERY, &[("P@5", 0.0)]);
}

#[test]
fn methodology_2_2_recall_at_k() {
    let all = [
        "법률_제21조_제1항",
        "법률_제21조_제2항",
        "법률_제21조_제3항",
        "시행령_제21조",
        "시행규칙_제21조",
        "법률_제21조의2_제1항",
        "법률_제20조_제3항",
        "법률_제22조_제1항",
    ];
    let five = [
        all[0],
        all[1],
        all[3],
        "법률_제100조_제1항",
        "법률_제50조_제1항",
    ];
    judged(&five, relevant(&all), "R@5").scores(QUERY, &[("R@5", 0.375)]);

    let other: Vec<String> = (1..=12)
        .map(|number| format!("법률_제{number}0조"))
        .collect();
    let twenty: Vec<&str> = all
        .into_iter()
        .chain(other.iter().map(String::as_str))
        .collect();
    judged(&twenty, relevant(&all), "R@20").scores(QUERY, &[("R@20", 1.0)]);
}

#[test]
fn methodology_2_2_recall_without_ground_truth_is_0() {
    let measures = "R@5 AP nDCG@5";
    let run = judged(&["법률_제21조_제1항"], json!({"법률_제1조": 0}), measures);
    run.scores(QUERY, &[("R@5", 0.0), ("AP", 0.0), ("nDCG@5", 0.0)]);
}

#[test]
fn methodology_2_3_f1_of_three_scenarios() {
    // Exact match: precise, but with low recall.
    let exact = judged_counts(3, 3, 10, "P@3 R@3 F1@3");
    exact.scores(QUERY, &[("P@3", 1.0), ("R@3", 0.3), ("F1@3", 0.4615)]);
    // Semantic search with a low threshold: nearly full recall, with low precision.
    let semantic = judged_counts(171, 380, 180, "P@380 R@380 F1@380");
    semantic.scores(
        QUERY,
        &[("P@380", 0.45), ("R@380", 0.95), ("F1@380", 0.6107)],
    );
    // Hybrid search.
    let hybrid = judged_counts(12, 16, 15, "P@16 R@16 F1@16");
    hybrid.scores(QUERY, &[("P@16", 0.75), ("R@16", 0.8), ("F1@16", 0.7742)]);
}

#[test]
fn methodology_2_3_f1_is_0_where_precision_and_recall_are_0() {
    judged_counts(0, 5, 3, "F1@5").scores(QUERY, &[("F1@5", 0.0)]);
}

#[test]
fn methodology_2_4_average_precision() {
    let results = [
        "법률_제21조_제1항",
        "법률_제100조",
        "법률_제21조_제2항",
        "시행령_제21조",
        "법률_제50조",
    ];
    let good = relevant(&[results[0], results[2], results[3]]);
    judged(&results, good, "AP").scores(QUERY, &[("AP", 0.8056)]);
    // AP divides by all relevant documents, not by those found.
    let more = relevant(&[results[0], results[2], results[3], "시행규칙_제21조"]);
    judged(&results, more, "AP").scores(QUERY, &[("AP", 0.6042)]);
}

#[test]
fn methodology_2_4_map_is_the_mean_over_queries() {
    // The section averages ten queries and shows three of them, with AP .81, .75 and .68.
    let queries = ["21조 검색", "도시관리계획", "용도지역 지정"]
        .map(|key| gold(key, relevant(&["가", "나"]), json!({})));
    let searches = [
        search("21조 검색", listed(&["가", "나"]), json!({})),
        search("도시관리계획", listed(&["가", "다", "나"]), json!({})),
        search("용도지역 지정", listed(&["다"]), json!({})),
    ];
    let run = evaluated(&queries, &searches, "AP");
    run.scores("도시관리계획", &[("AP", 5.0 / 6.0)]);
    run.means(&[("AP", (1.0 + 5.0 / 6.0 + 0.0) / 3.0)]);
}

#[test]
fn methodology_2_5_ndcg_of_four_grades() {
    let results = [
        "법률_제21조_제1항",
        "시행령_제21조",
        "법률_제100조",
        "법률_제20조",
        "법률_제21조_제2항",
    ];
    let grades: Value = results
        .iter()
        .zip([3, 2, 0, 1, 3])
        .map(|(id, grade)| ((*id).to_owned(), json!(grade)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    // DCG 5.853, ideal 6.3235. The section rounds intermediate values, to 5.85 / 6.33 = .92.
    judged(&results, grades, "nDCG@5").scores(QUERY, &[("nDCG@5", 0.9256)]);
}

#[test]
fn methodology_2_5_ideal_ranking_contains_all_judged_documents() {
    let grades = json!({
        "법률_제21조_제1항": 3,
        "법률_제21조_제2항": 3,
        "시행령_제21조": 2,
        "법률_제20조_제3항": 1,
        "법률_제22조_제1항": 1,
    });
    // (3 + 1 / log2 3) / (3 + 3 / log2 3 + 2 / 2 + 1 / log2 5 + 1 / log2 6)
    let results = ["법률_제21조_제1항", "법률_제20조_제3항"];
    judged(&results, grades, "nDCG@5").scores(QUERY, &[("nDCG@5", 0.5411)]);
}

#[test]
fn methodology_2_6_mean_reciprocal_rank() {
    let queries = [
        gold(
            "21조 검색",
            relevant(&["법률_제21조_제1항", "법률_제21조_제2항"]),
            json!({}),
        ),
        gold(
            "용도지역 지정",
            relevant(&["법률_제36조", "법률_제37조"]),
            json!({}),
        ),
        gold("개발행위허가", relevant(&["법률_제56조"]), json!({})),
    ];
    let searches = [
        ("21조 검색", vec!["법률_제21조_제1항", "법률_제21조_제2항"]),
        (
            "용도지역 지정",
            vec!["법률_제100조", "법률_제36조", "법률_제37조"],
        ),
        (
            "개발행위허가",
            vec!["법률_제50조", "법률_제51조", "법률_제52조", "법률_제56조"],
        ),
    ]
    .map(|(key, results)| search(key, listed(&results), json!({})));
    let run = evaluated(&queries, &searches, "RR");
    run.scores("용도지역 지정", &[("RR", 0.5)]);
    run.scores("개발행위허가", &[("RR", 0.25)]);
    run.means(&[("RR", 0.5833)]);
}
