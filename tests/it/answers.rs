//! Measures of answers by the command: equal to the reference packages, in files and live.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::harness::command::{Arguments as _, json, rankgauge, stdout};
use crate::harness::python;

/// Largest difference that counts as equal.
const TOLERANCE: f64 = 1e-6;

/// Texts in which the tokenisations of the packages differ.
const TEXTS: [&str; 16] = [
    "용도지역 변경 절차는 제36조에 따른다.",
    "용도지역의 변경 절차는 국토계획법 제36조에 따른다.",
    "The cat sat on the mat.",
    "A cat's hat, the U.S. army and 3.14 dollars ($5) — don't!",
    "1,000 won; 12-3; a-b; snake_case",
    "건폐율은 60% 이하, 용적률은 1,500% (제84조제1항).",
    "the",
    "  a  ",
    "ＡＢＣ１２３ ㎡ ½ ﬁ",
    "인용: 「국토의 계획 및 이용에 관한 법률」 제17조제1항·제2항",
    "Hello, world!! ... 'quoted' \"text\"",
    "é à ü naïve café",
    "日本語 テキスト 法律",
    "x=1+2*3 <tag> & more | pipe",
    "😀 emoji ok",
    "line one\nline two\ttab",
];

/// Answer with its references.
struct Case {
    answer: String,
    references: Vec<String>,
}

/// Every text against every other one, and answers of random words with several references.
fn cases() -> Vec<Case> {
    let pairs = TEXTS.iter().flat_map(|answer| {
        TEXTS.iter().map(|reference| Case {
            answer: (*answer).to_owned(),
            references: vec![(*reference).to_owned()],
        })
    });
    let words: Vec<&str> = TEXTS.iter().flat_map(|text| text.split(' ')).collect();
    let mut random = ChaCha8Rng::seed_from_u64(49);
    let mut text = |least: usize| {
        let count = random.random_range(least..15);
        let gap = *[" ", "", "  "].choose(&mut random).expect("a gap");
        let chosen = (0..count).map(|_| *words.choose(&mut random).expect("a word"));
        chosen.collect::<Vec<&str>>().join(gap)
    };
    let random: Vec<Case> = (1..=300)
        .map(|number| Case {
            answer: text(0),
            references: (0..=number % 3).map(|_| format!("x {}", text(1))).collect(),
        })
        .collect();
    pairs.chain(random).collect()
}

