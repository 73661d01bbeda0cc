//! The HTML reports in a real browser.

#[path = "../../crates/eval/tests/it/reports/sample.rs"]
#[allow(dead_code, reason = "the tests of the reports use the rest")]
mod sample;

use std::fs;
use std::path::Path;
use std::process::Command;

use rankgauge_core::statistics::Settings;
use rankgauge_eval::compare::{
    self, Comparison, ErrorAnalysis, FalsePositive, QueryErrors, RunScores,
};
use rankgauge_eval::report::{self, Format, write};
use serde_json::json;

use crate::harness::browser::look;

/// Expected content of the page of [`sample::short`]: its sections, and captions of its pictures
/// and tables with some of their numbers.
fn claims() -> serde_json::Value {
    let evaluation = sample::short();
    let means: Vec<Vec<String>> = (0..7)
        .map(|measure| {
            let means = evaluation
                .runs
                .iter()
                .map(|run| run.means[measure].unwrap());
            let mut row = vec![evaluation.measures[measure].clone()];
            row.extend(means.map(|mean| format!("{mean:.4}")));
            row
        })
        .collect();
    json!({
        "pages": 8,
        "headings": [
            "Recommendations", "Weakest slices", "Runs", "Overall", "Tiers reached",
            "Differences", "Micro averages",
            "By query_type", "By primary_domain", "Ranking", "Components", "Routing",
            "Collaboration", "Queries",
        ],
        "figures": [
            ["Differences of V5-전체 from V4-hybrid by query", []],
            ["nDCG(gain=exp)@10 by query_type", ["keyword"]],
            ["nDCG(gain=exp)@10 by primary_domain", ["도시계획시설"]],
            ["Precision–recall curve: interpolated precision at recall", ["0.9500", "0.9900"]],
            ["nDCG by cutoff", ["0.5800", "0.8300"]],
            ["Score distribution: queries by nDCG(gain=exp)@10", ["0.9–1.0"]],
            ["Hop distribution of rne", ["116", "58.9 %"]],
            ["Routing of V4-hybrid: expected domain by selected domain", ["9", "3"]],
            ["Routing of V5-전체: expected domain by selected domain", ["도시계획시설"]],
            ["Collaboration in V4-hybrid: primary domain by contributing domain", ["30", "7"]],
            ["Collaboration in V5-전체: primary domain by contributing domain", ["개발행위"]],
        ],
        "tables": {
            "Means, and the number of queries with a score": means,
            "The best tier that each mean reaches": [["P@5", "excellent 0.8, good 0.7, acceptable 0.6"]],
            "Means by query_type; in parentheses, the queries with a score where some have none": [["keyword", "V5-전체", "20"]],
        },
        "text": ["Rule: preferred-run", "<script>alert(1)</script>", "용도지역 변경 절차는 무엇인가?"],
    })
}

/// Expected content of the page of [`comparison`].
fn claims_of_comparison() -> serde_json::Value {
    let found = comparison();
    let differences: Vec<Vec<String>> = found.comparisons[0]
        .measures
        .iter()
        .map(|of| {
            let means = [of.paired.a, of.paired.b].map(|mean| format!("{:.4}", mean.unwrap()));
            let [a, b] = means;
            vec![of.measure.clone(), a, b]
        })
        .collect();
    let numbers: Vec<&String> = differences.iter().flatten().collect();
    let step = found.ablation[1].measures[0].paired.difference.unwrap();
    json!({
        "pages": 8,
        "headings": [
            "All runs against V1", "V1 (A) against V2 (B)", "V1 (A) against V5-전체 (B)",
            "What was tested", "Gain of each step",
            "All pairs", "Best run", "Worst queries of V5-전체 by nDCG(gain=exp)@10",
            "Notes",
        ],
        "figures": [
            ["nDCG(gain=exp)@10 of each run against V1", ["V2", "V5-전체"]],
            ["Differences, V2 minus V1", numbers],
            ["Differences, V5-전체 minus V1", ["better", "no difference shown"]],
            ["Difference of each step by measure", ["V2 → V5-전체", format!("{step:+.4}")]],
        ],
        "tables": {
            "Best run over all queries and by slice": [["all", "P@5", "V5-전체"]],
        },
        "text": ["<script>alert(1)</script>", "Holm p < 0.05", "(grade 0)"],
    })
}

