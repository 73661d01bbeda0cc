//! Measures of answers: citations worked out by hand, the reference values of the specification, and the
//! references to documents in texts.

use rankgauge_core::decode::native;
use rankgauge_core::event::{Limits, Reason, Search};
use rankgauge_core::gold::{self, GoldSet, Options};
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::{Judge, JudgeBy, Reference, Rules};
use serde_json::{Value, json};

const LIMITS: Limits = Limits {
    record_bytes: 1 << 20,
    results_per_search: 100,
};

fn gold(query: &Value) -> GoldSet {
    let mut query = query.clone();
    query["query_id"] = json!("Q1");
    let text = json!({"queries": [query]}).to_string();
    gold::parse("gold.json", text.as_bytes(), &Options::default()).expect("a gold set")
}

fn record(search: &Value) -> Vec<u8> {
    let mut search = search.clone();
    search["query_id"] = json!("s");
    search["ts"] = json!(1_763_337_600_000_i64);
    search["query_key"] = json!("Q1");
    serde_json::to_vec(&search).expect("JSON")
}

fn decoded(record: &[u8]) -> Box<Search<'_>> {
    native::search(record, &LIMITS).expect("a valid search")
}

fn rules() -> Rules {
    let reference = |pattern, id| Reference::new(pattern, id).expect("a valid reference");
    Rules {
        references: vec![
            reference(
                r"제\s*(?<article>\d+)조\s*제(\d+)항",
                "법률_제{article}조_제{2}항",
            ),
            reference(r"제\s*(\d+)조", "법률_제{1}조"),
        ],
        ..Rules::default()
    }
}

/// Scores of a search by the names of measures.
fn scores(query: &Value, search: &Value, rules: Rules, measures: &[&str]) -> Vec<Option<f64>> {
    let (gold, record) = (gold(query), record(search));
    let search = decoded(&record);
    let mut judge = Judge::new(rules);
    let index = gold.find(Some("Q1"), None).expect("the query judges");
    let judged = judge.judge(&search, gold.query(index));
    let score = |name: &&str| {
        let measure: Measure = name.parse().expect("a measure");
        assert_eq!(measure.to_string(), **name);
        measure.score(&judged)
    };
    measures.iter().map(score).collect()
}

#[track_caller]
fn assert_scores(found: &[Option<f64>], expected: &[Option<f64>]) {
    let is_close = |(one, other): (&Option<f64>, &Option<f64>)| match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() < 1e-6,
        (one, other) => one.is_none() && other.is_none(),
    };
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(is_close),
        "{found:?} is not {expected:?}"
    );
}

const CITATIONS: [&str; 4] = ["CitationP", "CitationR", "CitationF1", "CitedServed"];

#[test]
fn citations_are_counted_as_by_hand() {
    let query = json!({"ground_truth": {"a": 3, "b": 1, "c": 3, "d": 0}});
    let search = json!({
        "results": [{"id": "a"}, {"id": "b"}, {"id": "d"}],
        // a is cited twice; z was not retrieved and is not judged.
        "answer": {"citations": ["a", {"id": "d", "span": [3, 9]}, "a", "z"]}
    });
    let found = scores(&query, &search, Rules::default(), &CITATIONS);
    // Relevant: a of a, d, z. To cite: a and c, of the highest grade. Served: a and d.
    let (p, r) = (1.0 / 3.0, 1.0 / 2.0);
    assert_scores(
        &found,
        &[
            Some(p),
            Some(r),
            Some(2.0 * p * r / (p + r)),
            Some(2.0 / 3.0),
        ],
    );

    let strict = scores(&query, &search, Rules::default(), &["CitationP(rel=0)"]);
    assert_scores(&strict, &[Some(2.0 / 3.0)]);
}

#[test]
fn the_documents_to_cite_are_those_that_the_gold_query_states() {
    let answer = json!({"results": [{"id": "a"}], "answer": {"citations": ["a"]}});
    let recall = |query: Value| scores(&query, &answer, Rules::default(), &["CitationR"]);
    let truth = json!({"a": 3, "b": 1});
    assert_scores(&recall(json!({"ground_truth": truth})), &[Some(1.0)]);
    let required = json!({"ground_truth": truth, "required": ["a", "b", "c"]});
    assert_scores(&recall(required), &[Some(1.0 / 3.0)]);
    let must = json!({"ground_truth": truth, "required": ["b"], "must_cite": ["a", "b"]});
    assert_scores(&recall(must), &[Some(0.5)]);
    // A query that the documents do not answer has nothing to cite.
    let unanswerable = json!({"ground_truth": truth, "answerable": false});
    assert_scores(&recall(unanswerable), &[None]);
    // Without judgements, the documents to cite are the relevant ones.
    let only = scores(
        &json!({"must_cite": ["a", "b"]}),
        &json!({"results": [], "answer": {"citations": ["a", "x"]}}),
        Rules::default(),
        &CITATIONS,
    );
    assert_scores(&only, &[Some(0.5), Some(0.5), Some(0.5), Some(0.0)]);
}

