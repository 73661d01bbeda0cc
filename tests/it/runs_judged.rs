//! Judgement of runs beyond the means: score thresholds, user behaviour, runs judged while they are
//! read, and bounds of operations.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::command::{self, assert_reports, json, rankgauge, stderr};

/// Folder with these files.
fn folder(files: &[(&str, String)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, content) in files {
        fs::write(folder.path().join(name), content).expect("a file");
    }
    folder
}

#[track_caller]
fn printed(folder: &Path, command: &str) -> String {
    command::printed(&rankgauge(folder, command))
}

#[track_caller]
fn json_of(folder: &Path, command: &str) -> Value {
    json(&rankgauge(folder, command))
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn low_and_high_are_beside_each_score() {
    // Grades of q1: a 3, x unjudged, c 0, y unjudged, e 1; b 2 is not retrieved. q2 is judged completely.
    let folder = folder(&[
        (
            "gold.qrels",
            "q1 0 a 3\nq1 0 c 0\nq1 0 e 1\nq1 0 b 2\nq2 0 a 3\n".to_owned(),
        ),
        (
            "a.run",
            "q1 Q0 a 1 0.9 x\nq1 Q0 x 2 0.8 x\nq1 Q0 c 3 0.7 x\nq1 Q0 y 4 0.6 x\nq1 Q0 e 5 0.5 x\n\
             q2 Q0 a 1 0.9 x\nq3 Q0 a 1 0.9 x\n"
                .to_owned(),
        ),
    ]);
    let measures = "P@5,nDCG@5,P(judged_only=true)@5";
    let command =
        format!("evaluate --gold gold.qrels --run a.run --measures {measures} --per-query");
    let report = json_of(folder.path(), &format!("{command} --format json"));
    let run = &report["runs"][0];
    let close = |found: &Value, expected: f64| {
        let found = number(found);
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    };
    // The reference implementation's bounds of this list.
    close(&run["per_query_low"]["q1"]["P@5"], 0.4);
    close(&run["per_query_high"]["q1"]["P@5"], 0.8);
    close(&run["per_query_low"]["q1"]["nDCG@5"], 0.711_245_848_844);
    close(&run["per_query_high"]["q1"]["nDCG@5"], 0.860_054_427_969);
    close(&run["per_query_low"]["q2"]["nDCG@5"], 1.0);
    close(&run["low"]["P@5"], 0.3);
    close(&run["high"]["P@5"], 0.5);
    close(&run["per_query"]["q1"]["P(judged_only=true)@5"], 0.4);
    assert!(run["low"].get("P(judged_only=true)@5").is_none());
    close(&run["coverage"], 2.0 / 3.0);
    let text = printed(folder.path(), &command);
    let row = text
        .lines()
        .find(|line| line.contains("0.3000") && line.contains("0.5000"));
    assert!(row.is_some_and(|row| row.starts_with("P@5")), "{text}");
}

#[test]
fn the_headline_states_the_part_of_the_queries_that_is_in_the_gold_set() {
    let search = |query: &str| {
        format!(
            "{{\"query_id\": \"{query}\", \"ts\": 1763337600000, \"query\": \"{query}\", \"results\": [{{\"id\": \"a\"}}]}}\n"
        )
    };
    let gold =
        r#"{"queries": [{"query_id": "q1", "query_text": "known", "ground_truth": {"a": 1}}]}"#;
    let folder = folder(&[
        ("gold.json", gold.to_owned()),
        (
            "search.jsonl",
            ["known", "rare", "other", "last"].map(search).concat(),
        ),
    ]);
    let command = "evaluate --gold gold.json --run search.jsonl --measures P@1";
    for format in ["text", "markdown", "html"] {
        let text = printed(folder.path(), &format!("{command} --format {format}"));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("(of 25 % of the queries)"), "{text}");
        assert!(
            format != "html" || text.contains("in the gold set"),
            "{text}"
        );
    }
}

