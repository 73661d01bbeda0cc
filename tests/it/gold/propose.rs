//! From live traffic to a better gold set: `gold propose` and `gold adopt`, run as processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use serde_json::{Value, json};

use super::commands::{assert_golden, json, run, stderr, stdout};
use super::data;
use crate::harness::free_port;
use crate::harness::kafka::{Broker, broker, unique_name};

const FILES: [&str; 6] = [
    "--gold",
    "v1.json",
    "--search",
    "search.jsonl",
    "--feedback",
    "feedback.jsonl",
];

fn propose(arguments: &[&str]) -> Output {
    run(&[&["propose"], arguments].concat())
}

#[track_caller]
fn assert_refused(output: &Output, code: i32, message: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains(message), "{text}");
}

fn path(folder: &Path, name: &str) -> (PathBuf, String) {
    let path = folder.join(name);
    let text = path.to_str().expect("a path of text").to_owned();
    (path, text)
}

fn lines(name: &str) -> Vec<String> {
    let text = fs::read_to_string(data("commands").join(name)).expect("events");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn proposals_are_printed_as_text_and_as_json() {
    assert_golden("propose", &[&["propose"], &FILES[..]].concat(), 0);
}

#[test]
fn proposals_are_exhausted_when_everything_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let (sheet, sheet_name) = path(folder.path(), "sheet.csv");
    let (gold, gold_name) = path(folder.path(), "v2.json");
    let proposed = propose(&[&FILES[..], &["--sheet", &sheet_name, "--format", "json"]].concat());
    assert_eq!(proposed.status.code(), Some(0), "{}", stderr(&proposed));
    assert_eq!(json(&proposed)["sheet"]["count"], 6);

    // An annotator adds a grade in the last column, except in one row.
    let text = fs::read_to_string(&sheet).expect("a sheet");
    let filled: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(number, line)| match number {
            0 | 3 => line.to_owned(),
            _ => format!("{line}{}", number % 3),
        })
        .collect();
    fs::write(&sheet, filled.join("\r\n")).expect("a filled sheet");
    let adopt = [
        "adopt",
        "--gold",
        "v1.json",
        "--sheet",
        &sheet_name,
        "--output",
        &gold_name,
    ];
    let adopted = run(&[&adopt[..], &["--format", "json"]].concat());
    assert_eq!(adopted.status.code(), Some(0), "{}", stderr(&adopted));
    assert_eq!(
        json(&adopted),
        json!({
            "output": gold_name, "version": "2025-11+adopted", "queries": 4, "judgements": 12,
            "added": 5, "added_from_production": 0, "new_queries": 1, "already_judged": 0,
            "without_grade": 1, "production_beyond_scale": 0,
        })
    );
    let difference = json(&run(&["diff", "v1.json", &gold_name, "--format", "json"]));
    assert_eq!(
        difference["totals"]["judgements_removed"], 0,
        "{difference}"
    );
    assert_eq!(
        difference["totals"]["judgements_changed"], 0,
        "{difference}"
    );
    let valid = run(&["validate", &gold_name]);
    assert_eq!(valid.status.code(), Some(0), "{}", stdout(&valid));

    let again = [
        &["--gold", &gold_name][..],
        &FILES[2..],
        &["--format", "json"],
    ]
    .concat();
    let again = json(&propose(&again));
    let queries = again["queries"].as_array().expect("queries");
    assert_eq!(
        queries.len(),
        1,
        "all but what was left open is judged: {queries:?}"
    );
    assert_eq!(
        queries[0]["documents"][0]["document_id"],
        "시행령:제31조::chunk0"
    );
    assert_eq!(again["searches"]["known"], 41);

    // Adopting the same sheet again changes nothing; a different grade is a contradiction.
    let (_, third) = path(folder.path(), "v3.json");
    let same = [
        "adopt",
        "--gold",
        &gold_name,
        "--sheet",
        &sheet_name,
        "--output",
        &third,
    ];
    let same = json(&run(&[&same[..], &["--format", "json"]].concat()));
    assert_eq!(
        (&same["added"], &same["already_judged"]),
        (&json!(0), &json!(5))
    );
    let text = fs::read_to_string(&sheet).expect("a sheet");
    fs::write(&sheet, text.replacen(",2,1\r\n", ",2,0\r\n", 1)).expect("another grade");
    let (fourth, fourth_name) = path(folder.path(), "v4.json");
    let other = [
        "adopt",
        "--gold",
        &gold_name,
        "--sheet",
        &sheet_name,
        "--output",
        &fourth_name,
    ];
    assert_refused(
        &run(&other),
        2,
        "sheet.csv:2: query `Q001` judges document `시행령_제15조` again",
    );
    assert!(gold.exists() && !fourth.exists());
}

