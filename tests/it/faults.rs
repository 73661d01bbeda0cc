//! Unusable checkpoints: damaged, truncated, of another version, or in use by another process.
//! Golden checkpoints of every earlier version, which must remain readable.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rankgauge::checkpoint::folder::Folder;
use rankgauge::checkpoint::{Checkpoint, Source, Unreadable, VERSION};
use rankgauge::config::{self, Config};
use rankgauge::ingest::replay::replay;
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::settings::{Rolling, Settings};
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::gold;
use rankgauge_core::time::WallTime;
use rankgauge_serve::collect::{Names, collect};
use rankgauge_serve::json::Json;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::free_port;
use crate::harness::sidecar::Sidecar;

/// Creation time in the golden checkpoints.
const MADE: WallTime = WallTime(1_763_337_700_000);

/// Cases of `tests/data/cases` whose logs are the partitions of the golden checkpoints.
const LOGS: [&str; 5] = [
    "cost",
    "duplicate-and-late",
    "latency-buckets",
    "slices-and-variants",
    "what-people-did",
];

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(path)
}

fn configuration() -> Config {
    let file = data("checkpoints/config.yaml");
    config::load(&[file], std::iter::empty(), &[])
        .unwrap_or_else(|problems| panic!("checkpoints/config.yaml: {problems}"))
}

/// Engine without any counts, and the names for its numbers.
fn engine(config: &Config) -> (Engine, Names) {
    let settings = Arc::new(Settings {
        rolling: Rolling::All,
        ..config.engine.clone()
    });
    let registry = Arc::new(Engine::registry(&settings));
    let engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), MADE);
    let names = Names {
        settings,
        registry,
        topics: vec!["search.log".into(), "search.feedback".into()],
    };
    (engine, names)
}

/// Checkpoint that this version creates from the logs: small and deterministic.
fn checkpoint() -> Checkpoint {
    let config = configuration();
    let (mut engine, _) = engine(&config);
    let gold = gold::load(&[data("cases/cost/gold.json")], &config.gold.options);
    engine.apply(Input::Gold(Arc::new(gold.expect("a gold set"))));
    let logs = |file: &str| LOGS.map(|case| data("cases").join(case).join(file));
    replay(
        &mut engine,
        &Formats::NATIVE,
        &logs("search.jsonl"),
        &logs("feedback.jsonl"),
    )
    .expect("readable files");
    Checkpoint {
        worker: 0,
        written: MADE,
        absorbed: BTreeMap::from([(1, WallTime(MADE.0 - 1))]),
        source: Source {
            cluster: Some("5L6g3nShT-eMCtK--X86sw".into()),
            group: "골드".into(),
            topics: ["search.log".into(), "search.feedback".into()],
        },
        points: engine.commit_points(),
        state: engine.state(),
    }
}

fn bytes(checkpoint: &Checkpoint) -> Vec<u8> {
    let mut bytes = Vec::new();
    checkpoint.write(&mut bytes).expect("memory takes it");
    bytes
}

/// Complete external view of a checkpoint: its metadata, and the values that a restored engine
/// exposes.
pub(crate) fn described(checkpoint: &Checkpoint) -> Value {
    let (mut engine, names) = engine(&configuration());
    engine.restore(&checkpoint.state);
    let mut sink = Json::default();
    collect(&engine.snapshot(), &names, MADE, &mut sink);
    let samples: BTreeMap<String, Value> = sink
        .into_samples()
        .iter()
        .map(|sample| {
            let series = format!("{}{:?}", sample.name, sample.labels);
            (series, json!(sample.value.get()))
        })
        .collect();
    json!({
        "worker": checkpoint.worker,
        "written": checkpoint.written,
        "absorbed": checkpoint.absorbed,
        "source": checkpoint.source,
        "points": checkpoint.points,
        "samples": samples,
    })
}

/// Paths of the golden checkpoint of a version and of its expected content.
fn golden(version: u32) -> [PathBuf; 2] {
    ["checkpoint", "json"].map(|suffix| data(&format!("checkpoints/version-{version}.{suffix}")))
}

