//! Sheet of a sample: rows for annotators, without ranks, variants and scores, and the labels that
//! they fill in.

use rankgauge_core::gold::escape_cell;

use super::draw::Draw;

/// Columns of a sheet.
pub const COLUMNS: [&str; 5] = ["row", "query", "document", "text", "grade"];
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
    #[error("row {row}: `grade` is `{value}`; write a number from 0 to {max}, or `skip`")]
    Grade {
        row: usize,
        value: String,
        max: String,
    },
}

/// Serialises the planned rows to CSV with a byte order mark, which Excel needs for UTF-8.
///
/// # Errors
/// None in practice: writing to memory does not fail.
pub fn write(draw: &Draw) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer("\u{feff}".as_bytes().to_vec());
    writer.write_record(COLUMNS)?;
    for (index, row) in draw.rows.iter().take(draw.planned).enumerate() {
        writer.write_record([
            (index + 1).to_string(),
            escape_cell(&row.query),
            escape_cell(&row.document),
            escape_cell(row.text.as_deref().unwrap_or_default()),
            String::new(),
        ])?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads the labels of the first rows of a sample.
///
/// # Errors
/// The row that is wrong.
pub fn labels(draw: &Draw, text: &str) -> Result<Vec<Label>, SheetError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let broken = |error: csv::Error| SheetError::Csv(error.to_string());
    let header = reader.headers().map_err(broken)?.clone();
    let column = |name: &'static str| {
        let found = header.iter().position(|column| column.trim() == name);
        found.ok_or(SheetError::Column(name))
    };
    let (row, query, document, grade) = (
        column("row")?,
        column("query")?,
        column("document")?,
        column("grade")?,
    );
    let mut found: Vec<Option<Option<Label>>> = vec![None; draw.rows.len()];
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let field = |at: usize| record.get(at).unwrap_or_default();
        let number = field(row).trim().parse::<usize>().ok();
        let drawn = number.and_then(|number| number.checked_sub(1));
        let Some((at, drawn)) = drawn.and_then(|at| Some((at, draw.rows.get(at)?))) else {
            return Err(SheetError::Row {
                line: record.position().map_or(0, csv::Position::line),
                value: field(row).to_owned(),
                rows: draw.rows.len(),
            });
        };
        let is_same = |found: &str, drawn: &str| found == drawn || found == escape_cell(drawn);
        if !is_same(field(query), &drawn.query) || !is_same(field(document), &drawn.document) {
            return Err(SheetError::Changed {
                row: at + 1,
                query: drawn.query.clone(),
                document: drawn.document.clone(),
                found_query: field(query).to_owned(),
                found_document: field(document).to_owned(),
            });
        }
        let label =
            label(field(grade).trim(), draw.scale_max).ok_or_else(|| SheetError::Grade {
                row: at + 1,
                value: field(grade).to_owned(),
                max: draw.scale_max.to_string(),
            })?;
        if let Some(slot) = found.get_mut(at)
            && slot.replace(label).is_some()
        {
            return Err(SheetError::Repeated(at + 1));
        }
    }
    let filled = found.iter().map(|label| label.flatten());
    let labels: Vec<Label> = filled.clone().map_while(|label| label).collect();
    let next = filled.enumerate().skip(labels.len());
    let next = next
        .filter(|(_, label)| label.is_some())
        .map(|(at, _)| at)
        .next();
    match next {
        Some(next) => Err(SheetError::Gap {
            row: labels.len() + 1,
            next: next + 1,
        }),
        None => Ok(labels),
    }
}

/// Label of a cell; `Some(None)` for an empty one, `None` for a wrong one.
#[allow(
    clippy::option_option,
    reason = "a wrong cell and an empty one have different consequences"
)]
fn label(cell: &str, scale_max: f64) -> Option<Option<Label>> {
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
