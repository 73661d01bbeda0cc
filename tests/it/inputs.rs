//! Inputs of the commands that judge files: standard input, repeated files, swapped columns, several
//! wrong measures, counts among scores, and gold sets named in a configuration.

use std::fs;

use serde_json::{Value, json};

use crate::harness::command::{
    Arguments as _, assert_exit, assert_reports, json, printed, rankgauge, rankgauge_reads, stderr,
    stdout,
};

const GOLD: &str = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n";
const RUN: &str = "q1 Q0 d1 1 2 x\nq1 Q0 d2 2 1 x\nq2 Q0 d3 1 1 x\n";

/// Folder with a gold set and two runs.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in [
        ("gold.qrels", GOLD),
        ("a.run", RUN),
        ("b.run", "q1 Q0 d2 1 2 x\nq1 Q0 d1 2 1 x\n"),
    ] {
        fs::write(folder.path().join(name), content).expect("a file");
    }
    folder
}

#[test]
fn a_dash_reads_standard_input() {
    let folder = folder();
    let judged = |gold: &str, run: &str, input: &str| {
        let arguments = format!("evaluate --gold {gold} --run {run} --measures RR --format json");
        json(&rankgauge_reads(folder.path(), &arguments, input))
    };
    let from_file = judged("gold.qrels", "a.run", "");
    let from_pipe = judged("gold.qrels", "-", RUN);
    assert_eq!(from_pipe["runs"][0]["name"], "stdin");
    assert_eq!(from_pipe["runs"][0]["means"], from_file["runs"][0]["means"]);
    let gold = judged("-", "a.run", GOLD);
    assert_eq!(gold["runs"][0]["means"], from_file["runs"][0]["means"]);

    fs::write(folder.path().join("a.eval"), "map q1 0.5\nmap q2 1\n").expect("a file");
    let arguments = "compare --scores a.eval --scores - --format json";
    let found = json(&rankgauge_reads(
        folder.path(),
        arguments,
        "map q1 1\nmap q2 1\n",
    ));
    assert_eq!(found["measures"]["map"]["difference"], 0.25);

    let validated = rankgauge_reads(folder.path(), "gold stats -", GOLD);
    assert_exit(&validated, 0);
}

#[test]
fn the_same_input_given_twice_is_rejected() {
    let folder = folder();
    fs::create_dir(folder.path().join("sub")).expect("a folder");
    for pair in [
        ["a.run", "a.run"],
        ["a.run", "./a.run"],
        ["a.run", "sub/../a.run"],
        ["-", "-"],
    ] {
        for command in ["evaluate", "compare"] {
            let [one, other] = pair;
            let arguments =
                format!("{command} --gold gold.qrels --run {one} --run {other} --measures RR");
            let output = rankgauge_reads(folder.path(), &arguments, RUN);
            assert_exit(&output, 2);
            let expected = format!("rankgauge: {other}: given twice; give every input once\n");
            assert_eq!(stderr(&output), expected);
        }
    }
}

#[test]
fn swapped_columns_of_rank_and_score_are_warned_about() {
    let folder = folder();
    let warning = |run: &str| {
        fs::write(folder.path().join("c.run"), run).expect("a file");
        let arguments = "evaluate --gold gold.qrels --run c.run --measures RR";
        let output = rankgauge(folder.path(), arguments);
        assert_exit(&output, 0);
        stderr(&output)
    };
    let swapped = "q1 Q0 d1 9.5 1 x\nq1 Q0 d2 7 2 x\nq1 Q0 d4 3 3 x\nq2 Q0 d3 8 1 x\n";
    let found = warning(swapped);
    assert!(
        found.starts_with("rankgauge: warning: c.run: the scores count up like ranks"),
        "{found}"
    );
    for right in [
        RUN,
        "q1 Q0 d1 1 9.5 x\nq1 Q0 d2 2 7 x\n",
        // Scores may rise in the file, and a query may have one result.
        "q1 Q0 d1 2 1 x\nq1 Q0 d2 1 5 x\n",
        "q1 Q0 d1 3 1 x\nq2 Q0 d3 3 1 x\n",
    ] {
        assert_eq!(warning(right), "", "{right}");
    }
}

