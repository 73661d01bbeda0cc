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
