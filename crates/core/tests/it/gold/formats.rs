//! Every gold format: detection by content, selection by name, complete reading, format errors.

use std::fs;

use rankgauge_core::columns::Columns;
use rankgauge_core::gold::adoption::FilledRow;
use rankgauge_core::gold::expansion::Relation;
use rankgauge_core::gold::{self, Format, GoldSet, Options};

use super::{assert_problems, data, grade_of, problems};

fn load(name: &str) -> GoldSet {
    gold::load(&[data("formats").join(name)], &Options::default()).expect("a valid gold file")
}

fn keys(set: &GoldSet) -> Vec<&str> {
    set.queries()
        .iter()
        .map(|query| query.key.as_str())
        .collect()
}

fn texts(set: &GoldSet) -> Vec<Option<&str>> {
    let queries = set.queries().iter();
    queries.map(|query| query.text.as_deref()).collect()
}

/// Judgements of a query, in file order.
fn judged(set: &GoldSet, key: &str) -> Vec<(String, f64)> {
    let index = set.find_named(key).expect("a query of the set");
    let documents = set.query(index).judgements.documents().into_iter();
    documents
        .map(|(document, grade)| (document.to_owned(), grade.get()))
        .collect()
}

fn pairs(expected: &[(&str, f64)]) -> Vec<(String, f64)> {
    let expected = expected.iter();
    expected
        .map(|(id, grade)| ((*id).to_owned(), *grade))
        .collect()
}

#[test]
fn a_configured_format_gives_the_same_set_as_format_detection() {
    let examples = [
        ("../law.json", Format::Native),
        ("rag.json", Format::Rag),
        ("plan.json", Format::Plan),
        ("../law.qrels", Format::Qrels),
        ("beir/qrels/test.tsv", Format::Beir),
        ("quepid.csv", Format::Quepid),
        ("srw.json", Format::Srw),
        ("rank_eval.json", Format::RankEval),
        ("ranx.json", Format::Ranx),
    ];
    assert_eq!(examples.map(|(_, format)| format), Format::ALL);
    for (name, format) in examples {
        let options = Options {
            format: Some(format),
            ..Options::default()
        };
        let stated = gold::load(&[data("formats").join(name)], &options).expect("a valid file");
        assert_eq!(stated.queries(), load(name).queries(), "{name}");
    }
}

#[test]
fn a_format_other_than_the_configured_one_is_rejected() {
    for (name, stated) in [
        ("rag.json", Format::Plan),
        ("plan.json", Format::Rag),
        ("srw.json", Format::RankEval),
        ("ranx.json", Format::Srw),
        ("quepid.csv", Format::Beir),
        ("srw.json", Format::Quepid),
        ("rag.json", Format::Ranx),
    ] {
        let bytes = fs::read(data("formats").join(name)).expect("a file");
        let options = Options {
            format: Some(stated),
            ..Options::default()
        };
        let error = gold::parse(name, &bytes, &options).expect_err("another format");
        assert!(error.problems()[0].place().is_some(), "{name}: {error}");
    }
}

#[test]
fn rag_design_chunks_are_graded_by_their_list() {
    let set = load("rag.json");
    assert_eq!(keys(&set), ["Q001", "2"]);
    assert_eq!(
        judged(&set, "Q001"),
        pairs(&[
            ("consumer.go.kr:consumer_counsel_case:12345::chunk0", 2.0),
            ("consumer.go.kr:consumer_mediation_case:67890::chunk1", 1.0),
            ("consumer.go.kr:consumer_counsel_case:12345::chunk1", 2.0),
            ("statute:civil_law:article_100::chunk0", 0.0),
        ])
    );
    assert_eq!(judged(&set, "2"), pairs(&[("17", 1.0)]));
    let first = &set.queries()[0];
    assert_eq!(
        first.expected["doc_type"],
        ["counsel_case", "mediation_case", "law"]
    );
    let labels: Vec<String> = first
        .labels
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        labels,
        [
            "annotator=expert_1",
            "category=환불",
            "created_at=2026-01-05",
            "difficulty=easy",
            "query_type=general_inquiry",
            "reviewed=true"
        ]
    );
}

