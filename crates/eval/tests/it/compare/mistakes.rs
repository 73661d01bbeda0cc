//! Errors of the worst queries of a compared run.

use std::collections::BTreeMap;

use rankgauge_eval::compare::{
    Comparison, ErrorAnalysis, FalsePositive, Found, Labels, Missed, Pattern, QueryErrors, compare,
};
use rankgauge_eval::evaluate::GoldFacts;
use rankgauge_eval::report::Format;
use rankgauge_eval::report::compare::write;
use serde_json::Value;

use super::{quick, run};

/// Comparison with everything that requires a gold set.
fn with_errors() -> Comparison {
    let of = |name: &str, more: f64| {
        run(
            name,
            &["P@5"],
            &[
                ("q1", &[0.2 + more]),
                ("q2", &[0.6]),
                ("q3", &[0.2]),
                ("q4", &[0.0]),
            ],
        )
    };
    let runs = vec![of("A", 0.0), of("B", 0.2)];
    let errors = ErrorAnalysis::of(&runs[1], "P@5", 5, 2, &Labels::new(), |query| QueryErrors {
        retrieved: 5,
        patterns: vec![Pattern::NotRetrieved],
        found: vec![Found {
            rank: 2,
            document: "민법::제4조".to_owned(),
            grade: 1.0,
        }],
        text: (query == "q4").then(|| "전세 | <b>보증금</b>\u{1b}[2J".to_owned()),
        false_positives: vec![
            FalsePositive {
                rank: 1,
                document: "민법::제3조".to_owned(),
                grade: Some(0.0),
            },
            FalsePositive {
                rank: 3,
                document: "상법::제9조".to_owned(),
                grade: None,
            },
        ],
        missed: (1..=12)
            .map(|i| Missed {
                document: format!("doc-{i}"),
                grade: 2.0,
                rank: (i == 1).then_some(17),
                expected_rank: 1,
            })
            .collect(),
        answer: None,
    });
    let mut found = compare(runs, &quick()).expect("a comparison");
    found.gold = Some(GoldFacts {
        version: "v1".to_owned(),
        sha256: "00ff".to_owned(),
        queries: 4,
        judgements: 40,
    });
    found.errors = errors;
    found
}

#[test]
fn the_worst_queries_are_shown_with_their_errors() {
    let text = write(&with_errors(), &[], Format::Text);
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "Worst queries of B by P@5 ------------------------- 4 of 4 queries have no perfect \
                    score. The first 5 results of each were examined. pattern \
                    queries such as relevant document not retrieved 4 q4, q3, q1, q2";
    assert!(flowing.contains(expected), "{text}");
    let expected = "q4 \"전세 | <b>보증금</b>\\u{1b}[2J\": P@5 0.0000 \
                    - relevant document not retrieved - relevant: 2. 민법::제4조 (grade 1) \
                    - not relevant: 1. 민법::제3조 (grade 0), 3. 상법::제9조 (not judged) \
                    - missed: doc-1 (grade 2, expected from rank 1, rank 17), \
                    doc-2 (grade 2, expected from rank 1, not found), ";
    assert!(flowing.contains(expected), "{text}");
    let cut = "doc-10 (grade 2, expected from rank 1, not found) and 2 more";
    assert!(flowing.contains(cut), "{text}");
    assert!(text.contains("q3: P@5 0.2000"), "{text}");
    assert!(!text.contains("q2:"), "{text}");
}

#[test]
fn the_json_contains_errors_and_gold() {
    let found: Value =
        serde_json::from_str(&write(&with_errors(), &[], Format::Json)).expect("JSON");
    assert_eq!(found["gold"]["version"], "v1");
    let worst = &found["errors"]["queries"][0];
    assert_eq!(
        (&worst["query"], &worst["score"]),
        (&"q4".into(), &0.0.into())
    );
    assert_eq!(worst["false_positives"][1]["grade"], Value::Null);
    assert_eq!(worst["missed"].as_array().map(Vec::len), Some(12));
    assert_eq!(worst["missed"][0]["rank"], 17);
}

