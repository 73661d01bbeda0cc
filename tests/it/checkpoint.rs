//! Checkpoint folder, and the output of `checkpoint show`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use rankgauge::checkpoint::folder::{Folder, look};
use rankgauge::checkpoint::{Checkpoint, Source, Unreadable, VERSION};
use rankgauge::config::{self, Config};
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::records;
use rankgauge_core::time::{EventTime, WallTime};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::command::{
    assert_exit, assert_reports, json, printed, rankgauge, stderr, stdout,
};

/// 2025-06-15T15:06:40Z.
const WRITTEN: i64 = 1_750_000_000_000;

fn scratch() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made")
}

fn new_engine(config: Config) -> Engine {
    let settings = Arc::new(config.engine);
    let registry = Arc::new(Engine::registry(&settings));
    Engine::new(settings, registry, WallTime(WRITTEN))
}

fn read(engine: &mut Engine, at: Position, search: &str) {
    let record = (Kind::Search, at, search.as_bytes());
    let rejected = records::apply(engine, &Formats::NATIVE, [record], |_, _, _| ());
    assert_eq!(rejected, []);
}

/// Checkpoint of a worker that has counted `searches` searches, and the first one again: a duplicate has an
/// outcome at once.
fn checkpoint(worker: usize, written: i64, searches: i64) -> Checkpoint {
    let mut engine = new_engine(Config::default());
    let partition = i32::try_from(worker).expect("few workers");
    for offset in 0..=searches {
        let number = offset % searches;
        let search = format!(
            r#"{{"query_id": "q{worker}-{number}", "ts": {WRITTEN}, "query": "q", "results": []}}"#
        );
        read(&mut engine, Position { partition, offset }, &search);
    }
    checkpoint_of(&engine, worker, written)
}

fn checkpoint_of(engine: &Engine, worker: usize, written: i64) -> Checkpoint {
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

/// Minutes of the searches of [`dropped`], and the number of queries in each.
const MINUTES: i64 = 160;
const QUERIES: i64 = 40;

/// Engine with an open incident: of the minutes of searches, the last quarter is bad.
fn dropped(gold: GoldSet) -> Engine {
    let settings = [
        ("measures", "RR"),
        ("slices", "kind"),
        ("detection.measures", "RR"),
        ("detection.slices", "kind"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let config = config::load(&[], std::iter::empty(), &settings);
    let mut engine = new_engine(config.expect("a valid configuration"));
    engine.apply(Input::Gold(Arc::new(gold)));
    for number in 0..MINUTES * QUERIES {
        let (minute, query) = (number / QUERIES, number % QUERIES);
        let ts = WRITTEN + minute * 60_000 + query * 1_000;
        if query == 0 {
            let wall = WallTime(ts);
            engine.apply(Input::Tick { wall, others: None });
        }
        let document = if minute < MINUTES * 3 / 4 { "d1" } else { "d2" };
        let search = format!(
            r#"{{"query_id": "s{number}", "ts": {ts}, "query_key": "q{query}", "variant": "V1",
                "labels": {{"kind": "k{}"}}, "results": [{{"id": "{document}"}}]}}"#,
            query % 4
        );
        let at = Position {
            partition: 0,
            offset: number,
        };
        read(&mut engine, at, &search);
    }
    engine
}

fn show(folder: &Path, more: &[&str]) -> Output {
    let folder = folder.to_str().expect("UTF-8");
    let arguments = [&["checkpoint", "show", folder], more].concat();
    rankgauge(Path::new("."), &arguments)
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
    let page = printed(&shown);
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
fn show_prints_gold_set_means_and_open_incidents_of_all_workers() {
    let gold: Vec<String> = (0..QUERIES)
        .map(|it| format!("q{it} 0 d1 1\nq{it} 0 d2 0\n"))
        .collect();
    let gold = gold::parse(
        "gold.qrels",
        gold.concat().as_bytes(),
        &gold::Options::default(),
    )
    .expect("a gold set");
    let sha256 = gold.sha256().to_owned();
    let engine = dropped(gold);
    let scratch = scratch();
    let folder = Folder::open(scratch.path()).expect("nobody else uses it");
    // A worker with other measures, and two workers with one incident.
    for saved in [
        checkpoint_of(&engine, 0, WRITTEN),
        checkpoint(1, WRITTEN, 5),
        checkpoint_of(&engine, 2, WRITTEN),
    ] {
        folder.save(&saved).expect("there is room");
    }
    let incident = engine
        .snapshot()
        .totals
        .evidence
        .incidents()
        .next()
        .cloned();
    let incident = incident.expect("an open incident");
    let since = EventTime(incident.started.at).to_string();

    let shown = show(scratch.path(), &["--format", "json"]);
    let json = json(&shown);
    let hashes = json["checkpoints"].as_array().expect("checkpoints").iter();
    let hashes: Vec<&Value> = hashes.map(|it| &it["gold_sha256"]).collect();
    assert_eq!(hashes, [&json!(sha256), &Value::Null, &json!(sha256)]);
    let n = 2 * MINUTES * QUERIES;
    let mean = json!({"variant": "V1", "measure": "RR", "mean": 0.75, "n": n});
    assert_eq!(json["means"], json!([mean]));
    let parts: Vec<Value> = incident
        .measures
        .iter()
        .map(|it| {
            json!({"incident": incident.name(), "variant": "V1", "measure": "RR",
                   "slice": it.slice, "value": it.value, "started_at": since})
        })
        .collect();
    assert!(
        parts.iter().any(|it| it["slice"] == "all"),
        "a drop of all searches: {parts:?}"
    );
    assert_eq!(json["open_incidents"], Value::Array(parts));

    let page = printed(&show(scratch.path(), &[]));
    for expected in [
        &*format!("gold set {sha256}\n"),
        "gold set (none)\n",
        "\nMeans since the start, of all workers\n",
        &*format!("0.7500  {n}\n"),
        "\nOpen incidents\n",
        &*since,
    ] {
        assert!(page.contains(expected), "{expected} is not in\n{page}");
    }
}

#[test]
fn show_names_unreadable_checkpoints_and_does_not_move_them() {
    let scratch = scratch();
    let file = scratch.path().join("worker-0.checkpoint");
    fs::write(&file, b"rankgauge checkpoint 1\nnot a frame").expect("the folder can be written");
    let shown = show(scratch.path(), &[]);
    assert_exit(&shown, 1);
    assert!(stdout(&shown).contains("worker-0.checkpoint is damaged"));
    assert!(stderr(&shown).contains("1 of 1 checkpoints cannot be read"));
    assert!(file.exists());

    let missing = show(&scratch.path().join("nowhere"), &[]);
    assert_reports(&missing, 2, "nowhere cannot be listed");

    let empty = show(Path::new(env!("CARGO_MANIFEST_DIR")), &[]);
    assert_exit(&empty, 0);
    assert_eq!(stdout(&empty), "There is no checkpoint here.\n");
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