#[test]
fn every_wrong_measure_is_named_at_once() {
    let folder = folder();
    let arguments = [
        "evaluate",
        "--gold",
        "gold.qrels",
        "--run",
        "a.run",
        "--measures",
        "P@5 nope P@0 ndgc@10",
    ];
    let output = rankgauge(folder.path(), &arguments);
    for name in ["`nope`", "`P@0`", "`ndgc@10`"] {
        assert_reports(&output, 2, name);
    }
}

#[test]
fn counts_are_not_tested_as_measures() {
    let folder = folder();
    let scores = |map: &str| {
        format!("num_ret q1 5\nnum_rel q1 2\nnum_rel_ret q1 1\nmap q1 {map}\nmap q2 0.5\n")
    };
    fs::write(folder.path().join("a.eval"), scores("0.5")).expect("a file");
    fs::write(folder.path().join("b.eval"), scores("0.7")).expect("a file");
    let arguments = "compare --scores a.eval --scores b.eval --format json";
    let found = json(&rankgauge(folder.path(), arguments));
    let measures: Vec<&String> = found["measures"]
        .as_object()
        .expect("measures")
        .keys()
        .collect();
    assert_eq!(measures, ["map"]);
    assert_eq!(
        found["warnings"][0],
        "counts are not measures, and are not compared: `num_ret`, `num_rel`, `num_rel_ret`"
    );
}

#[test]
fn a_single_query_and_a_single_judgement_are_singular() {
    let folder = folder();
    fs::write(folder.path().join("one.qrels"), "q1 0 d1 1\n").expect("a file");
    for command in [
        "evaluate --gold one.qrels --run a.run --measures RR",
        "compare --gold one.qrels --run a.run --run b.run --measures RR",
    ] {
        let text = stdout(&rankgauge(folder.path(), command));
        let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flowing.contains("1 query, 1 judgement"), "{text}");
        assert!(
            !flowing.contains("1 queries") && !flowing.contains("1 judgements"),
            "{text}"
        );
    }
}

#[test]
fn gold_paths_in_a_configuration_are_relative_to_its_file() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("conf/gold")).expect("a folder");
    fs::rename(
        folder.path().join("gold.qrels"),
        folder.path().join("conf/gold/set.qrels"),
    )
    .expect("a file");
    fs::write(
        folder.path().join("conf/own.yaml"),
        "gold: {paths: [gold/set.qrels]}\n",
    )
    .expect("a file");
    let arguments = "evaluate --config conf/own.yaml --run a.run --measures RR --format json";
    let found = json(&rankgauge(folder.path(), arguments));
    assert_eq!(found["gold"]["queries"], 2);
    // On the command line, a path is relative to the working directory.
    let set = format!("{arguments} --set gold.paths=conf/gold/set.qrels");
    let found = json(&rankgauge(folder.path(), &set));
    assert_eq!(found["gold"]["queries"], 2);
}

