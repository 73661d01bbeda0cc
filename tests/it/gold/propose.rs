//! From live traffic to a better gold set: `gold propose` and `gold adopt`, run as processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use serde_json::{Value, json};

use super::commands::{assert_golden, run};
use super::data;
use crate::harness::command::{assert_exit, assert_reports, json, json_of, printed, stdout};
use crate::harness::free_port;
use crate::harness::kafka::{Broker, broker, unique_name};

const PROPOSE: &str = "propose --gold v1.json --search search.jsonl --feedback feedback.jsonl";

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
    assert_golden("propose", PROPOSE, 0);
}

#[test]
fn proposals_are_exhausted_when_everything_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let (sheet, sheet_name) = path(folder.path(), "sheet.csv");
    let (gold, gold_name) = path(folder.path(), "v2.json");
    let proposed = run(&format!("{PROPOSE} --sheet {sheet_name} --format json"));
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
    let adopt = format!("adopt --sheet {sheet_name} --format json --gold");
    let adopted = run(&format!("{adopt} v1.json --output {gold_name}"));
    assert_eq!(
        json(&adopted),
        json!({
            "output": gold_name, "version": "2025-11+adopted", "queries": 4, "judgements": 12,
            "added": 5, "added_from_production": 0, "new_queries": 1, "already_judged": 0,
            "without_grade": 1, "production_beyond_scale": 0,
        })
    );
    let difference = json_of(&run(&format!("diff v1.json {gold_name} --format json")), 1);
    for change in ["judgements_removed", "judgements_changed"] {
        assert_eq!(difference["totals"][change], 0, "{change}: {difference}");
    }
    let valid = run(&["validate", &gold_name]);
    assert_eq!(valid.status.code(), Some(0), "{}", stdout(&valid));

    let again = PROPOSE.replace("v1.json", &gold_name);
    let again = json(&run(&format!("{again} --format json")));
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
    let same = json(&run(&format!("{adopt} {gold_name} --output {third}")));
    assert_eq!(
        (&same["added"], &same["already_judged"]),
        (&json!(0), &json!(5))
    );
    let text = fs::read_to_string(&sheet).expect("a sheet");
    fs::write(&sheet, text.replacen(",2,1\r\n", ",2,0\r\n", 1)).expect("another grade");
    let (fourth, fourth_name) = path(folder.path(), "v4.json");
    let other = format!("{adopt} {gold_name} --output {fourth_name}");
    assert_reports(
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
    let output = run(&format!("{PROPOSE} --output {candidate} --format json"));
    assert_eq!(json(&output)["candidate"]["count"], 1);
    let difference = stdout(&run(&["diff", "v1.json", &candidate]));
    for line in [
        "new  2025-11+proposed: 3 queries, 8 judgements",
        "    + 시행령_제15조  2\n",
        "judgements  +1 -0 ~0",
    ] {
        assert!(difference.contains(line), "{line}: {difference}");
    }
    let text = fs::read_to_string(&candidate).expect("the candidate");
    let note = "production: median of 3 judgments, clicked in 9 of 20 searches";
    assert!(text.contains(note), "{text}");

    let again = format!("{PROPOSE} --output {candidate}");
    assert_reports(&run(&again), 2, "the file exists already");
    assert_exit(&run(&format!("{again} --force")), 0);
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
    let propose =
        format!("propose --gold v1.json --search {search_name} --feedback {feedback_name}");
    let nothing = printed(&run(&propose));
    assert!(nothing.contains("No unjudged document"), "{nothing}");
    let invalid = "       1  feedback events are invalid\n";
    assert!(nothing.contains(invalid), "{nothing}");

    let (_, sheet) = path(folder.path(), "sheet.csv");
    let (_, gold) = path(folder.path(), "gold.json");
    let text = printed(&run(&format!("{propose} --min-clicks 1 --sheet {sheet}")));
    assert!(text.contains(r#"a,"b"\n\u{1b}[2J=c"#), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let filled = fs::read_to_string(&sheet).expect("a sheet");
    fs::write(&sheet, format!("{}3\n", filled.trim_end())).expect("a filled sheet");
    let adopt = format!("adopt --gold v1.json --sheet {sheet} --output {gold}");
    assert_exit(&run(&adopt), 0);
    let gold: Value = serde_json::from_slice(&fs::read(gold).expect("gold")).expect("JSON");
    assert_eq!(gold["queries"][0]["ground_truth"][id]["relevance"], 3);
}

#[test]
fn input_errors_are_reported_once_with_exit_code_2() {
    for (arguments, message) in [
        (
            "propose --search search.jsonl",
            "no gold set: name one with --gold, or a configuration with gold.paths",
        ),
        ("propose --gold v1.json", "--search <FILE>..."),
        (
            "propose --gold v1.json --search search.jsonl --last 1h",
            "cannot be used with",
        ),
        ("propose --gold v1.json --last gestern", "is not a duration"),
        (
            "propose --gold v1.json --search missing.jsonl",
            "missing.jsonl: No such file",
        ),
        (
            "propose --gold missing.json --search search.jsonl",
            "missing.json: cannot be read",
        ),
        (
            "propose --gold v1.json --search feedback.jsonl",
            "no search could be read; first: feedback.jsonl:1: missing_field: missing field `results`",
        ),
        (
            "adopt --gold v1.json --sheet missing.csv --output x.json",
            "missing.csv: cannot be read",
        ),
        (
            "adopt --gold v1.json --sheet v1.json --output x.json",
            "v1.json:1: a sheet is CSV with a header",
        ),
    ] {
        assert_reports(&run(arguments), 2, message);
    }
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

    let live = |last: &str| {
        let propose = format!("propose --config {config_name} --format json --last {last}");
        json(&run(&propose))
    };
    let files = run(&format!("{PROPOSE} --format json"));
    assert_eq!(live("24h"), json(&files));
    let older = live("72h");
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
    let propose = |brokers: &str, feedback: &str| {
        run(&format!(
            "propose --gold v1.json --last 1h --set kafka.brokers={brokers} --set \
             kafka.search_topic={search} --set kafka.feedback_topic={feedback}"
        ))
    };
    let nothing = printed(&propose(broker().bootstrap(), &feedback));
    assert!(nothing.starts_with("0 searches read"), "{nothing}");
    let missing = propose(broker().bootstrap(), "nowhere.to.be.found");
    let message = "topic nowhere.to.be.found does not exist; create it";
    assert_reports(&missing, 1, message);
    let nobody = propose(&format!("127.0.0.1:{}", free_port()), &feedback);
    assert_reports(&nobody, 1, "no answer from 127.0.0.1:");
}
