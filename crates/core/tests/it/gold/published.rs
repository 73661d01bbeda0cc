//! Gold files of other projects, as their tools wrote them: `tests/data/gold/published`.

use rankgauge_core::gold::{self, GoldSet, Options};

use super::data;

fn load(name: &str) -> GoldSet {
    let path = data("published").join(name);
    gold::load(&[path], &Options::default()).expect("a published gold set")
}

/// Grades of a query by document, in the order of the file.
#[track_caller]
fn assert_judged(set: &GoldSet, key: &str, expected: &[(&str, f64)]) {
    let query = set.find_named(key).expect(key);
    let documents = set.query(query).documents().into_iter();
    let documents: Vec<(&str, f64)> = documents.map(|(id, grade)| (id, grade.get())).collect();
    assert_eq!(documents, expected, "{key}");
}

#[test]
fn a_dataset_of_beir_is_read() {
    let set = load("fiqa");
    assert_eq!((set.queries().len(), set.judgement_count()), (4, 6));
    assert_judged(&set, "8", &[("566392", 1.0), ("65404", 1.0)]);
    let text = "Can I send a money order from USPS as a business?";
    assert_judged(&set, text, &[("325273", 1.0)]);
}

#[test]
fn exports_of_quepid_are_read() {
    let basic = load("quepid.csv");
    assert_eq!((basic.queries().len(), basic.judgement_count()), (2, 6));
    // Its documents have no rating yet.
    assert_judged(&basic, "surround sound speakers", &[]);
    let case = load("quepid-case.json");
    for set in [&case, &load("srw-import.json")] {
        assert_judged(
            set,
            "Willis",
            &[("1634", 0.0), ("53729", 1.0), ("3172", 3.0)],
        );
        assert_judged(
            set,
            "Titanic",
            &[("57165", 0.0), ("597", 3.0), ("86938", 1.0)],
        );
    }
}

#[test]
fn a_judgement_list_is_read_as_opensearch_responds_with_it() {
    let set = load("srw-response.json");
    assert_eq!((set.queries().len(), set.judgement_count()), (2, 10));
    assert_judged(
        &set,
        "red dress",
        &[
            ("B077ZJXCTS", 3.0),
            ("B071S6LTJJ", 2.0),
            ("B01IDSPDJI", 2.0),
            ("B07QRCGL3G", 0.0),
            ("B074V6Q1DR", 1.0),
        ],
    );
    let read = |text: &str| gold::parse("srw.json", text.as_bytes(), &Options::default());
    let list = r#"[{"query": "a", "ratings": [{"docId": "d", "rating": "1.0"}], "failures": [{"docId": "e"}]}]"#;
    let document = format!(r#"{{"_id": "1", "_source": {{"judgmentRatings": {list}}}}}"#);
    let several = format!(r#"{{"took": 1, "hits": {{"hits": [{document}, {document}]}}}}"#);
    // As the document itself, and in several hits that agree.
    for text in [&document, &several] {
        let set = read(text).expect(text);
        assert_eq!(set.queries().len(), 1, "{text}");
        assert_judged(&set, "a", &[("d", 1.0)]);
    }
    let wrong =
        "{\"took\": 1, \"hits\": {\"hits\": [{\"_source\": {\"judgmentRatings\":\n[{}]}}]}}";
    let error = read(wrong).expect_err("no query").to_string();
    assert!(
        error.contains("srw.json:2: judgmentRatings[0]: missing field `query`"),
        "{error}"
    );
    // The names of queries are arbitrary.
    let set = read(r#"{"hits": {"d": 1}, "_source": {"judgmentRatings": 2}}"#);
    assert_judged(&set.expect("a set"), "_source", &[("judgmentRatings", 2.0)]);
}

#[test]
fn judgements_of_the_million_query_track_are_read() {
    let set = load("prels.20001-60000");
    assert_eq!((set.queries().len(), set.judgement_count()), (2, 10));
    // The fifth column is a probability, not a grade.
    assert_judged(
        &set,
        "20001",
        &[
            ("clueweb09-en0003-55-31884", 0.0),
            ("clueweb09-enwp01-75-20596", 1.0),
            ("clueweb09-enwp01-31-11362", 2.0),
            ("clueweb09-en0009-84-37392", 0.0),
            ("clueweb09-enwp01-75-07456", 1.0),
            ("clueweb09-enwp01-06-03485", 2.0),
        ],
    );
}

#[test]
fn a_request_of_elasticsearch_is_read() {
    let set = load("rank_eval.json");
    let judged = [
        ("3054546", 1.0),
        ("5119376", 3.0),
        ("959422", 0.0),
        ("39311", 2.0),
    ];
    assert_judged(&set, "JFK_query", &judged);
    // The text of the query.
    assert_judged(&set, "JFK", &judged);
}

#[test]
fn ratings_of_rre_are_read_in_their_three_forms() {
    let example = load("rre-example.json");
    assert_judged(&example, "Brand search", &[("1", 3.0), ("2", 3.0)]);
    assert_judged(&example, "jazz", &[("1", 3.0)]);
    let by_gain = load("rre-by-gain.json");
    let text = "What caused the helicopter crash in Colombia during the anti-drugs mission?";
    assert_judged(&by_gain, text, &[("1", 2.0), ("2", 0.0), ("15", 0.0)]);
    let listed = load("rre-generated.json");
    assert_judged(
        &listed,
        "what is rre",
        &[("doc1", 2.0), ("doc2", 1.0), ("doc5", 0.0)],
    );
    assert_judged(
        &listed,
        "how to configure elasticsearch",
        &[("doc3", 2.0), ("doc4", 1.0)],
    );
    let stated = r#"{"query_placeholder": "text", "query_groups": [{"queries": [
        {"placeholders": {"$query": "a template", "text": "zoning"}}],
        "relevant_documents": [{"document_id": 7, "gain": "2"}]}]}"#;
    let stated = gold::parse("rre.json", stated.as_bytes(), &Options::default());
    assert_judged(&stated.expect("a gold set"), "zoning", &[("7", 2.0)]);
}

#[test]
fn judgements_with_features_are_read() {
    let set = load("rocky_wfeatures.txt");
    assert_eq!((set.queries().len(), set.judgement_count()), (1, 7));
    let query = set.find_named("1").expect("a query");
    let grade = |document| {
        set.query(query)
            .judgements
            .find(document)
            .map(|(_, grade)| grade.get())
    };
    assert_eq!(
        [grade("1366"), grade("47059"), grade("55146")],
        [Some(4.0), Some(2.0), Some(0.0)]
    );
}
