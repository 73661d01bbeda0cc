//! Chapter 5 and appendix C: content, validation and extension of a test set.

use std::collections::BTreeMap;

use rankgauge_core::gold::{self, GoldQuery, GoldSet, Grade, Options};
use serde_json::{Value, json};

use crate::seeds::{Case, assert_close, data, gold as query, json_of, listed, rankgauge, search};

fn loaded(name: &str) -> GoldSet {
    gold::load(&[data(name)], &Options::default()).expect("the document's example is valid")
}

fn grades(query: &GoldQuery, documents: &[&str]) -> Vec<Option<f64>> {
    documents
        .iter()
        .map(|id| query.judgements.find(id).map(|(_, grade)| grade.get()))
        .collect()
}

#[test]
fn methodology_5_3_ground_truth_file() {
    let set = loaded("methodology-5-3.json");
    assert_eq!((set.version(), set.queries().len()), ("1.0", 1));
    let query = &set.queries()[0];
    let labels: BTreeMap<&str, &str> = query
        .labels
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let expected = BTreeMap::from([
        ("query_type", "specific_article"),
        ("difficulty", "easy"),
        ("primary_domain", "도시계획 및 환경 관리"),
    ]);
    assert_eq!((query.key.as_str(), labels), ("Q001", expected));
    let documents = ["법률_제17조_제1항", "법률_제17조_제2항", "시행령_제17조"];
    assert_eq!(grades(query, &documents), [Some(3.0), Some(3.0), Some(2.0)]);
    assert_eq!(
        query.needs,
        BTreeMap::from([("a2a".to_owned(), false), ("rne".to_owned(), true)])
    );

    let (position, _) = query.judgements.find("시행령_제17조").expect("judged");
    let detail = &query.details[position];
    assert_eq!(detail.facets["law_type"], "시행령");
    assert_eq!(detail.notes.as_deref(), Some("관련 시행령"));
    for annotator in ["annotator_1", "annotator_2"] {
        assert_eq!(detail.annotations.get(annotator).copied(), Grade::new(2.0));
    }
}

#[test]
fn methodology_c_test_set_with_plain_grades() {
    let set = loaded("methodology-c.json");
    let query = &set.queries()[0];
    let documents = [
        "국토의_계획_및_이용에_관한_법률_법률_제17조_제1항",
        "국토의_계획_및_이용에_관한_법률_법률_제17조_제2항",
        "국토의_계획_및_이용에_관한_법률_시행령_제17조",
    ];
    assert_eq!(grades(query, &documents), [Some(3.0), Some(3.0), Some(2.0)]);
    assert!(query.needs.is_empty());
}

#[test]
fn methodology_5_3_a_search_is_judged_by_the_file() {
    let results = ["법률_제17조_제1항", "법률_제16조", "시행령_제17조"];
    let event = search("Q001", listed(&results), json!({}));
    let case = Case::with_gold_file("methodology-5-3.json").run("run", &[event]);
    let run = case.evaluated("P@3 R@3 nDCG@3 FacetR(law_type=시행령)");
    // (3 + 2 / 2) / (3 + 3 / log2 3 + 2 / 2)
    let expected = [
        ("P@3", 2.0 / 3.0),
        ("R@3", 2.0 / 3.0),
        ("nDCG@3", 0.6788),
        ("FacetR(law_type=시행령)", 1.0),
    ];
    run.scores("Q001", &expected);
}

/// Report of `gold validate` on a set that is valid or not.
#[track_caller]
fn validated(queries: &[Value], valid: bool, more: &[&str]) -> Value {
    let case = Case::new(queries);
    let mut arguments = vec!["gold", "validate", "gold.json", "--format", "json"];
    arguments.extend(more);
    let output = rankgauge(case.folder.path(), &arguments);
    let report = json_of(&output, i32::from(!valid));
    assert_eq!(report["valid"], valid, "{report}");
    report
}

/// Asserts that the message of one of the problems contains all of `words`.
#[track_caller]
fn assert_said(problems: &Value, words: &[&str]) {
    let said = problems.as_array().expect("a list of problems");
    let about = |problem: &&Value| {
        let text = problem["message"].as_str().unwrap_or_default();
        words.iter().all(|word| text.contains(word))
    };
    assert!(
        said.iter().any(|problem| about(&problem)),
        "{words:?} in {problems}"
    );
}

#[test]
fn methodology_5_3_total_relevant_must_match() {
    let wrong = query(
        "17조 검색",
        json!({"가": 3, "나": 0}),
        json!({"total_relevant": 2}),
    );
    let report = validated(&[wrong], false, &[]);
    assert_said(&report["errors"], &["total_relevant", "17조 검색"]);
}

/// Grades by two annotators, in the format of 5.3.
fn annotated(pairs: &[[u8; 2]]) -> Value {
    let judgement = |(number, [first, second]): (usize, &[u8; 2])| {
        let judgement = json!({"relevance": first, "annotator_1": first, "annotator_2": second});
        (format!("법률_제{number}조"), judgement)
    };
    let judgements: serde_json::Map<_, _> = pairs.iter().enumerate().map(judgement).collect();
    query("17조 검색", judgements.into(), json!({}))
}

