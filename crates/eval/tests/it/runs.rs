//! Run files: content, result order, and error messages of invalid files.

use std::fs;

use proptest::prelude::*;

use rankgauge_core::columns::Columns;
use rankgauge_core::event::Limits;
use rankgauge_core::gold;
use rankgauge_core::measure::Measure;
use rankgauge_core::text;
use rankgauge_eval::evaluate;
use rankgauge_eval::pass::{Contents, judge};
use rankgauge_eval::run::{Order, RankedQuery, ReadOptions, Results, RunError, RunReader};

/// Content of a run: each query, the line of its first result, and its ordered documents with their
/// scores.
type Content = Vec<(String, usize, Vec<(String, f64)>)>;

fn content(run: RunReader) -> Result<Content, RunError> {
    let read = run.each_answer(Vec::new, |answers, place, answer| {
        let Results::Documents(documents) = &answer.results else {
            panic!("a TREC run has no events")
        };
        let documents = documents.iter().map(ToString::to_string);
        let documents = documents.zip(answer.scores.iter().copied()).collect();
        answers.push((place, answer.query.to_string(), documents));
    })?;
    let mut answers: Vec<_> = read.states.into_iter().flatten().collect();
    answers.sort_by_key(|(place, ..)| *place);
    let answers = answers.into_iter();
    let answers =
        answers.map(|(place, query, documents)| (query, read.places.line(place), documents));
    Ok(answers.collect())
}

fn options(order: Option<Order>) -> ReadOptions {
    let limits = Limits {
        record_bytes: 1 << 20,
        results_per_search: 1000,
    };
    ReadOptions {
        order,
        scores: true,
        ..ReadOptions::new(limits)
    }
}

/// Content of `bytes` in a file: each query, the line of its first result, and its ordered documents.
fn read(bytes: &[u8], order: Option<Order>) -> Result<Vec<(String, usize, Vec<String>)>, RunError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("base.run");
    fs::write(&path, bytes).expect("a file");
    let answers = content(RunReader::open(&path, &options(order))?)?.into_iter();
    let ids = |documents: Vec<(String, f64)>| documents.into_iter().map(|(id, _)| id).collect();
    let answers = answers.map(|(query, line, documents)| (query, line, ids(documents)));
    Ok(answers.collect())
}

/// Error message for `bytes`, starting at the line number.
fn complaint(bytes: &[u8]) -> String {
    let error = read(bytes, None)
        .expect_err("a run that is wrong")
        .to_string();
    let (_, complaint) = error.split_once("base.run:").expect("the file's name");
    complaint.to_owned()
}

fn answer(query: &str, line: usize, documents: &[&str]) -> (String, usize, Vec<String>) {
    let documents = documents.iter().map(ToString::to_string).collect();
    (query.to_owned(), line, documents)
}

/// Documents of each query, in the order of the file; the first line that is wrong as an error.
fn listed(text: &str) -> Result<Vec<(String, usize, Vec<String>)>, usize> {
    let mut answers: Vec<(String, usize, Vec<String>)> = Vec::new();
    for (number, line) in (1..).zip(text.split('\n')) {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let (query, document) = match *columns {
            [query, _, document, rank, _, _, ref more @ ..]
                if more.is_empty() || rank.parse::<f64>().is_ok() =>
            {
                (query, document)
            }
            [] => continue,
            _ => return Err(number),
        };
        match answers.iter_mut().find(|(known, ..)| known == query) {
            Some((.., documents)) if documents.iter().any(|it| it == document) => {
                return Err(number);
            }
            Some((.., documents)) => documents.push(document.to_owned()),
            None => answers.push(answer(query, number, &[document])),
        }
    }
    Ok(answers)
}

