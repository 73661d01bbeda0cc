//! Checkpoint folder, and the output of `checkpoint show`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use rankgauge::checkpoint::folder::{Folder, look};
use rankgauge::checkpoint::{Checkpoint, Source, Unreadable, VERSION};
use rankgauge::config::Config;
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::{Engine, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::records;
use rankgauge_core::time::WallTime;
use serde_json::Value;
use tempfile::TempDir;

/// 2025-06-15T15:06:40Z.
const WRITTEN: i64 = 1_750_000_000_000;

fn scratch() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made")
}

/// Checkpoint of a worker that has counted `searches` searches.
fn checkpoint(worker: usize, written: i64, searches: i64) -> Checkpoint {
    let config = Config::default();
    let settings = Arc::new(config.engine);
    let registry = Arc::new(Engine::registry(&settings));
    let mut engine = Engine::new(settings, registry, WallTime(WRITTEN));
    let partition = i32::try_from(worker).expect("few workers");
    for offset in 0..searches {
        let search = format!(
            r#"{{"query_id": "q{worker}-{offset}", "ts": {WRITTEN}, "query": "q", "results": []}}"#
        );
        let at = Position { partition, offset };
        let record = (Kind::Search, at, search.as_bytes());
        let rejected = records::apply(&mut engine, &Formats::NATIVE, [record], |_, _, _| ());
        assert_eq!(rejected, []);
    }
    // The same search again: a duplicate has an outcome at once.
    let again =
        format!(r#"{{"query_id": "q{worker}-0", "ts": {WRITTEN}, "query": "q", "results": []}}"#);
    let at = Position {
        partition,
        offset: searches,
    };
    let record = (Kind::Search, at, again.as_bytes());
    let rejected = records::apply(&mut engine, &Formats::NATIVE, [record], |_, _, _| ());
    assert_eq!(rejected, []);
    Checkpoint {
        worker,
        written: WallTime(written),
        absorbed: BTreeMap::new(),
        source: Source {
            cluster: Some("a-cluster".to_owned()),
            group: "rankgauge".to_owned(),
            topics: ["search.log".to_owned(), "search.feedback".to_owned()],
        },
        points: engine.commit_points(),
        state: engine.state(),
    }
}

fn show(folder: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .args(["checkpoint", "show"])
        .arg(folder)
        .args(more)
        .output()
        .expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn show_prints_time_counts_and_positions() {
    let scratch = scratch();
    let folder = Folder::open(scratch.path()).expect("nobody else uses it");
    folder
        .save(&checkpoint(0, WRITTEN, 3))
        .expect("there is room");
    folder
        .save(&checkpoint(1, WRITTEN, 5))
        .expect("there is room");

    let shown = show(scratch.path(), &[]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let page = text(&shown.stdout);
    let written = format!("Worker 0, written 2025-06-15T15:06:40Z, format {VERSION}");
    for expected in [
        &*written,
        "group rankgauge on cluster a-cluster",
        "search: 1 duplicate",
        "feedback: none",
        "21 measures",
        "60 s in ",
        "topic",
        "search.log",
    ] {
        assert!(page.contains(expected), "{expected} is not in\n{page}");
    }

    let shown = show(scratch.path(), &["--format", "json"]);
    let json: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    let position = &json["checkpoints"][1]["positions"][0];
    assert_eq!(position["topic"], "search.log");
    assert_eq!(position["partition"], 1);
    assert_eq!(position["rebuild"], 0);
    assert_eq!(position["counted"], 6);
    assert_eq!(json["unreadable"], Value::Array(Vec::new()));
}

#[test]
fn show_names_unreadable_checkpoints_and_does_not_move_them() {
    let scratch = scratch();
    let file = scratch.path().join("worker-0.checkpoint");
    fs::write(&file, b"rankgauge checkpoint 1\nnot a frame").expect("the folder can be written");
    let shown = show(scratch.path(), &[]);
    assert_eq!(shown.status.code(), Some(1));
    assert!(text(&shown.stdout).contains("worker-0.checkpoint is damaged"));
    assert!(text(&shown.stderr).contains("1 of 1 checkpoints cannot be read"));
    assert!(file.exists());

    let missing = show(&scratch.path().join("nowhere"), &[]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("nowhere cannot be listed"));

    let empty = show(Path::new(env!("CARGO_MANIFEST_DIR")), &[]);
    assert!(empty.status.success());
    assert_eq!(text(&empty.stdout), "There is no checkpoint here.\n");
}

#[test]
fn checkpoint_absorbed_by_another_is_skipped() {
    let scratch = scratch();
    let folder = Folder::open(scratch.path()).expect("nobody else uses it");
    folder
        .save(&checkpoint(1, WRITTEN, 5))
        .expect("there is room");
    let mut heir = checkpoint(0, WRITTEN + 10, 3);
    heir.absorbed.insert(1, WallTime(WRITTEN));
    folder.save(&heir).expect("there is room");
    let workers = || -> Vec<usize> {
        let found = look(scratch.path()).checkpoints;
        found.iter().map(|checkpoint| checkpoint.worker).collect()
    };
    assert_eq!(workers(), [0]);
    // A later checkpoint of worker 1 is listed again.
    folder
        .save(&checkpoint(1, WRITTEN + 20, 1))
        .expect("there is room");
    assert_eq!(workers(), [0, 1]);
}

#[test]
fn checkpoint_folder_is_used_by_one_process_at_a_time() {
    let scratch = scratch();
    let first = Folder::open(scratch.path()).expect("nobody else uses it");
    let second = Folder::open(scratch.path()).expect_err("the first one has it");
    let message = second.to_string();
    assert!(
        message.contains("another process uses the checkpoint folder"),
        "{message}"
    );
    assert!(message.contains("checkpoint.folder"), "{message}");
    drop(first);
    Folder::open(scratch.path()).expect("it is free again");
}

#[test]
fn a_newer_format_is_distinguished_from_a_foreign_file() {
    let mut bytes = Vec::new();
    checkpoint(0, WRITTEN, 1)
        .write(&mut bytes)
        .expect("writing to memory succeeds");
    let digit = b"rankgauge checkpoint ".len();
    let end = digit
        + bytes[digit..]
            .iter()
            .take_while(|it| it.is_ascii_digit())
            .count();
    bytes.splice(digit..end, *b"99");
    let newer = Checkpoint::read(&bytes[..]).expect_err("format 99 is newer");
    assert!(matches!(newer, Unreadable::Newer { found: 99 }), "{newer}");
    let foreign = Checkpoint::read(&b"{\"version\": 1}\n"[..]).expect_err("JSON is none");
    assert!(matches!(foreign, Unreadable::NotOne), "{foreign}");
}
