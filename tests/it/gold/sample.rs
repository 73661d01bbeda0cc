//! `gold sample`, and the sizes that `gold validate` checks.

use std::fs;

use crate::harness::command::{assert_exit, assert_reports, json, printed, rankgauge};

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
    let said = printed(&drawn);
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
    let said = printed(&checked);
    assert!(
        said.contains("10.0 %, 95 % interval 1.8 % to 40.4 %"),
        "{said}"
    );
    let strict = rankgauge(path, "gold sample gold.qrels --answers sample.csv");
    assert_reports(
        &strict,
        1,
        "10.0 % of the answers have another grade, above 5.0 %",
    );
    let nothing = rankgauge(path, "gold sample gold.qrels");
    assert_exit(&nothing, 2);
    let label = rankgauge(path, "gold sample gold.qrels --by tone --sheet other.csv");
    assert_exit(&label, 2);
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
    let report = json(&output);
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
