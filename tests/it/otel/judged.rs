//! Spans of real instrumentation packages have the scores that `evaluate` gives for the same rankings.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fixtures::{COMPLETE, path};
use crate::harness::command::{Arguments as _, json, rankgauge};

pub(super) const MEASURES: [&str; 4] = ["P@1", "nDCG@5", "RR", "R@5"];

/// Means of the measures, by `evaluate` for the native events of a fixture.
pub(super) fn evaluated(name: &str, gold: &str) -> BTreeMap<&'static str, f64> {
    let evaluate = format!(
        "evaluate --format json --measures {} --gold {gold} --run {name}.jsonl",
        MEASURES.join(",")
    );
    let report = json(&rankgauge(&path(""), &evaluate));
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
    for (file, text) in [("config.yaml", configuration), ("feedback.jsonl", "")] {
        std::fs::write(folder.path().join(file), text).expect("writable");
    }
    let search = path(&format!("{name}.json")).display().to_string();
    let replay = "replay --config config.yaml --feedback feedback.jsonl --search".words();
    let arguments = [&replay[..], &[&*search]].concat();
    let state = json(&rankgauge(folder.path(), &arguments));
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
