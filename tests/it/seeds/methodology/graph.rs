//! Chapter 3: results of expansion along the graph of the law.

use serde_json::{Value, json};

use crate::seeds::{Run, evaluated, gold, listed, relevant, search};

const PLANNING: &str = "도시관리계획 입안 절차";

/// Ground truth of 3.1; no search finds the last document.
fn planning_truth() -> Value {
    gold(
        PLANNING,
        relevant(&[
            "법률_제17조_제1항",
            "법률_제17조_제2항",
            "시행령_제17조",
            "법률_제18조_제1항",
            "법률_제19조_제1항",
            "법률_제20조_제1항",
        ]),
        json!({}),
    )
}

/// Results of hybrid search in 3.1, then those of expansion: two relevant documents and one that is
/// not relevant.
fn planning_results() -> Vec<Value> {
    vec![
        json!({"id": "법률_제17조_제1항", "stages": ["exact"]}),
        json!({"id": "법률_제17조_제2항", "stages": ["vector"]}),
        json!({"id": "시행령_제17조", "stages": ["vector", "relationship"]}),
        json!({"id": "법률_제18조_제1항", "stages": ["rne_1hop"]}),
        json!({"id": "법률_제19조_제1항", "stages": ["rne_2hop"]}),
        json!({"id": "법률_제100조", "stages": ["rne_1hop"]}),
    ]
}

#[track_caller]
fn planning(results: Vec<Value>, measures: &str) -> Run {
    let event = search(PLANNING, results.into(), json!({}));
    evaluated(&[planning_truth()], &[event], measures)
}

#[test]
fn methodology_3_1_rne_discovery_rate_and_precision() {
    let run = planning(
        planning_results(),
        "Discovery(rne) DiscoveryCount(rne) ComponentP(rne) BaseP(rne)",
    );
    let expected = [
        ("Discovery(rne)", 2.0 / 6.0),
        ("DiscoveryCount(rne)", 2.0),
        ("ComponentP(rne)", 2.0 / 3.0),
        ("BaseP(rne)", 1.0),
    ];
    run.scores(PLANNING, &expected);
}

#[test]
fn methodology_3_1_rne_recall_improvement_may_be_negative() {
    // As in the section's code: recall of RNE against recall of the rest, 2/6 - 3/6.
    let run = planning(planning_results(), "RecallDelta(rne) RecallGain(rne)");
    let expected = [
        ("RecallDelta(rne)", -1.0 / 6.0),
        ("RecallGain(rne)", 2.0 / 6.0),
    ];
    run.scores(PLANNING, &expected);
}

#[test]
fn methodology_3_1_a_document_also_found_by_hybrid_search_is_no_discovery() {
    let mut results = planning_results();
    results[3] = json!({"id": "법률_제18조_제1항", "stages": ["vector", "rne_1hop"]});
    let run = planning(results, "Discovery(rne) ComponentP(rne)");
    let expected = [
        ("Discovery(rne)", 1.0 / 6.0),
        ("ComponentP(rne)", 2.0 / 3.0),
    ];
    run.scores(PLANNING, &expected);
}

#[test]
fn methodology_3_1_a_document_listed_by_both_is_no_discovery() {
    // The code subtracts sets of ids.
    let mut results = planning_results();
    results.push(json!({"id": "시행령_제17조", "stages": ["rne_1hop"]}));
    planning(results, "Discovery(rne)").scores(PLANNING, &[("Discovery(rne)", 2.0 / 6.0)]);
}

#[test]
fn methodology_3_1_rne_without_results_discovers_nothing_and_has_no_precision() {
    let mut results = planning_results();
    results.truncate(3);
    let measures = "Discovery(rne) ComponentP(rne) Hops(rne) Discovery(rne,when=fired)";
    let run = planning(results, measures);
    run.scores(PLANNING, &[("Discovery(rne)", 0.0)]);
    run.has_no_score(
        PLANNING,
        &["ComponentP(rne)", "Hops(rne)", "Discovery(rne,when=fired)"],
    );
    run.has_no_mean(&["ComponentP(rne)", "Discovery(rne,when=fired)"]);
}