#[test]
fn a_chunk_listed_as_relevant_and_irrelevant_is_an_error() {
    assert_problems(
        "[\n{\"query_id\": 1, \"relevant_chunk_ids\": [\"a::0\"], \"irrelevant_chunk_ids\": [\"a::0\"]},
        {\"query_id\": 2, \"relevant_chunk_ids\": [\"b\", \"b\"]},
        {\"query_id\": 3, \"query\": \"없음\"},
        {\"query_id\": 4, \"relevant_chunk_ids\": \"b\"}, 5]",
        &[
            "gold:4: [2]: missing field `relevant_chunk_ids`",
            "gold:5: [3].relevant_chunk_ids: invalid type: string \"b\", expected a sequence",
            "gold:5: [4]: not a query, which is an object with `query_id` and `relevant_chunk_ids`",
            "gold:2: query `1` judges document `a::0` again and contradicts itself: grade 0, but 1 \
             at gold:2; keep one of the two judgements",
            "gold:3: query `2` judges document `b` again, first at gold:3; keep one of the two \
             judgements",
        ],
    );
}

#[test]
fn articles_of_the_evaluation_plan_are_read() {
    let set = load("plan.json");
    assert_eq!(keys(&set), ["1", "2"]);
    assert_eq!(
        judged(&set, "1"),
        pairs(&[
            ("국토계획법_17조_1항", 3.0),
            ("국토계획법_17조_2항", 2.0),
            ("국토계획법시행령_15조", 2.0),
        ])
    );
    let first = &set.queries()[0];
    assert_eq!(first.labels["category"], "article_number");
    assert_eq!(first.details[0].notes.as_deref(), Some("exact_match"));
    assert_eq!(first.details[1].facets["law_type"], "법률");
    assert_eq!(first.details[2].annotations.len(), 2);
    assert_eq!(first.total_relevant, Some(12));
}

#[test]
fn a_single_query_object_of_the_seed_formats_is_a_set() {
    for name in ["rag.json", "plan.json"] {
        let text = fs::read_to_string(data("formats").join(name)).expect("a file");
        let list: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let set = gold::parse("gold", list[0].to_string().as_bytes(), &Options::default());
        let set = set.expect("one query");
        assert_eq!(set.queries()[0], load(name).queries()[0]);
    }
}

#[test]
fn beir_texts_are_found_in_the_same_or_the_parent_folder() {
    let set = load("beir/qrels/test.tsv");
    assert_eq!(keys(&set), ["q1", "q2"]);
    assert_eq!(
        texts(&set),
        [Some("17조 검색"), Some("개발행위허가, \"기준\"")]
    );
    assert_eq!(
        judged(&set, "q1"),
        pairs(&[("법률:제17조::chunk0", 2.0), ("법률:제18조", 0.0)])
    );
    assert_eq!(judged(&set, "q2"), pairs(&[("doc with spaces", 1.0)]));

    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for name in ["qrels/test.tsv", "queries.jsonl"] {
        let from = data("formats/beir").join(name);
        let to = path(name.trim_start_matches("qrels/"));
        fs::copy(from, to).expect("a copy");
    }
    let both = [path("test.tsv"), path("queries.jsonl")];
    for paths in [&both[..], &both[..1], &[folder.path().to_owned()]] {
        let beside = gold::load(paths, &Options::default()).expect("a valid gold set");
        assert_eq!(beside.queries(), set.queries());
    }
}

#[test]
fn topics_are_loaded_only_for_qrels_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for name in ["law.json", "law.qrels", "law.tsv"] {
        fs::copy(data(name), path(name)).expect("a copy");
    }
    // A file beside a JSON set is not part of it: it may be the same set in BEIR's format.
    let beir = "query-id\tcorpus-id\tscore\nQ001\td\t1\n";
    fs::write(path("law.tsv"), beir).expect("a file");
    let load = |name: &str| gold::load(&[path(name)], &Options::default());
    assert_eq!(load("law.json").expect("a valid set").judgement_count(), 5);
    assert_eq!(load("law.tsv").expect("a valid set").judgement_count(), 1);
    fs::copy(data("law.tsv"), path("law.tsv")).expect("a copy");
    assert_eq!(
        texts(&load("law.qrels").expect("a valid set"))[0],
        Some("도시 계획")
    );
}

#[test]
fn errors_of_beir_files_are_reported_by_line() {
    assert_problems(
        "query-id\tcorpus-id\tscore\nq1\td\nq1\td\thigh\n\nq1\td\t1\t2\n",
        &[
            "gold:2: 2 columns where BEIR's judgements have three, `query-id corpus-id score`, \
             separated by tabs",
            "gold:3: the grade `high` is not a number from -1000 to 1000",
            "gold:5: 4 columns where BEIR's judgements have three, `query-id corpus-id score`, \
             separated by tabs",
        ],
    );
    assert_problems(
        "{\"_id\": \"q\", \"text\": \"x\"}\n{\"_id\": \"r\"}\n",
        &["gold:2: missing field `text`"],
    );
}

#[test]
fn quepid_queries_are_identified_by_their_texts() {
    let set = load("quepid.csv");
    let names = ["17조 검색", "허가, \"기준\"", "판정 없는 질의"];
    assert_eq!(keys(&set), names);
    assert_eq!(texts(&set), names.map(Some));
    // Documents without a rating are not judged.
    assert_eq!(
        judged(&set, names[0]),
        pairs(&[("법률:제17조::chunk0", 3.0), ("법률:제18조", 0.0)])
    );
    assert!(judged(&set, names[2]).is_empty());
}

#[test]
fn errors_of_quepid_files_are_reported_by_line() {
    let file = "Rating,DocId,Query,Note\n1,d,\"a\nb\",x\n2,d\nbad,d,c\n1,,c\n1,d,\n";
    // Unix line endings, and those of spreadsheets.
    for file in [file.to_owned(), file.replace('\n', "\r\n")] {
        assert_problems(
            &file,
            &[
                "gold:4: 2 fields where 3 are needed",
                "gold:5: the grade `bad` is not a number from -1000 to 1000",
                "gold:6: a grade without a document",
                "gold:7: a query has an empty id; give it a unique id",
            ],
        );
    }
}

#[test]
fn tables_of_data_frames_are_read_by_the_names_of_their_columns() {
    for table in [
        "query_id,doc_id,relevance,iteration\n1,a,2,0\n1,b,0,0\n2,c,1,0\n",
        ",qid,docno,label\n0,1,a,2\n1,1,b,0\n2,2,c,1\n",
        "q_id;score;doc_id\n1;2;a\n1;0;b\n2;1;c\n",
        "\"query-id\",\"corpus-id\",\"score\"\n\"1\",\"a\",2\n1,b,0\n2,c,1\n",
    ] {
        let set = gold::parse("gold", table.as_bytes(), &Options::default()).expect(table);
        assert_eq!(keys(&set), ["1", "2"], "{table}");
        assert_eq!(texts(&set), [None, None], "{table}");
        assert_eq!(
            judged(&set, "1"),
            pairs(&[("a", 2.0), ("b", 0.0)]),
            "{table}"
        );
    }
    let with_texts = "query_id,query,doc_id,grade\n1,17조 검색,a,2\n1,17조 검색,b,\n2,,c,1\n";
    let set = gold::parse("gold", with_texts.as_bytes(), &Options::default()).expect("a table");
    assert_eq!(texts(&set), [Some("17조 검색"), None]);
    assert_problems(
        "query_id,query,doc_id,grade\n1,x,a,2\n1,y,b,1\n",
        &["gold:3: query `1` has the text `y`, but `x` in an earlier row; keep one"],
    );
    // With ranks, the scores are those of a run.
    let run = b"query_id,doc_id,rank,score\n1,a,1,9.5\n";
    let run = problems("gold", run, &Options::default()).join(" ");
    assert!(run.contains("unknown gold format"), "{run}");
}

#[test]
fn texts_of_queries_may_be_a_table_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("a file");
        path
    };
    let judgements = write("qrels.csv", "query-id,corpus-id,score\n1,a,1\n");
    let queries = write("queries.csv", "_id,title,text\n1,,\"17조, 검색\"\n");
    let set = gold::load(&[judgements, queries], &Options::default()).expect("a gold set");
    assert_eq!(texts(&set), [Some("17조, 검색")]);
    let only_texts = problems("gold", b"id,text\n1,x\n", &Options::default()).join(" ");
    assert!(
        only_texts.contains("no judgements, only 1 query text"),
        "{only_texts}"
    );
}

