//! The HTML report in a real browser.

use std::fs;
use std::path::Path;
use std::process::Command;

use rankgauge::report::{Format, write};
use serde_json::json;

use super::{PER_QUERY, sample};

const INSTALL: &str = "install what it needs with `tests/setup.sh browser`";

/// What the page of [`sample::short`] has to show: its sections, and captions of its pictures
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
        "headings": [
            "Runs", "Overall", "Tiers reached", "Micro averages", "By query_type",
            "By primary_domain", "Ranking", "Components", "Routing", "Collaboration",
            "Recommendations", "Queries",
        ],
        "figures": [
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
            "Means over the counted queries": means,
            "The best tier that each mean reaches": [["P@5", "excellent 0.8, good 0.7, acceptable 0.6"]],
            "Means by query_type": [["keyword", "V5-전체", "20"]],
        },
        "text": ["Rule: preferred-run", "<script>alert(1)</script>", "용도지역 변경 절차는 무엇인가?"],
    })
}

#[test]
fn the_page_shows_what_it_claims_to_everyone_and_asks_for_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let page = folder.path().join("report.html");
    fs::write(&page, write(&sample::short(), Format::Html, &PER_QUERY)).unwrap();
    let claims_file = folder.path().join("claims.json");
    fs::write(&claims_file, claims().to_string()).unwrap();
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let output = Command::new("node")
        .arg(project.join("check.mjs"))
        .args([&page, &claims_file])
        .current_dir(&project)
        .output()
        .unwrap_or_else(|error| panic!("node cannot be run ({error}); {INSTALL}"));
    assert!(
        output.status.success(),
        "{}{}\n(where a module or the browser is missing: {INSTALL})",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
}
