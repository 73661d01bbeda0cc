//! Runs in memory.

use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::measure::Measure;
use rankgauge_eval::evaluate::{Options, RunEvaluation};
use rankgauge_eval::pass::{Contents, JudgeError, judge, judge_in_memory};
use rankgauge_eval::run::{Order, RankedQuery, ReadOptions, RunReader};

const QUERIES: usize = 200;

fn gold() -> GoldSet {
    let lines = (0..QUERIES).map(|query| format!("q{query} 0 d{} 1\nq{query} 0 d3 2\n", query % 7));
    let lines: String = lines.filter(|line| !line.contains("d3 1")).collect();
    gold::parse("x.qrels", lines.as_bytes(), &gold::Options::default()).expect("qrels")
}

fn options() -> Options {
    Options {
        measures: Measure::parse_list("nDCG@5 AP P@2").expect("measures"),
        ..Options::default()
    }
}

/// Results of each query, with equal scores.
fn results() -> Vec<(String, Vec<(f64, String)>)> {
    let queries = (0..QUERIES).map(|query| {
        let score = |document: usize| f64::from(u32::try_from(query * document % 5).unwrap_or(0));
        let results = (0..9).map(|document| (score(document), format!("d{document}")));
        (format!("q{query}"), results.collect())
    });
    queries.collect()
}

fn ranked(order: Option<Order>) -> Vec<RankedQuery> {
    let queries = results();
    let ranked = queries.iter().map(|(key, results)| {
        let results = results.iter().map(|(score, id)| (*score, id.as_str()));
        RankedQuery::new(key, &mut results.collect::<Vec<_>>(), order).expect("results")
    });
    ranked.collect()
}

fn in_file(order: Option<Order>) -> RunEvaluation {
    let lines = results().into_iter().flat_map(|(query, results)| {
        let lines = results.into_iter();
        lines.map(move |(score, id)| format!("{query} Q0 {id} 1 {score} t\n"))
    });
    let limits = rankgauge_core::event::Limits {
        record_bytes: 1 << 20,
        results_per_search: 100,
    };
    let options = ReadOptions {
        order,
        ..ReadOptions::new(limits)
    };
    let bytes = lines.collect::<String>().into_bytes();
    let run = RunReader::of_bytes("x.run".into(), bytes, &options).expect("a run");
    let judged = judge(&gold(), "x", run, &self::options(), &Contents::default());
    judged.expect("judged").evaluation
}

#[test]
fn a_run_in_memory_equals_a_file() {
    for order in [None, Some(Order::Score), Some(Order::Served)] {
        let evaluation = judge_in_memory(&gold(), "x", &ranked(order), &options());
        let file = RunEvaluation {
            tag: None,
            ..in_file(order)
        };
        assert_eq!(evaluation.expect("judged").evaluation, file);
    }
}

fn documents(query: &RankedQuery) -> Vec<&str> {
    query.documents().collect()
}

#[test]
fn results_are_ordered_by_their_ranks() {
    let mut rows = [
        (3.0, "c"),
        (1.0, "a"),
        (10.0, "d"),
        (1.0, "b"),
        (-0.0, "x"),
        (0.0, "y"),
    ];
    let ranked = RankedQuery::by_rank("q", &mut rows).expect("ranks");
    assert_eq!(documents(&ranked), ["x", "y", "a", "b", "c", "d"]);
    assert!(ranked.scores().is_sorted_by(|one, other| one > other));
    let error = RankedQuery::by_rank("q", &mut [(f64::NAN, "a")]);
    let text = error.expect_err("no rank").to_string();
    assert!(text.contains("has no rank"), "{text}");
}

#[test]
fn results_are_changed_as_a_reader_changes_them() {
    let limits = rankgauge_core::event::Limits {
        record_bytes: 1 << 20,
        results_per_search: 100,
    };
    let unchanged = ReadOptions::new(limits);
    let mut rows = [(3.0, "q\u{fc}"), (2.0, "cafe\u{301}"), (1.0, "z")];
    let ranked = RankedQuery::new("qu\u{308}", &mut rows, None).expect("results");
    assert!(ranked.changed(&unchanged).is_none());
    let changed = |options: ReadOptions| ranked.changed(&options).expect("a change");
    let composed = changed(ReadOptions {
        compose_ids: true,
        ..unchanged.clone()
    });
    assert_eq!(composed.key(), "q\u{fc}");
    assert_eq!(documents(&composed), ["q\u{fc}", "caf\u{e9}", "z"]);
    let few = changed(ReadOptions {
        compose_ids: true,
        ignore_identical_ids: true,
        max_results: Some(1),
        ..unchanged
    });
    assert_eq!(documents(&few), ["caf\u{e9}"]);
    assert_eq!(few.scores(), [2.0]);
}

#[test]
fn wrong_results_are_refused() {
    let refused = |results: &mut [(f64, &str)], order| {
        let error = RankedQuery::new("q", results, order).expect_err("refused");
        error.to_string()
    };
    let text = refused(&mut [(1.0, "a"), (f64::NAN, "b")], None);
    assert!(text.contains("`b` for query `q` is not a number"), "{text}");
    let text = refused(&mut [(1.0, "a")], Some(Order::Rank));
    assert!(text.contains("has no rank"), "{text}");
    let twice = RankedQuery::new("q", &mut [(1.0, "a"), (0.5, "a")], None).expect("results");
    let error = twice.check_distinct().expect_err("twice").to_string();
    assert!(error.contains("`a` is returned again"), "{error}");
}

#[test]
fn a_run_of_other_queries_is_refused() {
    let other = RankedQuery::new("other", &mut [(1.0, "a")], None).expect("results");
    let error = judge_in_memory(&gold(), "run", &[other], &options());
    assert!(matches!(error, Err(JudgeError::NoGoldQuery { .. })));
    let one = RankedQuery::new("q1", &mut [(1.0, "a")], None).expect("results");
    let twice = judge_in_memory(&gold(), "run", &[one.clone(), one], &options());
    assert!(matches!(twice, Err(JudgeError::AnsweredTwice(_))));
}