#[test]
fn methodology_3_1_graph_hops_of_the_results_of_rne() {
    let by_stage = planning(planning_results(), "Hops(rne)");
    by_stage.scores(PLANNING, &[("Hops(rne)", 4.0 / 3.0)]);

    // `graph_hops` of the section is `hops` of an event. Results from other sources do not count.
    let mut results = planning_results();
    for (result, hops) in results.iter_mut().zip([9, 9, 9, 1, 3, 2]) {
        result["hops"] = json!(hops);
    }
    planning(results, "Hops(rne)").scores(PLANNING, &[("Hops(rne)", 2.0)]);
}

const ARTICLE: &str = "17조 검색";

/// Grades of 1 with each document's `law_type`.
fn typed(documents: &[(&str, &str)]) -> Value {
    let pair = |(id, law_type): &(&str, &str)| {
        (
            (*id).to_owned(),
            json!({"relevance": 1, "law_type": law_type}),
        )
    };
    documents
        .iter()
        .map(pair)
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[track_caller]
fn article(truth: &[(&str, &str)], measures: &str) -> Run {
    let results = json!([
        {"id": "법률_제17조_제1항", "attrs": {"law_type": "법률"}},
        {"id": "시행령_제17조", "attrs": {"law_type": "시행령"}},
    ]);
    let query = gold(ARTICLE, typed(truth), json!({}));
    evaluated(&[query], &[search(ARTICLE, results, json!({}))], measures)
}

const CROSS_LAW: &str = "FacetR(law_type!=법률)";
const DECREE: &str = "FacetR(law_type=시행령)";
const RULE: &str = "FacetR(law_type=시행규칙)";

#[test]
fn methodology_3_2_cross_law_discovery_rate() {
    let truth = [
        ("법률_제17조_제1항", "법률"),
        ("법률_제17조_제2항", "법률"),
        ("시행령_제17조", "시행령"),
        ("시행규칙_제17조", "시행규칙"),
        ("시행령_제18조", "시행령"),
    ];
    let run = article(&truth, &[CROSS_LAW, DECREE, RULE].join(" "));
    run.scores(
        ARTICLE,
        &[(CROSS_LAW, 1.0 / 3.0), (DECREE, 0.5), (RULE, 0.0)],
    );
}

#[test]
fn methodology_3_2_cross_law_discovery_rate_of_the_usage_example() {
    let truth = [
        ("법률_제17조_제1항", "법률"),
        ("법률_제17조_제2항", "법률"),
        ("시행령_제17조", "시행령"),
        ("시행규칙_제17조", "시행규칙"),
    ];
    let run = article(&truth, &[CROSS_LAW, DECREE, RULE].join(" "));
    run.scores(ARTICLE, &[(CROSS_LAW, 0.5), (DECREE, 1.0), (RULE, 0.0)]);
}

#[test]
fn methodology_3_2_gold_without_another_law_gives_no_score() {
    // The section's code says 0, which would count a question without decrees as a failure.
    let truth = [("법률_제17조_제1항", "법률"), ("법률_제17조_제2항", "법률")];
    let run = article(&truth, &[CROSS_LAW, RULE].join(" "));
    run.has_no_score(ARTICLE, &[CROSS_LAW, RULE]);
    run.has_no_mean(&[CROSS_LAW, RULE]);
}

#[test]
fn methodology_3_2_direction_of_cross_law_discovery() {
    let decree = "FacetR(law_type=시행령,from=법률)";
    let rule_of_act = "FacetR(law_type=시행규칙,from=법률)";
    let rule_of_decree = "FacetR(law_type=시행규칙,from=시행령)";
    let other_act = "FacetR(law!=국토계획법,from=국토계획법)";
    let document = |grade: u8, law: &str, law_type: &str| json!({"relevance": grade, "law": law, "law_type": law_type});
    // The documents with the highest grade are those that a query starts from.
    let act = json!({
        "법률_제17조": document(3, "국토계획법", "법률"),
        "시행령_제17조": document(2, "국토계획법", "시행령"),
        "시행령_제18조": document(2, "국토계획법", "시행령"),
        "시행규칙_제17조": document(1, "국토계획법", "시행규칙"),
        "건축법_제2조": document(1, "건축법", "법률"),
    });
    let ordinance = json!({
        "시행령_제30조": document(3, "국토계획법", "시행령"),
        "시행규칙_제4조": document(2, "국토계획법", "시행규칙"),
        "시행규칙_제5조": document(2, "국토계획법", "시행규칙"),
    });
    let found = ["법률_제17조", "시행령_제17조", "건축법_제2조"];
    let found_of_ordinance = ["시행령_제30조", "시행규칙_제5조"];
    let run = evaluated(
        &[
            gold("17조", act, json!({})),
            gold("시행령 30조", ordinance, json!({})),
        ],
        &[
            search("17조", listed(&found), json!({})),
            search("시행령 30조", listed(&found_of_ordinance), json!({})),
        ],
        &[decree, rule_of_act, rule_of_decree, other_act].join(" "),
    );
    run.scores(
        "17조",
        &[(decree, 0.5), (rule_of_act, 0.0), (other_act, 1.0)],
    );
    run.has_no_score("17조", &[rule_of_decree]);
    run.scores("시행령 30조", &[(rule_of_decree, 0.5)]);
    run.has_no_score("시행령 30조", &[decree, rule_of_act, other_act]);
}

#[test]
fn methodology_3_3_graph_coverage() {
    let graph = json!({"graph": {
        "nodes": ["법률_제17조", "시행령_제17조", "시행규칙_제17조", "법률_제18조"],
        "edges": [
            {"from": "법률_제17조", "to": "시행령_제17조"},
            {"from": "시행령_제17조", "to": "시행규칙_제17조"},
            {"from": "법률_제17조", "to": "법률_제18조"},
        ],
    }});
    let query = gold(ARTICLE, relevant(&["법률_제17조"]), graph);
    let results = json!([
        {"id": "법률_제17조", "depth": 0},
        {"id": "시행령_제17조", "depth": 1, "path": [{"from": "법률_제17조", "to": "시행령_제17조"}]},
        // The same edge again, a reversed edge, and an edge that is not expected.
        {"id": "법률_제100조", "depth": 3, "path": [
            {"from": "법률_제17조", "to": "시행령_제17조"},
            {"from": "시행규칙_제17조", "to": "시행령_제17조"},
            {"from": "시행령_제17조", "to": "법률_제100조"},
        ]},
    ]);
    let measures = "NodeCoverage EdgeCoverage MaxDepth MeanDepth";
    let run = evaluated(&[query], &[search(ARTICLE, results, json!({}))], measures);
    let expected = [
        ("NodeCoverage", 0.5),
        ("EdgeCoverage", 1.0 / 3.0),
        ("MaxDepth", 3.0),
        ("MeanDepth", 4.0 / 3.0),
    ];
    run.scores(ARTICLE, &expected);
}

#[test]
fn methodology_3_3_results_without_a_depth_count_as_0_in_the_mean() {
    let query = gold(ARTICLE, relevant(&["가"]), json!({}));
    let results =
        json!([{"id": "가", "depth": 1}, {"id": "나", "depth": 3}, {"id": "다"}, {"id": "라"}]);
    let measures = "MeanDepth MeanDepth(absent=zero)";
    let run = evaluated(&[query], &[search(ARTICLE, results, json!({}))], measures);
    let expected = [("MeanDepth", 2.0), ("MeanDepth(absent=zero)", 1.0)];
    run.scores(ARTICLE, &expected);
}

#[test]
fn methodology_3_3_gold_without_a_graph_gives_no_score() {
    let query = gold(ARTICLE, relevant(&["법률_제17조"]), json!({}));
    let event = search(ARTICLE, listed(&["법률_제17조"]), json!({}));
    let run = evaluated(&[query], &[event], "NodeCoverage EdgeCoverage");
    run.has_no_score(ARTICLE, &["NodeCoverage", "EdgeCoverage"]);
}
