//! Columns of data frames, found by the names that the readers of files find, or by the names that a call states.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rankgauge_core::columns::{Columns, Role};

use crate::frame::Names;

/// Further names of documents in data frames. In records of events they have other meanings.
const DOCUMENTS: [&str; 2] = ["object_id", "id"];

/// Further names of grades in data frames.
const GRADES: [&str; 1] = ["relevancy"];

/// Parses the columns of a run that a call states.
pub(crate) fn of_run(stated: Option<&str>) -> PyResult<Option<Columns>> {
    parsed(stated.map(Columns::of_run), "columns")
}

/// Parses the columns of judgements that a call states.
pub(crate) fn of_gold(stated: Option<&str>) -> PyResult<Option<Columns>> {
    parsed(stated.map(Columns::of_gold), "gold_columns")
}

fn parsed(columns: Option<Result<Columns, String>>, argument: &str) -> PyResult<Option<Columns>> {
    let columns = columns.transpose();
    columns.map_err(|text| PyValueError::new_err(format!("{argument}: {text}")))
}

/// Names of the columns of a frame.
struct Known<'n> {
    names: Vec<&'n str>,
    stated: Option<Columns>,
}

impl<'n> Known<'n> {
    fn new(names: &'n [String], stated: Option<Columns>) -> PyResult<Self> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if let Some(text) = stated.as_ref().and_then(|stated| stated.missing(&names)) {
            return Err(PyValueError::new_err(text));
        }
        Ok(Self { names, stated })
    }

    fn listed(&self) -> String {
        if self.names.is_empty() {
            "not known".to_owned()
        } else {
            self.names.join(", ")
        }
    }

    /// Column of a content: the `given` one, else that of the names of the content, else one of `others`.
    fn find(&self, role: Role, given: Option<String>, others: &[&str]) -> PyResult<Option<String>> {
        if let Some(given) = given {
            if self.names.is_empty() || self.names.contains(&given.as_str()) {
                return Ok(Some(given));
            }
            return Err(PyValueError::new_err(format!(
                "no column is called `{given}`; the columns are {}",
                self.listed()
            )));
        }
        let found = role.position(&self.names, self.stated.as_ref());
        let found = found.and_then(|at| self.names.get(at).copied());
        let has = |name: &&&str| self.stated.is_none() && self.names.contains(name);
        let found = found.or_else(|| others.iter().find(has).copied());
        Ok(found.map(ToOwned::to_owned))
    }

    /// Error for a content without a column. `argument` is the argument that names it.
    fn none(&self, what: &str, argument: &str) -> PyErr {
        PyValueError::new_err(format!(
            "no column of {what} was found; the columns are {}: name it with {argument}=",
            self.listed()
        ))
    }

    /// Columns of the queries and the documents.
    fn ids(&self, query: Option<String>, document: Option<String>) -> PyResult<(String, String)> {
        let query = self.find(Role::Query, query, &[])?;
        let document = self.find(Role::Document, document, &DOCUMENTS)?;
        Ok((
            query.ok_or_else(|| self.none("query ids", "q_id_col"))?,
            document.ok_or_else(|| self.none("document ids", "doc_id_col"))?,
        ))
    }
}

/// Columns of judgements in a frame with the columns `names`. `given` are the names of those of the query, the
/// document, the grade and the subtopic, and `stated` those of the command line.
#[pyfunction]
pub(crate) fn gold_columns(
    names: Vec<String>,
    given: [Option<String>; 4],
    stated: Option<&str>,
) -> PyResult<Names> {
    let known = Known::new(&names, of_gold(stated)?)?;
    let [query, document, grade, subtopic] = given;
    let (query, document) = known.ids(query, document)?;
    let grade = known.find(Role::Grade, grade, &GRADES)?;
    let grade = grade.ok_or_else(|| known.none("grades", "score_col"))?;
    let subtopic = known.find(Role::Subtopic, subtopic, &[])?;
    Ok((query, document, Some(grade), subtopic, None))
}

/// Columns of a run in a frame with the columns `names`, and the order that they imply. `given` are the names of
/// those of the query, the document, the score and the rank, and `stated` those of the command line. A rank that is not
/// judged is compared with the score, or with the distance.
#[pyfunction]
pub(crate) fn run_columns(
    names: Vec<String>,
    given: [Option<String>; 4],
    stated: Option<&str>,
    order: Option<&str>,
) -> PyResult<(Names, Option<String>)> {
    let known = Known::new(&names, of_run(stated)?)?;
    let [query, document, score, rank] = given;
    let (query, document) = known.ids(query, document)?;
    let score = known.find(Role::Score, score, &[])?;
    let distance = known.find(Role::Distance, None, &[])?;
    let rank = known.find(Role::Rank, rank, &[])?;
    let is_distance = score.is_none() && distance.is_some();
    let score = score.or(distance);
    let beside = rank.clone().filter(|_| order.is_none() && score.is_some());
    let (number, order) = match (order, score, rank) {
        (Some("rank"), _, None) => return Err(known.none("ranks", "rank_col")),
        (Some("rank"), _, rank) | (None, None, rank @ Some(_)) => (rank, Some("rank")),
        (None, Some(score), _) => (Some(score), is_distance.then_some("ascending")),
        (Some("served"), score, _) => (score, order),
        (Some(_), Some(score), _) => (Some(score), order),
        (_, None, _) => {
            return Err(known.none("scores or ranks", "score_col"));
        }
    };
    Ok((
        (query, document, number, None, beside),
        order.map(ToOwned::to_owned),
    ))
}