#[test]
fn an_answer_without_citations_has_recall_0_and_a_search_without_answer_has_no_score() {
    let query = json!({"ground_truth": {"a": 1}, "answers": ["네"], "must_contain": ["네"]});
    let silent =
        json!({"results": [{"id": "a"}], "answer": {"text": "모르겠습니다", "refused": true}});
    let mut names = CITATIONS.to_vec();
    names.extend(["Refusal", "AnswerWords"]);
    let found = scores(&query, &silent, Rules::default(), &names);
    assert_scores(
        &found,
        &[None, Some(0.0), Some(0.0), None, Some(1.0), Some(1.0)],
    );
    let all = "CitationP CitationR CitationF1 CitedServed Grounded ExactMatch TokenF1 TokenF1(unit=char) \
               ROUGE(1) ROUGE(L) BLEU chrF Contains Refusal AnswerWords";
    let all: Vec<&str> = all.split(' ').collect();
    let without = scores(&query, &json!({"results": []}), Rules::default(), &all);
    assert_scores(&without, &[None; 15]);
    // An answer without a text has no overlap.
    let without_text = json!({"results": [], "answer": {"id": "x"}});
    let found = scores(
        &query,
        &without_text,
        Rules::default(),
        &["chrF", "Contains", "Refusal"],
    );
    assert_scores(&found, &[None, None, Some(0.0)]);
}

#[test]
fn articles_in_the_text_are_citations_of_answers_without_a_list() {
    let query = json!({"ground_truth": {"법률_제17조_제1항": 3, "법률_제36조": 2}});
    let results = json!([{"id": "법률_제17조_제1항"}, {"id": "법률_제99조"}]);
    let text = "제17조 제1항과 제 36조에 따르며, 제17조제1항이 우선한다. 제99조는 아니다.";
    let search = json!({"results": results, "answer": {"text": text}});
    let names = ["CitationP", "CitationR", "CitedServed"];
    // 제17조 제1항 (once), 제36조, 제99조: the first pattern takes its place in the text.
    assert_scores(
        &scores(&query, &search, rules(), &names),
        &[Some(2.0 / 3.0), Some(1.0), Some(2.0 / 3.0)],
    );
    let listed =
        json!({"results": results, "answer": {"text": text, "citations": ["법률_제99조"]}});
    assert_scores(
        &scores(&query, &listed, rules(), &names),
        &[Some(0.0), Some(0.0), Some(1.0)],
    );
}

#[test]
fn a_wrong_reference_is_explained() {
    let problem = |pattern, id| Reference::new(pattern, id).expect_err("a wrong reference");
    assert_eq!(
        problem("제(\\d+조", "x"),
        (
            false,
            "is not a regular expression: unclosed group".to_owned()
        )
    );
    assert_eq!(
        problem("(\\d+)조", "법률_{2}"),
        (
            true,
            "names the group {2}, which the pattern does not have".to_owned()
        )
    );
    assert_eq!(
        problem("조", "법률_{1"),
        (true, "has a `{` without a `}`".to_owned())
    );
    assert_eq!(
        problem("\\d*", "x"),
        (false, "matches the empty text".to_owned())
    );
}

#[test]
fn a_cited_chunk_is_its_document_if_documents_are_judged() {
    let query = json!({"ground_truth": {"doc": 2}});
    let search = json!({
        "results": [{"id": "doc::0", "group_id": "doc"}, {"id": "doc::1", "group_id": "doc"}],
        "answer": {"citations": ["doc::0", "doc::1", "doc"]}
    });
    let rules = Rules {
        judge_by: JudgeBy::GroupId,
        ..Rules::default()
    };
    assert_scores(&scores(&query, &search, rules, &CITATIONS), &[Some(1.0); 4]);
}

