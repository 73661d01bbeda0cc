//! Judgements: gold sets from files, dictionaries and data frames.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rankgauge_core::gold::{
    self, GoldError, GoldSet, Grade, JudgedPart, JudgedRows, Options, SubtopicRow,
};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::arrow;
use crate::columns::of_gold;
use crate::dictionary::{self, Chunk};
use crate::error::Failure;
use crate::frame::{Batch, Frame, Id, Lists, Names};
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
    /// True if the ids are composed.
    pub(crate) composes_ids: bool,
}

fn options(relevance_level: Option<f64>, normalise_ids: Option<&str>) -> PyResult<Options> {
    let relevance_level = relevance_level.map(|level| {
        grade(level).map_err(|text| Failure::Gold(format!("relevance_level: {text}")))
    });
    Ok(Options {
        relevance_level: relevance_level.transpose()?,
        compose_ids: match normalise_ids {
            None => false,
            Some("nfc") => true,
            Some(other) => {
                return Err(PyValueError::new_err(format!(
                    "normalise_ids is `nfc`, not `{other}`"
                )));
            }
        },
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
    of_set(GoldSet::from_parts(NAME, parts, options), options)
}

fn of_set(set: Result<GoldSet, GoldError>, options: &Options) -> Result<Gold, Failure> {
    let set = set.map_err(|error| Failure::Gold(error.to_string()))?;
    Ok(Gold {
        set: Arc::new(set),
        composes_ids: options.compose_ids,
    })
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
    normalise_ids: Option<&str>,
    order: Option<&str>,
) -> PyResult<(Gold, Results)> {
    let options = options(relevance_level, normalise_ids)?;
    let parts = parts_of(judgements)?;
    let set = start(move || of_parts(parts, &options))?;
    let results = Results::from_dict(results, order);
    Ok((set.end(py)?, results?))
}

/// Grade of a row. `row` is its number, from 0.
fn grade_of(batch: &Batch, row: usize) -> Result<Grade, Failure> {
    let value = batch.number(row).unwrap_or(f64::NAN);
    let number = batch.before + row + 1;
    grade(value).map_err(|text| Failure::Gold(format!("{NAME}:{number}: {text}")))
}

fn of_frame(frame: &Frame, options: &Options) -> Result<Gold, Failure> {
    if frame.has_subtopics() {
        return by_subtopic(frame, options);
    }
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
                let (query, document) = batch.ids(row);
                let grade = grade_of(batch, row)?;
                rows.judge(query, batch.before + row + 1, document, grade);
            }
            Ok(rows.finish())
        })
        .collect();
    of_parts(parts?, options)
}

/// Judgements of rows with different subtopics.
fn by_subtopic(frame: &Frame, options: &Options) -> Result<Gold, Failure> {
    let batches = frame.batches.iter();
    let rows = batches.flat_map(|batch| {
        (0..batch.len()).map(move |row| {
            let (query, document) = batch.ids(row);
            Ok(SubtopicRow {
                query,
                subtopic: batch.subtopic(row),
                document,
                grade: grade_of(batch, row)?,
            })
        })
    });
    let rows: Result<Vec<SubtopicRow<'_>>, Failure> = rows.collect();
    of_set(GoldSet::from_subtopics(NAME, rows?, options), options)
}

#[pymethods]
#[allow(
    clippy::too_many_arguments,
    reason = "arguments of functions of Python"
)]
impl Gold {
    /// Reads files and folders.
    #[staticmethod]
    fn from_files(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        relevance_level: Option<f64>,
        normalise_ids: Option<&str>,
        columns: Option<&str>,
    ) -> PyResult<Self> {
        let options = Options {
            columns: of_gold(columns)?,
            ..options(relevance_level, normalise_ids)?
        };
        Ok(compute_long(py, move || {
            of_set(gold::load(&paths, &options), &options)
        })?)
    }

    /// Reads `{query: {document: grade}}`.
    #[staticmethod]
    fn from_dict(
        py: Python<'_>,
        judgements: &Bound<'_, PyDict>,
        relevance_level: Option<f64>,
        normalise_ids: Option<&str>,
    ) -> PyResult<Self> {
        let options = options(relevance_level, normalise_ids)?;
        let parts = parts_of(judgements)?;
        Ok(compute(py, move || of_parts(parts, &options))?)
    }

    /// Reads the columns `names` (query, document, grade, subtopic) of a table of Arrow.
    #[staticmethod]
    fn from_arrow(
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        names: Names,
        relevance_level: Option<f64>,
        normalise_ids: Option<&str>,
    ) -> PyResult<Self> {
        let options = options(relevance_level, normalise_ids)?;
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
        subtopics: Option<Vec<Option<String>>>,
        relevance_level: Option<f64>,
        normalise_ids: Option<&str>,
    ) -> PyResult<Self> {
        let options = options(relevance_level, normalise_ids)?;
        let frame = Frame::of_lists(Lists {
            queries,
            documents,
            numbers: Some(grades),
            subtopics,
            ranks: None,
        });
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

    /// Lowest grade that counts as relevant.
    #[getter]
    fn relevance_level(&self) -> f64 {
        self.set.relevance_level().get()
    }

    /// Form of the ids; `None` if they are as written.
    #[getter]
    fn normalise_ids(&self) -> Option<&'static str> {
        self.composes_ids.then_some("nfc")
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
