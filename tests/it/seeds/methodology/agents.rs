//! Chapter 4: routing to domains, and the contribution of other domains' agents.

use serde_json::{Value, json};

use crate::seeds::{Case, Run, evaluated, gold, listed, relevant, search};

const PLANNING: &str = "도시 계획 및 이용";
const LAND: &str = "토지 이용 및 보상";
const ENVIRONMENT: &str = "도시계획 및 환경 관리";

const ROUTED: &str = "도시관리계획 입안 절차";

/// Searches with these routings, for questions of the domain [`PLANNING`].
#[track_caller]
fn routed(routings: &[(&str, Value)], measures: &str) -> Run {
    let domain = json!({"primary_domain": PLANNING});
    let queries: Vec<Value> = routings
        .iter()
        .map(|(key, _)| gold(key, relevant(&["법률_제17조"]), domain.clone()))
        .collect();
    let searches: Vec<Value> = routings
        .iter()
        .map(|(key, routing)| search(key, listed(&["법률_제17조"]), json!({"routing": routing})))
        .collect();
    evaluated(&queries, &searches, measures)
}

#[test]
fn methodology_4_1_domain_routing_accuracy() {
    let routing = json!([LAND, PLANNING, ENVIRONMENT]);
    let run = routed(&[(ROUTED, routing)], "Routing@1 Routing@3 RoutingRR");
    let expected = [("Routing@1", 0.0), ("Routing@3", 1.0), ("RoutingRR", 0.5)];
    run.scores(ROUTED, &expected);
}

#[test]
fn methodology_4_1_routing_is_averaged_over_all_queries() {
    let routings = [
        ("둘째에 맞은 질문", json!([LAND, PLANNING])),
        ("바로 맞은 질문", json!([PLANNING, LAND, ENVIRONMENT])),
        (
            "넷째에 맞은 질문",
            json!([LAND, ENVIRONMENT, "토지 등 및 계획", PLANNING]),
        ),
        ("빗나간 질문", json!([LAND, ENVIRONMENT])),
    ];
    let run = routed(&routings, "Routing@1 Routing@3 Routing@5 RoutingRR");
    let expected = [
        ("Routing@1", 0.25),
        ("Routing@3", 0.5),
        ("Routing@5", 0.75),
        ("RoutingRR", (0.5 + 1.0 + 0.25 + 0.0) / 4.0),
    ];
    run.means(&expected);
}

const ARTICLE: &str = "17조 검색";

/// Example of 4.2: the primary domain has no article 17, and another domain has.
fn article() -> (Value, Value) {
    let truth = [
        "법률_제17조_제1항",
        "법률_제17조_제2항",
        "시행령_제17조",
        "시행규칙_제17조",
    ];
    let found: Value = truth[..3]
        .iter()
        .map(|id| json!({"id": id, "attrs": {"source": "a2a", "domain": ENVIRONMENT}}))
        .collect();
    let more = json!({"fired": {"a2a": true}, "domain": LAND});
    let query = gold(ARTICLE, relevant(&truth), json!({"needs_a2a": true}));
    (query, search(ARTICLE, found, more))
}

const CONTRIBUTION: &str = "Discovery(a2a,when=fired)";
const PRECISION: &str = "ComponentP(a2a,when=fired)";
const IMPROVEMENT: &str = "RecallGain(a2a,when=fired)";

#[test]
fn methodology_4_2_a2a_contribution_precision_and_recall_improvement() {
    let (query, event) = article();
    let measures = [CONTRIBUTION, PRECISION, IMPROVEMENT].join(" ");
    let run = evaluated(&[query], &[event], &measures);
    let expected = [(CONTRIBUTION, 0.75), (PRECISION, 1.0), (IMPROVEMENT, 0.75)];
    run.scores(ARTICLE, &expected);
}

/// Four searches: a2a needed or not, fired or not. Where it fired, it added one of two relevant
/// documents; the other is of the primary domain.
fn collaborations() -> Case {
    let cases = [
        ("필요했고 협업함", true, true),
        ("필요했으나 안 함", true, false),
        ("필요 없고 안 함", false, false),
        ("필요 없으나 협업함", false, true),
    ];
    let queries = cases
        .map(|(key, needed, _)| gold(key, relevant(&["가", "나"]), json!({"needs_a2a": needed})));
    let searches = cases.map(|(key, _, fired)| {
        let mut results = vec![json!({"id": "가", "attrs": {"source": "my_domain"}})];
        if fired {
            results
                .extend(["나", "다", "라"].map(|id| json!({"id": id, "attrs": {"source": "a2a"}})));
        }
        search(key, results.into(), json!({"fired": {"a2a": fired}}))
    });
    Case::new(&queries).run("run", &searches)
}

#[test]
fn methodology_4_2_a2a_is_averaged_over_the_searches_in_which_it_fired() {
    let measures = [
        CONTRIBUTION,
        PRECISION,
        IMPROVEMENT,
        "Discovery(a2a)",
        "Fired(a2a)",
    ];
    let run = collaborations().evaluated(&measures.join(" "));
    let expected = [
        (CONTRIBUTION, 0.5),
        (PRECISION, 1.0 / 3.0),
        (IMPROVEMENT, 0.5),
        ("Discovery(a2a)", 0.25),
        ("Fired(a2a)", 0.5),
    ];
    run.means(&expected);
    run.has_no_score("필요 없고 안 함", &[CONTRIBUTION, PRECISION, IMPROVEMENT]);
}