proptest! {
    /// Lines mostly repeat the start and the end of the line before, and some lack columns: two
    /// lines must not be read as one.
    #[test]
    fn lines_are_read_by_their_columns(
        lines in prop::collection::vec(
            (
                prop::sample::select(vec!["q1 Q0 ", "q1 Q0 ", "q1 Q0 ", "q10 Q0 ", "q1\tQ0\t", " q1 Q0  ", "q1 ", ""]),
                prop::sample::select(vec![" 1 0.5", " 1 0.5", " 1 0.5", "\t1  0.5", " 1", " 1 0.5 0.5", ""]),
                prop::sample::select(vec![" tag\n", " tag\n", " tag\n", " tag\r\n", "\ttag \n", "\n", " Q0\n"]),
            ),
            1..8,
        ),
    ) {
        let lines = (0..).zip(&lines);
        let lines = lines.map(|(at, (start, middle, end))| format!("{start}d{at}{middle}{end}"));
        // The first line shows that the text is a TREC run.
        let text = format!("q0 Q0 d 1 1 tag\n{}", lines.collect::<Vec<String>>().concat());
        match (read(text.as_bytes(), Some(Order::Served)), listed(&text)) {
            (Ok(read), Ok(listed)) => prop_assert_eq!(read, listed),
            (Err(error), Err(line)) => {
                let place = format!("base.run:{line}: ");
                prop_assert!(error.to_string().contains(&place), "{error} in {text:?}");
            }
            (read, listed) => prop_assert!(false, "{read:?}, {listed:?} for {text:?}"),
        }
    }
}

#[test]
fn lines_of_a_query_may_be_scattered() {
    let run = "\n q1 Q0 나 1 0.5 t\nq10 Q0 d 1 1 t\r\nq1\tQ0\t가\t2\t0.5\tt\n\nq1 Q0 e 3 0.75 t\nq10 Q0 f 9 2 t";
    let expected = |first: [&str; 3], second: [&str; 2]| {
        vec![answer("q1", 2, &first), answer("q10", 3, &second)]
    };
    let by_score = expected(["e", "나", "가"], ["f", "d"]);
    assert_eq!(read(run.as_bytes(), None).expect("a run"), by_score);
    let as_listed = expected(["나", "가", "e"], ["d", "f"]);
    for order in [Order::Served, Order::Rank] {
        let read = read(run.as_bytes(), Some(order)).expect("a run");
        assert_eq!(read, as_listed);
    }
}

#[test]
fn the_first_invalid_line_is_reported_across_all_queries() {
    let scattered = b"q1 Q0 a 1 1 t\nq2 Q0 a 1 1 t\nq2 Q0 b 1 high t\nq1 Q0 b 2 1\nq1 Q0 a 3 1 t\n";
    assert_eq!(
        complaint(scattered),
        "3: the score `high` is not a number; the columns are `query Q0 document rank score name`"
    );
    let many: String = (1..=5000)
        .map(|query| match query {
            4321 => format!("q{query} Q0 a 1 1\n"),
            4999 => format!("q{query} Q0 a 1 NaN t\n"),
            _ => format!("q{query} Q0 a 1 1 t\n"),
        })
        .collect();
    assert!(complaint(many.as_bytes()).starts_with("4321: 5 columns where a TREC run has six"));
}

#[test]
fn a_duplicate_document_is_reported_with_its_line() {
    let again = "q1 Q0 가 1 3 t\nq2 Q0 가 1 2 t\n\nq1 Q0 가 2 1 t\n";
    assert_eq!(
        complaint(again.as_bytes()),
        "4: document `가` is returned again for query `q1`; keep one"
    );
}

#[test]
fn binary_content_is_reported_with_its_line() {
    let binary = b"q1 Q0 a 1 3 t\nq1 Q0 b 1 2 t\nq1 Q0 \xff 1 1 t\n";
    assert_eq!(complaint(binary), "3: not UTF-8; save the file as UTF-8");
    let mut endless = b"q1 Q0 a 1 3 t\n".to_vec();
    endless.resize(3 << 20, b'x');
    assert!(complaint(&endless).starts_with("2: the line is longer than"));
}

