//! The design of measures for retrieval-augmented generation.

use std::collections::BTreeMap;

use rankgauge_core::gold::{self, Options};
use serde_json::{Value, json};

use super::{
    Case, Run, assert_close, assert_targets, data, evaluated, gold as query, listed, relevant,
    search,
};
use crate::harness::command::printed;

const QUERY: &str = "온라인으로 구매한 제품이 불량이에요. 환불 받을 수 있나요?";
const COUNSEL: &str = "consumer.go.kr:consumer_counsel_case:12345::chunk0";
const MEDIATION: &str = "consumer.go.kr:consumer_mediation_case:67890::chunk1";
const STATUTE: &str = "statute:civil_law:article_100::chunk0";

/// The document's example, in a list, because its data sets are lists.
fn data_set() -> String {
    let example = std::fs::read_to_string(data("rag-2.json")).expect("a file of the seeds");
    format!("[{example}]")
}

#[test]
fn rag_2_gold_data_set() {
    let set = gold::parse("gold_v1.json", data_set().as_bytes(), &Options::default());
    let set = set.expect("the document's example is valid");
    let query = &set.queries()[0];
    assert_eq!(
        (query.key.as_str(), query.text.as_deref()),
        ("Q001", Some(QUERY))
    );
    // Highly relevant, relevant, irrelevant.
    let grades = [COUNSEL, MEDIATION, STATUTE]
        .map(|id| query.judgements.find(id).map(|(_, grade)| grade.get()));
    assert_eq!(grades, [Some(2.0), Some(1.0), Some(0.0)]);
    let labels: BTreeMap<&str, &str> = query
        .labels
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    for (name, value) in [
        ("query_type", "general_inquiry"),
        ("difficulty", "easy"),
        ("category", "환불"),
    ] {
        assert_eq!(labels.get(name), Some(&value));
    }
    assert_eq!(
        query.expected["doc_type"],
        ["counsel_case", "mediation_case", "law"]
    );
}

#[test]
fn rag_2_a_search_is_judged_by_the_data_set() {
    let case = Case::new(&[]);
    case.write("gold.json", &data_set());
    let results = json!([
        {"id": MEDIATION, "attrs": {"doc_type": "mediation_case"}},
        {"id": STATUTE, "attrs": {"doc_type": "law"}},
        {"id": "처음 보는 문서::chunk7", "attrs": {"doc_type": "blog"}},
    ]);
    let case = case.run("run", &[search("Q001", results, json!({}))]);
    let run = case.evaluated("P@3 R@3 nDCG@3 Judged@3 FacetCoverage(doc_type)");
    // nDCG: 1 / (2 + 1 / log2 3).
    let expected = [
        ("P@3", 1.0 / 3.0),
        ("R@3", 0.5),
        ("nDCG@3", 0.3801),
        ("Judged@3", 2.0 / 3.0),
        ("FacetCoverage(doc_type)", 2.0 / 3.0),
    ];
    run.scores("Q001", &expected);
}

#[test]
fn rag_2_distribution_of_types_and_difficulties() {
    let kinds = [
        "general_inquiry",
        "general_inquiry",
        "legal_interpretation",
        "similar_case",
    ];
    let queries: Vec<Value> = (0_u8..20)
        .zip(kinds.iter().cycle())
        .map(|(number, kind)| {
            let difficulty = ["easy", "easy", "medium", "medium", "hard"][usize::from(number / 4)];
            let labels = json!({"query_type": kind, "difficulty": difficulty});
            query(&format!("질문 {number}"), relevant(&["가"]), labels)
        })
        .collect();
    let case = Case::new(&queries);
    let targets = [
        "query_type.general_inquiry=0.5",
        "query_type.legal_interpretation=0.25",
        "query_type.similar_case=0.25",
        "difficulty.easy=0.4",
        "difficulty.medium=0.4",
        "difficulty.hard=0.2",
    ];
    let mut arguments = vec!["gold", "validate", "gold.json", "--format", "json"];
    arguments.extend(targets.iter().flat_map(|target| ["--target", target]));
    let report = case.json(&arguments);
    for target in targets {
        let (path, share) = target.split_once('=').expect("label.value=share");
        let (label, value) = path.split_once('.').expect("label.value");
        let found = &report["distribution"][label][value];
        let share = share.parse().expect("a share");
        assert_close(path, &found["share"], share);
        assert_close(path, &found["target"], share);
    }
}

/// One search with results that have these values of a facet.
#[track_caller]
fn faceted(facet: &str, values: &[&str], expected: Value, measures: &str) -> Run {
    let results: Vec<Value> = values
        .iter()
        .enumerate()
        .map(|(number, value)| json!({"id": format!("청크::{number}"), "attrs": {facet: value}}))
        .collect();
    let query = query("Q001", relevant(&["청크::0"]), expected);
    evaluated(
        &[query],
        &[search("Q001", results.into(), json!({}))],
        measures,
    )
}

