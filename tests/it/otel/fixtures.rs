//! Spans of real instrumentation packages, written by `tests/otel/generate.py`: both encodings give
//! the same searches, and these the scores that `evaluate` gives for the same rankings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use rankgauge_core::decode::Acceptance;
use rankgauge_core::decode::otlp::Mapping;
use rankgauge_core::event::Reason;
use serde_json::Value;

use super::{ACCEPTANCE, Decoded, json, proto};

pub(super) const MEASURES: [&str; 4] = ["P@1", "nDCG@5", "RR", "R@5"];

/// Fixtures with complete rankings, and the spans of each by outcome: search, invalid, without
/// documents, ignored, other.
pub(super) const COMPLETE: [(&str, [u64; 5]); 6] = [
    ("llama_index", [6, 0, 0, 6, 0]),
    ("langchain_ids", [6, 0, 0, 0, 0]),
    ("haystack", [6, 0, 0, 0, 11]),
    ("haystack_both", [5, 0, 0, 0, 10]),
    ("gen_ai", [5, 0, 0, 0, 0]),
    ("langfuse", [5, 0, 0, 0, 0]),
];

/// The other fixtures.
const INCOMPLETE: [(&str, [u64; 5]); 3] = [
    ("langchain", [2, 4, 0, 0, 0]),
    ("haystack_cut", [0, 1, 0, 0, 2]),
    ("haystack_both_cut", [0, 1, 0, 0, 2]),
];

pub(super) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/otel")
        .join(name)
}

pub(super) fn bytes(name: &str) -> Vec<u8> {
    let path = path(name);
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; write it with make otel-fixtures",
            path.display()
        )
    })
}

/// Decodes a fixture in both encodings.
#[track_caller]
fn decoded(name: &str, acceptance: &Acceptance, mapping: &Mapping) -> Decoded {
    let from_proto = proto(&bytes(&format!("{name}.pb")), acceptance, mapping).expect("a message");
    let from_json = json(&bytes(&format!("{name}.json")), acceptance, mapping).expect("JSON");
    assert_eq!(from_proto, from_json, "{name}");
    from_proto
}

#[test]
fn spans_of_real_packages_are_searches_in_both_encodings() {
    for (name, outcomes) in COMPLETE.iter().chain(&INCOMPLETE) {
        let decoded = decoded(name, &ACCEPTANCE, &Mapping::default());
        assert_eq!(
            decoded.outcomes(),
            *outcomes,
            "{name}: {:#?}",
            decoded.searches
        );
    }
}

#[test]
fn failed_searches_have_no_results_and_the_type_of_their_exception() {
    for (name, is_failing) in [
        ("llama_index", true),
        ("langchain", true),
        ("haystack", true),
        ("gen_ai", false),
    ] {
        let decoded = decoded(name, &ACCEPTANCE, &Mapping::default());
        let searches = decoded.searches.iter().flatten();
        let failed: Vec<_> = searches
            .filter(|it| it.get("error_type").is_some())
            .collect();
        assert_eq!(failed.len(), usize::from(is_failing), "{name}");
        for search in failed {
            assert_eq!(search["error_type"], "RuntimeError", "{name}");
            assert_eq!(search["results"], serde_json::json!([]), "{name}");
        }
    }
}

#[test]
fn missing_ids_and_truncated_lists_have_their_reasons() {
    for (name, reason, detail) in [
        ("langchain", Reason::MissingField, "document 0 has no id"),
        (
            "haystack_cut",
            Reason::BadValue,
            "retrieval.documents.0: this document is missing",
        ),
        (
            "haystack_both_cut",
            Reason::BadValue,
            "retrieval.documents.0: this document is missing",
        ),
    ] {
        let decoded = decoded(name, &ACCEPTANCE, &Mapping::default());
        let rejections: Vec<_> = decoded
            .searches
            .iter()
            .filter_map(|it| it.as_ref().err())
            .collect();
        assert!(!rejections.is_empty(), "{name}");
        for rejection in rejections {
            assert_eq!(rejection.reason, reason, "{name}: {rejection}");
            assert!(rejection.detail.contains(detail), "{name}: {rejection}");
        }
    }
    let cut = decoded("haystack_cut", &ACCEPTANCE, &Mapping::default());
    assert!(cut.counts.dropped_attributes > 0);
    let langchain = decoded("langchain", &ACCEPTANCE, &Mapping::default());
    assert_eq!(langchain.counts.documents_without_id, 13);
}

