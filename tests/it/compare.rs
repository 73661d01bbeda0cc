//! The command `rankgauge compare`, and the comparison behind it.

mod ablation;
mod differences;
mod formats;
mod mistakes;
mod scores;
mod slices;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankgauge_core::statistics::Settings;
use rankgauge_eval::compare::{Options, RunScores};
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/compare")
        .join(name)
}

/// Runs `rankgauge compare`.
fn rankgauge(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .arg("compare")
        .args(arguments)
        .output()
        .expect("the binary starts")
}

/// Runs the command on the four files, with more arguments.
fn four(arguments: &[&str]) -> Output {
    let files = ["V1", "V2", "V3", "V4"].map(|name| data(&format!("{name}.eval")));
    let mut all: Vec<&str> = Vec::new();
    for file in &files {
        all.extend(["--scores", file.to_str().expect("a path of ASCII")]);
    }
    all.extend(["--interaction", "V1,V2,V3,V4"]);
    all.extend(arguments);
    rankgauge(&all)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&printed(output)).expect("JSON")
}

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
