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
    let output = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .current_dir(folder)
        .args(["evaluate", "--gold", "gold.json", "--run", "run.jsonl"])
        .args(["--per-query", "--format", "json"])
        .args(arguments)
        .output()
        .expect("the binary starts");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    serde_json::from_slice(&output.stdout).expect("JSON")
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
}
