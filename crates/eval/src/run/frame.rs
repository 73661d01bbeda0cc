//! Runs in one object of JSON with the rows of a data frame, in the orientations of pandas.
//!
//! ```text
//! {"query_id": {"0": "q1", …}, "doc_id": {"0": "d1", …}, "score": {"0": 0.5, …}}     columns, the default
//! {"query_id": ["q1", …], "doc_id": ["d1", …], "score": [0.5, …]}                    lists of columns
//! {"0": {"query_id": "q1", "doc_id": "d1", "score": 0.5}, …}                         index
//! {"columns": ["query_id", …], "data": [["q1", …], …]}                               split
//! {"schema": …, "data": [{"query_id": "q1", …}, …]}                                  table
//! ```
//! Lists of records are no concern of this module.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::entries::Entries;
use super::error::{RunProblem, Wrong};
use super::positions::Positions;
use super::table::is_record;
use rankgauge_core::columns::Columns;

/// Orientation of a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Values by column, each with the name of its row, or in a list.
    Columns,
    /// Records by the names of their rows.
    Index,
    /// Names of the columns, and lists of values.
    Split,
    /// Schema, and a list of records.
    Table,
}

/// Members of an object, without their values.
type Members<'t> = Entries<'t, &'t RawValue>;

#[derive(Deserialize)]
struct Split {
    columns: Vec<String>,
    data: Vec<Vec<Value>>,
}

#[derive(Deserialize)]
struct Table {
    data: Vec<Map<String, Value>>,
}

/// Maximum number of columns by which a frame is recognised.
const MAX_COLUMNS: usize = 50;

impl Frame {
    /// Recognises the orientation of a whole text; `None` for other content.
    pub(super) fn of(text: &str, stated: Option<&Columns>) -> Option<Self> {
        let Entries(members) = serde_json::from_str::<Members<'_>>(text).ok()?;
        let names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
        let begins = |name: &str, with: char| {
            let mut found = members.iter().filter(|(found, _)| found == name);
            found.any(|(_, value)| value.get().starts_with(with))
        };
        let (_, first) = members.first()?;
        if begins("columns", '[') && begins("data", '[') {
            return Some(Self::Split);
        }
        if begins("schema", '{') && begins("data", '[') {
            return Some(Self::Table);
        }
        let is_nested =
            |(_, value): &(Cow<'_, str>, &RawValue)| value.get().starts_with(['{', '[']);
        if names.len() <= MAX_COLUMNS
            && members.iter().all(is_nested)
            && Positions::of(&names, stated).is_some()
        {
            return Some(Self::Columns);
        }
        is_record(first.get(), stated).then_some(Self::Index)
    }

    /// Reads the records, in the order of the rows.
    pub(super) fn records(self, text: &str) -> Result<Vec<Map<String, Value>>, Wrong> {
        let json = |error: serde_json::Error| {
            RunProblem::Json(format!("not a data frame in JSON: {error}")).at(error.line())
        };
        match self {
            Self::Columns => of_columns(serde_json::from_str(text).map_err(json)?),
            Self::Index => {
                let Entries(rows): Entries<'_, Map<String, Value>> =
                    serde_json::from_str(text).map_err(json)?;
                Ok(rows.into_iter().map(|(_, record)| record).collect())
            }
            Self::Split => {
                let Split { columns, data } = serde_json::from_str(text).map_err(json)?;
                let record = |row: Vec<Value>| columns.iter().cloned().zip(row).collect();
                Ok(data.into_iter().map(record).collect())
            }
            Self::Table => {
                let Table { data } = serde_json::from_str(text).map_err(json)?;
                Ok(data)
            }
        }
    }
}

/// Values by the names of their rows.
type ByRow<'a, T> = Vec<(Cow<'a, str>, T)>;

/// Records of columns, which have the same rows.
fn of_columns(Entries(columns): Members<'_>) -> Result<Vec<Map<String, Value>>, Wrong> {
    let mut rows: Option<ByRow<'_, Map<String, Value>>> = None;
    for (name, values) in columns {
        let problem = |reason: String| RunProblem::Row(format!("column `{name}`: {reason}")).at(1);
        let wrong = |error: serde_json::Error| problem(error.to_string());
        let values: ByRow<'_, Value> = if values.get().starts_with('[') {
            let values: Vec<Value> = serde_json::from_str(values.get()).map_err(wrong)?;
            let rows = (0..).map(|row: usize| Cow::Owned(row.to_string()));
            rows.zip(values).collect()
        } else {
            let Entries(values) = serde_json::from_str(values.get()).map_err(wrong)?;
            values
        };
        let rows = rows.get_or_insert_with(|| {
            let rows = values.iter();
            rows.map(|(row, _)| (row.clone(), Map::new())).collect()
        });
        let is_same =
            |((row, _), (other, _)): (&(Cow<'_, str>, _), &(Cow<'_, str>, _))| row == other;
        if rows.len() != values.len() || !rows.iter().zip(&values).all(is_same) {
            return Err(problem(
                "its rows are not those of the first column; write the frame again, for example with \
                 `to_json(orient=\"records\", lines=True)`"
                    .to_owned(),
            ));
        }
        for ((_, record), (_, value)) in rows.iter_mut().zip(values) {
            record.insert(name.to_string(), value);
        }
    }
    let rows = rows.unwrap_or_default().into_iter();
    Ok(rows.map(|(_, record)| record).collect())
}
