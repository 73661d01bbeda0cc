//! Operations of search events in `evaluate`: latency, stages, cost, tokens, errors, and cost against
//! quality.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::harness::command::{Arguments as _, printed, rankgauge};

const CONFIG: &str = "
measures: [RR]
prices:
  - {model: small, currency: USD, input: 1.0, output: 2.0, cache_read: 0.5}
";

/// Twenty searches whose latencies are 10, 20 … 200 ms times `factor`.
fn run(factor: u32, found: bool) -> String {
    let searches = (1..=20_u32).map(|at| {
        let mut event = json!({
            "query_id": format!("s{at}"), "query_key": format!("q{at}"), "ts": 1,
            "latency_ms": 10 * at * factor,
            "stages": [{"name": "vector", "latency_ms": at}],
            "results": [{"id": if found || at == 1 { format!("d{at}") } else { "x".to_owned() }}],
            "usage": [{"model": "small", "operation": "chat", "input_tokens": 1_000_000,
                "cache_read_input_tokens": 500_000, "output_tokens": 100_000}],
        });
        if at == 20 {
            event["results"] = json!([]);
            event["error_type"] = json!("timeout");
            event["usage"] = json!([{"model": "unknown", "input_tokens": 5}]);
        }
        if at == 19 {
            event["cost"] = json!({"amount": 3.0});
        }
        event.to_string()
    });
    searches.collect::<Vec<_>>().join("\n")
}

fn evaluate(folder: &Path, flags: &[&str]) -> String {
    let gold: Vec<String> = (1..=20)
        .map(|at| {
            format!(
                "{{\"query_id\": \"q{at}\", \"query_type\": \"{}\", \"ground_truth\": \
                 {{\"d{at}\": 1}}}},",
                if at <= 5 { "short" } else { "long" }
            )
        })
        .collect();
    let gold = gold.concat();
    let gold = format!("{{\"queries\": [{}]}}", gold.trim_end_matches(','));
    for (name, content) in [
        ("gold.json", gold),
        ("slow.jsonl", run(2, true)),
        ("fast.jsonl", run(1, false)),
        ("worse.jsonl", run(3, false)),
        ("config.yaml", CONFIG.to_owned()),
    ] {
        fs::write(folder.join(name), content).expect("a file");
    }
    let evaluate = "evaluate --gold gold.json --config config.yaml --run slow.jsonl --run fast.jsonl \
                    --run worse.jsonl";
    let arguments = [&evaluate.words()[..], flags].concat();
    printed(&rankgauge(folder, &arguments))
}

/// Evaluates with `targets.yaml`. Returns the output and the report in it.
fn with_targets(folder: &Path, flags: &[&str]) -> (Output, Value) {
    let evaluate = "evaluate --gold gold.json --config targets.yaml --format json";
    let output = rankgauge(folder, &[&evaluate.words()[..], flags].concat());
    let report = serde_json::from_slice(&output.stdout).expect("JSON");
    (output, report)
}

fn close(found: &Value, expected: f64) {
    let number = found.as_f64().unwrap_or(f64::NAN);
    assert!(
        (number - expected).abs() < 1e-9,
        "{found} is not {expected}"
    );
}

#[test]
fn latency_cost_tokens_and_errors_are_reported_by_run_and_slice() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = evaluate(folder.path(), &["--format", "json", "--by", "query_type"]);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let fast = &report["operations"][1];
    assert_eq!(fast["run"], "fast");
    for (name, count) in [
        ("searches", 20),
        ("errors", 1),
        ("zero_results", 1),
        ("calls", 20),
        ("input_tokens", 19_000_005),
        ("output_tokens", 1_900_000),
        // The call without a price.
        ("without_cost", 1),
    ] {
        assert_eq!(fast[name], count, "{name}");
    }
    let latency = &fast["latency_ms"];
    for (name, expected) in [
        ("mean", 105.0),
        ("p50", 100.0),
        ("p95", 190.0),
        ("p99", 200.0),
        ("max", 200.0),
    ] {
        close(&latency[name], expected);
    }
    // Half of the input at 1, half from the cache at 0.5, a tenth of a million output tokens at 2.
    let cost = &fast["cost"]["USD"];
    assert_eq!(cost["n"], 19);
    close(&cost["p50"], 0.95);
    close(&cost["max"], 3.0);
    close(&cost["sum"], 18.0 * 0.95 + 3.0);
    close(&fast["stages"]["vector"]["mean"], 10.5);
    let short = fast["by"]
        .as_array()
        .expect("slices")
        .iter()
        .find(|it| it["value"] == "short");
    let short = short.expect("the slice");
    assert_eq!(short["searches"], 5);
    close(&short["latency_ms"]["mean"], 30.0);
}

#[test]
fn a_run_that_is_worse_and_slower_is_not_on_the_pareto_front() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = evaluate(folder.path(), &["--format", "json"]);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let tradeoffs = report["cost_against_quality"].as_array().expect("a list");
    let efficient: Vec<(&str, bool)> = tradeoffs
        .iter()
        .filter(|it| it["expense"] == "latency_ms")
        .map(|it| {
            let run = it["run"].as_str().expect("a name");
            (run, it["is_efficient"].as_bool().expect("a flag"))
        })
        .collect();
    assert_eq!(
        efficient,
        [("slow", true), ("fast", true), ("worse", false)]
    );
    close(
        &tradeoffs[tradeoffs.len() - 3]["quality_per_unit"],
        19.0 / 20.0 / 210.0,
    );
}

