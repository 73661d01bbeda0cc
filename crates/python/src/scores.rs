//! Evaluation of runs.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use rankgauge_core::gold::GoldSet;
use rankgauge_core::measure::{Compat, Measure, Number, Requirement, Subject, catalogue};
use rankgauge_core::number::real;
use rankgauge_eval::evaluate::{Evaluation, Goal, Options, RunEvaluation};
use rankgauge_eval::gate::{self, Check, Conditions};
use rankgauge_eval::pass::{Contents, judge, judge_in_memory};
use rankgauge_eval::report::{self, Format};
use rankgauge_eval::run::ReadOptions;

use crate::error::Failure;
use crate::gold::Gold;
use crate::guard::{catch, compute, compute_long};
use crate::results::{Results, Source, changed, open, reading};

/// Number of queries up to which an evaluation is short.
const SHORT: usize = 1000;

/// Check of a gate: run, condition, outcome, detail.
pub(crate) type CheckRow = (String, String, &'static str, String);

/// Scores of runs.
#[pyclass(frozen, module = "rankgauge._native")]
pub(crate) struct Scores {
    pub(crate) evaluation: Evaluation,
    pub(crate) measures: Vec<Measure>,
    /// Signs of a mistake in valid judgements and runs, as sentences.
    warnings: Vec<String>,
}

fn parse(names: &[String], compat: Compat) -> Result<Vec<Measure>, Failure> {
    let mut measures: Vec<Measure> = Vec::new();
    let (mut wrong, mut unusable) = (Vec::new(), Vec::new());
    for name in names {
        match Measure::parse_list_as(name, compat) {
            Ok(list) => {
                for measure in list {
                    if measure.is_user_measure() {
                        unusable.push(format!(
                            "{measure} measures user feedback, which a run does not contain; leave it out"
                        ));
                    } else if measure.component().is_some() {
                        unusable.push(format!(
                            "{measure} needs a component, which only a configuration has; use the \
                             command `rankgauge evaluate --config`"
                        ));
                    } else if !measures.contains(&measure) {
                        measures.push(measure);
                    }
                }
            }
            Err(errors) => wrong.push(errors.to_string()),
        }
    }
    wrong.extend(unusable);
    if !wrong.is_empty() {
        return Err(Failure::Measure(wrong.join("; ")));
    }
    if measures.is_empty() {
        return Err(Failure::Measure(
            "no measure: name at least one, such as `nDCG@10`".to_owned(),
        ));
    }
    Ok(measures)
}

/// Names of the measures of a run, with their descriptions.
#[pyfunction]
pub(crate) fn measures() -> Vec<(&'static str, &'static str)> {
    let all = catalogue().filter(|descriptor| descriptor.subject != Subject::Users);
    all.map(|descriptor| (descriptor.name, descriptor.description))
        .collect()
}

/// Canonical name of a measure.
#[pyfunction]
pub(crate) fn measure_name(name: &str) -> PyResult<String> {
    let measure: Result<Measure, _> = name.parse();
    let measure = measure.map_err(|error| Failure::Measure(error.to_string()))?;
    Ok(measure.to_string())
}

/// Evaluates named runs against judgements.
#[pyfunction]
#[pyo3(signature = (
    gold, runs, measures, *, complete=false, has_relevant=false, by=Vec::new(), compat=None, judged_only=false,
    max_results=None, documents=None, ignore_identical_ids=false, keeps_documents=false
))]
#[allow(
    clippy::too_many_arguments,
    clippy::fn_params_excessive_bools,
    reason = "keyword arguments of a function of Python"
)]
pub(crate) fn evaluate(
    py: Python<'_>,
    gold: &Gold,
    runs: Vec<(String, PyRef<'_, Results>)>,
    measures: Vec<String>,
    complete: bool,
    has_relevant: bool,
    by: Vec<String>,
    compat: Option<&str>,
    judged_only: bool,
    max_results: Option<usize>,
    documents: Option<u64>,
    ignore_identical_ids: bool,
    keeps_documents: bool,
) -> PyResult<Scores> {
    let compat: Compat = match compat {
        None => Compat::default(),
        Some(name) => name
            .parse()
            .map_err(|error| PyValueError::new_err(format!("compat: {error}")))?,
    };
    let reading = ReadOptions {
        doubles: compat == Compat::TrecEval10,
        max_results,
        ignore_identical_ids,
        compose_ids: gold.composes_ids,
        ..reading()
    };
    let documents = documents.and_then(|documents| Number::new(real(documents)));
    let measures = catch(|| {
        let measures = parse(&measures, compat)?.into_iter();
        let with_collection = |it: Measure| match documents {
            Some(documents) => it.with_collection(documents),
            None => it,
        };
        Ok(measures.map(with_collection).collect::<Vec<Measure>>())
    })?;
    let set = Arc::clone(&gold.set);
    let runs: Vec<(String, Source)> = runs
        .into_iter()
        .map(|(name, results)| (name, results.source.clone()))
        .collect();
    let is_short = set.queries().len() <= SHORT
        && runs.iter().all(
            |(_, source)| matches!(source, Source::Memory(ranked) if ranked.queries.len() <= SHORT),
        );
    let options = Options {
        measures: measures.clone(),
        complete,
        has_relevant,
        by,
        judged_only,
        documents: keeps_documents,
        ..Options::default()
    };
    let work = move || judged(&set, &runs, &options, &reading);
    let (evaluation, warnings) = if is_short {
        compute(py, work)?
    } else {
        compute_long(py, work)?
    };
    Ok(Scores {
        evaluation,
        measures,
        warnings,
    })
}

fn judged(
    set: &GoldSet,
    runs: &[(String, Source)],
    options: &Options,
    reading: &ReadOptions,
) -> Result<(Evaluation, Vec<String>), Failure> {
    let mut evaluations = Vec::new();
    let mut warnings: Vec<String> = set.level_warning().into_iter().collect();
    for (name, source) in runs {
        let judged = match source {
            Source::Memory(ranked) => {
                let warning = ranked.warning.iter();
                warnings.extend(warning.map(|sentence| format!("{name}: {sentence}")));
                let changed = changed(ranked, reading)?;
                let queries = changed.as_ref().unwrap_or(&ranked.queries);
                judge_in_memory(set, name, queries, options)
            }
            Source::File(path, order, columns) => {
                let run = open(path, *order, columns.clone(), reading)?;
                judge(set, name, run, options, &Contents::default())
            }
        };
        let judged = judged.map_err(|error| Failure::Run(error.to_string()))?;
        warnings.extend(judged.warning);
        evaluations.push(judged.evaluation);
    }
    Ok((Evaluation::of(set, options, evaluations), warnings))
}

/// Parses the name of a format.
pub(crate) fn format_of(format: &str) -> PyResult<Format> {
    Ok(match format {
        "text" => Format::Text,
        "json" => Format::Json,
        "csv" => Format::Csv,
        "markdown" => Format::Markdown,
        "html" => Format::Html,
        "junit" => Format::Junit,
        "github" => Format::Github,
        other => {
            return Err(PyValueError::new_err(format!(
                "no format is called `{other}`: choose text, json, csv, markdown, html, junit or github"
            )));
        }
    })
}

pub(crate) fn rows_of(checks: Vec<Check>) -> Vec<CheckRow> {
    let rows = checks.into_iter();
    rows.map(|check| {
        (
            check.run,
            check.condition,
            check.outcome.name(),
            check.detail,
        )
    })
    .collect()
}

impl Scores {
    fn run(&self, run: usize) -> PyResult<&RunEvaluation> {
        let run = self.evaluation.runs.get(run);
        run.ok_or_else(|| PyIndexError::new_err("no such run"))
    }

    fn check(&self, requirements: &[String]) -> Result<Vec<Check>, Failure> {
        let goals = requirements.iter().map(|text| {
            let requirement: Requirement = text
                .parse()
                .map_err(|error| Failure::Measure(format!("{error}")))?;
            let name = requirement.to_string();
            let measure = requirement.measure.to_string();
            let goal = Goal::new(name, &[requirement], &self.measures);
            goal.ok_or_else(|| {
                Failure::Measure(format!(
                    "`{text}` is about {measure}, which was not computed; add it to the measures"
                ))
            })
        });
        let conditions = Conditions {
            goals: goals.collect::<Result<_, _>>()?,
            ..Conditions::default()
        };
        gate::of_evaluation(&self.evaluation, &conditions)
            .map_err(|error| Failure::Measure(error.to_string()))
    }
}

#[pymethods]
impl Scores {
    /// Canonical names of the measures.
    #[getter]
    fn measures(&self) -> Vec<String> {
        self.evaluation.measures.clone()
    }

    /// Names of the runs.
    #[getter]
    fn runs(&self) -> Vec<String> {
        let runs = self.evaluation.runs.iter();
        runs.map(|run| run.name.clone()).collect()
    }

    /// Signs of a mistake in valid judgements and runs, as sentences.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Means of a run by measure; NaN without a score.
    fn means(&self, run: usize) -> PyResult<Vec<f64>> {
        let means = self.run(run)?.means.iter();
        Ok(means.map(|mean| mean.unwrap_or(f64::NAN)).collect())
    }

    /// Number of queries with a score, by measure.
    fn scored(&self, run: usize) -> PyResult<Vec<usize>> {
        Ok(self.run(run)?.scored.clone())
    }

    /// Keys of gold queries that a run does not answer.
    fn missing(&self, run: usize) -> PyResult<Vec<String>> {
        Ok(self.run(run)?.missing.clone())
    }

    /// Keys of queries of a run that are not in the gold set.
    fn unknown(&self, run: usize) -> PyResult<Vec<String>> {
        Ok(self.run(run)?.unknown.clone())
    }

    /// Scores of each query of a run: query -> measure -> score. NaN without a score.
    fn per_query<'py>(&self, py: Python<'py>, run: usize) -> PyResult<Bound<'py, PyDict>> {
        let names = self.evaluation.measures.iter();
        let names: Vec<Bound<'py, PyString>> = names.map(|name| PyString::new(py, name)).collect();
        let all = PyDict::new(py);
        for query in &self.run(run)?.queries {
            let scores = PyDict::new(py);
            for (name, score) in names.iter().zip(&query.scores) {
                scores.set_item(name, score.unwrap_or(f64::NAN))?;
            }
            all.set_item(&query.key, scores)?;
        }
        Ok(all)
    }

    /// Columns of the scores of each query of a run: keys, then the scores by measure.
    fn columns<'py>(
        &self,
        py: Python<'py>,
        run: usize,
    ) -> PyResult<(Bound<'py, PyList>, Vec<Vec<f64>>)> {
        let queries = &self.run(run)?.queries;
        let keys = PyList::new(py, queries.iter().map(|query| query.key.as_str()))?;
        let columns = (0..self.measures.len()).map(|measure| {
            let scores = queries.iter().map(|query| query.scores.get(measure));
            scores
                .map(|score| score.copied().flatten().unwrap_or(f64::NAN))
                .collect()
        });
        Ok((keys, columns.collect()))
    }

    /// Report in a format of the command line, with the checks of `requirements`.
    fn report(
        &self,
        py: Python<'_>,
        format: &str,
        per_query: bool,
        requirements: Vec<String>,
    ) -> PyResult<String> {
        let format = format_of(format)?;
        let checks = catch(|| self.check(&requirements))?;
        let options = report::Options {
            per_query,
            checks: &checks,
            ..report::Options::default()
        };
        Ok(compute(py, || {
            Ok(report::write(&self.evaluation, format, &options))
        })?)
    }

    /// Checks of `requirements`, such as `nDCG@10>=0.75`.
    fn checks(&self, requirements: Vec<String>) -> PyResult<Vec<CheckRow>> {
        Ok(rows_of(catch(|| self.check(&requirements))?))
    }
}