proptest! {
    #[test]
    fn columns_of_a_text_are_those_of_the_standard_library(text in "[ \t\r\n\u{b}\u{c}\u{1f}\u{85}\u{a0}a0가]{0,60}") {
        let columns: Vec<&str> = text::columns(&text).collect();
        let expected: Vec<&str> = text.split_ascii_whitespace().collect();
        prop_assert_eq!(columns, expected);
    }

    #[test]
    fn scores_have_the_values_of_their_decimals(score in "[0-9]{0,18}[.]?[0-9]{0,18}") {
        prop_assume!(score.parse::<f64>().is_ok());
        let text = format!("q Q0 d 1 {score} t");
        let run = RunReader::of_bytes("base.run".into(), text.into_bytes(), &options(None));
        let run = content(run.expect("a small run")).expect("a run");
        let bits: Vec<u64> = run[0].2.iter().map(|(_, score)| score.to_bits()).collect();
        prop_assert_eq!(bits, [score.parse::<f64>().expect("a number").to_bits()]);
    }
}

/// Documents of each query in `bytes`, read with these options.
fn documents(bytes: &[u8], options: &ReadOptions) -> Result<Vec<(String, Vec<String>)>, String> {
    let run = RunReader::of_bytes("base.run".into(), bytes.to_vec(), options);
    let content = run.and_then(content).map_err(|error| error.to_string())?;
    let answers = content
        .into_iter()
        .map(|(query, _, documents)| (query, documents.into_iter().map(|(id, _)| id).collect()));
    Ok(answers.collect())
}

fn expected(answers: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let answers = answers.iter().map(|(query, documents)| {
        let documents = documents.iter().map(ToString::to_string);
        ((*query).to_owned(), documents.collect())
    });
    answers.collect()
}

#[test]
fn tables_are_read_by_the_names_of_their_columns() {
    let by_score = expected(&[("q1", &["a, b", "c"]), ("q2", &["d"])]);
    for table in [
        "query_id,doc_id,score\nq1,c,0.5\nq1,\"a, b\",0.75\nq2,d,1\n",
        "score;docno;qid\r\n0.5;c;q1\r\n0.75;a, b;q1\r\n1;d;q2\r\n",
        "q_id\tdoc_id\tscore\nq1\tc\t0.5\nq1\ta, b\t0.75\n# note\nq2\td\t1",
        "qid\tpid\trank\nq1\ta, b\t1\nq1\tc\t2\nq2\td\t1\n",
        "qid\tpid\tdistance\nq1\tc\t0.9\nq1\ta, b\t0.1\nq2\td\t1\n",
    ] {
        assert_eq!(
            documents(table.as_bytes(), &options(None)),
            Ok(by_score.clone()),
            "{table}"
        );
    }
    let msmarco = "1048585\t7187158\t1\n1048585\t7187157\t2\n2\t7187158\t1\n";
    let by_rank = expected(&[("1048585", &["7187158", "7187157"]), ("2", &["7187158"])]);
    assert_eq!(documents(msmarco.as_bytes(), &options(None)), Ok(by_rank));
    let scores = "q1 a 0.5\nq1 b 1.5\n";
    assert_eq!(
        documents(scores.as_bytes(), &options(None)),
        Ok(expected(&[("q1", &["b", "a"])]))
    );
}

#[test]
fn scores_of_json_may_be_texts() {
    let map = r#"{"q1": {"a": "0.5", "b": "1e1", "c": 2, "d": -1}}"#;
    assert_eq!(
        documents(map.as_bytes(), &options(None)),
        Ok(expected(&[("q1", &["b", "c", "a", "d"])]))
    );
    for score in ["\"NaN\"", "\"high\"", "null", "[1]"] {
        let map = format!("{{\"q1\": {{\"a\": {score}}}}}");
        let error = documents(map.as_bytes(), &options(None)).expect_err(score);
        assert!(
            error.contains("expected a score: a number, or its text"),
            "{error}"
        );
    }
}