/// Three generated runs of 40 queries: the last is better in ranking and equal in recall.
fn comparison() -> Comparison {
    let names = [
        "nDCG(gain=exp)@10",
        "P@5",
        "R@10",
        "FacetR(law_type=시행령)",
    ];
    let runs = [("V1", 0), ("V2", 1), ("V5-전체", 6)].map(|(name, better)| {
        let queries = (0..40_u32).map(|query| {
            let of = |measure: u32, gain: u32| {
                let noise = (query * 7 + measure * 3 + better * query) % 11;
                Some(f64::from(30 + noise + gain * better) / 100.0)
            };
            let scores = vec![of(0, 3), of(1, 4), of(2, 0), of(3, 1)];
            (format!("Q{query:03}"), scores)
        });
        RunScores {
            name: name.to_owned(),
            measures: names.map(str::to_owned).to_vec(),
            // The first run omits one query, which the report states.
            queries: queries.skip(usize::from(better == 0)).collect(),
        }
    });
    let options = compare::Options {
        statistics: Settings {
            seed: 1,
            permutations: 500,
            bootstraps: 500,
        },
        ..compare::Options::default()
    };
    let mistakes = |_: &str| QueryErrors {
        text: Some("용도지역 변경 절차는 무엇인가?".to_owned()),
        false_positives: vec![FalsePositive {
            rank: 1,
            document: sample::HOSTILE.to_owned(),
            grade: Some(0.0),
        }],
        retrieved: 1,
        ..QueryErrors::default()
    };
    let labels = compare::Labels::new();
    let errors = ErrorAnalysis::of(&runs[2], names[0], 10, 3, &labels, mistakes);
    let mut found = compare::compare(runs.to_vec(), &options).unwrap();
    found.errors = errors;
    found
}

#[test]
fn the_page_shows_its_content_accessibly_and_loads_nothing_external() {
    let options = report::Options {
        per_query: true,
        ..report::Options::default()
    };
    look_at(&write(&sample::short(), Format::Html, &options), &claims());
}

#[test]
fn the_comparison_page_shows_its_content_and_loads_nothing_external() {
    let page = report::compare::write(&comparison(), &[], report::Format::Html);
    look_at(&page, &claims_of_comparison());
}

/// Opens a page in the browser and checks it against its claims.
#[track_caller]
fn look_at(html: &str, claims: &serde_json::Value) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let page = folder.path().join("report.html");
    fs::write(&page, html).unwrap();
    let claims_file = folder.path().join("claims.json");
    fs::write(&claims_file, claims.to_string()).unwrap();
    look("check.mjs", &[&page, &claims_file]);
}

/// Files of the examples as runs with these names, judged by all measures of the law-search profile.
fn report_of(runs: usize, format: &str) -> (tempfile::TempDir, Vec<u8>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankgauge"));
    command
        .args(["evaluate", "--format", format, "--config"])
        .arg(root.join("config/law-search.yaml"))
        .arg("--gold")
        .arg(root.join("examples/gold.json"));
    for run in 0..runs {
        let file = folder.path().join(format!("V{}.jsonl", run + 1));
        let source = ["V1.jsonl", "V5.jsonl"][run % 2];
        fs::copy(root.join("examples").join(source), &file).expect("a file can be copied");
        command.arg("--run").arg(file);
    }
    let output = command.output().expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    (folder, output.stdout)
}

#[test]
fn a_report_of_many_measures_prints_on_few_pages() {
    for (runs, pages) in [(2, 8), (9, 15)] {
        let (folder, html) = report_of(runs, "html");
        let page = folder.path().join("report.html");
        fs::write(&page, html).expect("the folder can be written");
        look("pages.mjs", &[&page, &pages.to_string()]);
    }
}

#[test]
fn text_and_markdown_begin_with_the_same_verdict_in_80_columns() {
    let beginning = |format: &str| {
        let (_folder, report) = report_of(2, format);
        let report = String::from_utf8(report).expect("a text");
        let lines = report.lines().skip(1).skip_while(|line| line.is_empty());
        let lines = lines.take_while(|line| !line.starts_with("Judged against"));
        let lines: Vec<&str> = lines.collect();
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{lines:?}"
        );
        let words = lines.join(" ").replace(['*', '\\'], "");
        let words: Vec<&str> = words.split_whitespace().collect();
        words.join(" ")
    };
    let text = beginning("text");
    assert!(text.contains("V2 is preferred: nDCG@3 0.8259."), "{text}");
    let shown = "No difference between V2 and V1 is shown in nDCG@3: +0.2147 [-0.0583, +0.4877].";
    assert!(text.contains(shown), "{text}");
    assert_eq!(text, beginning("markdown"));
}
