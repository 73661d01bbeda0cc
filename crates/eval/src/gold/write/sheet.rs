//! Writer of annotation sheets: proposed documents, to be graded in a spreadsheet.

use super::error::WriteError;
use rankgauge_core::gold::adoption::SheetRow;
use rankgauge_core::gold::escape_cell;

/// Serialises the rows to CSV with a byte order mark and a header. Without the mark, Excel does not
/// detect UTF-8 and shows no Hangul.
/// [`parse_sheet`](rankgauge_core::gold::adoption::FilledRow::parse_sheet) restores all ids and texts,
/// without the white space around them.
///
/// # Errors
/// None in practice: writing to memory does not fail.
pub fn sheet(rows: &[SheetRow]) -> Result<String, WriteError> {
    let mut writer = csv::Writer::from_writer("\u{feff}".as_bytes().to_vec());
    writer.write_record(SheetRow::COLUMNS)?;
    for row in rows {
        let decimal = |value: Option<f64>| value.map_or_else(String::new, |it| format!("{it:.4}"));
        let judged = (row.production_judgments > 0).then_some(row.production_judgments);
        writer.write_record([
            escape_cell(&row.query_id),
            escape_cell(&row.query_text),
            escape_cell(&row.document_id),
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
