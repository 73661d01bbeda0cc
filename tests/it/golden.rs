//! Golden cases: small logs whose metrics can be computed by hand.
//!
//! A case is a folder of `tests/data/cases`: `config.yaml`, `gold.json`, `search.jsonl`,
//! `feedback.jsonl`, a `README.md` with the arithmetic, and `expected.json` with the samples that
//! must be exposed (their values as text, so that they are compared to the last digit) and those
//! that must not. A new folder is a new case; this file does not have to change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rankgauge::config;
use rankgauge::ingest::replay::replay;
use rankgauge_core::engine::settings::{Ranges, Rolling, Settings};
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::gold;
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::collect::{Names, collect};
use rankgauge_serve::json::{Json, Sample};
use serde::Deserialize;

/// Content of `expected.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    samples: Vec<ExpectedSample>,
    absent: Vec<AbsentSample>,
}

/// Sample with exactly these labels.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedSample {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    value: String,
}

/// Sample that must not exist: none with this name may have all of these labels, among others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AbsentSample {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// Samples exposed after replaying the case.
fn replayed(folder: &Path) -> Vec<Sample> {
    let config = config::load(&[folder.join("config.yaml")], std::iter::empty(), &[]);
    let config = config.unwrap_or_else(|problems| panic!("{}: {problems}", folder.display()));
    let settings = Arc::new(Settings {
        rolling: Rolling::All,
        ranges: Ranges::All,
        ..config.engine
    });
    let registry = Arc::new(Engine::registry(&settings));
    let mut engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), wall_now());
    let gold = gold::load(&[folder.join("gold.json")], &config.gold.options);
    let gold = gold.unwrap_or_else(|problems| panic!("{}: {problems}", folder.display()));
    engine.apply(Input::Gold(Arc::new(gold)));
    let log = |name: &str| vec![folder.join(name)];
    replay(
        &mut engine,
        &config.formats,
        &log("search.jsonl"),
        &log("feedback.jsonl"),
    )
    .expect("readable files");
    let names = Names {
        settings,
        registry,
        topics: config.kafka.names(),
    };
    let mut sink = Json::default();
    collect(&engine.snapshot(), &names, wall_now(), &mut sink);
    sink.into_samples()
}

fn has_labels(sample: &Sample, labels: &BTreeMap<String, String>) -> bool {
    labels
        .iter()
        .all(|(name, value)| sample.labels.get(name.as_str()) == Some(value))
}

/// Differences between the exposed samples of a case and its expected ones.
fn problems(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("expected.json")).expect("expected.json");
    let expected: Expected = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{}/expected.json: {error}", folder.display()));
    let samples = replayed(folder);
    let mut problems = Vec::new();
    for wanted in &expected.samples {
        let same = |sample: &&Sample| {
            sample.name == format!("rankgauge_{}", wanted.name)
                && sample.labels.len() == wanted.labels.len()
                && has_labels(sample, &wanted.labels)
        };
        let found = samples.iter().find(same).map(|sample| sample.value.get());
        if found != Some(wanted.value.as_str()) {
            problems.push(format!(
                "{}{:?} is {found:?}, expected {:?}",
                wanted.name, wanted.labels, wanted.value
            ));
        }
    }
    for unwanted in &expected.absent {
        let name = format!("rankgauge_{}", unwanted.name);
        let found = samples
            .iter()
            .filter(|sample| sample.name == name && has_labels(sample, &unwanted.labels));
        problems.extend(found.map(|sample| format!("{sample:?} must not be there")));
    }
    problems
}

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases");
    let mut folders: Vec<PathBuf> = fs::read_dir(root)
        .expect("tests/data/cases exists")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

#[test]
fn every_case_exposes_its_expected_samples() {
    let cases = cases();
    assert!(cases.len() >= 6, "only {} cases", cases.len());
    let mut failures = Vec::new();
    for folder in cases {
        for problem in problems(&folder) {
            let name = folder.file_name().unwrap_or_default().display().to_string();
            failures.push(format!("{name}: {problem}"));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn every_case_documents_its_arithmetic() {
    for folder in cases() {
        let text = fs::read_to_string(folder.join("README.md")).expect("README.md");
        assert!(text.starts_with("# "), "{} has a title", folder.display());
        assert!(
            text.contains('='),
            "{} shows its arithmetic",
            folder.display()
        );
    }
}

#[test]
fn every_record_of_every_case_is_accounted_for() {
    for folder in cases() {
        let samples = replayed(&folder);
        for (kind, file) in [("search", "search.jsonl"), ("feedback", "feedback.jsonl")] {
            let log = fs::read_to_string(folder.join(file)).expect("a log");
            let received = log.lines().filter(|line| !line.is_empty()).count();
            let of_kind = |sample: &&Sample| sample.labels.get("kind").is_some_and(|it| it == kind);
            let accounted: usize = samples
                .iter()
                .filter(|sample| {
                    sample.name == "rankgauge_events_total"
                        || sample.name == "rankgauge_events_pending"
                })
                .filter(of_kind)
                .map(|sample| sample.value.get().parse::<usize>().expect("a count"))
                .sum();
            assert_eq!(accounted, received, "{}: {kind}", folder.display());
        }
    }
}