#[test]
fn methodology_4_2_a2a_that_fired_without_results_has_precision_0() {
    let fired = |key, results: &[Value]| {
        let mut all = vec![json!({"id": "가", "attrs": {"source": "my_domain"}})];
        all.extend_from_slice(results);
        search(key, all.into(), json!({"fired": {"a2a": true}}))
    };
    let other = |id| json!({"id": id, "attrs": {"source": "a2a"}});
    let keys = ["찾음", "못 찾음"];
    let queries = keys.map(|key| gold(key, relevant(&["가", "나"]), json!({})));
    let searches = [
        fired(keys[0], &[other("나"), other("다")]),
        fired(keys[1], &[]),
    ];
    let zero = "ComponentP(a2a,absent=zero,when=fired)";
    let run = evaluated(&queries, &searches, &[PRECISION, zero].join(" "));
    run.means(&[(PRECISION, 0.5), (zero, 0.25)]);
    run.has_no_score(keys[1], &[PRECISION]);
}

#[test]
fn methodology_4_2_a2a_trigger_accuracy_is_over_all_searches() {
    // The section's formula divides by the queries that need it, its code by all: the code's is
    // the accuracy, the formula's the recall.
    let run = collaborations().evaluated("Trigger(a2a)");
    run.means(&[("Trigger(a2a)", 0.5)]);
    run.scores("필요했고 협업함", &[("Trigger(a2a)", 1.0)]);
    run.scores("필요했으나 안 함", &[("Trigger(a2a)", 0.0)]);
    run.scores("필요 없고 안 함", &[("Trigger(a2a)", 1.0)]);
}

#[test]
fn methodology_4_3_cross_domain_result_relevance() {
    let truth = relevant(&["가", "나", "다", "라"]);
    let result = |id, domain| json!({"id": id, "attrs": {"domain": domain}});
    let results = json!([
        result("가", PLANNING),
        result("나", LAND),
        result("마", PLANNING),
        // Found by both domains: relevant in each, and a contribution of neither alone.
        result("가", ENVIRONMENT),
        result("다", ENVIRONMENT),
        result("바", LAND),
    ]);
    let query = gold(ROUTED, truth, json!({"primary_domain": LAND}));
    // The primary domain is the domain that was searched, even if another is the right one.
    let event = search(ROUTED, results, json!({"domain": PLANNING}));
    let measures = "BaseP(cross_domain) Discovery(cross_domain)";
    let run = evaluated(&[query], &[event], measures);
    let expected = [
        ("BaseP(cross_domain)", 0.5),
        ("Discovery(cross_domain)", 0.5),
    ];
    run.scores(ROUTED, &expected);
}

#[test]
fn methodology_4_3_cross_domain_precision() {
    let result = |id, domain| json!({"id": id, "attrs": {"domain": domain}});
    let results = json!([
        result("가", PLANNING),
        result("나", LAND),
        result("다", ENVIRONMENT),
        result("바", LAND),
    ]);
    let query = gold(ROUTED, relevant(&["가", "나", "다"]), json!({}));
    let event = search(ROUTED, results, json!({"domain": PLANNING}));
    let run = evaluated(
        &[query],
        &[event],
        "BaseP(cross_domain) ComponentP(cross_domain)",
    );
    let expected = [
        ("BaseP(cross_domain)", 1.0),
        ("ComponentP(cross_domain)", 2.0 / 3.0),
    ];
    run.scores(ROUTED, &expected);
}

/// Search with these ids before and after removal of its duplicates.
#[track_caller]
fn deduplicated(before: &[&str], after: &[&str], measures: &str) -> Run {
    let query = gold(ARTICLE, relevant(&["가"]), json!({}));
    let event = search(ARTICLE, listed(after), json!({"merged_from": before}));
    evaluated(&[query], &[event], measures)
}

#[test]
fn methodology_4_4_duplicate_detection_effectiveness() {
    let measures = "DupBefore DupAfter DupRemoved DedupEffect";
    let before = ["가", "나", "가", "다", "나", "가", "라", "마"];
    let some = deduplicated(&before, &["가", "나", "가", "다", "라", "마"], measures);
    let expected = [
        ("DupBefore", 3.0 / 8.0),
        ("DupAfter", 1.0 / 6.0),
        ("DupRemoved", 2.0),
        ("DedupEffect", 5.0 / 9.0),
    ];
    some.scores(ARTICLE, &expected);
    let all = deduplicated(&before, &["가", "나", "다", "라", "마"], measures);
    let expected = [("DupAfter", 0.0), ("DupRemoved", 3.0), ("DedupEffect", 1.0)];
    all.scores(ARTICLE, &expected);
}

#[test]
fn methodology_4_4_deduplication_without_duplicates_is_perfect() {
    let run = deduplicated(&["가", "나"], &["가", "나"], "DupBefore DedupEffect");
    run.scores(ARTICLE, &[("DupBefore", 0.0), ("DedupEffect", 1.0)]);
}

#[test]
fn methodology_4_4_without_the_ids_before_there_is_no_score() {
    let query = gold(ARTICLE, relevant(&["가"]), json!({}));
    let event = search(ARTICLE, listed(&["가"]), json!({}));
    let run = evaluated(&[query], &[event], "DupBefore DupAfter DedupEffect");
    run.scores(ARTICLE, &[("DupAfter", 0.0)]);
    run.has_no_score(ARTICLE, &["DupBefore", "DedupEffect"]);
}