#[test]
fn rag_3_2_1_document_type_coverage() {
    let measure = "FacetCoverage(doc_type)";
    let expected = json!({"expected": {"doc_type": ["counsel_case", "mediation_case", "law"]}});
    // The sample result of phase 3: .67. Unexpected types cannot raise it.
    let types = ["law", "counsel_case", "law", "blog", "news"];
    let run = faceted("doc_type", &types, expected.clone(), measure);
    run.scores("Q001", &[(measure, 2.0 / 3.0)]);
    faceted("doc_type", &[], expected, measure).scores("Q001", &[(measure, 0.0)]);
    faceted("doc_type", &types, json!({}), measure).has_no_score("Q001", &[measure]);
}

#[test]
fn rag_3_2_2_source_diversity() {
    let entropy = |sources: &[&str]| {
        faceted(
            "source",
            sources,
            json!({}),
            "Entropy(source) Entropy(source)@2",
        )
    };
    let four = entropy(&["상담", "조정", "법령", "판례"]);
    four.scores(
        "Q001",
        &[("Entropy(source)", 2.0), ("Entropy(source)@2", 1.0)],
    );
    let one = entropy(&["상담", "상담", "상담"]);
    one.scores(
        "Q001",
        &[("Entropy(source)", 0.0), ("Entropy(source)@2", 0.0)],
    );
    // -(3/4 log2 3/4 + 1/4 log2 1/4)
    let uneven = entropy(&["상담", "상담", "조정", "상담"]);
    uneven.scores(
        "Q001",
        &[("Entropy(source)", 0.8113), ("Entropy(source)@2", 0.0)],
    );
}

#[test]
fn rag_3_3_1_average_query_time() {
    let case = Case::new(&[query("Q001", relevant(&["가"]), json!({}))]);
    let times = [80, 150, 220];
    let searches: Vec<String> = times
        .iter()
        .zip(1..)
        .map(|(milliseconds, number)| {
            let id = format!("search {number}");
            let more = json!({"query_id": id, "latency_ms": milliseconds});
            search("Q001", listed(&["가"]), more).to_string()
        })
        .collect();
    case.write("searches.jsonl", &searches.join("\n"));
    case.write("config.yaml", "gold: {paths: [gold.json]}\n");
    let arguments = "replay --config config.yaml --search searches.jsonl";
    let report = case.json(arguments);
    let sample = |name: &str| {
        let samples = report["metrics"].as_array().expect("samples");
        let of_all = samples
            .iter()
            .find(|sample| sample["name"] == name && sample["labels"]["stage"] == "all");
        let value = of_all.expect("the sample")["value"].to_string();
        value.trim_matches('"').parse::<f64>().expect("a number")
    };
    let (sum, count) = (
        sample("rankgauge_search_latency_seconds_sum"),
        sample("rankgauge_search_latency_seconds_count"),
    );
    assert_close("average query time", &json!(sum / count), 0.15);
}

#[test]
fn rag_3_4_1_context_relevance() {
    let context = |ids: Value| {
        let query = query("Q001", json!({"가": 2, "나": 1, "다": 0}), json!({}));
        let event = search("Q001", listed(&["가"]), json!({"context": ids}));
        evaluated(&[query], &[event], "ContextP")
    };
    context(json!(["가", "나", "다", "라"])).scores("Q001", &[("ContextP", 0.5)]);
    context(json!([])).has_no_score("Q001", &["ContextP"]);
}

#[test]
fn rag_3_4_2_context_completeness() {
    let complete = |more: Value| {
        let query = query("Q001", json!({"가": 2, "나": 2, "다": 1, "라": 1}), more);
        let event = search("Q001", listed(&["가"]), json!({"context": ["가", "다"]}));
        evaluated(&[query], &[event], "ContextR")
    };
    complete(json!({"required": ["가", "다", "라"]})).scores("Q001", &[("ContextR", 2.0 / 3.0)]);
    // Where no document is marked as required, those with the highest grade are.
    complete(json!({})).scores("Q001", &[("ContextR", 0.5)]);
}