#[test]
fn the_csv_contains_errors() {
    let csv = write(&with_errors(), &[], Format::Csv);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().collect::<Result<_, _>>().expect("CSV");
    let of = |table: &str| -> Vec<_> { rows.iter().filter(|row| row["table"] == table).collect() };
    let worst: Vec<_> = of("worst_query")
        .iter()
        .map(|row| {
            (
                row["run"].as_str(),
                row["query"].as_str(),
                row["score"].as_str(),
            )
        })
        .collect();
    assert_eq!(worst, [("B", "q4", "0"), ("B", "q3", "0.2")]);
    let documents = |table: &str| -> Vec<[String; 4]> {
        let rows = of(table);
        let rows = rows.iter().filter(|row| row["query"] == "q4").take(2);
        rows.map(|row| ["query", "document", "rank", "grade"].map(|it| row[it].clone()))
            .collect()
    };
    let row =
        |document: &str, rank: &str, grade: &str| ["q4", document, rank, grade].map(str::to_owned);
    assert_eq!(
        documents("false_positive"),
        [row("민법::제3조", "1", "0"), row("상법::제9조", "3", "")]
    );
    assert_eq!(
        documents("missed"),
        [row("doc-1", "17", "2"), row("doc-2", "", "2")]
    );
}

#[test]
fn html_escapes_markup_in_data() {
    let page = write(&with_errors(), &[], Format::Html);
    assert!(page.contains("&lt;b&gt;") && page.contains("\\u{1b}[2J"));
    assert!(!page.contains("<b>") && !page.contains('\u{1b}'));
}

#[test]
fn markdown_escapes_markup_in_data() {
    let text = write(&with_errors(), &[], Format::Markdown);
    assert!(
        text.contains("전세 \\| \\<b\\>보증금\\</b\\>\\\\u{1b}\\[2J"),
        "{text}"
    );
    // Every row of a table has as many cells as its header.
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut width = None;
    for line in text.lines() {
        if line.starts_with('|') {
            assert_eq!(bars(line), *width.get_or_insert(bars(line)), "{line}");
        } else {
            width = None;
        }
    }
}

#[test]
fn the_error_analysis_has_the_cutoff_of_the_measure() {
    assert_eq!(ErrorAnalysis::cutoff_of("P@5"), 5);
    assert_eq!(ErrorAnalysis::cutoff_of("nDCG(gain=exp)@20"), 20);
    assert_eq!(ErrorAnalysis::cutoff_of("AP"), 10);
    assert_eq!(ErrorAnalysis::cutoff_of("IPrec@0.1"), 10);
}

#[test]
fn a_slice_is_hard_if_its_mean_is_clearly_below_the_rest() {
    use rankgauge_eval::compare::{ErrorAnalysis, Labels, QueryErrors, RunScores};
    let analyse = |hard: f64, number: usize| {
        let of = |kind: &str, score: f64, number: usize| -> Vec<(String, f64, String)> {
            (0..number)
                .map(|at| (format!("{kind}-{at}"), score, kind.to_owned()))
                .collect()
        };
        let all = [of("complex", hard, number), of("keyword", 0.8, 6)].concat();
        let labels: Labels = all
            .iter()
            .map(|(key, _, kind)| (key.clone(), [("type".to_owned(), kind.clone())].into()))
            .collect();
        let run = RunScores {
            name: "V1".to_owned(),
            measures: vec!["P@5".to_owned()],
            queries: all
                .into_iter()
                .map(|(key, score, _)| (key, vec![Some(score)]))
                .collect(),
        };
        let errors = |_: &str| QueryErrors::default();
        let found = ErrorAnalysis::of(&run, "P@5", 5, 1, &labels, errors).expect("a direction");
        let slices = found.hard_slices.into_iter();
        let slices: Vec<(String, usize)> = slices.map(|it| (it.value, it.queries)).collect();
        slices
    };
    assert_eq!(analyse(0.4, 5), [("complex".to_owned(), 5)]);
    assert_eq!(analyse(0.78, 5), []);
    assert_eq!(analyse(0.4, 4), [], "four queries are too few");
    assert_eq!(analyse(0.9, 6), [("keyword".to_owned(), 6)]);
}