#[test]
fn ranks_of_tables_that_contradict_the_scores_are_warned_about() {
    let warning = |content: &str, order: Option<Order>| {
        let options = options(order);
        let run = RunReader::of_bytes("r".into(), content.as_bytes().to_vec(), &options);
        let read = run.expect("a run").each_answer(|| (), |(), _, _| ());
        read.expect("a run").warning
    };
    let csv = "query_id,doc_id,rank,score\nq1,a,1,0.1\nq1,b,2,0.2\n";
    let records = "{\"qid\": \"q1\", \"docno\": \"a\", \"rank\": 1, \"score\": 0.1}\n\
                   {\"qid\": \"q1\", \"docno\": \"b\", \"rank\": 2, \"score\": 0.2}\n";
    for content in [csv, records] {
        let found = warning(content, None).expect(content);
        assert!(
            found.starts_with("r: ranks and scores order 1 of 1 consecutive results differently"),
            "{found}"
        );
        assert!(found.contains("--order ascending"), "{found}");
        assert_eq!(warning(content, Some(Order::Rank)), None);
    }
    let distances = "query_id,doc_id,rank,distance\nq1,a,1,0.1\nq1,b,2,0.2\n";
    assert_eq!(warning(distances, None), None);
    let opposed = "query_id,doc_id,rank,distance\nq1,a,3,0.1\nq1,b,2,0.5\nq1,c,1,0.9\n";
    assert_eq!(
        warning(opposed, None).as_deref(),
        Some(
            "r: ranks and distances order 2 of 2 consecutive results differently, first of query `q1`; results are \
             judged by distance, --order rank judges by the ranks"
        )
    );
    assert_eq!(warning(opposed, Some(Order::Ascending)), None);
}

#[test]
fn runs_of_pandas_polars_ranx_and_python_are_read_as_they_write_them() {
    let expected = expected(&[("q1", &["b", "a, b"]), ("q2", &["c"])]);
    let mut read = 0;
    for entry in fs::read_dir(crate::repository("tests/data/runs")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() || path.extension().is_some_and(|ending| ending == "py") {
            continue;
        }
        let run = fs::read(&path).expect("a file");
        let found = documents(&run, &options(None));
        assert_eq!(found, Ok(expected.clone()), "{}", path.display());
        read += 1;
    }
    assert_eq!(read, 17);
}

#[test]
fn a_submission_to_ms_marco_is_judged_by_rank() {
    let path = crate::repository("tests/data/runs/published/msmarco.tsv");
    let submitted = fs::read(&path).expect("a file");
    let passages = [
        "8766037", "8021997", "7816201", "8296123", "8790898", "5451590", "8021999", "8388210",
        "8702520", "8790903",
    ];
    let expected = expected(&[("1124703", &passages)]);
    assert_eq!(documents(&submitted, &options(None)), Ok(expected.clone()));
    // With stated columns, the lines may be in any order.
    let text = String::from_utf8(submitted).expect("UTF-8");
    let reversed: Vec<&str> = text.lines().rev().collect();
    let stated = ReadOptions {
        columns: Some(Columns::of_run("query,document,rank").expect("columns")),
        ..options(None)
    };
    let found = documents(reversed.join("\n").as_bytes(), &stated);
    assert_eq!(found, Ok(expected));
    // The measure of MS MARCO is RR@10: of the passages at ranks 4 and 10, the first one decides.
    let judged = "1124703 0 8790903 1\n1124703 0 8296123 1\n";
    let gold = gold::parse("dev.qrels", judged.as_bytes(), &gold::Options::default());
    let measures = Measure::parse_list("RR@10 RR@3 P@10").expect("measures");
    let run = RunReader::open(&path, &options(None)).expect("a run");
    let requested = evaluate::Options {
        measures,
        ..evaluate::Options::default()
    };
    let found = judge(
        &gold.expect("judgements"),
        "run",
        run,
        &requested,
        &Contents::default(),
    );
    let means = found.expect("judged").evaluation.means;
    assert_eq!(means, [Some(0.25), Some(0.0), Some(0.2)]);
}