#[test]
fn columns_of_judgements_are_stated() {
    let with = |columns: &str| Options {
        columns: Some(Columns::of_gold(columns).expect(columns)),
        ..Options::default()
    };
    for (table, columns) in [
        (
            "topic,article,value\n1,a,2\n",
            "query=topic,document=article,grade=value",
        ),
        ("topic,article,value\n1,a,2\n", "query=1,document=2,grade=3"),
        ("1\t0\ta\t2\n", "query,_,document,grade"),
        ("1,a,2,17조\n", "query,document,grade,text"),
    ] {
        let set = gold::parse("gold", table.as_bytes(), &with(columns)).expect(table);
        assert_eq!(judged(&set, "1"), pairs(&[("a", 2.0)]), "{table}");
    }
    let columns = with("query=nr,document=article,grade=value");
    let table = "topic,article,value\n1,a,2\n";
    let error = gold::parse("gold", table.as_bytes(), &columns).expect_err("no such column");
    let expected = "gold:1: no column is called `nr`; the columns are topic, article, value";
    assert!(error.to_string().contains(expected), "{error}");
    // A content that is not needed is stated to be read.
    let columns = with("query=topic,document=article,grade=value,subtopic=intent");
    let error = gold::parse("gold", table.as_bytes(), &columns).expect_err("no such column");
    let expected = "gold:1: no column is called `intent`; the columns are topic, article, value";
    assert!(error.to_string().contains(expected), "{error}");
    for (columns, reason) in [
        ("query,document", "the column of the grade is missing"),
        (
            "query,document,grade,rank",
            "`rank` is no content of a column",
        ),
    ] {
        let error = Columns::of_gold(columns).expect_err(columns);
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn search_relevance_workbench_ratings_are_read_from_strings() {
    let set = load("srw.json");
    assert_eq!(keys(&set), ["17조 검색", "허가"]);
    assert_eq!(texts(&set), [Some("17조 검색"), Some("허가")]);
    assert_eq!(
        judged(&set, "17조 검색"),
        pairs(&[("법률:제17조::chunk0", 3.0), ("법률:제18조", 0.0)])
    );
    assert_eq!(judged(&set, "허가"), pairs(&[("17", 0.5)]));
    assert_problems(
        "{\"judgmentRatings\": [\n{\"query\": \"a\", \"ratings\": [{\"docId\": \"d\", \"rating\": \"x\"}]},\n{}, 1]}",
        &[
            "gold:2: judgmentRatings[0].ratings[0].rating: the grade `x` is not a number from \
             -1000 to 1000",
            "gold:3: judgmentRatings[1]: missing field `query`",
            "gold:3: judgmentRatings[2]: not a query, which is an object with `query` and `ratings`",
        ],
    );
    assert_problems(
        "{\"judgmentRatings\": []}",
        &["gold: `judgmentRatings` is an empty list; give it queries, or leave the file out"],
    );
}

#[test]
fn rank_eval_texts_are_taken_from_plain_queries() {
    let set = load("rank_eval.json");
    assert_eq!(
        texts(&set),
        [
            Some("17조 검색"),
            Some("허가"),
            Some("보상"),
            Some("용도 AND 지역"),
            None,
            Some("도로")
        ]
    );
    assert_eq!(
        judged(&set, "match"),
        pairs(&[("법률:제17조::chunk0", 3.0), ("법률:제18조", 0.0)])
    );
    assert_eq!(set.queries()[0].details[0].facets["_index"], "laws");
    assert_problems(
        "{\"requests\": [{\"id\": 1, \"ratings\": [{\"_id\": \"d\"}]}, {\"ratings\": []}]}",
        &[
            "gold:1: requests[0].ratings[0]: missing field `rating`",
            "gold:1: requests[1]: missing field `id`",
        ],
    );
}

#[test]
fn ranx_files_are_objects_of_objects_with_any_names() {
    let set = load("ranx.json");
    assert_eq!(keys(&set), ["q1", "queries", "q3"]);
    assert_eq!(
        judged(&set, "q1"),
        pairs(&[
            ("법률:제17조::chunk0", 3.0),
            ("법률:제18조", 0.0),
            ("doc with spaces", 1.5)
        ])
    );
    assert_eq!(
        grade_of(&set.queries()[1], "이름이 queries 인 질의"),
        Some(-1.0)
    );
    assert_problems(
        "{\"q\": {\"d\": 1,\n\"d\": 2},\n\"q\": {}, \"r\": {\"d\": true}}",
        &[
            "gold:3: r.d: a grade: a number, or a string that is one",
            "gold:1: query `q` judges document `d` again and contradicts itself: grade 2, but 1 at \
             gold:1; keep one of the two judgements",
            "gold:3: the query id `q` is already defined at gold:1; rename or remove one",
        ],
    );
}

#[test]
fn byte_order_marks_and_carriage_returns_are_ignored() {
    for name in [
        "rag.json",
        "plan.json",
        "quepid.csv",
        "srw.json",
        "ranx.json",
    ] {
        let text = fs::read_to_string(data("formats").join(name)).expect("a file");
        let other = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let set = gold::parse(name, other.as_bytes(), &Options::default()).expect("valid");
        assert_eq!(set.queries(), load(name).queries(), "{name}");
    }
}

#[test]
fn an_empty_file_of_every_format_is_rejected() {
    for format in Format::ALL {
        for content in [
            "",
            "\n",
            "[]",
            "{}",
            "query-id\tcorpus-id\tscore\n",
            "query,docid,rating\n",
        ] {
            let options = Options {
                format: Some(format),
                ..Options::default()
            };
            assert!(
                !problems("gold", content.as_bytes(), &options).is_empty(),
                "{format}: {content:?}"
            );
        }
    }
}

/// Set of one file with this name and content.
fn set(name: &str, content: &str) -> GoldSet {
    gold::parse(name, content.as_bytes(), &Options::default()).expect("a valid gold file")
}

#[test]
fn a_column_of_a_table_is_a_subtopic() {
    let qrels = set("div.qrels", "1 1 a 1\n1 2 a 2\n1 1 b 0\n1 3 c 1\n2 9 d 1\n");
    let table = "query,subtopic,docid,rating\n1,1,a,1\n1,2,a,2\n1,1,b,0\n1,3,c,1\n2,9,d,1\n3,,,\n";
    let table = set("div.csv", table);
    let stated = "qid;intent;product;stars\n1;1;a;1\n1;2;a;2\n1;1;b;0\n1;3;c;1\n2;9;d;1\n";
    let of_ir_measures =
        "query_id,doc_id,relevance,iteration\n1,a,1,1\n1,a,2,2\n1,b,0,1\n1,c,1,3\n2,d,1,9\n";
    let of_ir_measures = set("div.csv", of_ir_measures);
    let columns = Columns::of_gold("query=qid,subtopic=intent,document=product,grade=stars");
    let options = Options {
        columns: columns.ok(),
        ..Options::default()
    };
    let stated = gold::parse("div.csv", stated.as_bytes(), &options).expect("a valid gold file");
    for key in ["1", "2"] {
        for other in [&table, &stated, &of_ir_measures] {
            assert_eq!(judged(other, key), judged(&qrels, key), "{key}");
            let of = |set: &GoldSet| {
                let query = set.find(Some(key), None).map(|index| set.query(index));
                query.and_then(|query| query.subtopics.clone())
            };
            assert_eq!(of(other), of(&qrels), "{key}");
        }
    }
    assert_eq!(table.queries().len(), 3);
    // A judgement without a subtopic is one of the query alone.
    let partly = set(
        "div.csv",
        "query,subtopic,docid,rating\n1,,a,3\n1,x,a,1\n1,,b,1\n",
    );
    assert_eq!(judged(&partly, "1"), pairs(&[("a", 3.0), ("b", 1.0)]));
    let subtopics = partly.queries()[0].subtopics.as_ref();
    assert_eq!(subtopics.map(|it| it.names().len()), Some(1));
    assert_problems(
        "query,subtopic,docid,rating\n1,x,a,1\n1,x,a,2\n",
        &[
            "gold:3: query `1` judges document `a` again, first at gold:2; keep one of the two judgements",
        ],
    );
}

#[test]
fn a_second_column_that_differs_within_a_query_is_a_subtopic() {
    let ndeval = set("div.qrels", "1 1 a 1\n1 2 a 2\n1 1 b 0\n1 3 c 1\n2 0 d 1\n");
    assert_eq!(
        judged(&ndeval, "1"),
        pairs(&[("a", 2.0), ("b", 0.0), ("c", 1.0)])
    );
    let query = &ndeval.queries()[0];
    let subtopics = query.subtopics.as_ref().expect("subtopics");
    let of = |document| {
        let grades = subtopics.of_document(document).iter();
        grades
            .map(|(subtopic, grade)| (*subtopic, grade.get()))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(0), [(0, 1.0), (1, 2.0)]);
    assert_eq!(of(2), [(2, 1.0)]);
    let one = ndeval.queries()[1].subtopics.as_ref();
    assert_eq!(one.map(|it| it.names().len()), Some(1));
    assert_eq!(subtopics.names(), ["1", "2", "3"]);
    let native = set(
        "div.json",
        r#"{"queries": [{"query_id": "1", "ground_truth": {"a": 2, "b": 0},
            "subtopics": {"x": {"a": 1}, "y": {"a": 2, "b": 0, "unjudged": 1}}}]}"#,
    );
    let subtopics = native.queries()[0].subtopics.as_ref().expect("subtopics");
    assert_eq!(subtopics.names(), ["x", "y"]);
    assert_eq!(subtopics.of_document(0).len(), 2);
    assert_eq!(subtopics.of_document(1).len(), 1);
    let iterations = set("it.qrels", "1 0 a 1\n2 1 a 1\n");
    assert!(
        iterations
            .queries()
            .iter()
            .all(|query| query.subtopics.is_none())
    );
    assert_problems(
        "1 1 a 1\n1 2 b 1\n1 1 a 1\n",
        &[
            "gold:3: query `1` judges document `a` again, first at gold:1; keep one of the two judgements",
        ],
    );
}