#[test]
fn a_target_that_no_ranking_reaches_is_skipped_and_named() {
    let folder = folder();
    // Five relevant documents: R@3 is at most 0.6.
    let gold: Vec<String> = (1..=5).map(|at| format!("q1 0 d{at} 1\n")).collect();
    let gold = gold.concat();
    let run: Vec<String> = (1..=5)
        .map(|at| format!("q1 Q0 d{at} {at} {} x\n", 9 - at))
        .collect();
    let run = run.concat();
    fs::write(folder.path().join("five.qrels"), gold).expect("a file");
    fs::write(folder.path().join("five.run"), run).expect("a file");
    fs::write(
        folder.path().join("targets.yaml"),
        "measures: [R@3, P@3]\ntargets: [{measure: R@3, tier: good, value: 0.65}, {measure: P@3, \
         tier: good, value: 0.9}]\n",
    )
    .expect("a file");
    let arguments = "evaluate --config targets.yaml --gold five.qrels --run five.run --fail-below good \
                     --format json";
    let found = json(&rankgauge(folder.path(), arguments));
    let outcomes: Vec<&Value> = found["gate"]["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .map(|check| &check["outcome"])
        .collect();
    assert_eq!(outcomes, ["skipped", "passed"]);
    let rules = found["recommendations"]
        .as_array()
        .expect("recommendations");
    let unreachable = rules.iter().find(|it| it["rule"] == "unreachable-target");
    let because = unreachable.expect("the rule applies")["because"].as_str();
    assert!(
        because.is_some_and(|it| it.starts_with("A perfect ranking has 0.6000, below 0.65")),
        "{because:?}"
    );
    // If no target can be reached, the gate fails.
    let only = format!("{arguments} --measures R@3");
    assert_exit(&rankgauge(folder.path(), &only), 3);
}

#[test]
fn events_of_user_behavior_insights_are_a_run() {
    let folder = folder();
    let search = |key: &str, ids: &[&str]| {
        serde_json::json!({
            "query_id": format!("s-{key}"), "user_query": key, "timestamp": "2026-01-05T10:00:00Z",
            "query_response_id": "r", "query_response_hit_ids": ids,
        })
        .to_string()
    };
    let events = [search("q1", &["d2", "d1"]), search("q2", &["d3"])].join("\n");
    fs::write(folder.path().join("ubi.jsonl"), events).expect("a file");
    let arguments = "evaluate --gold gold.qrels --run ubi.jsonl --measures RR --format json";
    // A query without a key matches by its text, which in qrels is not known.
    let texts = "q1\tq1\nq2\tq2\n";
    fs::write(folder.path().join("gold.tsv"), texts).expect("a file");
    let found = json(&rankgauge(folder.path(), arguments));
    assert_eq!(found["runs"][0]["queries"], 2);
    assert_eq!(found["runs"][0]["means"]["RR"], 0.75);
}

#[test]
fn an_export_of_user_behavior_insights_is_read_and_what_is_skipped_is_stated() {
    let folder = folder();
    let search = |id: &str, text: &str, more: &str| {
        format!(
            r#"{{"query_id": "{id}", "user_query": "{text}", "timestamp": "2026-01-05T10:00:00Z", {more}}}"#
        )
    };
    let action = r#"{"index":{"_index":"ubi_queries","_id":"1"}}"#;
    let lines = [
        action.to_owned(),
        search("a", "q1", r#""query_response_hit_ids": ["d2", "d1"]"#),
        action.to_owned(),
        search(
            "b",
            "q2",
            r#""query": "{\"size\":0}", "query_response_hit_ids": []"#,
        ),
        search("c", "q2", r#""application": "shop""#),
        search("d", "q1", r#""query_response_hit_ids": ["d1"]"#),
        search("e", "q2", r#""query_response_hit_ids": ["d3"]"#),
        r#"{"action_name": "impression", "query_id": "c", "timestamp": "2026-01-05T10:00:01Z"}"#
            .to_owned(),
        "{\"query_id\": 1".to_owned(),
    ];
    fs::write(folder.path().join("ubi.ndjson"), lines.join("\n")).expect("a file");
    fs::write(folder.path().join("gold.tsv"), "q1\tq1\nq2\tq2\n").expect("a file");
    let arguments = "evaluate --gold gold.qrels --run ubi.ndjson --measures RR --format json";
    let output = rankgauge(folder.path(), arguments);
    let stated = "ubi.ndjson: skipped: 1 query without the ids of the results (query_response_hit_ids); 1 query \
                  for no results (`size` is 0); 1 query answered before: the first answer is judged; 1 record of \
                  ubi_events; 1 invalid record (the first on line 9: ";
    assert_reports(&output, 0, stated);
    let found = json(&output);
    assert_eq!(found["runs"][0]["queries"], 2);
    assert_eq!(found["runs"][0]["means"]["RR"], 0.75);
    fs::write(folder.path().join("ubi.ndjson"), &lines[4]).expect("a file");
    let output = rankgauge(folder.path(), arguments);
    let stated =
        "ubi.ndjson: no query with results; skipped: 1 query without the ids of the results";
    assert_reports(&output, 2, stated);
}

#[test]
fn numbers_that_json_lacks_are_named() {
    let folder = folder();
    let event = r#"{"query_id": "x", "ts": 1763337600120, "query_key": "q1", "results": [{"id": "d1", "score": NaN}]}"#;
    fs::write(folder.path().join("r.jsonl"), event).expect("a file");
    let arguments = "evaluate --gold gold.qrels --run r.jsonl --measures P@1";
    let output = rankgauge(folder.path(), arguments);
    assert_reports(&output, 2, "NaN is no number in JSON: write a score");
}

/// The values are those of equation 32 of Webber, Moffat and Zobel (2010), computed from its sums by hand.
#[test]
fn the_overlap_of_results_is_reported_on_request() {
    let folder = folder();
    for (name, content) in [
        (
            "x.run",
            "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq1 Q0 d3 3 1 t\nq2 Q0 a 1 1 t\n",
        ),
        ("y.run", "q1 Q0 d2 1 3 t\nq1 Q0 d1 2 2 t\nq2 Q0 b 1 1 t\n"),
    ] {
        fs::write(folder.path().join(name), content).expect("a file");
    }
    let arguments =
        "compare --gold gold.qrels --run x.run --run y.run --measures RR --rbo 0.5 --format";
    let found = json(&rankgauge(folder.path(), &format!("{arguments} json")));
    let overlap = &found["overlaps"][0];
    assert_eq!([&overlap["a"], &overlap["b"]], ["x", "y"]);
    // d = 1: 0; d = 2: 2/2 · 1/4; d = 3: 2/3 · 1/8, and extrapolated 2 · 1 / (2 · 3) · 1/8; the rest is
    // (0 / 3 + 2 / 2) · 1/8.
    let expected = 0.25 + (2.0 / 3.0 + 1.0 / 3.0) / 8.0 + 1.0 / 8.0;
    let of_first = overlap["queries"]["q1"].as_f64().expect("a number");
    assert!(
        (of_first - expected).abs() < 1e-12,
        "{of_first} is not {expected}"
    );
    assert_eq!(overlap["queries"]["q2"], 0.0);
    let mean = overlap["mean"].as_f64().expect("a number");
    assert!((mean - expected / 2.0).abs() < 1e-12, "{mean}");
    let text = printed(&rankgauge(folder.path(), &format!("{arguments} text")));
    assert!(
        text.contains("Overlap of the results") && text.contains("0.2500"),
        "{text}"
    );
    let same = "compare --gold gold.qrels --run x.run --run z.run --rbo 0.9 --format csv";
    fs::copy(folder.path().join("x.run"), folder.path().join("z.run")).expect("a copy");
    let csv = printed(&rankgauge(folder.path(), same));
    let row = csv
        .lines()
        .find(|line| line.starts_with("overlap,x,z,RBO(p=0.9)"))
        .expect("a row");
    let fields: Vec<f64> = row
        .split(',')
        .filter_map(|field| field.parse().ok())
        .collect();
    assert!(
        (fields[0] - 2.0).abs() < 1e-12 && (fields[1] - 1.0).abs() < 1e-12,
        "{row}"
    );
}

/// Subtopics as ndeval reads them; the values are those of pyndeval 0.0.8, which computes with ndeval.
#[test]
fn measures_of_subtopics_are_those_of_ndeval() {
    let folder = folder();
    let qrels = "1 1 a 1\n1 2 a 1\n1 1 b 1\n1 2 c 1\n1 3 c 1\n1 3 d 1\n1 2 e 0\n1 4 f 0\n";
    let run = "1 Q0 a 1 5 t\n1 Q0 b 2 4 t\n1 Q0 x 3 3 t\n1 Q0 c 4 2 t\n1 Q0 e 5 1 t\n";
    let plain = "1 0 a 1\n1 0 b 0\n1 0 c 2\n";
    for (name, content) in [
        ("div.qrels", qrels),
        ("div.run", run),
        ("plain.qrels", plain),
    ] {
        fs::write(folder.path().join(name), content).expect("a file");
    }
    let judge = |gold: &str, expected: &[(&str, f64)]| {
        let measures: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
        let measures = measures.join(" ");
        let evaluate = format!("evaluate --gold {gold} --run div.run --format json --measures");
        let arguments = [&evaluate.words()[..], &[&*measures]].concat();
        let found = json(&rankgauge(folder.path(), &arguments));
        let means = found["runs"][0]["means"].as_object().expect("means");
        for (name, expected) in expected {
            // `ERR-IA` is an alias.
            let found = means[&name.replace('-', "_")].as_f64().expect("a score");
            assert!(
                (found - expected).abs() < 1e-12,
                "{gold} {name}: {found} is not {expected}"
            );
        }
        assert_eq!(means.len(), expected.len());
    };
    judge(
        "div.qrels",
        &[
            ("ERR_IA@3", 0.5625),
            ("nERR_IA@3", 0.771_428_571_428_571_5),
            ("alpha_DCG@3", 0.535_814_262_488_298_4),
            ("alpha_nDCG@3", 0.724_398_938_352_297_2),
            ("NRBP", 0.609_375),
            ("nNRBP", 0.829_787_234_042_553_2),
            ("AP_IA", 0.625),
            ("P_IA@3", 1.0 / 3.0),
            ("StRecall@3", 2.0 / 3.0),
            ("StRecall", 1.0),
            ("alpha_nDCG@5", 0.868_028_005_868_122_1),
            ("ERR-IA@5", 0.635_400_907_715_582_6),
            ("alpha-nDCG@20", 0.868_028_005_868_122_2),
            ("P-IA@10", 1.0 / 6.0),
            ("alpha_DCG@10", 0.641_420_017_528_579_4),
            ("nERR_IA@10", 0.863_013_698_630_137),
            ("alpha_nDCG@1", 1.0),
            ("ERR_IA(alpha=0.25)@3", 0.506_666_666_666_666_7),
            ("nERR_IA(alpha=0.25)@3", 0.76),
            ("alpha_DCG(alpha=0.25)@3", 0.469_891_057_957_252_94),
            ("alpha_nDCG(alpha=0.25)@3", 0.710_867_199_244_648_9),
            ("NRBP(alpha=0.25,beta=0.75)", 0.481_363_932_291_666_7),
            ("nNRBP(alpha=0.25,beta=0.75)", 0.814_850_530_376_084_8),
        ],
    );
    judge(
        "plain.qrels",
        &[
            ("ERR_IA@3", 0.75),
            ("nERR_IA@3", 0.8),
            ("alpha_DCG@3", 0.694_220_328_531_309),
            ("alpha_nDCG@3", 0.760_187_533_431_868_7),
            ("NRBP", 0.796_875),
            ("nNRBP", 0.85),
            ("AP_IA", 0.75),
            ("P_IA@3", 1.0 / 3.0),
            ("StRecall@3", 1.0),
        ],
    );
}

#[test]
fn produce_creates_the_folder_of_the_gold_set() {
    let folder = folder();
    let arguments = "produce --searches 1 --output out --gold new/folder/gold.json";
    let text = printed(&rankgauge(folder.path(), arguments));
    assert!(folder.path().join("new/folder/gold.json").is_file());
    assert!(text.starts_with("1 search and "), "{text}");
}

#[test]
fn replay_prints_samples_in_three_formats_and_warns_about_wrong_files() {
    let folder = folder();
    let search = r#"{"query_id":"s","ts":1,"query_key":"q1","results":[{"id":"d1"}]}"#;
    fs::write(folder.path().join("search.jsonl"), search).expect("a file");
    let replay = |format: &str| {
        let replay = "replay --set gold.paths=gold.qrels --search search.jsonl --format";
        let output = rankgauge(folder.path(), &format!("{replay} {format}"));
        (printed(&output), stderr(&output))
    };
    let (prometheus, _) = replay("prometheus");
    assert!(prometheus.starts_with("# HELP rankgauge_"), "{prometheus}");
    let (text, _) = replay("text");
    let samples = prometheus
        .lines()
        .filter(|line| !line.starts_with('#'))
        .count();
    assert_eq!(text.lines().count(), samples);
    assert!(text.lines().all(|line| line.starts_with("rankgauge_")));
    let (json, warnings) = replay("json");
    let state: Value = serde_json::from_str(&json).expect("JSON");
    assert!(state["metrics"].as_array().is_some_and(|it| !it.is_empty()));
    assert!(!warnings.contains("records are invalid"), "{warnings}");

    let lines = format!("{search}\nnonsense\nmore\n");
    fs::write(folder.path().join("search.jsonl"), lines).expect("a file");
    let (_, warnings) = replay("json");
    assert!(
        warnings.contains("most records are invalid; check")
            && warnings.contains("invalid=2 records=3"),
        "{warnings}"
    );
}

#[test]
fn replay_prints_the_counters_of_each_minute_of_event_time() {
    let folder = folder();
    let searches: String = [30_000, 59_999, 60_000, 200_000]
        .map(|ts| format!("{{\"query_id\":\"s{ts}\",\"ts\":{ts},\"query_key\":\"q1\",\"results\":[{{\"id\":\"d1\"}}]}}\n"))
        .concat();
    fs::write(folder.path().join("search.jsonl"), searches).expect("a file");
    let arguments = "replay --set gold.paths=gold.qrels --search search.jsonl --every 1m --metrics \
                     rankgauge_records_total";
    let text = printed(&rankgauge(folder.path(), arguments));
    let used: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("topic=\"search.log\",outcome=\"used\"} "))
        .map(|(_, value_and_time)| value_and_time)
        .collect();
    // The record of a time is not yet counted at that time.
    assert_eq!(used, ["2 60.000", "3 120.000", "3 180.000"], "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    let names = text
        .lines()
        .filter(|line| !line.starts_with("rankgauge_records_total{"));
    assert_eq!(names.count(), 1, "{text}");
}

#[test]
fn replay_counts_a_record_of_spans_as_invalid_only_as_a_whole() {
    let folder = folder();
    let span = |number: u8, attribute: &str| {
        format!(
            r#"{{"traceId":"{number:032x}","spanId":"{number:016x}","name":"r","startTimeUnixNano":"1763337600000000000","endTimeUnixNano":"1763337600040000000","attributes":[{{"key":"openinference.span.kind","value":{{"stringValue":"RETRIEVER"}}}},{{"key":"input.value","value":{{"stringValue":"q1"}}}},{{"key":"retrieval.documents.0.document.{attribute}","value":{{"stringValue":"d1"}}}}]}}"#
        )
    };
    let record = |spans: [String; 2]| {
        let spans = spans.join(",");
        format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#)
    };
    let warnings = |records: &[String]| {
        fs::write(folder.path().join("search.jsonl"), records.join("\n")).expect("a file");
        let replay = "replay --set gold.paths=gold.qrels --set kafka.search_format=otlp_json --set \
                      measures=RR --search search.jsonl";
        stderr(&rankgauge(folder.path(), replay))
    };
    let partly = record([span(1, "id"), span(2, "content")]);
    let wholly = record([span(3, "content"), span(4, "content")]);
    let said = warnings(&[partly.clone(), partly.clone()]);
    assert!(!said.contains("records are invalid"), "{said}");
    let said = warnings(&[wholly.clone(), partly, wholly]);
    assert!(said.contains("invalid=2 records=3"), "{said}");
}

/// Searches of an hour, one a minute, whose feedback ends after ten minutes or is missing.
#[test]
fn windows_of_replay_end_at_the_last_search_even_if_feedback_ends_early() {
    let folder = folder();
    let minute = |number: u32| 1_750_000_000_000_i64 + i64::from(number) * 60_000;
    let searches = (0..60).map(|number| {
        let document = if number < 50 { "other" } else { "d1" };
        json!({"query_id": format!("s{number}"), "ts": minute(number), "query_key": "q1",
            "results": [{"id": document}]})
        .to_string()
    });
    let feedback = (0..10).map(|number| {
        json!({"event_id": format!("e{number}"), "query_id": format!("s{number}"), "ts": minute(number),
            "type": "click", "position": 1})
        .to_string()
    });
    let [searches, feedback]: [Vec<String>; 2] = [searches.collect(), feedback.collect()];
    fs::write(folder.path().join("search.jsonl"), searches.join("\n")).expect("a file");
    fs::write(folder.path().join("feedback.jsonl"), feedback.join("\n")).expect("a file");
    let samples = |flags: &[&str]| {
        let replay = "replay --set gold.paths=gold.qrels --set measures=RR --set windows=10m --set \
                      engine.feedback_window=2m --search search.jsonl --format text";
        let arguments = [&replay.words()[..], flags].concat();
        let text = printed(&rankgauge(folder.path(), &arguments));
        let value = |sample: &str| {
            let line = text.lines().find(|line| line.starts_with(sample))?;
            line.rsplit(' ').next()?.parse::<f64>().ok()
        };
        [
            value(r#"rankgauge_score{measure="RR""#),
            value(r#"rankgauge_events_pending{kind="search""#),
        ]
    };
    let with_feedback = ["--feedback", "feedback.jsonl"];
    // Only the searches of the last ten minutes have the document.
    assert_eq!(samples(&with_feedback), [Some(1.0), Some(0.0)]);
    assert_eq!(samples(&[]), [Some(1.0), Some(0.0)]);
    // The watermark is 30 s behind the last search, and a search is pending for two minutes.
    let live = |flags: &[&str]| {
        let [score, pending] = samples(&[flags, &["--drain=false"][..]].concat());
        assert!(score.is_some_and(|score| score > 0.85), "{score:?}");
        assert!(
            pending.is_some_and(|pending| (2.0..=4.0).contains(&pending)),
            "{pending:?}"
        );
    };
    live(&with_feedback);
    live(&[]);
}

#[test]
fn replay_finalises_what_is_pending_at_the_end_unless_told_otherwise() {
    let folder = folder();
    let search = r#"{"query_id":"s","ts":1,"query_key":"q1","results":[{"id":"d1"}]}"#;
    let feedback = [
        r#"{"event_id":"c1","query_id":"s","ts":2,"type":"click","position":1}"#,
        r#"{"event_id":"c2","query_id":"other","ts":2,"type":"click","position":1}"#,
    ];
    fs::write(folder.path().join("search.jsonl"), search).expect("a file");
    fs::write(folder.path().join("feedback.jsonl"), feedback.join("\n")).expect("a file");
    let value = |flags: &[&str], sample: &str| {
        let replay = "replay --set gold.paths=gold.qrels --set measures=RR,CTR --search search.jsonl \
                      --feedback feedback.jsonl --format text";
        let arguments = [&replay.words()[..], flags].concat();
        let text = printed(&rankgauge(folder.path(), &arguments));
        let line = text.lines().find(|line| line.starts_with(sample));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
    };
    let pending = r#"rankgauge_events_pending{kind="search""#;
    let orphaned = r#"rankgauge_events_total{kind="feedback",outcome="orphaned""#;
    for drained in [&[][..], &["--drain"], &["--drain", "true"]] {
        assert_eq!(value(drained, pending), Some(0.0));
        assert_eq!(value(drained, orphaned), Some(1.0));
    }
    assert_eq!(value(&["--drain=false"], pending), Some(1.0));
    assert_eq!(value(&["--drain=false"], orphaned), Some(0.0));
}

#[test]
fn replay_refuses_metrics_that_no_sample_has() {
    let folder = folder();
    fs::write(folder.path().join("search.jsonl"), "").expect("a file");
    let of = |metric: &str| {
        let arguments = format!("replay --search search.jsonl --every 1m --metrics {metric}");
        rankgauge(folder.path(), &arguments)
    };
    for known in [
        "rankgauge_records_total",
        "rankgauge_search_latency_seconds_bucket",
    ] {
        assert_exit(&of(known), 0);
    }
    for unknown in [
        "foo",
        "rankgauge_records_total,foo",
        "rankgauge_search_latency_seconds",
    ] {
        assert_reports(&of(unknown), 2, "--metrics: no metric is called");
    }
}
