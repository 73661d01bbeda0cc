//! Judgements: gold sets from files, dictionaries and data frames.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rankgauge_core::gold::{self, GoldSet, Grade, JudgedPart, JudgedRows, Options};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::arrow;
use crate::dictionary::{self, Chunk};
use crate::error::Failure;
use crate::frame::{Batch, Frame, Id, Names, id_text};
use crate::guard::{catch, compute, compute_long, start};
use crate::results::Results;

/// Name of judgements in memory, in messages.
const NAME: &str = "qrels";

/// Number of rows that a thread converts at once.
const ROWS_AT_ONCE: usize = 1 << 14;

/// Judgements of queries.
#[pyclass(frozen, module = "rankgauge._native")]
pub(crate) struct Gold {
    pub(crate) set: Arc<GoldSet>,
}

fn options(relevance_level: Option<f64>) -> Result<Options, Failure> {
    Ok(Options {
        relevance_level: relevance_level
            .map(|level| {
                grade(level).map_err(|text| Failure::Gold(format!("relevance_level: {text}")))
            })
            .transpose()?,
        ..Options::default()
    })
}

fn grade(value: f64) -> Result<Grade, String> {
    Grade::new(value).ok_or_else(|| {
        format!(
            "the grade {value} is out of range: a grade is a number from {} to {}",
            Grade::MIN,
            Grade::MAX
        )
    })
}

fn of_parts(parts: Vec<JudgedPart>, options: &Options) -> Result<Gold, Failure> {
    let set = gold::from_parts(NAME, parts, options);
    let set = set.map_err(|error| Failure::Gold(error.to_string()))?;
    Ok(Gold { set: Arc::new(set) })
}

/// Reads `{query: {document: grade}}`.
fn parts_of(judgements: &Bound<'_, PyDict>) -> Result<Vec<JudgedPart>, Failure> {
    let convert = |chunk: Chunk| {
        let mut rows = JudgedRows::with_capacity(chunk.size());
        let mut row = chunk.before;
        for (key, entries) in chunk.queries() {
            row += 1;
            rows.add_query(key, row);
            for (value, document) in entries.iter() {
                let grade = grade(value).map_err(|text| {
                    Failure::Gold(format!(
                        "{NAME}: document `{document}` for query `{key}`: {text}"
                    ))
                })?;
                row += 1;
                rows.judge(key, row, document, grade);
            }
        }
        Ok(rows.finish())
    };
    catch(|| dictionary::read(judgements, NAME, "grade", convert))
}

/// Reads judgements and results, `{query: {document: number}}`. The set is built while the results are read.
#[pyfunction]
pub(crate) fn from_dicts(
    py: Python<'_>,
    judgements: &Bound<'_, PyDict>,
    results: &Bound<'_, PyDict>,
    relevance_level: Option<f64>,
    order: Option<&str>,
) -> PyResult<(Gold, Results)> {
    let options = options(relevance_level)?;
    let parts = parts_of(judgements)?;
    let set = start(move || of_parts(parts, &options))?;
    let results = Results::from_dict(results, order);
    Ok((set.end(py)?, results?))
}

fn of_frame(frame: &Frame, options: &Options) -> Result<Gold, Failure> {
    let slices: Vec<(&Batch, usize)> = frame
        .batches
        .iter()
        .flat_map(|batch| {
            (0..batch.len())
                .step_by(ROWS_AT_ONCE)
                .map(move |row| (batch, row))
        })
        .collect();
    let parts: Result<Vec<JudgedPart>, Failure> = slices
        .into_par_iter()
        .map(|(batch, first)| {
            let mut rows = JudgedRows::with_capacity(ROWS_AT_ONCE);
            for row in first..batch.len().min(first + ROWS_AT_ONCE) {
                let number = batch.before + row + 1;
                let (query, document, value) = batch.row(row);
                let grade = grade(value)
                    .map_err(|text| Failure::Gold(format!("{NAME}:{number}: {text}")))?;
                rows.judge(query, number, document, grade);
            }
            Ok(rows.finish())
        })
        .collect();
    of_parts(parts?, options)
}

#[pymethods]
impl Gold {
    /// Reads files and folders.
    #[staticmethod]
    fn from_files(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        relevance_level: Option<f64>,
    ) -> PyResult<Self> {
        let options = options(relevance_level)?;
        let set = compute_long(py, move || {
            gold::load(&paths, &options).map_err(|error| Failure::Gold(error.to_string()))
        })?;
        Ok(Self { set: Arc::new(set) })
    }

    /// Reads `{query: {document: grade}}`.
    #[staticmethod]
    fn from_dict(
        py: Python<'_>,
        judgements: &Bound<'_, PyDict>,
        relevance_level: Option<f64>,
    ) -> PyResult<Self> {
        let options = options(relevance_level)?;
        let parts = parts_of(judgements)?;
        Ok(compute(py, move || of_parts(parts, &options))?)
    }

    /// Reads the columns `names` (query, document, grade) of a table of Arrow.
    #[staticmethod]
    fn from_arrow(
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        names: Names,
        relevance_level: Option<f64>,
    ) -> PyResult<Self> {
        let options = options(relevance_level)?;
        let (schema, batches) = catch(|| arrow::read(table))?;
        Ok(compute(py, move || {
            let frame = Frame::of_arrow(NAME, &schema, &batches, &names).map_err(Failure::Gold)?;
            of_frame(&frame, &options)
        })?)
    }

    /// Reads lists of equal length.
    #[staticmethod]
    fn from_lists(
        py: Python<'_>,
        queries: Vec<Id>,
        documents: Vec<Id>,
        grades: Vec<f64>,
        relevance_level: Option<f64>,
    ) -> PyResult<Self> {
        let options = options(relevance_level)?;
        let queries = queries.into_iter().map(id_text).collect();
        let documents = documents.into_iter().map(id_text).collect();
        let frame = Frame::of_lists(queries, documents, grades);
        Ok(compute(py, || of_frame(&frame, &options))?)
    }

    /// Keys of the queries, in their order.
    fn queries(&self) -> Vec<&str> {
        let queries = self.set.queries().iter();
        queries.map(|query| query.key.as_str()).collect()
    }

    /// Number of queries.
    fn __len__(&self) -> usize {
        self.set.queries().len()
    }

    /// Number of judgements.
    #[getter]
    fn judgements(&self) -> usize {
        self.set.judgement_count()
    }

    /// Version: as a file states it, or the beginning of the hash.
    #[getter]
    fn version(&self) -> &str {
        self.set.version()
    }

    /// Grades of the documents of each query. Whole grades are integers.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for query in self.set.queries() {
            let grades = PyDict::new(py);
            for (document, grade) in query.documents() {
                let grade = grade.get();
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::float_cmp,
                    reason = "grades are from -1000 to 1000, and the comparison is about the fraction"
                )]
                if grade.fract() == 0.0 {
                    grades.set_item(document, grade as i64)?;
                } else {
                    grades.set_item(document, grade)?;
                }
            }
            all.set_item(&query.key, grades)?;
        }
        Ok(all)
    }
}
