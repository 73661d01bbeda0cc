//! Sheet of a sample: rows for annotators, without ranks, variants and scores, and the labels that
//! they fill in.

use std::fmt;

use rankgauge_core::columns;
use rankgauge_core::gold::escape_cell;
use rankgauge_core::number::real_length;
use rankgauge_core::statistics::kappa;
use serde::Serialize;

use super::draw::Draw;

/// Columns of a sheet.
pub const COLUMNS: [&str; 5] = ["row", "query", "document", "text", "grade"];
/// Column of the labels of a second annotator.
pub const SECOND: &str = "grade_2";
/// Grade of a row that an annotator cannot decide.
const SKIP: &str = "skip";

/// Label of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Label {
    /// Grade from 0 to the end of the scale.
    Grade(f64),
    /// The annotator could not decide.
    Skipped,
}

impl fmt::Display for Label {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grade(grade) => grade.fmt(formatter),
            Self::Skipped => formatter.write_str(SKIP),
        }
    }
}

/// Sheet that does not fit its sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum SheetError {
    #[error("the sheet cannot be read: {0}")]
    Csv(String),
    #[error("the sheet has no column `{0}`; the header is row,query,document,text,grade")]
    Column(&'static str),
    #[error(
        "line {line}: `row` is `{value}`, not a number from 1 to {rows}; use the sheet of this sample"
    )]
    Row {
        line: u64,
        value: String,
        rows: usize,
    },
    #[error("row {0} is in the sheet twice; keep one")]
    Repeated(usize),
    #[error(
        "row {row} is (`{found_query}`, `{found_document}`), but the sample has (`{query}`, `{document}`): the row was changed, or the sheet belongs to another sample; restore it"
    )]
    Changed {
        row: usize,
        query: String,
        document: String,
        found_query: String,
        found_document: String,
    },
    #[error(
        "row {row} has no label, but row {next} has one: labels must follow the order without a gap; label row {row}, or write `skip`"
    )]
    Gap { row: usize, next: usize },
    #[error("row {row}: `{column}` is `{value}`; write a number from 0 to {max}, or `skip`")]
    Grade {
        row: usize,
        column: &'static str,
        value: String,
        max: String,
    },
}

/// Row of a sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetRow {
    /// Row of the sample, from 0.
    pub row: usize,
    /// Text of the document.
    pub text: String,
    /// Labels of the annotators.
    pub labels: [Option<Label>; 2],
}

/// Rows of a sample with their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Rows in the order of the file.
    pub rows: Vec<SheetRow>,
}

/// Rows with labels of both annotators.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Rows that both graded.
    pub rows: usize,
    /// Share of these with equal grades.
    pub equal: f64,
    /// Cohen's kappa of relevant or not. `None` if it is undefined.
    pub kappa: Option<f64>,
}

/// Serialises the planned rows to CSV with a byte order mark, which Excel needs for UTF-8.
///
/// # Errors
/// None in practice: writing to memory does not fail.
pub fn write(draw: &Draw) -> Result<String, csv::Error> {
    let rows = draw.rows.iter().take(draw.planned).enumerate();
    let rows = rows.map(|(row, drawn)| SheetRow {
        row,
        text: drawn.text.clone().unwrap_or_default(),
        labels: [None; 2],
    });
    Sheet {
        rows: rows.collect(),
    }
    .write(draw)
}

