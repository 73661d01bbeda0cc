//! Streams of `tests/detection/golden.json`, with the numbers of the reference implementation.

use serde::Deserialize;

/// Stream of searches with the numbers of the reference.
#[derive(Deserialize)]
pub(crate) struct Golden {
    pub(crate) name: String,
    /// Differences of the event times in milliseconds.
    ms: Vec<i64>,
    queries: Vec<u32>,
    /// Scores in units of 0.0001.
    scores: Vec<u32>,
    pub(crate) targets: Vec<GoldenTarget>,
    pub(crate) series: Vec<GoldenDrop>,
}

#[derive(Deserialize)]
pub(crate) struct GoldenTarget {
    pub(crate) m: f64,
    pub(crate) block_seconds: i64,
    /// Places of the searches that closed a block.
    pub(crate) closed_by: Vec<usize>,
    /// Evidence after each of them.
    pub(crate) log_evidence: Vec<f64>,
    pub(crate) alarm: Option<u64>,
}

#[derive(Deserialize)]
pub(crate) struct GoldenDrop {
    pub(crate) window: i64,
    /// Numbers of searches after which the evidence is known.
    pub(crate) after: Vec<usize>,
    pub(crate) log_evidence: Vec<f64>,
    pub(crate) alarm: Option<u64>,
}

pub(crate) struct Search {
    pub(crate) ts: i64,
    pub(crate) query: u32,
    pub(crate) score: f64,
}

impl Golden {
    pub(crate) fn searches(&self) -> Vec<Search> {
        let mut ts = 0;
        let both = self.ms.iter().zip(&self.queries).zip(&self.scores);
        both.map(|((passed, query), units)| {
            ts += passed;
            Search {
                ts,
                query: *query,
                score: f64::from(*units) / 10_000.0,
            }
        })
        .collect()
    }
}

pub(crate) fn golden() -> Vec<Golden> {
    let text = include_str!("../../../../../tests/detection/golden.json");
    serde_json::from_str(text).expect("the form of the golden file")
}
