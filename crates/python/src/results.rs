//! Runs: results for queries from files, dictionaries and data frames.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rankgauge_core::columns::Columns;
use rankgauge_core::event::Limits;
use rankgauge_eval::run::{
    Order, RankedQuery, ReadOptions, RunProblem, RunReader, order_disagreement,
};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::arrow;
use crate::columns::of_run;
use crate::dictionary;
use crate::error::Failure;
use crate::frame::{Frame, Id, Lists, Names};
use crate::guard::{catch, compute, compute_long};

/// Name of a run in memory, in messages.
const NAME: &str = "run";

/// Number of rows whose ranks are compared with their scores.
const EXAMINED_ROWS: usize = 1000;

/// Limits of search events, as the configuration has them by default.
pub(crate) const LIMITS: Limits = Limits {
    record_bytes: 1 << 20,
    results_per_search: 10_000,
};

/// Results for queries.
#[pyclass(frozen, module = "rankgauge._native")]
pub(crate) struct Results {
    pub(crate) source: Source,
}

/// Place of the results.
#[derive(Clone)]
pub(crate) enum Source {
    /// Read whenever it is judged.
    File(PathBuf, Option<Order>, Option<Columns>),
    Memory(Ranked),
}

/// Results in memory.
#[derive(Clone)]
pub(crate) struct Ranked {
    pub(crate) queries: Arc<Vec<RankedQuery>>,
    pub(crate) order: Option<Order>,
    /// Sign of a mistake in the rows, as a sentence without the name of the run.
    pub(crate) warning: Option<String>,
}

/// Returns the queries of a run in memory with the changes that `reading` demands; `None` without a change.
pub(crate) fn changed(
    ranked: &Ranked,
    reading: &ReadOptions,
) -> Result<Option<Vec<RankedQuery>>, Failure> {
    let is_by_score = matches!(ranked.order, None | Some(Order::Score));
    let has_doubles = reading.doubles && is_by_score;
    let has_changes =
        reading.compose_ids || reading.ignore_identical_ids || reading.max_results.is_some();
    if !has_doubles && !has_changes {
        return Ok(None);
    }
    let changed = ranked.queries.iter().map(|query| {
        let reordered = has_doubles.then(|| query.reordered(Order::Score64));
        let reordered = reordered.transpose().map_err(|problem| wrong(&problem))?;
        let query = reordered.as_ref().unwrap_or(query);
        Ok(query.changed(reading).unwrap_or_else(|| query.clone()))
    });
    changed.collect::<Result<_, _>>().map(Some)
}

/// Options of a reader without a choice.
pub(crate) fn reading() -> ReadOptions {
    ReadOptions::new(LIMITS)
}

/// Parses the name of an order.
fn order_of(order: Option<&str>) -> PyResult<Option<Order>> {
    match order {
        None => Ok(None),
        Some("score") => Ok(Some(Order::Score)),
        Some("ascending") => Ok(Some(Order::Ascending)),
        Some("served") => Ok(Some(Order::Served)),
        Some("rank") => Ok(Some(Order::Rank)),
        Some(other) => Err(PyValueError::new_err(format!(
            "order is `score`, `ascending`, `served` or `rank`, not `{other}`"
        ))),
    }
}

/// Opens a run.
pub(crate) fn open(
    path: &Path,
    order: Option<Order>,
    columns: Option<Columns>,
    reading: &ReadOptions,
) -> Result<RunReader, Failure> {
    let options = ReadOptions {
        order,
        columns,
        ..reading.clone()
    };
    RunReader::open(path, &options).map_err(|error| Failure::Run(error.to_string()))
}

fn wrong(problem: &RunProblem) -> Failure {
    Failure::Run(format!("{NAME}: {problem}"))
}

fn in_memory(
    queries: Vec<RankedQuery>,
    order: Option<Order>,
    warning: Option<String>,
) -> Result<Results, Failure> {
    if queries.is_empty() {
        return Err(wrong(&RunProblem::Empty));
    }
    Ok(Results {
        source: Source::Memory(Ranked {
            queries: Arc::new(queries),
            order,
            warning,
        }),
    })
}

