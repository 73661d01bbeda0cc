//! Live counters equal the result of `evaluate` on the same search results in a file, to the last
//! digit of the fixed-point format.

use std::fmt::Write as _;
use std::process::Command;

use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, Millis};
use rankgauge_lab::traffic::Record;
use rankgauge_serve::clock::wall_now;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{scrape_when_received, settings, start};
use crate::harness::kafka::broker;
use crate::harness::sidecar::Exposition;

const QUERIES: u64 = 120;

const MEASURES: [&str; 16] = [
    "P@1",
    "P@5",
    "P(denominator=retrieved)@10",
    "R@10",
    "F1@10",
    "Success@5",
    "AllHit@10",
    "RR",
    "AP",
    "nDCG@10",
    "nDCG(gain=exp)",
    "Judged@10",
    "Bpref",
    "RBP",
    "ERR@10",
    "IPrec@0.5",
];

/// Line of a TREC run.
struct Line {
    document: String,
    score: f32,
}

/// Judgements and a run with ties, short lists and unjudged documents in TREC formats, and the same
/// search results in the order of trec_eval.
fn answers() -> (String, String, Vec<(String, Vec<String>)>) {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (mut qrels, mut run, mut answers) = (String::new(), String::new(), Vec::new());
    for query in 0..QUERIES {
        let key = format!("질의-{query}");
        let mut documents: Vec<u32> = (0..60).collect();
        documents.shuffle(&mut random);
        for document in &documents[..25] {
            let grade = random.random_range(-1..=3);
            writeln!(qrels, "{key} 0 법률_제{document}조::0 {grade}").expect("a string grows");
        }
        documents.shuffle(&mut random);
        documents.truncate(random.random_range(1..=30));
        let mut lines: Vec<Line> = documents
            .iter()
            .map(|document| Line {
                document: format!("법률_제{document}조::0"),
                // Few distinct scores, so that ties are frequent.
                score: f32::from(random.random_range(0..12_u8)) / 4.0,
            })
            .collect();
        for (rank, line) in (1..).zip(&lines) {
            let Line { document, score } = line;
            writeln!(run, "{key} Q0 {document} {rank} {score} base").expect("a string grows");
        }
        lines.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| b.document.as_bytes().cmp(a.document.as_bytes()))
        });
        let ordered = lines.into_iter().map(|line| line.document).collect();
        answers.push((key, ordered));
    }
    (qrels, run, answers)
}

fn search(key: &str, documents: &[String], ts: EventTime) -> Record {
    let results: Vec<Value> = documents.iter().map(|id| json!({"id": id})).collect();
    let event = json!({"query_id": key, "query_key": key, "ts": ts.0, "results": results});
    Record {
        kind: Kind::Search,
        ts,
        key: key.to_owned(),
        payload: event.to_string().into_bytes(),
    }
}

/// Output of `evaluate` for the run.
fn evaluated(gold: &std::path::Path, run: &std::path::Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .arg("evaluate")
        .arg("--gold")
        .arg(gold)
        .arg("--run")
        .arg(run)
        .args(["--measures", &MEASURES.join(" ")])
        .args(["--per-query", "--format", "json"])
        .output()
        .expect("the built binary runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["runs"][0].take()
}

/// Sum in units of 10⁻⁹, in the exposed text form.
fn decimal(nanos: i128) -> String {
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "scores are at most 1, counts at most 100"
)]
fn nanos(score: f64) -> i128 {
    (score * 1e9).round() as i128
}

fn exposed(exposition: &Exposition, name: &str, labels: &[(&str, &str)]) -> String {
    let sample = exposition.get(name, labels);
    sample.map_or_else(|| format!("no {name} {labels:?}"), |it| it.text.clone())
}

#[test]
fn live_counters_equal_evaluate_on_the_same_results_as_a_trec_run() {
    let mut stream = Stream::on_new_topics(broker(), 2, 1.0, Millis(0));
    let (qrels, run, answers) = answers();
    let (gold, file) = (
        stream.folder().join("gold.qrels"),
        stream.folder().join("base.run"),
    );
    std::fs::write(&gold, qrels).expect("the folder can be written");
    std::fs::write(&file, run).expect("the folder can be written");
    let now = EventTime(wall_now().0);
    let records: Vec<Record> = answers
        .iter()
        .map(|(key, documents)| search(key, documents, now))
        .collect();
    stream.send(broker(), &records);

    let mut settings = settings(broker(), &stream);
    settings["gold"] = json!({"paths": [gold]});
    settings["measures"] = json!(MEASURES);
    let sidecar = start(&settings);
    let exposition = scrape_when_received(&sidecar, [QUERIES, 0]);

    let offline = evaluated(&gold, &file);
    assert_eq!(offline["queries"], QUERIES);
    let queries = offline["per_query"].as_object().expect("queries");
    for measure in MEASURES {
        let scores = queries.values().map(|scores| &scores[measure]);
        let scores: Vec<f64> = scores
            .map(|score| score.as_f64().expect("a score"))
            .collect();
        let labels = [
            ("measure", measure),
            ("variant", ""),
            ("slice", "all"),
            ("value", ""),
        ];
        let sum = scores.iter().map(|score| nanos(*score)).sum();
        let exposed_sum = exposed(&exposition, "rankgauge_score_sum_total", &labels);
        assert_eq!(exposed_sum, decimal(sum), "{measure}");
        let count = exposed(&exposition, "rankgauge_score_count_total", &labels);
        assert_eq!(count, QUERIES.to_string(), "{measure}");
    }
    for cutoff in ["1", "10"] {
        let documents = |outcome| {
            let labels = [
                ("cutoff", cutoff),
                ("outcome", outcome),
                ("variant", ""),
                ("slice", "all"),
                ("value", ""),
            ];
            let value = exposition.value("rankgauge_documents_total", &labels);
            value.expect("documents are counted")
        };
        let precision = documents("tp") / (documents("tp") + documents("fp"));
        let micro = offline["micro"][format!("P@{cutoff}")].as_f64();
        assert!((micro.expect("a micro average") - precision).abs() < 1e-12);
    }
}