#[test]
fn queries_of_user_behavior_insights_are_read_as_an_index_is_exported() {
    let lines = r#"{"_index": "ubi_queries", "_id": "1", "_source": {"query_id": "a", "user_query": "q1",
        "timestamp": 1767607200000, "query_response_hit_ids": ["d2", "d1"]}}"#;
    let lines = lines.replace('\n', "");
    let run = RunReader::of_bytes("ubi.jsonl".into(), lines.into_bytes(), &options(None));
    let read = run
        .expect("a run")
        .each_answer(Vec::new, |answers, _, answer| {
            let Results::Search(search) = &answer.results else {
                panic!("UBI has events")
            };
            let ids = search.results.iter().map(|hit| hit.id.to_string());
            answers.push((answer.query.to_string(), ids.collect()));
        });
    let answers: Vec<(String, Vec<String>)> = read
        .expect("answers")
        .states
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(answers, expected(&[("q1", &["d2", "d1"])]));
}

#[test]
fn a_data_frame_in_one_object_keeps_the_order_of_its_rows() {
    // Rows keep their order, of which the names of more than ten rows are no order of texts.
    let ids = (0..12)
        .map(|row| format!("\"{row}\":\"d{row}\""))
        .collect::<Vec<_>>();
    let queries = (0..12)
        .map(|row| format!("\"{row}\":1"))
        .collect::<Vec<_>>();
    let frame = format!(
        "{{\"qid\":{{{}}},\"docno\":{{{}}}}}",
        queries.join(","),
        ids.join(",")
    );
    let listed: Vec<String> = (0..12).map(|row| format!("d{row}")).collect();
    assert_eq!(
        documents(frame.as_bytes(), &options(None)),
        Ok(vec![("1".to_owned(), listed)])
    );
    let unequal = r#"{"qid":{"0":"q1"},"docno":{"1":"a"}}"#;
    let error = documents(unequal.as_bytes(), &options(None)).expect_err("other rows");
    assert!(
        error.contains("column `docno`: its rows are not those of the first column"),
        "{error}"
    );
    // Queries may have any names.
    let map = r#"{"doc_id": {"a": 1}, "score": {"b": 2}}"#;
    assert_eq!(
        documents(map.as_bytes(), &options(None)),
        Ok(expected(&[("doc_id", &["a"]), ("score", &["b"])]))
    );
}

#[test]
fn a_wrong_number_is_reported_with_the_columns_of_its_run() {
    let with_columns = ReadOptions {
        columns: Some(Columns::of_run("query,_,document,_,score").expect("columns")),
        ..options(None)
    };
    for (run, options, message) in [
        (
            "query_id,doc_id,score\nq1,a,1\nq1,b,nan\n",
            &options(None),
            "3: the score `nan` is not a number; the columns are `query_id,doc_id,score`",
        ),
        (
            "query_id;doc_id;score\nq1;a;0,5\n",
            &options(None),
            "2: the score `0,5` is not a number: write `0.5`, with a point; the columns are \
             `query_id;doc_id;score`",
        ),
        (
            "qid,rank,docno,note\nq1,x,a,\"b\"\n",
            &options(None),
            "2: the rank `x` is not a number; the columns are `qid,rank,docno,note`",
        ),
        (
            "q1 - a - 1\nq1 - b - high\n",
            &with_columns,
            "2: the score `high` is not a number; the columns are 1 query, 3 document, 5 score",
        ),
        (
            "{\"qid\": \"q1\", \"docno\": \"a\", \"score\": \"0,5\"}\n",
            &options(None),
            "1: the score `0,5` is not a number: write `0.5`, with a point; the members are docno, qid, score",
        ),
    ] {
        let error = documents(run.as_bytes(), options).expect_err(run);
        assert!(error.ends_with(message), "{error}");
    }
}

