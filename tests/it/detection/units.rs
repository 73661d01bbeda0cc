//! `backtest --test experiment|split|interleaving`, and the classes of `--test drop`.

use serde_json::{Value, json};

use super::{backtest, printed};
use crate::harness::command::assert_reports;

fn summary(flags: &[&str], lines: &[Value]) -> Value {
    let input: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let lines = printed(flags, &input.join("\n"));
    assert_eq!(lines.len(), input.len() + 1);
    lines.last().expect("a summary")["summary"].clone()
}

#[track_caller]
fn refused(flags: &[&str], input: &str, says: &[&str]) {
    let output = backtest(flags, input);
    for part in says {
        assert_reports(&output, 2, part);
    }
}

fn search(number: i64, unit: &str, arm: i64, score: f64) -> Value {
    json!({"ts": 1_763_337_600_000_i64 + number * 1000, "unit": unit, "arm": arm, "score": score})
}

#[test]
fn sums_of_decimal_scores_are_exact() {
    // The scores of an arm are equal: the variance is that of the pseudo-count, 1/4 of a search a
    // bucket, and the difference is exact.
    let lines: Vec<Value> = (0..2000_i64)
        .map(|number| {
            let score = if number % 2 == 1 { 0.3 } else { 0.35 };
            search(number, &format!("u{number}"), number % 2, score)
        })
        .collect();
    let found = summary(&["--test", "experiment"], &lines);
    let difference = found["difference"].as_f64().expect("a difference");
    assert!((difference + 0.05).abs() < 1e-14, "{found}");
}

#[test]
fn an_experiment_finds_the_worse_arm_and_ignores_a_bot() {
    // Scores vary by unit; arm 1 is worse by 0.1.
    let worse: Vec<Value> = (0..4000_i64)
        .map(|number| {
            let (arm, base) = (number % 2, if number % 4 < 2 { 0.6 } else { 0.8 });
            let score = if arm == 1 { base - 0.1 } else { base };
            search(number, &format!("u{number}"), arm, score)
        })
        .collect();
    let found = summary(&["--test", "experiment", "--assignment", "user"], &worse);
    assert!(
        found["worse_at"].as_u64().is_some_and(|at| at < 4000),
        "{found}"
    );
    assert_eq!(found["worse_at"], found["crossed_at"]);
    assert_eq!(found["counted"], 4000);
    let difference = found["difference"].as_f64().expect("a difference");
    assert!((difference + 0.1).abs() < 0.02, "{found}");
    let end = |place: usize| found["interval"][place].as_f64().expect("a number");
    assert!(
        end(0) < difference && difference < end(1) && end(1) < 0.0,
        "{found}"
    );
    assert!(
        found["split"].as_f64().is_some_and(|it| it < 0.0),
        "{found}"
    );

    // The same scores in both arms, and a bot with 3,000 bad searches within an hour in arm 1.
    let mut bot: Vec<Value> = (0..2000_i64)
        .map(|number| {
            let score = if number % 4 < 2 { 0.6 } else { 0.8 };
            search(number, &format!("u{number}"), number % 2, score)
        })
        .collect();
    bot.extend((0..1500).map(|number| search(2000, "bot", 1, f64::from(number % 2) * 0.1)));
    let found = summary(&["--test", "experiment", "--assignment", "session"], &bot);
    assert_eq!(found["worse_at"], Value::Null);
    // 20 of the bot's bucket, which it shares with one other unit of its arm.
    assert_eq!(found["counted"], 2019);
    assert_eq!(found["assignment"], "session");
}

#[test]
fn few_buckets_have_no_difference() {
    let few: Vec<Value> = (0..150_i64)
        .map(|number| search(number, &number.to_string(), number % 2, 0.5))
        .collect();
    let found = summary(&["--test", "experiment"], &few);
    for key in ["worse_at", "difference", "variance", "interval", "maximum"] {
        assert_eq!(found[key], Value::Null, "{key}");
    }
}

#[test]
fn a_unit_counts_once_in_a_split() {
    let mut lines: Vec<Value> = (0..500)
        .map(|number| json!({"unit": number, "arm": number % 2}))
        .collect();
    lines.extend((0..1000).map(|_| json!({"unit": "bot", "arm": 1})));
    let found = summary(&["--test", "split", "--shares", "0.5,0.5"], &lines);
    assert_eq!(
        (&found["counted"], &found["by_arm"]),
        (&json!(501), &json!([250, 251]))
    );
    assert_eq!(found["crossed_at"], Value::Null);
    let found = summary(&["--test", "split", "--shares", "0.2,0.8"], &lines);
    assert!(found["crossed_at"].is_u64(), "{found}");
}

