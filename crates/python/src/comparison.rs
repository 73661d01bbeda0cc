//! Comparison of runs.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rankgauge_core::statistics::Settings;
use rankgauge_eval::compare::{self as tests, Options, RunScores, overlaps};
use rankgauge_eval::gate::{self, Check, FailOn};
use rankgauge_eval::report::compare as report;

use crate::error::Failure;
use crate::guard::{compute, compute_long};
use crate::scores::{CheckRow, Scores, format_of, rows_of};

/// Comparison of runs with the first of them.
#[pyclass(frozen, module = "rankgauge._native")]
pub(crate) struct Comparison {
    comparison: tests::Comparison,
}

/// Scores of a run: query -> measure -> score.
type ScoresByQuery = BTreeMap<String, BTreeMap<String, f64>>;

/// Options of the tests.
fn options(alpha: f64, seed: u64, resamples: Option<u32>) -> PyResult<Options> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(PyValueError::new_err(
            "alpha: a number between 0 and 1 is expected, 0.05",
        ));
    }
    if resamples.is_some_and(|it| !(100..=1_000_000).contains(&it)) {
        return Err(PyValueError::new_err(
            "resamples: a number from 100 to 1000000 is expected",
        ));
    }
    let defaults = Settings::default();
    Ok(Options {
        statistics: Settings {
            seed,
            permutations: resamples.unwrap_or(defaults.permutations),
            bootstraps: resamples.unwrap_or(defaults.bootstraps),
        },
        alpha,
        ..Options::default()
    })
}

fn compared(py: Python<'_>, runs: Vec<RunScores>, options: Options) -> PyResult<Comparison> {
    let comparison = compute_long(py, move || {
        tests::compare(runs, &options).map_err(|error| Failure::Compare(error.to_string()))
    })?;
    Ok(Comparison { comparison })
}

/// Compares the runs of an evaluation with the first. `rbo` is the probability of continuing to the next rank, for the
/// overlap of their results.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    scores: &Scores,
    alpha: f64,
    seed: u64,
    resamples: Option<u32>,
    rbo: Option<f64>,
) -> PyResult<Comparison> {
    let evaluation = &scores.evaluation;
    if rbo.is_some_and(|p| !(p > 0.0 && p < 1.0)) {
        return Err(PyValueError::new_err(
            "rbo: a number between 0 and 1 is expected, 0.9",
        ));
    }
    let options = Options {
        gold: Some(evaluation.gold.clone()),
        ..options(alpha, seed, resamples)?
    };
    let runs = evaluation.runs.iter();
    let runs = runs.map(|run| RunScores::of(run, &evaluation.measures));
    let Comparison { mut comparison } = compared(py, runs.collect(), options)?;
    if let Some(p) = rbo {
        comparison.overlaps = overlaps(&evaluation.runs, &comparison.runs, p);
    }
    Ok(Comparison { comparison })
}

/// Compares scores by query that were computed before: name, then query -> measure -> score.
#[pyfunction]
pub(crate) fn compare_scores(
    py: Python<'_>,
    runs: Vec<(String, ScoresByQuery)>,
    alpha: f64,
    seed: u64,
    resamples: Option<u32>,
) -> PyResult<Comparison> {
    let options = options(alpha, seed, resamples)?;
    let runs = runs.into_iter().map(|(name, queries)| {
        let mut measures: Vec<String> = Vec::new();
        for measure in queries.values().flat_map(BTreeMap::keys) {
            if !measures.contains(measure) {
                measures.push(measure.clone());
            }
        }
        let queries = queries.into_iter().map(|(query, scores)| {
            let scores = measures.iter().map(|measure| {
                let score = scores.get(measure).copied();
                score.filter(|score| score.is_finite())
            });
            (query, scores.collect())
        });
        RunScores {
            name,
            queries: queries.collect(),
            measures: measures.clone(),
        }
    });
    compared(py, runs.collect(), options)
}

impl Comparison {
    fn check(&self, fail_on: Option<&str>) -> PyResult<Vec<Check>> {
        let fail_on = match fail_on {
            None => return Ok(Vec::new()),
            Some("worse") => FailOn::Worse,
            Some("difference") => FailOn::Difference,
            Some(other) => {
                return Err(PyValueError::new_err(format!(
                    "fail_on is `worse` or `difference`, not `{other}`"
                )));
            }
        };
        Ok(gate::of_comparison(&self.comparison, fail_on))
    }
}

#[pymethods]
impl Comparison {
    /// Limitations of the results, one sentence each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.comparison.warnings.clone()
    }

    /// Report in a format of the command line, with the checks of `fail_on`.
    fn report(&self, py: Python<'_>, format: &str, fail_on: Option<&str>) -> PyResult<String> {
        let format = format_of(format)?;
        let checks = self.check(fail_on)?;
        Ok(compute(py, || {
            Ok(report::write(&self.comparison, &checks, format))
        })?)
    }

    /// Checks of every run against the first.
    fn checks(&self, fail_on: &str) -> PyResult<Vec<CheckRow>> {
        Ok(rows_of(self.check(Some(fail_on))?))
    }
}
