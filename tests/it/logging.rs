//! Log of a command in JSON: one flat object per line.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

/// Log of `replay` at the level `debug`, with these lines of search events.
fn log_of_replay(searches: &str) -> Vec<Map<String, Value>> {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases/duplicate-and-late");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let events = folder.path().join("search.jsonl");
    fs::write(&events, searches).expect("a file of search events");
    let output = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .env_remove("RANKGAUGE_LOG")
        .arg("replay")
        .arg("--config")
        .arg(case.join("config.yaml"))
        .args(["--set", "log.format=json", "--set", "log.level=debug"])
        .args(["--set", "gold.paths=gold.json"])
        .arg("--search")
        .arg(&events)
        .current_dir(&case)
        .output()
        .expect("the binary runs");
    let log = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{log}");
    let lines = log.lines().map(|line| {
        serde_json::from_str(line).unwrap_or_else(|problem| panic!("{problem}: {line}"))
    });
    lines.collect()
}

#[test]
fn every_line_of_a_json_log_is_one_flat_object() {
    let lines = log_of_replay("no JSON\n{\"query_id\": \"s1\"}\n");
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in &lines {
        for member in ["timestamp", "level", "target", "message"] {
            assert!(
                line.get(member).is_some_and(Value::is_string),
                "{member}: {line:?}"
            );
        }
        assert!(!line.contains_key("fields"), "{line:?}");
    }
}

#[test]
fn the_fields_of_an_event_are_members_of_its_line() {
    let lines = log_of_replay("no JSON\n");
    let [line] = lines.as_slice() else {
        panic!("one rejected record gives one line: {lines:?}");
    };
    assert_eq!(line["message"], "record rejected");
    assert_eq!(line["level"], "DEBUG");
    assert_eq!(line["target"], "rankgauge::ingest::replay");
    assert_eq!(line["line"], 1);
    let path = line["path"].as_str().expect("a path");
    assert!(path.ends_with("search.jsonl"), "{path}");
    assert!(line["error"].is_string(), "{line:?}");
}