#[test]
fn a_double_click_breaks_no_tie() {
    let search = |session: &str, clicks: &[&str]| json!({"session": session, "search": "1", "teams": "ABAB", "clicks": clicks, "results": ["d1", "d2", "d3", "d4"]});
    let lines = [
        search("s1", &["d1", "d1", "d2"]),
        search("s2", &["d1"]),
        search("s2", &["d3", "d3", "d9", "d2", "d4", "d4"]),
        search("s3", &["d2"]),
        search("s4", &["d1", "d3", "d2"]),
        search("s5", &[]),
    ];
    let found = summary(&["--test", "interleaving"], &lines);
    assert_eq!(
        (&found["wins"], &found["losses"], &found["ties"]),
        (&json!(1), &json!(1), &json!(3))
    );
    assert_eq!(found["delta"], 0.0);
    let many: Vec<Value> = (0..60)
        .map(|session| search(&session.to_string(), &["d1"]))
        .collect();
    let found = summary(&["--test", "interleaving"], &many);
    assert_eq!(found["wins"], 60);
    let crossed = found["crossed_at"].as_u64().expect("a preference");
    assert_eq!(
        found["maximum"]["n"], 60,
        "the last session ends with the input"
    );
    assert!((30..60).contains(&crossed), "{found}");
}

/// Hours of searches of 20 queries, one every 20 s, from `high` and `judged` of the later half.
fn falling(later: (f64, f64, f64)) -> Vec<Value> {
    (0..2000_i64)
        .map(|number| {
            let (score, high, judged) = if number < 1000 { (0.8, 0.9, 0.9) } else { later };
            let ts = 1_763_337_600_000_i64 + number * 20_000;
            json!({"ts": ts, "query": number % 20, "score": score, "score_high": high, "judged": judged})
        })
        .collect()
}

#[test]
fn a_drop_has_a_part_and_a_class() {
    let class = |later| {
        let found = summary(&[], &falling(later));
        (found["part"].clone(), found["class"].clone())
    };
    assert_eq!(class((0.4, 0.5, 0.9)), (json!("all"), json!("worse")));
    assert_eq!(
        class((0.4, 0.9, 0.5)),
        (json!("all"), json!("more_unjudged"))
    );
    assert_eq!(class((0.4, 0.9, 0.9)), (json!("all"), json!("undecided")));
    assert_eq!(class((0.8, 0.9, 0.9)), (Value::Null, Value::Null));
    // One query of 40 falls.
    let some: Vec<Value> = (0..12_000_i64)
        .map(|number| {
            let query = number % 40;
            let score = if query == 3 && number > 6000 {
                0.0
            } else {
                0.8
            };
            json!({"ts": 1_763_337_600_000_i64 + number * 20_000, "query": query, "score": score})
        })
        .collect();
    let found = summary(&[], &some);
    assert_eq!(
        (&found["part"], &found["class"]),
        (&json!("some"), &Value::Null)
    );
    let found = summary(&["--no-local"], &some);
    assert_eq!(found["crossed_at"], Value::Null);
}

#[test]
fn events_that_cannot_be_tested_name_their_line() {
    let good = search(0, "u", 0, 0.5);
    let bad = |line: &str| format!("{good}\n{line}\n");
    let experiment = ["--test", "experiment"];
    for (line, says) in [
        (
            r#"{"ts": 1, "unit": "u", "arm": 2, "score": 0.5}"#,
            "arm 2 is neither 0",
        ),
        (
            r#"{"ts": 1, "unit": "u", "arm": 0, "score": 1.5}"#,
            "score 1.5 is not from 0 to 1",
        ),
        (
            r#"{"ts": "x", "unit": "u", "arm": 0, "score": 0.5}"#,
            "`ts`: not an ISO 8601 time with an offset",
        ),
        (
            r#"{"ts": 1, "unit": [], "arm": 0, "score": 0.5}"#,
            "`unit` is not an id",
        ),
        (
            r#"{"ts": 1, "arm": 0, "score": 0.5}"#,
            "missing field `unit`",
        ),
        ("[]", "not a JSON object"),
    ] {
        let says = ["standard input:2: ", says, "is expected"];
        refused(&experiment, &bad(line), &says[..2]);
    }
    refused(
        &["--test", "split"],
        r#"{"unit": 1, "arm": 2}"#,
        &["standard input:1: arm 2 has no share"],
    );
    let interleaving = ["--test", "interleaving"];
    let line = r#"{"session": "s", "teams": "AB", "results": ["d1"]}"#;
    refused(&interleaving, line, &["2 letters for 1 `results`"]);
    let line = r#"{"session": "s", "teams": "a", "results": ["d1"]}"#;
    refused(&interleaving, line, &["not a letter from A to Z"]);
    let session = r#"{"ts": 1, "session": "s", "score": 0.5}"#;
    refused(&[], session, &["standard input:1: ", "--seasonal"]);
    refused(
        &["--test", "split", "--shares", "0.5,0.6"],
        "",
        &["--shares"],
    );
    refused(&["--test", "split", "--shares", "1"], "", &["--shares"]);
    refused(
        &["--test", "experiment", "--shares", "0.2,0.3,0.5"],
        "",
        &["two arms"],
    );
    refused(
        &["--test", "split", "--simulate", "--mean", "0.5"],
        "",
        &["--simulate"],
    );
}
