//! Parser of annotation sheets: proposed documents with a column for the grade of the annotator.
//!
//! A sheet is CSV with a header, written by `write::sheet` and saved by a spreadsheet: columns in
//! any order, separated by commas, semicolons or tabs. `query_id`, `query_text`, `document_id` and
//! `grade` are required. `production_grade`, `clicks`, `searches`, `production_judgments` and
//! columns that begin with `annotator` are optional. Other columns are ignored.

use csv::StringRecord;

use super::draft::{SourceFile, parse_items};
use super::table::for_each_row;
use crate::columns;
use crate::gold::adoption::FilledRow;
use crate::gold::judgements::Grade;
use crate::gold::problem::{GoldError, Problems};

/// Characters that begin a formula in a spreadsheet, and the apostrophe that marks text.
const FORMULA_PREFIXES: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\''];

/// Escapes a text for a cell: prefixes an apostrophe if a spreadsheet would interpret the text as a
/// formula. Ids are untrusted input and must not be executed (CSV injection).
pub fn escape_cell(text: &str) -> String {
    if text.starts_with(FORMULA_PREFIXES) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

/// Returns the text of an escaped cell.
fn unescape_cell(cell: &str) -> &str {
    cell.strip_prefix('\'').unwrap_or(cell)
}

/// Positions of the columns of one sheet.
struct Columns {
    query_id: usize,
    query_text: usize,
    document_id: usize,
    grade: usize,
    production_grade: Option<usize>,
    /// `clicks`, `searches`, `production_judgments`: the contents of the notes.
    counts: [Option<usize>; 3],
    annotators: Vec<(String, usize)>,
}

impl Columns {
    /// Finds the columns in a header; `None` if a required column is missing.
    fn of(header: &StringRecord) -> Option<Self> {
        let names: Vec<String> = header.iter().map(str::to_lowercase).collect();
        let find = |wanted: &str| names.iter().position(|name| name == wanted);
        let annotators = names.iter().enumerate();
        let annotators = annotators.filter(|(_, name)| name.starts_with("annotator"));
        Some(Self {
            query_id: find("query_id")?,
            query_text: find("query_text")?,
            document_id: find("document_id")?,
            grade: find("grade")?,
            production_grade: find("production_grade"),
            counts: ["clicks", "searches", "production_judgments"].map(find),
            annotators: annotators.map(|(at, name)| (name.clone(), at)).collect(),
        })
    }

    /// Parses a row.
    ///
    /// # Errors
    /// The content of a cell that should hold a grade and does not.
    fn row(&self, record: &StringRecord, line: usize) -> Result<FilledRow, String> {
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let grade = |at: usize| match cell(at) {
            "" => Ok(None),
            text => match text.parse().ok().and_then(Grade::new) {
                Some(grade) => Ok(Some(grade)),
                None => Err(text.to_owned()),
            },
        };
        let mut annotations = Vec::new();
        for (name, at) in &self.annotators {
            annotations.extend(grade(*at)?.map(|grade| (name.clone(), grade)));
        }
        let production_grade = self.production_grade.map_or(Ok(None), grade)?;
        let [clicks, searches, judgments] = self.counts.map(|at| cell(at?).parse::<u32>().ok());
        Ok(FilledRow {
            line,
            query_id: unescape_cell(cell(self.query_id)).to_owned(),
            query_text: unescape_cell(cell(self.query_text)).to_owned(),
            document_id: unescape_cell(cell(self.document_id)).to_owned(),
            grade: grade(self.grade)?,
            production_grade,
            production_judgments: judgments,
            clicks: clicks.zip(searches),
            annotations: annotations.into_iter().collect(),
        })
    }
}

impl FilledRow {
    /// Parses the content of an annotation sheet. `name` is the file name in messages. Rows with only
    /// empty cells are skipped.
    ///
    /// # Errors
    /// All problems of the content.
    pub fn parse_sheet(name: &str, bytes: &[u8]) -> Result<Vec<Self>, GoldError> {
        parse_items(name, bytes, "the sheet", rows)
    }
}

fn rows(file: &SourceFile, text: &str, problems: &mut Problems) -> Vec<FilledRow> {
    let mut reader = columns::reader(text).from_reader(text.as_bytes());
    let mut rows = Vec::new();
    let Some(columns) = reader.headers().ok().and_then(Columns::of) else {
        problems.push(file.row_problem(
            1,
            "a sheet is CSV with a header that names the columns `query_id`, `query_text`, `document_id` and \
             `grade`",
        ));
        return rows;
    };
    for_each_row(file, text, &mut reader, problems, |line, row, problems| {
        if row.iter().all(str::is_empty) {
            return;
        }
        match columns.row(row, line) {
            Ok(row) => rows.push(row),
            Err(value) => problems.push(file.grade_problem(line, value)),
        }
    });
    rows
}