/// Fails at the first entry of `expected` that `found` lacks. Additional entries of a later version
/// are allowed.
#[track_caller]
pub(crate) fn assert_contains(found: &Value, expected: &Value) {
    for (key, expected) in expected.as_object().expect("an object") {
        match (found.get(key), expected) {
            (Some(found), Value::Object(_)) => assert_contains(found, expected),
            (found, _) => assert_eq!(found, Some(expected), "{key}"),
        }
    }
}

#[test]
fn the_golden_checkpoint_restores_the_same_samples() {
    // No earlier format was released.
    let [file, says] = golden(VERSION);
    let file = fs::read(&file).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; UPDATE=1 writes it when the format is new",
            file.display()
        )
    });
    let checkpoint = Checkpoint::read(&*file).expect("it is read");
    let says = fs::read_to_string(says).expect("what it says");
    let says: Value = serde_json::from_str(&says).expect("JSON");
    assert!(says["samples"].as_object().expect("an object").len() > 100);
    assert_contains(&described(&checkpoint), &says);
}

#[test]
fn a_new_checkpoint_has_the_current_version_and_the_same_samples() {
    let [file, says] = golden(VERSION);
    let written = bytes(&checkpoint());
    let described = described(&Checkpoint::read(&*written).expect("what was written is read"));
    if std::env::var_os("UPDATE").is_some() {
        let text = serde_json::to_string_pretty(&described).expect("JSON");
        fs::write(file, &written).expect("the folder can be written");
        fs::write(says, text + "\n").expect("the folder can be written");
        fs::write(fuzzed(VERSION), content(&written)).expect("the folder can be written");
        return;
    }
    let says = fs::read_to_string(says).expect("what it says");
    let says: Value = serde_json::from_str(&says).expect("JSON");
    assert_contains(&described, &says);
}

/// Input of the fuzzer: what a file of a version holds, without its checksum.
fn fuzzed(version: u32) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/checkpoint");
    folder.join(format!("version-{version}.content"))
}

/// Decompressed content of a file.
fn content(file: &[u8]) -> Vec<u8> {
    let frame = file.splitn(2, |byte| *byte == b'\n').nth(1);
    zstd::decode_all(frame.expect("a frame after the first line")).expect("a frame")
}

#[test]
fn the_fuzzer_begins_with_the_golden_checkpoint() {
    let [file, _] = golden(VERSION);
    let file = fs::read(file).expect("the golden checkpoint");
    let seed = fs::read(fuzzed(VERSION)).expect("UPDATE=1 writes it when the format is new");
    assert!(seed == content(&file), "{}", fuzzed(VERSION).display());
}

#[test]
fn checkpoint_with_any_bit_flipped_is_rejected_or_reads_the_same() {
    let checkpoint = bytes(&checkpoint());
    let mut damaged = checkpoint.clone();
    for at in 0..checkpoint.len() {
        for bit in 0..8 {
            damaged[at] ^= 1 << bit;
            match Checkpoint::read(&*damaged) {
                // The same data has several compressed forms, and some bits are unused.
                Ok(read) => assert_eq!(bytes(&read), checkpoint, "bit {bit} of byte {at}"),
                Err(Unreadable::Io(error)) => panic!("bit {bit} of byte {at}: {error}"),
                Err(_) => {}
            }
            damaged[at] ^= 1 << bit;
        }
    }
}

#[test]
fn truncated_or_extended_checkpoint_is_rejected() {
    let mut checkpoint = bytes(&checkpoint());
    for length in 0..checkpoint.len() {
        let read = Checkpoint::read(&checkpoint[..length]);
        assert!(read.is_err(), "{length} of {} bytes", checkpoint.len());
    }
    checkpoint.push(0);
    let read = Checkpoint::read(&*checkpoint);
    assert!(matches!(read, Err(Unreadable::Damaged(_))), "{read:?}");
}

/// Sidecar settings with an unreachable broker and with checkpoints in `folder`.
fn settings(folder: &Path) -> String {
    let port = free_port();
    format!(
        "kafka: {{brokers: '127.0.0.1:{port}', group_id: 골드}}\n\
         checkpoint: {{folder: '{}'}}\n",
        folder.display()
    )
}

fn scratch() -> TempDir {
    tempfile::Builder::new()
        .prefix("faults-")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .expect("a folder can be made")
}

