//! Texts of files and their names command no terminal and forge no line, wherever they are printed.

use std::fs;
use std::io::Write;
use std::sync::{Arc, Mutex};

use rankgauge::log::{LogQueue, TextLines};
use serde_json::json;

use crate::harness::command::{Arguments as _, rankgauge, stderr, stdout};

/// Text that clears a terminal, and forges a line and a command of a workflow.
const HOSTILE: &str = "x\u{1b}[2J\nforged: line\n::error::forged";

#[test]
fn no_command_prints_control_characters_or_forged_lines() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let gold = |grade: u32| {
        let query = json!({"query_id": HOSTILE, "query_text": HOSTILE, "query_type": HOSTILE,
            "ground_truth": {HOSTILE: grade}});
        json!({"version": HOSTILE, "queries": [query]}).to_string()
    };
    let name = format!("{}.json", HOSTILE.replace('/', "-"));
    let run =
        json!({"query_id": HOSTILE, "ts": 1, "query_key": HOSTILE, "results": [{"id": HOSTILE}]});
    let files = [
        (name.as_str(), gold(1)),
        ("gold.json", gold(2)),
        ("run.jsonl", run.to_string()),
        ("\u{1b}[2J\nforged: line.jsonl", "not JSON".to_owned()),
        (
            "config.yaml",
            json!({"gold": {"paths": [name]}, "kafka": {"group_id": HOSTILE}}).to_string(),
        ),
        ("broken.yaml", json!({HOSTILE: {HOSTILE: 1}}).to_string()),
    ];
    for (name, content) in &files {
        fs::write(folder.path().join(name), content).expect("a file");
    }
    let commands: [(&str, &[&str]); 11] = [
        ("gold stats", &[&name]),
        ("gold validate", &[&name]),
        ("gold diff", &[&name, "gold.json"]),
        (
            "gold convert --to qrels --output out\n\u{1b}[2J.qrels",
            &[&name],
        ),
        ("check --config config.yaml", &[]),
        ("check --config broken.yaml", &[]),
        ("config show --config config.yaml", &[]),
        (
            "evaluate --run run.jsonl --fail-on nDCG@10>=0.9 --gold",
            &[&name],
        ),
        (
            "evaluate --run run.jsonl --gold",
            &["missing\u{1b}[2J\nforged: line"],
        ),
        (
            "replay --set gold.paths=gold.json --set log.level=debug --search",
            &["\u{1b}[2J\nforged: line.jsonl"],
        ),
        ("tail --set gold.paths=gold.json --search run.jsonl", &[]),
    ];
    for (command, more) in commands {
        let output = rankgauge(folder.path(), &[&command.words()[..], more].concat());
        for text in [stdout(&output), stderr(&output)] {
            assert!(!text.contains('\u{1b}'), "{command:?}: {text}");
            let is_forged = |line: &str| {
                let line = line.trim_start();
                line.starts_with("forged") || line.starts_with("::error")
            };
            assert!(!text.lines().any(is_forged), "{command:?}: {text}");
        }
    }
}

/// Output that a test reads.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn event_of_the_text_log_is_one_line_and_keeps_only_its_colours() {
    let written = |has_colour, event: &str| {
        let output = Shared::default();
        let queue = LogQueue::start(output.clone()).expect("a thread");
        let mut lines = TextLines::new(queue.clone(), has_colour);
        lines.write_all(event.as_bytes()).expect("a queue");
        queue.flush();
        let bytes = output.0.lock().expect("no panic").clone();
        String::from_utf8(bytes).expect("UTF-8")
    };
    let event = "\u{1b}[31mERROR\u{1b}[0m id=a\nforged \u{1b}[2J\n";
    assert_eq!(
        written(false, event),
        "\\u{1b}[31mERROR\\u{1b}[0m id=a\\nforged \\u{1b}[2J\n"
    );
    assert_eq!(
        written(true, event),
        "\u{1b}[31mERROR\u{1b}[0m id=a\\nforged \\u{1b}[2J\n"
    );
}