#[test]
fn methodology_5_3_annotators_agree_with_a_kappa_of_at_least_0_7() {
    let kappa = |pairs: &[[u8; 2]], code| {
        let case = Case::new(&[annotated(pairs)]);
        let arguments = "gold kappa gold.json --threshold 0.7 --format json";
        json_of(&rankgauge(case.folder.path(), arguments), code)
    };
    let good = [
        [3, 3],
        [3, 3],
        [3, 3],
        [2, 2],
        [2, 2],
        [1, 1],
        [1, 1],
        [0, 0],
        [0, 0],
        [3, 2],
    ];
    // Nine of ten agree; agreement by chance is .4 x .3 + .2 x .3 + .2 x .2 + .2 x .2 = .26.
    assert_close("kappa", &kappa(&good, 0)["kappa"], (0.9 - 0.26) / 0.74);
    let poor = [[3, 3], [3, 0], [0, 3], [0, 0]];
    assert_close("kappa", &kappa(&poor, 1)["kappa"], 0.0);
}

#[test]
fn methodology_5_2_distribution_of_types_and_difficulties() {
    let kinds = [
        ("specific_article", 3),
        ("keyword", 4),
        ("complex", 2),
        ("cross_law", 1),
    ];
    let types = kinds.iter().flat_map(|(kind, count)| vec![*kind; *count]);
    let difficulties = ["easy", "medium"]
        .into_iter()
        .flat_map(|level| vec![level; 4]);
    let difficulties = difficulties.chain(["hard"; 2]);
    let queries: Vec<Value> = types
        .zip(difficulties)
        .enumerate()
        .map(|(number, (query_type, difficulty))| {
            let labels = json!({"query_type": query_type, "difficulty": difficulty});
            query(&format!("제{number}조 검색"), json!({"가": 1}), labels)
        })
        .collect();
    let targets = [
        "query_type.specific_article=0.3",
        "query_type.keyword=0.4",
        "query_type.complex=0.2",
        "query_type.cross_law=0.1",
        "difficulty.easy=0.4",
        "difficulty.medium=0.4",
        "difficulty.hard=0.2",
    ];
    let arguments: Vec<&str> = targets
        .iter()
        .flat_map(|target| ["--target", target])
        .collect();
    let report = validated(&queries, true, &arguments);
    let shares = &report["distribution"];
    assert_close("keyword", &shares["query_type"]["keyword"]["share"], 0.4);
    assert_close("target", &shares["query_type"]["keyword"]["target"], 0.4);
    assert_close("hard", &shares["difficulty"]["hard"]["share"], 0.2);
    assert_eq!(shares["query_type"]["complex"]["count"], 2);

    let strayed = validated(&queries, true, &["--target", "query_type.keyword=0.7"]);
    assert_said(&strayed["warnings"], &["query_type", "keyword"]);
}

#[test]
fn methodology_5_1_recommended_numbers_of_queries() {
    let sizes = [
        (29, None),
        (30, Some("small")),
        (100, Some("medium")),
        (500, Some("large")),
    ];
    for (count, reached) in sizes {
        let queries: Vec<Value> = (0..count)
            .map(|number| query(&format!("제{number}조 검색"), json!({"가": 1}), json!({})))
            .collect();
        let size = &validated(&queries, true, &[])["size"];
        assert_eq!(
            (&size["queries"], &size["reached"]),
            (&json!(count), &json!(reached))
        );
    }
}

#[test]
fn methodology_5_4_automatic_expansion() {
    let truth = json!({"법률_제17조_제1항": 3, "법률_제17조_제3항": 0, "시행령_제17조": 1, "법률_제20조": 2});
    let case = Case::new(&[query("17조 검색", truth, json!({}))]);
    let edge =
        |from, to, relation| json!({"from": from, "to": to, "relation": relation}).to_string();
    let edges = [
        edge("법률_제17조_제1항", "법률_제17조_제2항", "same_article"),
        edge("법률_제17조_제1항", "시행령_제18조", "decree"),
        edge("법률_제17조_제1항", "시행규칙_제17조", "rule"),
        edge("법률_제17조_제1항", "법률_제22조", "references"),
        // An existing judgement stays, even if it is 0.
        edge("법률_제17조_제1항", "법률_제17조_제3항", "same_article"),
        edge("법률_제17조_제1항", "시행령_제17조", "decree"),
        // Not followed: one starts at a document that is no core article, one at an added one.
        edge("법률_제20조", "법률_제21조", "same_article"),
        edge("법률_제17조_제2항", "법률_제99조", "references"),
    ];
    case.write("edges.jsonl", &edges.join("\n"));
    let arguments =
        "gold expand gold.json --edges edges.jsonl --output expanded.json --format json";
    case.json(arguments);
    let path = case.folder.path().join("expanded.json");
    let set = gold::load(&[path], &Options::default()).expect("a valid set");
    let expanded = &set.queries()[0];
    let added = [
        "법률_제17조_제2항",
        "시행령_제18조",
        "시행규칙_제17조",
        "법률_제22조",
    ];
    assert_eq!(
        grades(expanded, &added),
        [Some(2.0), Some(2.0), Some(2.0), Some(1.0)]
    );
    let kept = [
        "법률_제17조_제1항",
        "법률_제17조_제3항",
        "시행령_제17조",
        "법률_제20조",
    ];
    assert_eq!(
        grades(expanded, &kept),
        [Some(3.0), Some(0.0), Some(1.0), Some(2.0)]
    );
    assert_eq!(
        grades(expanded, &["법률_제21조", "법률_제99조"]),
        [None, None]
    );
}