fn of_frame(frame: &Frame, order: Option<Order>) -> Result<Results, Failure> {
    let queries = frame.queries().into_par_iter().map(|(key, segments)| {
        let rows = &mut frame.rows(&segments);
        let ranked = if order == Some(Order::Rank) || !frame.has_numbers() {
            RankedQuery::by_rank(key, rows)
        } else {
            RankedQuery::new(key, rows, order)
        };
        let ranked = ranked.map_err(|problem| wrong(&problem))?;
        ranked.check_distinct().map_err(|problem| wrong(&problem))?;
        Ok(ranked)
    });
    let queries: Result<Vec<RankedQuery>, Failure> = queries.collect();
    let ranked = frame.ranked_scores().take(EXAMINED_ROWS);
    let warning = order_disagreement(order.unwrap_or(Order::Score), ranked);
    in_memory(queries?, order, warning)
}

#[pymethods]
impl Results {
    /// Run in a file, whose format is recognised by its content.
    #[staticmethod]
    fn from_file(
        py: Python<'_>,
        path: PathBuf,
        order: Option<&str>,
        columns: Option<&str>,
    ) -> PyResult<Self> {
        let order = order_of(order)?;
        let columns = of_run(columns)?;
        Ok(compute_long(py, move || {
            open(&path, order, columns.clone(), &reading())?;
            Ok(Self {
                source: Source::File(path, order, columns),
            })
        })?)
    }

    /// Reads `{query: {document: score}}`.
    #[staticmethod]
    pub(crate) fn from_dict(results: &Bound<'_, PyDict>, order: Option<&str>) -> PyResult<Self> {
        let order = order_of(order)?;
        let parts = catch(|| {
            dictionary::read(results, NAME, "score", |chunk| {
                let mut rows: Vec<(f64, &str)> = Vec::new();
                let queries = chunk.queries().map(|(key, entries)| {
                    rows.clear();
                    rows.extend(entries.iter());
                    RankedQuery::new(key, &mut rows, order).map_err(|problem| wrong(&problem))
                });
                queries.collect::<Result<Vec<RankedQuery>, Failure>>()
            })
        })?;
        let queries = parts.into_iter().flatten().collect();
        Ok(in_memory(queries, order, None)?)
    }

    /// Reads the columns `names` (query, document, score or rank, and a rank beside the score) of a table of Arrow.
    #[staticmethod]
    fn from_arrow(
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        names: Names,
        order: Option<&str>,
    ) -> PyResult<Self> {
        let order = order_of(order)?;
        let (schema, batches) = catch(|| arrow::read(table))?;
        Ok(compute(py, move || {
            let frame = Frame::of_arrow(NAME, &schema, &batches, &names).map_err(Failure::Run)?;
            of_frame(&frame, order)
        })?)
    }

    /// Reads lists of equal length.
    #[staticmethod]
    fn from_lists(
        py: Python<'_>,
        queries: Vec<Id>,
        documents: Vec<Id>,
        numbers: Option<Vec<f64>>,
        ranks: Option<Vec<f64>>,
        order: Option<&str>,
    ) -> PyResult<Self> {
        let order = order_of(order)?;
        let frame = Frame::of_lists(Lists {
            queries,
            documents,
            numbers,
            subtopics: None,
            ranks,
        });
        Ok(compute(py, || of_frame(&frame, order))?)
    }

    /// Number of queries; `None` for a file.
    #[getter]
    fn size(&self) -> Option<usize> {
        match &self.source {
            Source::File(..) => None,
            Source::Memory(ranked) => Some(ranked.queries.len()),
        }
    }

    /// Scores of the documents of each query, in judged order; `None` for a file.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Source::Memory(ranked) = &self.source else {
            return Ok(None);
        };
        let all = PyDict::new(py);
        for query in ranked.queries.iter() {
            let scores = PyDict::new(py);
            for (document, score) in query.documents().zip(query.scores()) {
                scores.set_item(document, score)?;
            }
            all.set_item(query.key(), scores)?;
        }
        Ok(Some(all))
    }
}