#[test]
fn the_threshold_with_the_best_f1_is_found() {
    // q1: relevant a and b; q2: relevant c. With all results, F1 is 2·2/(4+2) and 2·1/(2+1).
    let folder = folder(&[
        ("gold.qrels", "q1 0 a 1\nq1 0 b 1\nq2 0 c 1\n".to_owned()),
        (
            "a.run",
            "q1 Q0 a 1 0.9 x\nq1 Q0 b 2 0.8 x\nq1 Q0 x 3 0.5 x\nq1 Q0 y 4 0.4 x\n\
             q2 Q0 c 1 0.8 x\nq2 Q0 z 2 0.7 x\n"
                .to_owned(),
        ),
    ]);
    let evaluate =
        "evaluate --gold gold.qrels --run a.run --measures F1@10 --sweep-threshold --format";
    let found = &json_of(folder.path(), &format!("{evaluate} json"))["thresholds"][0];
    let all = f64::midpoint(2.0 * 2.0 / 6.0, 2.0 / 3.0);
    assert_eq!(found["best"]["threshold"], 0.8);
    assert!(
        (number(&found["best"]["f1"]) - 1.0).abs() < 1e-12,
        "{found}"
    );
    assert!(
        (number(&found["best"]["kept"]) - 1.5).abs() < 1e-12,
        "{found}"
    );
    assert!((number(&found["all"]["f1"]) - all).abs() < 1e-12, "{found}");
    assert_eq!(found["thresholds"], 5);
    assert_eq!(found["queries"], 2);
    for format in ["text", "markdown", "html"] {
        let report = printed(folder.path(), &format!("{evaluate} {format}"));
        assert!(report.contains("0.8000"), "{report}");
    }
    let csv = printed(folder.path(), &format!("{evaluate} csv"));
    assert!(csv.contains("threshold,a,best,0.8,F1,1,2,"), "{csv}");
    // A complete evaluation counts the query that the run lacks.
    fs::write(
        folder.path().join("more.qrels"),
        "q1 0 a 1\nq1 0 b 1\nq2 0 c 1\nq3 0 d 1\n",
    )
    .expect("a file");
    let complete = evaluate.replace("gold.qrels", "more.qrels --complete");
    let found = &json_of(folder.path(), &format!("{complete} json"))["thresholds"][0];
    assert_eq!(found["queries"], 3);
    assert!(
        (number(&found["best"]["f1"]) - 2.0 / 3.0).abs() < 1e-12,
        "{found}"
    );
}

#[test]
fn a_sweep_needs_scores() {
    let event = json!({"query_id": "s", "ts": 1, "query_key": "q1", "results": [{"id": "a"}]});
    let folder = folder(&[
        ("gold.qrels", "q1 0 a 1\n".to_owned()),
        ("a.jsonl", event.to_string()),
    ]);
    let output = rankgauge(
        folder.path(),
        "evaluate --gold gold.qrels --run a.jsonl --measures P@1 --sweep-threshold",
    );
    let expected = "line 1: a result of query `q1` has no score, which --sweep-threshold";
    assert_reports(&output, 2, expected);
}