/// Means of the measures, by `evaluate` for the native events of a fixture.
pub(super) fn evaluated(name: &str, gold: &str) -> BTreeMap<&'static str, f64> {
    let output = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .args(["evaluate", "--format", "json", "--measures"])
        .arg(MEASURES.join(" "))
        .arg("--gold")
        .arg(path(gold))
        .arg("--run")
        .arg(path(&format!("{name}.jsonl")))
        .output()
        .expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "evaluate: {stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let means = &report["runs"][0]["means"];
    MEASURES
        .map(|measure| (measure, means[measure].as_f64().expect("a mean")))
        .into()
}

/// Samples of `replay` for a record in JSON with this configuration, which names the format of the
/// topic: the lines of files are JSON for either.
fn replayed(name: &str, configuration: &str) -> Vec<Value> {
    let folder = tempfile::Builder::new()
        .prefix("otel-")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .expect("a folder can be made");
    let config = folder.path().join("config.yaml");
    std::fs::write(&config, configuration).expect("writable");
    let feedback = folder.path().join("feedback.jsonl");
    std::fs::write(&feedback, "").expect("writable");
    let output = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .args(["replay", "--config"])
        .arg(&config)
        .arg("--search")
        .arg(path(&format!("{name}.json")))
        .arg("--feedback")
        .arg(&feedback)
        .output()
        .expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "replay: {stderr}");
    let state: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    state["metrics"].as_array().expect("samples").clone()
}

/// Mean of a measure over the searches of a variant, from the counters.
fn mean(samples: &[Value], measure: &str, variant: &str) -> f64 {
    let value = |name: &str| {
        let mut found = samples.iter().filter(|sample| {
            let labels = &sample["labels"];
            sample["name"] == name
                && labels["measure"] == measure
                && labels["variant"] == variant
                && labels["slice"] == "all"
        });
        let sample = found
            .next()
            .unwrap_or_else(|| panic!("{name} {measure} {variant}"));
        sample["value"].as_f64().expect("a number")
    };
    value("rankgauge_score_sum_total") / value("rankgauge_score_count_total")
}

fn configuration(gold: &str, rest: &str) -> String {
    format!(
        "kafka: {{search_format: otlp_proto}}\ngold: {{paths: [{}]}}\nmeasures: {MEASURES:?}\n{rest}",
        path(gold).display()
    )
}

#[track_caller]
fn assert_evaluated(samples: &[Value], variant: &str, ranking: &str, gold: &str) {
    for (measure, expected) in evaluated(ranking, gold) {
        let found = mean(samples, measure, variant);
        assert!(
            (found - expected).abs() < 1e-8,
            "{ranking} {measure}: {found}, evaluate gives {expected}"
        );
    }
}

#[test]
fn scores_of_spans_are_those_of_evaluate() {
    for (name, _) in COMPLETE {
        let samples = replayed(name, &configuration("gold.json", ""));
        assert_evaluated(&samples, name, name, "gold.json");
    }
    let rerankers = configuration("gold.json", "otlp: {search_spans: [reranker]}");
    let samples = replayed("haystack", &rerankers);
    assert_evaluated(&samples, "haystack", "haystack_reranked", "gold.json");
}

#[test]
fn documents_without_ids_are_judged_by_text() {
    for name in ["langchain", "llama_index", "haystack"] {
        let samples = replayed(name, &configuration("gold-texts.json", ""));
        assert_evaluated(&samples, name, name, "gold-texts.json");
    }
}