#[test]
fn per_query_reports_the_latency_and_cost_of_each_query() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = evaluate(folder.path(), &["--format", "json", "--per-query"]);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let fast = report["operations"].as_array().expect("a list");
    let fast = fast.iter().find(|of| of["run"] == "fast").expect("a run");
    let queries = &fast["queries"];
    assert_eq!(queries["q7"]["latency_ms"], json!(70.0));
    assert_eq!(queries["q7"]["calls"], json!(1));
    assert_eq!(queries["q7"]["stages"]["vector"], json!(7.0));
    close(&queries["q7"]["cost"]["USD"], 0.95);
    close(&queries["q19"]["cost"]["USD"], 3.0);
    // A call without a price: the cost is unknown, not 0.
    assert_eq!(queries["q20"].get("cost"), None);
    assert_eq!(queries["q20"]["error"], json!("timeout"));
    let means = evaluate(folder.path(), &["--format", "json"]);
    let means: Value = serde_json::from_str(&means).expect("JSON");
    assert_eq!(means["operations"][0].get("queries"), None);

    let rows = evaluate(folder.path(), &["--format", "csv", "--per-query"]);
    for row in [
        "operations,fast,query,q7,latency_ms,70,1,",
        "operations,fast,query,q7,stage_vector_ms,7,1,",
    ] {
        assert!(rows.lines().any(|line| line == row), "{row} is missing");
    }
    let page = evaluate(folder.path(), &["--format", "html", "--per-query"]);
    assert!(page.contains("latency in ms"));
}

#[test]
fn every_format_contains_the_operations() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in ["text", "markdown", "html", "csv", "json"] {
        let report = evaluate(folder.path(), &["--format", format]);
        for part in ["vector", "small", "USD", "0.95"] {
            // The median of the cost.
            assert!(report.contains(part), "{format} lacks {part}");
        }
    }
}

#[test]
fn configured_targets_of_latency_errors_and_cost_are_part_of_the_gate() {
    let folder = tempfile::tempdir().expect("a folder");
    evaluate(folder.path(), &["--format", "json"]);
    let config = format!(
        "{CONFIG}targets:\n  - {{measure: RR, tier: good, value: 0.01}}\n  \
         - {{latency: {{target: 0.3}}, tier: good}}\n  \
         - {{latency: {{stage: vector, target: 0.011}}, tier: good}}\n  \
         - {{latency: {{stage: rerank, target: 0.011}}, tier: good}}\n  \
         - {{error_rate: 0.04, tier: good}}\n  \
         - {{cost_per_query: {{currency: USD, target: 2}}, tier: good}}\n  \
         - {{latency: {{target: 5}}, tier: acceptable}}\n"
    );
    fs::write(folder.path().join("targets.yaml"), config).expect("a file");
    fs::write(folder.path().join("slow.trec"), "q1 Q0 d1 1 1 slow\n").expect("a file");
    let gate = |run: &str, tier: &str| {
        let (output, report) = with_targets(folder.path(), &["--run", run, "--fail-below", tier]);
        let checks = report["gate"]["checks"].as_array().expect("checks").clone();
        let checks: Vec<(String, String)> = checks
            .iter()
            .map(|check| {
                let text = |name: &str| check[name].as_str().expect("a text").to_owned();
                (text("condition"), text("outcome"))
            })
            .collect();
        (output.status.code(), checks)
    };
    let (code, checks) = gate("slow.jsonl", "good");
    assert_eq!(code, Some(3));
    let checks: Vec<(&str, &str)> = checks.iter().map(|(a, b)| (&**a, &**b)).collect();
    assert_eq!(
        checks,
        [
            ("RR reaches good (0.01)", "passed"),
            ("latency_ms_mean <= 300 (good)", "passed"),
            ("stage_vector_ms_mean <= 11 (good)", "passed"),
            ("stage_rerank_ms_mean <= 11 (good)", "skipped"),
            ("error_rate <= 0.04 (good)", "failed"),
            ("cost_USD_mean <= 2 (good)", "passed"),
        ]
    );
    // A tier that only the latency has.
    assert_eq!(gate("slow.jsonl", "acceptable").0, Some(0));
    // A run without operations has only rankings.
    let (code, checks) = gate("slow.trec", "good");
    assert_eq!(code, Some(0));
    assert!(
        checks
            .iter()
            .all(|(condition, _)| !condition.contains("latency"))
    );
    // It cannot pass a tier that only the latency has.
    assert_eq!(gate("slow.trec", "acceptable").0, Some(3));
}

#[test]
fn a_missed_target_of_latency_or_errors_is_a_recommendation() {
    let folder = tempfile::tempdir().expect("a folder");
    evaluate(folder.path(), &["--format", "json"]);
    let config = format!(
        "{CONFIG}targets:\n  - {{latency: {{target: 0.1}}, tier: good}}\n  \
         - {{latency: {{target: 0.2}}, tier: acceptable}}\n  \
         - {{latency: {{quantile: 0.95, target: 1}}, tier: good}}\n  \
         - {{error_rate: 0.04, tier: good}}\n"
    );
    fs::write(folder.path().join("targets.yaml"), config).expect("a file");
    let (_, report) = with_targets(folder.path(), &["--run", "slow.jsonl"]);
    let found = report["recommendations"].as_array().expect("a list");
    let of_rule = found.iter().filter(|it| it["rule"] == "operation-target");
    let said: Vec<[&str; 2]> = of_rule
        .map(|it| ["advice", "because"].map(|name| it[name].as_str().expect("a text")))
        .collect();
    // The least demanding target of each number.
    assert_eq!(
        said,
        [
            [
                "Lower error_rate of slow.",
                "0.0500 is 0.0100 above good (0.04)"
            ],
            [
                "Lower latency_ms_mean of slow.",
                "210.0000 is 10.0000 above acceptable (200)"
            ],
        ]
    );
}