impl Sheet {
    /// Parses the sheet of a sample.
    ///
    /// # Errors
    /// The row that is wrong.
    pub fn parse(draw: &Draw, text: &str) -> Result<Self, SheetError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = columns::reader(text).from_reader(text.as_bytes());
        let broken = |error: csv::Error| SheetError::Csv(error.to_string());
        let header = reader.headers().map_err(broken)?.clone();
        let find = |name: &str| header.iter().position(|column| column == name);
        let column = |name: &'static str| find(name).ok_or(SheetError::Column(name));
        let (row, query, document) = (column("row")?, column("query")?, column("document")?);
        let grades = [Some(column("grade")?), find(SECOND)];
        let text = find("text");
        let mut is_known = vec![false; draw.rows.len()];
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(broken)?;
            let field = |at: usize| record.get(at).unwrap_or_default();
            let number = field(row).parse::<usize>().ok();
            let drawn = number.and_then(|number| number.checked_sub(1));
            let Some((at, drawn)) = drawn.and_then(|at| Some((at, draw.rows.get(at)?))) else {
                return Err(SheetError::Row {
                    line: record.position().map_or(0, csv::Position::line),
                    value: field(row).to_owned(),
                    rows: draw.rows.len(),
                });
            };
            let is_same = |found: &str, drawn: &str| {
                found == drawn.trim() || found == escape_cell(drawn).trim()
            };
            if !is_same(field(query), &drawn.query) || !is_same(field(document), &drawn.document) {
                return Err(SheetError::Changed {
                    row: at + 1,
                    query: drawn.query.clone(),
                    document: drawn.document.clone(),
                    found_query: field(query).to_owned(),
                    found_document: field(document).to_owned(),
                });
            }
            let mut labels = [None; 2];
            for ((slot, column), name) in labels.iter_mut().zip(grades).zip(["grade", SECOND]) {
                let cell = column.map_or("", field);
                *slot = label(cell, draw.scale_max).ok_or_else(|| SheetError::Grade {
                    row: at + 1,
                    column: name,
                    value: cell.to_owned(),
                    max: draw.scale_max.to_string(),
                })?;
            }
            if let Some(known) = is_known.get_mut(at)
                && std::mem::replace(known, true)
            {
                return Err(SheetError::Repeated(at + 1));
            }
            rows.push(SheetRow {
                row: at,
                text: text.map_or("", field).to_owned(),
                labels,
            });
        }
        Ok(Self { rows })
    }

    /// Serialises the sheet to CSV. The column of the second annotator exists from the first label in it.
    ///
    /// # Errors
    /// None in practice: writing to memory does not fail.
    pub fn write(&self, draw: &Draw) -> Result<String, csv::Error> {
        let mut writer = csv::Writer::from_writer("\u{feff}".as_bytes().to_vec());
        let has_second = self.rows.iter().any(|row| row.labels[1].is_some());
        let second = has_second.then_some(SECOND);
        writer.write_record(COLUMNS.into_iter().chain(second))?;
        for row in &self.rows {
            let Some(drawn) = draw.rows.get(row.row) else {
                continue;
            };
            let [first, second] = row
                .labels
                .map(|label| label.map_or_else(String::new, |label| label.to_string()));
            let cells = [
                (row.row + 1).to_string(),
                escape_cell(&drawn.query),
                escape_cell(&drawn.document),
                escape_cell(&row.text),
                first,
            ];
            writer.write_record(cells.into_iter().chain(has_second.then_some(second)))?;
        }
        let bytes = writer
            .into_inner()
            .map_err(|error| csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Labels of an annotator (0 or 1) for the first rows of the sample.
    ///
    /// # Errors
    /// A row without a label before one that has a label.
    pub fn labels(&self, annotator: usize) -> Result<Vec<Label>, SheetError> {
        let mut found: Vec<(usize, Label)> = self
            .rows
            .iter()
            .filter_map(|row| Some((row.row, (*row.labels.get(annotator)?)?)))
            .collect();
        found.sort_by_key(|(row, _)| *row);
        let gap = found.iter().enumerate().find(|(at, (row, _))| at != row);
        match gap {
            Some((at, (next, _))) => Err(SheetError::Gap {
                row: at + 1,
                next: next + 1,
            }),
            None => Ok(found.into_iter().map(|(_, label)| label).collect()),
        }
    }

    /// Agreement of both annotators. `None` without a row that both graded.
    pub fn agreement(&self, is_relevant: impl Fn(f64) -> bool) -> Option<Agreement> {
        let both = self.rows.iter().filter_map(|row| match row.labels {
            [Some(Label::Grade(first)), Some(Label::Grade(second))] => Some([first, second]),
            _ => None,
        });
        let both: Vec<[f64; 2]> = both.collect();
        let equal = both
            .iter()
            .filter(|[first, second]| first.total_cmp(second).is_eq());
        let agreement = Agreement {
            rows: both.len(),
            equal: real_length(equal.count()) / real_length(both.len().max(1)),
            kappa: kappa(
                both.iter()
                    .map(|[first, second]| (is_relevant(*first), is_relevant(*second), 1)),
            ),
        };
        (!both.is_empty()).then_some(agreement)
    }
}

/// Label of a cell; `Some(None)` for an empty one, `None` for a wrong one.
#[allow(
    clippy::option_option,
    reason = "a wrong cell and an empty one have different consequences"
)]
pub fn label(cell: &str, scale_max: f64) -> Option<Option<Label>> {
    if cell.is_empty() {
        return Some(None);
    }
    if cell.eq_ignore_ascii_case(SKIP) {
        return Some(Some(Label::Skipped));
    }
    let grade: f64 = cell.parse().ok()?;
    let is_valid = (0.0..=scale_max).contains(&grade);
    is_valid.then_some(Some(Label::Grade(grade)))
}
