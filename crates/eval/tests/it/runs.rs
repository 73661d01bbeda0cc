//! Run files: content, result order, and error messages of invalid files.

use std::fs;

use proptest::prelude::*;

use rankgauge_core::event::Limits;
use rankgauge_core::ranking::Eligibility;
use rankgauge_core::text;
use rankgauge_eval::run::{Order, ReadOptions, Results, RunError, RunReader};

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
    ReadOptions {
        eligibility: Eligibility::default(),
        order,
        limits: Limits {
            record_bytes: 1 << 20,
            results_per_search: 1000,
        },
        scores: true,
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
        let [query, _, document, _, _, _] = *columns else {
            if columns.is_empty() {
                continue;
            }
            return Err(number);
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
        let text = lines.collect::<Vec<String>>().concat();
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
