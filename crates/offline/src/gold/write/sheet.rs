//! Annotation sheets: proposed documents, for people to grade in a spreadsheet.

use super::WriteError;
use rankgauge_core::gold::adoption::SheetRow;
use rankgauge_core::gold::{SHEET_COLUMNS, guarded};

/// The rows as CSV, a header before them, and before that a byte order mark: without one Excel takes
/// UTF-8 for something else and shows no Hangul. [`parse_sheet`](rankgauge_core::gold::parse_sheet) reads the
/// same ids and texts, whatever they hold.
///
/// # Errors
/// None that is known: writing into memory does not fail.
pub fn sheet(rows: &[SheetRow]) -> Result<String, WriteError> {
    let mut writer = csv::Writer::from_writer("\u{feff}".as_bytes().to_vec());
    writer.write_record(SHEET_COLUMNS)?;
    for row in rows {
        let decimal = |value: Option<f64>| value.map_or_else(String::new, |it| format!("{it:.4}"));
        let judged = (row.production_judgments > 0).then_some(row.production_judgments);
        writer.write_record([
            guarded(&row.query_id),
            guarded(&row.query_text),
            guarded(&row.document_id),
            row.clicks.to_string(),
            row.searches.to_string(),
            row.satisfied_clicks.to_string(),
            row.conversions.to_string(),
            decimal(row.rating_mean),
            decimal(row.mean_position),
            judged.map_or_else(String::new, |count| count.to_string()),
            row.production_grade
                .map_or_else(String::new, |grade| grade.to_string()),
            String::new(),
        ])?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