#[test]
fn judgements_with_probabilities_are_read() {
    let prels = set("mq.prels", "1 a 1 0 0.5\n1 b 0 1 0.25\n2 c 2 2 1\n");
    assert_eq!(judged(&prels, "1"), pairs(&[("a", 1.0), ("b", 0.0)]));
    assert_eq!(judged(&prels, "2"), pairs(&[("c", 2.0)]));
    let found = problems("mq.prels", b"1 a 1 0 0.5\n1 b 0 1\n", &Options::default());
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("mq.prels:2: 4 columns where prels have five"),
        "{found:?}"
    );
}

#[test]
fn exports_of_quepid_in_json_are_read() {
    let book = set(
        "book.json",
        r#"{"name": "Book", "scale": [0, 1, 2, 3], "query_doc_pairs": [
            {"query_text": "star trek", "doc_id": "193", "position": 0, "judgements": [
                {"rating": 3.0, "unrateable": false, "judge_later": false, "user_email": "a@b.c"},
                {"rating": 2.0, "user_email": "d@e.f"}, {"rating": null, "judge_later": true}]},
            {"query_text": "star trek", "doc_id": 157, "judgements": [{"rating": 1, "unrateable": true}]},
            {"query_text": "star wars", "doc_id": "11", "judgements": [{"rating": 0}]}]}"#,
    );
    assert_eq!(keys(&book), ["star trek", "star wars"]);
    assert_eq!(texts(&book)[0], Some("star trek"));
    assert_eq!(judged(&book, "star trek"), pairs(&[("193", 2.5)]));
    assert_eq!(judged(&book, "star wars"), pairs(&[("11", 0.0)]));
    let case = set(
        "case.json",
        r#"{"case_name": "Movies", "scorer": {"name": "nDCG@10"}, "queries": [
            {"arranged_at": 1, "query_text": "rambo", "ratings": [
                {"doc_id": "7555", "rating": 3.0}, {"doc_id": "1370", "rating": null}]},
            {"query_text": "none", "ratings": []}]}"#,
    );
    assert_eq!(judged(&case, "rambo"), pairs(&[("7555", 3.0)]));
    assert_eq!(judged(&case, "none"), pairs(&[]));
    let ratings = set(
        "ratings.json",
        r#"{"queries": [{"query": "rambo", "ratings": {"7555": 3, "1370": 0}}]}"#,
    );
    assert_eq!(
        judged(&ratings, "rambo"),
        pairs(&[("7555", 3.0), ("1370", 0.0)])
    );
}