#[test]
fn unreadable_checkpoints_are_moved_aside_and_the_sidecar_starts_with_the_others() {
    let folder = scratch();
    let good = bytes(&checkpoint());
    let mut damaged = good.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    let newer = [b"rankgauge checkpoint 4000\n", &good[..40]].concat();
    let files = [
        ("worker-2", &damaged[..], "is damaged: "),
        ("worker-3", &good[..good.len() / 3], "is damaged: "),
        (
            "worker-4",
            &newer[..],
            "has format 4000, and this rankgauge supports formats up to",
        ),
        (
            "worker-5",
            b"\x7fELF of somebody else",
            "is not a checkpoint: it does not begin with",
        ),
        (
            "worker-6",
            b"",
            "is not a checkpoint: it does not begin with",
        ),
    ];
    fs::write(folder.path().join("worker-0.checkpoint"), &good).expect("writable");
    for (name, content, _) in &files {
        fs::write(folder.path().join(format!("{name}.checkpoint")), content).expect("writable");
    }

    let sidecar = Sidecar::start(&settings(folder.path()), &[]);

    let log = sidecar.log();
    for (name, content, why) in &files {
        let aside = folder.path().join(format!("{name}.checkpoint.rejected"));
        let line = log.lines().find(|line| line.contains(name));
        let line = line.unwrap_or_else(|| panic!("nothing is said of {name}: {log}"));
        let moved = format!("moved_to={}", aside.display());
        assert!(line.contains(why) && line.contains(&moved), "{line}");
        assert_eq!(fs::read(&aside).expect("it is kept"), *content);
    }
    let exposition = sidecar.metrics();
    let says = described(&checkpoint());
    let searches: f64 = says["samples"]
        .as_object()
        .expect("an object")
        .iter()
        .filter(|(series, _)| series.starts_with("rankgauge_events_total"))
        .map(|(_, value)| value.as_str().and_then(|text| text.parse::<f64>().ok()))
        .sum::<Option<f64>>()
        .expect("numbers");
    let found = exposition.sum("rankgauge_events_total", &[]);
    assert!(searches > 0.0 && (found - searches).abs() < 0.5, "{found}");
    assert_eq!(sidecar.get("/healthz").0, 200);
}

#[test]
fn old_checkpoint_is_logged_and_its_time_is_exposed() {
    let folder = scratch();
    let opened = Folder::open(folder.path()).expect("nobody has it");
    opened.save(&checkpoint()).expect("there is room");
    drop(opened);

    let sidecar = Sidecar::start(&settings(folder.path()), &[]);

    let log = sidecar.log();
    let line = log
        .lines()
        .find(|line| line.contains("restored checkpoint is old"));
    let line = line.unwrap_or_else(|| panic!("nothing is said of its age: {log}"));
    assert!(
        line.contains("counters are lower than what was exposed before"),
        "{line}"
    );
    let exposition = sidecar.metrics();
    let name = "rankgauge_checkpoint_restored_timestamp_seconds";
    assert_eq!(
        exposition.value(name, &[("worker", "0")]),
        Some(1_763_337_700.0)
    );
}

#[test]
fn checkpoint_folder_is_locked_until_its_process_ends() {
    let folder = scratch();
    let first = Sidecar::start(&settings(folder.path()), &[]);
    let second = Sidecar::refused(&settings(folder.path()));
    let said = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{said}");
    let message = format!(
        "another process uses the checkpoint folder {}: give each replica a separate folder \
         (checkpoint.folder)",
        folder.path().display()
    );
    assert!(said.contains(&message), "{said}");
    // The lock is released however the process ends.
    drop(first);
    Folder::open(folder.path()).expect("nobody has it");
}

#[test]
fn unlistable_checkpoint_folder_is_reported() {
    let folder = scratch();
    let file = folder.path().join("checkpoints");
    fs::write(&file, "a file in its place").expect("writable");
    let contents = Folder::open(&file).expect("nobody has it").load();
    assert!(contents.checkpoints.is_empty() && contents.list_error.is_some());
    let absent = Folder::open(&folder.path().join("new")).expect("nobody has it");
    assert!(absent.load().list_error.is_none());
}
