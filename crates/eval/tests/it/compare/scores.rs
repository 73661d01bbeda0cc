//! Score files of trec_eval.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rankgauge_eval::compare::{RunScores, ScoreFileProblem};

#[test]
fn lines_in_the_format_of_trec_eval_are_read() {
    let lines = "\u{feff}runid                 \tall\tbm25\nmap                   \tq:1\t0.1234\r\n\n\
                 num_q                 \tall\t2\nrunid q:1 bm25\nmap\tq:2\t-1.5e-1\nP_5 q:2 1";
    let run = RunScores::read("bm25", "bm25.eval", lines.as_bytes()).expect("scores");
    assert_eq!(run.measures, ["map", "P_5"]);
    let expected = BTreeMap::from([
        ("q:1".to_owned(), vec![Some(0.1234), None]),
        ("q:2".to_owned(), vec![Some(-0.15), Some(1.0)]),
    ]);
    assert_eq!(run.queries, expected);
}

fn read(lines: &str) -> BTreeMap<String, Vec<Option<f64>>> {
    let run = RunScores::read("x", "x.eval", lines.as_bytes());
    run.expect("scores").queries
}

#[test]
fn relevance_strings_of_all_trec_are_skipped() {
    let lines = "relstring \tq1\t'101'\nmap\tq1\t0.5\nrelstring\tall\t'x'\nmap\tall\t0.5\n";
    assert_eq!(
        read(lines),
        BTreeMap::from([("q1".to_owned(), vec![Some(0.5)])])
    );
}

#[test]
fn lines_of_ir_measures_have_the_query_first() {
    let lines = "q1\tnDCG@10\t0.5\nq1\tAP\t0.25\nAP\tAP\t1\nall\tnDCG@10\t0.5\nall\tAP\t0.6250\n";
    let run = RunScores::read("x", "x.tsv", lines.as_bytes()).expect("scores");
    assert_eq!(run.measures, ["nDCG@10", "AP"]);
    let expected = BTreeMap::from([
        ("AP".to_owned(), vec![None, Some(1.0)]),
        ("q1".to_owned(), vec![Some(0.5), Some(0.25)]),
    ]);
    assert_eq!(run.queries, expected);
    let lines = "{\"query_id\": \"q 1\", \"measure\": \"AP\", \"value\": 0.25}\n\
                 {\"query_id\": \"all\", \"measure\": \"AP\", \"value\": 0.25}\n";
    assert_eq!(
        read(lines),
        BTreeMap::from([("q 1".to_owned(), vec![Some(0.25)])])
    );
}

#[test]
fn a_query_named_all_is_kept_beside_the_means() {
    let lines = "P_1\tall\t1.0\nP_1\tq1\t0.0\nnum_q\tall\t2\nP_1\tall\t0.5\n";
    let expected = BTreeMap::from([
        ("all".to_owned(), vec![Some(1.0)]),
        ("q1".to_owned(), vec![Some(0.0)]),
    ]);
    assert_eq!(read(lines), expected);
    let thrice = "P_1\tall\t1.0\nP_1\tall\t0.0\nP_1\tall\t0.5\n";
    let wrong = RunScores::read("x", "x", thrice.as_bytes()).expect_err("a repeated query");
    assert!(matches!(
        wrong.problem,
        ScoreFileProblem::Repeated { first: 1, .. }
    ));
}

#[test]
fn an_endless_line_is_rejected_without_being_buffered() {
    let endless = std::io::BufReader::new(std::io::repeat(b'x'));
    let wrong = RunScores::read("x", "x", endless).expect_err("a line without an end");
    assert!(matches!(wrong.problem, ScoreFileProblem::LongLine));
    assert_eq!(wrong.line, Some(1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let read = RunScores::read("x", "x", bytes.as_slice());
        prop_assert!(read.is_ok() || !read.expect_err("an error").to_string().is_empty());
    }
}