#[test]
fn ratings_of_the_rated_ranking_evaluator_are_read() {
    let rre = set(
        "ratings.json",
        r#"{"id_field": "id", "index": "bass", "topics": [{"description": "Fender", "query_groups": [
            {"name": "jazz bass", "queries": [
                {"template": "q.json", "placeholders": {"$query": "fender jazz"}},
                {"template": "q.json", "placeholders": {"$query": "jazz fender"}}],
             "relevant_documents": {"1": ["b", "c"], "3": ["a"]}}]}]}"#,
    );
    assert_eq!(keys(&rre), ["jazz bass"]);
    let query = &rre.queries()[0];
    assert_eq!(query.text.as_deref(), Some("fender jazz"));
    assert_eq!(query.aliases, ["jazz fender"]);
    assert_eq!(query.labels["topic"], "Fender");
    assert_eq!(
        judged(&rre, "jazz bass"),
        pairs(&[("b", 1.0), ("c", 1.0), ("a", 3.0)])
    );
    let of_quepid = set(
        "rre.json",
        r#"{"id_field": "id", "index": "tmdb", "template": "template.json", "queries": [
            {"placeholders": {"$query": "star trek"}, "relevant_documents": {"193": {"gain": 3}}}]}"#,
    );
    assert_eq!(judged(&of_quepid, "star trek"), pairs(&[("193", 3.0)]));
}