/// Questions of two types, answered by three methods.
fn methods() -> Case {
    let kinds = [
        ("환불 문의", "general_inquiry"),
        ("교환 문의", "general_inquiry"),
        ("민법 조항", "legal_interpretation"),
    ];
    let queries =
        kinds.map(|(key, kind)| query(key, relevant(&["가", "나"]), json!({"query_type": kind})));
    let run = |results: [&[&str]; 3]| -> Vec<Value> {
        kinds
            .iter()
            .zip(results)
            .map(|((key, _), results)| search(key, listed(results), json!({})))
            .collect()
    };
    Case::new(&queries)
        .run(
            "vector",
            &run([&["다", "라", "가"], &["다", "가"], &["다", "라", "가"]]),
        )
        .run("hybrid", &run([&["다", "가"], &["가"], &["가", "나"]]))
        .run(
            "multi-source",
            &run([&["가", "나"], &["가", "나"], &["다", "가"]]),
        )
}

/// Output of `evaluate` for these methods in a format.
fn report(format: &str) -> String {
    let more = ["--by", "query_type", "--format", format];
    let output = methods().output("P@3 R@3 F1@3 AP RR nDCG@3", &more);
    let text = printed(&output);
    // Markdown escapes characters that are not markup.
    text.replace('\\', "")
}

#[test]
fn rag_phase_3_result_of_every_query() {
    let case = methods();
    let run = case.evaluated("P@1 P@3 R@3 F1@3 AP RR nDCG@3");
    let result = run.0["per_query"]["환불 문의"]
        .as_object()
        .expect("measure by measure");
    assert_eq!(result.len(), 7);
    run.scores(
        "환불 문의",
        &[
            ("P@1", 0.0),
            ("P@3", 1.0 / 3.0),
            ("R@3", 0.5),
            ("RR", 1.0 / 3.0),
        ],
    );
}

#[test]
fn rag_phase_4_results_as_csv() {
    let text = report("csv");
    let columns = text.lines().next().expect("a header");
    assert_eq!(columns, "table,run,slice,value,measure,score,n,text");
    for row in [
        "mean,multi-source,,,RR,0.8333333333333334,3,",
        "mean,hybrid,query_type,legal_interpretation,R@3,1,1,",
    ] {
        assert!(text.lines().any(|line| line == row), "no {row} in\n{text}");
    }
}

#[test]
fn rag_report_best_method_by_question_type() {
    let case = methods();
    let arguments = "compare --gold gold.json --run vector.jsonl --run hybrid.jsonl --run \
                     multi-source.jsonl --measures R@3 --by query_type --format json";
    let report = case.json(arguments);
    let best = report["best"].as_array().expect("the best by slice");
    for (kind, queries, method) in [
        ("general_inquiry", 2, "multi-source"),
        ("legal_interpretation", 1, "hybrid"),
    ] {
        let of_kind = best.iter().find(|part| part["value"] == kind);
        let of_kind = of_kind.unwrap_or_else(|| panic!("no {kind} in {}", report["best"]));
        assert_eq!(of_kind["measures"]["R@3"]["best"], json!([method]));
        assert_eq!(of_kind["n"], queries);
    }
}

#[test]
fn rag_report_compares_methods_side_by_side() {
    let report = report("markdown");
    // Rows are measures, columns are methods, and cells hold the mean of the method.
    let mut rows = report.lines().filter(|line| line.starts_with('|'));
    let header = rows.find(|line| {
        ["vector", "hybrid", "multi-source"]
            .iter()
            .all(|name| line.contains(name))
    });
    assert!(header.is_some(), "{report}");
    let recall = report.lines().find(|line| {
        line.starts_with('|') && line.contains("R@3") && line.matches('|').count() > 4
    });
    let recall = recall.unwrap_or_else(|| panic!("no row of R@3 in\n{report}"));
    for mean in ["0.5000", "0.6667", "0.8333"] {
        assert!(recall.contains(mean), "no {mean} in {recall}");
    }
}

#[test]
fn rag_report_has_types_and_recommendations() {
    let report = report("markdown");
    for wanted in ["general_inquiry", "legal_interpretation"] {
        assert!(report.contains(wanted), "no {wanted} in\n{report}");
    }
    let headings: Vec<&str> = report
        .lines()
        .filter(|line| line.starts_with('#'))
        .collect();
    let recommends = |heading: &&str| heading.to_lowercase().contains("recommendation");
    assert!(headings.iter().any(recommends), "{headings:?}");
    // The best method overall, and the method that is better for one type of question.
    let (_, advice) = report
        .rsplit_once("ecommendations")
        .expect("the last heading");
    assert!(
        advice.contains("multi-source") && advice.contains("hybrid"),
        "{advice}"
    );
}

#[test]
fn rag_success_criteria_are_targets_of_the_law_search_profile() {
    assert_targets(&[("P@3", "good", 0.70), ("nDCG@3", "good", 0.75)]);
    // MAP above .70 is 7.2's first tier of the methodology; MRR above .75 is met by its .80.
    assert_targets(&[("AP", "excellent", 0.70), ("RR", "excellent", 0.80)]);
}
