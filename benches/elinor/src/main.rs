//! Evaluates a run with elinor: `elinor-peer QRELS RUN` prints means and seconds as JSON, as the Python
//! programs in `benches/python` do.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use elinor::Metric;
use elinor::trec::{parse_pred_rels_in_trec, parse_true_rels_in_trec};

/// Names of the measures in rankgauge and in elinor.
const MEASURES: [(&str, &str); 10] = [
    ("P@5", "precision@5"),
    ("P@10", "precision@10"),
    ("R@10", "recall@10"),
    ("R@100", "recall@100"),
    ("Success@10", "success@10"),
    ("RR", "rr"),
    ("AP", "ap"),
    ("nDCG@10", "ndcg@10"),
    ("nDCG", "ndcg"),
    ("Bpref", "bpref"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, qrels, run] = &arguments[..] else {
        return Err("usage: elinor-peer QRELS RUN".into());
    };
    let start = Instant::now();
    let qrels = parse_true_rels_in_trec(std::fs::read_to_string(qrels)?.lines())?;
    let run = parse_pred_rels_in_trec(std::fs::read_to_string(run)?.lines())?;
    let read = start.elapsed().as_secs_f64();
    let mut means = BTreeMap::new();
    for (name, theirs) in MEASURES {
        let metric: Metric = theirs.parse()?;
        means.insert(name, elinor::evaluate(&qrels, &run, metric)?.mean());
    }
    let evaluate = start.elapsed().as_secs_f64() - read;
    let seconds = serde_json::json!({ "prepare": 0.0, "read": read, "evaluate": evaluate });
    println!("{}", serde_json::json!({ "seconds": seconds, "means": means }));
    Ok(())
}