#[test]
fn judgements_among_features_are_read() {
    let ltr = set(
        "train.txt",
        "# qid:1: rambo*1\n\n4 qid:1 1:12.3 2:0 # 7555 rambo\n0 qid:1 # 1370\n\
         2 qid:10 1:0.03 #docid = GX000-00 inc = 1 prob = 0.02\n",
    );
    assert_eq!(judged(&ltr, "1"), pairs(&[("7555", 4.0), ("1370", 0.0)]));
    assert_eq!(judged(&ltr, "10"), pairs(&[("GX000-00", 2.0)]));
    assert_eq!(texts(&ltr), [Some("rambo"), None]);
    let found = problems("train.txt", b"4 qid:1 1:12.3\n", &Options::default());
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("train.txt:1: no document: write its id in a comment"),
        "{found:?}"
    );
}

#[test]
fn white_space_around_a_field_of_a_table_is_no_part_of_it() {
    let judgements = [("q1", pairs(&[("a", 1.0), ("b, c", 2.0)]))];
    let queries = |set: &GoldSet| {
        let keys = keys(set).into_iter();
        let judged = keys.map(|key| (key.to_owned(), judged(set, key)));
        judged.collect::<Vec<_>>()
    };
    let expected = judgements.map(|(key, judged)| (key.to_owned(), judged));
    for table in [
        "query_id, doc_id, relevance\n q1, a , 1\nq1,\"b, c \", 2\n",
        "query_id ;doc_id; relevance\r\nq1 ; a; 1\r\nq1 ;b, c; 2 \r\n",
        "query_id\tdoc_id\trelevance\nq1 \t a\t1\n q1\tb, c \t2\n",
        "query-id\tcorpus-id\tscore\nq1 \t a\t1\n q1\tb, c \t 2\n",
    ] {
        let set = gold::parse("gold", table.as_bytes(), &Options::default()).expect("a table");
        assert_eq!(queries(&set), expected, "{table}");
    }
    let sheet = "query_id, query_text, document_id, grade\nq1 , 17조 , a, 1\n";
    let rows = FilledRow::parse_sheet("sheet.csv", sheet.as_bytes()).expect("a sheet");
    let ids = (
        &*rows[0].query_id,
        &*rows[0].query_text,
        &*rows[0].document_id,
    );
    assert_eq!(ids, ("q1", "17조", "a"));
    let edges = Relation::parse_all("edges.csv", b"from, to, relation\na , b, rule\n");
    let edges = edges.expect("edges");
    assert_eq!((&*edges[0].from, &*edges[0].to), ("a", "b"));
    // Ids of JSON are texts of their own.
    let set = gold::parse("gold", br#"{"q1 ": {" a": 1}}"#, &Options::default()).expect("a set");
    assert_eq!(queries(&set), [("q1 ".to_owned(), pairs(&[(" a", 1.0)]))]);
}

#[test]
fn tables_are_separated_by_commas_semicolons_or_tabs() {
    let commas = set(
        "quepid.csv",
        "query,docid,rating\n\"용도지역, 지구\",a,2\nb,c,1\n",
    );
    for table in [
        "query;docid;rating\n용도지역, 지구;a;2\nb;c;1\n",
        "query\tdocid\trating\n용도지역, 지구\ta\t2\nb\tc\t1\n",
        "\u{feff}\"query\";\"docid\";\"rating\"\r\n\"용도지역, 지구\";\"a\";\"2\"\r\nb;c;1\r\n",
    ] {
        assert_eq!(
            set("quepid.csv", table).queries(),
            commas.queries(),
            "{table}"
        );
    }
    let edges = Relation::parse_all("edges.csv", b"from;to;relation\na;b;references\n");
    assert_eq!(edges.expect("valid").len(), 1);
    let utf16 = "\u{feff}from,to,relation\n".encode_utf16();
    let utf16: Vec<u8> = utf16.flat_map(u16::to_le_bytes).collect();
    let edges = Relation::parse_all("edges.csv", &utf16);
    assert!(edges.expect_err("refused").to_string().contains("UTF-16"));
}
