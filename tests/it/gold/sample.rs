//! Samples of a gold set for a further annotator, and the error rate that the answers show.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rankgauge_core::gold::adoption::FilledRow;
use rankgauge_core::gold::{self, GoldSet, Grade, Options};
use rankgauge_eval::gold::sample::{Sampled, Size, error_rate, sample};
use rankgauge_eval::gold::wilson::wilson;

/// Gold set with 40 judgements of keywords and 10 of questions.
fn set() -> GoldSet {
    let query = |key: &str, kind: &str, documents: usize| {
        let judgements: Vec<String> = (0..documents)
            .map(|at| format!("\"{key}-{at}\": {}", at % 4))
            .collect();
        format!(
            "{{\"query_id\": \"{key}\", \"query_type\": \"{kind}\", \"ground_truth\": {{{}}}}}",
            judgements.join(",")
        )
    };
    let queries = [
        query("a", "keyword", 20),
        query("b", "keyword", 20),
        query("c", "question", 10),
    ];
    let text = format!("{{\"queries\": [{}]}}", queries.join(","));
    gold::parse("gold.json", text.as_bytes(), &Options::default()).expect("a gold set")
}

fn by_stratum(sample: &[Sampled]) -> BTreeMap<&str, usize> {
    let mut strata = BTreeMap::new();
    for sampled in sample {
        *strata.entry(sampled.stratum.as_str()).or_default() += 1;
    }
    strata
}

#[test]
fn a_sample_is_stratified_and_reproducible() {
    let set = set();
    let drawn = sample(&set, Size::Share(0.2), Some("query_type"), 1);
    assert_eq!(by_stratum(&drawn), [("keyword", 8), ("question", 2)].into());
    assert_eq!(drawn, sample(&set, Size::Share(0.2), Some("query_type"), 1));
    let ids = |sample: &[Sampled]| -> BTreeSet<String> {
        sample.iter().map(|it| it.document.clone()).collect()
    };
    let other = sample(&set, Size::Share(0.2), Some("query_type"), 2);
    assert_ne!(ids(&drawn), ids(&other));
    // Every stratum has at least one judgement, and the number is as requested.
    let few = sample(&set, Size::Count(3), Some("query_type"), 1);
    assert_eq!(by_stratum(&few), [("keyword", 2), ("question", 1)].into());
    assert_eq!(sample(&set, Size::Count(7), None, 1).len(), 7);
    assert_eq!(sample(&set, Size::Count(500), None, 1).len(), 50);
    assert_eq!(sample(&set, Size::Count(0), None, 1), []);
}

#[test]
fn every_judgement_is_drawn_about_equally_often() {
    let set = set();
    let mut drawn: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..1000 {
        for sampled in sample(&set, Size::Count(10), None, seed) {
            *drawn.entry(sampled.document).or_default() += 1;
        }
    }
    // 200 expected, with a standard deviation of 12.6.
    assert_eq!(drawn.len(), 50);
    assert!(
        drawn.values().all(|count| (140..=260).contains(count)),
        "{drawn:?}"
    );
}

fn row(document: &str, grade: Option<f64>) -> FilledRow {
    FilledRow {
        line: 2,
        query_id: document.split('-').next().expect("a query").to_owned(),
        document_id: document.to_owned(),
        grade: grade.and_then(Grade::new),
        ..FilledRow::default()
    }
}