/// Searches of a run and feedback on them: three of four are clicked. The first click is long, the
/// second short, and the third has no later interaction.
fn events() -> [(&'static str, String); 3] {
    let types = ["short", "short", "long", "long"];
    let queries: Vec<Value> = (1..=4)
        .zip(types)
        .map(|(at, kind)| {
            json!({"query_id": format!("q{at}"), "query_type": kind,
                "ground_truth": {"d": 1}})
        })
        .collect();
    let searches: Vec<String> = (1..=4)
        .map(|at| {
            json!({"query_id": format!("s{at}"), "ts": 1_000 * at, "query_key": format!("q{at}"),
                "session_id": format!("u{at}"), "results": [{"id": "d"}, {"id": "e"}]})
            .to_string()
        })
        .collect();
    let click = |at: i64, position: i64| {
        json!({"event_id": format!("c{at}"), "ts": 1_000 * at + 500, "type": "click",
            "query_id": format!("s{at}"), "position": position})
        .to_string()
    };
    let dwell = |at: i64, dwell_ms: i64| {
        json!({"event_id": format!("d{at}"), "ts": 60_000, "type": "dwell",
            "query_id": format!("s{at}"), "position": at, "dwell_ms": dwell_ms})
        .to_string()
    };
    let feedback = [
        click(1, 1),
        click(2, 2),
        click(3, 2),
        dwell(1, 45_000),
        dwell(2, 5_000),
    ];
    [
        ("gold.json", json!({ "queries": queries }).to_string()),
        ("a.jsonl", searches.join("\n")),
        ("feedback.jsonl", feedback.join("\n")),
    ]
}

#[test]
fn feedback_adds_user_measures_equal_to_those_of_the_sidecar() {
    let folder = folder(&events());
    let evaluate = "evaluate --gold gold.json --run a.jsonl --feedback feedback.jsonl --measures \
                    P@1,CTR,ClickRR,SAT --by query_type --format";
    let found = json_of(folder.path(), &format!("{evaluate} json"));
    let behaviour = &found["behaviour"][0];
    assert_eq!(behaviour["searches"], 4);
    let means: Vec<(&str, f64, u64)> = behaviour["measures"]
        .as_array()
        .expect("measures")
        .iter()
        .map(|it| {
            let name = it["measure"].as_str().expect("a name");
            (
                name,
                number(&it["mean"]),
                it["n"].as_u64().expect("a count"),
            )
        })
        .collect();
    assert_eq!(
        means,
        [("CTR", 0.75, 4), ("ClickRR", 0.5, 4), ("SAT", 0.5, 4)]
    );
    let short = &behaviour["by"][1];
    assert_eq!(
        (&short["label"], &short["value"]),
        (&json!("query_type"), &json!("short"))
    );
    assert_eq!(short["measures"][0]["mean"], 1.0);
    assert_eq!(found["runs"][0]["means"]["CTR"], Value::Null);

    let replayed = printed(
        folder.path(),
        "replay --set gold.paths=gold.json --set measures=CTR,ClickRR,SAT --search a.jsonl \
         --feedback feedback.jsonl --format text",
    );
    for (measure, mean, count) in means {
        let line = replayed.lines().find(|line| {
            line.starts_with("rankgauge_score_sum_total")
                && line.contains(&format!("measure=\"{measure}\""))
                && line.contains("slice=\"all\"")
        });
        let sum = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        let count = f64::from(u32::try_from(count).expect("a small number"));
        assert_eq!(sum, Some(mean * count), "{measure}");
    }
    for format in ["text", "markdown", "html"] {
        let report = printed(folder.path(), &format!("{evaluate} {format}"));
        assert!(report.contains("0.7500 (4)"), "{report}");
    }
    let csv = printed(folder.path(), &format!("{evaluate} csv"));
    assert!(
        csv.contains("behaviour,a,query_type,short,CTR,1,2,"),
        "{csv}"
    );
}

#[test]
fn a_gate_on_user_measures_states_the_searches_behind_each() {
    let folder = folder(&events());
    let goal = "measures: [P@1, CTR]\ngoals: [{name: clicked, require: [P@1>=0.9, CTR>=0.8]}]\n";
    fs::write(folder.path().join("goal.yaml"), goal).expect("a file");
    let evaluate = "evaluate --gold gold.json --run a.jsonl --feedback feedback.jsonl --measures \
                    P@1 --format json";
    let gate = |require: &str, code: i32| {
        let output = rankgauge(folder.path(), &format!("{evaluate} {require}"));
        let report = command::json_of(&output, code);
        assert_eq!(report["gate"]["passed"], code == 0);
        let checks = report["gate"]["checks"].as_array().expect("checks");
        let members = ["condition", "outcome", "detail"];
        let text = |check: &Value| members.map(|it| check[it].as_str().unwrap_or("").to_owned());
        checks.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(
        gate("--require CTR>=0.75", 0),
        [["CTR >= 0.75", "passed", "CTR is 0.7500 over 4 searches"]]
    );
    assert_eq!(
        gate("--require SAT>0.5", 3),
        [["SAT > 0.5", "failed", "SAT is 0.5000 over 4 searches"]]
    );
    let [_, outcome, detail] = &gate("--require Rating>=0.1", 3)[0];
    assert_eq!(outcome, "failed");
    assert!(detail.starts_with("Rating is without a score"), "{detail}");
    assert_eq!(
        gate("--config goal.yaml --require clicked", 3),
        [
            ["clicked: P@1 >= 0.9", "passed", "P@1 is 1.0000"],
            [
                "clicked: CTR >= 0.8",
                "failed",
                "CTR is 0.7500 over 4 searches"
            ],
        ]
    );
}

#[test]
fn a_tier_has_targets_of_user_measures() {
    let folder = folder(&events());
    let targets = "measures: [P@1, CTR, Abandoned]\ntargets:\n- {measure: P@1, tier: good, value: 0.9}\n\
                   - {measure: CTR, tier: good, value: 0.8}\n\
                   - {measure: Abandoned, tier: good, value: 0.3}\n\
                   - {measure: CTR, tier: clicked, value: 0.75}\n";
    fs::write(folder.path().join("targets.yaml"), targets).expect("a file");
    let evaluate = "evaluate --gold gold.json --run a.jsonl --config targets.yaml";
    let gate = |arguments: &str| {
        let output = rankgauge(folder.path(), &format!("{evaluate} {arguments}"));
        (output.status.code(), stderr(&output))
    };
    let (code, errors) = gate("--feedback feedback.jsonl --fail-below good");
    assert_eq!(code, Some(3), "{errors}");
    assert!(errors.contains("1 of 3 checks"), "{errors}");
    let missed = "CTR reaches good (0.8): CTR is 0.7500 over 4 searches";
    assert!(errors.contains(missed), "{errors}");
    let (code, errors) = gate("--feedback feedback.jsonl --fail-below clicked");
    assert_eq!(code, Some(0), "{errors}");
    // Without feedback, user measures are not computed.
    let (code, errors) = gate("--fail-below good");
    assert_eq!(code, Some(0), "{errors}");
    let (code, errors) = gate("--fail-below clicked");
    assert_eq!(code, Some(2), "{errors}");
}

#[test]
fn a_user_measure_alone_is_printed_beside_the_configured_measures() {
    let folder = folder(&events());
    let evaluate = "evaluate --gold gold.json --run a.jsonl --feedback feedback.jsonl --format json \
                    --measures CTR";
    let found = json_of(folder.path(), evaluate);
    let measures = found["behaviour"][0]["measures"].as_array();
    assert_eq!(measures.map(Vec::len), Some(1));
    assert_eq!(found["behaviour"][0]["measures"][0]["measure"], "CTR");
    let configured = json_of(folder.path(), &format!("{evaluate} --set measures=P@1,CTR"));
    assert_eq!(configured["runs"][0]["means"]["P@1"], 1.0);
    let output = rankgauge(folder.path(), &format!("{evaluate} --set measures=CTR"));
    assert_eq!(output.status.code(), Some(2));
    let hint = "no measure of rankings: name one with --measures";
    assert!(stderr(&output).contains(hint), "{}", stderr(&output));
}

#[test]
fn feedback_on_interleaved_rankings_shows_the_preferred_team() {
    // Each of 200 sessions has two searches. The users of three of four click the result of A, one of
    // them ten times; the others click nothing.
    let (mut searches, mut feedback) = (Vec::new(), Vec::new());
    for at in 0..400_i64 {
        searches.push(
            json!({"query_id": format!("s{at}"), "ts": 1_000 * at, "query_key": format!("q{at}"),
                "session_id": format!("u{}", at / 2), "experiment": {"id": "draft", "variant": "V1"},
                "results": [{"id": "d", "team": "A"}, {"id": "e", "team": "B"}]})
            .to_string(),
        );
        let clicks = match at % 8 {
            0 => 10,
            2 | 4 => 1,
            _ => 0,
        };
        feedback.extend((0..clicks).map(|click| {
            json!({"event_id": format!("c{at}-{click}"), "ts": 1_000 * at + 500 + click,
                "type": "click", "query_id": format!("s{at}"), "position": 1})
            .to_string()
        }));
    }
    let queries =
        (0..400).map(|at| json!({"query_id": format!("q{at}"), "ground_truth": {"d": 1}}));
    let gold = json!({"queries": queries.collect::<Vec<_>>()});
    let folder = folder(&[
        ("gold.json", gold.to_string()),
        ("a.jsonl", searches.join("\n")),
        ("feedback.jsonl", feedback.join("\n")),
    ]);
    let evaluate = "evaluate --gold gold.json --run a.jsonl --feedback feedback.jsonl --measures \
                    P@1 --format";
    let found = json_of(folder.path(), &format!("{evaluate} json"));
    let pair = &found["behaviour"][0]["interleaving"][0];
    assert_eq!(
        (&pair["experiment"], &pair["team"], &pair["against"]),
        (&json!("draft"), &json!("A"), &json!("B"))
    );
    assert_eq!(
        [&pair["wins"], &pair["losses"], &pair["ties"]],
        [&json!(150), &json!(0), &json!(50)]
    );
    assert!((number(&pair["delta"]) - 0.375).abs() < 1e-12, "{pair}");
    assert!(number(&pair["log_evidence"]) > 6.9, "{pair}");
    for format in ["text", "markdown", "html"] {
        let report = printed(folder.path(), &format!("{evaluate} {format}"));
        assert!(report.contains("users prefer A"), "{report}");
    }
    let csv = printed(folder.path(), &format!("{evaluate} csv"));
    assert!(csv.contains("interleaving,a,A,B,delta,0.375,200,"), "{csv}");
}

#[test]
fn feedback_files_belong_to_all_runs_or_to_each() {
    let folder = folder(&events());
    let copy = |from: &str, to: &str| {
        fs::copy(folder.path().join(from), folder.path().join(to)).expect("a copy");
    };
    copy("a.jsonl", "b.jsonl");
    copy("a.jsonl", "c.jsonl");
    copy("feedback.jsonl", "more.jsonl");
    let three =
        "evaluate --gold gold.json --run a.jsonl --run b.jsonl --run c.jsonl --measures P@1";
    let shared = format!("{three} --feedback feedback.jsonl --format json");
    let found = json_of(folder.path(), &shared);
    assert_eq!(found["behaviour"].as_array().map(Vec::len), Some(3));
    let two = format!("{three} --feedback feedback.jsonl --feedback more.jsonl");
    let output = rankgauge(folder.path(), &two);
    assert_reports(&output, 2, "2 feedback files and 3 runs");
    // Without feedback, a user measure is an error that names the way in.
    let output = rankgauge(
        folder.path(),
        "evaluate --gold gold.json --run a.jsonl --measures CTR",
    );
    assert_reports(&output, 2, "evaluate --feedback");
}

/// Gold set and run of this many queries, with 12 results each.
fn large(queries: usize) -> [(&'static str, String); 2] {
    let mut qrels = String::new();
    let mut run = String::new();
    for query in 0..queries {
        for document in 0..8 {
            let grade = (query + document) % 4;
            writeln!(qrels, "질의-{query} 0 민법-{query}-{document} {grade}").expect("memory");
        }
        for rank in 0..12 {
            let document = (rank * 5 + query) % 12;
            let score = 100 - rank;
            writeln!(
                run,
                "질의-{query} Q0 민법-{query}-{document} {rank} {score}.25 시험"
            )
            .expect("memory");
        }
    }
    [("gold.qrels", qrels), ("a.run", run)]
}

#[test]
fn a_run_judged_while_it_is_read_has_the_same_scores() {
    // About 1.2 MB, several parts.
    let folder = folder(&large(1_500));
    let evaluate = "evaluate --gold gold.qrels --run a.run --measures \
                    P@5,R@10,AP,nDCG@10,RR,Bpref,Success@1 --per-query --format json";
    let whole = |options: &str| {
        // Thresholds need the scores of all results.
        let command = format!("{evaluate} --sweep-threshold{options}");
        json_of(folder.path(), &command)
    };
    let judged = whole("");
    let streamed = json_of(folder.path(), evaluate);
    assert_eq!(streamed["runs"], judged["runs"]);
    assert_eq!(streamed["runs"][0]["queries"], 1_500);
    assert_eq!(streamed["errors"], judged["errors"]);
    let worst = streamed["errors"][0]["queries"].as_array();
    assert_eq!(worst.map(Vec::len), Some(5));
    let streamed = json_of(folder.path(), &format!("{evaluate} --worst 0"));
    assert_eq!(streamed["runs"], judged["runs"]);

    // A query whose last line is at the end of the file is not regular: it is read as a whole.
    let run = fs::read_to_string(folder.path().join("a.run")).expect("the run");
    let (first, rest) = run.split_once('\n').expect("lines");
    fs::write(folder.path().join("a.run"), format!("{rest}{first}\n")).expect("a file");
    let moved = json_of(folder.path(), &format!("{evaluate} --worst 0"));
    assert_eq!(moved["runs"][0]["means"], judged["runs"][0]["means"]);
    assert_eq!(moved["runs"][0]["queries"], 1_500);

    // An unknown query and a missing one.
    let renamed = run.replace("질의-1499 ", "질의-9999 ");
    fs::write(folder.path().join("a.run"), renamed).expect("a file");
    for complete in ["", " --complete"] {
        let streamed = json_of(folder.path(), &format!("{evaluate} --worst 2000{complete}"));
        let judged = whole(&format!(" --worst 2000{complete}"));
        assert_eq!(streamed["runs"], judged["runs"]);
        assert_eq!(streamed["errors"], judged["errors"]);
        assert_eq!(streamed["runs"][0]["unknown"], json!(["질의-9999"]));
        assert_eq!(streamed["runs"][0]["missing"], json!(["질의-1499"]));
    }
}

#[test]
fn gold_sets_and_runs_are_read_from_pipes() {
    let folder = folder(&large(1_500));
    let expected = json_of(
        folder.path(),
        "evaluate --gold gold.qrels --run a.run --measures P@5 --format json",
    );
    let writers = ["gold.qrels", "a.run"].map(|name| {
        let (file, pipe) = (
            folder.path().join(name),
            folder.path().join(format!("pipe-{name}")),
        );
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo starts").success());
        std::thread::spawn(move || {
            // The first reader of the pipe receives everything.
            fs::write(pipe, fs::read(file).expect("the file"))
        })
    });
    let read = json_of(
        folder.path(),
        "evaluate --gold pipe-gold.qrels --run pipe-a.run --measures P@5 --format json",
    );
    for writer in writers {
        writer
            .join()
            .expect("no panic")
            .expect("everything is read");
    }
    assert_eq!(read["runs"][0]["means"], expected["runs"][0]["means"]);
    assert_eq!(
        read["errors"][0]["queries"],
        expected["errors"][0]["queries"]
    );
}

#[test]
fn a_wrong_line_of_a_run_judged_while_it_is_read_is_named() {
    let folder = folder(&large(1_500));
    let path = folder.path().join("a.run");
    let run = fs::read_to_string(&path).expect("the run");
    let evaluate = "evaluate --gold gold.qrels --run a.run --measures P@5 --worst 0";
    for (wrong, problem) in [
        (
            "질의-1400 Q0 x 1 high 시험",
            "the score `high` is not a number",
        ),
        ("질의-1400 Q0 x 1", "4 columns where a TREC run has six"),
    ] {
        let lines: Vec<&str> = run.lines().collect();
        let mut changed = lines.clone();
        changed[16_800] = wrong;
        fs::write(&path, changed.join("\n")).expect("a file");
        let output = rankgauge(folder.path(), evaluate);
        assert_reports(&output, 2, "a.run:16801");
        assert_reports(&output, 2, problem);
    }
}

#[test]
fn bounds_of_operations_are_part_of_the_gate() {
    let searches: Vec<String> = (1..=20)
        .map(|at| {
            json!({"query_id": format!("s{at}"), "ts": 1, "query_key": format!("q{at}"),
                "latency_ms": 10 * at, "cost": {"amount": 0.5, "currency": "KRW"},
                "results": [{"id": "d"}]})
            .to_string()
        })
        .collect();
    let qrels: Vec<String> = (1..=20).map(|at| format!("q{at} 0 d 1")).collect();
    let folder = folder(&[
        ("gold.qrels", qrels.join("\n")),
        ("a.jsonl", searches.join("\n")),
        ("a.run", "q1 Q0 d 1 1 x\n".to_owned()),
    ]);
    for (run, bound, code, text) in [
        ("a.jsonl", "latency_ms_p95<=190", 0, ""),
        (
            "a.jsonl",
            "latency_ms_p95<190",
            3,
            "latency_ms_p95 is 190.0000",
        ),
        ("a.jsonl", "cost_KRW_mean<=0.5", 0, ""),
        ("a.jsonl", "errors<=0", 0, ""),
        (
            "a.jsonl",
            "capacity_per_second>10",
            3,
            "capacity_per_second is 9.5238",
        ),
        (
            "a.run",
            "latency_ms_p95<=190",
            3,
            "latency_ms_p95 is not known",
        ),
        (
            "a.jsonl",
            "latency_p95<=190",
            2,
            "there are latency_ms_mean",
        ),
        ("a.jsonl", "latency_ms_p95<=fast", 2, "`fast`"),
    ] {
        let command =
            format!("evaluate --gold gold.qrels --run {run} --measures RR --require {bound}");
        assert_reports(&rankgauge(folder.path(), &command), code, text);
    }
}

#[test]
fn comments_in_a_run_are_skipped_and_its_last_tag_counts() {
    let folder = folder(&[
        ("gold.qrels", "q 0 a 1\n".to_owned()),
        (
            "a.run",
            "# by x\n#q Q0 b 1 3 t\nq Q0 a 1 2 first\n # note\nq Q0 b 2 1 last\n#end\n".to_owned(),
        ),
        ("only.run", "# nothing\n".to_owned()),
    ]);
    let evaluate = "evaluate --gold gold.qrels --measures P@1 --trec --run";
    let printed = printed(folder.path(), &format!("{evaluate} a.run"));
    let value = |name: &str| {
        let line = printed.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split('\t').nth(2))
    };
    assert_eq!(value("runid"), Some("last"));
    assert_eq!(value("num_ret"), Some("2"));
    assert_eq!(value("P_1"), Some("1.0000"));
    let output = rankgauge(folder.path(), &format!("{evaluate} only.run"));
    assert_reports(&output, 2, "the run is empty");
}

#[test]
fn means_do_not_depend_on_the_order_of_the_gold_set() {
    let mut lines: Vec<String> = (0..60)
        .flat_map(|query| (0..3).map(move |at| format!("q{query} 0 d{at} {}", (query + at) % 2)))
        .collect();
    let run: String = (0..60)
        .flat_map(|query| {
            (0..3).map(move |at| format!("q{query} Q0 d{at} 1 {} t\n", (query * at) % 7))
        })
        .collect();
    let forwards = lines.join("\n");
    lines.reverse();
    let folder = folder(&[
        ("a.qrels", forwards),
        ("b.qrels", lines.join("\n")),
        ("a.run", run),
    ]);
    let means = |gold: &str| {
        let command =
            format!("evaluate --gold {gold} --run a.run --measures AP,nDCG,RR --format json");
        json_of(folder.path(), &command)["runs"][0]["means"].clone()
    };
    assert_eq!(means("a.qrels"), means("b.qrels"));
}

#[test]
fn a_run_in_gzip_is_read_by_its_content() {
    let [gold, (_, run)] = large(1_500);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, run.as_bytes()).expect("memory");
    let folder = folder(&[gold, ("a.run", run)]);
    let packed = gzip.finish().expect("memory");
    fs::write(folder.path().join("packed.run"), packed).expect("a file");
    let evaluate = "evaluate --gold gold.qrels --measures P@5 --worst 0 --trec --run";
    assert_eq!(
        printed(folder.path(), &format!("{evaluate} packed.run")),
        printed(folder.path(), &format!("{evaluate} a.run"))
    );
}

#[test]
fn a_score_that_json_cannot_write_is_named() {
    let folder = folder(&[
        ("gold.qrels", "q 0 a 1\n".to_owned()),
        ("a.json", "{\"q\": {\"a\": NaN, \"b\": 1.0}}".to_owned()),
    ]);
    let command = "evaluate --gold gold.qrels --run a.json --measures P@1";
    let output = rankgauge(folder.path(), command);
    assert_reports(&output, 2, "a.json:1");
    assert_reports(&output, 2, "NaN is no number in JSON");
}

#[test]
fn a_row_with_more_fields_than_its_header_is_an_error() {
    let rows = "query,docid,rating\npermits, 2020,17,3\nzoning,d1,2,\n";
    let folder = folder(&[("gold.csv", rows.to_owned())]);
    let output = rankgauge(folder.path(), "gold stats gold.csv");
    let expected = "gold.csv:2: 4 fields where the header has 3; quote a field";
    assert_reports(&output, 2, expected);
    assert!(!stderr(&output).contains("gold.csv:3"));
}

#[test]
fn scores_of_queries_with_blanks_are_read_as_they_are_written() {
    let folder = folder(&[
        (
            "gold.csv",
            "query,docid,rating\n\"floods, 2003\",l1,2\nzoning,l2,1\n".to_owned(),
        ),
        (
            "a.json",
            json!({"floods, 2003": {"l1": 1}, "zoning": {"l3": 1}}).to_string(),
        ),
    ]);
    let evaluate = "evaluate --gold gold.csv --run a.json --measures P@1 --trec --per-query";
    for name in ["a.eval", "b.eval"] {
        let scores = printed(folder.path(), evaluate);
        fs::write(folder.path().join(name), scores).expect("a file");
    }
    let compare = "compare --scores a.eval --scores b.eval --format json";
    let compared = json_of(folder.path(), compare);
    assert_eq!(compared["comparisons"][0]["queries"]["common"], 2);
}

#[test]
fn control_characters_in_names_are_escaped_in_messages() {
    let folder = folder(&[
        ("gold.qrels", "q 0 a 1\n".to_owned()),
        ("x\n::error::y.run", "q Q0 b 1 1 t\n".to_owned()),
        (
            "gold.json",
            json!({"q\n::warning::z\u{1b}[31m": {"a": 1}}).to_string(),
        ),
        ("ok.run", "z Q0 b 1 1 t\n".to_owned()),
    ]);
    for command in [
        "evaluate --gold gold.qrels --run x\n::error::y.run --measures P@1 --require P@1>=0.9",
        "evaluate --gold gold.json --run ok.run --measures P@1",
    ] {
        let said = stderr(&rankgauge(folder.path(), command));
        assert!(
            !said.contains("\n::") && !said.contains('\u{1b}'),
            "{said:?}"
        );
    }
}