#[test]
fn the_candidate_contains_the_gold_set_and_production_grades() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, candidate) = path(folder.path(), "candidate.json");
    let output = propose(&[&FILES[..], &["--output", &candidate, "--format", "json"]].concat());
    assert_eq!(
        json(&output)["candidate"]["count"],
        1,
        "{}",
        stderr(&output)
    );
    let difference = stdout(&run(&["diff", "v1.json", &candidate]));
    assert!(
        difference.contains("new  2025-11+proposed: 3 queries, 8 judgements"),
        "{difference}"
    );
    assert!(
        difference.contains("    + 시행령_제15조  2\n"),
        "{difference}"
    );
    assert!(difference.contains("judgements  +1 -0 ~0"), "{difference}");
    let text = fs::read_to_string(&candidate).expect("the candidate");
    let note = "production: median of 3 judgments, clicked in 9 of 20 searches";
    assert!(text.contains(note), "{text}");

    assert_refused(
        &propose(&[&FILES[..], &["--output", &candidate]].concat()),
        2,
        "the file exists already",
    );
    let forced = propose(&[&FILES[..], &["--output", &candidate, "--force"]].concat());
    assert_eq!(forced.status.code(), Some(0), "{}", stderr(&forced));
}

#[test]
fn no_proposals_is_a_success_and_control_characters_in_ids_are_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    let (search, search_name) = path(folder.path(), "search.jsonl");
    let (feedback, feedback_name) = path(folder.path(), "feedback.jsonl");
    let id = "a,\"b\"\n\u{1b}[2J=c";
    let event = json!({"query_id": "1", "ts": 1, "query": "17조 검색", "results": [{"id": id}]});
    fs::write(&search, format!("{event}\n")).expect("a search");
    let click =
        json!({"event_id": "1", "ts": 1, "type": "click", "query_id": "1", "object_id": id});
    fs::write(&feedback, format!("{click}\nnot json\n\n")).expect("feedback");
    let files = [
        "--gold",
        "v1.json",
        "--search",
        &search_name,
        "--feedback",
        &feedback_name,
    ];
    let nothing = propose(&files);
    assert_eq!(nothing.status.code(), Some(0), "{}", stderr(&nothing));
    assert!(stdout(&nothing).contains("No unjudged document"));
    assert!(stdout(&nothing).contains("       1  feedback events are invalid\n"));

    let (_, sheet) = path(folder.path(), "sheet.csv");
    let (_, gold) = path(folder.path(), "gold.json");
    let one = propose(&[&files[..], &["--min-clicks", "1", "--sheet", &sheet]].concat());
    let text = stdout(&one);
    assert!(text.contains(r#"a,"b"\n\u{1b}[2J=c"#), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let filled = fs::read_to_string(&sheet).expect("a sheet");
    fs::write(&sheet, format!("{}3\n", filled.trim_end())).expect("a filled sheet");
    let adopt = [
        "adopt", "--gold", "v1.json", "--sheet", &sheet, "--output", &gold,
    ];
    assert_eq!(
        run(&adopt).status.code(),
        Some(0),
        "{}",
        stderr(&run(&adopt))
    );
    let gold: Value = serde_json::from_slice(&fs::read(gold).expect("gold")).expect("JSON");
    assert_eq!(gold["queries"][0]["ground_truth"][id]["relevance"], 3);
}

#[test]
fn input_errors_are_reported_once_with_exit_code_2() {
    let with = |arguments: &[&str]| propose(arguments);
    assert_refused(
        &with(&["--search", "search.jsonl"]),
        2,
        "no gold set: name one with --gold, or a configuration with gold.paths",
    );
    assert_refused(&with(&["--gold", "v1.json"]), 2, "--search <FILE>...");
    assert_refused(
        &with(&[
            "--gold",
            "v1.json",
            "--search",
            "search.jsonl",
            "--last",
            "1h",
        ]),
        2,
        "cannot be used with",
    );
    assert_refused(
        &with(&["--gold", "v1.json", "--last", "gestern"]),
        2,
        "is not a duration",
    );
    assert_refused(
        &with(&["--gold", "v1.json", "--search", "missing.jsonl"]),
        2,
        "missing.jsonl: No such file",
    );
    assert_refused(
        &with(&["--gold", "missing.json", "--search", "search.jsonl"]),
        2,
        "missing.json: cannot be read",
    );
    assert_refused(
        &with(&["--gold", "v1.json", "--search", "feedback.jsonl"]),
        2,
        "no search could be read; first: feedback.jsonl:1: missing_field: missing field `results`",
    );
    let adopt = |sheet: &str| {
        run(&[
            "adopt", "--gold", "v1.json", "--sheet", sheet, "--output", "x.json",
        ])
    };
    assert_refused(&adopt("missing.csv"), 2, "missing.csv: cannot be read");
    assert_refused(
        &adopt("v1.json"),
        2,
        "v1.json:1: a sheet is CSV with a header",
    );
}

/// Writes events to a topic, each with its timestamp in milliseconds.
fn produce(broker: &Broker, topic: &str, events: impl Iterator<Item = (String, i64)>) {
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", broker.bootstrap())
        .create()
        .expect("a producer");
    for (number, (event, at)) in (0..).zip(events) {
        let record = BaseRecord::<str, str>::to(topic)
            .partition(number % 3)
            .timestamp(at)
            .payload(&event);
        producer
            .send(record)
            .map_err(|(problem, _)| problem)
            .expect("room in the queue");
    }
    producer
        .flush(Duration::from_secs(30))
        .expect("all is stored");
}

#[test]
fn topics_are_read_like_files_without_joining_the_consumer_group() {
    let (search, feedback) = broker().unique_topics("propose", 3);
    let group = unique_name("group");
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    let now = i64::try_from(since_epoch.as_millis()).expect("a time");
    let two_days_ago = now - 2 * 86_400_000;
    for (topic, name) in [(&search, "search.jsonl"), (&feedback, "feedback.jsonl")] {
        let old = ["{\"old\": true}".to_owned(), String::from("old")];
        let old = old.into_iter().map(|event| (event, two_days_ago));
        let new = lines(name).into_iter().map(|event| (event, now));
        produce(broker(), topic, old.chain(new));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (config, config_name) = path(folder.path(), "rankgauge.yaml");
    let settings = json!({
        "brokers": broker().bootstrap(), "group_id": group,
        "search_topic": search, "feedback_topic": feedback,
    });
    fs::write(
        &config,
        format!(
            "kafka: {settings}\ngold: {{paths: ['{}']}}\n",
            data("commands").join("v1.json").display()
        ),
    )
    .expect("a file");

    let arguments = ["--config", &config_name, "--format", "json", "--last"];
    let live = propose(&[&arguments[..], &["24h"]].concat());
    assert_eq!(live.status.code(), Some(0), "{}", stderr(&live));
    let files = propose(&[&FILES[..], &["--format", "json"]].concat());
    assert_eq!(json(&live), json(&files));
    let older = json(&propose(&[&arguments[..], &["72h"]].concat()));
    assert_eq!(
        (&older["invalid_searches"], &older["invalid_feedback"]),
        (&json!(2), &json!(2))
    );

    assert_eq!(broker().group_members(&group), 0);
    for topic in [&search, &feedback] {
        assert!(broker().committed_offsets(&group, topic).is_empty());
    }
}

#[test]
fn empty_topics_and_missing_topics_are_distinguished() {
    let (search, feedback) = broker().unique_topics("propose", 1);
    let set = |key: &str, value: &str| format!("kafka.{key}={value}");
    let brokers = set("brokers", broker().bootstrap());
    let searches = set("search_topic", &search);
    let nothing = propose(&[
        "--gold",
        "v1.json",
        "--last",
        "1h",
        "--set",
        &brokers,
        "--set",
        &searches,
        "--set",
        &set("feedback_topic", &feedback),
    ]);
    assert_eq!(nothing.status.code(), Some(0), "{}", stderr(&nothing));
    assert!(
        stdout(&nothing).starts_with("0 searches read"),
        "{}",
        stdout(&nothing)
    );
    let missing = propose(&[
        "--gold",
        "v1.json",
        "--last",
        "1h",
        "--set",
        &brokers,
        "--set",
        &searches,
        "--set",
        "kafka.feedback_topic=nowhere.to.be.found",
    ]);
    assert_refused(
        &missing,
        1,
        "topic nowhere.to.be.found does not exist; create it",
    );
    let nobody = set("brokers", &format!("127.0.0.1:{}", free_port()));
    let nobody = propose(&["--gold", "v1.json", "--last", "1h", "--set", &nobody]);
    assert_refused(&nobody, 1, "no answer from 127.0.0.1:");
}
