//! Written gold sets: each format round-trips the same judgements.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rankgauge_core::gold::{self, Format, GoldQuery, GoldSet, Options};
use rankgauge_eval::gold::write::{WriteError, write};

use super::load;

/// Writes the set in `format` with its texts beside it, and loads the result.
fn read_back(format: Format, set: &GoldSet) -> GoldSet {
    let written = write(set, format, "documents").expect("ids that fit");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("written.gold");
    std::fs::write(&path, &written.judgements).expect("a file");
    if let Some(texts) = written.texts {
        let name = if format == Format::Beir {
            "queries.jsonl"
        } else {
            "written.tsv"
        };
        std::fs::write(folder.path().join(name), texts).expect("a file");
    }
    gold::load(&[path], &Options::default())
        .unwrap_or_else(|error| panic!("{format}: {error}\n{}", written.judgements))
}

/// Query texts with their judgements, in order.
/// Every format can hold this content.
type Content<'a> = Vec<(Option<&'a str>, Vec<(&'a str, gold::Grade)>)>;

fn content(set: &GoldSet) -> Content<'_> {
    let queries = set.queries().iter();
    queries
        .map(|query| (query.text.as_deref(), query.judgements.documents()))
        .collect()
}

#[test]
fn the_native_format_is_lossless() {
    for name in [
        "law.json",
        "law.qrels",
        "formats/rag.json",
        "formats/plan.json",
        "formats/srw.json",
        "subtopics.qrels",
    ] {
        let set = load(name);
        let written = write(&set, Format::Native, "").expect("a native set");
        assert_eq!(written.losses, [""; 0]);
        let again = gold::parse("gold", written.judgements.as_bytes(), &Options::default());
        let again = again.expect("a valid set");
        let without_totals = |set: &GoldSet| -> Vec<GoldQuery> {
            let queries = set.queries().iter().cloned();
            queries
                .map(|mut query| {
                    // A plan counts documents that it does not list; its count is not written.
                    query.total_relevant = None;
                    query
                })
                .collect()
        };
        assert_eq!(without_totals(&again), without_totals(&set), "{name}");
        assert_eq!(again.metadata(), set.metadata(), "{name}");
        let twice = write(&again, Format::Native, "").expect("a native set");
        assert_eq!(twice, written, "{name}");
    }
}

#[test]
fn fields_that_a_format_cannot_hold_are_reported_as_losses() {
    let losses = write(&load("law.json"), Format::RankEval, "laws")
        .expect("a set")
        .losses;
    assert_eq!(
        losses,
        [
            "the set's version",
            "the set's created_at",
            "the aliases of 1 query",
            "the labels of 1 query",
            "the needs of 1 query",
            "the expected facets of 1 query",
            "the required ids of 1 query",
            "the graph of 1 query",
            "the gold texts of 1 query",
            "total_relevant of 1 query",
            "the facets of 3 judgements",
            "the annotators' grades of 1 judgement",
            "the notes of 1 judgement",
        ]
    );
    let indices = write(&load("formats/rank_eval.json"), Format::RankEval, "x").expect("a set");
    assert_eq!(indices.losses, [""; 0]);
    assert!(indices.judgements.contains("\"_index\": \"laws\""));
}

#[test]
fn gold_texts_are_not_written_as_documents() {
    let file = r#"{"queries": [
        {"query_id": "q1", "query_text": "전세 보증금", "texts": ["보증금은 반환한다", "전세권은"]},
        {"query_id": "q2", "query_text": "임대차", "ground_truth": {"민법::제3조": 1}}]}"#;
    let set = gold::parse("gold", file.as_bytes(), &Options::default()).expect("a set");
    assert!(set.queries()[0].by_text && set.queries()[0].documents().is_empty());
    let native = write(&set, Format::Native, "").expect("a native set");
    let json: serde_json::Value = serde_json::from_str(&native.judgements).expect("JSON");
    assert_eq!(json["queries"][0]["ground_truth"], serde_json::json!({}));
    let again = gold::parse("gold", native.judgements.as_bytes(), &Options::default());
    assert_eq!(again.expect("a valid set").queries(), set.queries());
    for format in [
        Format::Qrels,
        Format::Beir,
        Format::Quepid,
        Format::Srw,
        Format::RankEval,
        Format::Ranx,
    ] {
        let written = write(&set, format, "documents").expect("a set");
        assert!(
            !written.judgements.contains("보증금은"),
            "{format}: {}",
            written.judgements
        );
        let lost = "the gold texts of 1 query".to_owned();
        assert!(
            written.losses.contains(&lost),
            "{format}: {:?}",
            written.losses
        );
    }
}

#[test]
fn an_id_that_a_format_cannot_hold_is_reported() {
    let refused = |file: &str, format: Format| {
        let set = gold::parse("gold", file.as_bytes(), &Options::default()).expect("a set");
        write(&set, format, "")
            .expect_err("an id that does not fit")
            .to_string()
    };
    assert_eq!(
        refused("{\"q\": {\"두 단어\": 1}}", Format::Qrels),
        "the document id `두 단어` cannot be written as qrels, where white space separates columns; \
         rename it, or choose another format"
    );
    assert!(refused("{\"#q\": {\"d\": 1}}", Format::Qrels).contains("comments"));
    assert!(refused("{\"q\": {\"a\\tb\": 1}}", Format::Beir).contains("tabs and line breaks"));
    let file = "{\"queries\": [{\"query_id\": \"a\", \"ground_truth\": {\"d\": 1}},
        {\"query_id\": \"b\", \"query_text\": \"a\", \"ground_truth\": {}}]}";
    assert!(refused(file, Format::Quepid).contains("`a` and `b` would both be called `a`"));
    for format in [Format::Rag, Format::Plan] {
        let error = write(&load("law.json"), format, "").expect_err("only read");
        assert!(matches!(error, WriteError::ReadOnly { .. }));
    }
}

/// Queries by id, with distinct texts; each has grades by document, with unusual document ids.
fn judgements() -> impl Strategy<Value = BTreeMap<String, BTreeMap<String, i32>>> {
    prop::collection::btree_map(
        "q[가-힣0-9:]{1,6}",
        prop::collection::btree_map(
            "[a-z가-힣][^\\s\\p{C}]{0,6}(::chunk[0-9])?",
            -2_i32..=3,
            1..5,
        ),
        1..6,
    )
}

proptest! {
    #[test]
    fn judgements_round_trip_through_all_formats(judged in judgements()) {
        let queries: Vec<serde_json::Value> = judged
            .iter()
            .map(|(key, documents)| serde_json::json!({
                "query_id": key, "query_text": format!("질의 \"{key}\", 셋"), "ground_truth": documents,
            }))
            .collect();
        let native = serde_json::json!({ "queries": queries }).to_string();
        let set = gold::parse("gold", native.as_bytes(), &Options::default());
        // Two ids that differ only by Unicode compatibility have equal normalised texts.
        prop_assume!(set.is_ok());
        let set = set.expect("a valid set");
        for format in [
            Format::Native, Format::Qrels, Format::Beir, Format::Quepid, Format::Srw, Format::RankEval,
        ] {
            let again = read_back(format, &set);
            prop_assert_eq!(content(&again), content(&set), "{}", format);
        }
        let ranx = read_back(Format::Ranx, &set);
        for (query, again) in set.queries().iter().zip(ranx.queries()) {
            prop_assert_eq!(&query.key, &again.key);
            prop_assert_eq!(&query.judgements, &again.judgements);
        }
    }
}
