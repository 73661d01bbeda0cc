//! Encodings of files: a byte order mark changes no result in any reader, and UTF-16 is named.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::harness::command::{rankgauge, rankgauge_reads, stderr, stdout};

const MARK: &str = "\u{feff}";
const QRELS: &str = "q1 0 a 2\nq1 0 b 1\nq2 0 c 1\n";
const RUN: &str = "q1 Q0 a 1 3 t\nq1 Q0 x 2 2 t\nq2 Q0 y 1 2 t\nq2 Q0 c 2 1 t\n";

/// Output of the binary in a folder: standard output, standard error, exit code.
fn run(folder: &Path, arguments: &str) -> (String, String, Option<i32>) {
    let output = rankgauge(folder, arguments);
    (stdout(&output), stderr(&output), output.status.code())
}

/// Little-endian UTF-16, with or without a byte order mark.
fn utf16(text: &str, has_mark: bool) -> Vec<u8> {
    let mark = has_mark.then_some(0xfeff);
    mark.into_iter()
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect()
}

/// Reader of a file: its arguments, and the file with its content.
fn readers() -> Vec<(&'static str, &'static str, String)> {
    let search = |id: &str, hit: &str| {
        format!(
            r#"{{"query_id": "{id}", "ts": 1, "query_key": "{id}", "results": [{{"id": "{hit}"}}]}}"#
        )
    };
    let events = format!("{}\n{}\n", search("q1", "a"), search("q2", "y"));
    vec![
        (
            "evaluate --gold gold.qrels --run file.run",
            "file.run",
            RUN.to_owned(),
        ),
        (
            "evaluate --gold gold.qrels --run file.json",
            "file.json",
            r#"{"q1": {"a": 2, "x": 1}, "q2": {"c": 1}}"#.to_owned(),
        ),
        (
            "evaluate --gold gold.qrels --run file.jsonl",
            "file.jsonl",
            events.clone(),
        ),
        (
            "evaluate --gold file.qrels --run right.run",
            "file.qrels",
            QRELS.to_owned(),
        ),
        (
            "evaluate --gold beir.tsv --run right.run",
            "beir.tsv",
            "query-id\tcorpus-id\tscore\nq1\ta\t2\nq2\tc\t1\n".to_owned(),
        ),
        (
            "compare --scores file.txt --scores right.txt",
            "file.txt",
            "P_5 q1 0.5\nP_5 q2 0.25\n".to_owned(),
        ),
        ("replay --search file.jsonl", "file.jsonl", events),
        (
            "check --config file.yaml",
            "file.yaml",
            "workers: 3\n".to_owned(),
        ),
    ]
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    put("gold.qrels", QRELS);
    put("right.run", RUN);
    put("right.txt", "P_5 q1 0.25\nP_5 q2 0.75\n");
    folder
}

#[test]
fn a_byte_order_mark_changes_no_result() {
    let folder = folder();
    for (arguments, file, text) in readers() {
        let path = folder.path().join(file);
        fs::write(&path, &text).expect("a file");
        let plain = run(folder.path(), arguments);
        assert_eq!(plain.2, Some(0), "{arguments}: {}", plain.1);
        fs::write(&path, format!("{MARK}{text}")).expect("a file");
        let marked = run(folder.path(), arguments);
        // The hash of a gold set is that of its bytes, of which the mark is one.
        let of_scores = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.contains("gold set"));
            // The delay is that of the time of the run.
            let lines = lines.map(|line| line.split("watermark_delay").next().unwrap_or(line));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(of_scores(&marked.0), of_scores(&plain.0), "{arguments}");
        assert_eq!(marked.2, Some(0), "{arguments}: {}", marked.1);
    }
}

#[test]
fn utf16_is_named() {
    let folder = folder();
    for (arguments, file, text) in readers() {
        for has_mark in [true, false] {
            fs::write(folder.path().join(file), utf16(&text, has_mark)).expect("a file");
            let (output, error, code) = run(folder.path(), arguments);
            // Records of a replay are counted as invalid.
            if arguments.starts_with("replay") {
                let state: Value = serde_json::from_str(&output).expect("JSON");
                let metrics = state["metrics"].as_array().expect("an array");
                let rejected = metrics.iter().find(|metric| {
                    metric["name"] == "rankgauge_invalid_events_total"
                        && metric["labels"]["reason"] == "not_utf8"
                        && metric["labels"]["kind"] == "search"
                });
                let count = rejected.and_then(|metric| metric["value"].as_f64());
                assert!(count.is_some_and(|count| count >= 2.0), "{output}");
                continue;
            }
            assert_eq!(code, Some(2), "{arguments}: {error}");
            assert!(
                error.contains(file) && error.contains("UTF-16; save the file as UTF-8"),
                "{arguments}: {error}"
            );
        }
    }
}

#[test]
fn scores_on_standard_input_may_have_a_mark_and_be_compressed() {
    let scores = "{\"score\": 0.8, \"baseline\": 0.7}\n".repeat(50);
    let marked = format!("{MARK}{scores}");
    let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
    compressed.write_all(scores.as_bytes()).expect("memory");
    let compressed = compressed.finish().expect("memory");
    let backtest = |input: &[u8]| {
        let output = rankgauge_reads(Path::new("."), "backtest --test drop", input);
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let plain = backtest(scores.as_bytes());
    assert_eq!(plain.0, Some(0), "{}", plain.2);
    assert_eq!(backtest(marked.as_bytes()), plain);
    assert_eq!(backtest(&compressed), plain);
    let (code, _, error) = backtest(&utf16(&scores, true));
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("UTF-16; save the file as UTF-8"), "{error}");
}