#[test]
fn the_error_rate_has_an_interval_and_lists_disagreements() {
    let set = set();
    let rows = [
        row("a-0", Some(0.0)),
        row("a-1", Some(1.0)),
        row("a-2", Some(3.0)),
        row("a-3", Some(0.0)),
        row("b-1", None),
    ];
    let found = error_rate(&set, &rows).expect("known judgements");
    assert_eq!((found.answered, found.open), (4, 1));
    assert_eq!((found.other_grade, found.other_relevance), (2, 1));
    assert_eq!(found.rate, Some(0.5));
    assert_eq!(found.disagreements[0].document, "a-3");
    // Newcombe 1998, table I: 81 of 263 gives 0.2553 to 0.3662.
    let [low, high] = wilson(81, 263);
    assert!(
        (low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5,
        "{low} {high}"
    );
    let [low, high] = wilson(0, 20);
    assert!(
        low.abs() < 1e-12 && (high - 0.1611).abs() < 5e-5,
        "{low} {high}"
    );
    let unknown = error_rate(&set, &[row("a-99", Some(1.0))]).expect_err("no such judgement");
    assert!(
        unknown
            .to_string()
            .starts_with("line 2: the gold set has no judgement of document")
    );
}

fn rankgauge(folder: &Path, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .current_dir(folder)
        .args(arguments.split(' '))
        .output()
        .expect("the binary starts")
}

#[test]
fn a_sheet_is_drawn_filled_and_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let gold: Vec<String> = (0..40)
        .map(|at| format!("q{} 0 d{at} {}\n", at % 4, at % 3))
        .collect();
    let gold = gold.concat();
    fs::write(path.join("gold.qrels"), gold).expect("a file");
    let drawn = rankgauge(path, "gold sample gold.qrels --size 10 --sheet sample.csv");
    let said = String::from_utf8_lossy(&drawn.stdout).into_owned();
    assert_eq!(
        drawn.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&drawn.stderr)
    );
    assert!(
        said.starts_with("10 of 40 judgements sampled, seed 1\n"),
        "{said}"
    );
    let sheet = fs::read_to_string(path.join("sample.csv")).expect("the sheet");
    assert_eq!(sheet.lines().count(), 11);
    // The grade is open: the annotator does not see that of the gold set.
    assert!(
        sheet.lines().skip(1).all(|line| line.ends_with(',')),
        "{sheet}"
    );

    // All answers are right, except the first.
    let mut answers = Vec::new();
    for (at, line) in sheet.lines().enumerate() {
        let document = line.split(',').nth(2).unwrap_or_default();
        let number = document
            .strip_prefix('d')
            .and_then(|it| it.parse::<u32>().ok());
        answers.push(match number {
            None => line.to_owned(),
            Some(number) if at == 1 => format!("{line}{}", (number % 3 + 1) % 3),
            Some(number) => format!("{line}{}", number % 3),
        });
    }
    fs::write(path.join("sample.csv"), answers.join("\n")).expect("a file");
    let checked = rankgauge(
        path,
        "gold sample gold.qrels --answers sample.csv --max-error 0.1",
    );
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(
        checked.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
    assert!(
        said.contains("10.0 %, 95 % interval 1.8 % to 40.4 %"),
        "{said}"
    );
    let strict = rankgauge(path, "gold sample gold.qrels --answers sample.csv");
    assert_eq!(strict.status.code(), Some(1));
    let said = String::from_utf8_lossy(&strict.stderr).into_owned();
    assert!(
        said.contains("10.0 % of the answers have another grade, above 5.0 %"),
        "{said}"
    );
    let nothing = rankgauge(path, "gold sample gold.qrels");
    assert_eq!(nothing.status.code(), Some(2));
    let label = rankgauge(path, "gold sample gold.qrels --by tone --sheet other.csv");
    assert_eq!(label.status.code(), Some(2));
}

#[test]
fn validation_checks_minimum_queries_and_relevant_documents() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let query = |key: usize, domain: &str, relevant: usize| {
        let documents: Vec<String> = (0..relevant).map(|at| format!("\"d{at}\": 1")).collect();
        format!(
            "{{\"query_id\": {key}, \"primary_domain\": \"{domain}\", \"ground_truth\": {{{}}}}}",
            documents.join(",")
        )
    };
    let queries = [query(1, "tax", 5), query(2, "tax", 2), query(3, "land", 11)];
    let gold = format!("{{\"queries\": [{}]}}", queries.join(","));
    fs::write(path.join("gold.json"), gold).expect("a file");
    let output = rankgauge(
        path,
        "gold validate gold.json --format json --minimum primary_domain.tax=2 --minimum \
         primary_domain.land=2 --minimum primary_domain.sea=1 --relevant 5..10",
    );
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let of = |kind: &str| -> Vec<String> {
        let warnings = report["warnings"].as_array().expect("warnings").iter();
        let warnings = warnings.filter(|it| it["kind"] == kind);
        warnings
            .map(|it| it["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(
        of("minimum"),
        [
            "1 query with primary_domain=land, and at least 2 are expected; add some",
            "0 queries with primary_domain=sea, and at least 1 are expected; add some"
        ]
    );
    let relevant = of("relevant");
    assert_eq!(relevant.len(), 2, "{relevant:?}");
    assert!(relevant[0].starts_with("query `2` has 2 relevant documents, and 5 to 10"));
}
