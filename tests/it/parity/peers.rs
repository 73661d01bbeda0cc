//! Values of third-party tools and of our own command for the same files.
//!
//! The tools are installed in a virtual environment by `tests/setup.sh peers`, and run once for all
//! cases. This module compares nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::Deserialize;

use crate::harness::python;

/// Values of one measure by query.
pub(super) type ByQuery = BTreeMap<String, f64>;
/// Values by measure and query.
pub(super) type ByMeasure = BTreeMap<String, ByQuery>;

/// Values of the tools for one gold set and run; `tests/peers/judge.py` explains the fields.
#[derive(Deserialize)]
pub(super) struct Judged {
    /// By reference: trec_eval, ranx, ir_measures, definitions.
    pub(super) per_query: BTreeMap<String, ByMeasure>,
    /// Precision, recall and F1 of all results together, at every cutoff.
    pub(super) micro: BTreeMap<String, f64>,
    /// Numbers of queries with an AP that another order would change.
    pub(super) sensitivity: BTreeMap<String, usize>,
}

/// Runs the tools on cases: a name, a gold file, a run.
pub(super) fn judge(cases: &[(&str, PathBuf, PathBuf)]) -> BTreeMap<String, Judged> {
    let (environment, source) = python("peers");
    let mut command = Command::new(environment.join("bin/python"));
    command
        .arg(source.join("judge.py"))
        .env("NUMBA_CACHE_DIR", environment.join("numba"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    for (name, gold, run) in cases {
        command.arg(format!("{name}={},{}", gold.display(), run.display()));
    }
    let printed = succeed(&mut command);
    serde_json::from_slice(&printed.stdout).expect("judge.py prints what it says it prints")
}

/// JSON output of `rankgauge evaluate`, reduced to the members that the tests use.
#[derive(Deserialize)]
pub(super) struct Evaluated {
    pub(super) gold: EvaluatedGold,
    pub(super) runs: Vec<EvaluatedRun>,
}

#[derive(Deserialize)]
pub(super) struct EvaluatedGold {
    pub(super) queries: usize,
}

#[derive(Deserialize)]
pub(super) struct EvaluatedRun {
    pub(super) queries: usize,
    pub(super) missing: Vec<String>,
    pub(super) means: BTreeMap<String, f64>,
    pub(super) micro: BTreeMap<String, f64>,
    pub(super) per_query: ByMeasure,
}

/// Judges a run with our own command and additional `flags`.
pub(super) fn evaluate(gold: &Path, run: &Path, measures: &str, flags: &[&str]) -> EvaluatedRun {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankgauge"));
    command
        .arg("evaluate")
        .arg("--gold")
        .arg(gold)
        .arg("--run")
        .arg(run)
        .args(["--measures", measures, "--per-query", "--format", "json"])
        .args(flags);
    let printed = succeed(&mut command);
    let mut evaluated: Evaluated =
        serde_json::from_slice(&printed.stdout).expect("evaluate prints JSON of the stated shape");
    assert_eq!(evaluated.gold.queries, super::fixture::GOLD_QUERIES);
    assert_eq!(evaluated.runs.len(), 1);
    evaluated.runs.remove(0)
}

fn succeed(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", command.get_program().display()));
    assert!(
        output.status.success(),
        "{} failed: {}\n{}",
        command.get_program().display(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