#[test]
fn copied_words_are_those_of_a_passage_of_the_context() {
    let query = json!({"ground_truth": {"a": 1}});
    let search = |context: Value| {
        json!({
            "results": [{"id": "a", "text": "x 가 나 다 라"}, {"id": "b", "text": "다 라 마"}],
            "context": context,
            "answer": {"text": "가 나 다 라 마"}
        })
    };
    let names = ["Grounded", "Grounded(n=1)", "Grounded(n=6)"];
    let found = |context| scores(&query, &search(context), Rules::default(), &names);
    assert_scores(&found(json!(["a"])), &[Some(2.0 / 3.0), Some(0.8), None]);
    assert_scores(&found(Value::Null), &[Some(1.0), Some(1.0), None]);
    assert_scores(&found(json!(["z"])), &[None, None, None]);
}

#[test]
fn overlap_has_the_reference_values_of_the_specification() {
    let query = json!({"answers": ["용도지역의 변경 절차는 국토계획법 제36조에 따른다."]});
    let search =
        json!({"results": [], "answer": {"text": "용도지역 변경 절차는 제36조에 따른다."}});
    for (name, expected) in [
        ("ROUGE(1)", 0.727_272_727),
        ("ROUGE(2)", 0.444_444_444),
        ("ROUGE(L)", 0.727_272_727),
        ("chrF", 50.886_555_230),
        ("BLEU", 32.159_351_091),
        ("ExactMatch", 0.000_000_000),
        ("TokenF1", 0.727_272_727),
        ("TokenF1(unit=char)", 0.850_000_000),
    ] {
        let found = scores(&query, &search, Rules::default(), &[name]);
        assert_scores(&found, &[Some(expected)]);
    }
}

#[test]
fn expected_texts_are_found_without_regard_to_case_width_and_white_space() {
    let query = json!({"must_contain": ["제36조", "ＡＢＣ  def", "국토계획법"]});
    let search = json!({"results": [], "answer": {"text": "abc\nDEF, 제36조"}});
    assert_scores(
        &scores(&query, &search, Rules::default(), &["Contains"]),
        &[Some(2.0 / 3.0)],
    );
}

#[test]
fn texts_of_any_length_are_compared_in_their_first_part() {
    let long = "가".repeat(300_000);
    let query = json!({"answers": ["가".repeat(20_000)], "must_contain": ["가"]});
    let search = json!({"results": [], "answer": {"text": long}});
    let found = scores(
        &query,
        &search,
        Rules::default(),
        &["chrF", "ROUGE(L)", "Contains"],
    );
    assert!(found.iter().all(Option::is_some), "{found:?}");
}

#[test]
fn wrong_members_of_an_answer_are_rejected_with_their_place() {
    let rejected = |answer: Value| {
        let record = record(&json!({"results": [], "answer": answer}));
        let rejection = native::search(&record, &LIMITS).expect_err("an invalid search");
        (rejection.reason, rejection.detail)
    };
    let (reason, detail) = rejected(json!({"citations": [{"span": 3}]}));
    assert_eq!(reason, Reason::MissingField, "{detail}");
    assert!(detail.contains("answer.citations"), "{detail}");
    let (reason, detail) = rejected(json!({"citations": [true]}));
    assert_eq!(reason, Reason::WrongType, "{detail}");
    assert!(detail.contains("an id, or an object with `id`"), "{detail}");
    assert_eq!(rejected(json!({"text": 5})).0, Reason::WrongType);
    assert_eq!(rejected(json!("text")).0, Reason::WrongType);
    let (reason, detail) = rejected(json!({"citations": vec!["a"; 101]}));
    assert_eq!(reason, Reason::TooManyResults);
    assert_eq!(
        detail,
        "answer.citations: 101 ids, limits.results_per_search is 100"
    );
}

#[test]
fn wrong_expectations_of_an_answer_are_problems_of_the_gold_set() {
    let text = json!({"queries": [
        {"query_id": "Q1", "answers": ["  "], "must_contain": ["x".repeat(70_000)]},
        {"query_id": "Q2", "answerable": false, "must_cite": ["a"]}
    ]});
    let error = gold::parse(
        "gold.json",
        text.to_string().as_bytes(),
        &Options::default(),
    );
    let error = error.expect_err("an invalid gold set").to_string();
    for expected in [
        "query `Q1`: answers: an entry is empty; write it, or leave it out",
        "query `Q1`: must_contain: a text of 70000 bytes; at most 65536 are compared",
        "query `Q2`: must_cite: answerable is false; leave one of the two out",
    ] {
        assert!(error.contains(expected), "{error}");
    }
}
