//! Comparisons of runs.

mod ablation;
mod differences;
mod mistakes;
mod scores;
mod several;
mod skewed;
mod slices;

use rankgauge_core::statistics::Settings;
use rankgauge_eval::compare::{Options, RunScores};

fn quick() -> Options {
    Options {
        statistics: Settings {
            seed: 1,
            permutations: 200,
            bootstraps: 200,
        },
        ..Options::default()
    }
}

/// Run with the scores of its queries, one column per measure.
fn run(name: &str, measures: &[&str], queries: &[(&str, &[f64])]) -> RunScores {
    let scores = |scores: &[f64]| scores.iter().copied().map(Some).collect();
    RunScores {
        name: name.to_owned(),
        measures: measures.iter().map(|&name| name.to_owned()).collect(),
        queries: queries
            .iter()
            .map(|(query, of)| ((*query).to_owned(), scores(of)))
            .collect(),
    }
}