#[test]
fn columns_that_are_not_found_are_stated() {
    let with = |columns: &str| ReadOptions {
        columns: Some(Columns::of_run(columns).expect("columns")),
        ..options(None)
    };
    let table = "topic_nr,article,s\nq1,a,1\nq1,b,2\n";
    let stated = documents(
        table.as_bytes(),
        &with("query=topic_nr,document=article,score=3"),
    );
    assert_eq!(stated, Ok(expected(&[("q1", &["b", "a"])])));
    let colbert = "q1\ta\t2\t9.5\nq1\tb\t1\t9.75\n";
    for (columns, order) in [
        ("query,document,rank,score", ["b", "a"]),
        ("query,document,_,distance", ["a", "b"]),
    ] {
        let read = documents(colbert.as_bytes(), &with(columns));
        assert_eq!(read, Ok(expected(&[("q1", &order)])), "{columns}");
    }
    let record = "{\"q\": \"q1\", \"d\": 7, \"s\": 1}\n{\"q\": \"q1\", \"d\": 8, \"s\": 2}\n";
    let read = documents(record.as_bytes(), &with("query=q,document=d,score=s"));
    assert_eq!(read, Ok(expected(&[("q1", &["8", "7"])])));
    let missing = documents(table.as_bytes(), &with("query=topic,document=article"));
    let missing = missing.expect_err("no such column");
    assert!(
        missing.contains("no column is called `topic`; the columns are topic_nr, article, s"),
        "{missing}"
    );
    let columns = with("query=topic_nr,document=article,score=points");
    let missing = documents(table.as_bytes(), &columns).expect_err("no such column");
    assert!(
        missing.contains("no column is called `points`; the columns are topic_nr, article, s"),
        "{missing}"
    );
    for (columns, reason) in [
        ("query,rank", "the column of the document is missing"),
        ("query,document,grade", "`grade` is no content of a column"),
        ("query,query,document", "`query` is stated twice"),
    ] {
        let error = Columns::of_run(columns).expect_err(columns);
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn wrong_tables_are_reported_with_their_lines() {
    for (table, message) in [
        (
            "sep=;\nquery_id;doc_id;score\nq1;a;1\n",
            "1: the first line `sep=;` is Excel's note of the separator; remove the line",
        ),
        (
            "query_id,doc_id,score\nq1,a,1\nq1,b, c,2\n",
            "3: 4 fields where the header has 3",
        ),
        (
            "query_id,doc_id,score\nq1,\"a,1\nq1,b,2\n",
            "2: a quote is opened and not closed",
        ),
        (
            "query_id,doc_id,score\nq1,a,NaN\n",
            "2: the score `NaN` is not a number",
        ),
        (
            "query_id,doc_id,score\nq1,a\n",
            "2: column 3, the score, is missing",
        ),
        (
            "query_id,doc_id,score\nq1,a,1\nq2,a,1\nq1,a,2\n",
            "4: document `a` is returned again for query `q1`",
        ),
        (
            "q1 a 5\nq1 b 9\n",
            "1: three columns, of which the last can be a rank or a score",
        ),
        ("q1 a 2 9.5\n", "1: 4 columns where a TREC run has six"),
    ] {
        let error = documents(table.as_bytes(), &options(None)).expect_err(table);
        assert!(error.contains(&format!("base.run:{message}")), "{error}");
    }
}

#[test]
fn records_and_lists_of_json_are_read() {
    let by_score = expected(&[("q1", &["b", "a"]), ("7", &["12"])]);
    let lines = r#"{"query_id": "q1", "doc_id": "a", "score": 1}
{"query_id": "q1", "doc_id": "b", "score": 2.5}
{"query_id": 7, "doc_id": 12, "score": "0.5"}"#;
    let list = format!("[{}]", lines.replace('\n', ","));
    for records in [lines, &list] {
        assert_eq!(
            documents(records.as_bytes(), &options(None)),
            Ok(by_score.clone())
        );
    }
    for lists in [
        r#"{"q1": ["b", "a"], "7": [12]}"#,
        r#"{"q1": [{"id": "b"}, {"id": "a"}], "7": [{"doc_id": 12}]}"#,
        r#"{"q1": [{"id": "a", "score": 1}, {"id": "b", "score": 2}], "7": [12]}"#,
        r#"{"q1": [{"id": "a", "distance": 1}, {"id": "b", "distance": 0.5}], "7": [12]}"#,
    ] {
        assert_eq!(
            documents(lists.as_bytes(), &options(None)),
            Ok(by_score.clone()),
            "{lists}"
        );
    }
    let error = documents(br#"{"q1": [{"url": "b"}]}"#, &options(None)).expect_err("no id");
    assert!(error.contains("its members are url"), "{error}");
}

#[test]
fn text_after_the_sixth_column_is_ignored_unless_columns_are_shifted() {
    let notes = "q1 Q0 a 1 3 tag and a note\nq1 Q0 b 2 2 tag\n";
    assert_eq!(
        documents(notes.as_bytes(), &options(None)),
        Ok(expected(&[("q1", &["a", "b"])]))
    );
    let shifted = "q1 Q0 a document 1 3 tag\n";
    let error = documents(shifted.as_bytes(), &options(None)).expect_err("a blank in the id");
    assert!(error.contains("base.run:1: 7 columns"), "{error}");
}

#[test]
fn distances_are_judged_ascending_and_hinted_at() {
    let distances = "q1 Q0 a 1 0.1 t\nq1 Q0 b 2 0.5 t\nq2 Q0 a 1 0.25 t\nq2 Q0 b 2 0.75 t\n";
    let read = |order| documents(distances.as_bytes(), &options(order));
    assert_eq!(
        read(Some(Order::Ascending)),
        Ok(expected(&[("q1", &["a", "b"]), ("q2", &["a", "b"])]))
    );
    assert_eq!(
        read(None),
        Ok(expected(&[("q1", &["b", "a"]), ("q2", &["b", "a"])]))
    );
    let warning = |run: &str, order| {
        let run = RunReader::of_bytes("base.run".into(), run.as_bytes().to_vec(), &options(order));
        run.expect("a run").warning().map(ToOwned::to_owned)
    };
    let hint = warning(distances, None).expect("a hint");
    assert!(
        hint.contains("2 of 2 consecutive results differently")
            && hint.contains("--order ascending"),
        "{hint}"
    );
    let some = warning("q1 Q0 a 1 3 t\nq1 Q0 b 2 4 t\nq1 Q0 c 3 1 t\n", None).expect("a hint");
    assert!(
        some.contains("1 of 2") && some.contains("--order rank"),
        "{some}"
    );
    assert_eq!(warning(distances, Some(Order::Ascending)), None);
    // Equal ranks or scores state no order.
    assert_eq!(
        warning("q1 Q0 a 0 3 t\nq1 Q0 b 0 4 t\nq1 Q0 c 1 4 t\n", None),
        None
    );
}

#[test]
fn identical_ids_are_left_out_and_ids_are_composed() {
    let run = "q1 Q0 q1 1 3 t\nq1 Q0 a 2 2 t\nq2 Q0 q1 1 1 t\n";
    let ignoring = ReadOptions {
        ignore_identical_ids: true,
        ..options(None)
    };
    assert_eq!(
        documents(run.as_bytes(), &ignoring),
        Ok(expected(&[("q1", &["a"]), ("q2", &["q1"])]))
    );
    let decomposed = "\u{1109}\u{1175} Q0 \u{1109}\u{1175} 1 1 t\n";
    let composing = ReadOptions {
        compose_ids: true,
        ..options(None)
    };
    assert_eq!(
        documents(decomposed.as_bytes(), &composing),
        Ok(expected(&[("시", &["시"])]))
    );
}

#[test]
fn white_space_around_a_field_of_a_table_is_no_part_of_it() {
    for table in [
        "query_id, doc_id, score\nq1, a, 3\n q1 , b , 2\n",
        "query_id, doc_id, score\nq1,\" a \", 3\n q1 , b , 2\n",
        "query_id\tdoc_id\tscore\nq1 \t a\t3\nq1\tb \t 2\n",
        "q1, a, 3.5\nq1, b, 2.5\n",
    ] {
        assert_eq!(
            documents(table.as_bytes(), &options(None)),
            Ok(expected(&[("q1", &["a", "b"])])),
            "{table}"
        );
    }
}

#[test]
fn line_ends_of_cr_alone_are_named() {
    let large = "q1 Q0 a 1 3 t\r".repeat(100_000);
    for run in [
        "q1 Q0 a 1 3 t\rq1 Q0 b 2 2 t\r",
        "query_id,doc_id,score\rq1,a,3\rq1,b,2\r",
        "query_id\tdoc_id\tscore\rq1\ta\t3",
        &large,
    ] {
        assert_eq!(
            complaint(run.as_bytes()),
            "1: the lines end with CR alone; save the file with the line ends LF or CR LF"
        );
    }
}

#[test]
fn ids_of_records_keep_their_text() {
    let ids = ["18446744073709551615", "-7"];
    let record = |id: &str| format!("{{\"query_id\": \"q1\", \"doc_id\": {id}}}\n");
    let run = ids.map(record).concat();
    assert_eq!(
        documents(run.as_bytes(), &options(None)),
        Ok(expected(&[("q1", &ids)]))
    );
    for id in ["18446744073709551616", "1e3", "1000.0", "1.5"] {
        let lists = format!("{{\"q1\": [\"a\", {id}]}}");
        let frame = format!("{{\"query_id\": [\"q1\"], \"doc_id\": [{id}]}}");
        let query = format!("{{\"query_id\": {id}, \"doc_id\": \"a\"}}");
        for run in [record(id), lists, frame, query] {
            let error = documents(run.as_bytes(), &options(None)).expect_err(&run);
            assert!(
                error.contains("which is no whole number of 64 bits; write the id as a text"),
                "{run}: {error}"
            );
        }
    }
}

#[test]
fn an_empty_id_is_an_error() {
    for (run, what) in [
        (r#"{"q1": {"": 1}}"#, "document"),
        (r#"{"q1": ["a", ""]}"#, "document"),
        (r#"{"q1": [{"id": " "}]}"#, "document"),
        (r#"{"": {"a": 1}}"#, "query"),
    ] {
        let error = documents(run.as_bytes(), &options(None)).expect_err(run);
        assert!(
            error.contains(&format!("a {what} has an empty id")),
            "{error}"
        );
    }
    for (key, document) in [("q1", ""), ("", "a")] {
        let error = RankedQuery::new(key, &mut [(1.0, document)], None).expect_err("an empty id");
        assert!(error.to_string().contains("has an empty id"), "{error}");
    }
}

#[test]
fn a_response_to_a_search_is_named() {
    let run = r#"{"took": 3, "timed_out": false, "hits": {"total": {"value": 1}, "hits": [{"_id": "a", "_score": 1.2}]}}"#;
    let error = documents(run.as_bytes(), &options(None)).expect_err("a response is no run");
    assert!(
        error.contains("the response to a search, which does not name its query"),
        "{error}"
    );
}

#[test]
fn a_quote_in_a_table_of_tabs_swallows_no_row() {
    for (run, line) in [
        ("q1\t\"a\t3\nq1\tb\"\t2\n", 1),
        (
            "query_id\tdoc_id\tscore\nq1\tc\t4\nq1\t\"a\t3\nq1\tb\"\t2\n",
            3,
        ),
    ] {
        let columns = Columns::of_run("query,document,score").expect("columns");
        let options = ReadOptions {
            columns: Some(columns),
            ..options(None)
        };
        let error = documents(run.as_bytes(), &options).expect_err(run);
        let expected = format!("base.run:{line}: a quote is opened and not closed");
        assert!(error.contains(&expected), "{error}");
    }
    // As pandas, polars and R write quotes, and a quote within a field.
    let quoted = "query_id\tdoc_id\tscore\n\"q1\"\t\"\"\"a\"\t3\nq1\t5\" pipe\t2\n";
    assert_eq!(
        documents(quoted.as_bytes(), &options(None)),
        Ok(expected(&[("q1", &["\"a", "5\" pipe"])]))
    );
    // In CSV, a quoted field may have several lines.
    let csv = "query_id,doc_id,score\nq1,\"a\nb\",3\n";
    assert_eq!(
        documents(csv.as_bytes(), &options(None)),
        Ok(expected(&[("q1", &["a\nb"])]))
    );
}