/// Values of the packages: of each case, and of all together.
fn reference_values(cases: &[Case]) -> Vec<Value> {
    let (environment, source) = python("answers");
    let mut process = Command::new(environment.join("bin/python"))
        .arg(source.join("score.py"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let input: Vec<Value> = cases
        .iter()
        .map(|case| json!({"answer": case.answer, "references": case.references}))
        .collect();
    let mut stdin = process.stdin.take().expect("it is piped");
    let input = serde_json::to_vec(&input).expect("JSON");
    stdin.write_all(&input).expect("the program reads");
    drop(stdin);
    let output = process.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "score.py failed");
    serde_json::from_slice(&output.stdout).expect("score.py prints JSON")
}

/// Report of `rankgauge evaluate` in `folder`.
fn evaluated(folder: &Path, gold: &Value, run: &str, arguments: &[&str]) -> Value {
    fs::write(folder.join("gold.json"), gold.to_string()).expect("a file");
    fs::write(folder.join("run.jsonl"), run).expect("a file");
    let evaluate = "evaluate --gold gold.json --run run.jsonl --per-query --format json";
    let arguments = [&evaluate.words()[..], arguments].concat();
    json(&rankgauge(folder, &arguments))
}

#[test]
fn values_equal_those_of_the_reference_packages() {
    let cases = cases();
    let expected = reference_values(&cases);
    let folder = tempfile::tempdir().expect("a folder");
    let (mut queries, mut run) = (Vec::new(), String::new());
    for (number, case) in cases.iter().enumerate() {
        queries.push(json!({"query_id": format!("q{number}"), "answers": case.references}));
        let event = json!({
            "query_id": format!("s{number}"), "ts": 1_763_337_600_000_i64,
            "query_key": format!("q{number}"), "results": [{"id": "d"}],
            "answer": {"text": case.answer}
        });
        writeln!(run, "{event}").expect("writing to a string does not fail");
    }
    let measures = "ExactMatch TokenF1 TokenF1(unit=char) ROUGE(1) ROUGE(2) ROUGE(L) BLEU chrF";
    let gold = json!({"queries": queries});
    let report = evaluated(folder.path(), &gold, &run, &["--measures", measures]);
    let run = &report["runs"][0];
    let mut compared = 0;
    for (number, (case, expected)) in cases.iter().zip(&expected).enumerate() {
        let found = &run["per_query"][format!("q{number}")];
        let mut texts = case.references.iter().chain([&case.answer]);
        let is_english = texts.all(|text| text.is_ascii());
        for (measure, expected) in expected.as_object().expect("values by measure") {
            // rouge-score drops all letters but a to z.
            let name = measure.strip_prefix("rouge_score:");
            if name.is_some() && !is_english {
                continue;
            }
            let found = found[name.unwrap_or(measure)].as_f64();
            let expected = expected.as_f64().expect("a number");
            assert!(
                found.is_some_and(|found| (found - expected).abs() < TOLERANCE),
                "{measure} of {:?} against {:?}: {found:?} is not {expected}",
                case.answer,
                case.references
            );
            compared += 1;
        }
    }
    assert!(compared > 4_000, "{compared} values were compared");
    // The mean of BLEU is the score of the corpus.
    let (found, corpus) = (&run["means"]["BLEU"], expected.last().expect("the corpus"));
    let difference = found.as_f64().zip(corpus["BLEU"].as_f64());
    let difference = difference.map(|(found, expected)| (found - expected).abs());
    assert!(
        difference.is_some_and(|it| it < TOLERANCE),
        "{found} is not {corpus}"
    );
}

/// Gold set and run of one question whose answer cites a relevant document, an irrelevant one and an invention,
/// and of one that the model declines to answer.
fn cited(folder: &Path, name: &str, citations: &[&str]) {
    let gold = json!({"queries": [
        {"query_id": "Q1", "ground_truth": {"a": 3, "b": 1, "d": 0}},
        {"query_id": "Q2", "ground_truth": {"a": 1}},
    ]});
    let event = |key: &str, answer: Value| {
        json!({
            "query_id": format!("{name}-{key}"), "ts": 1_763_337_600_000_i64, "query_key": key,
            "results": [{"id": "a"}, {"id": "b"}, {"id": "d"}], "answer": answer,
        })
    };
    let answer = json!({"text": "a secret sentence", "citations": citations});
    let run = [
        event("Q1", answer),
        event("Q2", json!({"refused": true, "citations": []})),
    ];
    let run = run.map(|event| format!("{event}\n"));
    fs::write(folder.join("gold.json"), gold.to_string()).expect("a file");
    fs::write(folder.join(format!("{name}.jsonl")), run.concat()).expect("a file");
}

/// Standard output of a command in `folder`, with its exit code.
fn printed(folder: &Path, command: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let arguments = [&[command, "--gold", "gold.json"], arguments].concat();
    let output = rankgauge(folder, &arguments);
    (output.status.code(), stdout(&output))
}

#[test]
fn reports_show_the_citations_of_answers_by_their_grades() {
    let folder = tempfile::tempdir().expect("a folder");
    cited(folder.path(), "old", &["a"]);
    cited(folder.path(), "new", &["a", "d", "z"]);
    let report = |arguments: &[&str]| {
        let runs = ["--run", "old.jsonl", "--run", "new.jsonl"];
        let measures = ["--measures", "CitationP"];
        let all = [&runs[..], &measures, arguments].concat();
        let (code, text) = printed(folder.path(), "evaluate", &all);
        assert_eq!(code, Some(0), "{text}");
        assert!(!text.contains("secret"), "the text of an answer: {text}");
        text
    };
    let json = report(&["--per-query", "--case", "Q1", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let expected = json!({"refused": false, "citations": [
        {"id": "a", "grade": 3, "served": true},
        {"id": "d", "grade": 0, "served": true},
        {"id": "z", "grade": null, "served": false},
    ]});
    assert_eq!(json["runs"][1]["documents"]["Q1"]["answer"], expected);
    let refused = json!({"refused": true, "citations": []});
    assert_eq!(json["runs"][1]["documents"]["Q2"]["answer"], refused);
    assert_eq!(json["cases"][0]["runs"][1]["answer"], expected);
    let mut errors = json["errors"].as_array().expect("errors").iter();
    let errors = errors.find(|it| it["run"] == "new").expect("a run");
    assert_eq!(errors["queries"][0]["answer"], expected, "{json}");

    let case = ["--case", "Q1", "--worst", "1", "--format"];
    let text = report(&[&case[..], &["text"]].concat());
    for line in [
        "3 cited, 1 not retrieved",
        "cited: a (grade 3), d (grade 0), z (not judged, not retrieved)",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    let markdown = report(&[&case[..], &["markdown"]].concat());
    for row in [
        "| a | 3 | rank 1 | rank 1 |",
        "| d | 0 | – | rank 3 |",
        "| z | not judged | – | not retrieved |",
    ] {
        assert!(markdown.contains(row), "{row} is not in {markdown}");
    }
    let html = report(&[&case[..], &["html"]].concat());
    assert!(html.contains(">not retrieved<"), "{html}");
    let csv = report(&["--per-query", "--case", "Q1", "--format", "csv"]);
    for row in [
        "document,new,,Q1,cited,3,,a",
        "document,new,,Q1,cited_not_retrieved,,,z",
        "cited,new,Q1,d,,0,3,",
        "cited,new,Q1,z,,,,not retrieved",
    ] {
        assert!(csv.lines().any(|line| line == row), "{row} is not in {csv}");
    }
}

#[test]
fn citations_that_fell_with_the_same_ranking_fail_the_gate_and_the_comparison_shows_them() {
    let folder = tempfile::tempdir().expect("a folder");
    cited(folder.path(), "old", &["a"]);
    cited(folder.path(), "new", &["d", "z"]);
    let measures = ["--measures", "nDCG@10 CitationF1"];
    let gate = |run: &str, condition: &str| {
        let gate = ["--run", run, "--require", condition];
        printed(folder.path(), "evaluate", &[&measures[..], &gate].concat()).0
    };
    assert_eq!(gate("old.jsonl", "CitationF1>=0.5"), Some(0));
    assert_eq!(gate("new.jsonl", "CitationF1>=0.5"), Some(3));
    assert_eq!(gate("new.jsonl", "nDCG@10>=0.9"), Some(0));

    let runs = "--run old.jsonl --run new.jsonl --format json".words();
    let (_, text) = printed(folder.path(), "compare", &[&measures[..], &runs].concat());
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let difference = |measure: &str| report["measures"][measure]["difference"].as_f64();
    assert_eq!(difference("nDCG@10"), Some(0.0), "{text}");
    assert_eq!(difference("CitationF1"), Some(-0.5), "{text}");
}

#[test]
fn citations_and_contexts_are_composed_with_the_ids_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    // The letters of 가 one by one (NFD), and composed.
    let (apart, composed) = ("\u{1100}\u{1161}", "가");
    let gold = json!({"queries": [{"query_id": "Q1", "ground_truth": {composed: 1}}]});
    let event = json!({
        "query_id": "s", "ts": 1_763_337_600_000_i64, "query_key": "Q1", "results": [{"id": apart}],
        "context": [apart], "answer": {"citations": [apart]}
    });
    let measures = ["--measures", "CitationP CitedServed ContextP"];
    let means = |arguments: &[&str]| {
        let arguments = [&measures[..], arguments].concat();
        let report = evaluated(folder.path(), &gold, &format!("{event}\n"), &arguments);
        report["runs"][0]["means"].clone()
    };
    let expected = json!({"CitationP": 1.0, "CitedServed": 1.0, "ContextP": 1.0});
    assert_eq!(means(&["--normalise-ids", "nfc"]), expected);
    assert_eq!(means(&[])["CitationP"], json!(0.0));
}
